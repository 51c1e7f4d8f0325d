"""Profiles by function: their file, their critical functions, the distance between two.

A function is critical if it has more than a share of the cost in one of several runs, or if its
cost per process does not fall with the processes; all others count as one (N. Ding et al., "APMT:
an automatic hardware counter-based performance modeling tool for HPC applications").
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.base.files import read_text, write_text
from tasksim.run.criticalkernels import MAX_FALLING_EXPONENT, MIN_RUNS, SHARE_THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = [
    "CriticalFunctions",
    "FunctionProfile",
    "FunctionScaling",
    "critical_functions",
    "read_profile",
    "shares_distance",
]

FILE_COLUMNS: Final = ("function", "object", "cost")
COST_UNITS: Final = ("samples", "instructions")
"""Units of costs: what perf and what Callgrind count."""
MIN_COST: Final = 1e-9
"""Cost that replaces zero for a function that a run does not have."""


@dataclass(frozen=True)
class FunctionProfile:
    """Cost of each function of a program, without the functions that it calls.

    Attributes
    ----------
    program : str
        The command line.
    unit : str
        ``"samples"`` or ``"instructions"``.
    costs : mapping
        (function, object file) -> its cost, over all processes; the largest first.
    """

    program: str
    unit: str
    costs: Mapping[tuple[str, str], float]

    @property
    def total(self) -> float:
        """The cost of all functions."""
        return sum(self.costs.values())

    def shares(self) -> dict[tuple[str, str], float]:
        """Return the share of the cost of each function."""
        return {name: cost / self.total for name, cost in self.costs.items()}

    def write(self, path: Path) -> None:
        """Write the profile as a CSV file."""
        out = io.StringIO(newline="")
        out.write(f"# program: {self.program}\n# unit: {self.unit}\n")
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(FILE_COLUMNS)
        writer.writerows([*name, f"{cost:.15g}"] for name, cost in self.costs.items())
        write_text(path, out.getvalue())


def read_profile(path: Path) -> FunctionProfile:
    """Return the profile in a file that ``tasksim profile`` wrote.

    Raises
    ------
    InputError
        If it is no such file, with the line.
    """
    lines = read_text(path).splitlines()
    about = dict(line[2:].partition(": ")[::2] for line in lines[:2] if line.startswith("# "))
    if (
        "unit" not in about
        or about["unit"] not in COST_UNITS
        or lines[2:3] != [",".join(FILE_COLUMNS)]
    ):
        raise InputError(f"{path}:1:1: is not a profile; legal: a file of 'tasksim profile -o'")
    costs = {}
    for number, row in enumerate(csv.reader(lines[3:]), 4):
        try:
            function, place, text = row
            cost = float(text)
        except ValueError:
            raise InputError(
                f"{path}:{number}:1: got '{','.join(row)}'; legal: {','.join(FILE_COLUMNS)}"
            ) from None
        if not 0 <= cost < float("inf"):
            raise InputError(f"{path}:{number}:1: cost: got '{text}'; legal: 0 or more")
        costs[function, place] = cost
    if not sum(costs.values()) > 0:
        raise InputError(f"{path}: no function has a cost")
    return FunctionProfile(about.get("program", ""), about["unit"], costs)


@dataclass(frozen=True)
class FunctionScaling:
    """Scaling of a function over several runs.

    Attributes
    ----------
    name, place : str
        The function, and its object file.
    shares : tuple of float
        Share of the cost, per run.
    exponent : float
        Exponent of the cost per process over the number of processes; -1 for ideal scaling.
    reason : str or None
        Reason why it is critical, as text; None if it is not.
    """

    name: str
    place: str
    shares: tuple[float, ...]
    exponent: float
    reason: str | None


@dataclass(frozen=True)
class CriticalFunctions:
    """Scaling of all functions over several runs.

    Attributes
    ----------
    processes : tuple of int
        Number of processes per run, ascending.
    functions : tuple of FunctionScaling
        The largest share first.
    threshold : float
        The share from which a function is critical.
    """

    processes: tuple[int, ...]
    functions: tuple[FunctionScaling, ...]
    threshold: float

    @property
    def critical(self) -> tuple[FunctionScaling, ...]:
        """The critical functions."""
        return tuple(found for found in self.functions if found.reason is not None)

    @property
    def not_scaling(self) -> tuple[FunctionScaling, ...]:
        """Critical functions whose cost does not fall, and whose share is small."""
        return tuple(f for f in self.critical if max(f.shares) <= self.threshold)

    @property
    def covered(self) -> float:
        """Smallest share, over the runs, of the cost of the critical functions."""
        return min(map(sum, zip(*(f.shares for f in self.critical), strict=True)), default=0.0)


MIN_SCALING_SHARE: Final = 5e-3
"""Share of the cost below which a function that does not scale is left in the rest: hundreds of
functions that load a program run as often on any number of processes."""


def critical_functions(
    profiles: Mapping[int, FunctionProfile],
    threshold: float = SHARE_THRESHOLD,
    *,
    of_one: bool = False,
) -> CriticalFunctions:
    """Return the critical functions, from runs on different numbers of processes.

    Parameters
    ----------
    profiles
        Number of processes -> the profile of all of them; of one size of the problem. Three or
        more: two points always lie on a line.
    threshold
        Share of the cost, in any run, from which a function is critical.
    of_one
        Whether each profile is of one of the processes, and not of all.

    Raises
    ------
    InputError
        If there are fewer profiles, or they have different units.
    """
    if not 0 < threshold < 1:
        raise InputError(f"threshold {threshold!r}: must be a share between 0 and 1")
    if len(profiles) < MIN_RUNS:
        raise InputError(
            f"critical functions need profiles on at least {MIN_RUNS} different numbers of "
            f"processes, got {', '.join(map(str, sorted(profiles))) or 'none'}"
        )
    if len(units := sorted({profile.unit for profile in profiles.values()})) > 1:
        raise InputError(f"profiles in different units: {', '.join(units)}")
    ordered = sorted(profiles.items())
    shares = [profile.shares() for _, profile in ordered]
    names = dict.fromkeys(name for share in shares for name in share)
    processes = np.array([number for number, _ in ordered], float)
    found = []
    for name in names:
        mine = tuple(share.get(name, 0.0) for share in shares)
        each = np.array([profile.costs.get(name, 0.0) for _, profile in ordered])
        if not of_one:
            each = each / processes
        logs = np.log(np.maximum(each, MIN_COST))
        exponent = float(np.polyfit(np.log(processes), logs, 1)[0])
        reason = None
        if max(mine) > threshold:
            reason = f"takes {100 * max(mine):.1f} % of the cost"
        elif exponent > MAX_FALLING_EXPONENT and max(mine) >= MIN_SCALING_SHARE:
            reason = "its cost does not fall with the processes"
        found.append(FunctionScaling(*name, mine, exponent, reason))
    found.sort(key=lambda one: (-max(one.shares), one.name, one.place))
    return CriticalFunctions(tuple(sorted(profiles)), tuple(found), threshold)


def shares_distance(one: FunctionProfile, other: FunctionProfile) -> float:
    """Return the normalized distance of the shares in two profiles (equation 1 of APMT).

    It is the square root of the differences' squares, weighted with the shares of *one*, divided
    by the difference between the largest and the smallest share.

    Examples
    --------
    >>> one = FunctionProfile("a", "samples", {("f", ""): 3.0, ("g", ""): 1.0})
    >>> other = FunctionProfile("a", "instructions", {("f", ""): 70.0, ("g", ""): 30.0})
    >>> round(shares_distance(one, other), 6)
    0.1
    """
    first, second = _by_name(one), _by_name(other)
    names = [*first, *(name for name in second if name not in first)]
    t = np.array([first.get(name, 0.0) for name in names])
    r = np.array([second.get(name, 0.0) for name in names])
    both = np.concatenate([t, r])
    spread = float(both.max() - both.min())
    distance = float(np.sqrt((t * (t - r) ** 2).sum()))
    return distance / spread if spread else distance


def _by_name(profile: FunctionProfile) -> dict[str, float]:
    """Return the shares by function alone: tools name the same file in different ways."""
    found: dict[str, float] = {}
    for (name, _), share in profile.shares().items():
        found[name] = found.get(name, 0.0) + share
    return found
