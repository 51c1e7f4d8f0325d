"""Slowdown of kernels beside each other and bandwidth of memory, in turn with kernels alone.

A graph that runs on one core, for the durations of its kernels alone, then runs on several, with
the same scheduler: a *round*. Whatever the machine's speed is in a round, both runs have it, so
that slowdowns are ratios within a round, and the durations that they multiply are those of the
same rounds. Other kernels run alone and beside each other on two cores, in rounds, too.
"""

from __future__ import annotations

import dataclasses
import time
from collections import defaultdict, deque
from functools import partial
from itertools import combinations_with_replacement
from math import isnan, nan
from operator import attrgetter
from statistics import median
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import numpy as np

from tasksim.base.interruption import unbroken
from tasksim.calibration.fit_contention import Beside, Seen, losses, seen_beside
from tasksim.calibration.fit_runs import Gaps, gaps
from tasksim.calibration.kernels_under_load import KernelCall, run_beside, thinned
from tasksim.calibration.memory import disturbed_text, low_rates
from tasksim.calibration.precision import relative_half_width
from tasksim.engine.locality import FarCharge, FarCosts
from tasksim.graph.reuse import task_bytes
from tasksim.kernels.program import bind
from tasksim.kernels.threads import single_threaded_blas
from tasksim.models.contention import Contention
from tasksim.native.calm_moments import MAX_OTHERS_SHARE, gate_of, measure_calmly
from tasksim.native.execute import execute
from tasksim.native.machine_account import busy_s
from tasksim.native.this_machine import usable_cores
from tasksim.platform.description import Platform
from tasksim.run.disturbance import worst_share

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from tasksim.base.arrays import Floats
    from tasksim.base.progress import ShareProgress
    from tasksim.calibration.calibration_options import CalibrationOptions
    from tasksim.calibration.kernel_samples import KernelSamples
    from tasksim.calibration.timed_executions import ExecutionTimes
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.kernels.program import Program
    from tasksim.kernels.standalone import Standalone
    from tasksim.models.locality import Locality
    from tasksim.native.calm_moments import CalmValues, Gate
    from tasksim.run.record import Run


__all__ = [
    "BANDWIDTH_SHARE",
    "MeasuredContention",
    "Neighbours",
    "measure_bandwidth",
    "measure_kernels",
]

T = TypeVar("T")

BANDWIDTH_SHARE: Final = 0.1
"""Share of the time for the bandwidth of memory, of which only predictions for more cores than were
measured need more than one value."""
MIN_ROUNDS: Final = 3
"""Smallest number of rounds: three show a disturbed one."""
MAX_ROUNDS: Final = 20
"""Largest number of rounds that count: means of twenty are more precise than calm moments differ.
Within these bounds there are as many as time allows: cores of a virtual machine may share their
path to memory for minutes and then not for a second, as the host places them."""
MIN_USE_INTERVAL_S: Final = 1.0
"""Shortest time for which the use of cores by others is judged, in seconds: the system's account
has ticks of 10 ms for each core."""
MIN_SLOWDOWN: Final = 0.98
"""Smallest plausible slowdown: no neighbour makes a kernel faster, and medians of calm moments
differ by 2 %."""
STREAM_SIZES: Final = {"m": 2048.0, "n": 1024.0}
"""Sizes of a copy from 16 MiB to 16 MiB: more than a core's own caches."""
STREAM_BYTES: Final = 2 * 8 * STREAM_SIZES["m"] * STREAM_SIZES["n"]
"""Bytes that such a copy moves at least."""


@dataclasses.dataclass
class MeasuredContention:
    """Results of a measurement of contention.

    Attributes
    ----------
    beside : dict
        Kernel -> neighbour -> slowdown beside one, two, ... of it.
    mean : dict
        Kernel of graphs -> its mean slowdown between busy neighbours on all cores, and the standard
        error of that over runs.
    demand : dict
        Kernel -> bytes of its data per second when it runs alone.
    bandwidths : list of float
        Total bytes per second of 1, 2, ... copying cores.
    gaps : list of Gaps
        Costs of the runtime in the runs on all cores.
    disturbed : int
        Number of measurements without a calm moment.
    used_by_others : float
        Share of the cores that other programs used meanwhile.
    impossible : list of str
        Descriptions of values that break a physical limit, with their least error.
    """

    beside: dict[str, dict[str, tuple[float, ...]]] = dataclasses.field(
        default_factory=lambda: defaultdict(dict)
    )
    mean: dict[str, tuple[float, float]] = dataclasses.field(default_factory=dict)
    demand: dict[str, float] = dataclasses.field(default_factory=dict)
    bandwidths: list[float] = dataclasses.field(default_factory=list)
    gaps: list[Gaps] = dataclasses.field(default_factory=list)
    disturbed: int = 0
    used_by_others: float = 0.0
    impossible: list[str] = dataclasses.field(default_factory=list)

    def of(self, kernel: str) -> Contention:
        """Return the contention of *kernel*."""
        demand = self.demand.get(kernel, 0.0)
        if self.bandwidths:  # its caches serve the demand beyond the bandwidth of one core
            demand = min(demand, self.bandwidths[0])
        share = demand / self.bandwidths[0] if self.bandwidths else 0.0
        return Contention(demand, share, dict(self.beside.get(kernel, {})))


