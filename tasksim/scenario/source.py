"""The graph of a scenario: generated, read from a file, recorded with a run, or made in Python."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tasksim.base.errors import InputError
from tasksim.graph.apps.registry import names_generator, parse
from tasksim.graph.taskgraph import TaskGraph

if TYPE_CHECKING:
    from tasksim.formats.registry import Format, GraphInput
    from tasksim.run.record import Run
    from tasksim.scenario.replayed import Replayed
    from tasksim.scenario.setup import Setup

__all__ = ["Source"]


@dataclass(frozen=True, eq=False)
class Source:
    """Where the graph of a scenario comes from, decided once.

    Attributes
    ----------
    given : str, TaskGraph or Run
        The graph of the scenario, or its name.
    settings : tuple of str
        Settings of the generator.
    format : Format or None
        Format of a file, or of the folder of a run; None for a generator or an object.
    recorded : Replayed or None
        The recorded run that takes the place of a graph.
    """

    given: str | TaskGraph | Run
    settings: tuple[str, ...] = ()
    format: Format | None = None
    recorded: Replayed | None = None

    @classmethod
    def of(cls, scenario: Setup) -> Source:
        """Return the source of a scenario's graph; it reads a recorded run, but no graph.

        Raises
        ------
        InputError
            If the name is unknown, or the run is malformed.
        """
        given, settings = scenario.graph, scenario.settings
        if isinstance(given, TaskGraph) or (isinstance(given, str) and names_generator(given)):
            return cls(given, settings)
        found, recorded, is_run = None, None, True
        if isinstance(given, str):
            from tasksim.formats.graphs import file_format
            from tasksim.run.foldernames import is_run_folder

            found = file_format(given)
            is_run = is_run_folder(Path(given))
        # Formats of other packages may read both graphs and runs: those files are graphs here.
        if is_run:
            from tasksim.scenario.replayed import Replayed

            library = None if scenario.library is None else Path(scenario.library)
            recorded = Replayed.of(given, library)
        return cls(given, settings, found, recorded)

    @cached_property
    def graph(self) -> TaskGraph:
        """The task graph."""
        given, recorded = self.given, self.recorded
        if isinstance(given, TaskGraph):
            made = given
        elif recorded is not None:
            made = recorded.graph
        elif self.format is not None:
            return self.content.graph
        else:
            return parse(str(given), self.settings)
        if self.settings:
            raise InputError(f"graph {made.name}: only a generator takes settings")
        return made

    @cached_property
    def content(self) -> GraphInput:
        """Content of the file: the graph, and the platform and models that come with it."""
        from tasksim.formats.graphs import graph_in

        return graph_in(Path(str(self.given)), self.format, self.settings)

    @property
    def brings_platform(self) -> bool:
        """Whether it is a file of costs per processor, which has its own platform and models."""
        return self.format is not None and self.format.brings_platform

    def files(self) -> list[Path]:
        """Return the files of the graph; none of a generator or an object."""
        return [] if self.format is None else self.format.files_of(Path(str(self.given)))
