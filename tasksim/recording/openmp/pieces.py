"""Pieces of OpenMP tasks, and their order.

A task is cut where it creates others or waits for some, so that a piece needs nothing while it
runs. The program orders the pieces:

- a task begins after the piece that created it;
- a piece begins after the one before it of its task;
- after an undeferred task, its creator goes on;
- after a taskwait, a task goes on when its children have ended;
- after a taskgroup, when all tasks that any task created in it have ended;
- after a barrier or a parallel region, when the whole team has arrived and all tasks of the region
  have ended;
- siblings follow each other as their ``depend`` clauses say.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.graph.access_mode import AccessMode
from tasksim.graph.csr import topological_order
from tasksim.graph.dependencies import Accesses, infer_dependencies
from tasksim.graph.taskgraph import Binding
from tasksim.recording.openmp.history import NOTHING, Ending, Flag

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from tasksim.recording.openmp.history import History

__all__ = ["FIRST_EVENT_THREAD", "Phase", "Pieces", "Role", "pieces_of"]


class Role(IntEnum):
    """Part of a program that a piece belongs to."""

    TASK = 0
    PARALLEL = 1
    """An implicit task, of a thread in a parallel region."""
    SERIAL = 2
    """The program outside of parallel regions."""
    TASKWAIT = 3
    """A taskwait with dependences."""
    BARRIER = 4
    START = 5
    """The start of a thread, from the begin of its first region to its part in that."""
    EVENT = 6
    """The time from the end of a detached task's body until its event is fulfilled, by no task."""


class Phase(IntEnum):
    """Event that precedes a piece within its task."""

    FIRST = 0
    CREATED = 1
    """A creation of another task."""
    WAITED = 2
    """A wait, or an interruption."""


