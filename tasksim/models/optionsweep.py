"""Sweep over options of a kind of model: a fit with each combination of their values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tasksim.base.errors import InputError
from tasksim.models.selection import select

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tasksim.base.progress import ShareProgress
    from tasksim.models.samples import Samples
    from tasksim.models.selection import Selection

__all__ = ["Trial", "best_trial", "sweep"]


@dataclass(frozen=True)
class Trial:
    """A fit with some values of options.

    Attributes
    ----------
    values : dict
        Option, under the name that the caller gave -> its value.
    selection : Selection
        The fitted model, with its error on what was left out.
    """

    values: Mapping[str, Any]
    selection: Selection

    @property
    def error(self) -> float | None:
        """Mean error (MLogQ) on configurations left out; None if there were too few."""
        return self.selection.chosen.mlogq_cv


def sweep(
    samples: Samples,
    kind: str,
    trials: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]],
    *,
    budget_s: float = 30.0,
    seed: int = 0,
    domain: Mapping[str, tuple[float, float]] | None = None,
    progress: ShareProgress | None = None,
) -> list[Trial]:
    """Fit a model of *kind* to *samples* for each of *trials*.

    Parameters
    ----------
    samples : Samples
    kind : str
    trials : sequence of (mapping, mapping)
        Values as they are reported, and options of the model.
    budget_s : float
        Processor time of all fits together.
    seed : int
    domain : mapping, optional
        Ranges that predictions will be asked for, as of :func:`tasksim.select`.
    progress : callable, optional
        Called with the current activity and the share that is done.

    Raises
    ------
    InputError
        If there are no trials, or a model cannot be fitted.

    Examples
    --------
    >>> from tasksim.models.samples import Samples
    >>> n = [1.0 + i for i in range(40)]
    >>> samples = Samples(("n",), [[x] for x in n], [1e-3 * x for x in n])
    >>> found = sweep(samples, "cp", [({"cells": c}, {"cells": c, "rank": 1}) for c in (2, 8)])
    >>> [trial.values for trial in found]
    [{'cells': 2}, {'cells': 8}]
    """
    if not trials:
        raise InputError("no values to sweep over")
    found = []
    for number, (values, options) in enumerate(trials):
        if progress is not None:
            said = ", ".join(f"{name} {value}" for name, value in values.items())
            progress(said, number / len(trials))
        fitted = select(
            samples, (kind,), budget_s=budget_s / len(trials), seed=seed,
            options={kind: dict(options)}, domain=domain,
        )  # fmt: skip
        found.append(Trial(values, fitted))
    return found


def best_trial(trials: Sequence[Trial]) -> Trial:
    """Return the trial with the smallest error; the first, if none has one."""
    return min(trials, key=lambda trial: float("inf") if trial.error is None else trial.error)
