"""History of an OpenMP program: its tasks, and the steps in which threads executed them.

A step is a stretch of a task's execution on one thread. It ends where another task may begin or
must have ended: at a creation, a synchronisation, a parallel region, or a change of the thread to
another task.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.recording.openmp.trace import NO_SITE, THREAD_SHIFT, RecordKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tasksim.recording.openmp.trace import ThreadRecords, Trace

__all__ = [
    "INTERRUPTED_NS",
    "NOTHING",
    "Ending",
    "Flag",
    "History",
    "TaskStatus",
    "history_of",
    "place_lost_times",
]

NOTHING: Final = -1
"""Number of a task, region or thread that is none."""
INTERRUPTED_NS: Final = 20_000
"""Time without a core from which a step counts as interrupted, in ns: clocks are not read at once,
and no time slice of another program is that short."""


class Flag(IntEnum):
    """Properties of a task at its creation, as bits."""

    UNDEFERRED = 1
    UNTIED = 2
    FINAL = 4
    MERGEABLE = 8
    MERGED = 16
    TASKWAIT = 32
    HAS_DEPENDENCES = 64
    TARGET = 128
    IMPLICIT = 256
    INITIAL = 512


class TaskStatus(IntEnum):
    """Reason why a thread leaves a task."""

    COMPLETE = 1
    YIELD = 2
    CANCELLED = 3
    DETACH = 4
    EARLY_FULFILL = 5
    LATE_FULFILL = 6
    SWITCH = 7
    TASKWAIT_COMPLETE = 8


class Ending(IntEnum):
    """Reason for the end of a step; the column ``ref`` has the task or region."""

    CUT = 0
    """Recording ended within the step."""
    CREATE = 1
    """It created the task *ref*."""
    TASKWAIT = 2
    GROUP_BEGIN = 3
    GROUP_END = 4
    BARRIER = 5
    PARALLEL = 6
    """It began the parallel region *ref*."""
    SUSPEND = 7
    """Its thread went to another task."""
    END = 8
    FULFILL = 9
    """It fulfilled the event of the detached task *ref*."""


BLOCK_RECORDS: Final = 1 << 16
"""Number of records converted to numbers of Python at once, which take ten times their memory."""
_BEGIN: Final = 1
_TASKWAIT, _TASKGROUP, _TASKGROUP_WAIT = 5, 6, 15
_WAITS: Final = (_TASKWAIT, _TASKGROUP_WAIT, 1, 2, 3, 4, 8, 9, 10)
"""Kinds of synchronisation in which a task waits; the numbers are those of barriers."""


_STEP_COLUMNS: Final = (
    "step_task", "step_start_ns", "step_end_ns", "step_cpu_ns", "step_thread", "step_ending",
    "step_ref", "step_clock_ns",
)  # fmt: skip
"""Columns of the steps of a :class:`History`, in the order in which they are read."""
_OTHER_COLUMNS: Final = (
    "created_ns", "site", "flags", "parent", "creator", "region", "place", "completed",
    "region_site", "region_size",
)  # fmt: skip
"""Its columns of tasks and parallel regions."""


@dataclass(frozen=True, eq=False)
class History:
    """Tasks, steps, parallel regions and dependences in columns; times in ns.

    Tasks are numbered by thread and by creation there, explicit and implicit ones alike.

    Attributes
    ----------
    created_ns, site, flags, parent, creator : ndarray
        Per task: when and where it was created, its flags, the task that OpenMP calls its parent,
        and the one that was executing.
    region, place : ndarray
        Per implicit task: its parallel region and its number in the team; else -1.
    completed : ndarray of bool
        Per task, whether it had ended when the recording did.
    step_task, step_start_ns, step_end_ns, step_cpu_ns, step_thread, step_ending, step_ref : ndarray
        Per step, by task and end. The begin of a taskgroup is one without duration, within another.
    step_clock_ns : ndarray
        Per step, the processor clock of its thread when it began.
    region_site, region_size : ndarray
        Per parallel region.
    dep_task, dep_kind, dep_address : ndarray
        Dependences, in order of creation per task.
    fulfilled_ns : dict of int -> int
        Time at which the event of a detached task was fulfilled outside of tasks, by task.
    counts : dict of str -> int
        Cancellations and other events that have no column.
    end_ns : int
        Last time that was recorded.
    """

    created_ns: NDArray[np.int64]
    site: NDArray[np.int64]
    flags: NDArray[np.int64]
    parent: NDArray[np.int64]
    creator: NDArray[np.int64]
    region: NDArray[np.int64]
    place: NDArray[np.int64]
    completed: NDArray[np.bool_]
    step_task: NDArray[np.int64]
    step_start_ns: NDArray[np.int64]
    step_end_ns: NDArray[np.int64]
    step_cpu_ns: NDArray[np.int64]
    step_thread: NDArray[np.int64]
    step_ending: NDArray[np.int64]
    step_ref: NDArray[np.int64]
    step_clock_ns: NDArray[np.int64]
    region_site: NDArray[np.int64]
    region_size: NDArray[np.int64]
    dep_task: NDArray[np.int64]
    dep_kind: NDArray[np.int64]
    dep_address: NDArray[np.uint64]
    fulfilled_ns: dict[int, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    end_ns: int = 0

    def __len__(self) -> int:
        return len(self.created_ns)


def history_of(trace: Trace) -> History:
    """Return the history that the records of all threads tell together."""
    numbers = _Numbers(trace.threads)
    found = _Columns(numbers)
    for thread in trace.threads:
        found.read_creations(thread)
    for thread in trace.threads:
        _Reader(thread, found).read()
    own = [number for number, site in trace.sites.items() if site.is_of_runtime]
    found.inherit_sites(np.array(own, np.int64))
    return found.history()


class _Numbers:
    """Numbers of tasks and regions from 0 on, for those of the recorder."""

    def __init__(self, threads: tuple[ThreadRecords, ...]) -> None:
        self.task_base: dict[int, int] = {}
        self.region_base: dict[int, int] = {}
        self.tasks_of: dict[int, int] = {}
        self._regions_of: dict[int, int] = {}
        self.tasks = self.regions = 0
        for thread in threads:
            self.task_base[thread.number] = self.tasks
            self.region_base[thread.number] = self.regions
            tasks, regions = int(makes_task(thread).sum()), int(makes_region(thread).sum())
            self.tasks_of[thread.number], self._regions_of[thread.number] = tasks, regions
            self.tasks += tasks
            self.regions += regions

    def task(self, recorded: int) -> int:
        """Return the number of a task; NOTHING if its creation was not recorded."""
        thread, which = recorded >> THREAD_SHIFT, recorded & (1 << THREAD_SHIFT) - 1
        if not 0 < which <= self.tasks_of.get(thread, 0):
            return NOTHING
        return self.task_base[thread] + which - 1

    def region(self, recorded: int) -> int:
        """Return the number of a parallel region; NOTHING if its begin was not recorded."""
        thread, which = recorded >> THREAD_SHIFT, recorded & (1 << THREAD_SHIFT) - 1
        if not 0 < which <= self._regions_of.get(thread, 0):
            return NOTHING
        return self.region_base[thread] + which - 1


def makes_task(thread: ThreadRecords) -> NDArray[np.bool_]:
    """Return which records give a number to a task: creations, begins of implicit tasks."""
    begins = (thread.kind == RecordKind.IMPLICIT) & (thread.head >> 8 & 0xF == _BEGIN)
    made: NDArray[np.bool_] = begins | (thread.kind == RecordKind.CREATE)
    return made


def makes_region(thread: ThreadRecords) -> NDArray[np.bool_]:
    """Return which records give a number to a parallel region."""
    made: NDArray[np.bool_] = (thread.kind == RecordKind.PARALLEL) & (
        thread.head >> 8 & 0xF == _BEGIN
    )
    return made


class _Columns:
    """Columns of a history while it is read."""

    def __init__(self, numbers: _Numbers) -> None:
        self.numbers = numbers
        tasks, regions = numbers.tasks, numbers.regions
        self.created_ns = np.zeros(tasks, np.int64)
        self.site = np.full(tasks, NO_SITE, np.int64)
        self.flags = np.zeros(tasks, np.int64)
        self.parent = np.full(tasks, NOTHING, np.int64)
        self.creator = np.full(tasks, NOTHING, np.int64)
        self.region = np.full(tasks, NOTHING, np.int64)
        self.place = np.full(tasks, NOTHING, np.int64)
        self.completed = np.zeros(tasks, bool)
        self.ended_on = array("h", bytes(2 * tasks))
        """Per task, the number of the thread on which its body ended, plus 1; 0 before."""
        self.region_site = np.full(regions, NO_SITE, np.int64)
        self.region_size = np.zeros(regions, np.int64)
        self.region_of = np.full(regions, NOTHING, np.int64)
        """Per parallel region, the task that began it."""
        self.steps = [array("q") for _ in _STEP_COLUMNS]
        self.deps: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint64]]] = []
        self.fulfilled_ns: dict[int, int] = {}
        self.counts: dict[str, int] = {}
        self.end_ns = 0

    def count(self, what: str, number: int = 1) -> None:
        self.counts[what] = self.counts.get(what, 0) + number

    def read_creations(self, thread: ThreadRecords) -> None:
        """Read the creations of a thread's tasks, and their dependences."""
        base = self.numbers.task_base[thread.number]
        made = makes_task(thread)
        places = np.flatnonzero(made)
        here = slice(base, base + len(places))
        head, explicit = thread.head[places], thread.kind[places] == RecordKind.CREATE
        self.created_ns[here] = thread.wall_ns[places]
        self.site[here] = np.where(explicit, head >> 16 & 0xFFFF, NO_SITE)
        initial = Flag.IMPLICIT | np.where(head >> 12 & 1, Flag.INITIAL, 0).astype(np.int64)
        self.flags[here] = np.where(explicit, (head >> 8 & 0xFF).astype(np.int64), initial)
        if len(thread.wall_ns):
            self.end_ns = max(self.end_ns, int(thread.wall_ns.max()))
        self._read_dependences(thread, base + np.cumsum(made) - 1)

    def _read_dependences(self, thread: ThreadRecords, last: NDArray[np.int64]) -> None:
        """Read the dependences of a thread's tasks; *last* is per record the task made last."""
        task = last.astype(np.int64)
        for at in np.flatnonzero(thread.kind == RecordKind.DEPENDENCES_OF).tolist():
            end = at + 1
            while end < len(task) and thread.kind[end] in (
                RecordKind.DEPENDENCE,
                RecordKind.DEPENDENCE_PAIR,
            ):
                end += 1
            task[at:end] = self.numbers.task(int(thread.body[at]))
        pair = np.flatnonzero(thread.kind == RecordKind.DEPENDENCE_PAIR)
        wide = np.flatnonzero(thread.kind == RecordKind.DEPENDENCE)
        head, body = thread.head, thread.body
        where = np.concatenate([pair * 2, pair * 2 + 1, wide * 2])
        tasks = np.concatenate([task[pair], task[pair], task[wide]])
        kinds = np.concatenate([head[pair] >> 8, head[pair] >> 12, head[wide] >> 8]) & 0xF
        addresses = np.concatenate([head[pair] >> 16, body[pair] >> 16, body[wide]])
        kept = (kinds > 0) & (tasks != NOTHING)
        order = np.argsort(where[kept], kind="stable")
        self.deps.append(
            (tasks[kept][order], kinds[kept][order].astype(np.int64), addresses[kept][order])
        )

    def inherit_sites(self, of_runtime: NDArray[np.int64]) -> None:
        """Give the runtime's own tasks and regions the site of those around them.

        It creates tasks in parts of a taskloop, and a region in each team of a league.
        """
        around = np.append(self.region, NOTHING)[self.region_of]  # nothing around nothing
        while True:
            outer = np.append(self.region_site, NO_SITE)[around]
            inner = (self.region_site == NO_SITE) & (outer != NO_SITE)
            if not inner.any():
                break
            self.region_site[inner] = outer[inner]
        while True:
            todo = np.isin(self.site, of_runtime) & (self.creator != NOTHING)
            todo &= ~np.isin(self.site[self.creator], of_runtime)
            if not todo.any():
                return
            self.site[todo] = self.site[self.creator[todo]]

    def history(self) -> History:
        """Return the history."""
        columns = [np.array(column, dtype=np.int64) for column in self.steps]
        place_lost_times(columns)
        order = np.lexsort((columns[2], columns[0]))
        pairs = zip(_STEP_COLUMNS, columns, strict=True)
        steps: dict[str, Any] = {name: step[order] for name, step in pairs}
        nothing = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.uint64))
        task, kind, address = map(np.concatenate, zip(nothing, *self.deps, strict=True))
        return History(
            **{name: getattr(self, name) for name in _OTHER_COLUMNS},
            **steps,
            dep_task=task,
            dep_kind=kind,
            dep_address=address,
            fulfilled_ns=self.fulfilled_ns,
            counts=self.counts,
            end_ns=self.end_ns,
        )


