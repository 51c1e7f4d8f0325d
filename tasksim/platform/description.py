"""Platforms: workers, memories, links, and the costs of the runtime itself.

Plain frozen objects, made by :func:`tasksim.platform.load.load` from a file or by
:meth:`Platform.identical`. One node is the special case of several.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.arguments import all_of, whole_number
from tasksim.base.errors import InputError
from tasksim.platform.checks import check_platform
from tasksim.platform.costs import Allocation, Copying, Overheads
from tasksim.platform.parts import (
    Device,
    Link,
    Memory,
    MemoryDomain,
    MemoryLevel,
    Route,
    Worker,
    WorkerClass,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tasksim.platform.power import Frequency, Power

__all__ = [
    "MAX_WORKERS",
    "Allocation",
    "Copying",
    "Device",
    "Link",
    "Memory",
    "MemoryDomain",
    "MemoryLevel",
    "Overheads",
    "Platform",
    "Route",
    "Worker",
    "WorkerClass",
    "class_of",
]

MAX_WORKERS: Final = 1_000_000
"""The most workers of a platform. Each takes 1.5 kB and 10 us to set up: a typing error of some
zeros ends in a message, and not in a machine without memory."""

_PARTS: Final[dict[str, type]] = {
    "workers": Worker, "memories": Memory, "links": Link, "routes": Route,
    "memory_domains": MemoryDomain, "memory_hierarchy": MemoryLevel,
}  # fmt: skip
"""The fields of a platform that have several things of a kind."""


@dataclass(frozen=True, slots=True, weakref_slot=True, repr=False)
class Platform:
    """The machine that a task graph runs on.

    ``speeds`` and ``model_architecture`` are completed: every architecture that a worker has is
    a key of both, with speed 1 and its own models unless something else is said.

    Parameters
    ----------
    name : str
        What people call it.
    workers : tuple[Worker, ...]
        The workers, in the order of their numbers.
    memories : tuple[Memory, ...]
        The memories; data are in the first one at first.
    overheads : Overheads, default Overheads()
        What the runtime itself takes; nothing by default.
    speeds : dict[str, float], default {}
        Per architecture: the durations of the models are divided by this.
    models : str or None, default None
        The folder of coefficient files, as the platform file names it.
    fingerprint : dict[str, Any], default {}
        What the calibration noted about the machine.
    path : Path or None, default None
        The file it comes from.
    model_architecture : dict[str, str], default {}
        Per architecture: the architecture whose models it uses.
    links : tuple[Link, ...], default ()
        What data move over.
    description : str, default ''
        A line for people.
    routes : tuple[Route, ...], default ()
        Ways of several links, or of one direction; see :meth:`route`.
    devices : dict[str, Device], default {}
        Per architecture how its workers are driven; those not named are cores.
    allocation : Allocation, default Allocation()
        How memory is allocated on devices.
    copying : Copying, default Copying()
        How copies between memories are started.
    memory_domains : tuple[MemoryDomain, ...], default ()
        Cores that slow each other down, as they share memory.
    memory_hierarchy : tuple[MemoryLevel, ...], default ()
        What accesses take, by level: what models of counters are fitted with.
    frequencies : dict[str, Frequency], default {}
        Per architecture its frequency, where that is known.
    power : Power or None, default None
        What it draws; None: nobody knows.

    Raises
    ------
    InputError
        With all that is wrong, unless it is consistent: see :mod:`tasksim.platform.checks`.

    See Also
    --------
    load_platform : reads one from a file.
    Platform.identical : workers that are alike, without overheads.

    Examples
    --------
    >>> workers = (Worker(0, "cpu0", "cpu", 0), Worker(1, "gpu", "cuda", 1))
    >>> memories = (Memory(0, "ram"), Memory(1, "gpu0", size_bytes=2**30))
    >>> link = Link(0, "bus", (0, 1), bandwidth_bytes_per_s=6e9)
    >>> Platform("small", workers, memories, links=(link,)).summary()
    'small: 1 cpu + 1 cuda; 2 memories: ram, gpu0 1 GiB; no overheads'
    """

    name: str
    workers: tuple[Worker, ...]
    memories: tuple[Memory, ...]
    overheads: Overheads = field(default_factory=Overheads)
    speeds: dict[str, float] = field(default_factory=dict)
    models: str | None = None
    fingerprint: dict[str, Any] = field(default_factory=dict)
    path: Path | None = None
    model_architecture: dict[str, str] = field(default_factory=dict)
    links: tuple[Link, ...] = ()
    description: str = ""
    routes: tuple[Route, ...] = ()
    devices: dict[str, Device] = field(default_factory=dict)
    allocation: Allocation = field(default_factory=Allocation)
    copying: Copying = field(default_factory=Copying)
    memory_domains: tuple[MemoryDomain, ...] = ()
    memory_hierarchy: tuple[MemoryLevel, ...] = ()
    frequencies: dict[str, Frequency] = field(default_factory=dict)
    power: Power | None = None
    _ways: dict[tuple[int, int], tuple[int, ...]] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )
    """Per pair of memories the links from one to the other: many devices have many pairs."""

    def __post_init__(self) -> None:
        """Complete the tables of architectures, and check everything."""
        for name, kind in _PARTS.items():
            object.__setattr__(self, name, all_of(getattr(self, name), kind, name))
        speeds = dict.fromkeys(self.architectures, 1.0)
        object.__setattr__(self, "speeds", _completed(self.speeds, speeds))
        own = {name: name for name in self.speeds}
        object.__setattr__(self, "model_architecture", _completed(self.model_architecture, own))
        check_platform(self)
        for link in reversed(self.links):  # of several, the first counts
            if link.between is not None:
                one, other = link.between
                self._ways[one, other] = self._ways[other, one] = (link.id,)
        self._ways.update({(r.source, r.target): r.links for r in reversed(self.routes)})

    @classmethod
    def identical(cls, n: int) -> Platform:
        """Return *n* workers of architecture ``"cpu"`` on one memory, without overheads.

        >>> Platform.identical(2).summary()
        'identical-2: 2 cpu; 1 memory: ram; no overheads'
        """
        n = whole_number(n, "workers", low=1, high=MAX_WORKERS)
        workers = tuple(Worker(i, f"cpu{i}", "cpu", 0) for i in range(n))
        return cls(f"identical-{n}", workers, (Memory(0, "ram"),))

    @property
    def architectures(self) -> tuple[str, ...]:
        """The architectures of the workers, in first-seen order."""
        return tuple(dict.fromkeys(worker.architecture for worker in self.workers))

    @property
    def classes(self) -> tuple[WorkerClass, ...]:
        """The workers by architecture, memory and models, in first-seen order."""
        members: dict[tuple[str, int, str], list[int]] = {}
        for worker in self.workers:
            models = worker.models or self.model_architecture[worker.architecture]
            members.setdefault((worker.architecture, worker.memory, models), []).append(worker.id)
        return tuple(
            WorkerClass(architecture, memory, tuple(ids), models)
            for (architecture, memory, models), ids in members.items()
        )

    def device(self, architecture: str) -> Device:
        """Return how the workers of *architecture* are driven."""
        return self.devices.get(architecture, Device())

    def route(self, source: int, target: int) -> tuple[int, ...] | None:
        """Return the links from memory *source* to *target*; None if no way leads there.

        A route that is given comes before a link between the two.
        """
        return self._ways.get((source, target))

    def slower(self, architecture: str) -> float:
        """Return how much longer what only computes takes there than the models say."""
        frequency = self.frequencies.get(architecture)
        return 1.0 if frequency is None else frequency.slower

    def compute_speed(self, architecture: str) -> float:
        """Return how fast what only computes is there, against what the models say."""
        return self.speeds[architecture] / self.slower(architecture)

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return 1 + max((memory.node for memory in self.memories), default=-1)

    def models_folder(self, library: Path | None = None) -> Path:
        """Return the folder of coefficient files that ``models`` names.

        Looked for beside the platform file, then in the library that holds the platform file; a
        name then in the libraries (:func:`tasksim.base.library.named`), *library* first. What the
        working folder has under that name does not count, but as a library.

        Raises
        ------
        InputError
            The platform names no models, or there is no such folder.
        """
        if self.models is None:
            raise InputError(
                f"platform {self.name}: no models given: add `models: NAME` to the platform file, "
                "or calibrate this machine"
            )
        from tasksim.base.files import is_folder
        from tasksim.base.library import named

        for place in self._places_of_models():
            if is_folder(place / self.models):
                return place / self.models
        if self.path is not None and os.sep in self.models:
            raise InputError(
                f"{self.path}: models: no folder {self.models} beside this file; legal: a path"
                " from here, or the name of models in a library"
            )
        return named("models", self.models, library=library)

    def _places_of_models(self) -> list[Path]:
        if self.path is None:
            return []
        beside = self.path.parent
        return [beside, beside.parent / "models"] if beside.name == "platforms" else [beside]

    def __repr__(self) -> str:
        return f"<Platform {self.name}: {self._workers_text()}, {self._memories_text()}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: workers, memories, overheads, models."""
        from tasksim.base.notebook import html_summary

        facts = [
            ("workers", self._workers_text()),
            ("memories", self._memories_text()),
            ("overheads", self._overheads_text()),
            ("models", str(self.models or "none are named")),
        ]
        return html_summary(f"Platform {self.name}", facts)

    def summary(self) -> str:
        """Return one line for people: workers, memories, overheads, models."""
        parts = [f"{self.name}: {self._workers_text()}", self._memories_text()]
        parts.append(self._overheads_text())
        if self.models is not None:
            parts.append(f"models {self.models}")
        return "; ".join(parts)

    def _workers_text(self) -> str:
        counts = dict.fromkeys(self.architectures, 0)
        for worker in self.workers:
            counts[worker.architecture] += 1
        text = " + ".join(f"{count} {name}{self._manner(name)}" for name, count in counts.items())
        return text if self.nodes <= 1 else f"{self.nodes} nodes, {text}"

    def _manner(self, architecture: str) -> str:
        """Return, in brackets, what is not usual about an architecture."""
        speed, pipeline = self.speeds[architecture], self.device(architecture).pipeline
        texts = [f"speed {speed:g}"] * (speed != 1) + [f"pipeline {pipeline}"] * (pipeline > 0)
        if architecture in self.frequencies:
            texts.append(f"{self.frequencies[architecture].hz / 1e9:.3g} GHz")
        return f" ({', '.join(texts)})" if texts else ""

    def _memories_text(self) -> str:
        from tasksim.base.units import format_size

        here = [memory for memory in self.memories if memory.node == 0]
        texts = [
            memory.name.removeprefix("node0/")
            + ("" if memory.size_bytes is None else f" {format_size(memory.size_bytes)}")
            for memory in here
        ]
        if len(texts) > 8:
            texts[6:] = ["..."]
        noun = "memory" if len(here) == 1 else "memories"
        each = "" if self.nodes <= 1 else " per node"
        return f"{len(here)} {noun}{each}: {', '.join(texts)}"

    def _overheads_text(self) -> str:
        from tasksim.base.units import format_time

        costs = self.overheads
        named = [(f.name.removesuffix("_s"), getattr(costs, f.name)) for f in fields(costs)]
        texts = [f"{name} {format_time(value)}" for name, value in named if value]
        return f"overheads: {', '.join(texts)}" if texts else "no overheads"


def _completed(given: Mapping[str, Any], default: Mapping[str, Any]) -> dict[str, Any]:
    """Return *given* and what it lacks of *default*, the order of *default* first."""
    return {**default, **given}


def class_of(platform: Platform) -> list[int]:
    """Return, per worker of *platform*, the index of its class."""
    found = [0] * len(platform.workers)
    for number, group in enumerate(platform.classes):
        for worker in group.workers:
            found[worker] = number
    return found
