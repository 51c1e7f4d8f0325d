"""StarPU's workers in a trace: their names, and their time by state.

``activity.data`` has a line ``name``, number, kind and device per worker, then, every 75 ms or
more, how long each executed and slept. ``trace.rec``, which StarPU writes since 1.3, has every
change of a worker's state. Neither has the rank of a worker. See StarPU's
``src/debug/traces/starpu_fxt.c``.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from tasksim.formats.traces.textlines import lines

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tasksim.formats.traces.records import Records

__all__ = [
    "ASLEEP",
    "EXECUTING",
    "OTHER",
    "Activity",
    "read_activity",
    "read_states",
    "states_text",
]

EXECUTING: Final = "executing"
ASLEEP: Final = "asleep"
OTHER: Final = "neither"
"""State of a worker between tasks and sleep, if nothing more is known."""

States = dict[str, dict[str, float]]
"""Worker -> state -> seconds."""

STATE_NAMES: Final[Mapping[str, str]] = {
    "Executing": EXECUTING,  # the driver calls the kernel's function
    "Sleeping": ASLEEP,
    "FetchingInput": "fetching data",
    "PushingOutput": "after tasks",
    "Progressing": "progressing",
    "Scheduling": "scheduling",
    "Callback": "callbacks",
    "Overhead": "overhead",
    "Idle": "idle",
    "Initializing": "starting",
    "Deinitializing": "ending",
    "Submitting task": "submitting",
    "Building task": "building tasks",
}
"""States of StarPU's workers -> their names in reports; others keep theirs."""
TASK_CATEGORY: Final = "Task"
"""Category of the states that are tasks."""
MAX_STATES: Final = 64
"""Largest number of different states of a worker: StarPU has fewer than twenty."""
LEAST_SHARE: Final = 0.005
"""Share of the workers' time below which states are merged: half a percent."""

_COUNTS: Final = ("cnt_ready", "cnt_submitted", "set_profiling")
"""First words of lines about the whole program."""
_WORKER: Final = re.compile(r"[0-9]{1,9}")
_NAME: Final = re.compile(r"name [0-9]{1,9} [A-Za-z_]+ [0-9]{1,9}")


class Activity(NamedTuple):
    """Contents of ``activity.data``."""

    kinds: dict[str, tuple[str, str]]
    """Number of a worker -> its kind and its device."""
    states: States
    """Number of a worker -> state -> seconds, as far as the lines cover the run."""

    def names(self) -> dict[str, tuple[str, str]]:
        """Return the name and the architecture of each worker, by number.

        A name is the kind with the number of the device, or of the worker if several workers share
        a device.
        """
        count = Counter(self.kinds.values())
        shared = {kind for (kind, _), times in count.items() if times > 1}
        return {
            number: (f"{kind.lower()}{number if kind in shared else device}", kind.lower())
            for number, (kind, device) in self.kinds.items()
        }


def read_activity(found: Records, path: Path, begin_s: float, end_s: float) -> Activity:
    """Return the workers of ``activity.data`` at *path*, and their states between two times.

    Problems are reported to *found*.
    """
    kinds: dict[str, tuple[str, str]] = {}
    states: States = {}
    for number, line in lines(path):
        words = line.split()
        if not words or words[0] in _COUNTS:
            continue
        if _NAME.fullmatch(" ".join(words)):
            _, worker, kind, device = words
            kinds[worker] = kind, device
            continue
        times = [time for word in words[1:] if (time := _seconds(word)) is not None]
        if len(words) != 5 or len(times) != 4 or not _WORKER.fullmatch(words[0]):
            legal = (
                "name, number, kind, device; or worker, time, elapsed, executing, sleeping in ms"
            )
            found.bad(f"got '{line[:60]}'; legal: {legal}", number, path)
            continue
        until, elapsed, executing, asleep = times
        mine = states.setdefault(words[0], {})
        within = min(until, end_s) - max(until - elapsed, begin_s)
        if within <= 0 or elapsed <= 0:
            continue
        rest = max(0.0, elapsed - executing - asleep)
        for state, time in ((EXECUTING, executing), (ASLEEP, asleep), (OTHER, rest)):
            mine[state] = mine.get(state, 0.0) + within / elapsed * time
    return Activity(kinds, states)


