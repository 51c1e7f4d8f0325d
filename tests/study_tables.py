"""Tables of studies made by hand."""

from __future__ import annotations

from itertools import product

import pandas as pd

from tasksim.study.report.table import StudyTable


def frame_of(makespans, graphs=None, seeds=None, **columns):
    """Return a table: *makespans* has a list per scheduler, a value per graph or per seed."""
    rows = []
    for scheduler, values in makespans.items():
        for number, value in enumerate(values):
            rows.append(
                {
                    "cell": f"{scheduler}-{number}",
                    "graph": graphs[number] if graphs else "lu tiles=4",
                    "platform": "box",
                    "scheduler": scheduler,
                    "seed": seeds[number] if seeds else 0,
                    "status": "done" if value is not None else "failed",
                    "error": None if value is not None else "SchedulerError: dropped a task",
                    "makespan_s": value,
                }
            )
    return pd.DataFrame(rows).assign(**columns)


def table_of(makespans, graphs=None, seeds=None, **columns):
    """Return the study table of :func:`frame_of`."""
    return StudyTable.of(frame_of(makespans, graphs, seeds, **columns))


def names(count):
    """Return so many graphs, of which nothing is a number."""
    return [f"graph{chr(97 + k)}" for k in range(count)]


def grid_of(function, schedulers=("eager",), seeds=(0,), **axes):
    """Return the table of a full grid: the makespan is function(scheduler, seed, *values)."""
    paths = [name.replace("__", ".") for name in axes]
    rows = [
        {
            "cell": f"c{number}",
            "graph": "lu",
            "platform": "box",
            "scheduler": scheduler,
            "seed": seed,
            **dict(zip(paths, values, strict=True)),
            "status": "done",
            "error": None,
            "makespan_s": function(scheduler, seed, *values),
        }
        for number, (scheduler, seed, *values) in enumerate(
            product(schedulers, seeds, *axes.values())
        )
    ]
    return StudyTable.of(pd.DataFrame(rows))
