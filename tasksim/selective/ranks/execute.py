"""Selective runs over ranks, which execute parts of a cut graph to predict the makespan."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from tasksim.base.arguments import one_of
from tasksim.base.errors import TaskFailed
from tasksim.kernels.threads import single_threaded_blas
from tasksim.native.cluster.clocks import compared_clock
from tasksim.native.cluster.execute import estimates_of_part, refuse_planner, shares_cores
from tasksim.native.cluster.launch import end_all
from tasksim.native.cluster.records import RankRecord, message_table, rank_workers, task_table
from tasksim.native.execute import refuse_without_estimates
from tasksim.native.processor_time import waited_share
from tasksim.native.this_machine import usable_cores
from tasksim.schedulers.registry import create
from tasksim.selective.execute import Selective, selective_run
from tasksim.selective.policies import checked_policy
from tasksim.selective.ranks.account import RankPaths, RanksAccount
from tasksim.selective.ranks.choosing import MESSAGES, RankChoosers, RankRules, RankSignatures
from tasksim.selective.ranks.crew import Crew
from tasksim.selective.ranks.hands import Follower, Hands, Leader, let_work
from tasksim.selective.ranks.mail import Mail
from tasksim.selective.statistics import Statistics

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tasksim.native.cluster.execute import RankExecution
    from tasksim.native.cluster.ranks import Ranks
    from tasksim.native.processor_time import ThreadAccount
    from tasksim.platform.description import Platform
    from tasksim.selective.charges import Charge
    from tasksim.selective.policies import SamplingOrder
    from tasksim.selective.ranks.choosing import MessageRule
    from tasksim.selective.ranks.crew import Cores
    from tasksim.selective.ranks.mail import Wires

__all__ = ["execute_over_ranks"]


def execute_over_ranks(
    ranks: Ranks,
    wires: Wires,
    execution: RankExecution,
    platforms: Sequence[Platform],
    scheduler: str = "lws",
    *,
    policy: str = "online",
    tolerance: float = 0.05,
    statistics: Sequence[Statistics] | None = None,
    sampling: SamplingOrder = "spread",
    messages: MessageRule = "all",
    charge: Charge = "drawn",
    estimates: Sequence[Sequence[float]] | None = None,
    seed: int = 0,
    pin: bool = True,
) -> Selective | None:
    """Run a graph over all ranks, and skip tasks and messages that are known well enough.

    This call is collective; rank 0 keeps the account and all statistics, and returns the run.

    Parameters
    ----------
    ranks : Ranks
    wires : Wires
    execution : RankExecution
        The graph, cut and bound to data.
    platforms : sequence of Platform
        Workers of each rank.
    scheduler : str, optional
        Each rank creates one.
    policy, tolerance, sampling, charge
        As in :func:`tasksim.selective.execute.execute_selectively`.
    statistics : sequence of Statistics, optional
        Measurements of each rank from earlier runs; those on rank 0 are used.
    messages : {"all", "any"}
        Whether all ends of a message must know it, or any.
    estimates : sequence of sequences of float, optional
        Estimated durations for the schedulers, of the whole graph's tasks, ``[class][task]``.
    seed, pin
        As in a full run.

    Raises
    ------
    InputError
        If the tolerance is out of range, or the policy or the rule for messages is unknown; on
        all ranks.

    A kernel that fails on any rank ends all ranks at once.
    """
    chosen = checked_policy(policy, tolerance, sampling, charge)
    one_of(messages, MESSAGES, "messages")
    begun = perf_counter()
    run = _RankRun(ranks, wires, execution, platforms, scheduler, estimates, seed, pin)
    known = statistics or [Statistics() for _ in platforms]
    profile: Sequence[int] = ()
    if chosen.counts == "profile":
        nothing = [Statistics() for _ in platforms]
        before = run.make(RankRules(chosen, nothing, 0.0))
        profile = () if before is None else before.paths.longest.counts
    rules = RankRules(chosen, known, tolerance, messages, profile, sampling, charge, seed)
    made = run.make(rules)
    return None if made is None else run.told(made, perf_counter() - begun)


class _RankRun:
    """Makes runs of one execution; each rank has one."""

    def __init__(
        self,
        ranks: Ranks,
        wires: Wires,
        execution: RankExecution,
        platforms: Sequence[Platform],
        scheduler: str,
        estimates: Sequence[Sequence[float]] | None,
        seed: int,
        pin: bool,
    ) -> None:
        ranks.together(lambda: _refuse(scheduler, estimates, ranks.size))
        self._ranks, self._wires, self._execution = ranks, wires, execution
        self._platforms, self._scheduler, self._seed = platforms, scheduler, seed
        self._estimates = estimates
        self._cut = execution.cut
        self._shared = shares_cores(ranks, len(platforms[ranks.rank].workers))
        self._pin = pin and not self._shared
        self._cores: Cores = "too few" if self._shared else "to spare"
        if not self._shared and len(usable_cores()) <= len(platforms[ranks.rank].workers):
            self._cores = "one each"
        self._others_share: float | None = None
        self._known = RankSignatures(self._cut) if not ranks.rank else None
        self._offset_s = compared_clock(ranks).offset_s

    def make(self, rules: RankRules) -> RanksAccount | None:
        """Make one run after a reset of the data; return the account on rank 0."""
        ranks, execution = self._ranks, self._execution
        platform = self._platforms[ranks.rank]
        with single_threaded_blas():
            execution.whole.reset()
            part, workers = self._cut.parts[ranks.rank], len(platform.workers)
            crew = Crew(execution.whole, part, workers, self._offset_s, self._cores)
            mail = Mail(self._wires, self._cut.messages, execution.parcels, self._offset_s)
            hands = Hands(crew, mail, shared=self._shared)
            ranks.wait_for_all()
            if ranks.rank:
                follower = Follower(self._wires, hands)
                ranks.comm.gather(self._work(crew, follower.follow))
                return None
            leader = Leader(self._wires, hands)
            account = self._account(rules, leader)
            ours = self._work(crew, lambda going: leader.lead(account, self._seed, going))
            leader.end(ranks.size)
            self._others_share = waited_share([a for each in ranks.comm.gather(ours) for a in each])
        return account

    def _work(
        self, crew: Crew, loop: Callable[[Callable[[], bool]], None]
    ) -> list[ThreadAccount | None]:
        """Run the workers of this rank; return the system's account of each."""
        rank = self._ranks.rank
        platform = self._platforms[rank]
        try:
            return let_work(crew, platform, self._execution.whole, loop, pin=self._pin)
        except TaskFailed as error:  # on any rank
            end_all(str(error))
        except Exception as error:
            end_all(f"rank {rank}: {error}")

    def _account(self, rules: RankRules, leader: Leader) -> RanksAccount:
        known = self._known
        assert known is not None
        workers = [len(platform.workers) for platform in self._platforms]
        estimates, parts = self._estimates, self._cut.parts
        return RanksAccount(
            self._cut,
            self._platforms,
            [create(self._scheduler) for _ in self._platforms],
            leader,
            RankChoosers(rules, known, self._cut, workers),
            RankPaths(len(known.found), workers),
            None if estimates is None else [estimates_of_part(p, estimates) for p in parts],
        )

    def told(self, account: RanksAccount, wall_s: float) -> Selective:
        """Return the run for *account*."""
        records = [
            RankRecord(m.ledger.table(), len(m.facts.platform.workers)) for m in account.members
        ]
        run = selective_run(
            self._cut.graph,
            self._platforms[0],
            self._scheduler,
            self._seed,
            workers=rank_workers(self._platforms),
            tasks=task_table(self._cut, records),
            messages=message_table(self._cut, records) if len(records) > 1 else None,
            wall_s=wall_s,
            engine="python",
        )
        path, share = account.paths.longest, self._others_share
        return Selective(run, account.effort, wall_s, path, share, account.messages)


def _refuse(scheduler: str, estimates: Sequence[Sequence[float]] | None, ranks: int) -> None:
    made = create(scheduler)
    if ranks > 1:
        refuse_planner(made)
    if estimates is None:
        refuse_without_estimates(made)
