"""Best settings: for each question the choice with the shortest makespans, and how surely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.errors import InputError
from tasksim.study.report.differences import intervals
from tasksim.study.report.evidence import FEWEST
from tasksim.study.report.pairs import TIE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from tasksim.study.report.table import StudyTable

__all__ = ["BestChoice", "best_choices"]


@dataclass(frozen=True)
class BestChoice:
    """What is best for a graph, a platform, and whatever else is given.

    Parameters
    ----------
    question : mapping
        Values of the axes that are given.
    choice : mapping
        Values of the axes that were chosen from.
    makespan_s : float
        Geometric mean over seeds.
    next_choice : mapping or None
        The second best; None if there is no other.
    margin, low, high : float or None
        By how much longer the second best takes; the ends of its interval, where there are seeds
        enough for one.
    sure : bool or None
        Whether it is better than each other one, by an interval; None where there is none.
    ties : int
        Other choices that take as long in all runs.
    best_in, seeds : int
        Seeds with which it is best, or ties with the best, of those that all choices have.
    cell : str
        One of its cells.

    See Also
    --------
    best_choices : makes them.
    """

    question: Mapping[str, Any]
    choice: Mapping[str, Any]
    makespan_s: float
    next_choice: Mapping[str, Any] | None
    margin: float | None
    low: float | None
    high: float | None
    sure: bool | None
    ties: int
    best_in: int
    seeds: int
    cell: str

    @property
    def surely(self) -> str:
        """How surely it is best, in words."""
        if self.next_choice is None:
            return f"ties with {_others(self.ties)}" if self.ties else "the only choice"
        if self.sure is not None and not self.ties:
            return "sure" if self.sure else "not sure"
        seeds = f"best with {self.best_in} of {self.seeds} seeds" if self.seeds > 1 else "one run"
        return f"ties with {_others(self.ties)}, {seeds}" if self.ties else seeds


def _others(count: int) -> str:
    return "1 other" if count == 1 else f"{count} others"


def best_choices(table: StudyTable, choose: Sequence[str] = ()) -> list[BestChoice]:
    """Return the best choice for each question.

    Parameters
    ----------
    table : StudyTable
    choose : sequence of str
        Axes to choose from, beside the scheduler: a tile size, say. All others are given; of a
        setting that makes a problem smaller, the best one would be the smallest.

    Returns
    -------
    list of BestChoice
        In the order of the table.

    Raises
    ------
    InputError
        If *choose* names no axis, or the seed.

    See Also
    --------
    tasksim.study.report.verdict.judge : over all questions.
    """
    chosen = {table.axis(name).name for name in choose}
    if "seed" in chosen:
        raise InputError("the seed is chance, and nothing to choose")
    choices = [a.name for a in table.axes if a.name in chosen or a.name == "scheduler"]
    given = [axis for axis in table.configuration if axis.name not in chosen]
    rows = table.used
    code = table.code(rows, given)
    # With a single scheduler it is no axis, and still worth a word.
    choices = choices or ["scheduler"]
    shown = [name for name in ("graph", "platform") if name not in chosen]
    shown += [axis.name for axis in given if axis.name not in shown]
    return [_best_of(rows[code == n], shown, choices) for n in range(int(code.max(initial=-1)) + 1)]


def _best_of(rows: pd.DataFrame, given: Sequence[str], choices: Sequence[str]) -> BestChoice:
    """Return the best choice among *rows*, which have the same values of what is *given*."""
    codes = rows.groupby(list(choices), sort=False).ngroup().to_numpy(dtype=np.int64)
    heads = [rows.iloc[int(np.argmax(codes == n))] for n in range(codes.max() + 1)]
    log_s = _by_seed(rows, codes)
    means = np.round(log_s.mean(axis=0), 9)
    order = np.argsort(means, kind="stable")
    best = int(order[0])
    tying = np.abs(log_s - log_s[:, [best]]).max(axis=0) <= TIE
    second = next((int(k) for k in order[1:] if not tying[k]), None)
    first_s = log_s.min(axis=1)
    return BestChoice(
        {name: heads[best][name] for name in given},
        {name: heads[best][name] for name in choices},
        float(np.exp(log_s[:, best].mean())),
        None if second is None else {name: heads[second][name] for name in choices},
        *_margin(log_s, best, second, ~tying),
        int(tying.sum()) - 1,
        int((log_s[:, best] <= first_s + TIE).sum()),
        len(log_s),
        str(heads[best]["cell"]),
    )


def _by_seed(rows: pd.DataFrame, codes: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """Return logarithms of makespans, a row per seed that all have; else of means over seeds."""
    seeds, seed = np.unique(rows["seed"].map(str).to_numpy(), return_inverse=True)
    grid = np.full((len(seeds), codes.max() + 1), np.nan)
    grid[seed, codes] = np.log(rows["makespan_s"].to_numpy())
    common = grid[np.isfinite(grid).all(axis=1)]
    return common if len(common) else np.nanmean(grid, axis=0, keepdims=True)


def _margin(
    log_s: NDArray[np.float64], best: int, second: int | None, others: NDArray[np.bool_]
) -> tuple[float | None, float | None, float | None, bool | None]:
    """Return by how much the second best is worse, its interval, and whether all are surely."""
    if second is None:
        return None, None, None, None
    gaps = log_s - log_s[:, [best]]
    margin = float(np.expm1(gaps[:, second].mean()))
    # Seeds that change nothing are one run, however many there are.
    if len(gaps) < FEWEST or np.ptp(log_s, axis=0).max() <= TIE:
        return margin, None, None, None
    rivals = np.flatnonzero(others)
    ends = intervals(gaps[:, rivals])
    low, high = np.expm1(ends[rivals.tolist().index(second)])
    return margin, float(low), float(high), bool((ends[:, 0] > TIE).all())
