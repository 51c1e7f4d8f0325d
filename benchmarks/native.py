"""How much does a native run lose between its tasks? All policies, two workers.

    python benchmarks/native.py                  # a minute on a calm machine, else up to three
    python benchmarks/native.py --patience 10    # whatever others do meanwhile
    python benchmarks/native.py --workers 4 --schedulers eager,dm

Tasks in layers, of which each waits for three of the one before: tasks that do nothing; products
of small matrices of some ten microseconds by BLAS; the same by a kernel in C and by one of Numba,
called by their addresses (left out where there is no compiler, no Numba); Python functions that do
nothing. What is not spent in a task is lost: the makespan times the workers, less the durations of
the tasks, per task.
It is also given as the share of the workers' time in which they are busy, and *between* is the
median time from one task to the next on a worker that was awake, which a system that takes the core
away for milliseconds does not change. All policies are run on the core; the reference, Python's
runtime, under some.

All cases alternate, each in moments that are calm by a probe before and after it, or the calmest
that there were. Printed are medians of the rounds, the best in brackets, and of the mean task and
of the CPU time of all threads per task, with its own and that of a plan, the least. The main
thread, which submits, is one more than there are workers: a machine needs a core for it to show
what a runtime can do.
"""

from __future__ import annotations

import argparse
import ctypes
import random
import statistics
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tasksim.applications.jitted import entry_of
from tasksim.core.compiler import NotBuilt, find_compiler
from tasksim.graph.apps.registry import generate
from tasksim.kernels.calls import CallTable, NativeFunction, Tells, address_of
from tasksim.kernels.pointers import character, integer, real, routine
from tasksim.kernels.program import bind
from tasksim.kernels.threads import single_threaded_blas
from tasksim.native.calm_moments import Probe, ProbedGate, measure_calmly
from tasksim.native.runtimes import choose_runtime
from tasksim.platform.description import Platform
from tasksim.runtime.view import Facts
from tasksim.schedulers.registry import create, names

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.kernels.calls import Calls
    from tasksim.kernels.program import Program
    from tasksim.native.runtimes import Runtime
    from tasksim.run.record import TaskTable

LAYERS, WIDTH = 50, 100
ORDER, C_ORDER, NUMBA_ORDER = 72, 26, 36
"""Of the matrices: their product takes some ten microseconds, by BLAS, by three loops, and where
Numba makes use of all that this processor has."""
REFERENCE_POLICIES = ("eager", "prio", "lws", "dm")
"""The policies under which Python's runtime is measured, and kernels of other kinds."""
MAX_LOST_US, MAX_IDLE = 3.0, 25.0
"""Per task, microseconds; of the time of workers, percent: what the core is meant for."""
KERNEL_SOURCE = """
extern "C" void product(const double *a, const double *b, double *c, const long *order) {
  const long n = *order;
  for (long j = 0; j < n; ++j)
    for (long k = 0; k < n; ++k)
      for (long i = 0; i < n; ++i) c[i + j * n] = a[i + k * n] * b[k + j * n] + c[i + j * n] * .5;
}
"""


class Products:
    """A program whose tasks each call *function* on two matrices, the same: what is in the cache.

    *arguments* are, per worker, what it is called with; *called* is what the core calls instead,
    *kept* what that refers to.
    """

    def __init__(
        self,
        graph: TaskGraph,
        matrices: Matrices,
        function: Callable[..., object],
        arguments: Sequence[Sequence[object]],
        called: NativeFunction,
        kept: object = None,
    ) -> None:
        self.graph = graph
        self._matrices, self._function, self._called = matrices, function, called
        self._arguments, self._kept = arguments, kept

    def run(self, task: int, worker: int) -> None:  # noqa: ARG002
        """Multiply."""
        self._function(*self._arguments[worker])

    def calls(self, core: ctypes.CDLL) -> Calls:  # noqa: ARG002
        """Return the same by address."""
        table = CallTable(len(self.graph), len(self._arguments))
        tasks = np.arange(len(self.graph))
        table.add(self._called, tasks, np.empty((len(tasks), 0), dtype=np.int64))
        return table.calls(kept=[self._arguments, self._matrices, self._kept])

    def reset(self) -> None:
        """Begin again."""
        for output in self._matrices.outputs:
            output.fill(0.0)

    def check(self) -> None:
        """Nothing."""


class Matrices:
    """Two that are multiplied, and per worker one that is written."""

    def __init__(self, order: int, workers: int) -> None:
        self.inputs = [np.ones((order, order)) for _ in range(2)]
        self.outputs = [np.ones((order, order)) for _ in range(workers)]

    def places(self) -> list[list[ctypes.c_void_p]]:
        """Return per worker where its three are."""
        rows = [[*self.inputs, output] for output in self.outputs]
        return [[ctypes.c_void_p(matrix.ctypes.data) for matrix in row] for row in rows]


