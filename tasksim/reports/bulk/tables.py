"""Tables of a scaling prediction: times by all methods, kernels, counters, messages.

All but the first compare each profile with the model: cycles per instruction and hidden memory time
of each kernel, counters with their functions, and messages with their costs.
"""

from __future__ import annotations

from math import isclose, nan
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.extras import needed_for
from tasksim.models.counters.costs import variance_over_runs
from tasksim.models.samples import HITS
from tasksim.reports.scaling_laws import nan_law, worley_law, worley_undetermined

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

    from tasksim.models.kinds.counted import CounterModel
    from tasksim.reports.bulk.prediction import BulkModel
    from tasksim.reports.bulk.profile import KernelOnRank, Profile

__all__ = [
    "SCALING_METHODS",
    "counter_table",
    "kernel_table",
    "median_errors",
    "message_table",
    "scaling_table",
    "undetermined",
]

POINT_TO_POINT: Final = "point to point"
"""Name of messages of no collective operation in tables."""
MIN_VARIATION: Final = 1e-12
"""Relative variation of a counter below which its R² is 1: the rest is rounding."""
MESSAGE_COLUMNS: Final = (
    "data", "collective", "ranks", "size", "work_per_rank", "fitted", "messages", "bytes",
    "modelled_messages", "modelled_bytes", "measured_s", "modelled_s",
)  # fmt: skip


SCALING_METHODS: Final = {
    "counters": "counters and messages, functions of work and ranks",
    "counted": "counters and messages, counted in the program",
    "simulated": "tasksim's simulation",
    "worley": "a/P + b P^c + d",
    "nan": "a size/P + b",
}
"""Columns of the table, with their descriptions."""


def scaling_table(
    model: BulkModel,
    fitted: Sequence[Profile],
    asked: Sequence[Profile],
    simulated_s: Sequence[float] | None = None,
) -> pd.DataFrame:
    """Return a row per *asked* profile, with the time by each method.

    Parameters
    ----------
    model : BulkModel
        A model of the *fitted* profiles. The two laws are fitted to them as well: Worley's to those
        of the same size, Nan's to all.
    fitted, asked : sequence of Profile
        Profiles to fit to and to predict. Measured times of the latter judge all methods.
    simulated_s : sequence of float, optional
        The simulated time of each asked profile, NaN if it was not simulated.

    Returns
    -------
    pandas.DataFrame
        ``ranks, size, measured_s``, per method its time ``..._s`` and error
        ``..._error_percent``; for the two methods with counters also the interval,
        ``..._low_s, ..._high_s``, and the parts of
        :data:`~tasksim.reports.bulk.prediction.TIME_PARTS`, ``..._computing_s`` and so on;
        ``measured_kernels_s``, the time of the kernels.
    """
    with needed_for("a prediction for more ranks"):
        import pandas as pd

    times = [nan] * len(asked) if simulated_s is None else simulated_s
    pairs = zip(asked, times, strict=True)
    return pd.DataFrame([_row(model, fitted, profile, seconds) for profile, seconds in pairs])


def _row(
    model: BulkModel, fitted: Sequence[Profile], profile: Profile, simulated_s: float
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "ranks": profile.ranks, "size": profile.size, "measured_s": profile.seconds,
        "measured_kernels_s": profile.kernels_s,
    }  # fmt: skip
    for name in ("counters", "counted"):
        found = model.predict(profile, counted=name == "counted")
        row |= {f"{name}_s": found.seconds, f"{name}_low_s": found.low_s}
        row[f"{name}_high_s"] = found.high_s
        row |= {f"{name}_{part}_s": seconds for part, seconds in found.parts_s().items()}
    row["simulated_s"] = simulated_s
    row["worley_s"] = _worley_s(fitted, profile)
    row["nan_s"] = _nan_s(fitted, profile)
    for name in SCALING_METHODS:
        row[f"{name}_error_percent"] = 100.0 * (row[f"{name}_s"] / profile.seconds - 1.0)
    return row


def undetermined(fitted: Sequence[Profile], table: pd.DataFrame) -> dict[str, str]:
    """Return law -> the reason why the *fitted* profiles do not determine some row of *table*."""
    found = {}
    whys = [
        worley_undetermined([p.ranks for p in fitted if isclose(p.size, size)])
        for size in table["size"]
    ]
    if why := next(filter(None, whys), ""):
        found["worley"] = f"{why}, of the size that is asked"
    if table["nan_s"].isna().any():
        found["nan"] = "needs runs with 2 different sizes per rank"
    return found


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
    """Return method -> median absolute error in percent, for methods with errors."""
    found = {}
    for name in SCALING_METHODS:
        errors = np.abs(table[f"{name}_error_percent"].to_numpy(float))
        if np.isfinite(errors).any():
            found[name] = float(np.nanmedian(errors))
    return found


