"""Suite `elementwise`: NumPy and PyTorch write into an array that is there, JAX makes its result."""

import numpy as np

import libraries

RANGES = {"exp": (-8.0, 8.0), "tanh": (-4.0, 4.0), "sin": (-8.0, 8.0), "erf": (-3.0, 3.0), "log": (0.001, 1000.0)}
WIDE = (-1000.0, 1000.0)
OTHER = {"f64": "float32", "f32": "float64"}
DTYPES = {"f64": "float64", "f32": "float32"}


def prepare(library, task):
    name, dtype, size = task["case"].split("/")
    if library.name == "numpy" and (task["threads"] > 1 or name == "erf"):
        return None
    x = libraries.scattered(libraries.elements(size), *RANGES.get(name, WIDE)).astype(DTYPES[dtype])
    y = x[::-1].copy()
    if name in RANGES:
        y = None
    inputs = [library.array(array) for array in (x, y) if array is not None]
    return {"numpy": numpy, "torch": torch, "jax": jax}[library.name](library, name, dtype, *inputs)


def numpy(_library, name, dtype, x, y=None):
    if name == "convert":
        out = np.empty(x.shape, OTHER[dtype])
        return lambda: np.copyto(out, x, casting="same_kind")
    function = {"mul": np.multiply, "compare": np.less}.get(name) or getattr(np, name)
    out = np.empty(x.shape, bool if name == "compare" else x.dtype)
    if y is None:
        return lambda: function(x, out=out)
    return lambda: function(x, y, out=out)


def torch(library, name, dtype, x, y=None):
    torch = library.module
    if name == "convert":
        out = torch.empty(x.shape, dtype=getattr(torch, OTHER[dtype]))
        return lambda: out.copy_(x)
    function = {"compare": torch.lt}.get(name) or getattr(torch, name)
    out = torch.empty(x.shape, dtype=torch.bool if name == "compare" else x.dtype)
    if y is None:
        return lambda: function(x, out=out)
    return lambda: function(x, y, out=out)


def jax(library, name, dtype, x, y=None):
    jnp = library.module.numpy
    if name == "convert":
        return libraries.bench_jit(library, lambda x: x.astype(OTHER[dtype]), x)
    special = {"compare": jnp.less, "mul": jnp.multiply, "erf": library.module.scipy.special.erf}
    function = special.get(name) or getattr(jnp, name)
    return libraries.bench_jit(library, function, *([x] if y is None else [x, y]))
