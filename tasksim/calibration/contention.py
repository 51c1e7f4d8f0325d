"""Measurement of the slowdown of kernels beside each other, and of memory bandwidth.

Kernels of graphs are measured inside the graph: it runs on one core and on several, in turn, and
the overlap of tasks shows how much each lost beside which neighbours. Other kernels run alone and
beside each other on two cores. Measurements in calm moments count, as far as there are any.

Contention is part of a calibration that predicts for any number of cores: kernels are measured on
one core, and then beside each other.
"""

from __future__ import annotations

import dataclasses
import time
from collections import defaultdict
from functools import partial
from itertools import combinations_with_replacement
from operator import attrgetter
from statistics import median
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import numpy as np

from tasksim.base.errors import InputError
from tasksim.calibration.calibrate import calibrate, named_items
from tasksim.calibration.calibration_options import CalibrationOptions
from tasksim.calibration.fit_contention import Seen, alone_s, seen_beside, stretches
from tasksim.calibration.fit_runs import gaps, measured_overheads
from tasksim.calibration.kernels_under_load import KernelCall, run_beside
from tasksim.calibration.memory import disturbed_text, low_rates
from tasksim.calibration.timed_executions import ExecutionTimes
from tasksim.calibration.write_library import ARCHITECTURE, Destination, write_platform
from tasksim.graph.reuse import task_bytes
from tasksim.graph.taskgraph import TaskGraph
from tasksim.kernels.program import bind
from tasksim.kernels.standalone import standalone
from tasksim.kernels.threads import single_threaded_blas
from tasksim.models.contention import Contention
from tasksim.models.files.store import kernel_path, load_kernel, save_kernel
from tasksim.native.calm_moments import gate_of, measure_calmly, run_gate
from tasksim.native.execute import execute
from tasksim.native.this_machine import usable_cores
from tasksim.platform.description import Platform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from tasksim.calibration.fit_kernels import Search
    from tasksim.calibration.report import CalibrationReport
    from tasksim.kernels.standalone import Standalone
    from tasksim.native.calm_moments import CalmValues, Gate
    from tasksim.run.record import Run

__all__ = [
    "Measured",
    "calibrate_contended",
    "measure_bandwidth",
    "measure_contention",
    "measure_kernels",
    "write_contention",
]


def calibrate_contended(
    items: Sequence[str | TaskGraph | KernelCall],
    library: str | Path,
    *,
    workers: int | None = None,
    machine: str | None = None,
    options: CalibrationOptions | None = None,
    terms: Mapping[str, str] | None = None,
    search: Search = "irregular",
    predicted: Sequence[str | TaskGraph] = (),
    progress: Callable[[str, float], None] | None = None,
) -> CalibrationReport:
    """Measure kernels on one core, and their slowdown on *workers* cores.

    Each part gets half of the time. The platform gets all workers and a memory domain; earlier
    samples, possibly measured beside busy neighbours, are discarded.

    Parameters
    ----------
    items, library, machine, options, terms, search, predicted, progress
        As in :func:`~tasksim.calibration.calibrate.calibrate`.
    workers : int, optional
        Number of cores, at least two [default: all usable ones].

    Raises
    ------
    InputError
        If there is only one core, or for the reasons that ``calibrate`` has.
    OutputError
        If files cannot be written.

    See Also
    --------
    tasksim.models.contention.Contention : The part of each coefficient file that is written.

    Examples
    --------
    >>> calibrate_contended(["cholesky tiles=2 tile_size=32"], "lib", workers=1)
    Traceback (most recent call last):
    ...
    tasksim.base.errors.InputError: contention: got 1 workers; legal: at least 2
    """
    begun = time.monotonic()
    count = len(usable_cores()) if workers is None else workers
    if count < 2:
        raise InputError(f"contention: got {count} workers; legal: at least 2")
    options = options or CalibrationOptions()
    half = dataclasses.replace(options, max_seconds=options.max_seconds / 2)
    wanted = named_items(items)
    report = calibrate(
        wanted, library, workers=1, machine=machine, options=half, terms=terms, search=search,
        predicted=predicted, replace=True, progress=_part(progress, 0.0),
    )  # fmt: skip
    if report.interrupted:
        return report
    found = measure_contention(
        wanted,
        count,
        max_seconds=half.max_seconds,
        schedulers=options.schedulers,
        pin=options.pin,
        progress=_part(progress, 0.5),
    )
    written = write_contention(found, report.models_folder, {row.kernel for row in report.rows})
    if found.runs:
        report.overheads = measured_overheads([gaps(run) for run in found.runs])
    destination = Destination(report.platform_path.parents[1], report.machine, count)
    write_platform(destination, report.overheads, found.bandwidths)
    report.notes += _notes(found, written, count)
    report.seconds = time.monotonic() - begun
    return report