class _Pair(NamedTuple):
    """A run on several cores, and the run on one core of the same round."""

    beside: Beside
    order: tuple[NDArray[np.int32], NDArray[np.int32]]
    """Tasks in the order of their starts, on one core and on several."""
    disturbance: float
    """Largest share of a worker's time that others took from one of the two, or share of all cores
    that others used meanwhile, if that is larger: a run on one core is not alone beside them."""

    @property
    def calm(self) -> bool:
        """Whether others took hardly anything."""
        return self.disturbance <= MAX_OTHERS_SHARE


class _Graph:
    """A graph bound to its data for each number of cores, and its rounds."""

    def __init__(self, graph: TaskGraph, counts: Sequence[int], seed: int) -> None:
        self.graph, self.knots = graph, [count - 1 for count in counts]
        self.programs: dict[int, Program] = {count: bind(graph, count, seed) for count in counts}
        self.pairs: dict[int, list[_Pair]] = {count: [] for count in counts}

    def add(self, count: int, alone: Run, run: Run, used: float) -> None:
        """Add a pair of runs, while others *used* a share of the cores.

        Of too many, drop the most disturbed one, or the oldest.
        """
        orders = (np.argsort(each.tasks.start_s, kind="stable") for each in (alone, run))
        one, other = (order.astype(np.int32) for order in orders)
        share = max(worst_share(alone), worst_share(run), used)
        pairs = self.pairs[count]
        beside = Beside.of(alone, run, self.graph, self.knots)
        pairs.append(_Pair(beside, (one, other), share))
        if len(pairs) > MAX_ROUNDS:
            shares = [0.0 if pair.calm else pair.disturbance for pair in pairs]
            del pairs[shares.index(max(shares))]

    def counted(self, count: int) -> list[_Pair]:
        """Return the calm pairs of runs, if they are half of all; all others count, too, otherwise.

        Durations leave out what others took, so that many disturbed pairs say more than few calm
        ones.
        """
        pairs = self.pairs[count]
        calm = [pair for pair in pairs if pair.calm]
        return calm if len(calm) >= max(MIN_ROUNDS, len(pairs) / 2) else pairs

    def known(self, tolerance: float) -> bool:
        """Return whether the slowdown of all tasks together is known to *tolerance*."""
        ratios = [
            [pair.beside.duration_s.sum() / pair.beside.alone_s.sum() for pair in self.counted(n)]
            for n in self.pairs
        ]
        return all(len(r) >= MIN_ROUNDS and relative_half_width(r) <= tolerance for r in ratios)


class _UseByOthers:
    """Share of the usable cores that other programs use; 0 if the system does not report it."""

    def __init__(self) -> None:
        self._seen = deque([self._now()])
        self._first = self._seen[0]

    def __call__(self) -> float:
        """Return the share over the last second or more."""
        self._seen.append(self._now())
        while len(self._seen) > 2 and self._seen[-1][0] - self._seen[1][0] >= MIN_USE_INTERVAL_S:
            self._seen.popleft()
        return self._between(self._seen[0], self._seen[-1])

    def in_all(self) -> float:
        """Return the share since the beginning."""
        return self._between(self._first, self._now())

    @staticmethod
    def _now() -> tuple[float, float]:
        busy = busy_s()
        return time.monotonic(), nan if busy is None else busy - time.process_time()

    @staticmethod
    def _between(earlier: tuple[float, float], later: tuple[float, float]) -> float:
        whole_s = (later[0] - earlier[0]) * len(usable_cores())
        share = (later[1] - earlier[1]) / whole_s if whole_s else nan
        return 0.0 if isnan(share) else min(max(share, 0.0), 1.0)


