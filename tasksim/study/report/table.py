"""Table of a study for reports, with checked rows, axes, and marks on unusable rows."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from tasksim.base.errors import InputError, nearest, readable
from tasksim.study.report.axes import ABSENT, StudyAxis, ordered
from tasksim.study.sweep.columns import COMPUTED
from tasksim.study.sweep.metrics import METRIC_NAMES

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["REQUIRED_COLUMNS", "RESULT_COLUMNS", "StudyTable"]

REQUIRED_COLUMNS: Final = ("cell", "graph", "platform", "scheduler", "seed", "status", "makespan_s")
"""Columns that a report needs."""
_PATH_PREFIXES: Final = ("graph.", "platform.", "network.", "engine.")
"""Prefixes of the paths of settings. Options of schedulers are no settings: they are part of the
scheduler's name."""
_WORKERS: Final = re.compile(r"\d+ workers?")
"""Pattern of a platform that is a number of workers."""
RESULT_COLUMNS: Final = frozenset(
    (
        "cell", "status", "error", "makespan_s", "lower_bound_s", "best_known_s", "critical_path_s",
        "tasks", "busy_share", "moved_bytes", "engine", "seconds", "draw_seed", *METRIC_NAMES,
    )
)  # fmt: skip
"""Columns of results: those of all studies, and the optional metrics."""
NUMBER_COLUMNS: Final = (
    "makespan_s", "lower_bound_s", "best_known_s", "critical_path_s", "tasks", "seconds",
    *METRIC_NAMES,
)  # fmt: skip
"""Columns of results that hold numbers."""
MIN_MAKESPAN_S: Final = 1e-30
MAX_MAKESPAN_S: Final = 1e30
"""Limits of usable makespans, in seconds: beyond them, ratios and their squares overflow."""
_NAME_COLUMNS: Final = ("graph", "platform", "scheduler")
"""Columns of labels that every study has, with names."""
_SETTING: Final = re.compile(r"(\w+)=(\S+)")
"""Pattern of a setting in the text of a graph."""


@dataclass(frozen=True, eq=False)
class StudyTable:
    """The rows of a study, in an order that does not depend on how they were computed.

    The class method :meth:`of` makes it.

    Parameters
    ----------
    frame : pandas.DataFrame
        All rows, with labels and results; ``used`` tells whether the row has a usable makespan.
    axes : tuple of StudyAxis
        Columns with several values: graph, platform, scheduler, settings, seed.
    planned : int
        Number of cells of the study, computed or not.
    name : str, default "study"
    folder : str, default ""
        Folder of the study, for ``tasksim study show``; empty if the table is a single file.
    trust : bool, default False
        Whether its cells may be simulated again if they name ``MODULE:NAME``, which is imported.

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
    axes: tuple[StudyAxis, ...]
    planned: int
    name: str = "study"
    folder: str = ""
    trust: bool = False

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
            One row per cell, with the columns :data:`REQUIRED_COLUMNS`, optionally
            :data:`RESULT_COLUMNS`, and settings. Settings are columns named by a path, such as
            ``graph.tiles``, and all other columns to the left of ``status``; the columns to the
            right of it are results.
        planned : int, optional
            Number of cells of the whole study; by default the number of rows.
        name, folder : str
            Attributes of the table.

        Raises
        ------
        InputError
            If columns are missing, if there are no rows, or if two rows have the same labels.
        """
        _check_columns(frame)
        labels = _label_columns(frame)
        rows = _split_graphs(_plain_values(frame, labels), labels)
        settings = ordered(name for name in labels if name not in (*_NAME_COLUMNS, "seed"))
        axes = [StudyAxis.of(name, rows[name]) for name in (*_NAME_COLUMNS, *settings, "seed")]
        rows = _sorted_rows(rows, axes)
        _refuse_repeated(rows, labels)
        varied = _without_aliases(rows, [axis for axis in axes if len(axis) > 1])
        return cls(rows, varied, max(planned or 0, len(rows)), name, folder)

    @cached_property
    def used(self) -> pd.DataFrame:
        """The rows with a makespan."""
        return self.frame[self.frame["used"]].reset_index(drop=True)

    @cached_property
    def failed(self) -> pd.DataFrame:
        """The rows of cells that failed, or ran out of time or memory."""
        return self.frame[self.frame["status"] != COMPUTED].reset_index(drop=True)

    @cached_property
    def unusable(self) -> pd.DataFrame:
        """The rows of cells that are done but have no usable makespan."""
        rows = (self.frame["status"] == COMPUTED) & ~self.frame["used"]
        return self.frame[rows].reset_index(drop=True)

    @property
    def missing(self) -> int:
        """Number of cells that are not computed yet."""
        return self.planned - len(self.frame)

    @property
    def schedulers(self) -> tuple[str, ...]:
        """All schedulers, in order."""
        return tuple(ordered(self.frame["scheduler"].unique().tolist()))

    @property
    def configuration(self) -> tuple[StudyAxis, ...]:
        """The axes of the configuration: all except scheduler and seed."""
        return tuple(axis for axis in self.axes if axis.name not in ("scheduler", "seed"))

    def axis(self, name: str) -> StudyAxis:
        """Return the axis called *name*, which may be the last part of its path.

        Raises
        ------
        InputError
            If no axis, or several axes, have this name.
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

    def code(self, rows: pd.DataFrame, axes: Sequence[StudyAxis]) -> np.ndarray:
        """Return a number per row, which rows with the same values on *axes* share."""
        if not axes:
            return np.zeros(len(rows), dtype=np.int64)
        # No sorting: rows are sorted, so the numbers follow their order.
        groups = rows.groupby([axis.name for axis in axes], sort=False, dropna=False)
        return groups.ngroup().to_numpy(dtype=np.int64)


def _check_columns(frame: pd.DataFrame) -> None:
    """Raise :exc:`InputError` if columns are missing or repeated, or if there are no rows."""
    names = [str(column) for column in frame.columns]
    lacking = [name for name in REQUIRED_COLUMNS if name not in names]
    if lacking:
        hints = "".join(nearest(name, names) for name in lacking[:1])
        raise InputError(
            f"the table lacks the column{'s' if len(lacking) > 1 else ''} {', '.join(lacking)}"
            f"{hints} (it has {', '.join(names) or 'none'}; it needs {', '.join(REQUIRED_COLUMNS)})"
        )
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"the table has several columns called {', '.join(twice)}")
    if not len(frame):
        raise InputError("the table has no rows: no cell of the study is computed yet")


def _label_columns(frame: pd.DataFrame) -> list[str]:
    """Return the columns of labels: names, settings and the seed."""
    names = [str(column) for column in frame.columns]
    left = set(names[: names.index("status")])
    return [
        name
        for name in names
        if name in (*_NAME_COLUMNS, "seed")
        or name.startswith(_PATH_PREFIXES)
        or (name in left - RESULT_COLUMNS and not name.startswith("scheduler."))
    ]


def _plain_values(frame: pd.DataFrame, labels: Sequence[str]) -> pd.DataFrame:
    """Return a copy with numbers as floats, texts as texts, and empty texts for missing ones."""
    rows = frame.rename(columns=str).reset_index(drop=True).copy()
    for column in rows.columns:
        if column in NUMBER_COLUMNS:
            rows[column] = rows[column].map(_number).astype(float)
        elif column in labels:
            rows[column] = rows[column].map(_setting).astype(object)
        elif column in RESULT_COLUMNS:
            texts = ["" if pd.isna(value) else readable(str(value)) for value in rows[column]]
            rows[column] = pd.Series(texts, dtype=object)
    if "workers" in labels:
        # The number of workers has a column of its own.
        rows["platform"] = [
            "workers" if _WORKERS.fullmatch(str(platform)) else str(platform)
            for platform in rows["platform"]
        ]
    if "error" not in rows:
        rows["error"] = ""
    makespans = rows["makespan_s"].to_numpy()
    # A makespan of 0 has no ratios.
    usable = (makespans > MIN_MAKESPAN_S) & (makespans < MAX_MAKESPAN_S)
    rows["used"] = (rows["status"] == COMPUTED) & usable
    return rows


def _number(value: Any) -> float:
    """Return *value* as a number; NaN if it is not one."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _setting(value: Any) -> Any:
    """Return *value* in a form that can be compared: whole floats of a CSV become integers."""
    if pd.isna(value):
        return ABSENT
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    # readable: texts of a file will be shown on terminals and pages.
    return value if isinstance(value, int | float) else readable(str(value))