def kernel_table(model: BulkModel, asked: Sequence[Profile]) -> pd.DataFrame:
    """Return a row per critical kernel and profile, of the rank with most of that kernel.

    Parameters
    ----------
    model : BulkModel
    asked : sequence of Profile
        Profiles beside those that the model was fitted to.

    Returns
    -------
    pandas.DataFrame
        ``kernel, ranks, size, work_per_rank, fitted``; ``instructions``; ``measured_s`` and
        ``modelled_s``; ``cycles_per_instruction`` in all; ``cpi``, cycles per instruction
        without memory, and ``cpi_variance`` over the fitted profiles; ``bf_mem``, the part of
        memory's time that computing does not hide.
    """
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for name, costs in model.kernels.items():
        mine = []
        for profile, fitted in _profiles(model, asked):
            if name not in profile.kernels:
                continue
            share, parts = profile.kernels[name], costs.parts([model.row(name, profile)])
            mine.append({
                "kernel": name, **_place(profile), "fitted": fitted,
                "instructions": share.counters.get("instructions", nan),
                "measured_s": share.seconds,
                "modelled_s": float(sum(part[0] for part in parts)), **_ratios(costs, share),
            })  # fmt: skip
        cpi = np.array([row["cpi"] for row in mine if row["fitted"]])
        variance = variance_over_runs(cpi, np.arange(len(cpi)))
        rows += [{**row, "cpi_core": costs.cpi_core_, "cpi_variance": variance} for row in mine]
    return pd.DataFrame(rows)


def _ratios(costs: CounterModel, share: KernelOnRank) -> dict[str, float]:
    """Return cycles per instruction and BF_mem of a *share*; from stalls if they were counted."""
    counted, seconds = share.counters, share.seconds
    waited_s = sum(
        latency_s * counted.get(HITS[level], 0.0) for level, latency_s in costs.latencies_s_.items()
    )
    hertz = counted.get("frequency_hz", costs.frequency_hz_)
    instructions = counted.get("instructions", nan)
    if {"cycles", "stall_cycles"} <= set(counted):
        all_cycles, stalled_s = counted["cycles"], counted["stall_cycles"] / hertz
    else:
        all_cycles = seconds * hertz
        computed_s = float(costs.costs_.computing_s(np.array([instructions]), hertz)[0])
        stalled_s = max(seconds - computed_s, 0.0)
    return {
        "cycles_per_instruction": all_cycles / instructions,
        "cpi": (all_cycles - costs.bf_mem_ * waited_s * hertz) / instructions,
        "bf_mem": stalled_s / waited_s if waited_s > 0 else nan,
    }


def counter_table(model: BulkModel, asked: Sequence[Profile]) -> pd.DataFrame:
    """Return a row per critical kernel, counter and profile.

    Returns
    -------
    pandas.DataFrame
        ``kernel, counter, ranks, size, work_per_rank, fitted``; ``counted`` and ``modelled``;
        ``abscissa`` and ``family`` of the function, and its ``r2`` over the fitted profiles.
    """
    import pandas as pd

    rows = []
    for name, costs in model.kernels.items():
        mine = [each for each in _profiles(model, asked) if name in each[0].kernels]
        modelled = costs.counted([model.row(name, profile) for profile, _ in mine])
        fitted = np.array([fitted for _, fitted in mine])
        for counter, values in modelled.items():
            counted = np.array([p.kernels[name].counters.get(counter, nan) for p, _ in mine])
            about = {
                "abscissa": model.abscissa[name], "family": costs.family(counter),
                "r2": _r2(counted[fitted], values[fitted]),
            }  # fmt: skip
            for index, (profile, known) in enumerate(mine):
                rows.append({
                    "kernel": name, "counter": counter, **_place(profile), "fitted": known,
                    "counted": float(counted[index]), "modelled": float(values[index]), **about,
                })  # fmt: skip
    return pd.DataFrame(rows)


def _r2(counted: Any, modelled: Any) -> float:
    total = float(((counted - counted.mean()) ** 2).sum())
    if total <= (MIN_VARIATION * counted.mean()) ** 2 * len(counted):
        return 1.0
    return 1.0 - float(((counted - modelled) ** 2).sum()) / total


def message_table(model: BulkModel, asked: Sequence[Profile]) -> pd.DataFrame:
    """Return a row per name of data and profile on several ranks, over all its ranks.

    Returns
    -------
    pandas.DataFrame
        ``data, collective`` (or "point to point"), ``ranks, size, work_per_rank, fitted``;
        ``messages`` and ``bytes`` of
        all ranks, counted and modelled; ``measured_s``, the time of all messages, one after the
        other, and ``modelled_s``, that of as many messages of this size, each alone.
    """
    import pandas as pd

    rows = []
    for profile, fitted in _profiles(model, asked):
        if profile.ranks < 2:
            continue
        for name, told in model.sent(profile).items():
            found = profile.sent.get(name)
            each_bytes = told.size_bytes / told.messages if told.messages else 0.0
            alone_s = model.costs.alone_s(profile.ranks, each_bytes)
            mean_bytes = found.size_bytes / found.messages if found and found.messages else 0.0
            operations = model.costs.collectives.get(name, ())
            rows.append({
                "data": name,
                "collective": "+".join(":".join(each) for each in operations) or POINT_TO_POINT,
                **_place(profile), "fitted": fitted,
                "messages": found.total if found else 0.0,
                "bytes": found.total * mean_bytes if found else 0.0,
                "modelled_messages": told.total, "modelled_bytes": told.total * each_bytes,
                "measured_s": profile.messages_s.get(name, nan),
                "modelled_s": told.total * alone_s,
            })  # fmt: skip
    return pd.DataFrame(rows, columns=list(MESSAGE_COLUMNS))


def _profiles(model: BulkModel, asked: Sequence[Profile]) -> Iterator[tuple[Profile, bool]]:
    """Yield all profiles, by ranks, with whether the model was fitted to them."""
    pairs = [(p, True) for p in model.profiles] + [(p, False) for p in asked]
    yield from sorted(pairs, key=lambda pair: (pair[0].size, pair[0].ranks))


def _place(profile: Profile) -> dict[str, float]:
    work = profile.size / profile.ranks
    return {"ranks": profile.ranks, "size": profile.size, "work_per_rank": work}
