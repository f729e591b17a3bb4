"""Suite `permute`: NumPy and PyTorch assign a permuted view to an array that is there."""

import numpy as np

import libraries

# XLA does not compile a transpose of 24 axes within minutes.
JAX_RANK = 15
# Sources of 2 GiB leave no room for everyone's copies.
LARGEST = 1 << 27


def prepare(library, task):
    if library.name == "numpy" and task["threads"] > 1:
        return None
    movement = task["movement"]
    shape, strides, permutation = movement["shape"], movement["strides"], movement["permutation"]
    rank, count = len(shape), int(np.prod(shape))
    if count > LARGEST or (library.name == "jax" and rank > JAX_RANK):
        return None
    x = libraries.scattered(count, -1.0, 1.0)
    # Axes in reverse: row-major here, column-major there.
    extents, steps = shape[::-1], strides[::-1]
    order = [rank - 1 - axis for axis in permutation[::-1]]
    if library.name == "jax":
        x = np.lib.stride_tricks.as_strided(x, extents, [8 * step for step in steps])
        x = library.array(np.ascontiguousarray(x))
        jnp = library.module.numpy
        return libraries.bench_jit(library, lambda x: jnp.transpose(x, order), x)
    permuted = [extents[axis] for axis in order]
    if library.name == "numpy":
        x = np.lib.stride_tricks.as_strided(x, extents, [8 * step for step in steps])
        x, out = x.transpose(order), np.empty(permuted)
        return lambda: np.copyto(out, x)
    torch = library.module
    x = torch.as_strided(library.array(x), extents, steps).permute(order)
    out = torch.empty(permuted, dtype=x.dtype)
    return lambda: out.copy_(x)
