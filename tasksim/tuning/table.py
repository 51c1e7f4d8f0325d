"""Performance tables of examples, with their features and the performance of every choice."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import InputError
from tasksim.base.numerals import decimal_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tasksim.base.arrays import Bools, Floats, Indices

__all__ = ["PerformanceTable"]


@dataclass(frozen=True, eq=False)
class PerformanceTable:
    """Performance of each choice for each example.

    Attributes
    ----------
    features : tuple of str
        Names of the features, known before the choice.
    values : array
        Examples by features.
    choices : tuple of str
        Names of the choices.
    performance : array
        Examples by choices; larger is better, and 0 is a failure.
    limit : array, optional
        The largest choice that each example allows; choices are then numbers. A larger choice
        stands for the largest allowed one, as a chunk of more iterations than a loop has is the
        whole loop.
    others : mapping of str to sequence
        Further columns as texts, such as applications.
    """

    features: tuple[str, ...]
    values: Floats
    choices: tuple[str, ...]
    performance: Floats
    limit: Floats | None
    others: Mapping[str, Sequence[str]]

    def __len__(self) -> int:
        """Return the number of examples."""
        return len(self.performance)

    @cached_property
    def numbers(self) -> Floats | None:
        """The choices as numbers; None if one of them is not a number."""
        found = [decimal_number(choice) for choice in self.choices]
        return None if None in found else np.array(found, float)

    @cached_property
    def allowed(self) -> Bools:
        """Examples by choices: whether the choice is allowed."""
        if self.limit is None:
            return np.ones(self.performance.shape, bool)
        assert self.numbers is not None
        return np.asarray(self.numbers[None, :] <= self.limit[:, None])

    @cached_property
    def made(self) -> Indices:
        """Examples by choices: the index of the choice that this one stands for."""
        told = np.broadcast_to(np.arange(len(self.choices)), self.performance.shape)
        if self.numbers is None:
            return np.asarray(told)
        sizes = np.where(self.allowed, self.numbers[None, :], -np.inf)
        return np.where(self.allowed, told, sizes.argmax(axis=1)[:, None])

    @cached_property
    def shares(self) -> Floats:
        """Examples by choices: the performance as a share of the example's best."""
        best = np.where(self.allowed, self.performance, 0.0).max(axis=1)
        made = np.take_along_axis(self.performance, self.made, axis=1)
        return np.asarray(made / best[:, None])

    def column(self, name: str) -> Floats | None:
        """Return a numeric column, a feature or another one; None if there is none."""
        if name in self.features:
            return np.asarray(self.values[:, self.features.index(name)])
        found = [decimal_number(text) for text in self.others.get(name, ())]
        return None if not found or None in found else np.array(found, float)

    def select(self, rows: Indices | Bools) -> PerformanceTable:
        """Return the table of some rows."""
        index = np.arange(len(self))[rows]
        return PerformanceTable(
            self.features,
            self.values[index],
            self.choices,
            self.performance[index],
            None if self.limit is None else self.limit[index],
            {name: [texts[i] for i in index] for name, texts in self.others.items()},
        )

    @staticmethod
    def of(
        features: Mapping[str, Sequence[float]],
        performance: Mapping[str, Sequence[float]],
        limit: Sequence[float] | None = None,
        others: Mapping[str, Sequence[str]] | None = None,
    ) -> PerformanceTable:
        """Return the table with these columns.

        Raises
        ------
        InputError
            If columns differ in length, a performance is negative or not finite, all choices of an
            example fail, or a limit allows none.

        Examples
        --------
        >>> table = PerformanceTable.of({"n": [1, 2]}, {"1": [4, 5], "2": [2, 10]})
        >>> table.shares.tolist()
        [[1.0, 0.5], [0.5, 1.0]]
        """
        table = PerformanceTable(
            tuple(features),
            _matrix(features),
            tuple(performance),
            _matrix(performance),
            None if limit is None else np.asarray(limit, float),
            dict(others or {}),
        )
        _check(table)
        return table


def _matrix(columns: Mapping[str, Sequence[float]]) -> Floats:
    arrays = [np.asarray(column, float) for column in columns.values()]
    if not arrays or len({array.shape for array in arrays}) > 1:
        raise InputError(f"got {len(arrays)} columns; legal: at least one, all of the same length")
    return np.stack(arrays, axis=1)


def _check(table: PerformanceTable) -> None:
    if len(table.values) != len(table) or not len(table):
        raise InputError(
            f"got {len(table.values)} rows of features, {len(table)} of performance; legal: the"
            " same number of both, at least one"
        )
    if not np.isfinite(table.values).all():
        raise InputError("got a feature that is not a finite number")
    if table.limit is not None and table.numbers is None:
        raise InputError(f"choices {', '.join(table.choices)}: only numbers can have a limit")
    if not table.allowed.any(axis=1).all():
        raise InputError("got a limit below every choice; legal: at least the smallest choice")
    known = table.performance[table.allowed]
    if not (np.isfinite(known) & (known >= 0)).all():
        raise InputError("got a performance that is negative or not finite")
    if (np.where(table.allowed, table.performance, 0).max(axis=1) <= 0).any():
        raise InputError("got an example for which every choice fails")
