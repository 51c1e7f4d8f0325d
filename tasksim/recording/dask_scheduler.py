"""Plugin of Dask's scheduler that notes the tasks of a cluster, imported where the scheduler runs.

Only :mod:`tasksim.recording.dask_clusters` uses it, when the program has imported Dask.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from distributed.diagnostics.plugin import SchedulerPlugin

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

__all__ = ["ClusterNotes", "ReadNote", "TaskNote", "notes_of", "start_notes"]

_PLUGINS: Final[dict[int, _Plugin]] = {}
"""Plugins of schedulers in this process: their notes outlive a cluster that closes first."""


class ReadNote(NamedTuple):
    """A datum that a task read."""

    key: Hashable
    made_by: int
    """Place of the task that made it in the notes; -1: none did, as the program sent it."""
    size_bytes: int


class TaskNote(NamedTuple):
    """A task that a worker has run, with times of :func:`time.time`, of the scheduler's clock."""

    key: Hashable
    graph: int
    """Number of the graph that brought it, in the order of their arrival; -1: unknown."""
    reads: list[ReadNote]
    priority: tuple[float, ...]
    start_s: float
    end_s: float
    transfers_s: tuple[float, float] | None
    """Begin and end of the transfers of its data to its worker."""
    reported_s: float
    """When the scheduler knew of its end, by its own clock."""
    address: str
    """Address of its worker."""
    thread: int
    size_bytes: int
    raised: bool


class ClusterNotes(NamedTuple):
    """Graphs and tasks of a scheduler."""

    graphs: list[frozenset[Hashable]]
    """The keys that a client asked for, per graph."""
    tasks: list[TaskNote]
    """Tasks in the order of their ends."""


def start_notes(number: int, dask_scheduler: Any) -> None:
    """Let a scheduler note its tasks under a *number*."""
    _PLUGINS[number] = _Plugin(dask_scheduler, f"tasksim-{number}")
    dask_scheduler.add_plugin(_PLUGINS[number], name=_PLUGINS[number].name)


def notes_of(number: int) -> ClusterNotes | None:
    """Return the notes under a *number*, and end them; None if they are in another process."""
    plugin = _PLUGINS.pop(number, None)
    if plugin is None:
        return None
    plugin.scheduler.remove_plugin(name=plugin.name)
    return plugin.notes


def _transfers_s(parts: list[dict[str, Any]]) -> tuple[float, float] | None:
    found = [part for part in parts if part["action"] == "transfer"]
    if not found:
        return None
    return min(part["start"] for part in found), max(part["stop"] for part in found)


class _Plugin(SchedulerPlugin):  # type: ignore[misc]  # distributed has no types
    """Notes of one scheduler."""

    def __init__(self, scheduler: Any, name: str) -> None:
        self.scheduler = scheduler
        self.name = name
        self.notes = ClusterNotes([], [])
        self._graph_of: dict[Hashable, int] = {}
        self._made_by: dict[Hashable, int] = {}

    def update_graph(
        self, scheduler: Any, *, keys: Iterable[Hashable], tasks: Iterable[Hashable], **_: Any
    ) -> None:
        """Note a graph that a client sent."""
        number = len(self.notes.graphs)
        self.notes.graphs.append(frozenset(keys))
        for key in tasks:
            state = scheduler.tasks.get(key)
            # Others of its tasks are known from earlier graphs.
            if state is not None and state.state == "released":
                self._graph_of[key] = number

    def transition(self, key: Hashable, start: str, finish: str, *_: Any, **fields: Any) -> None:
        """Note a task that has run."""
        ran = [each for each in fields.get("startstops") or () if each["action"] == "compute"]
        if start != "processing" or finish not in ("memory", "erred") or not ran:
            return
        state = self.scheduler.tasks[key]
        reads = []
        for datum in state.dependencies:
            made_by = self._made_by.get(datum.key, -1)
            reads.append(ReadNote(datum.key, made_by, max(0, datum.nbytes)))
        self._made_by[key] = len(self.notes.tasks)
        self.notes.tasks.append(
            TaskNote(
                key, self._graph_of.get(key, -1), reads, state.priority or (),
                ran[-1]["start"], ran[-1]["stop"],
                _transfers_s(fields["startstops"]), time.time(),
                fields["worker"], fields["thread"], max(0, fields.get("nbytes") or 0),
                finish == "erred",
            )
        )  # fmt: skip