def _part(
    progress: Callable[[str, float], None] | None, begin: float
) -> Callable[[str, float], None] | None:
    """Return a progress function for half of the time, from *begin* on."""
    if progress is None:
        return None
    return lambda what, share: progress(what, begin + share / 2)


def _notes(found: Measured, written: Mapping[str, Contention], workers: int) -> list[str]:
    """Return the results as notes, one per kernel."""
    rates = ", ".join(f"{each / 1e9:.3g}" for each in found.bandwidths)
    notes = [f"memory bandwidth for copies on 1 to {workers} cores: {rates} GB/s"]
    for kernel, known in written.items():
        texts = [f"{name} {factors[-1]:.3f}" for name, factors in sorted(known.beside.items())]
        share = f"{100 * known.memory_share:.0f} % of its time is memory access"
        notes.append(f"{kernel}: slowdown beside {', '.join(texts) or 'none'}; {share}")
    notes += found.impossible
    if found.disturbed:
        notes.append(f"{found.disturbed} measurements of contention had no calm moment")
    return notes


T = TypeVar("T")

ROUND_LIMITS: Final = (3, 20)
"""Smallest and largest number of rounds: three show a disturbed one; after twenty, means are more
precise than calm moments differ. Within these bounds there are as many as time allows: cores of a
virtual machine may share their path to memory for minutes and then not for a second, as the host
places them."""
MIN_SLOWDOWN: Final = 0.98
"""Smallest plausible slowdown: no neighbour makes a kernel faster, and medians of calm moments
differ by 2 %."""
STREAM_SIZES: Final = {"m": 2048.0, "n": 1024.0}
"""Sizes of a copy from 16 MiB to 16 MiB: more than a core's own caches."""
STREAM_BYTES: Final = 2 * 8 * STREAM_SIZES["m"] * STREAM_SIZES["n"]
"""Bytes that such a copy moves at least."""


@dataclasses.dataclass
class Measured:
    """Results of a measurement of contention.

    Attributes
    ----------
    beside : dict
        Kernel -> neighbour -> slowdown beside one, two, ... of it.
    demand : dict
        Kernel -> bytes of its data per second when it runs alone.
    bandwidths : list of float
        Total bytes per second of 1, 2, ... copying cores.
    runs : list of Run
        Runs on all cores.
    disturbed : int
        Number of measurements without a calm moment.
    impossible : list of str
        Descriptions of values that break a physical limit, with their least error.
    """

    beside: dict[str, dict[str, tuple[float, ...]]] = dataclasses.field(
        default_factory=lambda: defaultdict(dict)
    )
    demand: dict[str, float] = dataclasses.field(default_factory=dict)
    bandwidths: list[float] = dataclasses.field(default_factory=list)
    runs: list[Run] = dataclasses.field(default_factory=list)
    disturbed: int = 0
    impossible: list[str] = dataclasses.field(default_factory=list)

    def of(self, kernel: str) -> Contention:
        """Return the contention of *kernel*."""
        demand = self.demand.get(kernel, 0.0)
        if self.bandwidths:  # its caches serve the demand beyond the bandwidth of one core
            demand = min(demand, self.bandwidths[0])
        share = demand / self.bandwidths[0] if self.bandwidths else 0.0
        return Contention(demand, share, dict(self.beside.get(kernel, {})))


