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
"""Field of a link -> field with its measured value on a route that begins with the link."""


class Shortage(NamedTuple):
    """More workers of a *group* than there are cores to drive them."""

    group: str
    what: str


def counts(data: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of workers of each group that has one."""
    groups = entries(data, "workers")
    return {name: group["count"] for name, group in groups if _is_count(group.get("count"))}


def frequencies(data: Mapping[str, Any]) -> dict[str, object]:
    """Return the frequency of each architecture as it is written, None where none is."""
    return {name: section.get("frequency") for name, section in entries(data, "arch")}


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 10**6


def fit_cores(group: dict[str, Any]) -> None:
    """Shorten or extend the cores of a *group* of workers whose count was changed.

    Workers beyond those of the file are bound to no core.
    """
    cores, count = group.get("cores"), group.get("count")
    if isinstance(cores, list) and isinstance(count, int) and _is_count(count):
        group["cores"] = cores[:count] + [None] * (count - len(cores))


def fit_drivers(
    data: dict[str, Any], before: Mapping[str, int], held: set[str]
) -> Iterator[tuple[str, str] | Shortage]:
    """Give the cores of drivers that are no longer needed to their group, or take more of it.

    Parameters
    ----------
    data
        The data of a platform file, changed in place.
    before
        The counts in the file, by group.
    held
        The groups whose counts are not to be changed.

    Yields
    ------
    tuple or Shortage
        Per group of cores that was changed, its name and that of the last group that changed it;
        where there are too few cores, what is wrong.
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
        f"{needed} workers of {names} need {needed} cores of {cores} for their drivers, and there "
        f"are {now[cores] + drivers} ({now[cores]} workers of {cores}, {drivers} drivers)"
    )


def forget_measured(link: dict[str, Any], changes: Mapping[str, Any]) -> None:
    """Drop what was measured of a *link* whose numbers *changes* replace."""
    for number, measured in MEASURED.items():
        if number in changes and measured not in changes:
            link.pop(measured, None)


def keep_model_frequency(architecture: dict[str, Any], before: object) -> bool:
    """Note at which frequency the models were measured, now that there is another one.

    *before* is the frequency that there was. Returns whether it is known.
    """
    if architecture.get("model_frequency") is None and before is not None:
        architecture["model_frequency"] = before
    return architecture.get("model_frequency") is not None
