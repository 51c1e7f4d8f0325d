"""Scenarios over ranks, each a native run of all ranks of ``mpiexec``."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tasksim.native.cluster.execute import RankExecution, cut_for, platform_of_rank, shares_cores
from tasksim.native.cluster.records import (
    disturbance_of_ranks,
    message_table,
    rank_workers,
    task_table,
)
from tasksim.run.record import Run
from tasksim.run.sharedcores import shared_cores_entry
from tasksim.scenario.alone import replay_under, with_alone
from tasksim.scenario.document import encode
from tasksim.scenario.replayed import known_network
from tasksim.scenario.resolved import Resolver
from tasksim.scenario.scenario import Scenario
from tasksim.scenario.solving import PATIENCE_S, Checked, bounds_of, estimates_of, problem_of

if TYPE_CHECKING:
    from tasksim.graph.distribution.owners import NodeGrid
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.native.calm_moments import Calmness
    from tasksim.native.cluster.execute import ClusterRecord
    from tasksim.native.cluster.ranks import Ranks
    from tasksim.platform.description import Platform
    from tasksim.schedulers.base import Scheduler

__all__ = ["RankedScenario"]


class RankedScenario:
    """A scenario that all ranks execute together, any number of times.

    Every rank must create it.

    Parameters
    ----------
    scenario : Scenario
        A scenario with the native clock.
    ranks : Ranks
    grid : NodeGrid
        Rows and columns of the ranks.
    owner : str
        Distribution of the data, as in :func:`tasksim.graph.distribution.owners.owners_of`.
    check_accesses : bool, default False
        Run the tasks of each rank one at a time, and check their writes.

    Raises
    ------
    InputError
        On all ranks, if any of them cannot execute it.
    """

    def __init__(
        self,
        scenario: Scenario,
        ranks: Ranks,
        grid: NodeGrid,
        owner: str,
        *,
        check_accesses: bool = False,
    ) -> None:
        self.ranks, self.grid, self.owner = ranks, grid, owner
        platform = ranks.together(lambda: platform_of_rank(ranks, scenario.workers))
        self.platforms: list[Platform] = ranks.comm.allgather(platform)
        ours = replace(scenario, workers=len(platform.workers))
        self.resolved = ranks.together(lambda: Resolver().resolve(ours))
        graph = self.resolved.graph
        self.cut = cut = ranks.together(lambda: cut_for(graph, grid, owner, ranks.size))
        self.execution = ranks.together(
            lambda: RankExecution(
                ranks,
                graph,
                cut,
                platform,
                scenario.seed,
                check_accesses=check_accesses,
            )
        )

    @cached_property
    def is_measurable(self) -> bool:
        """Whether the time that workers waited for a core is that of other programs.

        Ranks that communicate need a core for that, besides those of their workers. All ranks must
        ask together.
        """
        from tasksim.native.calm_moments import is_measurable

        ranks = self.ranks
        each = len(self.platforms[ranks.rank].workers) + (ranks.size > 1)
        _, here = ranks.here
        return all(ranks.comm.allgather(is_measurable(here * each, ranks.cores)))

    @property
    def shared_cores(self) -> int | None:
        """Number of cores that all ranks share, if they are on one machine with too few cores."""
        workers, (_, here) = len(self.platforms[self.ranks.rank].workers), self.ranks.here
        if here < self.ranks.size or not shares_cores(self.ranks, workers):
            return None
        return len(self.ranks.cores)

    def run(self, *, check: bool) -> Checked | None:
        """Execute the scenario; return the run, checked with *check*, on rank 0, None on others."""
        scenario = self.resolved.scenario
        scheduler = scenario.policy()
        replay = replay_under(scheduler, _alone_makespan_s)
        record = self.execution.run(
            scheduler,
            estimates=estimates_of(self.resolved),
            seed=scenario.seed,
            pin=scenario.pin,
            runtime=scenario.runtime,
        )
        judged = self.execution.judged() if check else None
        if record is None:
            return None
        run = with_alone(self._recorded(record), self.resolved.graph, replay)
        if judged is None:
            return Checked(run)
        residual, errors = judged
        return Checked(run, residual, errors, problem_of(run, self.resolved.graph, residual))

    def run_calmly(
        self, *, check: bool, patience_s: float = PATIENCE_S
    ) -> tuple[Checked, Calmness] | None:
        """Execute the scenario until a run is calm on all ranks; return as :meth:`run`.

        If the system does not report the time of other programs, or ranks have no core to
        communicate, one rank per machine probes its cores before and after the run, and the slowest
        rank counts. After *patience_s*, the calmest run counts.
        """
        from tasksim.native.calm_moments import (
            Gate,
            MeasuredGate,
            Probe,
            ProbedGate,
            measure_calmly,
        )
        from tasksim.native.cluster.ranks import Leading, agreed_probe
        from tasksim.run.disturbance import worst_share

        ranks, is_measurable = self.ranks, self.is_measurable
        probe = Probe(len(ranks.cores), ranks.cores)
        leading: Leading[Any] = Leading(
            ranks, [lambda: self.run(check=check), lambda: agreed_probe(ranks, probe)]
        )
        if ranks.rank:
            leading.follow()
            return None
        gate: Gate[Checked]
        if is_measurable:
            gate = MeasuredGate(lambda checked: worst_share(checked.run))
        else:
            gate = ProbedGate(lambda: leading.do(1))
        done = measure_calmly([lambda: leading.do(0)], gate, repetitions=1, patience_s=patience_s)
        leading.end()
        return done.values[0][0], done.calm

    def _recorded(self, record: ClusterRecord) -> Run:
        graph, scenario = self.resolved.graph, self.resolved.scenario
        run = Run(
            kind="native",
            graph_name=graph.name,
            graph_arguments=dict(graph.arguments),
            kernel_names=graph.kernels,
            workers=rank_workers(self.platforms),
            platform=self.platforms[0].name,
            scheduler=scenario.scheduler_label,
            seed=scenario.seed,
            tasks=task_table(self.cut, record.ranks),
            disturbance=disturbance_of_ranks(record.ranks),
            messages=message_table(self.cut, record.ranks) if len(self.platforms) > 1 else None,
            config={
                **encode(scenario, self.resolved),
                **shared_cores_entry(self.shared_cores),
                "ranks": self._ranks_entry(record),
            },
            engine=record.engine,
            engine_why=record.engine_why,
        )
        return replace(run, wall_s=run.makespan_s, bounds=bounds_of(graph, run))

    def _ranks_entry(self, record: ClusterRecord) -> dict[str, Any]:
        """Return the grid of ranks, their network, and the error of their clocks."""
        machine, library = self.platforms[0].name, self.resolved.scenario.library
        network = known_network(machine, library)
        return {
            **({} if network is None else {"network": network}),
            "grid": f"{self.grid.rows}x{self.grid.columns}",
            "owner": self.owner,
            "clocks": [
                {
                    "offset_s": clock.offset_s,
                    "drift": clock.drift,
                    "uncertainty_s": clock.uncertainty_s,
                }
                for clock in record.clocks
            ],
        }


def _alone_makespan_s(run: Run, graph: TaskGraph, scheduler: str | Scheduler) -> float:
    """Return the makespan of *run*, of *graph*, without other programs, replayed on its nodes."""
    replayed = Scenario(
        replace(run, graph=graph), durations="alone", scheduler=scheduler, seed=run.seed or 0
    )
    return replayed.solve().makespan_s