def measure_contention(
    items: Sequence[TaskGraph | KernelCall],
    workers: int,
    *,
    max_seconds: float,
    schedulers: Sequence[str] = ("lws",),
    pin: bool = True,
    progress: Callable[[str, float], None] | None = None,
) -> Measured:
    """Measure how the kernels of *items* slow each other down on up to *workers* cores.

    Parameters
    ----------
    items : sequence of TaskGraph or KernelCall
        Executable graphs; kernels with exact parameters.
    workers : int
        Number of cores, at least two.
    max_seconds : float
        Time limit with the wait for calm moments; at least three rounds are made.
    schedulers : sequence of str
        Schedulers for runs of graphs, in turn.
    pin : bool, default True
        Whether threads are pinned to cores of their own.
    progress : callable, optional
        Called with the current activity and the used share of the time.

    Raises
    ------
    InputError
        If a graph cannot be executed.
    """
    found, tell = Measured(), progress or (lambda _what, _share: None)
    graphs = [item for item in items if isinstance(item, TaskGraph)]
    kernels = [item for item in items if isinstance(item, KernelCall)]
    each_s = max_seconds / (1 + len(graphs) + bool(kernels))
    with single_threaded_blas():
        measure_bandwidth(found, workers, each_s)
        seen: dict[str, dict[int, list[tuple[Sequence[str], Seen]]]] = {}
        for number, graph in enumerate(graphs):
            tell(f"{graph.name} on 1 to {workers} workers", number / (1 + len(graphs)))
            _measure_graph(found, seen, graph, workers, each_s, schedulers, pin=pin)
        for kernel, by_count in seen.items():
            found.beside[kernel] = _by_neighbour(by_count)
        if kernels:
            tell("kernels beside each other", 0.8)
            measure_kernels(found, kernels, each_s)
    return found


def _in_rounds(actions: Sequence[Callable[[], T]], gate: Gate[T], seconds: float) -> CalmValues[T]:
    """Run *actions* in turn for half of the time: the rest is for repetitions of disturbed ones."""
    begun = time.monotonic()
    for action in actions:  # the first runs touch memory
        action()
    round_s = time.monotonic() - begun
    rounds = int(np.clip(seconds / 2 / max(round_s, 1e-6), *ROUND_LIMITS))
    return measure_calmly(actions, gate, repetitions=rounds, patience_s=seconds)


