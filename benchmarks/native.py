"""How much does a native run lose between its tasks? Both runtimes, two workers.

    python benchmarks/native.py            # half a minute
    python benchmarks/native.py --workers 4

Tasks that do nothing, and products of small matrices of some ten microseconds, in layers of which
each task waits for three of the one before. What is not spent in a task is lost: the makespan times
the workers, less the durations of the tasks, per task; it is also given as the share of the
workers' time in which they are busy. Rounds of all cases alternate; the median of them is printed,
and the best one, which other users of the machine have disturbed least; of the mean task, and of
the CPU time of all threads per task, its own included, the least. The main thread, which
submits, is one more than there are workers: a machine needs a core for it to show what a runtime
can do.
"""

from __future__ import annotations

import argparse
import ctypes
import random
import statistics
import time
from typing import TYPE_CHECKING

import numpy as np

from tasksim.graph.apps.registry import generate
from tasksim.kernels.calls import CallTable, Function, Tells, address_of
from tasksim.kernels.pointers import character, integer, real, routine
from tasksim.kernels.program import bind
from tasksim.kernels.threads import single_threaded_blas
from tasksim.native.runtimes import choose_runtime
from tasksim.platform.description import Platform
from tasksim.schedulers.registry import create

if TYPE_CHECKING:
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.kernels.calls import Calls
    from tasksim.kernels.program import Program

LAYERS, WIDTH = 50, 100
ORDER = 52
"""Of the matrices: their product takes some ten microseconds."""
SCHEDULERS = ("eager", "prio", "lws", "dm")


class Products:
    """A program whose tasks each multiply two matrices, the same ones: what is in the cache."""

    def __init__(self, graph: TaskGraph, workers: int) -> None:
        self.graph = graph
        self._gemm = routine("dgemm")
        n, one, no = integer(ORDER), real(1.0, "float64"), character("N")
        inputs = [np.ones((ORDER, ORDER)) for _ in range(2)]
        self._outputs = [np.ones((ORDER, ORDER)) for _ in range(workers)]
        a, b = (ctypes.c_void_p(matrix.ctypes.data) for matrix in inputs)
        self._fixed = (no, no, n, n, n, one, a, n, b, n, one)
        self._ends = [(ctypes.c_void_p(c.ctypes.data), n) for c in self._outputs]
        self._kept = inputs

    def run(self, task: int, worker: int) -> None:  # noqa: ARG002
        """Multiply."""
        self._gemm(*self._fixed, *self._ends[worker])

    def calls(self, core: ctypes.CDLL) -> Calls:  # noqa: ARG002
        """Return the same by address; what is written is each worker's own."""
        own = [[end[0].value or 0, address_of(end[1])] for end in self._ends]
        table = CallTable(len(self.graph), len(own))
        row = [address_of(argument) for argument in self._fixed]
        tasks = np.arange(len(self.graph))
        function = Function(address_of(self._gemm), Tells.NOTHING, own)
        table.add(function, tasks, np.tile(np.array(row, dtype=np.int64), (len(tasks), 1)))
        return table.calls(kept=[self._fixed, self._ends, self._outputs, self._kept])

    def reset(self) -> None:
        """Begin again."""
        for output in self._outputs:
            output.fill(0.0)

    def check(self) -> None:
        """Nothing."""


def lost(
    graph: TaskGraph, program: Program, workers: int, scheduler: str, runtime: str
) -> tuple[float, ...]:
    """Return per task what is lost, the share of busy workers, the task itself, and CPU time."""
    platform, count = Platform.identical(workers), len(graph)
    make = choose_runtime(runtime, platform).execution
    estimates = np.full((1, count), 1e-5).tolist()
    execution = make(graph, platform, create(scheduler), program, estimates, [1] * count)
    with single_threaded_blas():
        begun = time.process_time()
        makespan_s = execution.run(random.Random(0))
        cpu_s = time.process_time() - begun
    tasks = execution.table()
    busy_s, span_s = float((tasks.end_s - tasks.start_s).sum()), workers * makespan_s
    return (span_s - busy_s) / count, busy_s / span_s, busy_s / count, cpu_s / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    graph = generate("random-layered", layers=LAYERS, width=WIDTH, duration=0.0)
    programs = {
        "nothing": bind(graph, options.workers),
        "products": Products(graph, options.workers),
    }
    cases = [
        (what, scheduler, runtime)
        for what in programs
        for scheduler in SCHEDULERS
        for runtime in ("compiled", "python")
    ]
    found: dict[tuple[str, str, str], list[tuple[float, ...]]] = {c: [] for c in cases}
    begun = time.perf_counter()
    for _ in range(options.rounds):
        for what, scheduler, runtime in cases:
            values = lost(graph, programs[what], options.workers, scheduler, runtime)
            found[what, scheduler, runtime].append(values)
    print(f"{len(graph)} tasks, {options.workers} workers, {options.rounds} rounds")
    heads = f"{'lost per task':>22} {'busy':>13} {'task':>8} {'CPU':>8}"
    print(f"{'tasks':9} {'scheduler':9} {'runtime':9} {heads}")
    for (what, scheduler, runtime), values in found.items():
        losses, shares, means, cpu = zip(*values, strict=True)
        print(
            f"{what:9} {scheduler:9} {runtime:9}"
            f" {1e6 * statistics.median(losses):8.2f} us (best {1e6 * min(losses):5.2f})"
            f" {100 * statistics.median(shares):4.0f} % ({100 * max(shares):3.0f})"
            f" {1e6 * min(means):5.1f} us {1e6 * min(cpu):5.1f} us"
        )
    print(f"took {time.perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    main()
