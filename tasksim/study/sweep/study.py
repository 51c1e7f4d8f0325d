"""Study: what a study file says, as values."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tasksim.platform.yaml_document import Location
    from tasksim.study.sweep.axes import Axes

__all__ = ["Entry", "Limits", "Study"]


class Entry(NamedTuple):
    """A graph, a platform or a scheduler, and how it is varied."""

    name: str | None
    """None: identical workers in the place of a platform."""
    axes: Axes
    location: Location = ()
    path: str | None = None
    """Where the file or folder is that the name means, if it is beside the study file."""

    @property
    def found(self) -> str:
        """What a scenario takes for it."""
        return self.path or str(self.name)


class Limits(NamedTuple):
    """What a cell may take; None: as much as it wants."""

    time_s: float | None = None
    memory_bytes: float | None = None


@dataclass(frozen=True, eq=False)
class Study:
    """A study: its grid, and what else its file says.

    Attributes
    ----------
    name : str
        What it is called: two studies of different names are different ones.
    text : str
        Its file's.
    path : Path
        Its file.
    graphs, platforms, schedulers : tuple of Entry
    settings : mapping
        Axes of all of them.
    seeds : sequence of int
    base : dict
        Parameters of all scenarios.
    where : tuple of str
        Conditions that all cells meet.
    metrics : tuple of str
        Columns of the table beside those that all tables have.
    limits : Limits
    """

    name: str
    text: str
    path: Path
    graphs: tuple[Entry, ...]
    platforms: tuple[Entry, ...]
    schedulers: tuple[Entry, ...]
    settings: Axes = field(default_factory=dict)
    seeds: Sequence[int] = (0,)
    base: dict[str, Any] = field(default_factory=dict)
    where: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)

    @property
    def digest(self) -> str:
        """The SHA-256 of the file's text."""
        return hashlib.sha256(self.text.encode()).hexdigest()
