"""Contention: mixes of kernels, and whole graphs, on two cores, predicted from one core alone.

    python benchmarks/contention.py                        # four minutes, on a machine at rest
    python benchmarks/contention.py --seconds 60           # less of everything, to see it work
    python benchmarks/contention.py --cost                 # only what it costs a replay
    python benchmarks/contention.py --json contention.json

*Mixes*: a chain of one kernel beside a chain of another, each on its own core, of equal length or
not, so that they overlap in part. What each chain takes is predicted from what the kernel takes
alone and from how the two slow each other down, which is measured by themselves, not in the chains,
in turn with them; and, beside it, as if nothing slowed anything. *Graphs*: calibrated with
``--contention`` in one size or two, run for real on two cores in these and in others. Medians of
runs in calm moments, in turn; where no moment is calm, of the runs replayed without what others
took. *Cost*: processor time of a replay with contention over one without,
in turn, the median; the command fails if one takes more than twice as long in the core.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim import load_platform
from tasksim.calibration.calibration_options import CalibrationOptions
from tasksim.calibration.contention import calibrate_contended
from tasksim.calibration.kernels_under_load import KernelCall
from tasksim.calibration.neighbours import MeasuredContention, measure_bandwidth, measure_kernels
from tasksim.engine.choice import replayed
from tasksim.engine.question import Question
from tasksim.engine.simulation import Simulation
from tasksim.engine.slowing import Kinds, Slowing
from tasksim.formats.graphs import load_graph
from tasksim.graph.apps.registry import generate
from tasksim.graph.builder import RW, GraphBuilder
from tasksim.kernels.program import FunctionProgram, bind
from tasksim.kernels.standalone import Standalone, standalone
from tasksim.kernels.threads import single_threaded_blas
from tasksim.models.contention import Contention
from tasksim.models.files.store import ModelLibrary
from tasksim.models.kinds.given import ConstantLibrary
from tasksim.native.calm_moments import MAX_OTHERS_SHARE, measure_calmly, run_gate
from tasksim.native.execute import execute
from tasksim.platform.description import MemoryDomain, Platform
from tasksim.run.disturbance import worst_share
from tasksim.scenario.alone import alone_run
from tasksim.schedulers.registry import create

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tasksim.engine.choice import Engine
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run

GEMM_SIZES = {"m": 384.0, "n": 384.0, "k": 384.0}
"""Computes in its core's caches."""
LACPY_SIZES = {
    "beyond all caches": {"m": 4096.0, "n": 2048.0},
    "as large as a last cache": {"m": 2048.0, "n": 1024.0},
}
"""Does nothing but move memory: 128 MiB per call, or 32. Of two copies as large as a cache that
they share, which finds how much of its data there is chance, and is so run by run: no single chain
of those can be predicted, and they are no part of the goal."""
MIXES = (("gemm", "lacpy"), ("gemm", "gemm"), ("lacpy", "lacpy"))
CHAIN_RATIOS = (0.5, 1.0, 2.0)
"""Durations of the second chain alone, relative to the first one."""
CHAIN_S = 0.1
"""Duration of the first chain alone, in seconds."""
GRAPHS = {
    "cholesky": ("tile_size=256", ("tiles=8",), ("tiles=6", "tiles=8", "tiles=12")),
    "fmm": (
        "group_size=40 height=4 distribution=cube",
        ("particles=1e4", "particles=2e4"),
        ("particles=1e4", "particles=2e4", "particles=4e4"),
    ),
}
"""Settings, those of the calibrations, those of the predictions. One FMM says little of
others: the interactions of its groups are all about as many, so that their power is not seen."""
SESSIONS, REPETITIONS = 4, 3
"""Of mixes: how often contention is measured and chains are run, in turn, and runs of each chain.
The host of a virtual machine may place its cores apart for a while, where they do not slow each
other down: who measures contention once may measure that."""
GRAPH_REPETITIONS = 9
DOMAIN = MemoryDomain("ram", (0, 1))

