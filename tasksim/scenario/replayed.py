"""Replayed runs: a recorded run in the place of a graph, with where it ran and what it took."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import InputError, option
from tasksim.run.record import Run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform
    from tasksim.run.measured import MeasuredDurations, Word

__all__ = ["Replayed", "no_run"]


@dataclass(frozen=True, eq=False)
class Replayed:
    """A recorded run that stands for its graph.

    Attributes
    ----------
    run : Run
    where : Path
        What it was read from; of a run in memory its label, for messages.
    library : Path or None
        Where the platform that it names is looked for first.
    """

    run: Run
    where: Path
    library: Path | None = None

    @classmethod
    def of(cls, graph: str | Run, library: Path | None) -> Replayed:
        """Return the run that *graph* is or names; :exc:`InputError` if its records are wrong."""
        from tasksim.formats.runs import load_run
        from tasksim.run.runchecks import check_records

        if isinstance(graph, Run):
            return cls(graph, Path(graph.graph_name), library)
        run = load_run(graph)
        check_records(run, Path(graph))
        return cls(run, Path(graph), library)

    @cached_property
    def graph(self) -> TaskGraph:
        """Graph of the recorded run."""
        from tasksim.formats.recorded import graph_of

        return graph_of(self.run, self.where)

    def platform(self, settings: Sequence[str] = (), *, alone: bool = False) -> Platform:
        """Return where it ran, with changes as ``--set`` has them; with *alone*, undisturbed."""
        from tasksim.formats.recorded import platform_of

        return platform_of(self.run, self.where, self.library, settings, alone=alone)

    def durations(self, what: Word) -> MeasuredDurations:
        """Return what its tasks took."""
        from tasksim.run.measured import MeasuredDurations

        return MeasuredDurations(self.run, self.graph, what, self._speeds)

    @cached_property
    def submitted_s(self) -> NDArray[np.float64]:
        """When each of its tasks was submitted."""
        times = np.zeros(len(self.graph))
        times[self.run.tasks.task] = self.run.tasks.submitted_s
        return times

    @property
    def _speeds(self) -> dict[str, float]:
        """Speeds of its workers, as far as its platform is still known."""
        try:
            platform = self.platform()
        except InputError:
            return {}
        return {name: platform.compute_speed(name) for name in platform.speeds}


def no_run(word: Word, graph: str) -> InputError:
    """Return the error for durations of a run that are asked of what is none."""
    return InputError(
        f"{option('durations')} {word}: graph {graph} is no recorded run; legal: the folder of "
        "one, or KERNEL=SECONDS,..."
    )
