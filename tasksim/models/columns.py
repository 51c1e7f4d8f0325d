"""Columns of a table of parameters, selected by name for a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tasksim.models.fitted import FittedModel

__all__ = [
    "CLOCK",
    "DURATION",
    "SIZE",
    "bounding_parameters",
    "columns",
    "highest_clock",
    "in_box",
    "unlike_fixed",
]

SIZE: Final = "size_bytes"
"""The parameter that every task has implicitly: the bytes of the data it accesses."""

DURATION: Final = "duration_s"
"""The parameter with a task's own duration, in seconds."""
CLOCK: Final = "frequency_hz"
"""The clock of the core: a counter, and a parameter of samples measured at several clocks."""

MAX_LISTED_NAMES: Final = 5
"""Number of names listed in a message, so that they fit one line of a terminal."""


def columns(
    model: FittedModel,
    names: Sequence[str],
    table: NDArray[np.float64],
    clock_hz: float | None = None,
) -> NDArray[np.float64]:
    """Return the columns of *table* that *model* needs, in its order.

    Parameters
    ----------
    names
        The names of the columns of *table*, as in a task graph. Columns that the model does
        not need are ignored.
    clock_hz
        The clock for a model measured at several clocks; by default its highest.

    Raises
    ------
    InputError
        If columns other than the clock are missing.
    """
    model._check_fitted("predict")
    missing = [name for name in model.names_ if name not in names and name != CLOCK]
    if missing:
        unseen = [name for name in names if name not in model.names_]
        raise model._refusal(_wrong_columns(missing, unseen))
    if CLOCK in model.names_ and CLOCK not in names:
        clock = highest_clock(model) if clock_hz is None else clock_hz
        names = (*names, CLOCK)
        table = np.column_stack([table, np.full(len(table), clock)])
    chosen: NDArray[np.float64] = table[:, [names.index(name) for name in model.names_]]
    return chosen


def highest_clock(model: FittedModel) -> float:
    """Return the default clock of a model: the highest one measured."""
    return model.domain_[CLOCK][1]


def bounding_parameters(model: FittedModel) -> tuple[str, ...]:
    """Return the names of the parameters whose measured range limits interpolation.

    These are the parameters that predictions depend on, and those with a single value in all
    samples, since their effect is unknown.
    """
    used = model.used_parameters()
    fixed = {name for name, (low, high) in model.domain_.items() if low == high}
    return tuple(name for name in model.names_ if name in used or name in fixed)


def in_box(model: FittedModel, table: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which rows lie within the measured range of every bounding parameter."""
    bounding = bounding_parameters(model)
    low, high = np.array([model.domain_[name] for name in bounding]).reshape(-1, 2).T
    chosen = table[:, [model.names_.index(name) for name in bounding]]
    return np.asarray(((chosen >= low) & (chosen <= high)).all(axis=1))


def unlike_fixed(
    model: FittedModel, names: Sequence[str], table: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    """Return the values in *table* that differ from a parameter's single value in the samples.

    *names* are the columns of *table*. Parameters without a column are skipped.
    """
    found = {}
    for name, value in model.fixed_.items():
        if name in names:
            column = table[:, names.index(name)]
            if (column != value).any():
                found[name] = column[column != value]
    return found


def _wrong_columns(missing: list[str], unseen: list[str]) -> str:
    message = (
        "the parameters should match those of the samples that the model was fitted to; "
        f"seen at fit time, yet now missing: {_listed(missing)}"
    )
    if not unseen:
        return message
    return f"{message}; unseen at fit time: {_listed(unseen)}{nearest(unseen[0], missing)}"


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MAX_LISTED_NAMES} more" if len(names) > MAX_LISTED_NAMES else ""
    return ", ".join(names[:MAX_LISTED_NAMES]) + more