REPLAYED_DURATIONS_S = {"potrf": 1.013e-3, "trsm": 2.007e-3, "syrk": 2.105e-3, "gemm": 3.301e-3}
"""Durations of tasks in the replays whose cost is measured: no two ends at one instant."""
COST_SCHEDULERS = ("eager", "prio", "random", "lws", "dmda", "dmdas", "heteroprio")
COST_ENGINES = {"compiled": (72, 5), "simpy": (24, 3)}
"""Tiles of Cholesky, and repetitions."""
MAX_SLOWDOWN = 2.0


class Alone(ConstantLibrary):
    """Durations of kernels alone, and their slowdowns beside each other."""

    def __init__(self, seconds: dict[str, float], found: MeasuredContention) -> None:
        super().__init__(seconds)
        self._found = found

    def contention(self, kernel: str, architecture: str) -> Contention:  # noqa: ARG002
        """Return how *kernel* is slowed."""
        return self._found.of(kernel)


def chains(counts: Sequence[tuple[str, int]]) -> TaskGraph:
    """Return a chain of tasks per kernel, so many of each."""
    builder = GraphBuilder("mix")
    for number, (kernel, count) in enumerate(counts):
        datum = builder.handle(f"x{number}", 8)
        for _ in range(count):
            builder.insert(kernel, RW(datum))
    return builder.build()


def run_chains(counts: Sequence[tuple[str, int]], bodies: dict[str, list[Standalone]]) -> Run:
    """Run a chain per kernel, each on data of its own."""
    graph = chains(counts)
    body_of, first = {}, 0
    for number, (kernel, count) in enumerate(counts):
        for task in range(first, first + count):
            body_of[task] = bodies[kernel][number]
        first += count
    functions = {name: lambda task: body_of[task].run() for name in graph.kernels}
    program = FunctionProgram(graph, functions)
    return undisturbed(execute(graph, Platform.identical(2), "lws", program=program), graph)


def undisturbed(run: Run, graph: TaskGraph) -> Run:
    """Return *run*, of *graph*; if others took more than calm moments have, as it was without."""
    if worst_share(run) <= MAX_OTHERS_SHARE:
        return run
    alone = alone_run(run, graph)
    return run if alone is None else replace(alone, disturbance=run.disturbance)


def chain_s(run: Run, counts: Sequence[tuple[str, int]]) -> list[float]:
    """Return what each chain took, from its first start to its last end."""
    found, first = [], 0
    for _, count in counts:
        mine = slice(first, first + count)
        found.append(float(run.tasks.end_s[mine].max() - run.tasks.start_s[mine].min()))
        first += count
    return found


def mixes(copied: dict[str, float], seconds: float) -> list[dict[str, Any]]:
    """Return per chain of each mix what it took, and what was predicted."""
    kernels = {"gemm": GEMM_SIZES, "lacpy": copied}
    bodies = {name: [standalone(name, given, seed=s) for s in (0, 1)] for name, given in
              kernels.items()}  # fmt: skip
    calls = [KernelCall(name, given) for name, given in kernels.items()]
    gate = run_gate(2)
    first = {name: run_chains([(name, 20)], bodies) for name in kernels}
    guess = {name: statistics.median(run.tasks.duration_s) for name, run in first.items()}
    alone = {name: [(name, max(4, round(CHAIN_S / guess[name])))] for name in kernels}
    cases = [
        [(one, max(4, round(CHAIN_S / guess[one]))),
         (other, max(4, round(ratio * CHAIN_S / guess[other])))]
        for one, other in MIXES for ratio in CHAIN_RATIOS
    ]  # fmt: skip
    actions = [partial(run_chains, counts, bodies) for counts in [*alone.values(), *cases]]
    each_s = seconds / SESSIONS
    sessions = [
        (measured_beside(calls, each_s / 3),
         measure_calmly(actions, gate, repetitions=REPETITIONS, patience_s=2 * each_s / 3))
        for _ in range(SESSIONS)
    ]  # fmt: skip
    found = typical([contention for contention, _ in sessions])
    calm = [done.calm for _, done in sessions]
    print(f"mixes: {sum(c.disturbed for c in calm)} of {sum(c.kept for c in calm)} runs had no calm"
          " moment")  # fmt: skip
    values = [[run for _, done in sessions for run in done.values[action]]
              for action in range(len(actions))]  # fmt: skip
    solo = {
        name: statistics.median(chain_s(run, alone[name])[0] / alone[name][0][1] for run in runs)
        for name, runs in zip(alone, values, strict=False)
    }
    platform = Platform.identical(2)
    domain = replace(platform, memory_domains=(DOMAIN,))
    models = Alone(solo, found)
    rows = []
    for counts, runs in zip(cases, values[len(alone) :], strict=True):
        measured = [statistics.median(each) for each in
                    zip(*(chain_s(run, counts) for run in runs), strict=True)]  # fmt: skip
        with_it, without = (
            chain_s(Simulation(chains(counts), where, models, "lws").run(), counts)
            for where in (domain, platform)
        )
        for number, (kernel, count) in enumerate(counts):
            other = counts[1 - number]
            rows.append(
                row(f"{count} {kernel} beside {other[1]} {other[0]}", measured[number],
                    with_it[number], without[number])
            )  # fmt: skip
    return rows


