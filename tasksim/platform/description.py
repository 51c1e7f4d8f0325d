"""What a platform is: workers, memories, links, and the costs of the runtime itself.

Plain frozen objects, made by :func:`tasksim.platform.load.load` from a file or by
:meth:`Platform.identical`. One node is the special case of several.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tasksim.base import library as libraries
from tasksim.base.errors import InputError
from tasksim.platform.checks import check_platform

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["MAX_WORKERS", "Link", "Memory", "Overheads", "Platform", "Worker", "WorkerClass"]

MAX_WORKERS: Final = 32767
"""The most workers of a platform: records of runs number them with 16 bits."""


@dataclass(frozen=True, slots=True)
class Worker:
    """A processing unit that runs one task at a time."""

    id: int
    """Its number, from 0; its index in :attr:`Platform.workers`."""
    name: str
    """``cpu3``; on a platform of several nodes ``node0/cpu3``."""
    architecture: str
    memory: int
    """The number of the memory its tasks read and write."""
    node: int = 0
    core: int | None = None
    """The operating system's number of the core it is bound to, or None."""


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory node: the RAM of a node or NUMA domain, the memory of a GPU."""

    id: int
    name: str
    node: int = 0
    size_bytes: float | None = None
    """None: without limit."""


@dataclass(frozen=True, slots=True)
class Link:
    """A connection between two memories, in both directions."""

    id: int
    name: str
    between: tuple[int, int]
    """The numbers of its two memories."""
    bandwidth_bytes_per_s: float
    latency_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Overheads:
    """The costs of the runtime itself, zero by default."""

    submission_s: float = 0.0
    """Task *i* is submitted at ``(i + 1) * submission_s``."""
    task_s: float = 0.0
    """From a worker's pop to the start of the kernel."""
    wakeup_s: float = 0.0
    """Added to ``task_s`` when the worker was asleep."""


@dataclass(frozen=True, slots=True)
class WorkerClass:
    """Workers alike but for the time at which they are free."""

    architecture: str
    memory: int
    workers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Platform:
    """The machine that a task graph runs on.

    Raises :exc:`InputError`, with all that is wrong, unless it is consistent: see
    :mod:`tasksim.platform.checks`.

    ``speeds`` and ``model_architecture`` are completed: every architecture that a worker has is
    a key of both, with speed 1 and its own models unless something else is said.
    """

    name: str
    workers: tuple[Worker, ...]
    memories: tuple[Memory, ...]
    overheads: Overheads = Overheads()
    speeds: dict[str, float] = field(default_factory=dict)
    """Per architecture: the durations of the models are divided by this."""
    models: str | None = None
    """The folder of coefficient files, as the platform file names it."""
    fingerprint: dict[str, Any] = field(default_factory=dict)
    """What the calibration noted about the machine."""
    path: Path | None = None
    """The file it comes from."""
    model_architecture: dict[str, str] = field(default_factory=dict)
    """Per architecture: the architecture whose models it uses."""
    links: tuple[Link, ...] = ()
    description: str = ""

    def __post_init__(self) -> None:
        """Complete the tables of architectures, and check everything."""
        speeds = dict.fromkeys(self.architectures, 1.0)
        object.__setattr__(self, "speeds", _completed(self.speeds, speeds))
        own = {name: name for name in self.speeds}
        object.__setattr__(self, "model_architecture", _completed(self.model_architecture, own))
        check_platform(self)

    @classmethod
    def identical(cls, n: int) -> Platform:
        """Return *n* workers of architecture ``"cpu"`` on one memory, without overheads.

        >>> Platform.identical(2).summary()
        'identical-2: 2 cpu; 1 memory: ram; no overheads'
        """
        if not (hasattr(n, "__index__") and 1 <= n <= MAX_WORKERS):
            raise InputError(
                f"a platform has at least 1 worker and at most {MAX_WORKERS} (got {n!r})"
            )
        workers = tuple(Worker(i, f"cpu{i}", "cpu", 0) for i in range(n))
        return cls(f"identical-{n}", workers, (Memory(0, "ram"),))

    @property
    def architectures(self) -> tuple[str, ...]:
        """The architectures of the workers, in first-seen order."""
        return tuple(dict.fromkeys(worker.architecture for worker in self.workers))

    @property
    def classes(self) -> tuple[WorkerClass, ...]:
        """The workers by architecture and memory, in first-seen order."""
        members: dict[tuple[str, int], list[int]] = {}
        for worker in self.workers:
            members.setdefault((worker.architecture, worker.memory), []).append(worker.id)
        return tuple(WorkerClass(*key, tuple(ids)) for key, ids in members.items())

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return 1 + max((memory.node for memory in self.memories), default=-1)

    def models_folder(self, library: Path | None = None) -> Path:
        """Return the folder of coefficient files that ``models`` names.

        Looked for beside the platform file, then in the library that holds the platform file,
        then in the libraries (:func:`tasksim.base.library.find`), *library* first.

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
        for place in self._places_of_models():
            if (place / self.models).is_dir():
                return place / self.models
        return libraries.find("models", self.models, library=library)

    def _places_of_models(self) -> list[Path]:
        if self.path is None:
            return []
        beside = self.path.parent
        return [beside, beside.parent / "models"] if beside.name == "platforms" else [beside]

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
        text = " + ".join(
            f"{count} {name}" + (f" (speed {self.speeds[name]:g})" * (self.speeds[name] != 1))
            for name, count in counts.items()
        )
        return text if self.nodes <= 1 else f"{self.nodes} nodes, {text}"

    def _memories_text(self) -> str:
        from tasksim.base.units import format_size

        here = [memory for memory in self.memories if memory.node == 0]
        texts = [
            memory.name.removeprefix("node0/")
            + ("" if memory.size_bytes is None else f" {format_size(memory.size_bytes)}")
            for memory in here
        ]
        noun = "memory" if len(here) == 1 else "memories"
        each = "" if self.nodes <= 1 else " per node"
        return f"{len(here)} {noun}{each}: {', '.join(texts)}"

    def _overheads_text(self) -> str:
        from tasksim.base.units import format_time

        costs = self.overheads
        named = [
            ("submission", costs.submission_s),
            ("task", costs.task_s),
            ("wakeup", costs.wakeup_s),
        ]
        texts = [f"{name} {format_time(value)}" for name, value in named if value]
        return f"overheads: {', '.join(texts)}" if texts else "no overheads"


def _completed(given: Mapping[str, Any], default: Mapping[str, Any]) -> dict[str, Any]:
    """Return *given* and what it lacks of *default*, the order of *default* first."""
    return {**default, **given}
