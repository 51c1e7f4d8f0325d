"""Table of a program's scaling: what was measured, and what each method foretells of it."""

from __future__ import annotations

from math import isclose, nan
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.study.scaling import nan_law, worley_law, worley_undetermined

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from tasksim.study.bulk.prediction import BulkModel
    from tasksim.study.bulk.profile import Profile

__all__ = ["METHODS", "median_errors", "scaling_table", "undetermined"]

METHODS: Final = {
    "counters": "counters and messages, functions of work and ranks",
    "counted": "counters and messages, counted in the program",
    "simulated": "tasksim's simulation",
    "worley": "a/P + b P^c + d",
    "nan": "a size/P + b",
}
"""Columns of the table, with what they are."""


def scaling_table(
    model: BulkModel,
    fitted: Sequence[Profile],
    asked: Sequence[Profile],
    simulated_s: Sequence[float] | None = None,
) -> pd.DataFrame:
    """Return a row per profile that is *asked* about, with the time by each method.

    Parameters
    ----------
    model : BulkModel
        Fitted to the profiles *fitted*, as the two laws are: Worley's to those of the same size,
        Nan's to all.
    fitted, asked : sequence of Profile
        Of the latter the times, where they have some, judge all methods.
    simulated_s : sequence of float, optional
        The simulated time of each that is asked about, NaN where it was not simulated.

    Returns
    -------
    pandas.DataFrame
        ``ranks, size, measured_s``, per method its time ``..._s`` and error
        ``..._error_percent``; ``counters_low_s, counters_high_s`` and ``counted_low_s,
        counted_high_s`` of the two that have intervals.
    """
    import pandas as pd

    times = [nan] * len(asked) if simulated_s is None else simulated_s
    pairs = zip(asked, times, strict=True)
    return pd.DataFrame([_row(model, fitted, profile, seconds) for profile, seconds in pairs])


def _row(
    model: BulkModel, fitted: Sequence[Profile], profile: Profile, simulated_s: float
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "ranks": profile.ranks, "size": profile.size, "measured_s": profile.seconds,
    }  # fmt: skip
    for name in ("counters", "counted"):
        found = model.predict(profile, counted=name == "counted")
        row |= {f"{name}_s": found.seconds, f"{name}_low_s": found.low_s}
        row[f"{name}_high_s"] = found.high_s
    row["simulated_s"] = simulated_s
    row["worley_s"] = _worley_s(fitted, profile)
    row["nan_s"] = _nan_s(fitted, profile)
    for name in METHODS:
        row[f"{name}_error_percent"] = 100.0 * (row[f"{name}_s"] / profile.seconds - 1.0)
    return row


def undetermined(fitted: Sequence[Profile], table: pd.DataFrame) -> dict[str, str]:
    """Return law -> why the profiles *fitted* do not determine it for some row of *table*."""
    found = {}
    whys = [worley_undetermined(_ranks_of_size(fitted, size)) for size in table["size"]]
    if why := next(filter(None, whys), ""):
        found["worley"] = f"{why}, of the size that is asked"
    if table["nan_s"].isna().any():
        found["nan"] = "needs runs with 2 different sizes per rank"
    return found


def _ranks_of_size(fitted: Sequence[Profile], size: float) -> list[int]:
    return [p.ranks for p in fitted if isclose(p.size, size)]


def _worley_s(fitted: Sequence[Profile], profile: Profile) -> float:
    same = [p for p in fitted if isclose(p.size, profile.size)]
    if worley_undetermined([p.ranks for p in same]):
        return nan
    law = worley_law([p.ranks for p in same], [p.seconds for p in same])
    return float(law.seconds(profile.ranks))


def _nan_s(fitted: Sequence[Profile], profile: Profile) -> float:
    if len({p.ranks for p in fitted}) < 2:
        return nan
    columns = ([getattr(p, name) for p in fitted] for name in ("ranks", "size", "seconds"))
    return float(nan_law(*columns).seconds(profile.ranks, profile.size))


def median_errors(table: pd.DataFrame) -> dict[str, float]:
    """Return method -> the median of its absolute errors in percent, of methods that have some."""
    found = {}
    for name in METHODS:
        errors = np.abs(table[f"{name}_error_percent"].to_numpy(float))
        if np.isfinite(errors).any():
            found[name] = float(np.nanmedian(errors))
    return found
