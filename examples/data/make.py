"""Writes the arrays of the README's first command, and what NumPy makes of them.

Run with NumPy 2 in this folder: python make.py
"""

import numpy as np

rng = np.random.default_rng(2026)
a = rng.standard_normal((12, 8, 10))
b = rng.standard_normal((8, 6))
c = np.asfortranarray(rng.standard_normal((10, 14)))

np.save("a.npy", a)  # C order
np.save("b.npy", b)  # C order
np.save("c.npy", c)  # Fortran order
np.save("expected.npy", np.einsum("ijk,jl,km->ilm", a, b, c))