def by_address(
    graph: TaskGraph,
    matrices: Matrices,
    function: Callable[..., object],
    arguments: Callable[..., Sequence[object]],
) -> Products:
    """Return products by a function of C; *arguments* makes its own of three addresses."""
    rows = [tuple(arguments(*places)) for places in matrices.places()]
    own = [[address_of(argument) for argument in row] for row in rows]
    called = NativeFunction(address_of(function), Tells.NOTHING, own)
    return Products(graph, matrices, function, rows, called)


def blas_products(graph: TaskGraph, workers: int) -> Products:
    n, one, no = integer(ORDER), real(1.0, "float64"), character("N")
    return by_address(
        graph,
        Matrices(ORDER, workers),
        routine("dgemm"),
        lambda a, b, c: (no, no, n, n, n, one, a, n, b, n, one, c, n),
    )


def c_products(graph: TaskGraph, workers: int, folder: Path) -> Products:
    """Raises :exc:`NotBuilt` where there is no compiler."""
    compiler = find_compiler()
    source, library = folder / "product.cpp", folder / "libproduct.so"
    source.write_text(KERNEL_SOURCE)
    flags = ["-O2", "-shared", "-fPIC", str(source), "-o", str(library)]
    compiler.run([*compiler.command, *flags], folder)
    function, n = ctypes.CDLL(str(library)).product, ctypes.byref(ctypes.c_long(C_ORDER))
    function.restype = None
    matrices = Matrices(C_ORDER, workers)
    return by_address(graph, matrices, function, lambda a, b, c: (a, b, c, n))


def numba_products(graph: TaskGraph, workers: int) -> Products:
    """Raises :exc:`ImportError` where there is no Numba."""
    import numba

    @numba.njit(nogil=True)
    def product(a: Any, b: Any, c: Any) -> None:
        for j in range(a.shape[0]):
            for k in range(a.shape[0]):
                for i in range(a.shape[0]):
                    c[j, i] = a[k, i] * b[j, k] + c[j, i] * 0.5

    matrices = Matrices(NUMBA_ORDER, workers)
    rows = [(*matrices.inputs, output) for output in matrices.outputs]
    product.compile(tuple(map(numba.typeof, rows[0])))
    entry = entry_of(product, rows[0])
    assert entry is not None
    own, tables = [], []
    for row in rows:
        addresses, whole, _ = entry.passed(row)
        tables.append(np.array(whole, dtype=np.int64))
        own.append([*addresses, tables[-1].ctypes.data, 0])
    called = NativeFunction(entry.function.address, entry.function.tells, own)
    return Products(graph, matrices, product, rows, called, [entry, tables])


class Lost(NamedTuple):
    """Losses of one run: seconds per task, but for the share of busy workers."""

    lost_s: float
    busy: float
    between_s: float
    task_s: float
    cpu_s: float


class Case(NamedTuple):
    """A kind of tasks, a scheduler and a runtime to measure."""

    tasks: str
    scheduler: str
    runtime: Runtime


def lost(graph: TaskGraph, program: Program, workers: int, case: Case) -> Lost:
    """Run *program* once."""
    platform, count = Platform.identical(workers), len(graph)
    make = choose_runtime(case.runtime, platform).execution
    estimates = np.full((1, count), 1e-5).tolist()
    facts = Facts.on_any_worker(graph, platform, create(case.scheduler), estimates)
    execution = make(facts, program)
    with single_threaded_blas():
        begun = time.process_time()
        makespan_s = execution.run(random.Random(0))
        cpu_s = time.process_time() - begun
    tasks = execution.table()
    busy_s, span_s = float((tasks.end_s - tasks.start_s).sum()), workers * makespan_s
    lost_s, between_s = (span_s - busy_s) / count, median_between(tasks)
    return Lost(lost_s, busy_s / span_s, between_s, busy_s / count, cpu_s / count)


def median_between(tasks: TaskTable) -> float:
    """Return the median time from one task to the next, which was ready, on the same worker."""
    order = np.lexsort((tasks.start_s, tasks.worker))
    follows = np.flatnonzero(np.diff(tasks.worker[order]) == 0)
    before, after = order[follows], order[follows + 1]
    awake = (tasks.released_by[after] == before) | (tasks.ready_s[after] <= tasks.end_s[before])
    return float(np.median((tasks.start_s[after] - tasks.end_s[before])[awake]))


def all_cases(kinds: Sequence[str], schedulers: Sequence[str]) -> list[Case]:
    """Return what is measured: every policy, and under some whatever else there is."""
    cases = [Case(what, name, "compiled") for what in ("nothing", "BLAS") for name in schedulers]
    some = [name for name in REFERENCE_POLICIES if name in schedulers]
    cases += [Case(what, name, "compiled") for what in kinds[2:] for name in some]
    return cases + [
        Case(what, name, "python") for what in kinds if what not in ("C", "Numba") for name in some
    ]


