"""Checks of a run's consistency, used by the engine and everything that makes runs."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from tasksim.base.errors import CheckFailed, expect
from tasksim.graph.access_mode import READING_MODES, WRITING_MODES, AccessMode
from tasksim.graph.commutation import commutative_handles
from tasksim.graph.csr import owner_of_each
from tasksim.run.copychecks import CopyChecker, others, place, require, require_order
from tasksim.run.record import Run
from tasksim.run.tablechecks import first_wrong, limits_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from tasksim.base.arrays import Bools, Floats, Indices
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform
    from tasksim.run.recordtables import MessageTable

__all__ = ["check_records", "check_run"]


def check_run(
    run: Run,
    graph: TaskGraph | None = None,
    platform: Platform | None = None,
    durations_s: ArrayLike | None = None,
) -> None:
    """Raise an error unless *run* is consistent.

    These checks are always made: every task once, times in order (submitted <= ready <= popped <=
    start <= end), no two tasks at once on a worker; copies lead from one memory to another, with
    times in order (requested <= start <= end), and tasks start after the copies made for them; no
    memory exceeds its size. Differences of 1e-12 of the makespan are rounding.

    Parameters
    ----------
    run : Run
        The run.
    graph : TaskGraph or None, default None
        Its graph, to check tasks and kernels, every task after its predecessors, commutative
        accesses to one handle one at a time, ``released_by`` a task whose end made this one ready,
        and that reads and copies find valid data at their source.
    platform : Platform or None, default None
        Its platform, to check its workers and memories.
    durations_s : array_like or None, default None
        With *platform*: a row per class of workers, a column per task, infinite where a class
        cannot run a task, to check that every worker can run its tasks.

    Raises
    ------
    CheckFailed
        If it is inconsistent; the message names the task and the worker.

    See Also
    --------
    simulate : Makes these checks with ``check``.

    Examples
    --------
    >>> import tasksim
    >>> seconds = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
    >>> run = tasksim.simulate("cholesky tiles=4", workers=2, durations=seconds)
    >>> tasksim.check_run(run, tasksim.generate("cholesky", tiles=4))
    """
    expect(run, Run, "run")
    _Checker(run, graph).check(platform, durations_s)


def check_records(run: Run, where: object = "") -> None:
    """Raise :exc:`CheckFailed` unless the task records of *run* are consistent.

    All numbers computed from a run rely on these checks: every task once, on an existing worker,
    times in order from 0 on, and no two tasks at once on a worker.

    Parameters
    ----------
    run : Run
        The run.
    where : object, default ""
        Source of the run, for the message.

    See Also
    --------
    check_run : All checks that a graph and a platform allow.
    """
    expect(run, Run, "run")
    try:
        _Checker(run, None).records()
    except CheckFailed as error:
        place = f"{where}: " if where else ""
        raise CheckFailed(f"{place}no run has such records: {error}") from None


class _Checker:
    """Checks of one run; each inspects whole columns and names the first faulty row."""

    def __init__(self, run: Run, graph: TaskGraph | None) -> None:
        self.run = run
        self.tasks = run.tasks
        self.graph = graph
        finite = run.tasks.end_s[np.isfinite(run.tasks.end_s)]
        # Rounding of sums of thousands of durations: a thousandth of a nanosecond per second.
        self.slack_s = 1e-12 * float(finite.max(initial=0.0))

    def check(self, platform: Platform | None, durations_s: ArrayLike | None) -> None:
        self.records()
        if platform is not None:
            self.workers_of(platform)
            if durations_s is not None:
                self.workers_able(platform, np.asarray(durations_s))
        if self.graph is not None:
            self.kernels_of(self.graph)
            self.dependencies(self.graph)
            self.commutative(self.graph)
        self.releases()
        if self.run.messages is not None:
            _check_messages(self.run, self.graph, self.slack_s)
        CopyChecker(self.run, self.graph, self.slack_s).check()

    # Checks of every run

    def records(self) -> None:
        self.every_task_once()
        self.indices()
        self.times()
        self.one_task_at_a_time()

    def every_task_once(self) -> None:
        task = self.tasks.task
        expected = len(task) if self.graph is None else len(self.graph)
        if np.array_equal(task, np.arange(expected)):
            return
        inside = task[(task >= 0) & (task < expected)]
        if len(inside) < len(task):
            alien = task[(task < 0) | (task >= expected)][0]
            raise CheckFailed(f"task #{alien} is not in the graph, which has {expected} tasks")
        count = np.bincount(inside, minlength=expected)
        for wrong, what in ((count > 1, "ran more than once"), (count == 0, "did not run")):
            if wrong.any():
                raise CheckFailed(f"task #{np.argmax(wrong)} {what}{others(wrong)}")
        raise CheckFailed("the task records are not in task order")

    def indices(self) -> None:
        for table, limits in limits_of(self.run):
            if (found := first_wrong(table, limits)) is not None:
                raise CheckFailed(f"{table.rows.removesuffix('s')} #{found[0]}: {found[1]}")

    def times(self) -> None:
        tasks = self.tasks
        known = {
            "the run begins": np.zeros(len(tasks)),
            "is submitted": tasks.submitted_s,
            "is ready": tasks.ready_s,
            "starts": tasks.start_s,
            "ends": tasks.end_s,
        }
        popped_s = np.where(np.isnan(tasks.popped_s), tasks.ready_s, tasks.popped_s)
        popped = {"is ready": tasks.ready_s, "is popped": popped_s, "starts": tasks.start_s}
        for times in (known, popped):
            require_order(times, self.slack_s, lambda row: f"{self.place(row)}:")

    def one_task_at_a_time(self) -> None:
        tasks = self.tasks
        order = np.lexsort((tasks.end_s, tasks.start_s, tasks.worker))
        first, second = self.overlaps(order, tasks.worker[order])
        if len(first):
            row, other = int(second[0]), int(first[0])
            self.fail(
                row,
                f"starts at {tasks.start_s[row]} s, before {self.name(other)} on the same worker "
                f"ends at {tasks.end_s[other]} s",
            )

    # Checks with a platform

    def workers_of(self, platform: Platform) -> None:
        if self.run.memories:
            self.memories_of(platform)
        there = [(w.name, w.architecture) for w in platform.workers]
        here = [(w.name, w.architecture) for w in self.run.workers]
        if len(here) != len(there):
            raise CheckFailed(
                f"the run has {len(here)} workers, platform {platform.name} has {len(there)}"
            )
        for index, (mine, theirs) in enumerate(zip(here, there, strict=True)):
            if mine != theirs:
                raise CheckFailed(
                    f"worker {index} of the run is {' '.join(mine)}, "
                    f"on platform {platform.name} it is {' '.join(theirs)}"
                )

    def memories_of(self, platform: Platform) -> None:
        here = [(m.name, m.size_bytes) for m in self.run.memories]
        there = [(m.name, m.size_bytes) for m in platform.memories]
        if here != there:
            raise CheckFailed(
                f"the run has memories {_sizes(here)}, platform {platform.name} has {_sizes(there)}"
            )
        for mine, theirs in zip(self.run.workers, platform.workers, strict=False):
            if mine.memory != theirs.memory:
                raise CheckFailed(
                    f"worker {mine.name} of the run is in memory {mine.memory}, "
                    f"on platform {platform.name} in {theirs.memory}"
                )

    def workers_able(self, platform: Platform, durations_s: Floats) -> None:
        class_of = np.empty(len(platform.workers), dtype=np.intp)
        for index, group in enumerate(platform.classes):
            class_of[list(group.workers)] = index
        charged = durations_s[class_of[self.tasks.worker], np.arange(len(self.tasks))]
        kind = [worker.architecture for worker in platform.workers]
        self.demand(
            np.isfinite(charged),
            lambda row: f"has no implementation for {kind[self.tasks.worker[row]]}",
        )

    # Checks with a graph

    def kernels_of(self, graph: TaskGraph) -> None:
        here = np.array(self.run.kernel_names, dtype=object)[self.tasks.kernel]
        there = np.array(graph.kernels, dtype=object)[graph.kernel]
        self.demand(here == there, lambda row: f"ran {here[row]}, the graph says {there[row]}")

    def dependencies(self, graph: TaskGraph) -> None:
        before = owner_of_each(graph.successor_ptr)
        after = graph.successors
        if self.run.messages is not None:
            before, after = _binding_across_nodes(self.run, graph, before, after)
        early = self.tasks.start_s[after] < self.tasks.end_s[before] - self.slack_s
        if early.any():
            edge = int(np.argmax(early))
            row, other = int(after[edge]), int(before[edge])
            self.fail(
                row,
                f"starts at {self.tasks.start_s[row]} s, before its predecessor "
                f"{self.name(other)} ends at {self.tasks.end_s[other]} s",
                early,
            )

    def commutative(self, graph: TaskGraph) -> None:
        position = np.flatnonzero(graph.access_mode == AccessMode.COMMUTATIVE)
        task = np.searchsorted(graph.access_ptr, position, side="right") - 1
        handle = graph.access_handle[position]
        order = np.lexsort((self.tasks.end_s[task], self.tasks.start_s[task], handle))
        first, second = self.overlaps(task[order], handle[order])
        if len(first):
            row, other = int(second[0]), int(first[0])
            self.fail(
                row,
                f"starts at {self.tasks.start_s[row]} s, before {self.name(other)}, which "
                f"updates the same handle, ends at {self.tasks.end_s[other]} s",
            )

    def releases(self) -> None:
        by, ready = self.tasks.released_by, self.tasks.ready_s
        waited = by < 0
        due = np.where(waited, self.tasks.submitted_s, self.tasks.end_s[by])
        # A runtime needs a moment between an end and the release of successors: a native one, and a
        # simulated one of machines with devices, where a driver sees the end and pushing costs
        # time.
        at_once = self.run.kind == "simulated" and np.isnan(self.tasks.popped_s).all()
        follows, exact = np.ones(len(by), np.bool_), np.full(len(by), at_once)
        if self.graph is not None:
            follows = waited | _follows(self.graph, by)
            indirect = np.where(follows, -1, by).astype(np.int32)
            behind_send = _waiting_for_a_send(self.run, self.graph, indirect)
            follows |= behind_send
            exact = at_once & ~behind_send
        late = np.where(exact, ready - due, np.minimum(ready - due, 0.0))
        self.demand(
            np.abs(late) <= self.slack_s,
            lambda row: (
                f"is ready at {ready[row]} s, but "
                + ("its submission" if waited[row] else f"the end of {self.name(int(by[row]))}")
                + f", which released it, is at {due[row]} s"
            ),
        )
        self.demand(
            follows,
            lambda row: f"is released by {self.name(int(by[row]))}, which is no predecessor",
        )

    # Helpers

    def overlaps(self, rows: Indices, groups: NDArray[np.integer]) -> tuple[Indices, Indices]:
        """Return the neighbours in *rows*, sorted by group and start, that overlap."""
        first, second = rows[:-1], rows[1:]
        early = self.tasks.start_s[second] < self.tasks.end_s[first] - self.slack_s
        early &= (groups[1:] == groups[:-1]) & (first != second)
        return first[early], second[early]

    def demand(self, holds: Bools, message: Callable[[int], str]) -> None:
        """Raise an error for the first task for which *holds* is false."""
        require(holds, lambda row: f"{self.place(row)}: {message(row)}")

    def fail(self, row: int, message: str, wrong: Bools | None = None) -> NoReturn:
        more = "" if wrong is None else others(wrong)
        raise CheckFailed(f"{self.place(row)}: {message}{more}")

    def place(self, row: int) -> str:
        return place(self.run, self.graph, row)

    def name(self, row: int) -> str:
        return self.run.label(row) if self.graph is None else self.graph.label(row)


def _sizes(memories: list[tuple[str, float | None]]) -> str:
    """Return names and sizes: ``ram, gpu0 (5637144576 bytes)``."""
    return ", ".join(
        name if size is None else f"{name} ({size:.0f} bytes)" for name, size in memories
    )


def _follows(graph: TaskGraph, before: NDArray[np.int32]) -> Bools:
    """Return, per task, whether *before* precedes it or excludes it by a commutative access."""
    after = np.arange(len(graph), dtype=np.int64)
    source = np.repeat(after, np.diff(graph.successor_ptr))
    # Edges are in order of source and target, so a pair of numbers is searched as one number.
    keys = source * (len(graph) + 1) + graph.successors
    wanted = before.astype(np.int64) * (len(graph) + 1) + after
    position = np.searchsorted(keys, wanted)
    follows = position < len(keys)
    follows[follows] = keys[position[follows]] == wanted[follows]
    rest = np.flatnonzero(~follows & (before >= 0))
    if len(rest):
        held = commutative_handles(graph)
        for row in rest.tolist():
            follows[row] = not set(held.get(row, ())).isdisjoint(held.get(int(before[row]), ()))
    return follows


# Messages between nodes


def _check_messages(run: Run, graph: TaskGraph | None, slack_s: float) -> None:
    """Raise :exc:`CheckFailed` unless the messages of *run* are consistent.

    They go from one node to another, are ready after they are posted, move after they are ready and
    awaited, and tasks start after the messages sent for them have arrived.
    """
    messages = run.messages
    assert messages is not None
    node = np.array([worker.node for worker in run.workers])
    _demand(messages.source != messages.target, messages, "its source and target are the same")
    order = ("posted_s", "ready_s", "start_s", "end_s")
    for earlier, later in (*pairwise(order), ("awaited_s", "end_s")):
        times = getattr(messages, earlier), getattr(messages, later)
        _demand(times[1] >= times[0] - slack_s, messages, f"{later} is before {earlier}")
    where = node[run.tasks.worker[messages.task]]
    reader = where == messages.target
    _demand(reader | (where == messages.source), messages, "its task runs on neither node")
    start_s, end_s = run.tasks.start_s[messages.task], run.tasks.end_s[messages.task]
    late = reader & (start_s < messages.end_s - slack_s)
    _demand(~late, messages, "its task starts before it has arrived")
    early = ~reader & (messages.start_s < end_s - slack_s)
    _demand(~early, messages, "it is sent before its task has ended")
    if graph is not None:
        own = messages.handle < graph.handles
        sizes = graph.handle_size[np.where(own, messages.handle, 0)] if graph.handles else 0
        expected = np.where(own, sizes, 0)
        _demand(messages.size_bytes == expected, messages, "its size is not that of its datum")


def _demand(holds: Bools, messages: MessageTable, what: str) -> None:
    """Raise an error for the first message that fails a check."""
    require(
        holds,
        lambda row: (
            f"message #{row} of handle #{messages.handle[row]} from node {messages.source[row]} "
            f"to node {messages.target[row]}: {what}"
        ),
    )


def _binding_across_nodes(
    run: Run, graph: TaskGraph, before: Indices, after: NDArray[np.int32]
) -> tuple[Indices, NDArray[np.int32]]:
    """Return the dependencies *before* -> *after* that must hold, given the nodes of the tasks.

    Across nodes, a task waits for data that it reads, or for a task that it has no data in common
    with. It need not wait until another one has read the data that it overwrites: the reader has a
    copy.
    """
    node = np.array([worker.node for worker in run.workers])[run.tasks.worker]
    across = np.flatnonzero(node[before] != node[after])
    binds = np.ones(len(before), np.bool_)
    for edge in across.tolist():
        first, second = (dict(graph.accesses_of(int(task[edge]))) for task in (before, after))
        common = first.keys() & second.keys()
        binds[edge] = not common or any(
            first[h] in WRITING_MODES and second[h] in READING_MODES for h in common
        )
    return before[binds], after[binds]


def _waiting_for_a_send(run: Run, graph: TaskGraph, before: NDArray[np.int32]) -> Bools:
    """Return, per task, whether it overwrites data that *before* wrote and its node sent.

    A datum counts as read until it is sent; the task that released the send is recorded as
    releasing the next writer, although other readers may be between both in the graph.
    """
    found = np.zeros(len(graph), np.bool_)
    if run.messages is None:
        return found
    sent = set(np.unique(run.messages.handle).tolist())
    for task in np.flatnonzero(before >= 0).tolist():
        mine, theirs = (
            {handle for handle, mode in graph.accesses_of(number) if mode in WRITING_MODES}
            for number in (task, int(before[task]))
        )
        found[task] = not sent.isdisjoint(mine & theirs)
    return found
