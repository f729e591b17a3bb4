"""The libraries, each started with a given number of threads, and the inputs that all suites make.

Arrays are row-major here and column-major on the other side: a column-major tensor of extents
(a, b, c) is a row-major array of extents (c, b, a) over the same bytes.
"""

import math
import os

import numpy as np


class Library:
    """A module, its name and version, and `array`, which makes its arrays from NumPy's."""

    def __init__(self, name, title, module, version, array):
        self.name = name
        self.title = title
        self.module = module
        self.version = version
        self.array = array


def start(name, threads):
    return {"numpy": start_numpy, "torch": start_torch, "jax": start_jax}[name](threads)


def start_numpy(_threads):
    return Library("numpy", "NumPy", np, np.__version__, lambda array: array)


def start_torch(threads):
    import lazily

    torch = lazily.torch()
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    return Library("torch", "PyTorch", torch, torch.__version__, torch.from_numpy)


def start_jax(threads):
    # XLA sizes its pools by the CPUs that it may use when it starts, and has no better setting.
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(allowed)[:threads])
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.numpy.ones(2).block_until_ready()
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), allowed)
    return Library("jax", "JAX", jax, jax.__version__, jax.numpy.asarray)


def scattered(n, low, high):
    """`n` numbers spread evenly over a range without order, as the function of that name in Rust."""
    steps = np.arange(n, dtype=np.float64) * 0.6180339887498949
    np.fmod(steps, 1.0, out=steps)
    steps *= high - low
    steps += low
    return steps


def extents(word):
    """The extents in a case's name, such as `1000x1000x10` or `1e7`."""
    return [int(float(part)) for part in word.split("x")]


def elements(word):
    return math.prod(extents(word))


def bench_jit(library, function, *arguments):
    """JAX's compiled function, called until its result is there."""
    compiled = library.module.jit(function)
    return lambda: compiled(*arguments).block_until_ready()
