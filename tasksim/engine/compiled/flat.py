"""Flat platforms and the other arrays of a machine for the core."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from tasksim.core import interface
from tasksim.engine.ticks import OverheadTicks, ticks
from tasksim.platform.description import class_of
from tasksim.runtime.flat import (
    MAX_CLASSES,
    MAX_MEMORIES,
    Arrays,
    Flat,
    FlatStructure,
    Kept,
    Refused,
)
from tasksim.schedulers.base import NOMINAL_SPEED, chooses_apart, unless_default

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.engine.data.network import Path
    from tasksim.engine.locality import FarCharge
    from tasksim.engine.slowing import Slowing
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform
    from tasksim.schedulers.base import Scheduler

__all__ = ["flat_alone", "flat_contention", "flat_far", "flat_platform", "scheduler_fields"]


@Kept
def flat_platform(platform: Platform) -> Flat:
    """Return the flat form of *platform*, cached as long as the platform lives."""
    workers, classes, memories = platform.workers, platform.classes, platform.memories
    if len(classes) > MAX_CLASSES:
        raise Refused(f"the core knows {MAX_CLASSES} classes of workers, and there are more")
    if len(memories) > MAX_MEMORIES:
        raise Refused(f"the core knows {MAX_MEMORIES} memories, and there are more")
    column, i32, f64 = Arrays(), np.int32, np.float64
    overheads, allocation, copying = platform.overheads, platform.allocation, platform.copying
    cost = OverheadTicks.of(overheads)
    given = interface.Platform(
        workers=len(workers),
        classes=len(classes),
        memories=len(memories),
        links=len(platform.links),
        class_of=column(class_of(platform), i32),
        memory_of=column((worker.memory for worker in workers), i32),
        node_of=column((worker.node for worker in workers), i32),
        pipeline=column((platform.device(w.architecture).pipeline for w in workers), i32),
        nominal_speed=column((NOMINAL_SPEED.get(w.architecture, 0.5) for w in workers), f64),
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
        pin_s=allocation.pin_s,
        memory_bytes=column(
            (-1.0 if m.size_bytes is None else m.size_bytes for m in memories), f64
        ),
        fetches=copying.fetches,
        prefetches=copying.prefetches,
        idle=copying.idle,
        serialised=copying.serialised,
        **_copy_columns(column, platform),
        capacity=column((link.bandwidth_bytes_per_s * 1e-9 for link in platform.links), f64),
    )
    return Flat("platform", given, column)


def _copy_columns(column: Arrays, platform: Platform) -> dict[str, int | None]:
    """Return the fields of copies between memories: their expected times and their routes."""
    if len(platform.memories) == 1:
        return {
            "fixed_s": column([np.inf], np.float64),
            "per_byte_s": column([np.inf], np.float64),
            "direct": column([0], np.int8),
            "path": column([-1], np.int32),
            **_path_columns(column, []),
        }
    from tasksim.engine.data.network import paths_of
    from tasksim.engine.data.ways import copy_estimates

    estimates = copy_estimates(platform)
    paths = paths_of(platform)
    numbers = np.full((len(platform.memories), len(platform.memories)), -1)
    for ends, path in paths.items():
        numbers[ends] = path.number
    return {
        "fixed_s": column(np.array(estimates.fixed_s), np.float64),
        "per_byte_s": column(np.array(estimates.per_byte_s), np.float64),
        "direct": column(np.array(estimates.direct), np.int8),
        "path": column(numbers, np.int32),
        **_path_columns(column, list(paths.values())),
    }


def _path_columns(column: Arrays, paths: list[Path]) -> dict[str, int | None]:
    """Return the fields of the routes, in order of their number."""
    links = [pair for path in paths for pair in path.links]
    return {
        "paths": len(paths),
        "path_links": len(links),
        "path_latency": column((path.latency for path in paths), np.int64),
        "path_weight": column((path.weight for path in paths), np.float64),
        "path_limit": column((path.limit for path in paths), np.float64),
        "path_ptr": column(np.cumsum([0, *(len(path.links) for path in paths)]), np.int64),
        "path_link": column((link for link, _ in links), np.int32),
        "path_times": column((times for _, times in links), np.int32),
    }


def flat_alone(platform: Platform, kernels: Sequence[str], column: Arrays) -> int | None:
    """Return, per class and kernel, whether it cannot be queued on a device; None if all can."""
    alone = np.zeros((len(platform.classes), len(kernels)), np.int8)
    for index, group in enumerate(platform.classes):
        synchronous = platform.device(group.architecture).synchronous
        alone[index] = [name in synchronous for name in kernels]
    return column(alone, np.int8) if alone.any() else None


def scheduler_fields(scheduler: Scheduler) -> dict[str, bool]:
    """Return the fields of a question that say which calls *scheduler* gets, and when."""
    return {
        "uses_priorities": bool(scheduler.uses_priorities),
        "looks_at_data": bool(scheduler.looks_at_data),
        "chooses_apart": chooses_apart(scheduler),
        "hears_started": unless_default(scheduler, "started") is not None,
        "hears_finished": unless_default(scheduler, "finished") is not None,
    }


def flat_far(far: FarCharge) -> FlatStructure:
    """Return the costs of *far* data for the core."""
    column = Arrays()
    costs = {
        name: column(values, np.float64)
        for name, values in zip(far.costs._fields, far.costs, strict=True)
    }
    cache_of = None if far.cache_of is None else column(far.cache_of, np.int32)
    return FlatStructure(interface.Far(**costs, cache_of=cache_of), column)


def flat_contention(slowing: Slowing, graph: TaskGraph) -> FlatStructure:
    """Return *slowing* for the core, with a kind for each kernel of *graph*.

    Kernels of communication, which no worker runs, come last, and have the first kind.
    """
    column, kinds = Arrays(), slowing.kinds
    own = kinds.of_tasks
    kind_of = np.zeros((len(own), len(graph.kernels)), np.int32)
    kind_of[:, : own.shape[1]] = own
    pairs = list(chain.from_iterable(kinds.beside))
    numa: dict[str, float | int | None] = {}
    if (distances := slowing.distances) is not None:
        numa = {
            "numa": 1,
            "placement": distances.placement,
            "cache_bytes": distances.cache_bytes,
            "ratio": column(np.array(distances.ratio), np.float64),
            "limit": column(np.array(distances.limit), np.float64),
            "room": column(distances.room, np.float64),
        }
    given = interface.Contention(
        domains=len(slowing.curves),
        kinds=len(kinds),
        domain_of=column(slowing.domain_of, np.int32),
        kind_of=column(kind_of, np.int32),
        curve_ptr=column(np.cumsum([0, *map(len, slowing.curves)]), np.int64),
        curve=column(chain.from_iterable(slowing.curves), np.float64),
        demand=column(kinds.demand, np.float64),
        share=column(kinds.share, np.float64),
        beside_ptr=column(np.cumsum([0, *map(len, pairs)]), np.int64),
        beside=column(chain.from_iterable(pairs), np.float64),
        **numa,
    )
    return FlatStructure(given, column)
