"""Jobs of a workflow, with their files, dependencies and task graph."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import InputError, option
from tasksim.base.files import bare_name
from tasksim.formats.registry import GraphInput
from tasksim.graph.access_codes import RW, R, W
from tasksim.graph.access_mode import AccessMode
from tasksim.graph.builder import GraphBuilder
from tasksim.graph.csr import cycle_text, find_cycle, topological_order

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["DURATION_PARAMETER", "FLOP_PARAMETER", "Jobs", "with_durations"]

DURATION_PARAMETER: Final = "duration_s"
FLOP_PARAMETER: Final = "flop"
ACCESS_FUNCTIONS: Final[dict[int, Callable[[int], int]]] = {
    AccessMode.R: R,
    AccessMode.W: W,
    AccessMode.RW: RW,
}
"""The function of each mode in which jobs have their files."""


class Jobs:
    """Jobs with their durations, input and output files, and dependencies.

    Parameters
    ----------
    path : Path
        The file, for messages.

    Attributes
    ----------
    notes : list of str
        Missing and repeated facts.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = bare_name(path) or "workflow"
        self.notes: list[str] = []
        self._number: dict[str, int] = {}
        self._kernel: list[str] = []
        self._parameters: list[dict[str, float]] = []
        self._priority: list[int] = []
        self._reads: list[list[str]] = []
        self._writes: list[list[str]] = []
        self._edges: dict[tuple[int, int], float] = {}
        self._size: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._kernel)

    def __contains__(self, job: str) -> bool:
        return job in self._number

    def error(self, message: str, where: object = None) -> InputError:
        """Return the error with the file and the place in it: a line or a key path."""
        place = "" if where is None else f":{where}" if isinstance(where, int) else f": {where}"
        return InputError(f"{self.path}{place}: {message}")

    def number(self, text: object, what: str, where: object = None) -> float:
        """Return *text* as a finite number from 0; :exc:`InputError` if it is none."""
        try:
            value = float(text)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            value = math.nan
        if isinstance(text, bool) or not (math.isfinite(value) and value >= 0):
            raise self.error(f"{what}: got {text!r:.60}; legal: a finite number from 0", where)
        return value

    def add(
        self, job: str, kernel: str, parameters: dict[str, float], where: object, priority: int = 0
    ) -> None:
        """Append a job; raise :exc:`InputError` for a repeated name."""
        if job in self._number:
            raise self.error(f"task '{job}' occurs twice", where)
        self._number[job] = len(self._kernel)
        self._kernel.append(kernel or "task")
        self._parameters.append(parameters)
        self._priority.append(priority)
        self._reads.append([])
        self._writes.append([])

    def file(self, name: str, size_bytes: float) -> None:
        """Set the size of a file."""
        self._size[name] = int(size_bytes)

    def reads(self, job: str, name: str) -> None:
        """Note that a job reads a file."""
        self._reads[self._number[job]].append(name)

    def writes(self, job: str, name: str) -> None:
        """Note that a job writes a file."""
        self._writes[self._number[job]].append(name)

    def edge(self, before: str, after: str, where: object, size_bytes: float = 0.0) -> bool:
        """Add a dependency with the bytes sent; return whether it is new."""
        for job in (before, after):
            if job not in self._number:
                raise self.error(f"there is no task '{job}'", where)
        pair = self._number[before], self._number[after]
        if pair[0] == pair[1]:
            raise self.error(f"task '{before}' waits for itself", where)
        if pair in self._edges:
            return False
        self._edges[pair] = size_bytes
        return True

    def build(self) -> GraphInput:
        """Return the graph, with its tasks in topological order, and the notes.

        Raises :exc:`InputError` for a cycle of dependencies.
        """
        producers = self._producers()
        edges = {**dict.fromkeys(self._by_files(producers), 0.0), **self._edges}
        order = self._order(list(edges))
        self._compare(set(self._by_files(producers)))
        return GraphInput(self._graph(order), notes=tuple(self.notes))

    def _producers(self) -> dict[str, int]:
        """Return the job that writes each file; the last one counts."""
        found: dict[str, int] = {}
        twice: set[str] = set()
        for job, names in enumerate(self._writes):
            twice.update(name for name in names if name in found)
            found.update(dict.fromkeys(names, job))
        if twice:
            self.notes.append(
                f"{len(twice)} files have several producers, such as {min(twice)}, which write one"
                " after the other"
            )
        return found

    def _by_files(self, producers: dict[str, int]) -> list[tuple[int, int]]:
        return [
            (producers[name], job)
            for job, names in enumerate(self._reads)
            for name in names
            if name in producers and producers[name] != job
        ]

    def _compare(self, by_files: set[tuple[int, int]]) -> None:
        """Note differences between given dependencies and those by files."""
        if not by_files or not self._edges:
            return
        given = set(self._edges)
        names = list(self._number)
        for count, what in ((by_files - given, "by files are not given"),
                            (given - by_files, "that are given pass no file")):  # fmt: skip
            if count:
                one, other = min(count)
                self.notes.append(
                    f"{len(count)} dependencies {what}, such as {names[one]} -> {names[other]}"
                )

    def _order(self, edges: list[tuple[int, int]]) -> list[int]:
        """Return a topological order, otherwise in the order of the file."""
        order, waiting = topological_order(len(self._kernel), edges)
        if len(order) < len(waiting):
            names = list(self._number)
            path = cycle_text([names[job] for job in find_cycle(edges, waiting)])
            raise self.error(f"tasks depend on each other in a cycle: {path}")
        return order

    def _graph(self, order: list[int]) -> TaskGraph:
        g = GraphBuilder(self.name)
        g.announce(len(order))
        place = {job: at for at, job in enumerate(order)}
        handle = {
            name: g.handle(name, size_bytes=self._size.get(name, 0)) for name in self._files()
        }
        names = list(self._number)
        before: list[list[int]] = [[] for _ in names]
        received: list[list[int]] = [[] for _ in names]
        sent: list[list[int]] = [[] for _ in names]
        for (one, other), size in self._edges.items():
            before[other].append(place[one])
            if size > 0:
                data = g.handle(f"{names[one]} -> {names[other]}", size_bytes=int(size))
                sent[one].append(W(data))
                received[other].append(R(data))
        common = self._common_parameters()
        for job in order:
            modes: dict[int, int] = {}
            for name in self._reads[job]:
                modes[handle[name]] = AccessMode.R
            for name in self._writes[job]:
                modes[handle[name]] = modes.get(handle[name], 0) | AccessMode.W
            kernel = self._kernel[job]
            g.insert(
                kernel,
                *(ACCESS_FUNCTIONS[mode](data) for data, mode in modes.items()),
                *received[job],
                *sent[job],
                priority=self._priority[job],
                after=before[job],
                **{name: self._parameters[job][name] for name in common[kernel]},
            )
        return g.build()

    def _files(self) -> dict[str, None]:
        """Return all files, in the order of their first mention."""
        found = dict.fromkeys(self._size)
        for names in (*self._reads, *self._writes):
            found.update(dict.fromkeys(names))
        missing = [name for name in found if name not in self._size]
        if missing:
            self.notes.append(
                f"{len(missing)} files have no size, such as {missing[0]}: 0 bytes are assumed"
            )
        return found

    def _common_parameters(self) -> dict[str, list[str]]:
        """Return kernel -> the parameters of all its jobs."""
        found: dict[str, list[str]] = {}
        for kernel, values in zip(self._kernel, self._parameters, strict=True):
            known = found.setdefault(kernel, list(values))
            found[kernel] = [name for name in known if name in values]
        return found


def with_durations(graph: TaskGraph, flop_per_s: float) -> TaskGraph:
    """Return *graph* with a parameter ``duration_s``, flop divided by speed.

    Raises
    ------
    InputError
        If tasks of a kernel have no parameter ``flop``.
    """
    tables, names = [], []
    for kernel, known, table in zip(
        graph.kernels, graph.parameter_names, graph.parameters, strict=True
    ):
        if FLOP_PARAMETER not in known:
            has = "a duration, no flop" if DURATION_PARAMETER in known else "no flop"
            raise InputError(f"{option('flop_rate')}: tasks of kernel {kernel} have {has}")
        seconds = table[:, [known.index(FLOP_PARAMETER)]] / flop_per_s
        kept = [at for at, name in enumerate(known) if name != DURATION_PARAMETER]
        tables.append(np.hstack([table[:, kept], seconds]))
        names.append((*(known[at] for at in kept), DURATION_PARAMETER))
    return replace(graph, parameters=tuple(tables), parameter_names=tuple(names))