_MODES: Final = {
    1: AccessMode.R,
    2: AccessMode.RW,
    3: AccessMode.RW,
    4: AccessMode.COMMUTATIVE,
    7: AccessMode.REDUCTION,
    8: AccessMode.RW,
    9: AccessMode.RW,
}
"""Modes of access for OpenMP's kinds of dependences: in, out, inout, mutexinoutset, inoutset, and
out and inout of all memory. Tasks of an inoutset may run together, as those of a reduction may.
A written datum is also read: out does not promise that the whole old value is replaced."""
_ALL_MEMORY: Final = (8, 9)
FIRST_EVENT_THREAD: Final = 1 << 12
"""Thread number of the first worker for events, above the numbers of all threads."""
_COLUMNS: Final = (
    *("task", "role", "phase", "site", "creates"),
    *("created_ns", "start_ns", "end_ns", "cpu_ns", "thread", "clock_ns"),
    *("continues", "creator", "binding"),
)
"""Columns of :class:`Pieces` that have a row per piece."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """Pieces in an order in which each comes after those that it depends on; times in ns.

    Attributes
    ----------
    task : ndarray
        Task of each piece in the history; -1 for barriers.
    role, phase, site : ndarray
        Its task or region, the event before it, and its place in the program.
    creates : ndarray of bool
        Whether it ends with the creation of a task.
    created_ns, start_ns, end_ns, cpu_ns, thread, clock_ns : ndarray
        Times, processor time, the thread, and its processor clock at the start.
    continues, creator, binding : ndarray
        The piece that it continues, the piece that created its task, or -1, and its binding to a
        thread, as in :class:`~tasksim.graph.taskgraph.TaskGraph`.
    before, after : ndarray
        Dependencies, as numbers of pieces.
    access_piece, access_datum, access_mode : ndarray
        Accesses of tasks to data, on their first pieces.
    address : ndarray
        Per datum, in order of first use.
    counts : dict of str -> int
        Numbers of tasks, of dependences and of what was left out.
    """

    task: NDArray[np.int64]
    role: NDArray[np.int64]
    phase: NDArray[np.int64]
    site: NDArray[np.int64]
    creates: NDArray[np.bool_]
    created_ns: NDArray[np.int64]
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    cpu_ns: NDArray[np.int64]
    thread: NDArray[np.int64]
    clock_ns: NDArray[np.int64]
    continues: NDArray[np.int64]
    creator: NDArray[np.int64]
    binding: NDArray[np.int64]
    before: NDArray[np.int64]
    after: NDArray[np.int64]
    access_piece: NDArray[np.int64]
    access_datum: NDArray[np.int64]
    access_mode: NDArray[np.int64]
    address: NDArray[np.uint64]
    counts: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.task)


def pieces_of(history: History) -> Pieces:
    """Return the pieces of the tasks of *history*, and their order."""
    walk = _Walk(history)
    walk.walk()
    siblings = _siblings(history)
    walk.add_edges(siblings >> 32, siblings & 0xFFFFFFFF)
    return walk.pieces(len(siblings))


class _Level:
    """Tasks that were created since the begin of a task or of a taskgroup, and not waited for."""

    __slots__ = ("children", "rest")

    def __init__(self) -> None:
        self.children: list[int] = []
        self.rest: list[int] = []
        """Last pieces of their descendants that nobody else waits for."""


class _Walk:
    """A way through all tasks, from those created last, so that children come before parents."""

    def __init__(self, history: History) -> None:
        self._h = history
        tasks = len(history)
        self._first = [NOTHING] * tasks
        self._last = [NOTHING] * tasks
        self._fulfilled: dict[int, list[int]] = {}
        """Pieces that fulfilled the events of detached tasks."""
        self._events = 0
        """Number of events that no task fulfilled."""
        self._rest: dict[int, list[int]] = {}
        """Per task the last pieces of its descendants that it has not waited for, if any."""
        self._region_end: dict[int, list[int]] = {}
        self._implicit: dict[int, list[int]] = {}
        self._barriers: dict[tuple[int, int], tuple[list[int], list[int]]] = {}
        self._before, self._after = array("q"), array("q")
        self._columns = {name: array("q") for name in _COLUMNS}
        self.serial_teams = False
        """Whether a team of one thread executed tasks."""
        self._undeferred = self._are_undeferred()

    def _are_undeferred(self) -> list[bool]:
        """Return which tasks make their creators wait.

        On a team of one thread the runtime calls all tasks undeferred. That is a property of the
        team, not of the program: more threads would defer them.
        """
        h = self._h
        alone = [False] * len(h)
        flags, parents, creators = h.flags.tolist(), h.parent.tolist(), h.creator.tolist()
        regions, sizes = h.region.tolist(), h.region_size.tolist()
        found = [False] * len(h)
        for task in np.argsort(h.created_ns, kind="stable").tolist():
            flag, parent = flags[task], parents[task]
            if flag & Flag.IMPLICIT:
                region = regions[task]
                alone[task] = region != NOTHING and sizes[region] == 1
                continue
            creator = creators[task]
            alone[task] = creator != NOTHING and alone[creator]
            self.serial_teams |= alone[task]
            included = bool(flag & Flag.FINAL and parent != NOTHING and flags[parent] & Flag.FINAL)
            is_wait = bool(flag & Flag.TASKWAIT)
            undeferred = bool(flag & (Flag.UNDEFERRED | Flag.MERGED))
            found[task] = is_wait or (undeferred and (included or not alone[task]))
        return found

    def walk(self) -> None:
        """Find the pieces, and their order except for dependences."""
        h = self._h
        limits = np.searchsorted(h.step_task, np.arange(len(h) + 1)).tolist()
        self._make_pieces()
        fulfilled = h.step_ending == Ending.FULFILL
        for step in np.flatnonzero(fulfilled).tolist():
            self._fulfilled.setdefault(int(h.step_ref[step]), []).append(self._piece[step])
        for task in np.flatnonzero(h.region != NOTHING).tolist():
            self._implicit.setdefault(int(h.region[task]), []).append(task)
        self._add_events(limits)
        endings, refs = h.step_ending.tolist(), h.step_ref.tolist()
        is_implicit = (h.flags & Flag.IMPLICIT != 0).tolist()
        for task in np.argsort(h.created_ns, kind="stable")[::-1].tolist():
            steps = range(limits[task], limits[task + 1])
            if is_implicit[task]:
                _ImplicitTask(self, task).follow(steps, endings, refs)
            else:
                _Task(self, task).follow(steps, endings, refs)
        self._join()

    def _make_pieces(self) -> None:
        """Make a piece of each step that is one, and find the first of each task."""
        h = self._h
        task, ending = h.step_task, h.step_ending
        count = len(task)
        new = np.ones(count, bool)
        new[1:] = task[1:] != task[:-1]
        last = np.append(new[1:], True)[:count]
        flags = h.flags[task]
        initial, implicit = flags & Flag.INITIAL != 0, flags & Flag.IMPLICIT != 0
        real = ending != Ending.GROUP_BEGIN
        # The program before its first region and after the last is no part of the run.
        kept = real & ~(initial & (new | (last & (ending == Ending.END))))
        durations_ns = h.step_end_ns - h.step_start_ns
        self._outside_ns = int(durations_ns[real & initial & ~kept].sum())
        # After the barrier at the end of a region there is only the runtime, maybe much later.
        previous = np.roll(ending, 1)
        kept &= ~(implicit & ~new & (ending == Ending.END) & (previous == Ending.BARRIER))
        self._piece = np.where(kept, np.cumsum(kept) - 1, NOTHING).tolist()
        places = np.flatnonzero(kept)
        owner = task[places]
        head = np.ones(len(places), bool)
        head[1:] = owner[1:] != owner[:-1]
        for piece in np.flatnonzero(head).tolist():
            self._first[int(owner[piece])] = piece
        before = np.roll(ending[places], 1)
        created = (before == Ending.CREATE) & ~head
        phase = np.where(head, Phase.FIRST, np.where(created, Phase.CREATED, Phase.WAITED))
        explicit = ~implicit[places]
        created_ns = np.where(created, np.roll(h.step_end_ns[places], 1), h.step_start_ns[places])
        created_ns = np.where(head & explicit, h.created_ns[owner], created_ns)
        role = np.where(implicit[places], Role.PARALLEL, Role.TASK)
        role = np.where(initial[places], Role.SERIAL, role)
        role = np.where(flags[places] & Flag.TASKWAIT != 0, Role.TASKWAIT, role)
        region = h.region[owner]
        sites = np.append(h.region_site, 0)[region]
        columns = {
            "task": owner, "role": role, "phase": phase,
            "site": np.where(role == Role.PARALLEL, sites, h.site[owner]),
            "creates": ending[places] == Ending.CREATE, "created_ns": created_ns,
            "start_ns": h.step_start_ns[places], "end_ns": h.step_end_ns[places],
            "cpu_ns": h.step_cpu_ns[places], "thread": h.step_thread[places],
            "clock_ns": h.step_clock_ns[places],
            "continues": np.where(head, NOTHING, np.arange(len(places)) - 1),
            "creator": np.full(len(places), NOTHING),
            "binding": self._bindings(places, head),
        }  # fmt: skip
        for name, column in columns.items():
            self._columns[name].frombytes(np.ascontiguousarray(column, np.int64).tobytes())
        by_thread = np.lexsort((columns["start_ns"], columns["thread"]))
        _, first = np.unique(columns["thread"][by_thread], return_index=True)
        self._first_of_threads = set(by_thread[first].tolist())

    def _bindings(self, places: NDArray[np.int64], head: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return how the pieces of the steps at *places* are bound; *head*: a task's first one."""
        h = self._h
        owner = h.step_task[places]
        flags = h.flags[owner]
        untied = flags & Flag.UNTIED != 0
        held = (flags & (Flag.IMPLICIT | Flag.TASKWAIT) != 0) | np.array(self._undeferred, bool)[
            owner
        ]
        first = np.where(held, Binding.HELD, np.where(untied, Binding.FREE, Binding.TIED))
        ended = np.roll(h.step_ending[places], 1)
        all_run = (ended == Ending.BARRIER) | (ended == Ending.PARALLEL)
        group = ended == Ending.GROUP_END
        later = np.where(all_run, Binding.FREE, np.where(group, Binding.GROUP, Binding.TIED))
        return np.where(head, first, later)

    def _join(self) -> None:
        """Add a piece without duration for each barrier within a region."""
        columns = self._columns
        for before, after in self._barriers.values():
            if not (before and after):
                continue
            last = max(before, key=columns["end_ns"].__getitem__)
            time, clock = columns["end_ns"][last], columns["clock_ns"][last]
            clock += columns["cpu_ns"][last]
            piece = self._add_piece(Role.BARRIER, time, time, 0, columns["thread"][last], clock)
            self.order(before, piece)
            for other in after:
                self.order([piece], other)

    def _add_piece(
        self, role: Role, start_ns: int, end_ns: int, cpu_ns: int, thread: int, clock_ns: int
    ) -> int:
        """Add a piece that is of no task, held by its thread; return its number."""
        values = {
            "task": NOTHING, "role": role, "phase": Phase.FIRST, "site": NOTHING, "creates": 0,
            "created_ns": start_ns, "start_ns": start_ns, "end_ns": end_ns, "cpu_ns": cpu_ns,
            "thread": thread, "clock_ns": clock_ns,
            "continues": NOTHING, "creator": NOTHING, "binding": Binding.HELD,
        }  # fmt: skip
        for name, value in values.items():
            self._columns[name].append(value)
        return len(self._columns["task"]) - 1

    def _add_events(self, limits: list[int]) -> None:
        """Add a piece for each event that no task fulfilled, on workers beside the threads.

        *limits* has the first step of each task. Events that are open at once have a worker each.
        """
        found = []
        for task, until in self._h.fulfilled_ns.items():
            last = self._piece[limits[task + 1] - 1] if limits[task] < limits[task + 1] else NOTHING
            if last != NOTHING and self._columns["end_ns"][last] < until:
                found.append((self._columns["end_ns"][last], until, task, last))
        open_until: list[int] = []
        for since, until, task, last in sorted(found):
            free = (k for k, other in enumerate(open_until) if other <= since)
            place = next(free, len(open_until))
            open_until[place : place + 1] = [until]
            piece = self._add_piece(
                Role.EVENT, since, until, until - since, FIRST_EVENT_THREAD + place, 0
            )
            self._columns["site"][piece] = int(self._h.site[task])
            self._columns["binding"][piece] = Binding.FREE
            self.order([last], piece)
            self._fulfilled.setdefault(task, []).append(piece)
        self._events = len(found)

    def begin_region(self, before: list[int], firsts: list[int]) -> None:
        """Order the threads' parts of a region after the pieces *before*.

        Before the first region of a thread comes the piece that starts the thread.
        """
        columns = self._columns
        since = min((columns["start_ns"][first] for first in firsts), default=0)
        for first in firsts:
            self.order(before, first)
            until = columns["start_ns"][first]
            if first not in self._first_of_threads or until <= since:
                continue
            cpu = min(columns["clock_ns"][first], until - since)
            piece = self._add_piece(Role.START, since, until, cpu, columns["thread"][first], 0)
            self.order(before, piece)
            self.order([piece], first)

    def completion(self, task: int) -> list[int]:
        """Return the pieces at whose ends *task* is complete."""
        last, fulfilled = self._last[task], self._fulfilled.get(task, [])
        return [*fulfilled] if last == NOTHING else [last, *fulfilled]

    def order(self, before: Iterable[int], after: int) -> None:
        """Order the piece *after* behind the pieces *before*."""
        for piece in before:
            self._before.append(piece)
            self._after.append(after)

    def add_edges(self, before: NDArray[np.int64], after: NDArray[np.int64]) -> None:
        """Order tasks behind the completion of others; both have their numbers in the history."""
        for one, other in zip(before.tolist(), after.tolist(), strict=True):
            if self._first[other] != NOTHING:
                self.order(self.completion(one), self._first[other])

    def pieces(self, dependences: int) -> Pieces:
        """Return the pieces, in order."""
        columns = {name: np.array(column, np.int64) for name, column in self._columns.items()}
        before, after = np.array(self._before, np.int64), np.array(self._after, np.int64)
        start, end = columns["start_ns"], columns["end_ns"]
        kept = start[before] <= start[after]
        before, after = before[kept], after[kept]
        # A runtime may report the end of a task when it has already released the next, which ran at
        # once on another thread: the start of that one then counts as the end.
        limit = np.full(len(end), np.iinfo(np.int64).max)
        np.minimum.at(limit, before, start[after])
        columns["end_ns"] = np.maximum(np.minimum(end, limit), start)
        order = _order(columns["created_ns"], start, before, after)
        number = np.empty(len(order), np.int64)
        number[order] = np.arange(len(order))
        h = self._h
        explicit = h.flags & (Flag.IMPLICIT | Flag.TASKWAIT) == 0
        counts = h.counts | {
            "tasks": int(explicit.sum()),
            "not ended": int((explicit & ~h.completed).sum()),
            "dependences": dependences,
            "contradicted": int((~kept).sum()),
            "regions": len(h.region_site),
            "events": self._events,
            "serial teams": int(self.serial_teams),
            "outside ns": self._outside_ns,
        }
        found: dict[str, Any] = {name: column[order] for name, column in columns.items()}
        found["creates"] = found["creates"] == 1
        for name in ("continues", "creator"):
            found[name] = np.where(found[name] == NOTHING, NOTHING, number[found[name]])
        (piece, datum, mode), address = self._accesses(number)
        return Pieces(
            **found,
            before=number[before],
            after=number[after],
            access_piece=piece,
            access_datum=datum,
            access_mode=mode,
            address=address,
            counts=counts,
        )

    def _accesses(
        self, number: NDArray[np.int64]
    ) -> tuple[tuple[NDArray[np.int64], ...], NDArray[np.uint64]]:
        """Return piece, datum and mode of the accesses, and the address of each datum."""
        h = self._h
        first = np.array(self._first, np.int64)
        task, mode, address = _accesses(h)
        known = first[task] != NOTHING
        task, mode, address = task[known], mode[known], address[known]
        piece = number[first[task]]
        order = np.argsort(piece, kind="stable")
        piece, mode, address = piece[order], mode[order], address[order]
        unique, at, inverse = np.unique(address, return_index=True, return_inverse=True)
        rank = np.empty(len(unique), np.int64)
        rank[np.argsort(at)] = np.arange(len(unique))
        return (piece, rank[inverse], mode), unique[np.argsort(at)]


