"""Energy models of StarPU: codelet files that have joules where others have microseconds.

Nothing in such a file says so, as StarPU has one structure for both. What tells is the name: that
of the model of durations with :data:`SUFFIX` behind it, as in StarPU's own programs.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from tasksim.formats.starpu.codelet_file import (
        Codelet,
        HistoryEntry,
        Implementation,
        Regression,
    )

__all__ = ["SUFFIX", "energy_of", "from_joules", "to_joules"]

SUFFIX: Final = "_energy"
"""Suffix that StarPU's own programs append to the name of a duration model."""
UNIT: Final = 1e6
"""Models have seconds where files have microseconds: with so much more, they have joules."""


def energy_of(name: str, names: Collection[str]) -> str | None:
    """Return the kernel among *names* whose energy the model *name* is; None if it is of none.

    >>> energy_of("gemm_energy", ["gemm", "gemm_energy"]), energy_of("kinetic_energy", ["gemm"])
    ('gemm', None)
    """
    kernel = name.removesuffix(SUFFIX)
    return kernel if kernel != name and kernel in names else None


def to_joules(codelet: Codelet) -> Codelet:
    """Return *codelet* so that models made of it predict joules, not microjoules."""
    return _scaled(codelet, UNIT)


def from_joules(codelet: Codelet) -> Codelet:
    """Return the *codelet* that models of joules have made, with joules in it."""
    return _scaled(codelet, 1.0 / UNIT)


def _scaled(codelet: Codelet, factor: float) -> Codelet:
    combinations = (
        replace(found, implementations=tuple(_each(found.implementations, factor)))
        for found in codelet.combinations
    )
    return replace(codelet, combinations=tuple(combinations))


def _each(implementations: tuple[Implementation, ...], factor: float) -> Iterator[Implementation]:
    for found in implementations:
        a, b, c = found.nonlinear
        yield replace(
            found,
            entries=tuple(_entry(entry, factor) for entry in found.entries),
            regression=_regression(found.regression, factor),
            nonlinear=(_rounded(a * factor), b, _rounded(c * factor)),
            coefficients=tuple(_rounded(value * factor) for value in found.coefficients),
        )


def _entry(entry: HistoryEntry, factor: float) -> HistoryEntry:
    return replace(
        entry,
        mean_us=_rounded(entry.mean_us * factor),
        deviation_us=_rounded(entry.deviation_us * factor),
        sum=_rounded(entry.sum * factor),
        sum2=_rounded(entry.sum2 * factor**2),
    )


def _regression(found: Regression, factor: float) -> Regression:
    return found._replace(
        sum_lny=found.sum_lny + found.n * math.log(factor),
        sum_lnxlny=found.sum_lnxlny + found.sum_lnx * math.log(factor),
        alpha=_rounded(found.alpha * factor),
    )


def _rounded(value: float) -> float:
    """Return *value* to 15 digits: those that the change of units adds are none."""
    return float(f"{value:.14e}")