def place_lost_times(columns: Sequence[NDArray[np.int64]]) -> None:
    """Correct processor times of steps that end with a creation, where the thread lost its core.

    The recorder does not read the processor clock at creations, so it is assumed to go on as the
    wall clock does until it is read: then it may be behind. The thread was interrupted once, not at
    each creation: what it lost is taken from the longest of these steps first.

    Parameters
    ----------
    columns
        Columns of the steps of one thread after another, in the order of :class:`History`.
    """
    _, start_ns, end_ns, cpu_ns, thread, ending, _, clock_ns = columns
    if not len(start_ns):
        return
    goes_on = np.zeros(len(start_ns), bool)
    goes_on[1:] = (
        (ending[:-1] == Ending.CREATE)
        & (thread[1:] == thread[:-1])
        & (start_ns[1:] == end_ns[:-1])
        & (clock_ns[1:] == clock_ns[:-1] + cpu_ns[:-1])
    )
    duration_ns = end_ns - start_ns
    first = np.flatnonzero(~goes_on)
    limit = np.append(first[1:], len(start_ns))
    lost_ns = np.add.reduceat(duration_ns - cpu_ns, first)
    for chain in np.flatnonzero((limit - first > 1) & (lost_ns > INTERRUPTED_NS)).tolist():
        here, rest_ns = slice(first[chain], limit[chain]), int(lost_ns[chain])
        durations, cpu = duration_ns[here], cpu_ns[here]
        for step in np.argsort(-durations, kind="stable").tolist():
            taken_ns = min(rest_ns, int(durations[step]))
            cpu[step] = durations[step] - taken_ns
            rest_ns -= taken_ns
        clock_ns[here][1:] = clock_ns[here][0] + np.cumsum(cpu)[:-1]


