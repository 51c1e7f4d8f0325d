"""Columns of a table of parameters: those that a model needs, by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tasksim.models.kernelmodel import KernelModel

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
"""The parameter that every task has without being given it: the bytes of the data it accesses."""

DURATION: Final = "duration_s"
"""The parameter in which a task itself says how long it takes, in seconds."""
CLOCK: Final = "frequency_hz"
"""The counter, and the parameter of samples at several clocks, that is the clock of the core."""

SHOWN: Final = 5
"""Names that a message lists: one line of a terminal."""


def columns(
    model: KernelModel,
    names: Sequence[str],
    table: NDArray[np.float64],
    clock_hz: float | None = None,
) -> NDArray[np.float64]:
    """Return those columns of *table* that *model* needs, in its order.

    Parameters
    ----------
    names
        The names of the columns of *table*, as a task graph has them. More than the model
        needs are fine.
    clock_hz
        The clock that is asked of a model that was measured at several; by default its highest.

    Raises
    ------
    InputError
        If some are missing; the clock may be.
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


def highest_clock(model: KernelModel) -> float:
    """Return the clock that a model predicts for unless another is named: the highest measured."""
    return model.domain_[CLOCK][1]


def bounding_parameters(model: KernelModel) -> tuple[str, ...]:
    """Return the names of the parameters whose measured range bounds where *model* interpolates.

    Those that predictions depend on, and those that had one value in all samples, of which nobody
    knows what they do.
    """
    used = model.used_parameters()
    fixed = {name for name, (low, high) in model.domain_.items() if low == high}
    return tuple(name for name in model.names_ if name in used or name in fixed)


def in_box(model: KernelModel, table: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which rows are in the range that was measured of each parameter that bounds it."""
    bounding = bounding_parameters(model)
    low, high = np.array([model.domain_[name] for name in bounding]).reshape(-1, 2).T
    chosen = table[:, [model.names_.index(name) for name in bounding]]
    return np.asarray(((chosen >= low) & (chosen <= high)).all(axis=1))


def unlike_fixed(
    model: KernelModel, names: Sequence[str], table: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    """Return the values in *table* of parameters that had another, single value in the samples.

    *names* are those of the columns of *table*. Nothing is said of parameters that it has not.
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
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