class Neighbours:
    """Measurement of kernels beside each other, in turn with their measurement on one core.

    Parameters
    ----------
    workers : int
        Number of cores, at least two.
    options : CalibrationOptions
        When to stop measuring, and how to run graphs.

    Attributes
    ----------
    found : MeasuredContention
        What is measured directly: bandwidths, kernels that are no part of a graph, overheads.
    """

    def __init__(self, workers: int, options: CalibrationOptions) -> None:
        self.workers, self.found = workers, MeasuredContention()
        self._options = options
        # 2, 4, 8, ... and all cores
        powers = (2**k for k in range(1, workers.bit_length()) if 2**k <= workers)
        self._counts = sorted({workers, *powers})
        self._graphs: dict[int, _Graph] = {}
        self._used = _UseByOthers()

    def measure_bandwidth(self) -> None:
        """Measure the bandwidth of memory."""
        with single_threaded_blas():
            measure_bandwidth(self.found, self.workers, BANDWIDTH_SHARE * self._options.max_seconds)

    def follow(self, graph: TaskGraph, alone: Run, run_as: TaskGraph, *, warm: bool) -> Run:
        """Run *graph* on several cores after the run *alone*; return the run on all cores.

        They have the same scheduler, and are runs of *run_as*, the same graph with more
        dependencies. Runs that are not *warm*, the first ones, touch memory, and do not count.
        """
        known = self._graphs.get(id(graph))
        if known is None:
            known = self._graphs[id(graph)] = _Graph(graph, self._counts, self._options.seed)
        for count, program in known.programs.items():
            platform = Platform.identical(count)
            run = execute(run_as, platform, alone.scheduler, program=program, pin=self._options.pin)
            if warm:
                with unbroken():
                    known.add(count, alone, run, self._used())
                    if count == self.workers:
                        self.found.gaps.append(gaps(run))
        return run

    def settled(self) -> bool:
        """Return whether the slowdowns of all graphs are known well enough."""
        return all(graph.known(self._options.tolerance) for graph in self._graphs.values())

    def measure_kernels(
        self,
        kernels: Sequence[KernelCall],
        seconds: float,
        collected: KernelSamples,
        after_round: ShareProgress,
    ) -> None:
        """Measure *kernels* alone and beside each other, and collect the executions alone."""
        begun = time.monotonic()

        def alone(kernel: KernelCall, times: ExecutionTimes) -> None:
            with unbroken():
                collected.add_executions(kernel.name, kernel.parameters, thinned(times))
                collected.next_run += 1
            after_round(kernel.name, (time.monotonic() - begun) / seconds)

        with single_threaded_blas():
            measure_kernels(self.found, kernels, seconds, alone)

    def result(self, localities: Mapping[str, Locality]) -> MeasuredContention:
        """Return all results; the costs of far data of *localities* are not contention."""
        found, seen = self.found, dict[str, list[Seen]]()
        found.used_by_others = self._used.in_all()
        every = [graph.graph.model_names for graph in self._graphs.values()]
        names = list(dict.fromkeys(name for of in every for name in of))
        for graph in self._graphs.values():
            for count in self._counts:
                pairs = graph.counted(count)
                if not pairs:
                    continue
                found.disturbed += sum(not pair.calm for pair in pairs)
                rounds = [_with_far_data(pair, graph.graph, localities) for pair in pairs]
                for parts in seen_beside(rounds, graph.graph):
                    for kernel, part in parts.items():
                        wide = _widened(part, graph.graph.model_names, names)
                        seen.setdefault(kernel, []).append(wide)
            self._add_demand(graph)
        beside = [count - 1 for count in self._counts]
        for kernel, loss in losses(seen).items():
            found.mean[kernel] = loss.mean, loss.deviation
            for name, stretches in zip(names, loss.stretches.T.tolist(), strict=True):
                found.beside[kernel][name] = _interpolated(beside, stretches)
        return found

    def _add_demand(self, graph: _Graph) -> None:
        pairs = graph.pairs[self._counts[0]]
        if not pairs:
            return
        alone = np.mean([pair.beside.alone_s for pair in pairs], axis=0)
        sizes = task_bytes(graph.graph)
        for number, name in enumerate(graph.graph.model_names):
            mine = graph.graph.kernel == number
            if mine.any() and alone[mine].sum() > 0:  # bytes of its tasks' data over time alone
                self.found.demand[name] = float(sizes[mine].sum() / alone[mine].sum())


def _with_far_data(pair: _Pair, graph: TaskGraph, localities: Mapping[str, Locality]) -> Beside:
    """Return what was seen in *pair*, with what far data cost more in the run on several cores."""
    known = [
        (k, localities[name]) for k, name in enumerate(graph.model_names) if name in localities
    ]
    if not known:
        return pair.beside
    costs = FarCosts.none(1, len(graph))
    for kernel, locality in known:
        mine = graph.kernel == kernel
        costs.near_bytes[0, mine] = locality.near_bytes
        costs.reach_bytes[0, mine] = locality.reach_bytes
        costs.read_s_per_byte[0, mine] = locality.seconds_per_far_byte
        costs.written_s_per_byte[0, mine] = locality.seconds_per_far_written_byte
    one, several = (_far_s(graph, costs, order) for order in pair.order)
    return pair.beside._replace(far_s=several - one)


