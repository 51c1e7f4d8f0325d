"""Samples from recorded runs, with parameters and durations of the tasks of each kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from tasksim.base.errors import InputError
from tasksim.base.log import Log
from tasksim.graph.reuse import task_bytes
from tasksim.models.rows import SIZE_PARAMETER
from tasksim.models.samples import Samples

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from tasksim.base.arrays import Floats, Ints
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run

__all__ = [
    "MeasuredTasks",
    "RecordedKernel",
    "RecordedRun",
    "Repeated",
    "averaged",
    "first_repetitions",
    "measured",
    "recorded_kernels",
]

Repeated = Literal["each", "mean"]
"""Use of several runs of one graph: as samples each, or as repetitions with one mean per task."""


@dataclass(frozen=True, eq=False)
class RecordedRun:
    """A recorded run with its path and its graph."""

    path: Path
    run: Run
    graph: TaskGraph


@dataclass(frozen=True, eq=False)
class MeasuredTasks:
    """Durations of tasks of a graph.

    Attributes
    ----------
    run
        Index of the run among several, from 0; for means, that of the first.
    path
        Path of that run.
    graph
        Graph of that run.
    task
        int64 [n], numbers of the tasks in the graph.
    architecture
        object [n], architecture of each task's worker.
    durations_s
        float64 [n], without time that others took (:mod:`tasksim.run.undisturbed`).
    """

    run: int
    path: Path
    graph: TaskGraph
    task: Ints
    architecture: NDArray[np.object_]
    durations_s: Floats


@dataclass(frozen=True, eq=False)
class RecordedKernel:
    """Samples of one kernel on one architecture from runs.

    Attributes
    ----------
    name
        Name of its kernel model: LU's gemm is "gemm_nn", as in folders of coefficient files.
    architecture
        Architecture of the workers that ran it.
    samples
        One per task; ``runs`` has the indices of the runs in the given list, from 0; for averaged
        repetitions, that of the first.
    sizes
        float64 [samples], bytes that each task accesses, without scratch.
    """

    name: str
    architecture: str
    samples: Samples
    sizes: Floats

    @property
    def title(self) -> str:
        """Title in reports: ``gemm on cpu``."""
        return f"{self.name} on {self.architecture}"

    @property
    def total_s(self) -> float:
        """Total duration of its tasks in seconds."""
        return float(self.samples.durations_s.sum())

    def with_sizes(self) -> Samples:
        """Return the samples with a parameter ``size_bytes``, which some models need."""
        if SIZE_PARAMETER in self.samples.names:
            return self.samples
        table = np.column_stack([self.samples.parameters, self.sizes])
        names = (*self.samples.names, SIZE_PARAMETER)
        return replace(self.samples, names=names, parameters=table)


def recorded_kernels(
    runs: Sequence[RecordedRun], repeated: Repeated = "each"
) -> list[RecordedKernel]:
    """Return the samples of each kernel in *runs*, the kernel with the longest total first.

    With *repeated* ``"each"``, every task of each run is a sample; with ``"mean"``, the mean of a
    task over the runs of one graph is one, see :func:`averaged`. Kernels whose tasks all took no
    time, such as barriers, are left out.

    Raises
    ------
    InputError
        If a kernel has different parameters in two runs, or some of its tasks took no time.
    """
    parts: dict[tuple[str, str], list[RecordedKernel]] = {}
    homes: dict[str, tuple[tuple[str, ...], Path]] = {}
    for tasks in averaged(runs) if repeated == "mean" else measured(runs):
        for part in _by_kernel(tasks):
            _check_names(homes, part, tasks.path)
            parts.setdefault((part.name, part.architecture), []).append(part)
    joined = [_joined(found) for found in parts.values()]
    return sorted(joined, key=lambda kernel: (-kernel.total_s, kernel.name, kernel.architecture))


def measured(runs: Sequence[RecordedRun]) -> list[MeasuredTasks]:
    """Return the durations of the tasks of each run."""
    from tasksim.run.undisturbed import undisturbed_s

    found = []
    for number, recorded in enumerate(runs):
        workers, tasks = recorded.run.workers, recorded.run.tasks
        architectures = np.array([worker.architecture for worker in workers], dtype=object)
        of_run = MeasuredTasks(
            number,
            recorded.path,
            recorded.graph,
            tasks.task.astype(np.int64),
            architectures[tasks.worker],
            undisturbed_s(recorded.run, recorded.graph),
        )
        found.append(of_run)
    return found


def averaged(runs: Sequence[RecordedRun]) -> list[MeasuredTasks]:
    """Return the mean durations of tasks over the *runs* that repeat each other.

    The mean is over the repetitions of one task on one architecture. Each repetition reduces the
    noise of the machine, while the error of a model stays. The result is in the order of the first
    runs.
    """
    together: dict[int, list[MeasuredTasks]] = {}
    for first, tasks in zip(first_repetitions(runs), measured(runs), strict=True):
        together.setdefault(first, []).append(tasks)
    return [_mean(repetitions) for repetitions in together.values()]


def first_repetitions(runs: Sequence[RecordedRun]) -> list[int]:
    """Return, per run, the index of the first run that it repeats, or its own.

    A run repeats another one with the same graph, made by the same generator with the same
    arguments, on the same platform; scheduler and seed may differ. Simulated runs do not repeat
    native ones.
    """
    places: list[int] = []
    for recorded in runs:
        known = (place for place in dict.fromkeys(places) if _repeats(recorded, runs[place]))
        places.append(next(known, len(places)))
    return places


def _repeats(recorded: RecordedRun, before: RecordedRun) -> bool:
    """Return whether both runs are of one kind, on one platform, with equal graphs."""
    if (recorded.run.kind, recorded.run.platform) != (before.run.kind, before.run.platform):
        return False
    one, other = recorded.graph, before.graph
    if one is other:
        return True
    # Tasks count as well as names: the name of a graph from a file need not describe it.
    texts = ("name", "arguments", "kernels", "model_names", "parameter_names", "categories")
    arrays = ("kernel", "row", "access_ptr", "access_handle", "handle_size")
    return (
        all(getattr(one, name) == getattr(other, name) for name in texts)
        and all(np.array_equal(getattr(one, name), getattr(other, name)) for name in arrays)
        and all(map(np.array_equal, one.parameters, other.parameters))
    )


def _mean(repetitions: Sequence[MeasuredTasks]) -> MeasuredTasks:
    """Return the mean of each task on each architecture, in order of both."""
    first = repetitions[0]
    task = np.concatenate([tasks.task for tasks in repetitions])
    names, of = np.unique(
        np.concatenate([tasks.architecture for tasks in repetitions]), return_inverse=True
    )
    kinds, group = np.unique(task * len(names) + of, return_inverse=True)
    durations = np.concatenate([tasks.durations_s for tasks in repetitions])
    mean = np.bincount(group, durations) / np.bincount(group)
    return replace(
        first,
        task=kinds // len(names),
        architecture=names[kinds % len(names)],
        durations_s=mean,
    )


def _by_kernel(tasks: MeasuredTasks) -> list[RecordedKernel]:
    """Return the kernels of the tasks of one graph, by architecture."""
    graph, where = tasks.graph, tasks.architecture
    kernel, sizes = graph.kernel[tasks.task], task_bytes(graph)[tasks.task]
    found = []
    for index, name in enumerate(graph.model_names):
        for architecture in dict.fromkeys(where[kernel == index].tolist()):
            rows = np.flatnonzero((kernel == index) & (where == architecture))
            if not tasks.durations_s[rows].any():
                # Barriers of OpenMP and reductions of Charm++ only order other tasks.
                Log("run").info("kernel %s: left out, as its tasks took no time", name)
                continue
            table = graph.parameters[index][graph.row[tasks.task[rows]]]
            names, durations = graph.parameter_names[index], tasks.durations_s[rows]
            try:
                runs, named = np.full(len(rows), tasks.run), graph.categories
                samples = Samples(
                    names, table, durations, runs, categories=named.get(graph.kernels[index], {})
                )
            except InputError as error:
                raise InputError(f"{tasks.path}: kernel {name}: {error}") from error
            found.append(RecordedKernel(name, architecture, samples, sizes[rows]))
    return found


def _check_names(
    homes: dict[str, tuple[tuple[str, ...], Path]], part: RecordedKernel, path: Path
) -> None:
    names, home = homes.setdefault(part.name, (part.samples.names, path))
    if sorted(names) != sorted(part.samples.names):
        # Two kernels of one name would be fitted by one model.
        raise InputError(
            f"kernel {part.name} has the parameters ({', '.join(part.samples.names)}) in {path}, "
            f"but ({', '.join(names)}) in {home}: they are different kernels; report on these "
            "runs one by one"
        )


def _joined(parts: Sequence[RecordedKernel]) -> RecordedKernel:
    first = parts[0]
    samples = Samples.concat([part.samples for part in parts])
    sizes = np.concatenate([part.sizes for part in parts])
    return RecordedKernel(first.name, first.architecture, samples, sizes)
