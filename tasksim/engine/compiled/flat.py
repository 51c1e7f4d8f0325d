"""Flat graphs and platforms: the arrays that the core reads, made once per object and kept."""

from __future__ import annotations

import ctypes
import weakref
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import numpy as np

from tasksim.core import interface
from tasksim.engine.data.paths import paths_of
from tasksim.engine.data.ways import device_memories
from tasksim.engine.machine.ticks import OverheadTicks
from tasksim.engine.ticks import ticks
from tasksim.platform.copyestimates import CopyEstimates
from tasksim.runtime.ledger import class_of
from tasksim.schedulers.weighted_random import SPEEDUP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from tasksim.engine.data.paths import Path
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform

__all__ = ["MOST_CLASSES", "MOST_MEMORIES", "Flat", "Refused", "flat_graph", "flat_platform"]

MOST_CLASSES: Final = 64
"""Classes of workers that the core knows: a mask of them is one word."""
MOST_MEMORIES: Final = 64
"""Memories, likewise."""

T = TypeVar("T")


class Refused(Exception):
    """What the core does not take, with the reason; SimPy's engine does."""


class Flat:
    """An object of the core, made of arrays that stay alive as long as it does."""

    def __init__(self, kind: str, given: ctypes.Structure, arrays: list[Any]) -> None:
        core = interface.functions()
        if core is None:
            raise Refused("the core is not there")
        status = ctypes.c_int32()
        make = getattr(core, f"tasksim_{kind}_new")
        self._arrays = arrays
        self.handle: int | None = make(ctypes.byref(given), ctypes.byref(status))
        if self.handle is None:
            raise Refused(f"the core does not take this {kind}")
        weakref.finalize(self, getattr(core, f"tasksim_{kind}_free"), self.handle)


class _Kept(Generic[T]):
    """What was made of objects, for as long as those are there."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self._made: dict[int, T] = {}

    def __call__(self, what: Any) -> T:
        made = self._made.get(id(what))
        if made is None:
            made = self._made[id(what)] = self._make(what)
            weakref.finalize(what, self._made.pop, id(what), None)
        return made


class _Columns:
    """Arrays for a structure, kept alive."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def __call__(self, values: Iterable[Any] | NDArray[Any], dtype: type[np.generic]) -> int | None:
        array = values if isinstance(values, np.ndarray) else np.array(list(values), dtype)
        array = np.ascontiguousarray(array, dtype)
        self.kept.append(array)
        return interface.address(array, dtype)


def _flat_graph(graph: TaskGraph) -> Flat:
    column, i32, i64 = _Columns(), np.int32, np.int64
    given = interface.Graph(
        tasks=len(graph),
        handles=graph.handles,
        kernels=len(graph.kernels),
        hints=len(graph.hint_handle),
        kernel=column(graph.kernel, i32),
        priority=column(graph.priority, i32),
        successor_ptr=column(graph.successor_ptr, i64),
        successors=column(graph.successors, i32),
        access_ptr=column(graph.access_ptr, i64),
        access_handle=column(graph.access_handle, i32),
        access_mode=column(graph.access_mode, np.int8),
        handle_size=column(graph.handle_size, i64),
        handle_home=column(graph.handle_home, i32),
        hint_after=column(graph.hint_after, i32),
        hint_handle=column(graph.hint_handle, i32),
    )
    return Flat("graph", given, column.kept)


def _flat_platform(platform: Platform) -> Flat:
    workers, classes, memories = platform.workers, platform.classes, platform.memories
    if len(classes) > MOST_CLASSES:
        raise Refused(f"the core knows {MOST_CLASSES} classes of workers, and there are more")
    if len(memories) > MOST_MEMORIES:
        raise Refused(f"the core knows {MOST_MEMORIES} memories, and there are more")
    column, i32, f64 = _Columns(), np.int32, np.float64
    overheads, allocation, copying = platform.overheads, platform.allocation, platform.copying
    cost = OverheadTicks.of(overheads)
    devices = device_memories(platform)
    estimates = CopyEstimates(platform, sum(devices))
    paths = paths_of(platform)
    numbers = np.full((len(memories), len(memories)), -1)
    for ends, path in paths.items():
        numbers[ends] = path.number
    given = interface.Platform(
        workers=len(workers),
        classes=len(classes),
        memories=len(memories),
        links=len(platform.links),
        class_of=column(class_of(platform), i32),
        memory_of=column((worker.memory for worker in workers), i32),
        node_of=column((worker.node for worker in workers), i32),
        pipeline=column((platform.device(w.architecture).pipeline for w in workers), i32),
        nominal_speed=column((SPEEDUP.get(w.architecture, 0.5) for w in workers), f64),
        submission_s=overheads.submission_s,
        task_s=overheads.task_s,
        wakeup_s=overheads.wakeup_s,
        **cost._asdict(),
        copy=ticks(overheads.copy_s),
        allocate=ticks(allocation.allocate_s),
        free=ticks(allocation.free_s),
        unit_bytes=allocation.unit_bytes,
        chunk_bytes=allocation.chunk_bytes,
        largest_bytes=allocation.largest_bytes,
        usable=allocation.usable,
        memory_bytes=column(
            (-1.0 if m.size_bytes is None else m.size_bytes for m in memories), f64
        ),
        fetches=copying.fetches,
        prefetches=copying.prefetches,
        idle=copying.idle,
        serialised=copying.serialised,
        fixed_s=column(np.array(estimates.fixed_s), f64),
        per_byte_s=column(np.array(estimates.per_byte_s), f64),
        direct=column(np.array(estimates.direct), np.int8),
        path=column(numbers, i32),
        **_path_columns(column, list(paths.values())),
        capacity=column((link.bandwidth_bytes_per_s * 1e-9 for link in platform.links), f64),
    )
    return Flat("platform", given, column.kept)


def _path_columns(column: _Columns, paths: list[Path]) -> dict[str, int | None]:
    """Return the fields of the routes, in order of their number."""
    links = [pair for path in paths for pair in path.links]
    return {
        "paths": len(paths),
        "path_latency": column((path.latency for path in paths), np.int64),
        "path_weight": column((path.weight for path in paths), np.float64),
        "path_limit": column((path.limit for path in paths), np.float64),
        "path_ptr": column(np.cumsum([0, *(len(path.links) for path in paths)]), np.int64),
        "path_link": column((link for link, _ in links), np.int32),
        "path_times": column((times for _, times in links), np.int32),
    }


flat_graph: Final = _Kept(_flat_graph)
"""The flat form of a graph, kept while the graph is there."""
flat_platform: Final = _Kept(_flat_platform)
"""The flat form of a platform, likewise."""
