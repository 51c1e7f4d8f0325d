"""The linear program of the area bound: how classes of workers best share independent tasks.

With a price for the time of each class every task goes where it is cheapest, and the sum of what
they cost bounds the time from below whatever the prices (weak duality). Dantzig and Wolfe's
decomposition (Operations Research 8(1), 1960) finds the best prices: a program of as many
rows as there are classes mixes the assignments seen so far, its duals are the next prices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["area_program", "area_program_highs"]

_GAP: Final = 1e-10
"""How close the bound has to come to a time that is feasible, relative to it: four digits are
printed, and a bound that is lower is still one."""
_ROUNDS: Final = 300
"""Random programs of up to 2000 groups took at most 51 rounds with 4 classes and 160 with 8."""
_PIVOTS: Final = 60
"""Per round; half of them by the steepest column, then by Bland's rule, which cannot circle. Those
programs took at most 9."""
_ROUNDING: Final = 1e-12
"""Of numbers around 1: thousands of times the precision of a float, as rows add up over pivots."""


def area_program(work_s: Floats, workers: Floats) -> float:
    """Return the least time in which classes of workers can share groups of work, in seconds.

    Never more than that, and less by 1e-10 of it at most but for programs that rounding
    spoils.

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
    for _ in range(_ROUNDS):
        bound, loads = _cheapest(work, mixture.prices())
        best = max(best, bound)
        if best >= mixture.time() * (1 - _GAP):
            break
        mixture.add(loads)
    return best * scale


def _cheapest(work: Floats, prices: Floats) -> tuple[float, Floats]:
    """Return what all work costs where it is cheapest, and the load of each class then."""
    able = np.isfinite(work)
    cost = np.where(able, work, 0.0) * prices[:, None]
    cost[~able] = np.inf
    klass = cost.argmin(axis=0)
    group = np.arange(work.shape[1])
    loads = np.bincount(klass, work[klass, group], minlength=len(work))
    return float(cost[klass, group].sum()), loads.astype(np.float64)


class _Mixture:
    """The mixture of assignments that takes the least time, by the simplex method.

    The first row says that the shares of the assignments add up to 1, one row per class that
    its load and a slack are its workers' time, the last one has the costs. The columns are an
    artificial variable and the slacks (together the inverse of the basis), the time, the
    assignments, and at the end the right-hand side.
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
        """Let an assignment with these loads take part."""
        self._append(loads)
        self._optimise()

    def time(self) -> float:
        """Return the time of the mixture."""
        return -float(self._tableau[-1, -1])

    def prices(self) -> Floats:
        """Return what a second of each class is worth, those of all workers together 1."""
        prices = np.maximum(0.0, self._tableau[-1, 1 : len(self._workers) + 1])
        return prices / (prices @ self._workers)

    def _append(self, loads: Floats) -> None:
        inverse = self._tableau[:, : len(loads) + 1]
        column = inverse @ np.concatenate(([1.0], loads))
        self._tableau = np.insert(self._tableau, -1, column, axis=1)

    def _optimise(self) -> None:
        for step in range(_PIVOTS):
            costs = self._tableau[-1, 1:-1]
            bland = step >= _PIVOTS // 2
            entering = int((costs < -_ROUNDING).argmax() if bland else costs.argmin())
            if costs[entering] >= -_ROUNDING:
                return
            row = self._leaving(entering + 1)
            if row < 0:
                return
            self._pivot(row, entering + 1)

    def _leaving(self, column: int) -> int:
        """Return the row that limits *column* first; -1: none."""
        up = self._tableau[:-1, column]
        rows = np.flatnonzero(up > _ROUNDING)
        if not len(rows):
            return -1
        return int(rows[(self._tableau[rows, -1] / up[rows]).argmin()])

    def _pivot(self, row: int, column: int) -> None:
        tableau = self._tableau
        tableau[row] /= tableau[row, column]
        factors = tableau[:, column].copy()
        factors[row] = 0.0
        tableau -= factors[:, None] * tableau[row]


def area_program_highs(work: Floats, workers: Floats) -> float:
    """Return what :func:`area_program` does, by HiGHS and slower; *work* should be around 1."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    group, klass = np.nonzero(np.isfinite(work))
    groups, classes = work.shape
    # A share of each group for each class that can run it, then the time.
    shares, t = np.arange(len(group)), len(group)
    load = np.concatenate((work[group, klass], -workers))
    rows = np.concatenate((klass, np.arange(classes)))
    columns = np.concatenate((shares, np.full(classes, t)))
    program: dict[str, Any] = {
        "c": np.concatenate((np.zeros(t), [1.0])),
        "A_ub": csr_array((load, (rows, columns)), shape=(classes, t + 1)),
        "b_ub": np.zeros(classes),
        "A_eq": csr_array((np.ones(t), (group, shares)), shape=(groups, t + 1)),
        "b_eq": np.ones(groups),
    }
    solution: Any = linprog(**program, method="highs")
    return float(solution.x[-1])
