"""Tests of the worker, run by the virtual environment's interpreter once it has the libraries."""

import io
import json
import os
import pathlib
import subprocess
import sys
import unittest

import numpy as np

import libraries

FOLDER = pathlib.Path(__file__).parent
CASES = [
    "index:gather/f64/2000",
    "index:gather-columns/f64/30x40",
    "index:take-along/axis0/f64/30x40",
    "index:scatter-add/f64/2000",
    "index:slice-block/f64/40x40",
    "index:slice-strided/f64/40x40",
    *(
        f"sort:{name}/{place}"
        for name in ("sort", "argsort", "top-10")
        for place in ("axis0/f64/1000", "axis0/f64/30x40", "axis1/f64/30x40")
    ),
]
RESULTS = """
for name in sys.argv[3:]:
    suite, case = name.split(":")
    result = worker.prepare(library, {"suite": suite, "case": case, "threads": threads})()
    np.save(sys.stdout.buffer, np.asarray(result[0] if isinstance(result, tuple) else result))
"""
POOL = """
if library.name == "torch":
    print(library.module.get_num_threads())
else:
    names = [open(f"/proc/self/task/{task}/comm").read() for task in os.listdir("/proc/self/task")]
    print(sum("XLAEigen" in name for name in names))
"""


def run(script, library, threads, *words):
    """What a script prints that is given a library: each settles its threads once a process."""
    head = "import os, sys, numpy as np, libraries, worker\n"
    head += "threads = int(sys.argv[2])\nlibrary = libraries.start(sys.argv[1], threads)\n"
    command = [sys.executable, "-c", head + script, library, str(threads), *words]
    return subprocess.run(command, check=True, cwd=FOLDER, stdout=subprocess.PIPE).stdout


class Libraries(unittest.TestCase):
    def test_all_have_the_cases_of_index_and_sort_and_agree_on_the_results(self):
        expected, *others = (io.BytesIO(run(RESULTS, name, 1, *CASES)) for name in libraries.EAGER)
        for case in CASES:
            result = np.load(expected)
            self.assertGreater(result.size, 0)
            for other in others:
                np.testing.assert_array_equal(np.load(other), result, case)

    def test_each_works_with_as_many_threads_as_it_is_given(self):
        for name in ("torch", "jax"):
            for threads in (1, 2):
                self.assertEqual(int(run(POOL, name, threads)), threads, name)


class Worker(unittest.TestCase):
    def test_a_case_is_prepared_sampled_and_released_and_an_unknown_one_is_not(self):
        task = {"suite": "sort", "case": "sort/axis0/f64/1000", "threads": 1}
        requests = [
            {"prepare": task},
            {"sample": 3},
            "release",
            {"prepare": {**task, "suite": "nothing"}},
            {"prepare": {**task, "case": "shuffle/axis0/f64/1000"}},
        ]
        replies = subprocess.run(
            [sys.executable, FOLDER / "worker.py", "numpy"],
            check=True,
            env={**os.environ, "TENFERRO_BENCH_THREADS": "1"},
            input="".join(json.dumps(request) + "\n" for request in requests),
            stdout=subprocess.PIPE,
            text=True,
        )
        hello, prepared, took, *rest = map(json.loads, replies.stdout.splitlines())
        self.assertEqual(hello, {"hello": {"name": "NumPy", "version": np.__version__}})
        self.assertEqual(prepared, {"prepared": True})
        self.assertGreater(took["took"], 0)
        self.assertEqual(rest, ["released", {"prepared": False}, {"prepared": False}])


if __name__ == "__main__":
    unittest.main()
