"""Execution over ranks, each of which cuts the same graph and executes its part.

Each rank runs the native runtime on its share of the cores, with a communication thread. Ranks do
not exchange the graph: all of them derive the same messages from it.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.graph.access_mode import AccessMode
from tasksim.graph.distribution.parts import cut_by
from tasksim.kernels.access_check import AccessCheckedProgram
from tasksim.kernels.calls import CallTable
from tasksim.kernels.program import bind
from tasksim.kernels.threads import single_threaded_blas
from tasksim.native.cluster.clocks import clock_of, compared_clock
from tasksim.native.cluster.communicator import BUSY_SLEEP_S, IDLE_SLEEP_S, Communicator, error_tag
from tasksim.native.cluster.launch import ABORT_PATIENCE_S, end_all
from tasksim.native.cluster.parcels import Parcels
from tasksim.native.cluster.records import RankRecord, aligned, check_part, without_own_thread
from tasksim.native.cluster.result import AmongRanks, bring_to_rank_0
from tasksim.native.machine_account import MachineAccount, disturbance_of
from tasksim.native.runtimes import choose_runtime
from tasksim.native.this_machine import this_machine, usable_cores
from tasksim.runtime.view import Facts
from tasksim.schedulers.graph_test import GraphTest
from tasksim.schedulers.registry import create
from tasksim.schedulers.static.follower import StaticScheduler

if TYPE_CHECKING:
    import ctypes
    from collections.abc import Sequence

    from tasksim.graph.csr import Int32
    from tasksim.graph.distribution.owners import NodeGrid
    from tasksim.graph.distribution.parts import Distribution, LocalPart
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.kernels.calls import Calls, KernelError
    from tasksim.kernels.program import Program, Residual
    from tasksim.native.cluster.clocks import RankClock
    from tasksim.native.cluster.ranks import Ranks
    from tasksim.native.runtimes import Runtime
    from tasksim.platform.description import Platform
    from tasksim.schedulers.base import Scheduler

__all__ = [
    "ClusterRecord",
    "RankExecution",
    "RankProgram",
    "cut_for",
    "estimates_of_part",
    "platform_of_rank",
    "refuse_planner",
    "selected_calls",
    "shares_cores",
]


@dataclass(frozen=True, eq=False)
class ClusterRecord:
    """The records of all ranks of one run, on rank 0.

    Attributes
    ----------
    ranks : list of RankRecord
    clocks : list of RankClock
        Relation of each rank's clock to that of rank 0.
    engine, engine_why : str
        Runtime that executed, and why it was not the core.
    """

    ranks: list[RankRecord]
    clocks: list[RankClock]
    engine: str
    engine_why: str


def cut_for(graph: TaskGraph, grid: NodeGrid, owner: str, ranks: int) -> Distribution:
    """Return *graph* cut for *ranks* ranks.

    Raises
    ------
    InputError
        If the number of nodes in the grid is not that of the ranks, or if a reduction would span
        ranks.
    """
    rows, columns = grid
    if grid.nodes != ranks:
        raise InputError(
            f"--grid {rows}x{columns} needs {grid.nodes} ranks, but there are {ranks}; start them "
            f"with: mpiexec -n {grid.nodes} tasksim run ..."
        )
    if ranks > 1 and np.any(graph.access_mode == AccessMode.REDUCTION):
        raise InputError(
            f"graph {graph.name}: its reductions keep contributions per worker, which only work "
            "within one process; legal over ranks: graphs without reductions"
        )
    return cut_by(graph, grid, owner)


def platform_of_rank(ranks: Ranks, workers: int | None) -> Platform:
    """Return this rank's share of the machine, with *workers* workers (default: all its cores).

    If each rank has cores of its own, the rank is bound to them where the system allows it.

    Raise :exc:`InputError` if there are fewer cores than ranks and *workers* is not given.
    """
    cores = ranks.cores
    place, here = ranks.here
    share = len(cores) // here
    if not share and workers is None:
        raise InputError(
            f"{here} ranks share {len(cores)} cores of this machine: fewer than one each; pass "
            "--workers 1 to let them share cores, or start fewer ranks"
        )
    count = share if workers is None else workers
    if not shares_cores(ranks, count) and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores[place * share : (place + 1) * share])
    return this_machine(count)


def shares_cores(ranks: Ranks, workers: int) -> bool:
    """Return whether a rank with *workers* workers also uses cores of other ranks."""
    _, here = ranks.here
    return workers > len(ranks.cores) // here


def refuse_planner(scheduler: Scheduler) -> None:
    """Raise :exc:`InputError` if *scheduler* plans all tasks before the run.

    Messages are tasks that no worker executes, and such a scheduler cannot plan them.
    """
    if isinstance(scheduler, StaticScheduler | GraphTest):
        raise InputError(
            f"scheduler {scheduler.name} plans a whole graph, and a rank has messages, too; legal "
            "over ranks: schedulers that decide when tasks become ready, such as lws, prio, dmdas"
        )


class RankProgram:
    """A part of a graph whose tasks are executed by the *whole* program.

    Parameters
    ----------
    part : LocalPart
        The part of the rank; its communication tasks are not executed here.
    whole : Program
        The whole graph bound to its data.
    """

    def __init__(self, part: LocalPart, whole: Program) -> None:
        self.graph = part.graph
        self._whole = whole
        self._task = part.task
        self._numbers: list[int] = part.task.tolist()

    def run(self, task: int, worker: int) -> None:
        """Execute *task* with the workspace of *worker*."""
        self._whole.run(self._numbers[task], worker)

    def calls(self, core: ctypes.CDLL) -> Calls:
        """Return the calls of the tasks without Python, as far as the whole program has them."""
        calls = getattr(self._whole, "calls", None)
        if calls is None:
            return CallTable(len(self.graph)).calls(kept=None)
        return selected_calls(calls(core), self._task)

    def failure(self, task: int, told: int) -> KernelError:
        """Return the error of *task*, whose function returned the error code *told*."""
        error: KernelError = self._whole.failure(self._numbers[task], told)  # type: ignore[attr-defined]
        return error

    def interrupt(self) -> None:
        """Interrupt the running tasks if the program supports it."""
        interrupt = getattr(self._whole, "interrupt", None)
        if interrupt is not None:
            interrupt()

    def reset(self) -> None:
        """Restore the initial data."""
        self._whole.reset()

    def check(self) -> Residual | None:
        """Return the residual of the whole result, which must be on this rank."""
        return self._whole.check()


def selected_calls(calls: Calls, tasks: Int32) -> Calls:
    """Return the *calls* of selected *tasks*, in their order; -1 calls nothing."""
    there = tasks >= 0
    known = tasks[there]
    counts = np.zeros(len(tasks), np.int64)
    counts[there] = np.diff(calls.argument_ptr)[known]
    pointers = np.concatenate(([0], np.cumsum(counts)))
    first = np.repeat(calls.argument_ptr[known] - pointers[:-1][there], counts[there])
    function = np.full(len(tasks), -1, np.int32)
    function[there] = calls.function[known]
    return replace(
        calls,
        function=function,
        argument_ptr=pointers,
        arguments=calls.arguments[first + np.arange(len(first))],
    )


class RankExecution:
    """Executor of one rank's part, for any number of runs.

    Parameters
    ----------
    ranks : Ranks
    graph : TaskGraph
        The whole graph.
    cut : Distribution
        The cut graph, the same on all ranks.
    platform : Platform
        The workers of this rank.
    seed : int
        Seed of the data.
    check_accesses : bool, default False
        Whether tasks run one at a time and fail if they write data that they do not declare.

    Notes
    -----
    A program that can be bound to a part of its data allocates only the data that the rank's part
    owns or reads.
    """

    def __init__(
        self,
        ranks: Ranks,
        graph: TaskGraph,
        cut: Distribution,
        platform: Platform,
        seed: int = 0,
        *,
        check_accesses: bool = False,
    ) -> None:
        self.cut = cut
        self._ranks, self._platform = ranks, platform
        self._part = cut.parts[ranks.rank]
        with single_threaded_blas():
            bound = bind(graph, len(platform.workers), seed, held=self._part.handle)
        self._judged_together = hasattr(bound, "together")
        if self._judged_together:
            bound.together = AmongRanks(ranks, cut)  # type: ignore[attr-defined]
        self._bound = bound
        self._watch = AccessCheckedProgram(bound) if check_accesses else None
        self.whole: Program = bound if self._watch is None else self._watch
        self._program = RankProgram(self._part, self.whole)
        self.parcels = Parcels(bound, cut.graph)
        for handle in np.unique(cut.messages.handle).tolist():
            # allocate before the clock starts, and reject data that cannot be sent
            self.parcels.buffer(handle)

    def run(
        self,
        scheduler: str | Scheduler,
        *,
        estimates: Sequence[Sequence[float]] | None = None,
        seed: int = 0,
        pin: bool = True,
        runtime: Runtime = "auto",
    ) -> ClusterRecord | None:
        """Execute the graph with all ranks; return the record on rank 0, None on the others.

        A task that fails on any rank ends all ranks at once.
        """
        ranks, graph = self._ranks, self._part.graph
        policy = ranks.together(lambda: _policy(scheduler, ranks.size))
        shared = shares_cores(ranks, len(self._platform.workers))
        communicator = Communicator(
            ranks, self.cut.graph, self._part, self.cut.messages, self.parcels,
            idle_s=BUSY_SLEEP_S if shared else IDLE_SLEEP_S, watch=self._watch,
        )  # fmt: skip
        chosen = choose_runtime(runtime, self._platform)
        believed = None if estimates is None else estimates_of_part(self._part, estimates)
        facts = Facts.on_any_worker(graph, self._platform, policy, believed)
        with single_threaded_blas():
            self.whole.reset()
            execution = chosen.execution(facts, self._program, outside=communicator)
            before = compared_clock(ranks)
            machine = MachineAccount.now()
            ranks.comm.Barrier()
            try:
                # Each rank would pin its first worker to the first core, so all ranks would share
                # it.
                execution.run(random.Random(seed), pin=pin and not shared)
                check_part(self._part, execution.table())
            except Exception as error:
                self._end_all(error)
            disturbance = disturbance_of(execution.accounts, MachineAccount.now().since(machine))
            communicator.join()
            tasks, workers = execution.table(), len(self._platform.workers)
            if shared:
                disturbance = None  # a worker waits for other programs and for other ranks alike
            elif disturbance is not None and len(usable_cores()) <= workers:
                disturbance = disturbance.without(communicator.cpu_s)
                used_s = communicator.used_s(tasks.start_s, tasks.end_s)
                tasks = without_own_thread(tasks, used_s / workers)
            ranks.wait_for_all()
            clock = clock_of(before, compared_clock(ranks))
        origin_s = execution.origin_s
        tasks = aligned(tasks, lambda times_s: clock.aligned(times_s + origin_s))
        record = RankRecord(tasks, len(self._platform.workers), disturbance)
        found = ranks.comm.gather((record, clock))
        if found is None:
            return None
        records, clocks = zip(*found, strict=True)
        return ClusterRecord(list(records), list(clocks), chosen.name, chosen.why)

    def judged(self) -> tuple[Residual | None, dict[str, float]]:
        """Return the residual of the result and the program's errors, on rank 0; collective.

        If the program cannot be judged on all ranks together, its result is first brought to rank
        0.
        """
        if not self._judged_together:
            bring_to_rank_0(self._ranks, self.cut, self.parcels)
            if self._ranks.rank:
                return None, {}
        with single_threaded_blas():
            residual = self._bound.check()
            return residual, getattr(self._bound, "errors", dict)()

    def _end_all(self, error: Exception) -> None:
        """End all ranks with an error of this one; rank 0 reports it, unless it does not answer."""
        import time

        rank, comm = self._ranks.rank, self._ranks.comm
        message = f"rank {rank}: {error}"
        if rank:
            from mpi4py import MPI

            told = message.encode()
            comm.Isend([told, len(told), MPI.BYTE], 0, error_tag(self.cut.messages))
            time.sleep(REPORT_PATIENCE_S)
        end_all(message)


REPORT_PATIENCE_S: Final = ABORT_PATIENCE_S / 2
"""Time for which a rank waits for rank 0 to report its error, in seconds: if two ranks fail, only
one error is reported."""


def _policy(scheduler: str | Scheduler, ranks: int) -> Scheduler:
    policy = create(scheduler) if isinstance(scheduler, str) else scheduler
    if ranks > 1:
        refuse_planner(policy)
    return policy


def estimates_of_part(part: LocalPart, estimates: Sequence[Sequence[float]]) -> Any:
    """Return the scheduler's estimates for the tasks of *part*; communication takes no time."""
    rows = np.asarray(estimates)
    return np.where(part.task < 0, 0.0, rows[:, np.maximum(part.task, 0)]).tolist()
