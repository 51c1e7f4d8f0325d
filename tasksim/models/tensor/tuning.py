"""Choice of grid, rank and ridge by cross-validation over configurations, within a budget."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.models.tensor.fitting import Recipe, fit
from tasksim.models.validation.crossvalidation import each_left_out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tasksim.base.arrays import Floats
    from tasksim.models.tensor.grid import TensorAxis
    from tasksim.models.tensor.kriging import AxisScales

    Grid = Callable[[int], tuple[TensorAxis, ...]]

__all__ = ["GridChoice", "GridSearch"]

CELL_COUNTS: Final = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Numbers of cells to try, in steps of 1.3 to 1.5. Finer steps take longer to search, and
cross-validation could not distinguish them."""
RANKS: Final = (1, 2, 3, 4, 6, 8, 12, 16)
"""Ranks to try, with steps as in :data:`CELL_COUNTS`; the time grows with the square of the
rank."""
POSITIVE_RANKS: Final = (1, 2, 3, 4)
"""Ranks to try for positive factors, which need fewer components if durations are products of
powers; each takes two hundred times as long to fit."""
FIRST_RIDGE: Final = 1e-4
"""Initial ridge: from 1e-6 to 1e-3 the error of generated durations is the same."""
RIDGES: Final = (1e-5, 1e-4, 1e-3, 1e-2)
"""Ridges to try, a factor of ten apart. 400 generated configurations take up to 1e-3, 80 at best
1e-4; 1e-2 makes the error a third larger, and is for noisy samples."""
FIRST_RANK: Final = 3
"""Largest initial rank: a matrix product with its traffic has two or three terms."""
FIRST_POSITIVE_RANK: Final = 1
"""Largest initial rank of positive factors: one product of powers."""
COARSE_CELLS: Final = 4
"""Number of cells per parameter of the grid that the initial rank must be affordable on."""
MIN_PER_COEFFICIENT: Final = 2.0
"""Minimum number of configurations per coefficient of a factor: with one, the fit is mostly
noise."""

MAX_ALL_FOLDS: Final = 4096
"""Number of configurations up to which every fold is left out; of more, only the first is. The
error is then known from 800 and more."""

OPERATIONS_PER_S: Final = 2e8
"""Operations per second of budget: the choice must not depend on the
clock, or the same data would not give the same model."""

TRIAL_SWEEPS: Final = 20
"""Number of sweeps of fits that are only compared: three times as many as most need to converge."""
FEW_SWEEPS: Final = 8
"""Number of sweeps of such fits to more than 4096 configurations, so that more grids and ranks can
be compared: within the budget of a choice of kinds, five errors on generated durations were 6 to
58 % smaller than with 20 sweeps. With twice that budget, two were smaller, two the same, one 7 %
larger."""
NEWTON_WEIGHT: Final = 180.0
"""Weight of an operation of Newton's iterations, all sweeps together; that of least squares is the
number of sweeps."""

MAX_ROUNDS: Final = 3
"""Maximum number of rounds over grid, rank and ridge: 1 to 5 rounds chose the same for generated
durations; otherwise, the second option found may change the first."""
MAX_WORSE: Final = 2
"""Number of candidates without improvement that a search along one option tolerates: errors are
noisy, and may increase once before the best."""


@dataclass(frozen=True)
class GridChoice:
    """A grid (cells per parameter), a rank and a ridge, with their cross-validated error.

    ``error`` is the mean over configurations left out of abs(ln(predicted / measured)); None if
    there was nothing to choose. ``scales`` are those of the copied Gaussian process, if
    there is one.
    """

    cells: int
    rank: int
    ridge: float
    error: float | None = None
    scales: AxisScales | None = field(default=None, compare=False)


