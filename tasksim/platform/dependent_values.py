"""Dependent values of a platform file, such as cores after a change of counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tasksim.platform.names import entries

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "MEASURED",
    "Shortage",
    "counts",
    "fit_cores",
    "fit_drivers",
    "forget_measured",
    "frequencies",
    "keep_model_frequency",
]

MEASURED: Final = {"bandwidth": "measured_bandwidth", "latency": "measured_latency"}
"""Field of a link -> field with the value measured on a route that begins with the link."""


class Shortage(NamedTuple):
    """A *group* with more workers than cores to drive them."""

    group: str
    what: str


def counts(data: Mapping[str, Any]) -> dict[str, int]:
    """Return group -> its number of workers, if given."""
    groups = entries(data, "workers")
    return {name: group["count"] for name, group in groups if _is_count(group.get("count"))}


def frequencies(data: Mapping[str, Any]) -> dict[str, object]:
    """Return architecture -> its frequency as written, or None."""
    return {name: section.get("frequency") for name, section in entries(data, "arch")}


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 10**6


def fit_cores(group: dict[str, Any]) -> None:
    """Fit the cores of a *group* of workers to its changed count.

    Workers beyond those of the file are not bound to cores.
    """
    cores, count = group.get("cores"), group.get("count")
    if isinstance(cores, list) and isinstance(count, int) and _is_count(count):
        group["cores"] = cores[:count] + [None] * (count - len(cores))


def fit_drivers(
    data: dict[str, Any], before: Mapping[str, int], held: set[str]
) -> Iterator[tuple[str, str] | Shortage]:
    """Return the cores of unneeded drivers to their group, or take more cores of it.

    Parameters
    ----------
    data
        The data of a platform file, changed in place.
    before
        The counts in the file, by group.
    held
        The groups whose counts must not change.

    Yields
    ------
    tuple or Shortage
        For each changed group of cores, its name and that of the last group that changed it; or a
        shortage of cores.
    """
    now = counts(data)
    for cores in [name for name in now if name not in held]:
        driven = [name for name in now if data["workers"][name].get("drivers") == cores != name]
        changed = [name for name in driven if now[name] != before.get(name, now[name])]
        if not changed:
            continue
        drivers = sum(before.get(name, now[name]) for name in driven)
        left = now[cores] + drivers - sum(now[name] for name in driven)
        if left < 0:
            yield Shortage(changed[-1], _too_few(now, cores, driven, drivers))
            continue
        data["workers"][cores]["count"] = left
        fit_cores(data["workers"][cores])
        yield cores, changed[-1]


def _too_few(now: Mapping[str, int], cores: str, driven: list[str], drivers: int) -> str:
    needed = sum(now[name] for name in driven)
    names = " and ".join(driven)
    return (
        f"{needed} workers of {names} need {needed} cores of {cores} for their drivers, but there"
        f" are {now[cores] + drivers} ({now[cores]} workers of {cores}, {drivers} drivers)"
    )


def forget_measured(link: dict[str, Any], changes: Mapping[str, Any]) -> None:
    """Drop the measured values of a *link* whose numbers *changes* replace."""
    for number, measured in MEASURED.items():
        if number in changes and measured not in changes:
            link.pop(measured, None)


def keep_model_frequency(architecture: dict[str, Any], before: object) -> bool:
    """Keep the old frequency as that of the models' measurements, once it changes.

    *before* is the old frequency. Return whether it is known.
    """
    if architecture.get("model_frequency") is None and before is not None:
        architecture["model_frequency"] = before
    return architecture.get("model_frequency") is not None
