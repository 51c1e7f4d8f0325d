"""Coverage of the domain by samples: repetitions, values per parameter, extrapolation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.models.columns import CLOCK, bounding_parameters, columns
from tasksim.models.diagnosis.findings import Finding
from tasksim.models.rows import describe_row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.samples import Samples

__all__ = [
    "beyond",
    "extrapolation",
    "few_repetitions",
    "few_values",
    "together",
]

MIN_REPETITIONS: Final = 5
"""Recommended number of repetitions: with fewer, the standard deviation of a configuration is
itself uncertain by a third and more."""
MAX_SELDOM_SHARE: Final = 0.1
"""Share of configurations that may have fewer: rare ones are necessarily few, and take little time
in total."""
MIN_VALUES: Final = 5
"""Recommended number of values per parameter, the same as in Extra-P: four fix a curve of two
terms, the fifth tests it."""
MIN_CORRELATION: Final = 0.99
"""Correlation of logarithms above which two parameters vary together: at 0.99, a seventh of the
spread of one is independent of the other, too little to separate them in any noise."""


def few_repetitions(model: KernelModel, samples: Samples) -> list[Finding]:
    """Return a finding if configurations have too few repetitions.

    It is a warning for models that know each configuration from its own samples. For others,
    whose configurations support each other, it is a note if most were measured once.
    """
    count = np.bincount(samples.configurations()[1])
    share = float((count < MIN_REPETITIONS).mean())
    if share <= MAX_SELDOM_SHARE:
        return []
    alone = model.exact
    if not alone and (count > 1).mean() >= 0.5:
        return []
    seldom = int((count < MIN_REPETITIONS).sum())
    message = f"{seldom} of {len(count)} configurations have fewer than {MIN_REPETITIONS} samples"
    if not alone:
        message += ", most only one: noise and model error are indistinguishable"
    return [
        Finding(
            "few-repetitions",
            "warning" if alone else "note",
            message,
            {"share": share, "configurations": len(count), "least": int(count.min())},
            "measure them more often, in several runs",
        )
    ]


def few_values(model: KernelModel, samples: Samples) -> list[Finding]:
    """Return a finding per parameter with too few values to determine the shape of a curve."""
    if not model.extrapolates:
        return []
    found = []
    for name in model.used_parameters():
        if model.needs_counters and name == CLOCK:
            continue  # the model knows how durations depend on the clock
        values = len(np.unique(samples.parameters[:, samples.names.index(name)]))
        if values >= MIN_VALUES:
            continue
        seen = "never varies" if values == 1 else f"has only {values} values"
        found.append(
            Finding(
                "few-values",
                "warning" if values == 2 else "note",
                f"{name} {seen}: its effect on the duration is poorly determined",
                {"values": values},
                f"measure {MIN_VALUES} or more values of {name}, a constant factor apart",
                (name,),
            )
        )
    return found


def together(model: KernelModel, samples: Samples) -> list[Finding]:
    """Return a note per group of parameters that always vary together."""
    names = model.used_parameters()
    rows, _ = samples.configurations()
    table = rows[:, [samples.names.index(name) for name in names]]
    found: list[Finding] = []
    done: set[str] = set()
    if len(table) < 4:
        return found
    for index, name in enumerate(names):
        if name in done:
            continue
        others = [
            other
            for column, other in enumerate(names)
            if column > index
            and abs(correlation(table[:, index], table[:, column])) > MIN_CORRELATION
        ]
        if others:
            done.update(others)
            found.append(_together((name, *others)))
    return found


def correlation(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Return the correlation of the logarithms, 0 if one is constant."""
    x, y = np.log1p(a), np.log1p(b)
    x, y = x - x.mean(), y - y.mean()
    size = float(np.sqrt((x**2).sum() * (y**2).sum()))
    return float((x * y).sum()) / size if size > 1e-12 else 0.0


def extrapolation(
    model: KernelModel, names: Sequence[str], asked: NDArray[np.float64], what: str
) -> list[Finding]:
    """Return a finding if *asked* rows lie outside the range where the model was fitted."""
    table = columns(model, names, asked)
    outside = ~model.inside(table)
    for name, value in model.fixed_.items():
        if name in names:
            outside |= asked[:, names.index(name)] != value
    if not outside.any():
        return []
    factors = beyond(model, table)
    furthest = int(np.argmax(factors))
    factor, share = float(factors[furthest]), float(outside.mean())
    row = describe_row(model.names_, table[furthest])
    far = f", up to {_times(factor)} beyond its box ({row})" if factor > 1 else ""
    return [
        Finding(
            "extrapolation",
            "warning",
            f"{int(outside.sum())} of {len(table)} {what} are where the model was not "
            f"fitted{far}; fitted: {model.measured()}",
            {"rows": int(outside.sum()), "share": share, "factor": factor},
            "measure configurations there: errors grow quickly outside, and no number here "
            "says how much",
        )
    ]


def beyond(model: KernelModel, table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the factor by which each row exceeds the box of the domain; 1 inside.

    It is the largest over the bounding parameters; infinite beyond a bound of 0.
    """
    bounding = bounding_parameters(model)
    low, high = np.array([model.domain_[name] for name in bounding]).reshape(-1, 2).T
    table = table[:, [model.names_.index(name) for name in bounding]]
    with np.errstate(divide="ignore", invalid="ignore"):
        over = np.where(table > high, table / high, 1.0)
        under = np.where(table < low, low / table, 1.0)
    factors: NDArray[np.float64] = np.maximum(over, under).max(axis=1, initial=1.0)
    return factors


def _times(factor: float) -> str:
    return f"{factor:.3g} times" if np.isfinite(factor) else "infinitely many times"


def _together(names: tuple[str, ...]) -> Finding:
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    return Finding(
        "together",
        "note",
        f"{listed} vary together in all samples: the model is known on that line only, though "
        "its box is wider",
        {"parameters": len(names)},
        "measure configurations in which they differ, if the application has such tasks",
        names,
    )