@dataclass
class GridSearch:
    """A search for the best :class:`GridChoice`, one option after the other.

    Attributes
    ----------
    table, values
        One row per configuration, and the logarithm of its duration.
    grid
        Returns the axes for a number of cells per parameter.
    recipe
        The options that are not searched for.
    cells, rank, ridge
        The user's options; None: searched for.
    folds
        Number of folds.
    budget_s
        Approximate time of the search, in seconds of a nominal machine.
    """

    table: Floats
    values: Floats
    grid: Grid
    recipe: Recipe
    cells: int | None
    rank: int | None
    ridge: float | None
    folds: int
    budget_s: float
    spent: float = 0.0
    known: dict[tuple[int, int, float], Floats | None] = field(default_factory=dict)

    def best(self) -> GridChoice:
        """Return the best choice found; in a tie, the first one tried, which is smaller."""
        choice = self._first()
        if None not in (self.cells, self.rank, self.ridge):
            return choice
        if len(self.table) < 2 * self.folds:
            return choice if self.rank or self.recipe.base == "level" else replace(choice, rank=0)
        for _ in range(MAX_ROUNDS):
            before = choice
            choice = self._best_of(choice, self._grids(choice.rank, choice.ridge))
            ranks = [replace(choice, rank=rank) for rank in self._ranks(choice.cells)]
            choice = self._best_of(choice, ranks)
            ridges = RIDGES if self.ridge is None else (self.ridge,)
            choice = self._best_of(choice, [replace(choice, ridge=ridge) for ridge in ridges])
            if choice == before:
                break
        nothing = replace(choice, rank=0)
        if self.recipe.base != "level" and self.rank is None:
            with_it, without = self._errors(choice), self._errors(nothing)
            if with_it is not None and without is not None:
                # The correction must reduce the error by more than its standard error.
                gain = without - with_it
                if not gain.mean() > gain.std() / np.sqrt(len(gain)):
                    choice = nothing
        errors = self._errors(choice)
        return choice if errors is None else replace(choice, error=float(errors.mean()))

    def _first(self) -> GridChoice:
        """Return the initial choice: the largest small rank that a coarse grid affords."""
        cells = self._cell_counts(1)[0] if self.cells is None else self.cells
        most: int = FIRST_POSITIVE_RANK if self.recipe.positive else FIRST_RANK
        coarse = max(cells, COARSE_CELLS) if self.cells is None else cells
        ranks = [rank for rank in self._ranks(coarse) if rank <= most]
        rank = ranks[-1] if self.rank is None else self.rank
        return GridChoice(cells, rank, FIRST_RIDGE if self.ridge is None else self.ridge)

    def _best_of(self, choice: GridChoice, candidates: Iterable[GridChoice]) -> GridChoice:
        """Return the best of the *candidates*; *choice* if none can be afforded."""
        best, least, worse = choice, np.inf, 0
        for tried in candidates:
            errors = self._errors(tried)
            if errors is None:
                continue
            error = float(errors.mean())
            if error < least:
                best, least, worse = tried, error, 0
            else:
                worse += 1
            if worse > MAX_WORSE:
                break
        return best

    def _grids(self, rank: int, ridge: float) -> list[GridChoice]:
        """Return the grids to try, each with *rank* or the largest one that it affords."""
        counts = self._cell_counts(self.rank or 1)
        ranks = [min(rank, self._ranks(cells)[-1]) for cells in counts]
        return [GridChoice(c, r, ridge) for c, r in zip(counts, ranks, strict=True)]

    def _cell_counts(self, rank: int) -> list[int]:
        if self.cells is not None:
            return [self.cells]
        counts: list[int] = []
        sizes: list[int] = []
        for cells in CELL_COUNTS:
            size = sum(map(len, self.grid(cells)))
            # With all different values in own cells, more cells change nothing.
            if size not in sizes and (not counts or self._affordable(size, rank)):
                counts.append(cells)
                sizes.append(size)
        return counts

    def _ranks(self, cells: int) -> list[int]:
        if self.rank is not None:
            return [self.rank]
        size = sum(map(len, self.grid(cells)))
        ranks = POSITIVE_RANKS if self.recipe.positive else RANKS
        return [rank for rank in ranks if rank == 1 or self._affordable(size, rank)]

    def _affordable(self, size: int, rank: int) -> bool:
        return MIN_PER_COEFFICIENT * rank * size <= len(self.table)

    def _errors(self, choice: GridChoice) -> Floats | None:
        """Return the cross-validated abs(ln(predicted / measured)); None if it is too expensive."""
        key = (choice.cells, choice.rank, choice.ridge)
        if key not in self.known:
            axes = self.grid(choice.cells)
            cost = self._cost(axes, choice.rank)
            if choice.rank and self.spent + cost > OPERATIONS_PER_S * self.budget_s and self.known:
                return None
            self.spent += cost
            self.known[key] = self._left_out(axes, choice)
        return self.known[key]

    def _cost(self, axes: tuple[TensorAxis, ...], rank: int) -> float:
        """Return the approximate number of operations of an evaluation."""
        rows = sum(map(len, axes))
        cells = min(float(len(self.table)), math.prod(float(len(axis)) for axis in axes))
        sweep = cells * len(axes) * rank * (rank + 20.0) + rows * (rank**3 + 5000.0)
        more = NEWTON_WEIGHT if self.recipe.positive else self._sweeps()
        around = len(self.table) * (200.0 + 10.0 * rank * len(axes))
        return float((more * sweep + around) * self._evaluated_folds())

    def _sweeps(self) -> int:
        return TRIAL_SWEEPS if len(self.table) <= MAX_ALL_FOLDS else FEW_SWEEPS

    def _evaluated_folds(self) -> int:
        return self.folds if len(self.table) <= MAX_ALL_FOLDS else 1

    def _left_out(self, axes: tuple[TensorAxis, ...], choice: GridChoice) -> Floats:
        recipe = replace(
            self.recipe, rank=choice.rank, ridge=choice.ridge, starts=1, sweeps=self._sweeps()
        )
        errors = []
        for out in each_left_out(
            len(self.table), self.folds, self.recipe.seed, self._evaluated_folds()
        ):
            fitted, _ = fit(axes, self.table[~out], self.values[~out], recipe)
            errors.append(np.abs(fitted.values(self.table[out]) - self.values[out]))
        return np.concatenate(errors)
