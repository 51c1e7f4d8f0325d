"""Axes of a live page: what its sliders and choices change, each as a path of ``--set``.

Only what a command can say is an axis, so that a page offers no answer that `tasksim simulate` does
not give.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any, Final, Literal

from tasksim.base.errors import InputError
from tasksim.platform.layers import entries, names
from tasksim.platform.load import load, settable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from tasksim.platform.description import Platform
    from tasksim.scenario.resolved import Resolved

__all__ = [
    "MOST_MACHINES",
    "LiveAxis",
    "PartNames",
    "PartsByName",
    "axes_of",
    "count_values",
    "data_of",
    "thin",
]

PanelSection = Literal[
    "graph", "nodes", "workers", "speed", "kernel", "bandwidth", "latency", "memory", "overhead",
    "network_bandwidth", "network_latency", "message", "message_factor",
]  # fmt: skip

_SETTABLE_NAME: Final = re.compile(r"[^.*?\[\]=\s][^.*?\[\]=]*")
"""A name that a path of ``--set`` can have: no dots, which part it, and no wildcards."""
_COUNTS: Final = (1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 96, 128, 192, 256)
"""Worker counts that a slider offers, beside the present one and its neighbours."""
_LARGER_MACHINE: Final = 16
"""Worker count that a slider reaches at least, if it is the only one: from a laptop to a node."""
_OVERHEADS: Final = (
    "task", "submission", "wakeup", "start", "creation", "dependence", "push", "fetch", "progress",
    "kernel", "copy",
)  # fmt: skip
"""Overheads that a slider can change, where the platform has them."""
MOST_MACHINES: Final = 160
"""Maximum number of machines in a page, one per combination of worker counts: to settle one takes
some 10 ms, and a page some kilobytes."""


@dataclass(frozen=True)
class LiveAxis:
    """One quantity that a live page can change.

    Attributes
    ----------
    section : str
        The kind of quantity.
    name : str
        The parameter of the graph, the entry of the platform file, the kernel, or the overhead;
        ``*`` for all entries.
    base : float or str
        The present value of a parameter or a count or, in seconds, of an overhead or the cost of a
        message; else factor 1.
    values : tuple of int, float or str, default ()
        The legal values of a parameter or a count of nodes or workers; other quantities have a
        fixed scale.
    """

    section: PanelSection
    name: str
    base: float | str = 1.0
    values: tuple[int | float | str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


@dataclass(frozen=True)
class PartNames:
    """Names in a platform file of the parts of a platform.

    Attributes
    ----------
    links, memories : list of str or None
        Per link and memory of the platform its entry; None if ``--set`` cannot change it.
    """

    links: list[str | None]
    memories: list[str | None]


class PartsByName:
    """The entries of a platform file for the parts of a platform.

    Devices beyond those of the file have links that are copies of its links: so the file is read
    once more for each set of links and memories, each entry changed by another factor.

    Parameters
    ----------
    library : Path or None
        Where what the file extends is looked for first.
    data : dict
        The sections of the file; empty if ``--set`` cannot change it.
    """

    def __init__(self, library: Path | None, data: dict[str, Any]) -> None:
        self._library = library
        self._links = _settable(names(data, "links"))
        sized = (name for name, section in entries(data, "memories") if section.get("size"))
        self._memories = _settable(sized)
        self._found: dict[tuple[str, ...], PartNames] = {}

    def __call__(self, resolved: Resolved) -> PartNames:
        """Return the entries for the platform of a scenario."""
        platform = resolved.platform
        key = (*(link.name for link in platform.links), *(m.name for m in platform.memories))
        if key not in self._found:
            self._found[key] = self._of(platform, resolved.scenario.platform_changes)
        return self._found[key]

    def _of(self, platform: Platform, changes: Sequence[str]) -> PartNames:
        links, memories = self._links, self._memories
        probes = [
            *(f"platform.links.{name}.bandwidth=x{k}" for k, name in enumerate(links, 2)),
            *(f"platform.memories.{name}.size=x{k}" for k, name in enumerate(memories, 2)),
        ]
        unknown = PartNames([None] * len(platform.links), [None] * len(platform.memories))
        if not probes or platform.path is None:
            return unknown
        try:
            probed = load(platform.path, self._library, [*changes, *probes])
        except InputError:
            return unknown
        both = platform, probed
        rates = [[link.bandwidth_bytes_per_s for link in of.links] for of in both]
        sizes = [[memory.size_bytes or 0.0 for memory in of.memories] for of in both]
        return PartNames(
            _by_factor(rates[0], rates[1], links), _by_factor(sizes[0], sizes[1], memories)
        )


def axes_of(
    resolved: Resolved,
    data: dict[str, Any],
    parts: PartNames,
    *,
    scalable: bool,
    kernels: list[str],
    creations: bool = False,
    most_machines: int = MOST_MACHINES,
) -> list[LiveAxis]:
    """Return what a page can change of a platform, from the *data* of its file.

    Parameters
    ----------
    resolved : Resolved
    data : dict
        Sections of the platform file; empty without one.
    parts : PartNames
        The entries of its links and memories.
    scalable : bool
        Whether durations follow the speeds of architectures.
    kernels : list of str
        The kernels whose tasks take the same time on each class of workers.
    creations : bool, default False
        Whether the graph is recorded on one thread, so that more of them pay for creations.
    most_machines : int, default MOST_MACHINES
        Maximum number of combinations of worker counts.
    """
    platform = resolved.platform
    found: list[LiveAxis] = []
    if resolved.scenario.workers is not None:
        counts = {"": len(platform.workers)}
    else:
        counts = {
            name: section["count"]
            for name, section in entries(data, "workers")
            if _SETTABLE_NAME.fullmatch(name) and isinstance(section.get("count"), int)
        }
    offered = count_values(counts, most_machines)
    found += [LiveAxis("workers", name, counts[name], values) for name, values in offered.items()]
    if scalable:
        known = _settable(names(data, "arch"))
        found += [LiveAxis("speed", name) for name in platform.architectures if name in known]
    found += [LiveAxis("kernel", name) for name in kernels]
    found += _of_links(platform, parts)
    found += [LiveAxis("memory", name) for name in _present(parts.memories)]
    if data:
        overheads = platform.overheads
        used = [
            name
            for name in _OVERHEADS
            if getattr(overheads, f"{name}_s") or name in ("task", "submission")
            if creations or name not in ("creation", "dependence")
        ]
        found += [LiveAxis("overhead", name, getattr(overheads, f"{name}_s")) for name in used]
    return found


def count_values(counts: dict[str, int], most: int = MOST_MACHINES) -> dict[str, tuple[int, ...]]:
    """Return the worker counts that sliders of groups offer, up to twice the present *counts*.

    A group alone keeps a worker, and may have as many as a larger machine. Of many groups each has
    few values, and the last ones have none, such that there are at *most* so many combinations.

    >>> count_values({"cpu": 9})
    {'cpu': (1, 2, 3, 4, 6, 8, 9, 10, 12, 16, 18, 20)}
    >>> count_values({"cpu": 2})
    {'cpu': (1, 2, 3, 4, 6, 8, 10, 12, 16)}
    >>> count_values({"gpu": 2, "cpu": 4})
    {'gpu': (0, 1, 2, 3, 4), 'cpu': (0, 1, 2, 3, 4, 5, 6, 8)}
    """
    least = 0 if len(counts) > 1 else 1
    found = {}
    for name, count in counts.items():
        top = max(2 * count, count + 2 if len(counts) > 1 else _LARGER_MACHINE)
        near = {least, count - 1, count, count + 1, 2 * count}
        values = sorted({*near, *(value for value in _COUNTS if value <= 1.2 * top)})
        found[name] = [value for value in values if value >= least]
    while found and prod(len(values) + 1 for values in found.values()) > most:
        name = max(found, key=lambda name: len(found[name]))
        if len(found[name]) > 3:
            thin(found[name], counts[name])
        else:
            found.popitem()
    return {name: tuple(values) for name, values in found.items()}


def thin(values: list[int], kept: int) -> None:
    """Remove the value whose neighbours are closest to each other: it tells least."""
    inner = [place for place in range(1, len(values) - 1) if values[place] != kept]
    values.pop(min(inner, key=lambda place: values[place + 1] / max(values[place - 1], 0.5)))


def _of_links(platform: Platform, parts: PartNames) -> list[LiveAxis]:
    """Return the axes of links: all together, then each; latency where there is one."""
    links = _present(parts.links)
    if not links:
        return []
    slow = {
        name
        for name, link in zip(parts.links, platform.links, strict=True)
        if name is not None and link.latency_s
    }
    found = [LiveAxis("bandwidth", "*"), *([LiveAxis("latency", "*")] if slow else [])]
    if len(links) > 1:
        found += [LiveAxis("bandwidth", name) for name in links]
        found += [LiveAxis("latency", name) for name in links if name in slow]
    return found


def data_of(platform: Platform, library: Path | None, changes: Sequence[str]) -> dict[str, Any]:
    """Return the sections of the file of *platform*; empty if ``--set`` cannot change it.

    A recorded run may have changes of its own: then its file and *changes* make another platform.
    """
    path = platform.path
    if path is None or path.suffix not in (".yaml", ".yml"):
        return {}
    with suppress(InputError):
        again = load(path, library, changes)
        # The models of kernels may have added their energies.
        if replace(again, power=platform.power) == platform:
            return settable(path, library, changes)
    return {}


def _settable(given: Iterable[str]) -> list[str]:
    return [name for name in given if _SETTABLE_NAME.fullmatch(name)]


def _present(given: list[str | None]) -> list[str]:
    return list(dict.fromkeys(name for name in given if name is not None))


def _by_factor(before: list[float], after: list[float], names: list[str]) -> list[str | None]:
    """Return the name of each value, the first one doubled, the next one tripled, and so on."""
    factors = [round(b / a) if a else 0 for a, b in zip(before, after, strict=True)]
    return [names[factor - 2] if 2 <= factor < len(names) + 2 else None for factor in factors]
