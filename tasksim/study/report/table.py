"""Table of a study as reports read it: rows checked, axes found, what is not usable told."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from tasksim.base.errors import InputError, nearest, readable
from tasksim.study.report.axes import ABSENT, Axis, ordered
from tasksim.study.sweep.metrics import METRICS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["NEEDED", "RESULTS", "StudyTable"]

NEEDED: Final = ("cell", "graph", "platform", "scheduler", "seed", "status", "makespan_s")
"""Columns without which there is nothing to report."""
_PATHS: Final = ("graph.", "platform.", "engine.")
"""How paths of settings begin. Options of schedulers are part of what these are called."""
_WORKERS: Final = re.compile(r"\d+ workers?")
RESULTS: Final = frozenset(
    (
        "cell", "status", "error", "makespan_s", "lower_bound_s", "critical_path_s", "tasks",
        "busy_share", "moved_bytes", "engine", "seconds", "draw_seed", *METRICS,
    )
)  # fmt: skip
"""Columns of what came out: those of all studies, and those that some ask for."""
NUMBERS: Final = (
    "makespan_s", "lower_bound_s", "critical_path_s", "tasks", "seconds", *METRICS,
)  # fmt: skip
DONE: Final = "done"
SHORTEST_S: Final = 1e-30
LONGEST_S: Final = 1e30
"""Makespans that are none: beyond, ratios and their squares are no numbers any more."""
_FIRST: Final = ("graph", "platform", "scheduler")
_SETTING: Final = re.compile(r"(\w+)=(\S+)")


@dataclass(frozen=True, eq=False)
class StudyTable:
    """The rows of a study, in an order that does not depend on how they were computed.

    Made by :meth:`of`.

    Parameters
    ----------
    frame : pandas.DataFrame
        All rows: what was asked, what came out; ``used`` says whether the row has a makespan.
    axes : tuple of Axis
        Columns with several values: graph, platform, scheduler, settings, seed.
    planned : int
        Cells that the study has, computed or not.
    name : str, default "study"
    folder : str, default ""
        What ``tasksim study show`` is called with; nothing: the table is a file by itself.

    Examples
    --------
    >>> rows = [("a", "eager", 2.0), ("b", "lws", 1.0)]
    >>> frame = pd.DataFrame(rows, columns=["cell", "scheduler", "makespan_s"])
    >>> frame = frame.assign(graph="cholesky tiles=8", platform="p", seed=0, status="done")
    >>> table = StudyTable.of(frame)
    >>> [axis.name for axis in table.axes], len(table.used)
    (['scheduler'], 2)
    """

    frame: pd.DataFrame
    axes: tuple[Axis, ...]
    planned: int
    name: str = "study"
    folder: str = ""

    @classmethod
    def of(
        cls,
        frame: pd.DataFrame,
        *,
        planned: int | None = None,
        name: str = "study",
        folder: str = "",
    ) -> StudyTable:
        """Return the table of *frame*.

        Parameters
        ----------
        frame : pandas.DataFrame
            A row per cell, with the columns :data:`NEEDED`, maybe :data:`RESULTS`, and settings:
            columns named by a path, such as ``graph.tiles``, and others to the left of ``status``.
            Whatever stands to the right of it says what came out.
        planned : int, optional
            Cells of the whole study; by default as many as there are rows.
        name, folder : str
            As those of the class.

        Raises
        ------
        InputError
            If columns lack, there are no rows, or two rows answer the same question.
        """
        _check_columns(frame)
        asked = _asked(frame)
        rows = _split_graphs(_plain_values(frame, asked), asked)
        axes = [Axis.of(column, rows[column]) for column in _in_order(asked)]
        rows = _sorted_rows(rows, axes)
        _refuse_doubles(rows, asked)
        varied = _without_aliases(rows, [axis for axis in axes if len(axis) > 1])
        return cls(rows, varied, max(planned or 0, len(rows)), name, folder)

    @cached_property
    def used(self) -> pd.DataFrame:
        """The rows with a makespan."""
        return self.frame[self.frame["used"]].reset_index(drop=True)

    @cached_property
    def failed(self) -> pd.DataFrame:
        """The rows that failed, ran out of time or of memory."""
        return self.frame[self.frame["status"] != DONE].reset_index(drop=True)

    @cached_property
    def unusable(self) -> pd.DataFrame:
        """The rows that are done, and have no makespan that could be compared."""
        rows = (self.frame["status"] == DONE) & ~self.frame["used"]
        return self.frame[rows].reset_index(drop=True)

    @property
    def missing(self) -> int:
        """Cells that nobody has computed yet."""
        return self.planned - len(self.frame)

    @property
    def schedulers(self) -> tuple[str, ...]:
        """All schedulers, in order."""
        return tuple(ordered(self.frame["scheduler"].unique().tolist()))

    @property
    def configuration(self) -> tuple[Axis, ...]:
        """The axes that say which problem is solved where: all but scheduler and seed."""
        return tuple(axis for axis in self.axes if axis.name not in ("scheduler", "seed"))

    def axis(self, name: str) -> Axis:
        """Return the axis called *name*, or by the last part of its path.

        Raises
        ------
        InputError
            If no axis, or several, are called so.
        """
        called = [(axis, (axis.name, *axis.aliases)) for axis in self.axes]
        found = [axis for axis, names in called if name in names]
        if not found:
            found = [a for a, names in called if any(n.endswith(f".{name}") for n in names)]
        if len(found) == 1:
            return found[0]
        known = [axis.name for axis in self.axes]
        what = "several axes are" if found else "no axis of the study is"
        raise InputError(
            f"{what} called '{name}'{nearest(name, known)} (axes: {', '.join(known) or 'none'})"
        )

    def code(self, rows: pd.DataFrame, axes: Sequence[Axis]) -> np.ndarray:
        """Return a number per row, the same for rows that have the same values on *axes*."""
        if not axes:
            return np.zeros(len(rows), dtype=np.int64)
        # Without the sort the numbers would still be in the order of rows, which are sorted.
        groups = rows.groupby([axis.name for axis in axes], sort=False, dropna=False)
        return groups.ngroup().to_numpy(dtype=np.int64)


def _check_columns(frame: pd.DataFrame) -> None:
    """Raise :exc:`InputError` unless all columns are there, once, with rows below them."""
    names = [str(column) for column in frame.columns]
    lacking = [name for name in NEEDED if name not in names]
    if lacking:
        hints = "".join(nearest(name, names) for name in lacking[:1])
        raise InputError(
            f"the table lacks the column{'s' if len(lacking) > 1 else ''} {', '.join(lacking)}"
            f"{hints} (it has {', '.join(names) or 'none'}; needed are {', '.join(NEEDED)})"
        )
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"the table has several columns called {', '.join(twice)}")
    if not len(frame):
        raise InputError("the table has no rows: no cell of the study is computed yet")


def _asked(frame: pd.DataFrame) -> list[str]:
    """Return the columns that say what was asked."""
    names = [str(column) for column in frame.columns]
    left = set(names[: names.index("status")])
    return [
        name
        for name in names
        if name in (*_FIRST, "seed")
        or name.startswith(_PATHS)
        or (name in left - RESULTS and not name.startswith("scheduler."))
    ]


def _plain_values(frame: pd.DataFrame, asked: Sequence[str]) -> pd.DataFrame:
    """Return a copy with numbers as floats, texts as texts, and nothing missing."""
    rows = frame.rename(columns=str).reset_index(drop=True).copy()
    for column in rows.columns:
        if column in NUMBERS:
            rows[column] = rows[column].map(_number).astype(float)
        elif column in asked:
            rows[column] = rows[column].map(_setting).astype(object)
        elif column in RESULTS:
            rows[column] = rows[column].map(_text_or_nothing).astype(object)
    if "workers" in asked:
        # How many is in a column of its own.
        rows["platform"] = rows["platform"].map(_without_count)
    if "error" not in rows:
        rows["error"] = ""
    makespans = rows["makespan_s"].to_numpy()
    # Of a makespan of 0 there are no ratios.
    usable = (makespans > SHORTEST_S) & (makespans < LONGEST_S)
    rows["used"] = (rows["status"] == DONE) & usable
    return rows


def _number(value: Any) -> float:
    """Return a value of a column of numbers, NaN for whatever is none."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _text_or_nothing(value: Any) -> str:
    return "" if pd.isna(value) else readable(str(value))