class _Task:
    """An explicit task's steps, followed from the first to the last."""

    def __init__(self, walk: _Walk, task: int) -> None:
        self.walk = walk
        self.task = task
        self.levels = [_Level()]
        self.waits: list[int] = []
        """Pieces that the next one comes after."""
        self.last = NOTHING

    def follow(self, steps: range, endings: list[int], refs: list[int]) -> None:
        """Order the pieces, and record those that others must wait for."""
        walk = self.walk
        for step in steps:
            piece = walk._piece[step]
            if piece != NOTHING:
                walk.order(self.waits, piece)
                self.waits = [piece]
                self.last = piece
            ending = endings[step]
            if ending == Ending.CREATE:
                self.created(refs[step], piece)
            elif ending == Ending.TASKWAIT:
                self.waited()
            elif ending == Ending.GROUP_BEGIN:
                self.levels.append(_Level())
            elif ending == Ending.GROUP_END:
                self.group_ended()
            elif ending == Ending.PARALLEL:
                self.was_parallel(refs[step], piece)
            elif ending == Ending.BARRIER:
                self.met()
        self.end()

    def created(self, child: int, piece: int) -> None:
        """Go on after a creation."""
        walk = self.walk
        if piece != NOTHING and walk._first[child] != NOTHING:
            walk.order([piece], walk._first[child])
            walk._columns["creator"][walk._first[child]] = piece
        if walk._undeferred[child]:
            self.waits = self.waits + walk.completion(child)
            self._leave(self.levels[-1], child)
        else:
            self.levels[-1].children.append(child)

    def waited(self) -> None:
        """Go on after a taskwait: the children are complete, their own children maybe not."""
        walk = self.walk
        for level in self.levels:
            for child in level.children:
                self.waits.extend(walk.completion(child))
                self._leave(level, child)
            level.children = []

    def group_ended(self) -> None:
        """Go on after a taskgroup: all that was created in it is complete."""
        level = self.levels.pop() if len(self.levels) > 1 else self.levels[0]
        self.waits = _joined(self.waits, self._all_of(level))

    def was_parallel(self, region: int, piece: int) -> None:
        """Go on after a parallel region."""
        walk = self.walk
        before = [] if piece == NOTHING else [piece]
        firsts = [walk._first[task] for task in walk._implicit.get(region, ())]
        walk.begin_region(before, [first for first in firsts if first != NOTHING])
        self.waits = _joined(self.waits, walk._region_end.pop(region, []))

    def met(self) -> None:
        """Do nothing: an explicit task has no barriers."""

    def end(self) -> None:
        """Record the task's last piece, and those of descendants that it has not waited for."""
        walk = self.walk
        walk._last[self.task] = self.last
        rest = self.left()
        if rest:
            walk._rest[self.task] = rest

    def left(self) -> list[int]:
        """Return the last pieces of all descendants that nobody has waited for."""
        found: list[int] = []
        for level in self.levels:
            found = _joined(found, self._all_of(level))
        self.levels = [_Level()]
        return found

    def _all_of(self, level: _Level) -> list[int]:
        walk = self.walk
        found = level.rest
        for child in level.children:
            found.extend(walk.completion(child))
            found = _joined(found, walk._rest.pop(child, []))
        level.children, level.rest = [], []
        return found

    def _leave(self, level: _Level, child: int) -> None:
        level.rest = _joined(level.rest, self.walk._rest.pop(child, []))


