"""Tasks of an OTF2 archive, from one of three kinds of events.

- OpenMP's tasks (Score-P): events of their creation, of switches between them, of their end. A task
  is cut where it creates another, and where it waits for those that it has created; code outside
  of tasks that creates some is a task of its own, after the one before it on its thread.
- Regions of role TASK (APEX, HPX): each is a task, which is resumed if its GUID is entered again.
- Any other regions: the outermost of each thread.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from tasksim.formats.traces.stretches import NO_STRETCH, Stretches

if TYPE_CHECKING:
    from tasksim.formats.traces.otf2.definitions import Definitions

__all__ = ["Event", "OpenMPTasks", "OutermostRegions", "TaskRegions"]

TASK_ROLES: Final = ("TASK", "TASK_UNTIED")
CREATION_ROLE: Final = "TASK_CREATE"
WAIT_ROLES: Final = ("TASK_WAIT", "BARRIER", "IMPLICIT_BARRIER")
"""Roles of regions that a thread leaves once tasks that it created have ended."""
UNKNOWN_KERNEL: Final = "task"
"""Name of the kernel of a task whose region is not in the trace."""


NOT_ENDED: Final = "had not ended at the end of the trace, which counts as their end"
OTHER_THREAD: Final = "were executed under the number of a thread that did not create them"
UNBEGUN_NOTE: Final = "ended without a beginning, and are left out"


class Event(NamedTuple):
    """Event of a location.

    Attributes
    ----------
    word
        ENTER, LEAVE, THREAD_TASK_CREATE, ...
    location
        Row of the location.
    time_ns
    key
        Number of a region; or team, thread and generation of a task.
    line
        Line of the output of otf2-print.
    guid
        Number of its task by the attributes of the event; 0: none.
    """

    word: str
    location: int
    time_ns: int
    key: tuple[int, ...]
    line: int
    guid: int = 0


@dataclass
class _Context:
    """Creator of tasks, which waits for them: a task, or a thread outside of any."""

    children: list[str] = field(default_factory=list)
    last: int = NO_STRETCH
    """Its last stretch, before the next one."""
    needs: list[int] = field(default_factory=list)
    """Stretches that the next one waits for."""


@dataclass
class _Open:
    """Stretch in execution on a location."""

    task: str
    start_ns: int
    line: int


class OpenMPTasks:
    """Tasks by events of OpenMP's tasks."""

    def __init__(self, stretches: Stretches, definitions: Definitions) -> None:
        self.stretches, self._definitions = stretches, definitions
        self.counts: Counter[str] = Counter()
        self._kernel: dict[str, str] = {}
        self._contexts: dict[str, _Context] = {}
        self._running: dict[int, _Open] = {}
        self._creating: dict[int, tuple[int, str]] = {}
        """Location -> when it entered a region that creates a task, and the region's name."""
        self._pending: dict[int, str] = {}
        """Location -> the task that has begun, whose region is entered next: of role TASK by
        Score-P, of another by EZTrace."""
        self._unbegun: dict[tuple[int, int], list[str]] = {}
        """Tasks that are created but not begun, by process and generation."""
        self._aliases: dict[str, str] = {}
        self._waiting: set[str] = set()
        """Waiting tasks: nothing that runs belongs to them."""

    def take(self, event: Event) -> None:
        """Take the next event."""
        if event.word in ("ENTER", "LEAVE"):
            self._region(event)
            return
        task = self._name(event)
        if event.word == "THREAD_TASK_CREATE":
            self._unbegun.setdefault(self._generation(event), []).append(task)
            self._create(event, task)
            return
        task = self._meant(event, task)
        if event.word == "THREAD_TASK_SWITCH":
            self._leave(event.location, event.time_ns)
            if event.key[2]:  # others are implicit tasks of threads
                self._running[event.location] = _Open(task, event.time_ns, event.line)
                if task not in self._kernel:
                    self._pending[event.location] = task
        else:
            running = self._running.get(event.location)
            if running is not None and running.task == task:
                self._leave(event.location, event.time_ns)

    def close(self, end_ns: int) -> None:
        """End the stretches that are open at the end of the trace."""
        for location in list(self._running):
            self.counts[NOT_ENDED] += 1
            self._leave(location, end_ns)

    def _generation(self, event: Event) -> tuple[int, int]:
        return self._definitions.locations[event.location].process, event.key[2]

    def _meant(self, event: Event, task: str) -> str:
        """Return the target of a switch.

        EZTrace names the executing thread, not the creating one: the target is then the first task
        of its generation that has not begun.
        """
        if not event.key[2]:
            return task
        unbegun = self._unbegun.get(self._generation(event), [])
        if task in self._contexts:
            if task in unbegun:
                unbegun.remove(task)
            return task
        if task not in self._aliases and unbegun:
            self._aliases[task] = unbegun.pop(0)
            self.counts[OTHER_THREAD] += 1
        return self._aliases.get(task, task)

    def _name(self, event: Event) -> str:
        process = self._definitions.locations[event.location].process
        return ".".join(map(str, (process, *event.key)))

    def _context(self, location: int) -> _Context:
        running = self._running.get(location)
        name = f"thread {location}" if running is None else running.task
        return self._contexts.setdefault(name, _Context())

    def _region(self, event: Event) -> None:
        region, location = self._definitions.regions[event.key[0]], event.location
        entered = event.word == "ENTER"
        if (
            entered
            and location in self._pending
            and region.role not in (CREATION_ROLE, *WAIT_ROLES)
        ):
            self._kernel[self._pending.pop(location)] = region.name
        elif region.role == CREATION_ROLE:
            if entered:
                self._creating[location] = event.time_ns, region.name
            else:
                self._creating.pop(location, None)
        elif region.role in WAIT_ROLES:
            self._wait(event, entered=entered)

    def _create(self, event: Event, task: str) -> None:
        """Note a creation, which ends a stretch within a task."""
        context = self._context(event.location)
        context.children.append(task)
        self.stretches.submitted(task, event.time_ns)
        child = self._contexts.setdefault(task, _Context())
        running = self._running.get(event.location)
        if running is not None:
            child.needs.append(self._cut(event.location, event.time_ns, event.line))
        else:
            since_ns, name = self._creating.get(
                event.location, (event.time_ns, "creation of tasks")
            )
            times = since_ns, event.time_ns
            self.stretches.submitted(f"creation{event.line}", since_ns)
            stretch = self._add(
                f"creation{event.line}", name, event.location, times, event.line, context
            )
            child.needs.append(stretch)
            self._creating.pop(event.location, None)

    def _wait(self, event: Event, *, entered: bool) -> None:
        """Cut a task that waits, and let its next stretch wait for the tasks that it created."""
        context, running = self._context(event.location), self._running.get(event.location)
        if entered:
            if running is not None and running.task not in self._waiting:
                self._cut(event.location, event.time_ns, event.line)
                self._waiting.add(running.task)
            return
        for child in context.children:
            last = self._contexts[child].last
            if last != NO_STRETCH:
                context.needs.append(last)
        context.children.clear()
        if running is not None:
            self._waiting.discard(running.task)
            running.start_ns = event.time_ns

    def _cut(self, location: int, time_ns: int, line: int) -> int:
        """End the stretch of a location, and begin another of its task; return the first one."""
        running = self._running[location]
        stretch = self._end(location, running, time_ns)
        self._running[location] = _Open(running.task, time_ns, line)
        return stretch

    def _leave(self, location: int, time_ns: int) -> None:
        running = self._running.pop(location, None)
        self._pending.pop(location, None)
        if running is not None and running.task not in self._waiting:
            self._end(location, running, time_ns)

    def _end(self, location: int, running: _Open, time_ns: int) -> int:
        context = self._contexts.setdefault(running.task, _Context())
        times = running.start_ns, max(time_ns, running.start_ns)
        kernel = self._kernel.get(running.task, UNKNOWN_KERNEL)
        return self._add(running.task, kernel, location, times, running.line, context)

    def _add(
        self,
        task: str,
        kernel: str,
        location: int,
        times: tuple[int, int],
        line: int,
        context: _Context,
    ) -> int:
        stretch = len(self.stretches)
        self.stretches.add(task, kernel, location, times, line, 0)
        for before in (*context.needs, context.last):
            if before != NO_STRETCH and self.stretches.ended_before(before, stretch):
                self.stretches.depends(before, stretch)
        context.needs.clear()
        context.last = stretch
        return stretch


