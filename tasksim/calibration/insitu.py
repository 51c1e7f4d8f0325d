"""In-situ measurement of kernels, in native runs with all workers busy.

Two cores of a machine are often two threads of one core, and they share caches and memory: a kernel
measured alone can be far faster than the same kernel between busy neighbours.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from math import inf
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.interruption import unbroken
from tasksim.base.threadclock import has_thread_clock
from tasksim.calibration.fit_locality import FarTable, Reaches
from tasksim.calibration.fit_runs import Gaps, gaps
from tasksim.graph.commutation import taking_turns
from tasksim.kernels.program import bind
from tasksim.models.files.coefficients import LOCK_FREE_THRESHOLD
from tasksim.models.uncertainty.slowdownlaw import LAG_S, RECENT_PROBES, SlowdownRow
from tasksim.native.calm_moments import run_gate
from tasksim.native.execute import execute
from tasksim.native.lock_share import free_shares, unknown_kernels
from tasksim.native.slowdown_probe import PAUSE_S, PROBE_S, SlowdownProbe
from tasksim.run.disturbance import has_processor_times
from tasksim.run.undisturbed import undisturbed_s
from tasksim.scenario.alone import slowdown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.base.progress import ShareProgress
    from tasksim.calibration.calibration_options import CalibrationOptions
    from tasksim.calibration.kernel_samples import KernelSamples
    from tasksim.calibration.neighbours import Neighbours
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.kernels.program import Program
    from tasksim.models.uncertainty.slowdownlaw import Probe
    from tasksim.native.calm_moments import Gate
    from tasksim.platform.description import Platform
    from tasksim.run.record import Run

__all__ = ["Observed", "measure_in_situ"]


@dataclass
class TotalDisturbance:
    """Time that others took from all runs, and number of preempted tasks."""

    own_s: float = 0.0
    wall_s: float = 0.0
    preempted: int = 0
    tasks: int = 0

    def add(self, run: Run) -> None:
        """Add a native *run*."""
        if run.disturbance is None:
            return
        taken_s = run.disturbance.total_s
        self.own_s += float(undisturbed_s(run).sum())
        self.wall_s += float(undisturbed_s(run).sum()) + taken_s
        self.preempted += int((run.tasks.preemptions > 0).sum())
        self.tasks += len(run)


@dataclass
class Observed:
    """Observations of runs besides the durations of kernels."""

    gaps: list[Gaps] = field(default_factory=list)
    """Costs of the runtime per run."""
    far: FarTable = field(default_factory=lambda: FarTable(Reaches.of_this_machine()))
    """Far data of each task."""
    disturbed: int = 0
    """Number of disturbed runs, if only calm ones count."""
    worst: str = ""
    """Sentence on the largest disturbance."""
    filled: dict[str, int] = field(default_factory=dict)
    """Graph with too few calm runs -> number of disturbed runs, the calmest, that count."""
    lock_free: dict[str, float] = field(default_factory=dict)
    """Kernel of unknown lock behaviour -> share of its time in which Python's lock is free."""
    slowdowns: dict[int, SlowdownRow] = field(default_factory=dict)
    """Run number, as in the samples -> slowdown of the probes before it, and of the run."""
    disturbance: TotalDisturbance = field(default_factory=TotalDisturbance)
    """Time that others took from all runs together."""


def measure_in_situ(
    graphs: Sequence[TaskGraph],
    platform: Platform,
    collected: KernelSamples,
    options: CalibrationOptions,
    observed: Observed,
    after_round: ShareProgress,
    neighbours: Neighbours | None = None,
) -> None:
    """Run *graphs* in turn until *collected* is settled or time is up.

    The first round warms up and is dropped. Rounds interleave the graphs and change the scheduler,
    so that a slow minute of the machine affects all of them. *after_round* is called with a message
    and the used share of the time; an exception from it ends the measurement. Results go to
    *collected* and *observed* at once. If *options* ask for calm runs, only they count, and, for a
    graph with too few, the calmest disturbed ones. *neighbours*, if given, run each graph on
    several cores after its run here, until they are settled, too.
    """
    # Predictions are for as many workers as the runs on all cores have, so those runs tell how much
    # other programs disturb.
    most = len(platform.workers) if neighbours is None else neighbours.workers
    past = _PastProbes(most) if has_thread_clock() else None
    runners = [_Runner(graph, platform, options, observed, past) for graph in graphs]
    begun = time.monotonic()
    gate = run_gate(len(platform.workers)) if options.calm else None
    until = begun + options.max_seconds
    try:
        for turn in count():
            scheduler = options.schedulers[turn % len(options.schedulers)]
            for runner in runners:
                if turn == 0:
                    run = runner.execute(scheduler)
                    if neighbours is not None:
                        neighbours.follow(runner.graph, run, runner.run_as, warm=False)
                elif (counted := runner.run(scheduler, gate, until)) is not None:
                    number, probes, run = collected.next_run, runner.probes, counted
                    _add(counted, runner.graph, collected, observed)
                    if neighbours is not None:
                        run = neighbours.follow(runner.graph, counted, runner.run_as, warm=True)
                    slowed = slowdown(run, runner.run_as)
                    if slowed is not None and probes:
                        alone_s = run.makespan_s / slowed
                        times_s = _times_s(run)
                        of_work = [probe.of_work(times_s) for probe in probes]
                        observed.slowdowns[number] = SlowdownRow.of(of_work, slowed, alone_s)
            used = (time.monotonic() - begun) / options.max_seconds
            after_round(f"round {turn}", used)
            settled = all(runner.calm for runner in runners) and collected.settled(options)
            settled = settled and (neighbours is None or neighbours.settled())
            if turn > 0 and (used >= 1 or settled):
                return
    finally:
        for runner in runners:
            for run in runner.filling():
                _add(run, runner.graph, collected, observed)
                name = runner.graph.name
                observed.filled[name] = observed.filled.get(name, 0) + 1
        observed.disturbed = sum(len(runner.disturbed) for runner in runners)
        if gate is not None and observed.disturbed:
            observed.worst = gate.text(max(max(r.disturbed, default=0.0) for r in runners))


