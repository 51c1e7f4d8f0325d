"""Native runs of a tuning over MPI ranks, led by rank 0."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.errors import TasksimError
from tasksim.native.cluster.ranks import Leading
from tasksim.native.cluster.records import disturbance_of_ranks, task_table
from tasksim.scenario.over_ranks import RankedScenario
from tasksim.scenario.resolved import Resolver
from tasksim.scenario.solving import estimates_of
from tasksim.selective.ranks.choosing import statistics_of_ranks
from tasksim.selective.ranks.execute import execute_over_ranks
from tasksim.selective.ranks.mail import Wires
from tasksim.tuning.one_node import as_native, ran_selectively, scheduler_name
from tasksim.tuning.selection import TuningRun

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tasksim.graph.distribution.owners import NodeGrid
    from tasksim.native.cluster.ranks import Ranks
    from tasksim.scenario.resolved import Resolved
    from tasksim.scenario.setup import Setup
    from tasksim.tuning.over import ValueCombination
    from tasksim.tuning.selection import SelectiveSettings

__all__ = ["OverRanks"]


class OverRanks:
    """Site of all ranks of ``mpiexec``, as one of them sees it.

    Every rank must create it. Rank 0 calls the methods of a site and finally :meth:`end`; the
    others call :meth:`follow`.

    Parameters
    ----------
    candidates : sequence of ValueCombination
        The same on all ranks.
    selection : SelectiveSettings
    ranks : Ranks
    grid : NodeGrid
        Grid of the ranks, unless a candidate has one.
    owner : str
        Distribution of the data over ranks, unless a candidate has one.
    """

    def __init__(
        self,
        candidates: Sequence[ValueCombination],
        selection: SelectiveSettings,
        ranks: Ranks,
        grid: NodeGrid,
        owner: str,
    ) -> None:
        self._candidates, self._selection = candidates, selection
        self._ranks, self._grid, self._owner = ranks, grid, owner
        self._wires = Wires(ranks)
        self._statistics = statistics_of_ranks(selection.policy, selection.statistics, ranks.size)
        self._resolver = Resolver()
        self._ranked: RankedScenario | None = None
        self._resolved: Resolved | None = None
        self._warm = False
        prepare = [partial(self._prepare, place) for place in range(len(candidates))]
        actions: list[Callable[[], Any]] = [self._selective, self._full, *prepare]
        self._leading: Leading[Any] = Leading(
            ranks, [partial(self._together, action) for action in actions]
        )

    # For rank 0

    def prepare(self, place: int) -> None:
        """Let all ranks bind their parts of the graph of a candidate to data."""
        self._leading.do(2 + place)

    def selective(self) -> TuningRun:
        """Make a run that skips known kernels and messages."""
        ran: TuningRun = self._leading.do(0)
        return ran

    def full(self) -> TuningRun:
        """Make a run that executes everything."""
        ran: TuningRun = self._leading.do(1)
        return ran

    def end(self) -> None:
        """Release the other ranks."""
        self._leading.end()

    # For the others

    def follow(self) -> None:
        """Follow rank 0 until it ends."""
        self._leading.follow()

    # On all ranks

    def _together(self, action: Callable[[], Any]) -> Any:
        """Run a step that may fail early: rank 0 raises, others wait for the next step."""
        with suppress(*([SystemExit, TasksimError] if self._ranks.rank else [])):
            return action()

    def _prepare(self, place: int) -> None:
        ranks = self._ranks
        candidate = self._candidates[place]
        scenario = as_native(candidate)
        grid, owner = candidate.grid or self._grid, candidate.owner or self._owner
        ranked = self._ranked
        if ranked is None or not (
            _alike(ranked.resolved.scenario, scenario)
            and (ranked.grid, ranked.owner) == (grid, owner)
        ):
            self._ranked = self._resolved = ranked = (
                None  # free the old data first: two matrices need not fit at once
            )
            self._ranked = ranked = RankedScenario(scenario, ranks, grid, owner)
        ours = replace(scenario, workers=ranked.resolved.scenario.workers)
        self._resolved = ranks.together(lambda: self._resolver.resolve(ours))
        if not self._warm:
            self._full()
            self._warm = True

    def _selective(self) -> TuningRun | None:
        assert self._ranked is not None
        assert self._resolved is not None
        told, scenario = self._selection, self._resolved.scenario
        is_measurable = self._ranked.is_measurable  # all ranks answer together
        if not told.reuses:
            for statistics in self._statistics:
                statistics.reset()
        done = execute_over_ranks(
            self._ranks,
            self._wires,
            self._ranked.execution,
            self._ranked.platforms,
            scheduler_name(scenario),
            policy=told.policy,
            tolerance=told.tolerance,
            statistics=self._statistics,
            sampling=told.sampling,
            charge=told.charge,
            messages=told.messages,
            estimates=estimates_of(self._resolved),
            seed=scenario.seed,
            pin=scenario.pin,
        )
        if done is None:
            return None
        share = done.others_share if is_measurable else None
        return ran_selectively(done, share, len(self._ranked.cut.messages))

    def _full(self) -> TuningRun | None:
        assert self._ranked is not None
        assert self._resolved is not None
        scenario, cut = self._resolved.scenario, self._ranked.cut
        is_measurable = self._ranked.is_measurable
        begun = perf_counter()
        record = self._ranked.execution.run(
            scenario.policy(),
            estimates=estimates_of(self._resolved),
            seed=scenario.seed,
            pin=scenario.pin,
            runtime=scenario.runtime,
        )
        if record is None:
            return None
        wall_s = perf_counter() - begun
        table = task_table(cut, record.ranks)
        makespan_s = float(table.end_s.max(initial=0.0))
        busiest_s = float(np.bincount(table.worker, table.duration_s).max(initial=0.0))
        tasks, messages = len(cut.graph), len(cut.messages)
        taken = disturbance_of_ranks(record.ranks) if is_measurable else None
        workers = sum(rank.workers for rank in record.ranks)
        share = None if taken is None else taken.total_s / (makespan_s * workers)
        return TuningRun(
            makespan_s, wall_s, tasks, tasks, sent=messages, messages=messages, others_share=share,
            busiest_s=busiest_s,
        )  # fmt: skip


def _alike(one: Setup, other: Setup) -> bool:
    """Return whether two scenarios differ at most in the scheduler."""
    return replace(one, scheduler="lws", workers=None) == replace(
        other, scheduler="lws", workers=None
    )