class _ImplicitTask(_Task):
    """An implicit task's steps: at barriers its team waits for each other, and for all tasks."""

    def __init__(self, walk: _Walk, task: int) -> None:
        super().__init__(walk, task)
        self._met = 0
        self._region = int(walk._h.region[task])

    def follow(self, steps: range, endings: list[int], refs: list[int]) -> None:
        """Order the pieces; a barrier is left when another piece follows it."""
        self._last_piece = max((self.walk._piece[step] for step in steps), default=NOTHING)
        super().follow(steps, endings, refs)

    def met(self) -> None:
        """Go on after a barrier; nothing goes on after that at the end of the region."""
        walk = self.walk
        if self.last == self._last_piece:
            return
        before, after = walk._barriers.setdefault((self._region, self._met), ([], []))
        self._met += 1
        before.extend(self.waits)
        before.extend(self.left())
        after.append(self.last + 1)
        self.waits = []

    def end(self) -> None:
        """Leave all to the end of the region."""
        super().end()
        walk, task = self.walk, self.task
        found = _joined(walk.completion(task), walk._rest.pop(task, []))
        if self._region != NOTHING:
            ends = walk._region_end
            ends[self._region] = _joined(ends.get(self._region, []), found)


def _joined(one: list[int], other: list[int]) -> list[int]:
    """Return both lists as one, which is the longer of them with the shorter appended."""
    if len(one) < len(other):
        one, other = other, one
    one.extend(other)
    return one


