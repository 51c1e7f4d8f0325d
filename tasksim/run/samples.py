"""The samples that recorded runs hold: per kernel, the parameters and durations of its tasks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.errors import InputError
from tasksim.graph.apps import registry
from tasksim.graph.reuse import task_bytes
from tasksim.models.base import SIZE
from tasksim.models.samples import Samples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run

__all__ = ["RecordedKernel", "RecordedRun", "graph_of", "recorded_kernels"]


@dataclass(frozen=True, eq=False)
class RecordedRun:
    """A run, where it was read from, and its graph."""

    path: Path
    run: Run
    graph: TaskGraph


@dataclass(frozen=True, eq=False)
class RecordedKernel:
    """What runs tell of one kernel on one architecture.

    Attributes
    ----------
    name
        Of its kernel model: LU's gemm is "gemm_nn", as in folders of coefficient files.
    samples
        One per task; ``runs`` has the places of the runs in the list that was given, from 0.
    sizes
        float64 [samples], the bytes that each task accesses, scratch left out.
    """

    name: str
    architecture: str
    samples: Samples
    sizes: NDArray[np.float64]

    @property
    def total_s(self) -> float:
        """How long its tasks take together, in seconds."""
        return float(self.samples.durations_s.sum())

    def with_sizes(self) -> Samples:
        """Return the samples with a parameter ``size_bytes``, which some models ask for."""
        if SIZE in self.samples.names:
            return self.samples
        table = np.column_stack([self.samples.parameters, self.sizes])
        names = (*self.samples.names, SIZE)
        return Samples(names, table, self.samples.durations_s, self.samples.runs)


def graph_of(run: Run, where: Path) -> TaskGraph:
    """Return the graph of a *run* that was read from *where*, made again.

    By its generator with its arguments, or from the file that the run names.

    Raises
    ------
    InputError
        If neither is there any more, or what is there is not the graph of these tasks.
    """
    try:
        graph = _made_again(run)
    except InputError as error:
        raise InputError(
            f"{where}: the graph of this run, {run.graph_label}, cannot be made again, and with "
            f"it the parameters of its tasks: {error}"
        ) from error
    difference = _difference(run, graph)
    if difference:
        raise InputError(
            f"{where}: {run.graph_label} is not the graph that was run any more: {difference}"
        )
    return graph


def recorded_kernels(runs: Sequence[RecordedRun]) -> list[RecordedKernel]:
    """Return what *runs* tell of each kernel, those first that take longest in all.

    Raises
    ------
    InputError
        If a kernel has other parameters in one run than in another, or a task took no time.
    """
    parts: dict[tuple[str, str], list[RecordedKernel]] = {}
    homes: dict[str, tuple[tuple[str, ...], Path]] = {}
    for number, recorded in enumerate(runs):
        for part in _of_run(recorded, number):
            _check_names(homes, part, recorded.path)
            parts.setdefault((part.name, part.architecture), []).append(part)
    joined = [_joined(found) for found in parts.values()]
    return sorted(joined, key=lambda kernel: (-kernel.total_s, kernel.name, kernel.architecture))


def _made_again(run: Run) -> TaskGraph:
    path = _file_of(run)
    if path is not None:
        from tasksim.graph.storage import load

        return load(path)
    if run.graph_name not in registry.names():
        known = ", ".join(registry.names())
        raise InputError(f"no generator is called '{run.graph_name}' here (known: {known})")
    return registry.generate(run.graph_name, **run.graph_arguments)


def _file_of(run: Run) -> Path | None:
    """Return the file that the graph was read from, None if it was generated.

    Raises :exc:`InputError` for files of costs per processor.
    """
    config: Any = run.config.get("graph")
    if not isinstance(config, dict):
        return None
    text = config.get("path") or config.get("name")
    if not isinstance(text, str) or text in registry.names():
        return None
    path = Path(text)
    if path.suffix == ".csv":
        raise InputError(f"it was read from {text}, costs of tasks that have no parameters")
    return path if path.suffix == ".npz" or path.is_file() else None


def _difference(run: Run, graph: TaskGraph) -> str:
    """Return how the tasks of *run* are not those of *graph*; nothing if they are."""
    if len(run) != len(graph):
        return f"{len(graph)} tasks, the run has {len(run)}"
    ran = np.array(run.kernel_names, dtype=object)[run.tasks.kernel]
    made = np.array(graph.kernels, dtype=object)[graph.kernel[run.tasks.task]]
    other = np.flatnonzero(ran != made)
    if not len(other):
        return ""
    first = int(other[0])
    return f"task {run.tasks.task[first]} is {made[first]}, in the run it is {ran[first]}"


def _of_run(recorded: RecordedRun, number: int) -> list[RecordedKernel]:
    """Return the kernels of one run, by architecture."""
    run, graph = recorded.run, recorded.graph
    tasks = run.tasks
    architectures = np.array([worker.architecture for worker in run.workers], dtype=object)
    where = architectures[tasks.worker]
    kernel, sizes = graph.kernel[tasks.task], task_bytes(graph)[tasks.task]
    found = []
    for index, name in enumerate(graph.model_names):
        for architecture in dict.fromkeys(where[kernel == index].tolist()):
            rows = np.flatnonzero((kernel == index) & (where == architecture))
            table = graph.parameters[index][graph.row[tasks.task[rows]]]
            names, durations = graph.parameter_names[index], tasks.duration_s[rows]
            try:
                samples = Samples(names, table, durations, np.full(len(rows), number))
            except InputError as error:
                raise InputError(f"{recorded.path}: kernel {name}: {error}") from error
            found.append(RecordedKernel(name, architecture, samples, sizes[rows]))
    return found


def _check_names(
    homes: dict[str, tuple[tuple[str, ...], Path]], part: RecordedKernel, path: Path
) -> None:
    names, home = homes.setdefault(part.name, (part.samples.names, path))
    if sorted(names) != sorted(part.samples.names):
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
