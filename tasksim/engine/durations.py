"""Durations of all tasks in each class of workers, computed before the clock starts."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import numpy as np

from tasksim.base.errors import InputError, OutOfDomainError
from tasksim.graph.taskgraph import THREAD_START
from tasksim.models.fitted import columns
from tasksim.models.rows import DURATION_PARAMETER, RECORDED_SIZE, SIZE_PARAMETER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.models.contention import Contention
    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.locality import Locality
    from tasksim.models.quantiles import Draw
    from tasksim.platform.description import Platform

__all__ = [
    "AskedParameters",
    "Demand",
    "Demands",
    "Models",
    "PerTask",
    "contention_of",
    "durations",
    "stretch",
]


class Models(Protocol):
    """A source of kernel models, such as a folder of coefficient files, or given constants."""

    def model(self, kernel: str, architecture: str) -> KernelModel:
        """Return the model of *kernel* on *architecture*; :exc:`InputError` if there is none."""

    def locality(self, kernel: str, architecture: str) -> Locality | None:
        """Return the cost of far data for *kernel*; None if it is unknown."""


@runtime_checkable
class PerTask(Protocol):
    """A source of durations task by task, such as a recorded run."""

    def seconds(self, graph: TaskGraph, platform: Platform) -> NDArray[np.float64]:
        """Return the duration of each task in each class of workers, as :func:`durations`."""


def durations(
    graph: TaskGraph,
    platform: Platform,
    models: Models,
    rng: np.random.Generator | None = None,
) -> NDArray[np.float64]:
    """Return the duration of each task in each class of workers, in seconds.

    Parameters
    ----------
    graph, platform : TaskGraph, Platform
        The graph and the machine.
    models : Models
        Kernel models, found by the graph's model names.
    rng : numpy.random.Generator, optional
        Draw each task's duration from its model's distribution; by default, its mean.

    Returns
    -------
    ndarray, shape (classes, tasks)
        Infinite if a class has no model of the task's kernel, and so cannot run it.

    Raises
    ------
    InputError
        If a kernel has no model for any architecture of the platform.
    """
    demands = Demands(graph, platform, models)
    return demands.means() if rng is None else demands.draws(rng)


class Demands:
    """Queries of a graph to the models, made once, and their answers.

    Parameters and errors are those of :func:`durations`.
    """

    def __init__(self, graph: TaskGraph, platform: Platform, models: Models) -> None:
        self._shape = len(platform.classes), len(graph)
        self._seconds = models.seconds(graph, platform) if isinstance(models, PerTask) else None
        if self._seconds is None:
            self._all = list(_demands(graph, platform, models))
            self._without_worker = _starts_without_worker(graph, platform)

    @property
    def asked(self) -> Sequence[Demand] | None:
        """The demand on each model; None if the source knows the duration of each task."""
        return self._all if self._seconds is None else None

    def means(self) -> NDArray[np.float64]:
        """Return the mean duration of each task in each class of workers."""
        if self._seconds is not None:
            return self._seconds
        result = np.full(self._shape, np.inf)
        for group, tasks, model, table, rows, speed in self._all:
            result[group, tasks] = model.predict(table)[rows] / speed
        return self._without_idle_starts(result)

    def draws(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return a duration drawn for each task in each class of workers."""
        if self._seconds is not None:
            return self._seconds
        result = np.full(self._shape, np.inf)
        for demand, draw in zip(self._all, self._samplers, strict=True):
            result[demand.group, demand.tasks] = draw(rng) / demand.speed
        return self._without_idle_starts(result)

    def _without_idle_starts(self, seconds: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return *seconds*, with no time for the starts of threads that the platform lacks."""
        for task in self._without_worker:
            seconds[np.isfinite(seconds[:, task]), task] = 0.0
        return seconds

    @cached_property
    def _samplers(self) -> list[Draw]:
        return [demand.model.sampler(demand.table[demand.rows]) for demand in self._all]


def _starts_without_worker(graph: TaskGraph, platform: Platform) -> NDArray[np.intp]:
    """Return the starts of a recording's threads for which *platform* has no worker.

    The first worker is there at once.
    """
    if THREAD_START not in graph.kernels:
        return np.zeros(0, np.intp)
    starts = np.flatnonzero(graph.kernel == graph.kernels.index(THREAD_START))
    return starts[max(len(platform.workers) - 1, 0) :]


class Demand(NamedTuple):
    """Tasks of one kernel in one class of workers, and the model of their durations."""

    group: int
    tasks: NDArray[np.intp]
    model: KernelModel
    table: NDArray[np.float64]
    rows: NDArray[np.integer]
    speed: float | NDArray[np.float64]
    """The divisor of durations: one number, or one per task."""


def _demands(graph: TaskGraph, platform: Platform, models: Models) -> Iterator[Demand]:
    asked = AskedParameters(graph)
    for kernel, name in enumerate(graph.model_names):
        tasks = asked.tasks(kernel)
        names = graph.parameter_names[kernel]
        found: dict[int, KernelModel] = {}
        refused: InputError | None = None
        for index, of in enumerate(platform.classes):
            try:
                found[index] = models.model(name, of.models)
            except InputError as error:
                refused = refused or error
        if not found and refused is not None:
            # Tasks of kernels without models may have durations of their own.
            if DURATION_PARAMETER not in names:
                raise refused
            from tasksim.models.kinds.given import given_model

            found = {k: given_model(names, of.models) for k, of in enumerate(platform.classes)}
        for group, model in found.items():
            of = platform.classes[group]
            clocked = platform.frequencies.get(of.architecture)
            table, rows = asked.rows(kernel, model, None if clocked is None else clocked.models_hz)
            speed: float | NDArray[np.float64] = platform.speeds[of.architecture]
            if (slower := platform.slower(of.architecture)) != 1.0:
                contention = contention_of(models, name, of.models)
                speed = speed / stretch(model, table, rows, slower, contention)
            yield Demand(group, tasks, model, table, rows, speed)


class AskedParameters:
    """The parameters of a graph's tasks for their models, with each distinct row once.

    A model may need ``size_bytes``, or ``bytes`` if it is of a recording, which the kernel does not
    have: the size of the data that a task accesses, without scratch. Tasks of one configuration may
    differ in it.

    Kernels that share such a model are one codelet of StarPU, whose tasks all have the same number
    of data: if one kernel accesses fewer data than another, its first datum counts again. StarPU
    1.3's Cholesky, for example, updates diagonal tiles with its gemm, which gets the panel's tile
    twice.
    """

    def __init__(self, graph: TaskGraph) -> None:
        self.graph = graph
        self._tasks: dict[int, NDArray[np.intp]] = {}
        self._with_size: dict[int, tuple[NDArray[np.float64], NDArray[np.intp]]] = {}

    def tasks(self, kernel: int) -> NDArray[np.intp]:
        """Return the tasks of *kernel* (its number), ascending."""
        if kernel not in self._tasks:
            self._tasks[kernel] = np.flatnonzero(self.graph.kernel == kernel)
        return self._tasks[kernel]

    def parameters(self, kernel: int) -> tuple[Sequence[str], NDArray[np.float64]]:
        """Return the names of the parameters of *kernel*, and the rows of their values."""
        rows = np.unique(self.graph.row[self.tasks(kernel)])
        return self.graph.parameter_names[kernel], self.graph.parameters[kernel][rows]

    def rows(
        self, kernel: int, model: KernelModel, clock_hz: float | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.integer]]:
        """Return the rows of parameters that *model* needs, and the index of each task's row.

        *clock_hz* is the clock for a formula that was measured at several clocks; the default is
        its highest clock.

        Raises
        ------
        InputError
            If the kernel lacks parameters that the model needs.
        OutOfDomainError
            If the model does not know the category of a task; the message names the task.
        """
        names = self.graph.parameter_names[kernel]
        clock_hz = clock_hz if model.extrapolates else None
        needed = getattr(model, "names_", ())
        size = [
            name for name in (SIZE_PARAMETER, RECORDED_SIZE) if name in needed and name not in names
        ]
        if not size:
            given = self.graph.parameters[kernel]
            rows: NDArray[np.integer] = self.graph.row[self.tasks(kernel)]
        else:
            if kernel not in self._with_size:
                self._with_size[kernel] = self._rows_with_size(kernel)
            given, rows = self._with_size[kernel]
            given = given[:, [*range(len(names)), *[-1] * len(size)]]
            names = (*names, *size)
        categories = self.graph.categories.get(self.graph.kernels[kernel])
        table = columns(model, names, given, clock_hz, categories, keep_unseen=True)
        if model.categories_ and not (known := model.knows(table)[rows]).all():
            task = int(self.tasks(kernel)[np.argmin(known)])
            raise self._unseen(model, table[rows[np.argmin(known)]], task)
        return table, rows

    def _unseen(self, model: KernelModel, row: NDArray[np.float64], task: int) -> InputError:
        """Return the error for *task*, whose *row* of parameters has an unknown category."""
        from tasksim.models.categories import UNSEEN_CATEGORY, text_of, unseen_message

        given = self.graph.parameters_of(task)
        for name, code in zip(model.names_, row.tolist(), strict=True):
            lacking = model.unmeasured_.get(name, ())
            known = [of for of in model.categories_.get(name, ()) if of not in lacking]
            if known and (code == UNSEEN_CATEGORY or model.categories_[name][int(code)] in lacking):
                message = unseen_message(name, text_of(given[name]), known)
                break
        where = f"{model.label}: " if model.label else ""
        return OutOfDomainError(f"{where}{self.graph.label(task)}: {message}")

    def _rows_with_size(self, kernel: int) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Return the distinct rows of *kernel* with sizes, and the index of each task's row."""
        tasks = self.tasks(kernel)
        task_size = self._task_bytes[tasks] + self._bytes_again(kernel)
        sizes, size = np.unique(task_size, return_inverse=True)
        keys, rows = np.unique(
            self.graph.row[tasks].astype(np.int64) * len(sizes) + size, return_inverse=True
        )
        row, size = np.divmod(keys, max(len(sizes), 1))
        return np.column_stack([self.graph.parameters[kernel][row], sizes[size]]), rows

    def _bytes_again(self, kernel: int) -> NDArray[np.float64] | float:
        """Return the bytes that tasks of *kernel* pass to a shared codelet a second time."""
        names = self.graph.model_names
        sharing = [k for k, name in enumerate(names) if name == names[kernel]]
        if len(sharing) == 1:
            return 0.0
        from tasksim.graph.access_mode import AccessMode
        from tasksim.graph.reuse import accessed_bytes

        kept = np.flatnonzero(self.graph.access_mode != AccessMode.SCRATCH)
        begins = np.searchsorted(kept, self.graph.access_ptr)
        counts = [np.unique(np.diff(begins)[self.tasks(k)]) for k in sharing]
        own = counts[sharing.index(kernel)]
        if 0 in own or any(len(count) != 1 for count in counts):
            return 0.0  # no data to pass again, or a codelet with a variable number of data
        missing = int(np.max(counts) - own[0])
        return missing * accessed_bytes(self.graph)[kept[begins[self.tasks(kernel)]]]

    @cached_property
    def _task_bytes(self) -> NDArray[np.float64]:
        from tasksim.graph.reuse import task_bytes

        return task_bytes(self.graph)


def contention_of(models: Models, kernel: str, architecture: str) -> Contention | None:
    """Return the contention of *kernel* with its neighbours; None if it is unknown."""
    from tasksim.models.contention import Contended

    return models.contention(kernel, architecture) if isinstance(models, Contended) else None


def stretch(
    model: KernelModel,
    table: NDArray[np.float64],
    rows: NDArray[np.integer],
    slower: float,
    contention: Contention | None = None,
) -> float | NDArray[np.float64]:
    """Return the factor of the durations of tasks at another clock, one for all or one per task.

    Computing takes *slower* times as long, and waiting for memory as long as before: with the share
    c of computing, the factor is ``c * slower + 1 - c`` (Ding et al., "APMT", the equation of
    T_app: only CPI times instructions depends on the frequency). If neither the model nor the
    *contention* of its kernel knows the share, all time counts as computing;
    :func:`tasksim.scenario.advice.taken_for_computing` warns of that.

    >>> from tasksim.models.kinds.given import ConstantModel
    >>> stretch(ConstantModel(1.0), None, None, slower=2.0)
    2.0
    """
    from tasksim.models.contention import compute_share

    share = compute_share(model, table, contention)
    if share is None:
        return slower
    found: NDArray[np.float64] = 1.0 + (share * (slower - 1.0))[rows]
    return found