def _accesses(
    history: History,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint64]]:
    """Return task, mode and address of the accesses, each address once per task."""
    modes = np.zeros(16, np.int64)
    modes[list(_MODES)] = list(_MODES.values())
    mode = modes[history.dep_kind]
    known = mode != 0
    task, address, mode = history.dep_task[known], history.dep_address[known], mode[known]
    order = np.lexsort((address, task))
    task, address, mode = task[order], address[order], mode[order]
    new = np.ones(len(task), bool)
    new[1:] = (task[1:] != task[:-1]) | (address[1:] != address[:-1])
    starts = np.flatnonzero(new)
    if not len(starts):
        return task, mode, address
    highest, lowest = np.maximum.reduceat(mode, starts), np.minimum.reduceat(mode, starts)
    # One address with different kinds of dependences is read and written.
    combined = np.where(highest == lowest, highest, int(AccessMode.RW))
    return task[starts], combined, address[starts]


def _siblings(history: History) -> NDArray[np.int64]:
    """Return the dependences among siblings, as ``before << 32 | after`` by number of the task."""
    task, mode, address = _accesses(history)
    if not len(task):
        return np.zeros(0, np.int64)
    ranked = np.argsort(history.created_ns, kind="stable")
    rank = np.empty(len(ranked), np.int64)
    rank[ranked] = np.arange(len(ranked))
    parent = history.parent[task]
    rows = [(parent, address, rank[task], mode)]
    all_memory = np.isin(history.dep_kind, _ALL_MEMORY)
    if all_memory.any():  # as if all other siblings with dependences read one common datum
        strict = np.unique(history.dep_task[all_memory])
        tasks = np.unique(task)
        whole = np.where(np.isin(tasks, strict), int(AccessMode.RW), int(AccessMode.R))
        nowhere = np.full(len(tasks), np.iinfo(np.uint64).max, np.uint64)
        rows.append((history.parent[tasks], nowhere, rank[tasks], whole))
    parent, address, ranks, mode = (np.concatenate(each) for each in zip(*rows, strict=True))
    _, handle = np.unique(
        np.stack([parent.astype(np.uint64), address]), axis=1, return_inverse=True
    )
    order = np.argsort(ranks, kind="stable")
    edges = infer_dependencies(
        Accesses(
            ranks[order].astype(np.int32),
            handle.reshape(-1)[order].astype(np.int32),
            mode[order].astype(np.int8),
        )
    )
    edges = np.unique(edges)
    found: NDArray[np.int64] = (ranked[edges >> 32] << 32) | ranked[edges & 0xFFFFFFFF]
    return found


def _order(
    key: NDArray[np.int64],
    start: NDArray[np.int64],
    before: NDArray[np.int64],
    after: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the pieces in order of creation, each after those that it depends on."""
    ranked: NDArray[np.int64] = np.lexsort((np.arange(len(key)), start, key))
    place = np.empty(len(key), np.int64)
    place[ranked] = np.arange(len(key))
    if not len(before) or bool((place[before] < place[after]).all()):
        return ranked
    edges: Any = zip(before.tolist(), after.tolist(), strict=True)
    order, _ = topological_order(len(key), edges, place.tolist())
    return np.array(order, np.int64)
