"""Suite `program`: the same functions by PyTorch, torch.compile and JAX, which make their results."""

import numpy as np

import libraries
import suite_ad

LIBRARIES = ("torch", "torch-compile", "jax")


def prepare(library, task):
    name, _dtype, size = task["case"].split("/")
    if name in ("cross-entropy", "cross-entropy-gradient"):
        return cross_entropy(library, name, *libraries.extents(size))
    x, y = (libraries.array(library, libraries.elements(size), *ends) for ends in [(-1, 1), (1, -1)])
    if name == "chain100":
        return libraries.compiled(library, chain, [x, y])
    if name == "fused-muladd":
        c, d = (libraries.array(library, libraries.elements(size), *ends) for ends in [(-1, 1), (1, -1)])
        return libraries.compiled(library, lambda a, b, c, d: a * b + c * d, [x, y, c, d])
    if name == "sum-of-squares":
        return libraries.compiled(library, lambda x: (x * x).sum(), [x])
    return None


def chain(x, y):
    for _ in range(100):
        x = x + y
    return x


def cross_entropy(library, name, rows, classes):
    x = libraries.array(library, rows * classes, -4.0, 4.0).reshape(rows, classes)
    labels = library.array(np.arange(rows) * 7 % classes)
    if library.name == "jax":
        jnp, special = library.module.numpy, library.module.scipy.special

        def loss(x):
            own = jnp.take_along_axis(x, labels[:, None], axis=1)[:, 0]
            return (special.logsumexp(x, axis=1) - own).mean()
    else:
        loss = lambda x: library.module.nn.functional.cross_entropy(x, labels)
    if name == "cross-entropy-gradient":
        return suite_ad.gradient(library, loss, [x])
    return libraries.compiled(library, loss, [x])