def measure_bandwidth(
    found: Measured,
    workers: int,
    seconds: float,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Measure the total bandwidth of 1, 2, ... copying cores; record it in *found*.

    Medians are taken over more and more rounds until they are physically possible or time is up.
    """
    bodies = [standalone("lacpy", STREAM_SIZES, seed=worker) for worker in range(workers)]
    actions = [partial(_beside, bodies[:count], reset=False) for count in range(1, workers + 1)]
    gate: Gate[Beside] = gate_of(attrgetter("others_share"), workers)
    until = clock() + seconds
    values: list[list[float]] = [[] for _ in actions]
    while True:
        measured = _in_rounds(actions, gate, seconds)
        for known, more in zip(values, measured.values, strict=True):
            known += [sum(STREAM_BYTES / each for each in beside.medians_s) for beside in more]
        found.disturbed += measured.calm.disturbed
        found.bandwidths = [median(known) for known in values]
        low = low_rates(found.bandwidths)
        if not low or clock() >= until:
            break
    found.impossible += [disturbed_text(one.off_by, one.text) for one in low]


class Beside(NamedTuple):
    """Durations of kernels that ran beside each other."""

    medians_s: list[float]
    """Median duration of each kernel, without time that others took."""
    others_share: float
    """Share of the time in which others had the cores."""


def _beside(bodies: Sequence[Standalone], *, reset: bool = True) -> Beside:
    """Run *bodies* beside each other for a moment."""
    found = run_beside(bodies, reset=reset)
    medians_s = [float(np.median(times.own_s)) for times in found]
    return Beside(medians_s, ExecutionTimes.of_all(found).others_share)


def _measure_graph(
    found: Measured,
    seen: dict[str, dict[int, list[tuple[Sequence[str], Seen]]]],
    graph: TaskGraph,
    workers: int,
    seconds: float,
    schedulers: Sequence[str],
    *,
    pin: bool,
) -> None:
    """Run *graph* on one core and on several, in turn; record losses beside neighbours."""
    # 2, 4, 8, ... and all cores
    counts = sorted({workers, *(2**k for k in range(1, workers.bit_length()) if 2**k <= workers)})
    programs = {count: bind(graph, count) for count in (1, *counts)}
    turns = iter(range(10**9))

    def run(count: int) -> Run:
        name = schedulers[next(turns) // len(programs) % len(schedulers)]
        platform = Platform.identical(count)
        return execute(graph, platform, name, program=programs[count], pin=pin)

    done = _in_rounds([partial(run, count) for count in programs], run_gate(workers), seconds)
    found.disturbed += done.calm.disturbed
    alone = alone_s(done.values[0])
    sizes = task_bytes(graph)
    for number, name in enumerate(graph.model_names):
        mine = graph.kernel == number
        if mine.any() and alone[mine].sum() > 0:  # bytes of its tasks' data over their time alone
            found.demand[name] = float(sizes[mine].sum() / alone[mine].sum())
    for count, runs in zip(counts, done.values[1:], strict=True):
        for each in runs:
            for kernel, part in seen_beside(each, graph, alone):
                of = seen.setdefault(kernel, {}).setdefault(count - 1, [])
                of.append((graph.model_names, part))
    found.runs += done.values[-1]


def _by_neighbour(
    by_count: dict[int, list[tuple[Sequence[str], Seen]]],
) -> dict[str, tuple[float, ...]]:
    """Return the slowdown beside 1, 2, ... of each neighbour, interpolated between core counts."""
    known: dict[str, dict[int, float]] = {}
    for neighbours, parts in by_count.items():
        names = list(dict.fromkeys(name for of, _ in parts for name in of))
        widened = [_widened(part, of, names) for of, part in parts]
        for name, stretch in zip(names, stretches(widened).tolist(), strict=True):
            known.setdefault(name, {})[neighbours] = stretch
    return {
        name: tuple(
            float(np.interp(count, [0, *at], [1.0, *at.values()]))
            for count in range(1, max(at) + 1)
        )
        for name, at in known.items()
    }


def _widened(part: Seen, names: Sequence[str], every: Sequence[str]) -> Seen:
    """Return *part*, with columns *names*, extended to a column for each of *every*."""
    beside = np.zeros((len(part.alone_s), len(every)))
    beside[:, [every.index(name) for name in names]] = part.beside_s
    return part._replace(beside_s=beside)


def measure_kernels(
    found: Measured,
    kernels: Sequence[KernelCall],
    seconds: float,
) -> None:
    """Measure *kernels* alone, and in all pairs on two cores."""
    names = list(dict.fromkeys(kernel.name for kernel in kernels))
    first = {kernel.name: kernel for kernel in reversed(kernels)}
    bodies = {
        name: [standalone(name, dict(first[name].parameters), seed=seed) for seed in (0, 1)]
        for name in names
    }
    pairs = list(combinations_with_replacement(names, 2))
    actions = [partial(_beside, [bodies[name][0]]) for name in names]
    actions += [partial(_beside, [bodies[one][0], bodies[other][1]]) for one, other in pairs]
    done = _in_rounds(actions, gate_of(attrgetter("others_share"), 2), seconds)
    found.disturbed += done.calm.disturbed
    rounds = [np.array([beside.medians_s for beside in values]) for values in done.values]
    alone = {name: rounds[number][:, 0] for number, name in enumerate(names)}
    for (one, other), times in zip(pairs, rounds[len(names) :], strict=True):
        ratios = times[:, 0] / alone[one], times[:, 1] / alone[other]
        if one == other:  # cores are not served alike: take the ratios of both
            ratios = (np.concatenate(ratios),) * 2
        sides = ((one, other, ratios[0]), (other, one, ratios[1]))
        for name, neighbour, ratio in sides[: 1 if one == other else 2]:
            factor = float(np.median(ratio))
            if factor < MIN_SLOWDOWN:
                text = f"{name} beside {neighbour} has a slowdown of {factor:.3g}, taken as 1"
                found.impossible.append(disturbed_text(1 - factor, text))
            found.beside[name][neighbour] = (max(1.0, factor),)
    for name in names:
        moved = sum(array.nbytes for array in bodies[name][0].operands.values())
        found.demand[name] = moved / float(np.median(alone[name]))


def write_contention(
    found: Measured, folder: Path, kernels: Iterable[str]
) -> dict[str, Contention]:
    """Write the results into the coefficient files of *kernels*, and return them."""
    written = {}
    for kernel in sorted(kernels):
        path = kernel_path(folder, kernel)
        if not path.exists():
            continue
        file = load_kernel(path)
        written[kernel] = known = found.of(kernel)
        entry = dataclasses.replace(file.architectures[ARCHITECTURE], contention=known)
        save_kernel(folder, kernel, {ARCHITECTURE: entry}, machine=file.machine)
    return written
