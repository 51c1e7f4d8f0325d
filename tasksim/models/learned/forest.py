"""Boosted trees, each of which asks the same questions of all rows.

A tree of depth d asks d questions, *is column c above border b?*, and has a value for each of the
2^d answers (*oblivious* trees: A. V. Dorogush, V. Ershov and A. Gulin, "CatBoost: gradient boosting
with categorical features support", 2018; R. Kohavi, "Bottom-up induction of oblivious read-once
decision graphs", 1994). Each is fitted to what the trees before it left over, and shrunk
(J. H. Friedman, "Stochastic gradient boosting", Computational Statistics and Data Analysis 38,
2002). Compared with trees that ask other questions in each branch, they over-fit few samples less,
and they are evaluated without branches: the answers are the bits of an index.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from tasksim.core.interface import functions

if TYPE_CHECKING:
    import ctypes

    from numpy.typing import NDArray

    from tasksim.base.arrays import Floats, Indices

    Bytes = NDArray[np.uint8]

__all__ = ["DEPTH", "Forest", "Growth"]

DEPTH: Final = 6
"""Number of questions of a tree. With 5 and 7 the errors of generated kernels are within 5 %."""
MAX_BORDERS: Final = 254
"""Maximum number of borders per column, so that a cell's number is a byte. 63 instead make the
errors of sixteen thousand samples of matrix products half as large again."""
MAX_ROWS: Final = 16_384
"""Maximum number of rows that choose the questions of a tree, drawn anew for each: 4096 make errors
of sixteen thousand samples a tenth larger, and more hardly smaller. All rows decide its values."""
QUESTION_ROW_SHARE: Final = 0.8
"""Share of the rows that choose the questions of a tree, so that trees differ."""
LEARNING_RATE: Final = 0.2
"""Share of the residuals that a tree takes away: .12 needs half as many trees again for errors 1 %
smaller, in one of five suites of generated kernels 10 %."""
LEAF_RIDGE: Final = 2.0
"""Number of samples with a residual of 0 that each value of a tree is shrunk by."""
PATIENCE_TREES: Final = 40
"""Number of trees without a smaller error on rows held out after which no more are grown."""
BLOCK_ROWS: Final = 8192
"""Number of rows evaluated at once: their cells stay in the cache of the core."""


@dataclass(frozen=True, eq=False)
class Forest:
    """A sum of trees.

    Attributes
    ----------
    borders
        Per column, float64, ascending.
    columns, cells
        Integers [trees, depth]: a row answers yes if its cell in the column is above this one.
    values
        float64 [trees, 2^depth].
    """

    borders: list[Floats]
    columns: Indices
    cells: Indices
    values: Floats

    def __len__(self) -> int:
        return len(self.values)

    def predict(self, table: Floats) -> Floats:
        """Return the sum of the trees at each row of *table*."""
        total = np.zeros(len(table))
        if not len(self):
            return total
        core = functions()
        if core is not None:
            self._sum(core, np.ascontiguousarray(table, dtype=np.float64), total)
            return total
        asked, which, doubles = self._by_twos
        for at in range(0, len(table), BLOCK_ROWS):
            block = table[at : at + BLOCK_ROWS]
            cells = cells_of(self.borders, block)
            answers = [(cells[column] > cell).view(np.uint8) for column, cell in asked]
            part = total[at : at + BLOCK_ROWS]
            index = np.empty(len(block), dtype=np.uint16)
            low, high = np.empty((2, len(block)), dtype=np.uint8)
            for (first, second), values in zip(which, doubles, strict=True):
                _number(answers, first, high)
                _number(answers, second, low)
                np.copyto(index, high)
                np.left_shift(index, DEPTH, out=index)
                np.bitwise_or(index, low, out=index)
                part += values.take(index)
        return total

    def _sum(self, core: ctypes.CDLL, table: Floats, out: Floats) -> None:
        """Write the sum of the trees to *out*, by the compiled core."""
        columns, borders, places, values = self._packed
        status = core.tasksim_forest(
            table.ctypes.data, *table.shape, len(borders), columns.ctypes.data,
            borders.ctypes.data, len(values), places.ctypes.data, values.ctypes.data,
            out.ctypes.data,
        )  # fmt: skip
        if status:
            raise AssertionError(f"the core refuses a forest: status {status}")

    @cached_property
    def _packed(self) -> tuple[NDArray[np.int32], Floats, NDArray[np.int32], Floats]:
        """The columns and borders of the questions, their places in trees, and the values."""
        asked, which, values = self._even
        borders = np.array([self.borders[column][cell] for column, cell in asked.T.tolist()])
        columns = np.ascontiguousarray(asked[0], dtype=np.int32)
        return columns, borders, which.astype(np.int32), values

    @cached_property
    def _even(self) -> tuple[Indices, Indices, Floats]:
        """The questions, each once, [2, questions], their places in trees, and the values.

        There is one more tree, of zeros, if their number is odd.
        """
        columns, cells, values = self.columns, self.cells, self.values
        if len(self) % 2:
            columns, cells = np.vstack([columns, columns[:1]]), np.vstack([cells, cells[:1]])
            values = np.vstack([values, np.zeros((1, values.shape[1]))])
        questions = np.stack([columns.ravel(), cells.ravel()])
        asked, which = np.unique(questions, axis=1, return_inverse=True)
        return asked, which.reshape(columns.shape), np.ascontiguousarray(values)

    @cached_property
    def _by_twos(self) -> tuple[list[tuple[int, int]], list[list[list[int]]], Floats]:
        """The questions, each once, the places of those of each two trees, and their sums."""
        asked, which, values = self._even
        doubles = (values[::2, :, None] + values[1::2, None, :]).reshape(len(values) // 2, -1)
        questions = [(column, cell) for column, cell in asked.T.tolist()]
        return questions, which.reshape(-1, 2, DEPTH).tolist(), doubles

    def scaled(self, factor: float) -> Forest:
        """Return the forest with all values multiplied by *factor*."""
        return Forest(self.borders, self.columns, self.cells, factor * self.values)


class Growth:
    """The growth of a forest, tree by tree.

    Parameters
    ----------
    table : ndarray, shape (n, columns)
        The rows to fit to.
    values : ndarray, shape (n,)
        The sum of the trees.
    seed : int
        The seed of the rows that choose the questions.
    """

    def __init__(self, table: Floats, values: Floats, seed: int) -> None:
        self.borders = [_borders(column) for column in table.T]
        self._cells = cells_of(self.borders, table)
        self._left = values.copy()
        self._rng = np.random.default_rng(seed)
        lengths = np.array([len(borders) + 1 for borders in self.borders])
        ends = np.cumsum(lengths)
        self._first = np.append(0, ends).astype(np.int64)
        """Per column, the number of its first cell, then the number of all."""
        self._starts = np.repeat(ends - lengths, lengths)
        """Per cell of all columns, the first cell of its column."""
        self._last = np.repeat(ends - 1, lengths)
        self._splits = np.arange(len(self._last)) != self._last
        self._column = np.repeat(np.arange(len(lengths)), lengths)
        self._numbers = self._cells + (ends - lengths)[:, None]
        """intp [columns, n]: the cells of the rows, numbered over all columns."""
        self._questions: list[list[tuple[int, int]]] = []
        self._values: list[Floats] = []

    @property
    def possible(self) -> bool:
        """Whether there is a question that tells rows apart."""
        return bool(self._splits.any())

    def grow(self, count: int) -> Self:
        """Grow *count* trees."""
        for _ in range(count if self.possible else 0):
            questions = self._choose()
            leaf = _leaves(self._cells, questions)
            sums = np.bincount(leaf, self._left, 2**DEPTH)
            values: Floats = (
                LEARNING_RATE * sums / (np.bincount(leaf, minlength=2**DEPTH) + LEAF_RIDGE)
            )
            self._left -= values[leaf]
            self._questions.append(questions)
            self._values.append(values)
        return self

    def errors(self, table: Floats, values: Floats, most: int) -> Floats:
        """Grow at most *most* trees; return the error on other rows after none, one, two, ...

        The error is the mean of abs(trees - *values*) at the rows of *table*. Growth ends when it
        has not decreased for some trees.
        """
        cells = cells_of(self.borders, table)
        left = values.copy()
        errors = [float(np.abs(left).mean())]
        best = 0
        while len(errors) <= most and self.possible and len(errors) - best <= PATIENCE_TREES:
            self.grow(1)
            left -= self._values[-1][_leaves(cells, self._questions[-1])]
            errors.append(float(np.abs(left).mean()))
            if errors[-1] < errors[best]:
                best = len(errors) - 1
        return np.array(errors)

    def forest(self, count: int | None = None) -> Forest:
        """Return the trees, or the first *count* of them."""
        questions = np.array(self._questions[:count], dtype=np.intp).reshape(-1, DEPTH, 2)
        values = np.array(self._values[:count]).reshape(-1, 2**DEPTH)
        return Forest(self.borders, questions[:, :, 0], questions[:, :, 1], values)

    def _choose(self) -> list[tuple[int, int]]:
        """Return the questions of a tree, the one that explains most first."""
        count = max(1, int(QUESTION_ROW_SHARE * min(len(self._left), MAX_ROWS)))
        some = self._rng.choice(len(self._left), count, replace=False)
        core = functions()
        if core is not None:
            return self._chosen_by(core, some)
        numbers, cells = self._numbers[:, some], [column[some] for column in self._cells]
        left = np.broadcast_to(self._left[some], numbers.shape).ravel()
        total = len(self._splits)
        leaf = np.zeros(count, dtype=np.intp)
        questions = []
        for depth in range(DEPTH):
            index = (numbers + total * leaf).ravel()
            shape = (2**depth, total)
            size = shape[0] * total
            below = self._below(np.bincount(index, left, size).reshape(shape))
            counts = self._below(np.bincount(index, minlength=size).reshape(shape))
            above = below[:, self._last] - below
            above_counts = counts[:, self._last] - counts
            gain = below**2 / (counts + LEAF_RIDGE) + above**2 / (above_counts + LEAF_RIDGE)
            best = int(np.where(self._splits, gain.sum(axis=0), -1.0).argmax())
            question = int(self._column[best]), int(best - self._starts[best])
            questions.append(question)
            leaf = 2 * leaf + (cells[question[0]] > question[1])
        return questions

    def _chosen_by(self, core: ctypes.CDLL, some: Indices) -> list[tuple[int, int]]:
        """Return the questions that the compiled core chooses for *some* rows."""
        cells, left = np.ascontiguousarray(self._cells[:, some]), self._left[some]
        best = np.empty(DEPTH, dtype=np.int64)
        status = core.tasksim_questions(
            cells.shape[1], len(cells), cells.ctypes.data, self._first.ctypes.data,
            left.ctypes.data, LEAF_RIDGE, best.ctypes.data,
        )  # fmt: skip
        if status:
            raise AssertionError(f"the core refuses the growth of a tree: status {status}")
        columns = self._column[best]
        return list(zip(columns.tolist(), (best - self._first[columns]).tolist(), strict=True))

    def _below(self, sums: Floats | Indices) -> Floats:
        """Return the sums over the cells of a column up to each of them."""
        running = np.cumsum(sums, axis=1)
        before = np.concatenate([np.zeros((len(sums), 1)), running], axis=1)
        return np.asarray(running - before[:, self._starts])


def cells_of(borders: list[Floats], table: Floats) -> Bytes:
    """Return the number of the cell of each row in each column, [columns, n]."""
    cells = np.empty((len(borders), len(table)), dtype=np.uint8)
    for mode, column in enumerate(borders):
        cells[mode] = np.searchsorted(column, table[:, mode], side="right")
    return cells


def _number(answers: list[Bytes], questions: list[int], out: Bytes) -> None:
    """Write the number whose bits are the *answers* to some *questions*, the first one highest."""
    np.copyto(out, answers[questions[0]])
    for question in questions[1:]:
        np.left_shift(out, 1, out=out)
        np.bitwise_or(out, answers[question], out=out)


def _borders(column: Floats) -> Floats:
    """Return borders between the values of *column*: all, or as many as fit at quantiles."""
    distinct = np.unique(column)
    if len(distinct) > MAX_BORDERS + 1:
        levels = np.linspace(0, 1, MAX_BORDERS + 2)[1:-1]
        return np.unique(np.quantile(column, levels))
    return np.asarray((distinct[1:] + distinct[:-1]) / 2)


def _leaves(cells: Bytes, questions: list[tuple[int, int]]) -> Indices:
    leaf = np.zeros(cells.shape[1], dtype=np.uint8)
    for column, cell in questions:
        np.left_shift(leaf, 1, out=leaf)
        np.bitwise_or(leaf, (cells[column] > cell).view(np.uint8), out=leaf)
    return leaf.astype(np.intp)
