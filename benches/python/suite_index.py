"""Suite `index`: PyTorch and NumPy into an array that is there where they can."""

import numpy as np

import libraries

PICKS = 1_000_000


def positions(count, below):
    """As the function of that name in Rust."""
    return libraries.scattered(count, 0.0, float(below)).astype(np.int64)


def prepare(library, task):
    name, *_, size = task["case"].split("/")
    if library.name == "numpy" and task["threads"] > 1:
        return None
    extents = libraries.extents(size)
    # A column-major tensor is a row-major array of reversed extents.
    x = libraries.scattered(libraries.elements(size), -1.0, 1.0).reshape(extents[::-1])
    make = {
        "gather": gather,
        "gather-columns": gather_columns,
        "take-along": take_along,
        "scatter-add": scatter_add,
        "slice-block": slice_block,
        "slice-strided": slice_strided,
    }.get(name)
    return make and make(library, x, extents)


def gather(library, x, extents):
    return pick(library, x, positions(PICKS, extents[0]))


def gather_columns(library, x, extents):
    return pick(library, x, positions(extents[1], extents[1]))


def pick(library, x, places):
    module = library.module
    x, places = library.array(x), library.array(places)
    if library.name == "numpy":
        out = np.take(x, places, axis=0)
        # Checked indices would be copied through a buffer.
        return lambda: np.take(x, places, axis=0, out=out, mode="clip")
    if library.name == "torch":
        out = module.index_select(x, 0, places)
        return lambda: module.index_select(x, 0, places, out=out)
    return libraries.bench_jit(library, lambda x, places: module.numpy.take(x, places, axis=0), x, places)


def take_along(library, x, extents):
    places = positions(x.size, extents[0]).reshape(x.shape)
    module = library.module
    x, places = library.array(x), library.array(places)
    if library.name == "numpy":
        return lambda: np.take_along_axis(x, places, axis=1)
    if library.name == "torch":
        out = module.gather(x, 1, places)
        return lambda: module.gather(x, 1, places, out=out)
    along = module.numpy.take_along_axis
    return libraries.bench_jit(library, lambda x, places: along(x, places, axis=1), x, places)


def scatter_add(library, x, extents):
    places = positions(PICKS, extents[0])
    updates = libraries.scattered(PICKS, 0.0, 1.0)
    module = library.module
    x, places, updates = map(library.array, (x, places, updates))
    if library.name == "numpy":

        def added():
            out = x.copy()
            np.add.at(out, places, updates)
            return out

        return added
    if library.name == "torch":
        return lambda: module.index_add(x, 0, places, updates)
    return libraries.bench_jit(library, lambda x, p, u: x.at[p].add(u), x, places, updates)


def slice_block(library, x, extents):
    rows, columns = (slice(extent // 4, 3 * extent // 4) for extent in extents)
    return cut(library, x, (columns, rows))


def slice_strided(library, x, _extents):
    return cut(library, x, (slice(1, None, 2), slice(1, None, 2)))


def cut(library, x, where):
    x = library.array(x)
    if library.name == "numpy":
        out = x[where].copy()

        def copied():
            np.copyto(out, x[where])
            return out

        return copied
    if library.name == "torch":
        out = x[where].clone()
        return lambda: out.copy_(x[where])
    return libraries.bench_jit(library, lambda x: x[where], x)
