"""Performance table of a study, for the choice along one of its axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError, nearest, option
from tasksim.base.extras import needed_for
from tasksim.tuning.over import SIZE, TILE_SIZE, TILES
from tasksim.tuning.table import PerformanceTable

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["chosen_column", "performance_of_study"]

NO_AXES: Final = ("cell", "seed")
"""Columns before the results that are not axes."""


def chosen_column(table: pd.DataFrame, choose: str) -> str:
    """Return the column named *choose*, by its whole name or the last part.

    Raises
    ------
    InputError
        If there is none, or the study has only one value of it.
    """
    names = _axes(table)
    found = [name for name in names if choose in (name, name.removeprefix("graph."))] or [
        name for name in names if name.rpartition(".")[2] == choose
    ]
    if len(found) != 1:
        known = ", ".join(names)
        raise InputError(
            f"{option('choose')}: no column '{choose}'{nearest(choose, names)} (axes: {known})"
        )
    if table[found[0]].nunique() < 2:
        raise InputError(
            f"{option('choose')}: the study has one value of {found[0]}: nothing to choose"
        )
    return found[0]


def performance_of_study(table: pd.DataFrame, choose: str) -> tuple[PerformanceTable, int]:
    """Return a performance table of the cells, and the number of examples that lack a choice.

    An example is a combination of the other axes; the mean over seeds counts. A failed choice has
    performance 0; examples without all choices, or with failures only, are left out.

    Parameters
    ----------
    table : DataFrame
        Table of the study.
    choose : str
        The column to choose, by :func:`chosen_column`.

    Raises
    ------
    InputError
        If no example has all choices.
    """
    with needed_for("the table of a study"):
        import pandas as pd

    cells = _with_size(table.copy(), choose)  # which changes names of graphs
    keys = [name for name in _axes(cells) if name != choose and cells[name].nunique(dropna=False)]
    # The graph's generator and not its text, which has the settings; so with a scheduler's options.
    cells["graph"] = [text.partition(" ")[0] for text in cells["graph"]]
    if choose.startswith("scheduler."):
        cells["scheduler"] = [text.partition(":")[0] for text in cells["scheduler"]]
    elif choose == "scheduler":  # the options are part of the name
        keys = [key for key in keys if not key.startswith("scheduler.")]
    choices = cells[choose].dropna().unique().tolist()
    choices.sort(key=lambda v: (True, v) if isinstance(v, str) else (False, float(v)))
    done = cells[choose].notna()
    rates = np.where(cells["status"] == "done", 1 / cells["makespan_s"].astype(float), 0.0)
    frame = cells[done].assign(rate=rates[done]) if keys else cells[done].assign(rate=rates, all=0)
    groups = frame.groupby(keys or ["all"], dropna=False, sort=False)
    wide = groups.apply(lambda g: g.groupby(choose)["rate"].apply(_mean_rate)).reset_index()
    if (
        choose in wide and "rate" in wide
    ):  # pandas returns the long form if examples differ in their choices
        wide = wide.pivot_table(
            index=keys or ["all"], columns=choose, values="rate", dropna=False, sort=False
        ).reset_index()
    whole = wide[choices].notna().all(axis=1) & (wide[choices].max(axis=1) > 0)
    kept = pd.DataFrame(wide[whole])
    if kept.empty:
        raise InputError(f"{option('choose')}: no example of the study has all choices of {choose}")
    performance = {_text(choice): kept[choice].astype(float).tolist() for choice in choices}
    return PerformanceTable.of(_features(kept, keys), performance), len(wide) - len(kept)


def _axes(table: pd.DataFrame) -> list[str]:
    names = list(table.columns)
    return [name for name in names[: names.index("status")] if name not in NO_AXES]


def _with_size(table: pd.DataFrame, choose: str) -> pd.DataFrame:
    """Return the table with the size of matrices, if that of their tiles is chosen."""
    tiles, tile_size = f"graph.{TILES}", f"graph.{TILE_SIZE}"
    if choose != tile_size or tiles not in table:
        return table
    place = list(table.columns).index(tiles)
    made = table.drop(columns=tiles)
    made.insert(place, f"graph.{SIZE}", table[tiles] * table[tile_size])
    return made


def _mean_rate(rates: pd.Series[float]) -> float:
    """Return the performance over seeds: the inverse of the mean time, or 0 after a failure."""
    values = rates.to_numpy(float)
    return 0.0 if (values == 0).any() else float(1 / (1 / values).mean())


def _features(kept: pd.DataFrame, keys: list[str]) -> dict[str, list[float]]:
    """Return numeric columns; texts and partial columns become one column per value."""
    found: dict[str, list[float]] = {}
    for name in keys:
        values = kept[name].tolist()
        if all(isinstance(value, int | float) and np.isfinite(value) for value in values):
            if len(set(values)) > 1:
                found[name] = [float(value) for value in values]
            continue
        texts = [_text(value) for value in values]
        if len(set(texts)) > 1:
            for text in dict.fromkeys(texts):
                found[f"{name}={text}"] = [float(other == text) for other in texts]
    return found or {"examples": [1.0] * len(kept)}


def _text(value: Any) -> str:
    """Return the name of a value: 256 for 256.0."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    import pandas as pd

    return "none" if pd.isna(value) else str(value)
