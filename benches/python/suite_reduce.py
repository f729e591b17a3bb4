"""Suite `reduce`: reductions along an axis; PyTorch and NumPy into an array that is there where they can."""

import numpy as np

import libraries


def prepare(library, task):
    name, axis, dtype, shape = task["case"].split("/")
    if library.name == "numpy" and task["threads"] > 1:
        return None
    extents = libraries.extents(shape)
    count = libraries.elements(shape)
    if dtype == "bool":
        x = np.zeros(count, bool)
    else:
        x = libraries.scattered(count, 0.75, 1.25)
    x = library.array(x.reshape(extents[::-1]))
    axis = len(extents) - 1 - int(axis.removeprefix("axis"))
    return {"numpy": numpy, "torch": torch, "jax": jax}[library.name](library, name, axis, x)


def numpy(_library, name, axis, x):
    if name in ("logsumexp", "softmax"):
        import scipy.special

        function = getattr(scipy.special, name)
        return lambda: function(x, axis=axis)
    function = getattr(np, name)
    out = function(x, axis=axis)
    return lambda: function(x, axis=axis, out=out)


def torch(library, name, axis, x):
    torch = library.module
    function = {"max": torch.amax}.get(name) or getattr(torch, name)
    out = function(x, dim=axis)
    return lambda: function(x, dim=axis, out=out)


def jax(library, name, axis, x):
    jax = library.module
    special = {"logsumexp": jax.scipy.special.logsumexp, "softmax": jax.nn.softmax}
    function = special.get(name) or getattr(jax.numpy, name)
    return libraries.bench_jit(library, lambda x: function(x, axis=axis), x)
