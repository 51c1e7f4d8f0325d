"""Content of a study file, as values."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tasksim.base.documents import Location
    from tasksim.study.sweep.axes import Axes

__all__ = ["Limits", "Study", "StudyEntry"]


class StudyEntry(NamedTuple):
    """A graph, a platform or a scheduler, and its axes."""

    name: str | None
    """Name; None for identical workers instead of a platform."""
    axes: Axes
    location: Location = ()
    path: str | None = None
    """Path of the named file or folder, if it is beside the study file."""

    @property
    def found(self) -> str:
        """The path or name for a scenario."""
        return self.path or str(self.name)


class Limits(NamedTuple):
    """Limits of a cell's time and memory; None for no limit."""

    time_s: float | None = None
    memory_bytes: float | None = None


@dataclass(frozen=True, eq=False)
class Study:
    """The axes of a study, and the other content of its file.

    Attributes
    ----------
    name : str
        Name; studies of different names are different studies.
    text : str
        Text of the study file.
    path : Path
        Path of the study file.
    graphs, platforms, schedulers : tuple of StudyEntry
    settings : mapping
        Axes of all scenarios.
    seeds : sequence of int
    base : dict
        Parameters that all scenarios share.
    where : tuple of str
        Conditions that all cells meet.
    metrics : tuple of str
        Optional columns of the table.
    limits : Limits
        Limits per cell.
    """

    name: str
    text: str
    path: Path
    graphs: tuple[StudyEntry, ...]
    platforms: tuple[StudyEntry, ...]
    schedulers: tuple[StudyEntry, ...]
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