def measured_beside(calls: Sequence[KernelCall], seconds: float) -> MeasuredContention:
    """Return the measured slowdowns of *calls* beside each other on two cores."""
    found = MeasuredContention()
    with single_threaded_blas():
        measure_bandwidth(found, 2, seconds / 2)
        measure_kernels(found, calls, seconds / 2)
    return found


def typical(sessions: Sequence[MeasuredContention]) -> MeasuredContention:
    """Return the medians of what *sessions* measured, and print them beside each session's."""
    beside: dict[str, dict[str, tuple[float, ...]]] = {}
    for kernel, known in sessions[0].beside.items():
        for other in known:
            each = [found.beside[kernel][other][0] for found in sessions]
            beside.setdefault(kernel, {})[other] = (statistics.median(each),)
            told = ", ".join(f"{stretch:.3f}" for stretch in each)
            print(f"{kernel} beside {other}: {statistics.median(each):.3f} times as long ({told})")
    return replace(sessions[0], beside=beside)


def graphs(seconds: float) -> list[dict[str, Any]]:
    """Return per graph what it took on two cores, and what one core predicted."""
    rows = []
    for name, (settings, calibrated, asked) in GRAPHS.items():
        with tempfile.TemporaryDirectory() as folder:
            options = CalibrationOptions(
                max_seconds=seconds / 4, schedulers=("lws",), calm=True
            )  # fmt: skip
            report = calibrate_contended(
                [f"{name} {each} {settings}" for each in calibrated], folder, workers=2,
                machine="one", options=options,
            )  # fmt: skip
            print("\n".join(f"{name}: {note}" for note in report.notes))
            platform = load_platform(str(report.platform_path))
            models = ModelLibrary(report.models_folder)
            for each in asked:
                graph = load_graph(name, [each, *settings.split()])
                rows.append(predicted(graph, f"{name} {each}", platform, models, seconds / 12))
    return rows


def predicted(
    graph: TaskGraph, label: str, platform: Platform, models: ModelLibrary, seconds: float
) -> dict[str, Any]:
    """Run *graph* on two cores, and predict it."""
    program = bind(graph, 2)
    action = partial(execute, graph, Platform.identical(2), "lws", program=program)
    action()
    done = measure_calmly([action], run_gate(2), repetitions=GRAPH_REPETITIONS, patience_s=seconds)
    measured = statistics.median(undisturbed(run, graph).makespan_s for run in done.values[0])
    plain = replace(platform, memory_domains=())
    with_it, without = (
        statistics.median(
            Simulation(graph, where, models, "lws", seed=seed).run().makespan_s for seed in range(5)
        )
        for where in (platform, plain)
    )
    told = f", {done.calm.disturbed} disturbed" if done.calm.disturbed else ""
    return row(f"{label}{told}", measured, with_it, without)


