"""Columns of a table of parameters: those that a model needs, by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tasksim.base.errors import nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tasksim.models.kernelmodel import KernelModel

__all__ = ["SIZE", "columns"]

SIZE: Final = "size_bytes"
"""The parameter that every task has without being given it: the bytes of the data it accesses."""

SHOWN: Final = 5
"""Names that a message lists: one line of a terminal."""


def columns(
    model: KernelModel, names: Sequence[str], table: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return those columns of *table* that *model* needs, in its order.

    Parameters
    ----------
    names
        The names of the columns of *table*, as a task graph has them. More than the model
        needs are fine.

    Raises
    ------
    InputError
        If some are missing.
    """
    model._check_fitted("predict")
    missing = [name for name in model.names_ if name not in names]
    if missing:
        unseen = [name for name in names if name not in model.names_]
        raise model._refusal(_wrong_columns(missing, unseen))
    chosen: NDArray[np.float64] = table[:, [names.index(name) for name in model.names_]]
    return chosen


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
