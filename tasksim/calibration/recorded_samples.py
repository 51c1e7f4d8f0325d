"""Samples of recorded runs: the tasks of each kernel on each architecture, and their parameters."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.errors import InputError
from tasksim.formats.traces.recutils import FOOTPRINT_PARAMETER, ITERATION_PARAMETER
from tasksim.graph.reuse import task_bytes
from tasksim.models.rows import DURATION_PARAMETER, SIZE_PARAMETER
from tasksim.models.samples import Samples
from tasksim.run.disturbance import CLOCK_TICK_S, has_processor_times
from tasksim.run.undisturbed import undisturbed_s

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run
    from tasksim.run.samples import RecordedRun

__all__ = [
    "Name",
    "SamplesByName",
    "is_known",
    "is_told",
    "is_trace",
    "refuse_other_names",
    "samples_of",
    "unused_parameters",
]

Name = tuple[str, str]
"""A kernel and an architecture."""

SamplesByName = dict[Name, Samples]
"""The samples of a run, by kernel and architecture."""


def samples_of(one: RecordedRun) -> SamplesByName:
    """Return the samples of a run by kernel and architecture, with the bytes of their data."""
    run, graph = one.run, one.graph
    tasks = run.tasks
    own_s = np.maximum(undisturbed_s(run, graph), CLOCK_TICK_S)
    wall_s = np.maximum(tasks.duration_s, CLOCK_TICK_S) if has_processor_times(run) else None
    places = list(dict.fromkeys(worker.architecture for worker in run.workers))
    where = np.array([places.index(worker.architecture) for worker in run.workers])[tasks.worker]
    kernel, sizes = graph.kernel[tasks.task], task_bytes(graph)[tasks.task]
    found: SamplesByName = {}
    for index, model in enumerate(graph.model_names):
        for place, architecture in enumerate(places):
            rows = np.flatnonzero((kernel == index) & (where == place))
            if not len(rows):
                continue
            try:
                part = _part(graph, index, tasks.task[rows], sizes[rows], own_s[rows])
            except InputError as error:
                raise InputError(f"{one.path}: kernel {model}: {error}") from error
            if wall_s is not None:
                part = replace(part, wall_s=wall_s[rows])
            before = found.get((model, architecture))
            found[model, architecture] = part if before is None else Samples.concat([before, part])
    return found


def _part(graph: TaskGraph, kernel: int, tasks: Any, sizes: Any, durations_s: Any) -> Samples:
    table = graph.parameters[kernel][graph.row[tasks]]
    names = graph.parameter_names[kernel]
    if SIZE_PARAMETER not in names:
        names, table = (*names, SIZE_PARAMETER), np.column_stack([table, sizes])
    named = graph.categories.get(graph.kernels[kernel], {})
    return Samples(names, table, durations_s, categories=named)


def is_told(some: Samples) -> bool:
    """Return whether the tasks themselves say what they take."""
    return DURATION_PARAMETER in some.names


def is_trace(run: Run) -> bool:
    """Return whether *run* was imported from another tool's trace."""
    told: Any = run.config.get("recorded")
    return isinstance(told, dict) and "from" in told


def unused_parameters(some: Sequence[Samples], linear: bool, traced: bool) -> list[str]:
    """Return the parameters of a kernel that its model leaves out.

    Sizes of data stand in where a traced kernel has no other parameter: traces say what data a task
    accesses, and sizes of recordings are in parameters already, as far as they are known.
    """
    names = dict.fromkeys(name for part in some for name in part.names)
    dropped = [SIZE_PARAMETER]
    if traced:
        dropped += [name for name in (ITERATION_PARAMETER,) if name in names]
        if linear and FOOTPRINT_PARAMETER in names:
            dropped.append(FOOTPRINT_PARAMETER)
    sized = all(bool(part.parameters[:, part.names.index(SIZE_PARAMETER)].all()) for part in some)
    if traced and sized and not names.keys() - set(dropped):
        dropped.remove(SIZE_PARAMETER)
    return dropped


def refuse_other_names(runs: Sequence[RecordedRun], parts: Sequence[SamplesByName]) -> None:
    """Raise :exc:`InputError` if a kernel has other parameters in one run than in another."""
    homes: dict[str, tuple[tuple[str, ...], Path]] = {}
    for one, part in zip(runs, parts, strict=True):
        for (kernel, _), some in part.items():
            names, home = homes.setdefault(kernel, (some.names, one.path))
            if sorted(names) != sorted(some.names):
                mine, others = (
                    ", ".join(n for n in of if n != SIZE_PARAMETER) for of in (some.names, names)
                )
                raise InputError(
                    f"kernel {kernel} has the parameters ({mine}) in {one.path}, but ({others}) in "
                    f"{home}: they are different kernels; calibrate from these runs one by one, "
                    "with another name of the machine each"
                )


def is_known(part: SamplesByName, earlier: SamplesByName) -> bool:
    """Return whether the samples of one run are those of one run before."""
    common: set[int] | None = None
    for name, some in part.items():
        known = earlier.get(name)
        if known is None or known.runs is None:
            return False
        same = {run for run in np.unique(known.runs).tolist() if _equal(known, run, some)}
        common = same if common is None else common & same
    return bool(common)


def _equal(known: Samples, run: int, some: Samples) -> bool:
    assert known.runs is not None  # the caller has looked
    part = known.select(known.runs == run)
    if len(part) != len(some) or not np.array_equal(part.durations_s, some.durations_s):
        return False
    texts = [
        [
            one.text_of(name, value)
            for name in some.names
            for value in one.parameters[:, one.names.index(name)].tolist()
        ]
        for one in (part, some)
    ]
    return texts[0] == texts[1]
