"""Choice with the shortest makespan for each graph, platform and setting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.errors import InputError
from tasksim.study.report.differences import intervals
from tasksim.study.report.evidence import MIN_BLOCKS
from tasksim.study.report.pairs import TIE_TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from tasksim.study.report.table import StudyTable

__all__ = ["BestChoice", "best_choices"]


@dataclass(frozen=True)
class BestChoice:
    """The best choice for given values of the graph, the platform and other axes.

    Parameters
    ----------
    question : mapping
        Values of the given axes.
    choice : mapping
        Values of the chosen axes.
    makespan_s : float
        Geometric mean of the makespan over seeds, in seconds.
    next_choice : mapping or None
        The second best choice; None if there is no other.
    margin, low, high : float or None
        Relative excess of the second best's makespan; the ends of its confidence interval, if
        there are enough seeds.
    sure : bool or None
        Whether the choice is better than each other one according to the intervals; None without
        intervals.
    ties : int
        Number of other choices with the same makespans in all runs.
    best_in, seeds : int
        Number of seeds with which the choice is best or ties with the best, and number of seeds
        that all choices have.
    cell : str
        One of the choice's cells.

    See Also
    --------
    best_choices : Find the best choices of a study.
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
        """Certainty that the choice is best, in words."""
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
        Axes to choose from, besides the scheduler: a tile size, for example. The values of all
        other axes are given. Do not choose a setting that changes the size of the problem: its best
        value would be the smallest problem.

    Returns
    -------
    list of BestChoice
        The best choices, in the order of the table.

    Raises
    ------
    InputError
        If *choose* contains an unknown axis, or the seed.

    See Also
    --------
    tasksim.study.report.verdict.judge : Verdict over all questions.
    """
    chosen = {table.axis(name).name for name in choose}
    if "seed" in chosen:
        raise InputError("the seed cannot be chosen: it stands for chance")
    choices = [a.name for a in table.axes if a.name in chosen or a.name == "scheduler"]
    given = [axis for axis in table.configuration if axis.name not in chosen]
    rows = table.used
    code = table.code(rows, given)
    # A single scheduler is no axis, but the report names it.
    choices = choices or ["scheduler"]
    shown = [name for name in ("graph", "platform") if name not in chosen]
    shown += [axis.name for axis in given if axis.name not in shown]
    return [_best_of(rows[code == n], shown, choices) for n in range(int(code.max(initial=-1)) + 1)]


def _best_of(rows: pd.DataFrame, given: Sequence[str], choices: Sequence[str]) -> BestChoice:
    """Return the best choice among *rows*, which have the same values on the *given* axes."""
    codes = rows.groupby(list(choices), sort=False).ngroup().to_numpy(dtype=np.int64)
    heads = [rows.iloc[int(np.argmax(codes == n))] for n in range(codes.max() + 1)]
    log_s = _by_seed(rows, codes)
    means = np.round(log_s.mean(axis=0), 9)  # so that rounding errors do not break ties
    order = np.argsort(means, kind="stable")
    best = int(order[0])
    tying = np.abs(log_s - log_s[:, [best]]).max(axis=0) <= TIE_TOLERANCE
    second = next((int(k) for k in order[1:] if not tying[k]), None)
    first_s = log_s.min(axis=1)
    return BestChoice(
        {name: heads[best][name] for name in given},
        {name: heads[best][name] for name in choices},
        float(np.exp(log_s[:, best].mean())),
        None if second is None else {name: heads[second][name] for name in choices},
        *_margin(log_s, best, second, ~tying),
        int(tying.sum()) - 1,
        int((log_s[:, best] <= first_s + TIE_TOLERANCE).sum()),
        len(log_s),
        str(heads[best]["cell"]),
    )


def _by_seed(rows: pd.DataFrame, codes: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """Return ln(makespan), one row per seed that all choices have; else one row of means."""
    seeds, seed = np.unique(rows["seed"].map(str).to_numpy(), return_inverse=True)
    grid = np.full((len(seeds), codes.max() + 1), np.nan)
    grid[seed, codes] = np.log(rows["makespan_s"].to_numpy())
    common = grid[np.isfinite(grid).all(axis=1)]
    return common if len(common) else np.nanmean(grid, axis=0, keepdims=True)


def _margin(
    log_s: NDArray[np.float64], best: int, second: int | None, others: NDArray[np.bool_]
) -> tuple[float | None, float | None, float | None, bool | None]:
    """Return the margin of the second best, its interval, and whether all others are worse."""
    if second is None:
        return None, None, None, None
    gaps = log_s - log_s[:, [best]]
    margin = float(np.expm1(gaps[:, second].mean()))
    # Seeds that change nothing count as one run.
    if len(gaps) < MIN_BLOCKS or np.ptp(log_s, axis=0).max() <= TIE_TOLERANCE:
        return margin, None, None, None
    rivals = np.flatnonzero(others)
    ends = intervals(gaps[:, rivals])
    low, high = np.expm1(ends[rivals.tolist().index(second)])
    return margin, float(low), float(high), bool((ends[:, 0] > TIE_TOLERANCE).all())