def _seconds(text: str) -> float | None:
    """Return milliseconds as seconds; None for anything else."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value / 1e3 if math.isfinite(value) and value >= 0 else None


class _NestedStates:
    """The nested states of a worker, and the time in each so far."""

    def __init__(self, begin_s: float, end_s: float) -> None:
        self.begin_s, self.end_s = begin_s, end_s
        self.stack: list[str] = [OTHER]
        self.since_s = -math.inf
        self.seconds: dict[str, float] = {}

    def until(self, time_s: float) -> None:
        """Add the time since the last change to the current state."""
        within = min(time_s, self.end_s) - max(self.since_s, self.begin_s)
        if within > 0 and self.since_s > -math.inf:
            state = self.stack[-1]
            if state in self.seconds or len(self.seconds) < MAX_STATES:
                self.seconds[state] = self.seconds.get(state, 0.0) + within
        self.since_s = max(self.since_s, time_s)

    def change(self, event: str, state: str) -> None:
        """Apply an *event* of StarPU; unknown ones change nothing."""
        if event == "SetState":
            self.stack[-1] = state
        elif event == "PushState":
            self.stack.append(state)
        elif event == "PopState" and len(self.stack) > 1:
            self.stack.pop()


def read_states(found: Records, path: Path, begin_s: float, end_s: float) -> States:
    """Return the time of each worker by state between two times, from ``trace.rec``.

    Workers are numbers. Problems are reported to *found*.
    """
    workers: dict[str, _NestedStates] = {}
    fields: dict[str, str] = {}
    first = 1
    for number, line in chain(lines(path), [(0, "")]):  # an empty line ends an event
        if line[:1] == "#":
            continue
        if line:
            first = first if fields else number
            fields[line[:1]] = line[3:]
            continue
        event, fields = fields, {}
        worker = event.get("W", "")
        if not event or worker.startswith("-"):  # of a thread that is no worker
            continue
        time_s = _seconds(event.get("S", ""))
        if time_s is None or not _WORKER.fullmatch(worker):
            found.bad("W or S is not a number; legal: a worker, milliseconds", first, path)
            continue
        nested = workers.setdefault(worker, _NestedStates(begin_s, end_s))
        nested.until(time_s)
        name = event.get("N", "")
        is_task = event.get("C") == TASK_CATEGORY
        state = EXECUTING if is_task else STATE_NAMES.get(name, name or OTHER)
        nested.change(event.get("E", ""), state)
    for nested in workers.values():
        nested.until(end_s)
    return {worker: nested.seconds for worker, nested in workers.items()}


def states_text(states: Mapping[str, Mapping[str, float]], run_s: float) -> str:
    """Return shares of the workers' time as text, the largest first, small ones merged.

    >>> states_text({"cpu0": {"executing": 0.5, "asleep": 0.25}}, 1.0)
    'time of 1 worker: 50.0 % executing, 25.0 % asleep, 25.0 % not told'
    """
    whole_s = run_s * len(states)
    together = Counter[str]()
    for mine in states.values():
        together.update(mine)
    shares = [(state, seconds / whole_s) for state, seconds in together.most_common()]
    large = [(state, share) for state, share in shares if share >= LEAST_SHARE]
    missing = 1.0 - together.total() / whole_s
    if missing >= LEAST_SHARE:
        large.append(("not told", missing))
    rest = 1.0 - sum(share for _, share in large)
    if rest >= LEAST_SHARE / 10:
        large.append(("other", rest))
    parts = ", ".join(f"{100 * share:.1f} % {state}" for state, share in large)
    return f"time of {len(states)} worker{'s' if len(states) > 1 else ''}: {parts}"
