"""The interface of a scheduling policy, and its view of a run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Sequence

    from tasksim.base.arrays import Bools
    from tasksim.graph.csr import Int64
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Worker, WorkerClass
    from tasksim.platform.parts import MemoryDomain
    from tasksim.run.power import PowerInfo
    from tasksim.schedulers.decisions import Decisions

__all__ = [
    "HOST_ARCHITECTURE",
    "NOMINAL_SPEED",
    "SCHEDULER_METHODS",
    "Readiness",
    "Scheduler",
    "View",
    "chooses_apart",
    "option_of",
    "unless_default",
]

HOST_ARCHITECTURE: Final = "cpu"
"""Architecture of CPU workers; workers of all other architectures are accelerators."""
NOMINAL_SPEED: Final = {"cpu": 0.5, "cuda": 13.33, "hip": 13.33, "opencl": 12.22}
"""Nominal speed of a worker by architecture, without unit (StarPU's ``starpu_perfmodel.h``);
other architectures have 0.5."""
SCHEDULER_METHODS: Final = (
    "attach", "push", "choose", "chosen", "commit", "pop", "started", "finished",
)  # fmt: skip
"""Methods of a scheduler that the clock of a run calls."""


class Readiness(Protocol):
    """An index of tasks by their missing bytes in a memory, updated as data come and go."""

    def add(self, task: int) -> None:
        """Add *task* behind the others."""

    def add_first(self, task: int) -> None:
        """Add *task* in front of the others."""

    def remove(self, task: int) -> None:
        """Remove *task*."""

    def first(self) -> int:
        """Return the task that :func:`~tasksim.schedulers.queues.first_ready` finds; it stays."""

    def close(self) -> None:
        """Stop to follow changes of the memory."""


class View(ABC):
    """A scheduler's view of a simulated or native run, with its state and its requests.

    The runtime makes one per run and passes it to :meth:`Scheduler.attach`. Tasks, workers,
    classes, memories and data are numbers from 0.

    See Also
    --------
    Scheduler : The base class of policies.

    Examples
    --------
    A policy that prints the number of its workers:

    >>> from tasksim.schedulers.central import Eager
    >>> class Talkative(Eager):
    ...     def attach(self, view, rng):
    ...         super().attach(view, rng)
    ...         print(len(view.workers), "workers of", len(view.classes), "class")
    >>> import tasksim
    >>> graph = tasksim.generate("chain", length=1)
    >>> run = tasksim.simulate(graph, tasksim.Platform.identical(2), scheduler=Talkative())
    2 workers of 1 class
    """

    graph: TaskGraph
    """All tasks, for schedulers that plan ahead; it has no times."""
    workers: tuple[Worker, ...]
    """The workers, in order of their number."""
    classes: tuple[WorkerClass, ...]
    """Classes of workers that differ only in the time at which they become free."""
    class_of: Sequence[int]
    """Per worker, the index of its class."""
    priority: Sequence[int]
    """Per task, its priority; larger is more urgent."""
    estimates: Sequence[Sequence[float]]
    """``estimates[class][task]``: expected duration in seconds; infinite if the class cannot run
    the task."""
    able: Sequence[int]
    """Per task, a bit mask of the classes whose workers can run it."""
    pusher: int | None
    """The worker whose task released the one being pushed; ``None`` if its submission did."""
    decisions: Decisions | None = None
    """The record of the scheduler's decisions; ``None`` if the run is not asked for it."""

    @cached_property
    def first_ready(self) -> Sequence[int]:
        """The tasks that are pushed before any task has run, in order of submission."""
        from tasksim.graph.commutation import ready_at_first

        return ready_at_first(self.graph)

    @property
    def power(self) -> PowerInfo | None:
        """The power of the machine; None if the platform does not give it."""
        return None

    @property
    def memory_domains(self) -> tuple[MemoryDomain, ...]:
        """The parts of the main memory, with the workers near each; empty if there are none."""
        return ()

    @property
    def placement(self) -> str:
        """Where data live in the memory domains, as ``numa.placement``; empty if it is unknown."""
        return ""

    @property
    @abstractmethod
    def sizes(self) -> Sequence[int]:
        """Per data handle, its size in bytes."""

    @property
    @abstractmethod
    def accesses(self) -> Sequence[Sequence[tuple[int, int]]]:
        """Per task, its accesses in the order given: pairs of a handle and an access mode."""

    @property
    @abstractmethod
    def now(self) -> float:
        """The time since the start of the run, in seconds."""

    @abstractmethod
    def estimate(self, task: int, worker: int) -> float:
        """Return the expected duration of *task* on *worker*, in seconds."""

    @abstractmethod
    def transfer_estimate(self, task: int, memory: int) -> float:
        """Return the expected time to bring the data of *task* to *memory*, in seconds.

        This is the sum over the data that the task reads, without those that are in *memory* or on
        their way there.
        """

    @abstractmethod
    def unready(self, task: int, memory: int) -> tuple[int, int, int]:
        """Return three numbers of bytes that *task* lacks in *memory*.

        The first is the size of the data that it reads and that are not there; the second counts
        only those of them that are not on their way there either. The third is the size of all
        data that it accesses and that have no space allocated there. Scratch memory and reductions
        do not count.
        """

    @abstractmethod
    def holds(self, handle: int, memory: int) -> bool:
        """Return whether the value of a datum is in *memory*, or on its way there."""

    def readiness(self, memory: int) -> Readiness | None:  # noqa: ARG002
        """Return an index that keeps tasks in the order of :meth:`unready` in *memory*.

        None means that there is no such index. The caller then calls :meth:`unready` for each task,
        which gives the same order but is slower for many tasks.
        """
        return None

    @abstractmethod
    def copy_estimate(self, size_bytes: float, source: int, target: int) -> float:
        """Return the expected time of a copy from memory *source* to *target*, in seconds.

        It is zero within one memory, and infinite if there is no route.
        """

    @abstractmethod
    def can_run(self, task: int, worker: int) -> bool:
        """Return whether *worker* has an implementation of the kernel of *task*."""

    @abstractmethod
    def sleeping(self, worker: int) -> bool:
        """Return whether *worker* sleeps: its last pop returned None, and no wake-up followed."""

    @abstractmethod
    def wake(self, worker: int) -> None:
        """Let *worker* ask for a task, if it sleeps."""

    @abstractmethod
    def wake_any(self, task: int) -> None:
        """Wake the sleeping worker of lowest number that can run *task*, if there is one."""

    @abstractmethod
    def wake_all(self, task: int) -> None:
        """Wake every sleeping worker that can run *task*."""

    @abstractmethod
    def prefetch(self, task: int, memory: int) -> None:
        """Start to bring the data of *task* to *memory*."""

    @abstractmethod
    def prefetch_handle(self, handle: int, memory: int) -> None:
        """Start to bring the current value of one datum to *memory*."""


class Scheduler:
    """A scheduling policy, to which the runtime pushes ready tasks and from which workers pop them.

    The same object works in simulated and native runs. It has no clock of its own, and draws random
    numbers only from the generator that it is given. Subclasses override :meth:`pop`, and either
    :meth:`push` or its two halves, :meth:`choose` and :meth:`commit`. A policy that needs tables of
    its own builds them in :meth:`attach`. Options of a policy are the keyword arguments of its
    ``__init__``.

    See Also
    --------
    View : The scheduler's view of a run.
    tasksim.schedulers.registry.create : Create a scheduler by its name.

    Examples
    --------
    Last in, first out:

    >>> class Lifo(Scheduler):
    ...     def attach(self, view, rng):
    ...         super().attach(view, rng)
    ...         self.stack = []
    ...     def push(self, task):
    ...         self.stack.append(task)
    ...         self.view.wake_any(task)
    ...     def pop(self, worker):
    ...         return self.stack.pop() if self.stack else None
    >>> import tasksim
    >>> graph = tasksim.generate("fork-join", width=3, duration=1.0)
    >>> run = tasksim.simulate(graph, tasksim.Platform.identical(1), scheduler=Lifo())
    >>> run.scheduler, run.tasks.start_s.tolist()
    ('Lifo', [0.0, 3.0, 2.0, 1.0, 4.0])
    """

    name: ClassVar[str] = ""
    """The name of the policy in messages and runs; by default the name of the class."""
    needs_estimates: ClassVar[bool] = False
    """Whether the policy uses estimated durations, so that it requires kernel models."""
    uses_priorities: ClassVar[bool] = False
    """Whether copies for its tasks have the priorities of the tasks; else all have the same."""

    looks_at_data: ClassVar[bool] = False
    """Whether a push looks at the task's data or prefetches them: it then waits while one of them
    is being handed to a copy engine."""
    core: ClassVar[str] = ""
    """The name of the same policy in the compiled core; empty if the core calls this one instead.
    The core's policy gets :meth:`core_options` and :meth:`core_tables`."""
    as_threads: ClassVar[bool] = False
    """Whether StarPU's threads can be simulated as they run this policy, lock by lock."""

    view: View
    rng: random.Random

    def __init_subclass__(cls) -> None:
        # A derived class is another policy: neither the name nor what the core and the threads know
        # of its base hold for it.
        own = vars(cls)
        if "name" not in own:
            cls.name = cls.__name__
        if "core" not in own:
            cls.core = ""
        if "as_threads" not in own:
            cls.as_threads = False

    def attach(self, view: View, rng: random.Random) -> None:
        """Start the run that *view* shows; called once, before all other methods.

        Parameters
        ----------
        view : View
            The run.
        rng : random.Random
            The only source of random numbers, so that the same seed gives the same run.
        """
        self.view = view
        self.rng = rng

    def push(self, task: int) -> None:
        """Take *task*, which is ready, and wake workers that may run it."""
        self.commit(task, self.choose(task))

    def choose(self, task: int) -> Any:
        """Return a decision for *task*, which is ready, without any change of state.

        This method is optional. It lets a clock make the decisions of all simultaneous pushes
        before it commits the first of them, so that they do not see each other.
        """
        raise NotImplementedError

    def chosen(self, choice: Any) -> int | None:  # noqa: ARG002
        """Return the worker of *choice*, a decision of :meth:`choose`; None if it has none.

        With ``simultaneous_pushes=blind``, decisions for the pushing worker are committed first.
        """
        return None

    def commit(self, task: int, choice: Any) -> None:
        """Carry out *choice* for *task*, and wake workers that may run it."""
        raise NotImplementedError

    def pop(self, worker: int) -> int | None:
        """Return the next task of *worker*; with None, it sleeps until it is woken."""
        raise NotImplementedError

    def started(self, task: int, worker: int) -> None:
        """Note that *worker* starts *task*."""

    def finished(self, task: int, worker: int) -> None:
        """Note that *worker* has finished *task*; its successors are pushed after this."""

    def core_options(self) -> dict[str, float]:
        """Return the options of its policy in the compiled core, as numbers."""
        return {}

    def core_tables(self, view: View, rng: random.Random) -> dict[str, Int64]:  # noqa: ARG002
        """Return the tables of its policy in the compiled core for the run that begins.

        Tables use only those parts of *view* that are known before the clock starts: the graph,
        the workers, their classes, the tasks that each can run, and estimates of tasks and copies.
        Replays of a series share tables, so that these must not depend on random numbers.
        """
        return {}


def unless_default(scheduler: Scheduler, hook: str) -> Callable[[int, int], None] | None:
    """Return the scheduler's *hook*; None if it is the default, which does nothing."""
    own = getattr(type(scheduler), hook, None)
    return None if own is getattr(Scheduler, hook) else getattr(scheduler, hook)


def chooses_apart(scheduler: Scheduler) -> bool:
    """Return whether *scheduler* decides and commits in two separate methods."""
    return getattr(type(scheduler), "choose", Scheduler.choose) is not Scheduler.choose


def option_of(scheduler: Scheduler, name: str) -> str:
    """Return the option *name* of *scheduler* as messages call it."""
    return f"scheduler '{scheduler.name}': option '{name}'"


def access_tables(graph: TaskGraph, chosen: Bools) -> dict[str, Int64]:
    """Return the data of each task, by the *chosen* ones of its accesses, and the sizes of data."""
    import numpy as np

    from tasksim.graph.csr import owner_of_each, pointers_of_counts

    task = owner_of_each(graph.access_ptr)[chosen]
    return {
        "access_ptr": pointers_of_counts(np.bincount(task, minlength=len(graph))),
        "access_handle": graph.access_handle[chosen].astype(np.int64),
        "size_bytes": graph.handle_size.astype(np.int64),
    }


def rows(name: str, lists: Iterable[Sequence[int]]) -> dict[str, Int64]:
    """Return two tables: the concatenated *lists* as *name*, and their offsets as ``name_ptr``."""
    import numpy as np

    items: list[int] = []
    ends = [0]
    for found in lists:
        items += found
        ends.append(len(items))
    return {
        name: np.array(items, dtype=np.int64),
        f"{name}_ptr": np.array(ends, dtype=np.int64),
    }
