"""Suite `sort`: stable sorts along an axis."""

import numpy as np

import libraries

# Elements of `top-10`.
TOP = 10


def prepare(library, task):
    name, axis, _dtype, size = task["case"].split("/")
    if library.name == "numpy" and task["threads"] > 1:
        return None
    extents = libraries.extents(size)
    x = library.array(libraries.scattered(libraries.elements(size), -1.0, 1.0).reshape(extents[::-1]))
    axis = len(extents) - 1 - int(axis.removeprefix("axis"))
    return {"numpy": numpy, "torch": torch, "jax": jax}[library.name](library, name, x, axis)


def numpy(_library, name, x, axis):
    return {
        "sort": lambda: np.sort(x, axis=axis, kind="stable"),
        "argsort": lambda: np.argsort(x, axis=axis, kind="stable"),
        "top-10": lambda: largest(x, axis),
    }.get(name)


def largest(x, axis):
    """NumPy has no operation for it: a partition, and a sort of its end."""
    parts = np.partition(x, -TOP, axis=axis)
    last = np.take(parts, range(-TOP, 0), axis=axis)
    return np.flip(np.sort(last, axis=axis), axis=axis)


def torch(library, name, x, axis):
    torch = library.module
    return {
        "sort": lambda: torch.sort(x, dim=axis, stable=True),
        "argsort": lambda: torch.argsort(x, dim=axis, stable=True),
        "top-10": lambda: torch.topk(x, TOP, dim=axis),
    }.get(name)


def jax(library, name, x, axis):
    jax = library.module
    function = {
        "sort": lambda x: jax.numpy.sort(x, axis=axis, stable=True),
        "argsort": lambda x: jax.numpy.argsort(x, axis=axis, stable=True),
        "top-10": lambda x: jax.lax.top_k(x, TOP, axis=axis)[0],
    }.get(name)
    return function and libraries.bench_jit(library, function, x)
