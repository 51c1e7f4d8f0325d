"""Critical paths of one small schedule: by time, and by communication."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import tasksim
from experiments.selective_execution.machine import MODELS_FILE

if TYPE_CHECKING:
    from experiments.frame import Work

__all__ = ["METRICS", "follow_paths"]

METRICS: Final = ("time", "words")
"""Costs whose longest paths are compared."""
WORKERS: Final = 3
"""Processors of the paper's schedule."""


def follow_paths(work: Work) -> dict[str, Any]:
    """Return a schedule on three processors, and its longest paths by time and by words."""
    tiles, size = work.settings["path_tiles"], 256
    graph = tasksim.generate("cholesky", tiles=tiles, tile_size=size)
    run = tasksim.simulate(
        graph,
        workers=WORKERS,
        models=str(work.folder.parent / "machine" / MODELS_FILE),
        scheduler="eager",
    )
    kernels = [graph.kernel_of(task) for task in range(len(graph))]
    costs = {by: tasksim.longest_path(run, graph, by) for by in METRICS}
    slack = tasksim.slack_s(run, graph)
    return {
        "makespan_s": run.makespan_s,
        "tasks": [
            {
                "kernel": kernel,
                "worker": int(run.tasks.worker[task]),
                "start_s": float(run.tasks.start_s[task]),
                "end_s": float(run.tasks.end_s[task]),
                "slack_s": float(slack[task]),
            }
            for task, kernel in enumerate(kernels)
        ],
        "paths": {by: {"cost": path.cost, "tasks": path.tasks} for by, path in costs.items()},
    }
