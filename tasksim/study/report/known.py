"""Tight bounds and best known makespans of the cells of a study, beyond its own runs."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import InputError
from tasksim.scenario.recorded import plan_in
from tasksim.study.sweep.columns import COMPUTED
from tasksim.study.sweep.lookup import scenarios_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd

    from tasksim.base.progress import ShareProgress
    from tasksim.scenario.scenario import Scenario

__all__ = ["with_known"]


def with_known(
    frame: pd.DataFrame,
    folder: Path,
    *,
    tight: bool,
    best: Sequence[Path],
    progress: ShareProgress,
    trust: bool = False,
) -> pd.DataFrame:
    """Return the table of a study with tight bounds and best known makespans of its cells.

    Only simulations without noise on one node have them; cells that differ in the scheduler and the
    seed alone share them. A warning says how many have too many tasks for a tight bound.

    Parameters
    ----------
    frame : pandas.DataFrame
        The cells.
    folder : Path
        The study.
    tight : bool
        Whether ``lower_bound_s`` becomes the mixed bound, where that is larger.
    best : sequence of Path
        Folders of results of :func:`tasksim.optimize`. Each plan is replayed in the cells whose
        graph and workers it fits; ``best_known_s`` is the shortest makespan of these and of the
        cells themselves.
    progress : callable
        Called with a message and the share that is done.
    trust : bool, default False
        Whether to import generators that cells name as ``MODULE:NAME``; schedulers are not needed.

    Raises
    ------
    InputError
        If a folder of *best* has no plan, or its plan fits no cell.
    """
    plans = [plan_in(path) for path in best]
    done = np.flatnonzero(frame["status"] == COMPUTED).tolist()
    asked: dict[Scenario, list[int]] = {}
    cells = [str(frame["cell"].iloc[row]) for row in done]
    scenarios = scenarios_of(folder, cells, scheduler="eager", trust=trust)
    for row, scenario in zip(done, scenarios, strict=True):
        if scenario.clock == "simulated" and scenario.noise == "none" and not scenario.nodes:
            asked.setdefault(scenario.vary(seed=0), []).append(row)
    made = frame.copy()
    bounds_s = frame["lower_bound_s"].to_numpy(float, copy=True)
    known_s = np.full(len(frame), np.nan)
    misfits: dict[Path, InputError | None] = dict.fromkeys(plans)
    fits: set[Path] = set()
    too_large = 0
    for step, (scenario, rows) in enumerate(asked.items()):
        progress(scenario.label, step / len(asked))
        if tight:
            bound_s = _tight_s(scenario)
            too_large += bound_s is None
            bounds_s[rows] = np.fmax(bounds_s[rows], bound_s or 0.0)
        for plan in plans:
            try:
                run = scenario.vary(scheduler=f"static:file={plan}").solve()
            except InputError as error:
                misfits[plan] = error
                continue
            fits.add(plan)
            known_s[rows] = np.fmin(known_s[rows], run.makespan_s)
        if np.isfinite(known_s[rows]).any():
            known_s[rows] = min(known_s[rows].min(), frame["makespan_s"].iloc[rows].min())
    for plan in plans:
        if plan not in fits:
            why = misfits[plan] or "none is a simulation of one node without noise"
            raise InputError(f"{plan} fits no cell of {folder}: {why}")
    if too_large:
        from tasksim.optimization.bounds import MAX_MIXED_TASKS

        warnings.warn(
            f"tight bounds are for at most {MAX_MIXED_TASKS} tasks, and {too_large} of the"
            f" {len(asked)} graphs and machines have more: their lower bound is that of the study",
            stacklevel=2,
        )
    made["lower_bound_s"] = bounds_s
    if plans:
        made["best_known_s"] = known_s
    return made


def _tight_s(scenario: Scenario) -> float | None:
    """Return the best of the tight bounds, in seconds; None if there are too many tasks."""
    from tasksim.optimization.bounds import MAX_MIXED_TASKS, tight_bounds
    from tasksim.optimization.replayer import Replayer
    from tasksim.scenario.resolved import resolve

    resolved = resolve(scenario)
    if len(resolved.graph) > MAX_MIXED_TASKS:
        return None
    return max(bound.value_s for bound in tight_bounds(Replayer(resolved.simulation())))
