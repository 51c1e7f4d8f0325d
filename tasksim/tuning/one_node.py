"""Native runs of a tuning in one process, with all cores of this machine."""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tasksim.base.errors import InputError, option
from tasksim.native.calm_moments import is_measurable
from tasksim.native.execute import execute
from tasksim.run.critical import tasks_on_path
from tasksim.run.disturbance import others_share
from tasksim.run.others import crowded_share
from tasksim.run.undisturbed import undisturbed_s
from tasksim.scenario.alone import alone_run
from tasksim.scenario.resolved import Resolver
from tasksim.scenario.solving import bound, estimates_of
from tasksim.selective.execute import execute_selectively
from tasksim.tuning.selection import TuningRun

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.kernels.program import Program
    from tasksim.run.record import Run
    from tasksim.scenario.resolved import Resolved
    from tasksim.scenario.scenario import Scenario
    from tasksim.scenario.setup import Setup
    from tasksim.selective.execute import Selective
    from tasksim.tuning.over import ValueCombination
    from tasksim.tuning.selection import SelectiveSettings

__all__ = [
    "OneNode",
    "RunSite",
    "as_native",
    "busiest_s",
    "kernels_on_path_s",
    "ran_selectively",
    "scheduler_name",
]


class RunSite(Protocol):
    """Site of the native runs of a tuning."""

    def prepare(self, place: int) -> None:
        """Bind the graph of the candidate at *place* to data, for the next runs."""

    def selective(self) -> TuningRun:
        """Make a run that skips known kernels."""

    def full(self) -> TuningRun:
        """Make a run that executes everything; its time includes the reset of its data."""


class OneNode:
    """One process of this machine, with all its cores.

    Parameters
    ----------
    candidates : sequence of ValueCombination
    selection : SelectiveSettings
        Settings of selective execution.
    """

    def __init__(
        self, candidates: Sequence[ValueCombination], selection: SelectiveSettings
    ) -> None:
        if any(c.grid is not None or c.owner is not None for c in candidates):
            raise InputError(
                f"{option('over')}: grid and owner are for ranks; run it under mpiexec, or by"
                " simulation"
            )
        self._candidates, self._selection = candidates, selection
        self._resolver = Resolver()
        self._statistics = selection.statistics()
        self._resolved: Resolved | None = None
        self._program: Program | None = None
        self._warm = False

    def prepare(self, place: int) -> None:
        """Bind the graph of a candidate to data; the data of the same graph are kept."""
        resolved = self._resolver.resolve(as_native(self._candidates[place]))
        if self._resolved is None or self._resolved.graph is not resolved.graph:
            self._program = None  # free the old data first: two matrices need not fit at once
            self._program = bound(resolved)
        self._resolved = resolved
        if not self._warm:
            self._warm = True
            self.full()

    def selective(self) -> TuningRun:
        """Make a run that skips known kernels."""
        assert self._resolved is not None
        assert self._program is not None
        told, resolved, scenario = self._selection, self._resolved, self._resolved.scenario
        if not told.reuses:
            self._statistics.reset()
        done = execute_selectively(
            self._program,
            resolved.platform,
            scheduler_name(scenario),
            policy=told.policy,
            tolerance=told.tolerance,
            statistics=self._statistics,
            sampling=told.sampling,
            charge=told.charge,
            estimates=estimates_of(resolved),
            seed=scenario.seed,
            pin=scenario.pin,
        )
        return ran_selectively(done, done.others_share if self._is_told else None)

    def full(self) -> TuningRun:
        """Make a run that executes everything."""
        assert self._resolved is not None
        resolved, scenario = self._resolved, self._resolved.scenario
        estimates = estimates_of(resolved)
        begun = perf_counter()
        run = execute(
            resolved.graph,
            resolved.platform,
            scenario.policy(),
            program=self._program,
            estimates=estimates,
            seed=scenario.seed,
            pin=scenario.pin,
            runtime=scenario.runtime,
        )
        tasks = len(resolved.graph)
        wall_s = perf_counter() - begun
        share = others_share(run) if self._is_told else None
        # If others delayed or slowed workers, the path differs: the replay has the undisturbed one.
        disturbed = share or (share is not None and crowded_share(run))
        alone = None if not disturbed else alone_run(run, resolved.graph, scheduler_name(scenario))
        return TuningRun(
            run.makespan_s, wall_s, tasks, tasks, others_share=share,
            busiest_s=busiest_s(run), path_s=kernels_on_path_s(alone or run),
            alone_s=run.makespan_s if alone is None else alone.makespan_s,
        )  # fmt: skip

    @property
    def _is_told(self) -> bool:
        """Return whether the system reports the time that other programs take from the workers."""
        assert self._resolved is not None
        return is_measurable(len(self._resolved.platform.workers))


def ran_selectively(
    done: Selective, others_share: float | None = None, messages: int = 0
) -> TuningRun:
    """Return the figures of a selective run for its tuning; *messages* is the number of all."""
    run, effort = done.run, done.effort
    return TuningRun(
        run.makespan_s, done.wall_s, effort.executed, len(run),
        sent=done.messages.executed, messages=messages,
        task_s=float(median(run.tasks.duration_s)), selective=True, others_share=others_share,
        busiest_s=effort.busiest_s, path_s=kernels_on_path_s(run),
    )  # fmt: skip


def busiest_s(run: Run) -> float:
    """Return the kernel time of the busiest worker of *run*, without the time that others took."""
    totals = np.bincount(run.tasks.worker, undisturbed_s(run), minlength=len(run.workers))
    return float(totals.max(initial=0.0))


def kernels_on_path_s(run: Run) -> float:
    """Return the kernel time on the practical critical path, without the time that others took."""
    on_path = [task for task, _ in tasks_on_path(run.tasks, run.label)]
    return float(undisturbed_s(run)[on_path].sum())


def as_native(candidate: ValueCombination) -> Scenario:
    """Return the scenario of *candidate* as one of this machine's cores."""
    given = candidate.scenario
    assert given is not None
    if given.clock == "native":
        return given
    return replace(
        given, clock="native", platform=None, durations=None, changes=(), models=None,
        network=None, nodes=None, grid=None, owner="row",
    )  # fmt: skip


def scheduler_name(scenario: Setup) -> str:
    """Return the scheduler of *scenario*, by name; raises :exc:`InputError` if it is an object."""
    if not isinstance(scenario.scheduler, str):
        raise InputError("autotune takes schedulers by their names")
    return scenario.scheduler
