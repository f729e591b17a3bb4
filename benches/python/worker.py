"""A Python library as a peer: `worker.py LIBRARY`, LIBRARY one of numpy, torch,
torch-compile, jax.

Speaks the protocol of the crate tenferro-bench-worker on its pipes. The operations are in a file a
suite; this file only starts the library with the given number of threads, and keeps the time.
"""

import gc
import importlib
import json
import os
import sys
import time

import libraries


def serve(library, requests, answer):
    answer({"hello": {"name": library.title, "version": library.version}})
    operation = None
    for line in requests:
        request = json.loads(line)
        if request == "release":
            operation = None
            gc.collect()
            answer("released")
        elif "prepare" in request:
            operation = prepare(library, request["prepare"])
            answer({"prepared": operation is not None})
        elif "sample" in request:
            answer({"took": sample(operation, request["sample"])})
        else:
            answer({"failed": f"not understood: {line.strip()}"})


def prepare(library, task):
    """The operation of a case, or None for one that the library or the suite does not have."""
    try:
        suite = importlib.import_module(f"suite_{task['suite']}")
    except ModuleNotFoundError:
        return None
    if library.name not in getattr(suite, "LIBRARIES", libraries.EAGER):
        return None
    return suite.prepare(library, task)


def sample(operation, count):
    gc.disable()
    start = time.perf_counter_ns()
    for _ in range(count):
        operation()
    took = time.perf_counter_ns() - start
    gc.enable()
    return took


def main():
    # What a library prints must not come between the answers.
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(reply):
        replies.write(json.dumps(reply) + "\n")
        replies.flush()

    threads = int(os.environ.get("TENFERRO_BENCH_THREADS", "1"))
    serve(libraries.start(sys.argv[1], threads), sys.stdin, answer)


if __name__ == "__main__":
    main()
