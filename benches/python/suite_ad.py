"""Suite `ad`: the network and logsumexp, values and gradients; torch.compile and JAX compile the forward function."""

import libraries

LIBRARIES = ("torch", "torch-compile", "jax")


def prepare(library, task):
    _place, name, _dtype, size = task["case"].split("/")
    if name == "logsumexp":
        x = libraries.array(library, libraries.elements(size), -4.0, 4.0)
        return gradient(library, lambda x: logsumexp(library, x), [x])
    n, columns = (libraries.extents(size) + [1])[:2]
    scale = 1.0 / n
    w1 = libraries.array(library, n * n, -scale, 3 * scale).reshape(n, n)
    w2 = libraries.array(library, n * n, -2 * scale, 2 * scale).reshape(n, n)
    x = libraries.array(library, n * columns, -1.0, 1.0).reshape(n, columns)
    tanh = library.numpy.tanh
    network = lambda w1, w2: tanh(w2 @ tanh(w1 @ x)).sum()
    if name == "mlp-forward":
        return libraries.compiled(library, network, [w1, w2])
    return gradient(library, network, [w1, w2])


def logsumexp(library, x):
    if library.name == "jax":
        return library.module.scipy.special.logsumexp(x)
    return library.module.logsumexp(x, 0)


def gradient(library, function, inputs):
    """The value and the gradients by all inputs."""
    if library.name == "jax":
        places = tuple(range(len(inputs)))
        return libraries.compiled(library, library.module.value_and_grad(function, places), inputs)
    torch = library.module
    torch.set_grad_enabled(True)
    inputs = [x.requires_grad_() for x in inputs]
    if library.name == "torch-compile":
        function = torch.compile(function)

    def run():
        value = function(*inputs)
        return value, torch.autograd.grad(value, inputs)

    run()
    return run
