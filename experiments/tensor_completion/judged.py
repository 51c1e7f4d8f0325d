"""Tables of the errors of models, by application and number of samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import pandas as pd

from experiments.tensor_completion.learners import GENERAL_LEARNERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Found = Mapping[str, Any]

__all__ = [
    "Found",
    "all_errors",
    "application_names",
    "best_row",
    "errors_of",
    "errors_with_most",
    "failures",
    "high_dimensional",
    "least_errors",
    "left_out",
    "listed",
    "panel_title",
    "parameter_count",
    "with_most_samples",
]

MIN_HIGH_DIMENSIONS: Final = 6
"""Number of parameters from which an application is high-dimensional, as in the paper."""


def errors_of(found: Found, step: str) -> pd.DataFrame:
    """Return what was judged; those that failed have no error."""
    table = pd.DataFrame(found[step]["rows"])
    if "error" in table:
        table["error"] = pd.to_numeric(table["error"])
    return table


def all_errors(found: Found) -> pd.DataFrame:
    """Return tensors and other models in one table."""
    others = errors_of(found, "learners")
    return pd.concat([errors_of(found, "tensors"), others], ignore_index=True)


def with_most_samples(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the rows of an application with the most samples."""
    own = table[table["application"] == name]
    return cast("pd.DataFrame", own[own["samples"] == own["samples"].max()])


def least_errors(table: pd.DataFrame, by: str | list[str]) -> pd.Series:
    """Return the smallest error for each value of the columns *by*."""
    return table.groupby(by)["error"].min()


def best_row(table: pd.DataFrame) -> pd.Series:
    """Return the row with the smallest error."""
    return table.sort_values("error", kind="stable").iloc[0]


def application_names(found: Found) -> list[str]:
    """Return the applications in their order."""
    return list(found["datasets"])


def parameter_count(found: Found, name: str) -> int:
    """Return the number of parameters of an application."""
    return len(found["datasets"][name]["parameters"])


def high_dimensional(found: Found) -> list[str]:
    """Return the applications of many parameters."""
    return [
        name
        for name in application_names(found)
        if parameter_count(found, name) >= MIN_HIGH_DIMENSIONS
    ]


def panel_title(found: Found) -> Callable[[str], str]:
    """Return the function that makes the title of a panel of its application."""
    return lambda name: f"{name} ({parameter_count(found, name)} parameters)"


def listed(names: Iterable[str]) -> str:
    """Return names as a text."""
    return ", ".join(names) or "none"


def left_out(found: Found) -> str:
    """Return a sentence on learners that are not installed, if there are any."""
    if found["learners"]["installed"]:
        return ""
    return f" {', '.join(GENERAL_LEARNERS)} are left out: scikit-learn is not installed."


def failures(found: Found, *steps: str) -> str:
    """Return a sentence on the fits that failed in some steps, and why; empty if none did."""
    failed = [row for step in steps for row in found[step]["rows"] if row["error"] is None]
    if not failed:
        return ""
    kinds = sorted({row["family"] for row in failed})
    return f" {len(failed)} fits failed ({', '.join(kinds)}), the first: {failed[0]['why']}."


def errors_with_most(found: Found) -> pd.DataFrame:
    """Return all models of each application with the most samples."""
    table = all_errors(found)
    parts = [with_most_samples(table, name) for name in application_names(found)]
    every = pd.concat(parts)
    return every[every["error"].notna()]
