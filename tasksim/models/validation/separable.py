"""Separability of parameters: whether samples determine the effect of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import InputError
from tasksim.models.rows import plain_number
from tasksim.models.terms.leastsquares import aliased

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.models.samples import Samples

__all__ = ["check_separable"]


def check_separable(samples: Samples) -> None:
    """Raise :exc:`InputError` if a parameter is constant, or depends on others.

    Examples
    --------
    >>> from tasksim.models.samples import Samples
    >>> table = [[m, 2 * m] for m in (1, 2, 3, 4)]
    >>> check_separable(
    ...     Samples(("m", "n"), table, [1.0, 2.0, 3.0, 4.0])
    ... )  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tasksim.base.errors.InputError: parameter n is a linear combination of m in all samples, ...
    """
    if len(samples) < 2:
        raise InputError(
            f"{len(samples)} sample: it says nothing about other durations; measure the kernel "
            "more often, with other parameters"
        )
    rows, _ = samples.configurations()
    for index, name in enumerate(samples.names):
        if len(rows) == 1 or np.ptp(rows[:, index]) == 0:
            value = plain_number(float(rows[0, index]))
            raise InputError(
                f"parameter {name} is {value} in all {len(samples)} samples, so that they cannot "
                f"tell what it does: measure others, leave it out{_others(samples, name)}, or "
                "take what was measured as it is (--kind history)"
            )
    if len(rows) > len(samples.names) + 1:
        _check_independent(samples, rows, "a linear combination")
        if (rows > 0).all():
            _check_independent(samples, np.log(rows), "a product of powers")


def _check_independent(samples: Samples, columns: NDArray[np.float64], what: str) -> None:
    spread = np.ptp(columns, axis=0)
    centered = (columns - columns.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    for column, others in aliased(centered).items():
        name = samples.names[column]
        of = " and ".join(samples.names[other] for other in others)
        raise InputError(
            f"parameter {name} is {what} of {of} in all samples, so that they cannot tell which "
            f"of them the duration grows with: measure {name} independently, leave it out"
            f"{_others(samples, name)}, or take what was measured as it is (--kind history)"
        )


def _others(samples: Samples, name: str) -> str:
    names = ",".join(other for other in samples.names if other != name)
    return f" (--parameters {names})" if names else ""
