"""Computes the polynomials of `coefficients.rs` by Remez's exchange (E. Remez, 1934) and writes that file.

Needs mpmath: `pip install mpmath==1.4.1`, then `python coefficients.py > coefficients.rs` and `cargo fmt`.

Each row says which function is approximated, on which interval, to which degree, and by what the error is divided;
the bits after it are those of the largest remaining error before coefficients are rounded.
"""

from mpmath import mp, mpf, matrix, lu_solve, exp, expm1, log, sin, cos, erf, erfc, sqrt, pi
import struct

mp.dps = 60


def remez(f, lo, hi, degree, weight):
    """The polynomial of `degree` that minimises the largest `|p(x) - f(x)| * weight(x)` on [lo, hi]."""
    lo, hi = mpf(lo), mpf(hi)
    count = degree + 2
    nodes = [(lo + hi) / 2 - (hi - lo) / 2 * cos(pi * k / (count - 1)) for k in range(count)]
    grid = [(lo + hi) / 2 - (hi - lo) / 2 * cos(pi * k / (24 * count)) for k in range(24 * count + 1)]
    values = [f(x) for x in grid]
    weights = [weight(x) for x in grid]
    for _ in range(12):
        system, right = matrix(count, count), matrix(count, 1)
        for row, x in enumerate(nodes):
            for power in range(degree + 1):
                system[row, power] = x ** power
            system[row, degree + 1] = (-1) ** row / weight(x)
            right[row] = f(x)
        solved = lu_solve(system, right)
        poly = [solved[i] for i in range(degree + 1)]
        level = abs(solved[degree + 1])
        errors = [(horner(poly, x) - v) * w for x, v, w in zip(grid, values, weights)]
        # One extremum between two changes of sign.
        runs, best = [], 0
        for at in range(1, len(grid)):
            if errors[at] * errors[best] < 0:
                runs.append(best)
                best = at
            elif abs(errors[at]) > abs(errors[best]):
                best = at
        runs.append(best)
        while len(runs) > count:
            runs.pop(0 if abs(errors[runs[0]]) < abs(errors[runs[-1]]) else -1)
        worst = max(abs(e) for e in errors)
        if len(runs) < count or worst < level * mpf("1.001"):
            break
        nodes = [grid[at] for at in runs]
    return poly, worst


def horner(poly, x):
    value = mpf(0)
    for c in reversed(poly):
        value = value * x + c
    return value


def rounded(value, bits):
    """The decimal digits that read back as the nearest float."""
    near = float(value)
    if bits == 32:
        near = struct.unpack("f", struct.pack("f", near))[0]
        text = next(t for t in (f"{near:.{d}g}" for d in range(6, 18))
                    if struct.unpack("f", struct.pack("f", float(t)))[0] == near)
    else:
        text = repr(near)
    return text if any(c in text for c in ".e") else text + ".0"


def limit(f, at_zero):
    """The function, continued where its formula is 0 / 0."""
    return lambda x: mpf(at_zero) if abs(x) < mpf(10) ** -15 else f(x)


third, tiny = mpf(1) / 3, mpf(10) ** -4
half_ln2 = log(2) / 2 * mpf("1.00001")
quarter = (pi / 4 * mpf("1.00001")) ** 2
half_turn = (pi / 2 * mpf("1.00001")) ** 2
s_max = ((sqrt(2) - 1) / (sqrt(2) + 1) * mpf("1.00001")) ** 2

EXP = (limit(lambda r: (expm1(r) - r) / r ** 2, mpf(1) / 2), -half_ln2, half_ln2,
       lambda r: mpf("0.35"), "(e^r - 1 - r) / r^2, error of (e^r - 1) / r")
EXP2 = (limit(lambda r: (mpf(2) ** r - 1) / r, log(2)), mpf("-0.50001"), mpf("0.50001"),
        lambda r: mpf("0.5"), "(2^r - 1) / r, error of 2^r")
LOG = (limit(lambda z: (2 * mp.atanh(sqrt(z)) / sqrt(z) - 2) / z, 2 * third), mpf(0), s_max,
       lambda z: z + tiny, "(2 atanh(s) / s - 2) / z, z = s^2, error of 2 atanh(s) / s")
LOG_TAIL = (limit(lambda z: (2 * mp.atanh(sqrt(z)) / sqrt(z) - 2 - 2 * third * z) / z ** 2, mpf(2) / 5), mpf(0), s_max,
       lambda z: z ** 2 + tiny, "(2 atanh(s) / s - 2 - 2 z / 3) / z^2, z = s^2, error of 2 atanh(s) / s")
SIN = (limit(lambda z: (sin(sqrt(z)) / sqrt(z) - 1) / z, -mpf(1) / 6), mpf(0), quarter,
       lambda z: z + tiny, "(sin(r) / r - 1) / z, z = r^2, error of sin(r) / r")
COS = (limit(lambda z: (cos(sqrt(z)) - 1 + z / 2) / z ** 2, mpf(1) / 24), mpf(0), quarter,
       lambda z: z ** 2 + tiny, "(cos(r) - 1 + z / 2) / z^2, z = r^2, error of cos(r)")
SIN_WIDE = (limit(lambda z: sin(sqrt(z)) / sqrt(z), 1), mpf(0), half_turn,
       lambda z: 1 / limit(lambda z: sin(sqrt(z)) / sqrt(z), 1)(z), "sin(r) / r, in r^2, for r up to pi / 2, relative error")
ERF = (limit(lambda z: erf(sqrt(z)) / sqrt(z) - 1, 2 / sqrt(pi) - 1), mpf(0), mpf("1.0001"),
       lambda z: mpf(1), "erf(x) / x - 1, in x^2, for x up to 1")


def tail(hi):
    return (lambda x: log(erfc(x)), mpf("0.9999"), mpf(hi), lambda x: erfc(x), f"ln erfc(x), for x from 1 to {hi}, error of erf(x)")


ROWS = [
    ("EXP_F64", 64, EXP, 10), ("EXP2_F64", 64, EXP2, 10), ("LOG_F64", 64, LOG, 6), ("LOG_TAIL_F64", 64, LOG_TAIL, 7),
    ("SIN_F64", 64, SIN, 5), ("COS_F64", 64, COS, 5), ("ERF_F64", 64, ERF, 11), ("ERF_TAIL_F64", 64, tail("5.93"), 17),
    ("EXP_F32", 32, EXP, 5), ("EXP2_F32", 32, EXP2, 6), ("LOG_F32", 32, LOG, 2),
    ("SIN_WIDE_NARROW", 64, SIN_WIDE, 4), ("SIN_NARROW", 64, SIN, 2), ("COS_NARROW", 64, COS, 2), ("EXP2_NARROW", 64, EXP2, 6), ("LOG_NARROW", 64, LOG, 4),
    ("ERF_F32", 32, ERF, 6), ("ERF_TAIL_F32", 32, tail("3.93"), 7),
]


def main():
    print("//! Polynomial coefficients, constant term first. Written by `coefficients.py`, beside; do not edit.")
    print()
    print("#![allow(clippy::approx_constant, reason = \"the first term of 2^r is near ln 2, and not it\")]")
    for name, bits, (f, lo, hi, weight, text), degree in ROWS:
        poly, worst = remez(f, lo, hi, degree, weight)
        print()
        print(f"/// {text}: 2^{float(log(worst, 2)):.1f}.")
        numbers = ", ".join(rounded(c, bits) for c in poly)
        print(f"pub(super) const {name}: [f{bits}; {degree + 1}] = [{numbers}];")


if __name__ == "__main__":
    main()