def _split_graphs(rows: pd.DataFrame, labels: list[str]) -> pd.DataFrame:
    """Move the varying settings in the texts of graphs to columns ``graph.KEY``.

    ``cholesky tiles=8`` and ``cholesky tiles=12`` become one graph with a setting of two values.
    The new columns are also added to *labels*.
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
            labels.append(f"graph.{key}")
            rows[f"graph.{key}"] = given.map(lambda text, key=key: parts[text].get(key, ABSENT))
    pattern = re.compile(rf"\s+(?:{'|'.join(map(re.escape, moved))})=\S+")
    rows["graph"] = given.map(lambda text: pattern.sub("", text))
    return rows


def _without_aliases(rows: pd.DataFrame, axes: Sequence[StudyAxis]) -> tuple[StudyAxis, ...]:
    """Return *axes* with settings that always vary together merged, into a numeric one if any."""
    kept: list[StudyAxis] = []
    for axis in sorted(axes, key=lambda axis: not axis.is_numeric):
        first = next((a for a in kept if _are_aliases(rows, a, axis)), None)
        if first is None:
            kept.append(axis)
        else:
            place = kept.index(first)
            kept[place] = replace(first, aliases=(*first.aliases, axis.name))
    order = [axis.name for axis in axes]
    return tuple(sorted(kept, key=lambda axis: order.index(axis.name)))


def _are_aliases(rows: pd.DataFrame, first: StudyAxis, second: StudyAxis) -> bool:
    """Return whether the values of two settings correspond one to one."""
    if len(first) != len(second) or {first.name, second.name} & {*_NAME_COLUMNS, "seed"}:
        return False
    return len(rows[[first.name, second.name]].drop_duplicates()) == len(first)


def _sorted_rows(rows: pd.DataFrame, axes: Sequence[StudyAxis]) -> pd.DataFrame:
    """Return *rows* in the order of the values of *axes*, the first axis first, then of cells."""
    keys = [rows["cell"].map(str).to_numpy()]
    for axis in reversed(axes):
        place = {value: number for number, value in enumerate(axis.values)}
        keys.append(rows[axis.name].map(place).to_numpy())
    return rows.iloc[np.lexsort(keys)].reset_index(drop=True)


def _refuse_repeated(rows: pd.DataFrame, labels: Sequence[str]) -> None:
    """Raise :exc:`InputError` if two rows have the same labels."""
    repeated = rows.duplicated(list(labels), keep=False).to_numpy()
    if repeated.any():
        first, second = np.flatnonzero(repeated)[:2]
        what = ", ".join(f"{name} {rows[name][first]}" for name in _NAME_COLUMNS)
        raise InputError(
            f"cells {rows['cell'][first]} and {rows['cell'][second]} answer the same question "
            f"({what}, seed {rows['seed'][first]}): the table mixes two studies, or lacks the "
            "column of a setting in which they differ, such as graph.tiles"
        )
