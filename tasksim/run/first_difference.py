"""First difference of two runs, the earliest event that happened in only one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tasksim.base.errors import expect
from tasksim.run.record import Run

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["RunEvent", "events", "first_difference"]

TASK_EVENTS: Final = (
    ("submitted_s", "is submitted"),
    ("ready_s", "is pushed"),
    ("popped_s", "is popped"),
    ("start_s", "starts"),
    ("end_s", "ends"),
)
"""Times recorded of tasks, in the order in which they happen."""
COPY_EVENTS: Final = (("requested_s", "is requested"), ("start_s", "starts"), ("end_s", "ends"))
"""Times recorded of copies."""
MESSAGE_EVENTS: Final = (
    ("posted_s", "is posted"),
    ("ready_s", "may be sent"),
    ("awaited_s", "is awaited"),
    ("start_s", "starts"),
    ("end_s", "ends"),
)
"""Times recorded of messages."""


class RunEvent(NamedTuple):
    """An event of a run: its time and its description."""

    time_s: float
    what: str


def events(run: Run) -> list[RunEvent]:
    """Return the recorded events of tasks, copies and messages of *run*, in order of time.

    At one instant, tasks come before copies before messages, each in the order of its events and by
    number.
    """
    found = [*_task_events(run), *_copy_events(run), *_message_events(run)]
    return [event for _, event in sorted(found, key=lambda pair: (pair[1].time_s, pair[0]))]


def first_difference(one: Run, other: Run) -> str | None:
    """Return the first event that differs between two runs, as text; None if they are equal.

    Use it to find where two engines, or two versions of one, diverge: later differences may follow
    from the first.

    Parameters
    ----------
    one, other : Run
        Runs of the same graph on the same platform.

    Raises
    ------
    InputError
        If one of them is not a run.

    Examples
    --------
    >>> import tasksim
    >>> asked = tasksim.Scenario("fork-join width=2 duration=1.0", workers=1)
    >>> print(first_difference(asked.solve(), asked.vary(workers=2).solve()))
    at 0 s: task #0 is popped on cpu0; in the other run, at 0 s: task #0 is popped on cpu1
    """
    for run in (one, other):
        expect(run, Run, "run")
    sequences = [events(run) for run in (one, other)]
    for here, there in zip(*sequences, strict=False):
        if here != there:
            return f"{_said(here)}; in the other run, {_said(there)}"
    longest = max(sequences, key=len)
    shorter = min(map(len, sequences))
    if len(longest) == shorter:
        return None
    return f"{_said(longest[shorter])}; in the other run, nothing"


def _said(event: RunEvent) -> str:
    return f"at {event.time_s:.12g} s: {event.what}"


def _task_events(run: Run) -> Iterator[tuple[Any, RunEvent]]:
    tasks = run.tasks
    names = [worker.name for worker in run.workers]
    for order, (column, verb) in enumerate(TASK_EVENTS):
        times = getattr(tasks, column)
        for row in np.flatnonzero(~np.isnan(times)).tolist():
            where = f" on {names[tasks.worker[row]]}" if order > 1 else ""
            task = int(tasks.task[row])
            what = f"{run.label(task)} {verb}{where}"
            yield (0, order, task), RunEvent(float(times[row]), what)


def _copy_events(run: Run) -> Iterator[tuple[Any, RunEvent]]:
    copies = run.transfers
    if copies is None:
        return
    names = [memory.name for memory in run.memories]
    for order, (column, verb) in enumerate(COPY_EVENTS):
        for row, time_s in enumerate(getattr(copies, column).tolist()):
            handle, source, target = (
                int(part[row]) for part in (copies.handle, copies.source, copies.target)
            )
            what = f"copy of datum #{handle} from {names[source]} to {names[target]} {verb}"
            yield (1, order, handle, source, target), RunEvent(time_s, what)


def _message_events(run: Run) -> Iterator[tuple[Any, RunEvent]]:
    messages = run.messages
    if messages is None:
        return
    for order, (column, verb) in enumerate(MESSAGE_EVENTS):
        for row, time_s in enumerate(getattr(messages, column).tolist()):
            source, target, handle = (
                int(part[row]) for part in (messages.source, messages.target, messages.handle)
            )
            what = f"message {row} with datum #{handle} from node {source} to {target} {verb}"
            yield (2, order, row), RunEvent(time_s, what)