def _far_s(graph: TaskGraph, costs: FarCosts, order: NDArray[np.int32]) -> Floats:
    charge, found = FarCharge(graph, costs), np.zeros(len(graph))
    for task in order.tolist():
        found[task] = charge.extra_s(task, 0, 0)
    return found


def _interpolated(beside: Sequence[int], stretches: Sequence[float]) -> tuple[float, ...]:
    """Return slowdowns beside 1, 2, ... neighbours from those beside some numbers of them."""
    known = [0, *beside], [1.0, *stretches]
    return tuple(float(np.interp(count, *known)) for count in range(1, max(beside) + 1))


def _widened(part: Seen, names: Sequence[str], every: Sequence[str]) -> Seen:
    """Return *part*, with columns *names*, extended to a column for each of *every*."""
    beside = np.zeros((*part.beside_s.shape[:2], len(every)))
    beside[:, :, [every.index(name) for name in names]] = part.beside_s
    return part._replace(beside_s=beside)


def _in_rounds(actions: Sequence[Callable[[], T]], gate: Gate[T], seconds: float) -> CalmValues[T]:
    """Run *actions* in turn for half of the time: the rest is for repetitions of disturbed ones."""
    begun = time.monotonic()
    for action in actions:  # the first runs touch memory
        action()
    round_s = time.monotonic() - begun
    rounds = int(np.clip(seconds / 2 / max(round_s, 1e-6), MIN_ROUNDS, MAX_ROUNDS))
    return measure_calmly(actions, gate, repetitions=rounds, patience_s=seconds)


def measure_bandwidth(
    found: MeasuredContention,
    workers: int,
    seconds: float,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Measure the total bandwidth of 1, 2, ... copying cores; record it in *found*.

    Medians are taken over more and more rounds until they are physically possible or time is up.
    """
    bodies = KernelCall("lacpy", STREAM_SIZES).bodies(workers)
    actions = [partial(_together, bodies[:count], reset=False) for count in range(1, workers + 1)]
    gate: Gate[ConcurrentExecutions] = gate_of(attrgetter("others_share"), workers)
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
    found.impossible += [one.said() for one in low]


class ConcurrentExecutions(NamedTuple):
    """Executions of kernels that ran beside each other."""

    times: list[ExecutionTimes]
    """Times of each kernel's executions, with those that others took."""

    @property
    def medians_s(self) -> list[float]:
        """Median duration of each kernel, without time that others took."""
        return [float(np.median(times.own_s)) for times in self.times]

    @property
    def others_share(self) -> float:
        """Largest share of the time in which others had one of the cores."""
        return max(times.others_share for times in self.times)


def _together(bodies: Sequence[Standalone], *, reset: bool = True) -> ConcurrentExecutions:
    """Run *bodies* beside each other for a moment."""
    return ConcurrentExecutions(run_beside(bodies, reset=reset))


def measure_kernels(
    found: MeasuredContention,
    kernels: Sequence[KernelCall],
    seconds: float,
    alone: Callable[[KernelCall, ExecutionTimes], None] | None = None,
) -> None:
    """Measure *kernels* alone, and in all pairs on two cores; record slowdowns in *found*.

    Of kernels with one name the first is measured beside others. *alone*, if given, is called with
    the executions of each kernel alone.
    """
    first: dict[str, KernelCall] = {}
    for kernel in kernels:
        first.setdefault(kernel.name, kernel)
    others = [kernel for kernel in kernels if kernel is not first[kernel.name]]
    names = list(first)
    bodies = {name: kernel.bodies(2) for name, kernel in first.items()}

    def by_itself(kernel: KernelCall, body: Standalone) -> ConcurrentExecutions:
        measured = _together([body])
        if alone is not None:
            alone(kernel, measured.times[0])
        return measured

    pairs = list(combinations_with_replacement(names, 2))
    actions = [partial(by_itself, first[name], bodies[name][0]) for name in names]
    actions += [partial(_together, [bodies[one][0], bodies[other][1]]) for one, other in pairs]
    actions += [partial(by_itself, kernel, *kernel.bodies(1)) for kernel in others]
    gate: Gate[ConcurrentExecutions] = gate_of(attrgetter("others_share"), 2)
    done = _in_rounds(actions, gate, seconds)
    found.disturbed += done.calm.disturbed
    rounds = [np.array([each.medians_s for each in values]) for values in done.values]
    alone_s = {name: rounds[number][:, 0] for number, name in enumerate(names)}
    for (one, other), times in zip(pairs, rounds[len(names) :], strict=False):
        ratios = times[:, 0] / alone_s[one], times[:, 1] / alone_s[other]
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
        found.demand[name] = moved / float(np.median(alone_s[name]))
