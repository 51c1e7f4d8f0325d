"""Durations without the slowdown by shared cores, for runs whose workers shared cores.

Ranks of one machine may have more workers than it has cores. A task then takes longer the more
tasks run beside it. This is no property of the task: with another number of ranks, or another
graph, it has other tasks beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tasksim.base.arrays import Floats
    from tasksim.run.record import Run

__all__ = ["SHARED_CORES", "own_core_s", "shared_cores_entry"]

SHARED_CORES = "shared_cores"
"""Key in a run's configuration."""


def shared_cores_entry(cores: int | None) -> dict[str, Any]:
    """Return the entry of a run's configuration for the *cores* that all its workers shared."""
    return {} if cores is None else {SHARED_CORES: cores}


def own_core_s(run: Run) -> Floats:
    """Return the duration that each task of *run* would have had on a core of its own.

    While more tasks run than there are cores, each proceeds at the rate of cores per task. If the
    workers shared no cores, these are the measured durations.

    See Also
    --------
    tasksim.network.cluster.Cluster : Replays tasks on shared cores.

    Examples
    --------
    >>> import tasksim
    >>> graph = tasksim.generate("fork-join", width=2, duration=1.0)
    >>> run = tasksim.simulate(graph, workers=2)
    >>> run.config["shared_cores"] = 1      # as if both workers had run on one
    >>> own_core_s(run).tolist()
    [1.0, 0.5, 0.5, 1.0]
    """
    tasks, cores = run.tasks, run.config.get(SHARED_CORES)
    if not isinstance(cores, int):
        return tasks.duration_s
    times_s = np.unique(np.concatenate([tasks.start_s, tasks.end_s]))
    begun = np.searchsorted(np.sort(tasks.start_s), times_s, side="right")
    ended = np.searchsorted(np.sort(tasks.end_s), times_s, side="right")
    rate = np.minimum(1.0, cores / np.maximum(begun - ended, 1))
    done_s = np.concatenate([[0.0], np.cumsum(rate[:-1] * np.diff(times_s))])
    place = np.searchsorted(times_s, [tasks.start_s, tasks.end_s])
    alone: Floats = done_s[place[1]] - done_s[place[0]]
    return alone