def _times_s(run: Run) -> dict[str, float]:
    """Return the time of all tasks of each kernel."""
    times_s = np.bincount(run.tasks.kernel, run.tasks.duration_s, len(run.kernel_names))
    return dict(zip(run.kernel_names, times_s.tolist(), strict=True))


class _PastProbes:
    """Probes of the machine, at the same intervals as those before a prediction."""

    def __init__(self, workers: int) -> None:
        self._probe = SlowdownProbe(workers)
        self._seen: deque[tuple[float, Probe]] = deque()
        self._due = -inf

    def __call__(self) -> list[Probe]:
        """Return the last probes before :data:`LAG_S` ago, latest last; initially the first one."""
        now = time.monotonic()
        if now >= self._due:
            self._seen.append((now, self._probe()))
            self._due = now + PROBE_S + PAUSE_S
        old = [probe for seen, probe in self._seen if seen <= now - LAG_S]
        while len(old) > RECENT_PROBES:
            self._seen.popleft()
            del old[0]
        return old or [self._seen[0][1]]


class _Runner:
    """A graph bound to its data, and the state of its runs.

    ``calm`` counts its calm runs, ``disturbed`` lists the disturbances of the others; ``probes``
    are those before the last run.
    """

    def __init__(
        self,
        graph: TaskGraph,
        platform: Platform,
        options: CalibrationOptions,
        observed: Observed,
        past: _PastProbes | None,
    ) -> None:
        self.graph = graph
        self._platform = platform
        self._pin = options.pin
        self._program = bind(graph, len(platform.workers), options.seed)
        # Side by side, such tasks would measure their wait for each other.
        self.run_as = taking_turns(graph, _holders(self._program, observed))
        self.calm = 0
        self.disturbed: list[float] = []
        self._calmest: list[tuple[float, Run]] = []
        self._min_runs = options.min_runs
        self._past = past
        self.probes: list[Probe] = []

    def run(self, scheduler: str, gate: Gate[Run] | None, until: float) -> Run | None:
        """Return a run, or None if it was disturbed."""
        if gate is None:
            self.calm += 1
            return self.execute(scheduler)
        run, disturbance = gate.during(partial(self.execute, scheduler), until)
        if gate.is_calm(disturbance):
            self.calm += 1
            return run
        self.disturbed.append(disturbance)
        # A run holds many tasks, so keep only as many as may count.
        calmest = sorted([*self._calmest, (disturbance, run)], key=itemgetter(0))
        self._calmest = calmest[: self._min_runs]
        return None

    def filling(self) -> list[Run]:
        """Return the disturbed runs that make up for missing calm ones.

        There are as many as a mean needs if durations exclude time that others took; otherwise one,
        if there is no calm run.
        """
        runs = [run for _, run in self._calmest]
        fewest = self._min_runs if runs and has_processor_times(runs[0]) else 1
        return runs[: max(fewest - self.calm, 0)]

    def execute(self, scheduler: str) -> Run:
        """Run the graph, whatever the disturbance."""
        program, pin = self._program, self._pin
        self.probes = [] if self._past is None else self._past()
        return execute(self.run_as, self._platform, scheduler, program=program, pin=pin)


def _holders(program: Program, observed: Observed) -> set[str]:
    """Return the kernels of *program* that hold Python's lock by measurement; record the shares."""
    unknown = unknown_kernels(program)
    if not unknown:
        return set()
    graph = program.graph
    for kernel, share in free_shares(program, unknown).items():
        name = graph.model_names[graph.kernels.index(kernel)]
        observed.lock_free[name] = min(share, observed.lock_free.get(name, 1.0))
    pairs = zip(graph.kernels, graph.model_names, strict=True)
    return {
        kernel for kernel, name in pairs if observed.lock_free.get(name, 1.0) < LOCK_FREE_THRESHOLD
    }


def _add(run: Run, graph: TaskGraph, collected: KernelSamples, observed: Observed) -> None:
    """Add the data of *run* to *collected* and *observed*."""
    with unbroken():
        observed.far.add(collected.next_run, run, graph)
        collected.add_run(run, graph)
        observed.disturbance.add(run)
        observed.gaps.append(gaps(run))
        for kernel in collected.linear.intersection(graph.model_names):  # they keep the newest runs
            runs = collected.samples[kernel].runs
            assert runs is not None
            observed.far.keep(kernel, np.unique(runs).tolist())
