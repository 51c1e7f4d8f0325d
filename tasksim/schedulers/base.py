"""Scheduler: the interface of a policy, and the view of a run that it is given."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Final

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Worker, WorkerClass
    from tasksim.run.power import PowerInfo
    from tasksim.schedulers.data_readiness import Readiness

__all__ = ["SPEEDUP", "Scheduler", "View", "chooses_apart", "unless_default"]

SPEEDUP: Final = {"cpu": 0.5, "cuda": 13.33, "hip": 13.33, "opencl": 12.22}
"""Nominal speed of a worker by architecture (StarPU's ``starpu_perfmodel.h``); others 0.5."""


class View(ABC):
    """What a scheduler sees of a run, simulated or native, and what it can ask of it.

    The runtime makes one per run and hands it to :meth:`Scheduler.attach`. Tasks, workers, classes,
    memories and data are numbers from 0.

    See Also
    --------
    Scheduler : what is given one.

    Examples
    --------
    A policy that says how many workers it was given:

    >>> from tasksim.schedulers.eager import Eager
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
    """All tasks, for schedulers that plan ahead; what happens when is not in it."""
    workers: tuple[Worker, ...]
    """The workers, in order of their number."""
    classes: tuple[WorkerClass, ...]
    """Workers alike but for the time at which they are free."""
    class_of: Sequence[int]
    """Per worker, the index of its class."""
    priority: Sequence[int]
    """Per task, its priority; larger is more urgent."""
    estimates: Sequence[Sequence[float]]
    """``estimates[class][task]``: expected duration in seconds, infinite where it cannot run."""
    able: Sequence[int]
    """Per task, a bit mask of the classes whose workers can run it."""
    pusher: int | None
    """The worker whose task released the one being pushed; ``None``: it came by submission."""

    @property
    def first_ready(self) -> Sequence[int]:
        """The tasks that are pushed before any has run, in order of submission."""
        from tasksim.graph.commutation import ready_at_first

        return ready_at_first(self.graph)

    @property
    def power(self) -> PowerInfo | None:
        """What the machine draws; None: nobody knows."""
        return None

    @property
    @abstractmethod
    def sizes(self) -> Sequence[int]:
        """Per data handle, its size in bytes."""

    @property
    @abstractmethod
    def accesses(self) -> Sequence[Sequence[tuple[int, int]]]:
        """Per task, what it accesses, in the order given: handle and access mode."""

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

        The sum over the data that it reads and that are neither there nor on their way there.
        """

    @abstractmethod
    def unready(self, task: int, memory: int) -> tuple[int, int, int]:
        """Return how many bytes *task* lacks in *memory*.

        Of what it reads: what is not there; and of that, what is not even on its way there.
        Third, of all that it accesses: what has no place allocated there yet. Scratch memory
        and reductions do not count.
        """

    def readiness(self, memory: int) -> Readiness | None:  # noqa: ARG002
        """Return what keeps the tasks given to it in the order of :meth:`unready` in *memory*.

        None where nothing does: then each task is asked for, which is the same, and slower where
        many wait.
        """
        return None

    @abstractmethod
    def copy_estimate(self, size_bytes: float, source: int, target: int) -> float:
        """Return the expected time of a copy from memory *source* to *target*, in seconds.

        Zero within one memory, infinite where no way leads.
        """

    @abstractmethod
    def can_run(self, task: int, worker: int) -> bool:
        """Return whether *worker* has an implementation of the kernel of *task*."""

    @abstractmethod
    def sleeping(self, worker: int) -> bool:
        """Return whether *worker* sleeps: its last pop gave nothing and nobody woke it since."""

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
        """Start to bring one datum, as it is now, to *memory*."""


class Scheduler:
    """A scheduling policy: tasks are pushed when ready, workers pop them.

    The same object works under both clocks. It has none of its own, and draws random numbers
    only from the generator it is given. Subclasses override :meth:`pop`, and :meth:`push` or
    the two halves of it, :meth:`choose` and :meth:`commit`;
    a policy that needs tables of its own builds them in :meth:`attach`. Options of a policy are the
    keyword arguments of its ``__init__``.

    See Also
    --------
    View : what it sees of a run.
    tasksim.schedulers.registry.create : a scheduler by its name.

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
    """What messages and runs call it; the name of the class where that gives none itself."""
    needs_estimates: ClassVar[bool] = False
    """Whether the policy looks at estimated durations, so that kernel models must be there."""
    uses_priorities: ClassVar[bool] = False
    """Whether copies made for its tasks have the tasks' priorities, or all have the same."""

    looks_at_data: ClassVar[bool] = False
    """Whether a push looks at the task's data, or brings them: then it waits while one of them is
    being handed to a copy engine."""

    view: View
    rng: random.Random

    def __init_subclass__(cls) -> None:
        if "name" not in vars(cls):  # not that of the class that it derives from
            cls.name = cls.__name__

    def attach(self, view: View, rng: random.Random) -> None:
        """Start a run that *view* shows. Called once, before anything else.

        Parameters
        ----------
        view : View
            The run.
        rng : random.Random
            The only source of random numbers: same seed, same run.
        """
        self.view = view
        self.rng = rng

    def push(self, task: int) -> None:
        """Take *task*, which is ready, and wake whoever may run it."""
        self.commit(task, self.choose(task))

    def choose(self, task: int) -> Any:
        """Return what to do with *task*, which is ready; change nothing.

        Optional. With it, a clock can let all pushes of one instant choose before any of them
        is committed, as if they did not see each other.
        """
        raise NotImplementedError

    def chosen(self, choice: Any) -> int | None:  # noqa: ARG002
        """Return the worker that *choice*, of :meth:`choose`, is for; None: nobody asks.

        With ``simultaneous_pushes=blind``, choices of the worker that pushes are committed first.
        """
        return None

    def commit(self, task: int, choice: Any) -> None:
        """Do with *task* what :meth:`choose` returned, and wake whoever may run it."""
        raise NotImplementedError

    def pop(self, worker: int) -> int | None:
        """Return the task that *worker* shall run next, or None: it then sleeps until woken."""
        raise NotImplementedError

    def started(self, task: int, worker: int) -> None:
        """Note that *worker* starts *task*."""

    def finished(self, task: int, worker: int) -> None:
        """Note that *worker* has finished *task*; its successors are pushed after this."""


def unless_default(scheduler: Scheduler, hook: str) -> Callable[[int, int], None] | None:
    """Return the scheduler's own *hook*, None if it has but the one that does nothing."""
    own = getattr(type(scheduler), hook, None)
    return None if own is getattr(Scheduler, hook) else getattr(scheduler, hook)


def chooses_apart(scheduler: Scheduler) -> bool:
    """Return whether *scheduler* chooses what to do with a task apart from doing it."""
    return getattr(type(scheduler), "choose", Scheduler.choose) is not Scheduler.choose
