"""Writer of tasks.rec, as StarPU's trace tool writes it: for its tools, and to be read back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.files import refuse_existing, write_text
from tasksim.formats.traces.ownnotes import own_lines
from tasksim.formats.traces.written import MODE_NAMES, graph_if_any, predecessors

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run

__all__ = ["write_tasks_rec"]


def write_tasks_rec(run: Run, path: Path, force: bool = False) -> None:
    """Write the tasks of *run* as records with its times in milliseconds, ids from 1.

    Parameters
    ----------
    run : Run
        Dependencies, data and footprints are written where its graph is there.
    path : Path
        ``tasks.rec``.
    force : bool, default False
        Whether to replace an existing file.
    """
    refuse_existing(path, force=force)
    write_text(path, "".join(_records(run)), force=force)


def _records(run: Run) -> Iterator[str]:
    graph, before = graph_if_any(run), predecessors(run)
    yield from own_lines(run, graph)
    tasks, kernels = run.tasks, run.kernel_names
    memory = [worker.memory for worker in run.workers]
    known = ~np.isnan(tasks.popped_s)
    popped = _ms(np.where(known, tasks.popped_s, 0.0))
    rows = zip(
        tasks.task.tolist(), tasks.kernel.tolist(), tasks.worker.tolist(), tasks.priority.tolist(),
        *(_ms(times) for times in (tasks.submitted_s, tasks.ready_s, tasks.start_s, tasks.end_s)),
        strict=True,
    )  # fmt: skip
    data = None if graph is None else _Data(graph)
    for row, (task, kernel, worker, priority, submitted, ready, start, end) in enumerate(rows):
        name = _line(kernels[kernel])
        lines = [f"Name: {name}", f"Model: {name}", f"JobId: {task + 1}"]
        lines += [f"SubmitOrder: {task + 1}", f"Priority: {priority}"]
        if before is not None and (others := before(task)):
            lines.append(f"DependsOn: {' '.join(str(other + 1) for other in others)}")
        lines += ["Tag: 0", f"WorkerId: {worker}", f"MemoryNode: {memory[worker]}"]
        lines += [f"SubmitTime: {submitted}", f"ReadyTime: {ready}"]
        lines += [f"StartTime: {start}", f"EndTime: {end}"]
        if known[row]:
            lines.append(f"PopTime: {popped[row]}")
        if data is not None:
            lines += data.lines(task)
        yield "\n".join([*lines, "MPIRank: -1", "", ""])


class _Data:
    """Parameters and data of a graph's tasks, in StarPU's form."""

    def __init__(self, graph: TaskGraph) -> None:
        self._graph = graph
        self._size = graph.handle_size.tolist()
        self._ptr = graph.access_ptr.tolist()
        self._handle = graph.access_handle.tolist()
        self._mode = graph.access_mode.tolist()

    def lines(self, task: int) -> list[str]:
        """Return the lines about the configuration and the data of *task*."""
        graph = self._graph
        parameters = graph.parameters_of(task)
        footprint = parameters.get("footprint")
        if footprint is None:  # what tells configurations apart, as far as the kernel has some
            footprint = float(graph.row[task]) + 1
        lines = [f"Footprint: {int(footprint):x}"]
        if "flop" in parameters:
            lines.append(f"GFlop: {parameters['flop'] / 1e9!r}")
        if "iteration" in parameters:
            lines.append(f"Iteration: {int(parameters['iteration'])} -1")
        part = slice(self._ptr[task], self._ptr[task + 1])
        handles = self._handle[part]
        if handles:
            lines.append(f"Handles: {' '.join(f'{handle + 1:x}' for handle in handles)}")
            lines.append(f"Modes: {' '.join(MODE_NAMES[mode] for mode in self._mode[part])}")
            lines.append(f"Sizes: {' '.join(str(self._size[handle]) for handle in handles)}")
        return lines


def _ms(times_s: object) -> list[str]:
    """Return milliseconds with the six digits of nanoseconds."""
    ns = np.round(np.asarray(times_s, dtype=np.float64) * 1e9).astype(np.int64).tolist()
    return [f"{each // 1_000_000}.{each % 1_000_000:06d}" for each in ns]


def _line(name: str) -> str:
    """Return a name without line breaks, which would end the field."""
    return " ".join(name.split()) or "unnamed"
