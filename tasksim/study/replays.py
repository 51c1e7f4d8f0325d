"""Replays of native runs with their own durations: what is left, the simulator gets wrong."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from tasksim.engine.simulate import simulate
from tasksim.formats.recorded import platform_of_workers
from tasksim.run.measured import MeasuredDurations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run

__all__ = ["replay_error", "replay_line"]


def replay_error(run: Run, graph: TaskGraph) -> float:
    """Return the relative error of the makespan of *run*, of *graph*, when it is replayed.

    Each task takes what it took, the runtime what it took in the mean, under the same scheduler:
    neither kernel models nor the machine's moods are in it.

    Examples
    --------
    >>> import tasksim
    >>> graph = tasksim.generate("chain", length=3, duration=1.0)
    >>> replay_error(tasksim.simulate(graph, workers=1), graph)
    0.0
    """
    platform = platform_of_workers(run, graph)
    measured = MeasuredDurations(run, graph)
    again = simulate(graph, platform, measured, run.scheduler, seed=run.seed or 0)
    return again.makespan_s / run.makespan_s - 1 if run.makespan_s else 0.0


def replay_line(errors: Sequence[float]) -> str:
    """Return a line about the errors of replays."""
    sizes = [abs(error) for error in errors]
    return (
        f"|error| of the native runs replayed with their own durations: median"
        f" {100 * median(sizes):.2f} %, worst {100 * max(sizes):.2f} %"
    )