def _setting(value: Any) -> Any:
    """Return a value that compares with others: whole floats of a CSV are whole numbers."""
    if pd.isna(value):
        return ABSENT
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    # What a file has goes to terminals and pages.
    return value if isinstance(value, int | float) else readable(str(value))


def _without_count(platform: Any) -> str:
    return "workers" if _WORKERS.fullmatch(str(platform)) else str(platform)


def _split_graphs(rows: pd.DataFrame, asked: list[str]) -> pd.DataFrame:
    """Return *rows* with what varies in texts of graphs as columns ``graph.KEY``, also *asked*.

    ``cholesky tiles=8`` and ``cholesky tiles=12`` are one graph with a setting of two values.
    """
    texts = list(dict.fromkeys(map(str, rows["graph"])))
    parts = {text: dict(_SETTING.findall(text)) for text in texts}
    keys = list(dict.fromkeys(key for text in ordered(texts) for key in parts[text]))
    has = {key: [parts[text].get(key, ABSENT) for text in texts] for key in keys}
    moved = [key for key in keys if f"graph.{key}" in rows or len(set(has[key])) > 1]
    if not moved:
        return rows
    rows = rows.copy()
    given = rows["graph"].map(str)
    for key in moved:
        if f"graph.{key}" not in rows:
            asked.append(f"graph.{key}")
            rows[f"graph.{key}"] = given.map(lambda text, key=key: parts[text].get(key, ABSENT))
    pattern = re.compile(rf"\s+(?:{'|'.join(map(re.escape, moved))})=\S+")
    rows["graph"] = given.map(lambda text: pattern.sub("", text))
    return rows