class TaskRegions:
    """Tasks by regions of role TASK."""

    def __init__(self, stretches: Stretches, definitions: Definitions) -> None:
        self.stretches, self._definitions = stretches, definitions
        self.counts: Counter[str] = Counter()
        self._open: dict[int, list[tuple[str, str, int]]] = {}
        self._since: dict[int, int] = {}
        self._number = 0

    def take(self, event: Event) -> None:
        """Take the next event."""
        if event.word not in ("ENTER", "LEAVE"):
            return
        region = self._definitions.regions[event.key[0]]
        if region.role not in TASK_ROLES:
            return
        stack = self._open.setdefault(event.location, [])
        if event.word == "LEAVE" and not stack:
            self.counts[UNBEGUN_NOTE] += 1
            return
        self._end(event.location, event.time_ns)
        if event.word == "ENTER":
            self._number += 1
            name = f"guid{event.guid}" if event.guid else f"region{self._number}"
            stack.append((name, region.name, event.line))
        else:
            stack.pop()
        self._since[event.location] = event.time_ns

    def close(self, end_ns: int) -> None:
        """End what runs at the end of the trace."""
        for location, stack in self._open.items():
            if stack:
                self.counts[NOT_ENDED] += len(stack)
                self._end(location, end_ns)

    def _end(self, location: int, time_ns: int) -> None:
        stack = self._open[location]
        if stack:
            name, kernel, line = stack[-1]
            since_ns = self._since[location]
            self.stretches.add(name, kernel, location, (since_ns, max(since_ns, time_ns)), line, 0)


class OutermostRegions:
    """Tasks by the regions that are not nested in others of their thread."""

    def __init__(self, stretches: Stretches, definitions: Definitions) -> None:
        self.stretches, self._definitions = stretches, definitions
        self.counts: Counter[str] = Counter()
        self._depth: Counter[int] = Counter()
        self._begun: dict[int, Event] = {}

    def take(self, event: Event) -> None:
        """Take the next event."""
        location = event.location
        if event.word == "ENTER":
            if not self._depth[location]:
                self._begun[location] = event
            self._depth[location] += 1
        elif event.word == "LEAVE" and self._depth[location]:
            self._depth[location] -= 1
            if not self._depth[location]:
                self._end(self._begun.pop(location), event.time_ns)

    def close(self, end_ns: int) -> None:
        """End what runs at the end of the trace."""
        for event in self._begun.values():
            self.counts[NOT_ENDED] += 1
            self._end(event, end_ns)
        self._begun.clear()

    def _end(self, event: Event, end_ns: int) -> None:
        name = self._definitions.regions[event.key[0]].name
        times = event.time_ns, max(event.time_ns, end_ns)
        self.stretches.add(f"region{event.line}", name, event.location, times, event.line, 0)
