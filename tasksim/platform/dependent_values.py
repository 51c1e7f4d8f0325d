"""Dependent values of a platform file, such as cores after a change of counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tasksim.platform.cross_references import entries

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MEASURED", "fit_cores", "frequencies", "is_count", "keep_model_frequency"]

MEASURED: Final = {"bandwidth": "measured_bandwidth", "latency": "measured_latency"}
"""Field of a link -> field with the value measured on a route that begins with the link."""


def frequencies(data: Mapping[str, Any]) -> dict[str, object]:
    """Return architecture -> its frequency as written, or None."""
    return {name: section.get("frequency") for name, section in entries(data, "arch")}


def is_count(value: object) -> bool:
    """Return whether *value* is a number of workers that a platform may have."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 10**6


def fit_cores(group: dict[str, Any]) -> None:
    """Fit the cores of a *group* of workers to its changed count.

    Workers beyond those of the file are not bound to cores.
    """
    cores, count = group.get("cores"), group.get("count")
    if isinstance(cores, list) and isinstance(count, int) and is_count(count):
        group["cores"] = cores[:count] + [None] * (count - len(cores))


def keep_model_frequency(architecture: dict[str, Any], before: object) -> bool:
    """Keep the old frequency as that of the models' measurements, once it changes.

    *before* is the old frequency. Return whether it is known.
    """
    if architecture.get("model_frequency") is None and before is not None:
        architecture["model_frequency"] = before
    return architecture.get("model_frequency") is not None