def costs() -> list[dict[str, Any]]:
    """Return what contention costs a replay of Cholesky, by engine, workers and scheduler."""
    rows = []
    for engine, (tiles, repetitions) in COST_ENGINES.items():
        graph = generate("cholesky", tiles=tiles, tile_size=256)
        seconds = np.array(
            [[REPLAYED_DURATIONS_S[graph.kernels[k]] for k in graph.kernel.tolist()]]
        )
        for workers in (2, 24):
            plain = Platform.identical(workers)
            domain = MemoryDomain("ram", tuple(range(workers)), (9e9, 12e9, 15e9))
            slowed = replace(plain, memory_domains=(domain,))
            slowing = Slowing(_all_slow(graph), slowed)
            for name in COST_SCHEDULERS:
                taken = [
                    [_cpu_s(graph, name, seconds, engine, *where)
                     for where in ((slowed, slowing), (plain, None))]
                    for _ in range(repetitions)
                ]  # fmt: skip
                cost = {
                    "engine": engine, "tasks": len(graph), "workers": workers, "scheduler": name,
                    "cpu_s": min(one for one, _ in taken),
                    "slower": statistics.median(one / other for one, other in taken),
                }  # fmt: skip
                print("{engine:8} {tasks:6,} tasks, {workers:2} cores, {scheduler:11} {cpu_s:.4f} s"
                      " with contention, {slower:.2f} times as long".format(**cost))  # fmt: skip
                rows.append(cost)
    return rows


def _all_slow(graph: TaskGraph) -> Kinds:
    """Return kernels of which each pair slows each other by as much as no other pair."""
    names = graph.model_names
    known = [
        Contention(3e9, 0.3, {
            other: (1 + 0.05 * (one + 1) * (n + 1), 1 + 0.1 * (one + 1) * (n + 1))
            for n, other in enumerate(names)
        })
        for one in range(len(names))
    ]  # fmt: skip
    return Kinds(names, [known], [0])


def _cpu_s(
    graph: TaskGraph,
    scheduler: str,
    seconds: NDArray[np.float64],
    engine: Engine,
    platform: Platform,
    slowing: Slowing | None,
) -> float:
    """Return the processor time of a replay, without what comes before and after it."""
    policy = create(scheduler)
    question = Question(graph, platform, policy, seconds, seconds, slowing=slowing)
    begun = time.process_time()
    replayed(question, 0, engine)
    return time.process_time() - begun


def row(what: str, measured: float, with_it: float, without: float) -> dict[str, Any]:
    """Return a row of a table."""
    return {
        "what": what,
        "measured_s": measured,
        "error": with_it / measured - 1,
        "error_without": without / measured - 1,
    }


def show(title: str, rows: Sequence[dict[str, Any]]) -> None:
    """Print a table, and its medians."""
    print(f"\n{title:44} measured   predicted   without contention")
    for each in rows:
        print(f"{each['what']:44} {1e3 * each['measured_s']:6.1f} ms {100 * each['error']:+9.1f} %"
              f" {100 * each['error_without']:+13.1f} %")  # fmt: skip
    for key, what in (("error", "predicted"), ("error_without", "without contention")):
        sizes = [abs(each[key]) for each in rows]
        print(f"{what}: median {100 * statistics.median(sizes):.1f} %, worst"
              f" {100 * max(sizes):.1f} %")  # fmt: skip


def main() -> None:
    """Measure, predict, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=200.0, help="for all; default %(default)s")
    parser.add_argument("--cost", action="store_true", help="only what contention costs a replay")
    parser.add_argument("--json", type=Path, help="write the tables there")
    given = parser.parse_args()
    cost = costs()
    tables: dict[str, list[dict[str, Any]]] = {}
    if not given.cost:
        for size, copied in LACPY_SIZES.items():
            tables[f"mixes, lacpy {size}"] = mixes(copied, given.seconds / 4)
        tables["graphs on two cores, calibrated on one"] = graphs(given.seconds / 2)
    for title, rows in tables.items():
        show(title, rows)
    if given.json:
        told = json.dumps({"cost": cost, **tables}, indent=2)
        given.json.write_text(told, encoding="utf-8")
    if max(r["slower"] for r in cost if r["engine"] == "compiled") > MAX_SLOWDOWN:
        raise SystemExit(f"contention makes a replay more than {MAX_SLOWDOWN:g} times as long")


if __name__ == "__main__":
    main()
