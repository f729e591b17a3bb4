"""The libraries, each started with a given number of threads, and the inputs that all suites make.

Arrays are row-major here and column-major on the other side: a column-major tensor of extents
(a, b, c) is a row-major array of extents (c, b, a) over the same bytes.
"""

import math
import os

import numpy as np


# The libraries of a suite that names none.
EAGER = ("numpy", "torch", "jax")


class Library:
    """A module, its name and version, and `array`, which makes its arrays from NumPy's.

    `numpy` is where the functions are that NumPy has too.
    """

    def __init__(self, name, title, module, version, array, numpy=None):
        self.name = name
        self.title = title
        self.module = module
        self.version = version
        self.array = array
        self.numpy = numpy or module


def start(name, threads):
    starts = {"numpy": start_numpy, "torch": start_torch, "jax": start_jax}
    starts["torch-compile"] = lambda threads: start_torch(threads, name, "torch.compile")
    return starts[name](threads)


def start_numpy(_threads):
    return Library("numpy", "NumPy", np, np.__version__, lambda array: array)


def start_torch(threads, name="torch", title="PyTorch"):
    import lazily

    torch = lazily.torch()
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    return Library(name, title, torch, torch.__version__, torch.from_numpy)


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
    return Library("jax", "JAX", jax, jax.__version__, jax.numpy.asarray, jax.numpy)


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


def array(library, count, first, last):
    """`scattered` numbers as an array; in reverse if the range is."""
    numbers = scattered(count, min(first, last), max(first, last))
    return library.array(numbers if first < last else numbers[::-1].copy())


def compiled(library, function, arguments):
    """A function as the library calls it best, called once before anything is timed."""
    if library.name == "jax":
        wait, function = library.module.block_until_ready, library.module.jit(function)
        run = lambda: wait(function(*arguments))
    else:
        if library.name == "torch-compile":
            function = library.module.compile(function)
        run = lambda: function(*arguments)
    run()
    return run


def bench_jit(library, function, *arguments):
    """JAX's compiled function, called until its result is there."""
    compiled = library.module.jit(function)
    return lambda: compiled(*arguments).block_until_ready()
