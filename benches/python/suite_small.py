"""Suite `small`: the operator, which makes its result, as ours does."""

import libraries


def prepare(library, task):
    place, name, _dtype, size = task["case"].split("/")
    if place != "scope":
        return None
    count = libraries.elements(size)
    x = library.array(libraries.scattered(count, -1.0, 1.0))
    y = library.array(libraries.scattered(count, 0.0, 1.0))
    if name == "add":
        if library.name == "jax":
            return libraries.bench_jit(library, lambda x, y: x + y, x, y)
        return lambda: x + y
    if name == "chain":
        if library.name == "jax":
            return libraries.bench_jit(library, chain, x, y)
        return lambda: chain(x, y)
    return None


def chain(x, y):
    for _ in range(100):
        x = x + y
    return x