def show(found: dict[Case, list[Lost]]) -> None:
    heads = f"{'lost per task':>22} {'busy':>13} {'between':>11} {'task':>8} {'CPU':>8}"
    print(f"{'tasks':8} {'scheduler':13} {'runtime':9} {heads}")
    for case, values in found.items():
        losses, shares, between, tasks, cpu = zip(*values, strict=True)
        print(
            f"{case.tasks:8} {case.scheduler:13} {case.runtime:9}"
            f" {1e6 * statistics.median(losses):8.2f} us (best {1e6 * min(losses):5.2f})"
            f" {100 * statistics.median(shares):4.0f} % ({100 * max(shares):3.0f})"
            f" {1e6 * statistics.median(between):8.2f} us"
            f" {1e6 * min(tasks):5.1f} us {1e6 * min(cpu):5.1f} us"
        )


def show_kernels(found: dict[Case, list[Lost]]) -> None:
    """Say how kernels of the user's own compare with those of BLAS."""

    def between(what: str, runtime: Runtime) -> float:
        cases = [Case(what, name, runtime) for name in REFERENCE_POLICIES]
        values = [statistics.median(v.between_s for v in found[c]) for c in cases if c in found]
        return statistics.fmean(values) if values else float("nan")

    blas = between("BLAS", "compiled")
    for what in ("C", "Numba"):
        own = between(what, "compiled")
        print(f"between kernels of {what}: {own / blas:.2f} times what is between those of BLAS")
    runtimes: tuple[Runtime, ...] = ("compiled", "python")
    for runtime in runtimes:
        cases = [Case("Python", name, runtime) for name in REFERENCE_POLICIES]
        losses = [statistics.median(v.lost_s for v in found[c]) for c in cases if c in found]
        if losses:
            print(f"Python kernels, runtime {runtime}: at most {1e6 * max(losses):.1f} us lost")


def show_goals(found: dict[Case, list[Lost]], workers: int) -> None:
    """Say under which policies the core does what it is meant to: medians of the rounds."""
    lost_us, idle, between_us = {}, {}, {}
    for case, values in found.items():
        if case.runtime == "compiled":
            between_us[f"{case.tasks} {case.scheduler}"] = 1e6 * statistics.median(
                v.between_s for v in values
            )
        if case.runtime == "compiled" and case.tasks == "nothing":
            lost_us[case.scheduler] = 1e6 * statistics.median(v.lost_s for v in values)
        elif case.runtime == "compiled" and case.tasks == "BLAS":
            idle[case.scheduler] = 100 - 100 * statistics.median(v.busy for v in values)
    goals = (
        (lost_us, MAX_LOST_US, f"at most {MAX_LOST_US:g} us are lost per empty task", "us"),
        (idle, MAX_IDLE, f"tasks of 10 us keep workers busy, idle at most {MAX_IDLE:g} %", "%"),
    )
    for values, limit, text, unit in goals:
        over = [f"{name} {value:.1f}" for name, value in values.items() if value > limit]
        worst = max(values, key=values.__getitem__)
        print(
            f"on {workers} workers {text}: {len(values) - len(over)} of {len(values)} policies;"
            f" the worst, {worst}, {values[worst]:.2f} {unit}"
            + (f"; over it: {', '.join(over)}" if over else "")
        )
    worst = max(between_us, key=between_us.__getitem__)
    print(f"between two tasks, whatever others do: at most {between_us[worst]:.2f} us ({worst})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--schedulers", default=",".join(names(bare=True)))
    parser.add_argument("--patience", type=float, default=120.0, help="for calm moments, seconds")
    options = parser.parse_args()
    workers = options.workers
    graph = generate("random-layered", layers=LAYERS, width=WIDTH, duration=0.0)
    functions = {kernel: lambda task: None for kernel in graph.kernels}  # noqa: ARG005
    programs: dict[str, Program] = {
        "nothing": bind(graph, workers),
        "BLAS": blas_products(graph, workers),
        "Python": bind(graph, workers, functions=functions),
    }
    with tempfile.TemporaryDirectory() as folder:
        try:
            programs["C"] = c_products(graph, workers, Path(folder))
        except NotBuilt as error:
            print(f"no kernel in C: {error}")
        try:
            programs["Numba"] = numba_products(graph, workers)
        except ImportError as error:
            print(f"no kernel of Numba: {error}")
    cases = all_cases(list(programs), options.schedulers.split(","))
    actions = [partial(lost, graph, programs[case.tasks], workers, case) for case in cases]
    measured = measure_calmly(
        actions,
        ProbedGate(Probe(workers)),
        repetitions=options.rounds,
        patience_s=options.patience,
    )
    found = dict(zip(cases, measured.values, strict=True))
    print(f"{len(graph)} tasks, {workers} workers, {options.rounds} rounds")
    show(found)
    show_goals(found, workers)
    show_kernels(found)
    calm = measured.calm
    print(f"{calm.kept} runs in {calm.seconds:.0f} s, {calm.disturbed} of them not in calm moments")


if __name__ == "__main__":
    main()