def _in_order(columns: Iterable[str]) -> list[str]:
    """Return names of columns: graph, platform, scheduler, then settings, then the seed."""
    settings = ordered(name for name in columns if name not in (*_FIRST, "seed"))
    return [*_FIRST, *settings, "seed"]


def _without_aliases(rows: pd.DataFrame, axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """Return *axes*, settings that always vary together as one, a number where there is one."""
    kept: list[Axis] = []
    for axis in sorted(axes, key=lambda axis: not axis.is_numeric):
        first = next((a for a in kept if _are_aliases(rows, a, axis)), None)
        if first is None:
            kept.append(axis)
        else:
            place = kept.index(first)
            kept[place] = replace(first, aliases=(*first.aliases, axis.name))
    order = [axis.name for axis in axes]
    return tuple(sorted(kept, key=lambda axis: order.index(axis.name)))


def _are_aliases(rows: pd.DataFrame, first: Axis, second: Axis) -> bool:
    """Return whether two settings say the same, each value of one for one of the other."""
    if len(first) != len(second) or {first.name, second.name} & {*_FIRST, "seed"}:
        return False
    return len(rows[[first.name, second.name]].drop_duplicates()) == len(first)


def _sorted_rows(rows: pd.DataFrame, axes: Sequence[Axis]) -> pd.DataFrame:
    keys = [rows["cell"].map(str).to_numpy()]
    for axis in reversed(axes):
        place = {value: number for number, value in enumerate(axis.values)}
        keys.append(rows[axis.name].map(place).to_numpy())
    return rows.iloc[np.lexsort(keys)].reset_index(drop=True)


def _refuse_doubles(rows: pd.DataFrame, asked: Sequence[str]) -> None:
    """Raise :exc:`InputError` if two rows answer the same question."""
    double = rows.duplicated(list(asked), keep=False).to_numpy()
    if double.any():
        first, second = np.flatnonzero(double)[:2]
        what = ", ".join(f"{name} {rows[name][first]}" for name in _FIRST)
        raise InputError(
            f"cells {rows['cell'][first]} and {rows['cell'][second]} answer the same question "
            f"({what}, seed {rows['seed'][first]}): the table is of two studies, or lacks a "
            "setting that tells them apart, a column such as graph.tiles"
        )