class _Reader:
    """One thread's way through its records."""

    def __init__(self, thread: ThreadRecords, columns: _Columns) -> None:
        self._thread = thread
        self._columns = columns
        self._task = NOTHING
        """Task that the thread has, executing it or waiting in it."""
        self._runs = False
        """Whether it executes that task."""
        self._since = (0, 0)
        self._outer: list[int] = []
        """Tasks around implicit ones."""
        self._waiting: set[int] = set()
        """Tasks that wait in a synchronisation on this thread."""
        self._created = NOTHING
        """Task that was created at the beginning of the step, if any."""
        self._may_wait = False
        """Whether the step began at the end of a region whose tasks may not have ended."""
        self._discarded = NOTHING
        """Task that a cancellation concerns."""
        self._next = columns.numbers.task_base[thread.number]
        self._next_region = columns.numbers.region_base[thread.number]
        self._now = (0, 0)
        self._head = self._body = 0

    def read(self) -> None:
        """Read the records, in order."""
        thread = self._thread
        actions = {
            RecordKind.CREATE: self._create,
            RecordKind.SCHEDULE: self._schedule,
            RecordKind.SYNC: self._sync,
            RecordKind.IMPLICIT: self._implicit,
            RecordKind.TEAM: self._team,
            RecordKind.PARALLEL: self._parallel,
            RecordKind.ENCOUNTERED: self._encountered,
            RecordKind.CANCEL: self._cancel,
        }
        table = [
            actions.get(RecordKind(number)) if number else None
            for number in range(max(RecordKind) + 1)
        ]
        columns = thread.kind, thread.head, thread.body, thread.wall_ns, thread.cpu_ns
        for begin in range(0, len(thread.kind), BLOCK_RECORDS):
            block = (column[begin : begin + BLOCK_RECORDS].tolist() for column in columns)
            for kind, head, body, wall, cpu in zip(*block, strict=True):
                action = table[kind]
                if action is not None:
                    self._now, self._head, self._body = (wall, cpu), head, body
                    action()
        if self._runs and len(thread.wall_ns):
            self._columns.count("cut")

    # Steps

    def _stop(self, ending: Ending, ref: int = NOTHING) -> None:
        """End the step, if the thread executes a task."""
        if not self._runs:
            return
        self._add(self._task, self._since, ending, ref)
        self._runs = False

    def _add(self, task: int, since: tuple[int, int], ending: Ending, ref: int) -> None:
        now = self._now
        number = self._thread.number
        values = task, since[0], now[0], now[1] - since[1], number, ending, ref, since[1]
        for column, value in zip(self._columns.steps, values, strict=True):
            column.append(value)

    def _has_ended(self, task: int) -> bool:
        """Return whether the body of *task* has ended on this thread.

        On a team of one thread with detached tasks, libomp executes the tasks that an end releases
        at once, and then returns to the task that has ended. It executes others after it has
        reported the end of the region, and returns to its implicit task.
        """
        return self._columns.ended_on[task] == self._thread.number + 1

    def _go_on(self) -> None:
        """Begin a step of the thread's task, unless that waits or has ended."""
        task = self._task
        self._runs = task != NOTHING and task not in self._waiting and not self._has_ended(task)
        self._since = self._now
        self._created = NOTHING
        self._may_wait = False

    # Records

    def _create(self) -> None:
        task, self._next = self._next, self._next + 1
        columns = self._columns
        parent = columns.numbers.task(self._body)
        columns.parent[task] = parent
        columns.creator[task] = parent if self._task == NOTHING else self._task
        # The processor clock was not read: it went on as the wall clock did.
        since = self._since
        self._now = self._now[0], since[1] + self._now[0] - since[0] if self._runs else 0
        if self._runs:
            self._stop(Ending.CREATE, task)
            if columns.flags[task] & Flag.TASKWAIT:
                self._waiting.add(self._task)
                return
            self._go_on()
            self._created = task

    def _schedule(self) -> None:
        status, columns = self._head >> 8 & 0xFF, self._columns
        other = columns.numbers.task(self._head >> 16)
        if status in (TaskStatus.EARLY_FULFILL, TaskStatus.LATE_FULFILL):
            if other != NOTHING:
                columns.completed[other] = True
                if self._runs:
                    self._stop(Ending.FULFILL, other)
                    self._go_on()
                else:
                    columns.fulfilled_ns[other] = self._now[0]
            return
        if status == TaskStatus.TASKWAIT_COMPLETE:
            self._end_taskwait(other)
            return
        if status == TaskStatus.CANCELLED and self._discarded not in (NOTHING, self._task):
            # A task that never began: its thread has been elsewhere all the time.
            columns.completed[self._discarded] = True
            columns.count("cancelled")
            self._discarded = NOTHING
            return
        ended = status in (TaskStatus.COMPLETE, TaskStatus.CANCELLED, TaskStatus.DETACH)
        if ended and self._task != NOTHING:
            if status != TaskStatus.DETACH:  # the thread that fulfils the event may be read before
                columns.completed[self._task] = True
            columns.count("cancelled", status == TaskStatus.CANCELLED)
            columns.count("detached", status == TaskStatus.DETACH)
            self._stop(Ending.END)
            columns.ended_on[self._task] = self._thread.number + 1
        elif self._runs and self._created != NOTHING and self._created == other:
            self._runs = False  # undeferred: between creation and start there is only the runtime
        elif self._may_wait:
            self._runs = False
        else:
            self._stop(Ending.SUSPEND)
        self._task = other
        returns = other != NOTHING and self._has_ended(other)
        is_in_wait = returns and bool(columns.flags[other] & Flag.IMPLICIT)
        if is_in_wait:
            self._task = int(columns.parent[other])
        self._go_on()
        self._may_wait = is_in_wait

    def _end_taskwait(self, task: int) -> None:
        """End a taskwait with dependences: a task without a body, whose time is waiting."""
        if task != NOTHING:
            self._columns.completed[task] = True
            self._add(task, self._now, Ending.END, NOTHING)
        self._waiting.discard(self._task)
        if not self._runs:
            self._go_on()

    def _sync(self) -> None:
        endpoint, kind = self._head >> 8 & 0xF, self._head >> 12 & 0xF
        task = self._columns.numbers.task(self._head >> 16)
        if task == NOTHING:
            task = self._task
        if kind == _TASKGROUP:
            # The end of a taskgroup is the wait.
            if endpoint == _BEGIN and task == self._task and self._runs:
                self._add(task, self._now, Ending.GROUP_BEGIN, NOTHING)
        elif kind in _WAITS:
            if endpoint != _BEGIN:
                self._waiting.discard(task)
                if task == self._task and not self._runs:
                    self._go_on()
                return
            endings = {_TASKWAIT: Ending.TASKWAIT, _TASKGROUP_WAIT: Ending.GROUP_END}
            if task == self._task:
                self._stop(endings.get(kind, Ending.BARRIER))
            self._waiting.add(task)

    def _implicit(self) -> None:
        columns = self._columns
        if self._head >> 8 & 0xF == _BEGIN:
            task, self._next = self._next, self._next + 1
            self._outer.append(self._task)
            columns.creator[task] = columns.parent[task] = self._task
            self._task = task
            self._go_on()
            return
        task = columns.numbers.task(self._head >> 16)
        if task == NOTHING:
            return
        columns.completed[task] = True
        columns.ended_on[task] = self._thread.number + 1
        self._waiting.discard(task)
        if task == self._task:
            self._stop(Ending.END)
            self._task = self._outer.pop() if self._outer else NOTHING
            self._runs = False

    def _team(self) -> None:
        task, region = self._next - 1, self._columns.numbers.region(self._body)
        self._columns.region[task] = region
        self._columns.place[task] = self._head >> 8 & 0xFFFFFF
        if region != NOTHING:
            self._columns.region_size[region] = self._head >> 32 & 0xFFFFFF

    def _parallel(self) -> None:
        if self._head >> 8 & 0xF == _BEGIN:
            region, self._next_region = self._next_region, self._next_region + 1
            self._stop(Ending.PARALLEL, region)
            if self._task != NOTHING:
                self._waiting.add(self._task)
            return
        # The runtime may not report the end of an implicit task in a region of one thread.
        self._waiting.discard(self._task)
        self._go_on()
        region = self._columns.numbers.region(self._head >> 16)
        self._may_wait = region != NOTHING and self._columns.region_size[region] == 1

    def _encountered(self) -> None:
        region = self._next_region - 1
        self._columns.region_site[region] = self._head >> 16 & 0xFFFF
        self._columns.region_of[region] = self._columns.numbers.task(self._body)

    def _cancel(self) -> None:
        self._columns.count("cancellations")
        self._discarded = self._columns.numbers.task(self._body)
