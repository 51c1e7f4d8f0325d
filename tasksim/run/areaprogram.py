"""Linear program of the area bound, for the best distribution of independent tasks to classes.

Given a price for the time of each class of workers, every task goes where it is cheapest, and the
sum of the costs is a lower bound on the time, whatever the prices (weak duality). Dantzig and
Wolfe's decomposition (Operations Research 8(1), 1960) finds the best prices: a program with as many
rows as classes mixes the assignments so far, and its duals are the next prices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from tasksim.base.arrays import Floats

__all__ = ["area_program", "area_program_highs"]

_RELATIVE_GAP: Final = 1e-10
"""Relative gap between the bound and a feasible time at which the search ends: four digits are
printed, and a lower bound is still a bound."""
_MAX_ROUNDS: Final = 300
"""Largest number of rounds: random programs of up to 2000 groups took at most 51 with 4 classes and
160 with 8."""
_MAX_PIVOTS: Final = 60
"""Largest number of pivots per round; the first half by the steepest column, the rest by Bland's
rule, which cannot cycle. Those programs took at most 9."""
_ROUNDING_ERROR: Final = 1e-12
"""Rounding error of numbers around 1: thousands of times the precision of a float, as rows add up
over pivots."""


def area_program(work_s: Floats, workers: Floats) -> float:
    """Return the least time in which classes of workers can share groups of work, in seconds.

    The result is never above that time, and at most 1e-10 of it below, except for programs that
    rounding spoils.

    Parameters
    ----------
    work_s : (groups, classes)
        Seconds of a worker of each class for all of each group, infinite where it cannot run.
    workers : (classes,)
        Workers per class.
    """
    scale = float(work_s.min(axis=1, initial=np.inf).sum() / workers.sum())
    if not scale:
        return 0.0
    work = np.ascontiguousarray(work_s.T) / scale
    prices = np.full(len(workers), 1.0 / workers.sum())
    best, loads = _cheapest(work, prices)
    mixture = _Mixture(workers, loads)
    for _ in range(_MAX_ROUNDS):
        bound, loads = _cheapest(work, mixture.prices())
        best = max(best, bound)
        if best >= mixture.time() * (1 - _RELATIVE_GAP):
            break
        mixture.add(loads)
    return best * scale


def _cheapest(work: Floats, prices: Floats) -> tuple[float, Floats]:
    """Return the cost of all work where it is cheapest, and the resulting load of each class."""
    able = np.isfinite(work)
    cost = np.where(able, work, 0.0) * prices[:, None]
    cost[~able] = np.inf
    klass = cost.argmin(axis=0)
    group = np.arange(work.shape[1])
    loads = np.bincount(klass, work[klass, group], minlength=len(work))
    return float(cost[klass, group].sum()), loads.astype(np.float64)


class _Mixture:
    """Mixture of assignments with the least time, by the simplex method.

    The first row states that the shares of the assignments add up to 1; one row per class states
    that its load and a slack equal its workers' time; the last row has the costs. The columns are
    an artificial variable and the slacks (together the inverse of the basis), the time, the
    assignments, and the right-hand side.
    """

    def __init__(self, workers: Floats, loads: Floats) -> None:
        classes = len(workers)
        self._workers = workers
        self._tableau = np.zeros((classes + 2, classes + 3))
        self._tableau[: classes + 1, : classes + 1] = np.eye(classes + 1)
        self._tableau[1:-1, -2] = -workers
        self._tableau[-1, -2] = 1.0
        self._tableau[0, -1] = 1.0
        self._append(loads)
        self._pivot(0, -2)
        self._pivot(1 + int((loads / workers).argmax()), classes + 1)
        self._optimise()

    def add(self, loads: Floats) -> None:
        """Add an assignment with these loads."""
        self._append(loads)
        self._optimise()

    def time(self) -> float:
        """Return the time of the mixture."""
        return -float(self._tableau[-1, -1])

    def prices(self) -> Floats:
        """Return the price of a second of each class; the prices of all workers add up to 1."""
        prices = np.maximum(0.0, self._tableau[-1, 1 : len(self._workers) + 1])
        return prices / (prices @ self._workers)

    def _append(self, loads: Floats) -> None:
        inverse = self._tableau[:, : len(loads) + 1]
        column = inverse @ np.concatenate(([1.0], loads))
        self._tableau = np.insert(self._tableau, -1, column, axis=1)

    def _optimise(self) -> None:
        for step in range(_MAX_PIVOTS):
            costs = self._tableau[-1, 1:-1]
            bland = step >= _MAX_PIVOTS // 2
            entering = int((costs < -_ROUNDING_ERROR).argmax() if bland else costs.argmin())
            if costs[entering] >= -_ROUNDING_ERROR:
                return
            row = self._leaving(entering + 1)
            if row < 0:
                return
            self._pivot(row, entering + 1)

    def _leaving(self, column: int) -> int:
        """Return the row that limits *column* first, or -1 if there is none."""
        up = self._tableau[:-1, column]
        rows = np.flatnonzero(up > _ROUNDING_ERROR)
        if not len(rows):
            return -1
        return int(rows[(self._tableau[rows, -1] / up[rows]).argmin()])

    def _pivot(self, row: int, column: int) -> None:
        tableau = self._tableau
        tableau[row] /= tableau[row, column]
        factors = tableau[:, column].copy()
        factors[row] = 0.0
        tableau -= factors[:, None] * tableau[row]


def area_program_highs(work: Floats, workers: Floats) -> Any:
    """Return the solution of the same program by HiGHS, slower; *work* should be around 1.

    Its first variable is the time. The rows of its inequalities are the classes.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    group, klass = np.nonzero(np.isfinite(work))
    groups, classes = work.shape
    # The time, then one share per group and class that can run it.
    shares, count = 1 + np.arange(len(group)), 1 + len(group)
    load = np.concatenate((work[group, klass], -workers))
    rows = np.concatenate((klass, np.arange(classes)))
    columns = np.concatenate((shares, np.zeros(classes, int)))
    program: dict[str, Any] = {
        "c": np.concatenate(([1.0], np.zeros(len(group)))),
        "A_ub": csr_array((load, (rows, columns)), shape=(classes, count)),
        "b_ub": np.zeros(classes),
        "A_eq": csr_array((np.ones(len(group)), (group, shares)), shape=(groups, count)),
        "b_eq": np.ones(groups),
    }
    return linprog(**program, method="highs")
