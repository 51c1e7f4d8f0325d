"""Makespans, lower bounds, speed-up, efficiency and work rate over a numeric axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tasksim.study.report.axes import ABSENT

if TYPE_CHECKING:
    import pandas as pd

    from tasksim.study.report.axes import StudyAxis
    from tasksim.study.report.table import StudyTable

__all__ = ["facets_of", "makespan_curve", "scalability", "speedup"]


def facets_of(table: StudyTable, axis: StudyAxis) -> list[str]:
    """Return the axes that are fixed along a curve over *axis*: all but scheduler and seed."""
    return [other.name for other in table.configuration if other.name != axis.name]


def makespan_curve(table: StudyTable, axis: StudyAxis) -> pd.DataFrame:
    """Return makespans over a numeric axis, with all other axes fixed.

    Parameters
    ----------
    table : StudyTable
    axis : StudyAxis
        A numeric axis.

    Returns
    -------
    pandas.DataFrame
        The fixed axes, ``scheduler``, the axis (as given), ``x`` (as a number), ``makespan_s``
        (geometric mean over seeds), ``low_s`` and ``high_s`` (the extremes), ``seeds`` (their
        number), ``bound_s`` (the smallest lower bound of the runs under all schedulers),
        ``tasks``.

    See Also
    --------
    speedup, scalability : Quantities derived from the curve.
    """
    rows = table.used
    rows = rows[rows[axis.name] != ABSENT]
    fixed = facets_of(table, axis)
    number = dict(zip(axis.values, axis.numbers or (), strict=True))
    rows = rows.assign(x=rows[axis.name].map(number).astype(float))
    for name in ("lower_bound_s", "tasks"):
        if name not in rows:
            rows[name] = np.nan
    rows["log_s"] = np.log(rows["makespan_s"])
    by = rows.groupby([*fixed, "scheduler", axis.name, "x"], sort=False, observed=True)
    found = by.agg(
        makespan_s=("log_s", "mean"),
        low_s=("makespan_s", "min"),
        high_s=("makespan_s", "max"),
        seeds=("seed", "size"),
        tasks=("tasks", "min"),
        bound_s=("lower_bound_s", "min"),
    ).reset_index()
    found["makespan_s"] = np.exp(found["makespan_s"])
    found["bound_s"] = found.groupby([*fixed, "x"], sort=False)["bound_s"].transform("min")
    orders = {axis.name: {v: n for n, v in enumerate(axis.values)} for axis in table.axes}

    def place(column: pd.Series) -> pd.Series:
        order = orders.get(str(column.name))
        return column if order is None else column.map(order)

    return found.sort_values([*_lines(table, axis), "x"], key=place, kind="stable")


def speedup(curve: pd.DataFrame, table: StudyTable, axis: StudyAxis) -> pd.DataFrame:
    """Return speed-up and efficiency along *curve*, over an axis of counts.

    Parameters
    ----------
    curve : pandas.DataFrame
        Result of :func:`makespan_curve`.
    table : StudyTable
    axis : StudyAxis
        The axis of the curve.

    Returns
    -------
    pandas.DataFrame
        The curve with ``from_x``, the smallest count of the line; ``speedup``, the ratio of the
        makespan at that count to the makespan; ``efficiency``, the speed-up divided by the ratio of
        the counts.

    See Also
    --------
    makespan_curve : Makespans over an axis.
    """
    lines = curve.groupby(_lines(table, axis), sort=False)
    first_s, first = lines["makespan_s"].transform("first"), lines["x"].transform("first")
    gain = first_s / curve["makespan_s"]
    return curve.assign(speedup=gain, efficiency=gain / (curve["x"] / first), from_x=first)


def scalability(curve: pd.DataFrame) -> pd.DataFrame:
    """Return the distance from the lower bound along *curve*, over a size of the graph.

    Parameters
    ----------
    curve : pandas.DataFrame
        Result of :func:`makespan_curve`.

    Returns
    -------
    pandas.DataFrame
        The curve with ``bound_ratio``, makespan over lower bound, and ``tasks_per_s``.

    See Also
    --------
    makespan_curve : Makespans over an axis.
    """
    return curve.assign(
        bound_ratio=curve["makespan_s"] / curve["bound_s"].where(curve["bound_s"] > 0),
        tasks_per_s=curve["tasks"] / curve["makespan_s"],
    )


def _lines(table: StudyTable, axis: StudyAxis) -> list[str]:
    return [*facets_of(table, axis), "scheduler"]
