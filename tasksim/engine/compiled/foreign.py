"""Schedulers in Python that the core calls back.

The core calls their methods, and they call the functions of its view, with the interpreter's own
calls: both cost less than a call of a Python function. The order is that of SimPy's engine: each
request of a scheduler is complete before its call returns.
"""

from __future__ import annotations

import ctypes
from ctypes import c_void_p
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.core import interface
from tasksim.engine.data.ways import copy_estimates
from tasksim.runtime.flat import Refused
from tasksim.runtime.rules import illegal_pop, integer_or_none
from tasksim.runtime.view import Facts, RunView
from tasksim.schedulers.base import unless_default

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.copyestimates import CopyEstimates
    from tasksim.platform.description import Platform
    from tasksim.schedulers.base import Scheduler

__all__ = ["Called", "CalledMachineView", "CalledView"]

PUSH: Final = "push"
POP: Final = "pop"
"""Names of methods; the core keeps their addresses, so they must live as long as it does."""


class CalledView(RunView):
    """View of a replay of the core on cores with one memory: the time, and the waking of workers.

    *function* returns a function of the core by its name; the functions need *kept* to stay alive.
    """

    def __init__(
        self, facts: Facts, function: Callable[[str], Callable[..., Any]], kept: object
    ) -> None:
        super().__init__(facts)
        self._kept = kept
        self._pusher = function("pusher")
        self._count = len(self.workers)
        self._now, self._sleeping, self._wake = map(function, ("now", "sleeping", "wake"))
        self._wake_any, self._wake_all = function("wake_any_of"), function("wake_all_of")

    @property
    def now(self) -> float:
        """The simulated time in seconds."""
        seconds: float = self._now()
        return seconds

    @property
    def pusher(self) -> int | None:
        """The worker whose task released the one being pushed."""
        worker: int | None = self._pusher()
        return worker

    @pusher.setter
    def pusher(self, worker: int | None) -> None:
        """Do nothing: the core knows it."""

    def sleeping(self, worker: int) -> bool:
        """Return whether *worker* sleeps."""
        sleeps: bool = self._sleeping(worker)
        return sleeps

    def wake(self, worker: int) -> None:
        """Let *worker* ask for a task, if it sleeps."""
        if worker.__class__ is not int or not 0 <= worker < self._count:
            worker = self.known_worker(worker)
        self._wake(worker)

    def wake_any(self, task: int) -> None:
        """Wake the sleeping worker of lowest number that can run *task*."""
        self._wake_any(self.able[task])

    def wake_all(self, task: int) -> None:
        """Wake every sleeping worker that can run *task*."""
        self._wake_all(self.able[task])

    def end(self) -> None:
        """Drop the scheduler, which holds the view: the run is over."""
        vars(self).pop("_scheduler", None)


class CalledMachineView(CalledView):
    """View of a replay of the core on a machine with devices, with the places of data."""

    def __init__(
        self, facts: Facts, function: Callable[[str], Callable[..., Any]], kept: object
    ) -> None:
        super().__init__(facts, function, kept)
        self._transfer_estimate = function("transfer_estimate")
        self._unready = function("unready")
        self._holds = function("holds")
        self._prefetch = function("prefetch")
        self._prefetch_handle = function("prefetch_handle")

    def transfer_estimate(self, task: int, memory: int) -> float:
        """Return the expected time to bring the data of *task* to *memory*, in seconds."""
        seconds: float = self._transfer_estimate(task, memory)
        return seconds

    def unready(self, task: int, memory: int) -> tuple[int, int, int]:
        """Return the bytes that *task* lacks in *memory*: absent, not under way, without space."""
        lacks: tuple[int, int, int] = self._unready(task, memory)
        return lacks

    def holds(self, handle: int, memory: int) -> bool:
        """Return whether the value of a datum is in *memory*, or on its way there."""
        there: bool = self._holds(handle, memory)
        return there

    def copy_estimate(self, size_bytes: float, source: int, target: int) -> float:
        """Return the expected time of a copy between two memories, in seconds."""
        return self._copies.copy_s(size_bytes, source, target)

    def prefetch(self, task: int, memory: int) -> None:
        """Prefetch the data of *task* to *memory*."""
        self._prefetch(task, memory)

    def prefetch_handle(self, handle: int, memory: int) -> None:
        """Prefetch one datum, in its present version, to *memory*, unless a task writes it now."""
        self._prefetch_handle(handle, memory)

    @cached_property
    def _copies(self) -> CopyEstimates:
        return copy_estimates(self.platform)


class Called:
    """A scheduler written in Python, for one replay of the core.

    Parameters
    ----------
    scheduler, graph, platform : Scheduler, TaskGraph, Platform
        The policy, the graph and the machine.
    machine : bool
        Whether the replay is that of machines with devices.

    Attributes
    ----------
    view : CalledView
        The scheduler's view, after :meth:`show` has been called.

    Raises
    ------
    Refused
        If the core is not available, or cannot call this Python.
    """

    view: CalledView

    def __init__(
        self, scheduler: Scheduler, graph: TaskGraph, platform: Platform, *, machine: bool
    ) -> None:
        core = interface.locked_functions()
        if core is None:
            raise Refused(f"the core cannot call scheduler {scheduler.name}, which is in Python")
        self._core = core
        self.go_on = core.tasksim_replay_go_on
        self.scheduler = scheduler
        self._graph, self._platform = graph, platform
        self._machine = machine
        self._choices: dict[int, Any] = {}

    def called(self) -> interface.Called:
        """Return the core's input for the scheduler, which is not attached yet."""
        scheduler, graph, platform = self.scheduler, self._graph, self._platform
        counts = {
            "workers": len(platform.workers),
            "tasks": len(graph),
            "handles": graph.handles,
            "memories": len(platform.memories),
        }
        self._places = {name: [None] * count for name, count in counts.items()}
        called = {
            "scheduler": scheduler,
            "push": PUSH,
            "pop": POP,
            "started": unless_default(scheduler, "started"),
            "finished": unless_default(scheduler, "finished"),
            "choose": self._choose,
            "commit": self._commit,
            "number": self._number,
            **self._places,
        }
        self._called = called  # the core has their addresses: keep them alive
        return interface.Called(**{name: id(what) for name, what in called.items()})

    def show(self, replay: int) -> None:
        """Make the view of *replay*, which belongs to Python from now on."""
        self._owner = owner = self._core.tasksim_replay_owner(replay)
        graph, platform = self._graph, self._platform
        able, estimates = c_void_p(), c_void_p()
        self._core.tasksim_replay_seen(replay, ctypes.byref(able), ctypes.byref(estimates))
        shape = len(platform.classes), len(graph)
        facts = Facts(
            graph,
            platform,
            self.scheduler,
            _array(estimates, ctypes.c_double, shape[0] * shape[1]).reshape(shape).tolist(),
            _array(able, ctypes.c_uint64, len(graph)).tolist(),
        )
        kind = CalledMachineView if self._machine else CalledView
        function = self._core.tasksim_replay_function
        self.view = kind(facts, lambda name: function(owner, name.encode()), self._places)

    def close(self) -> None:
        """Break the circles of references: the run is over."""
        self._called.clear()
        self._choices.clear()
        if "view" in vars(self):
            self.view.end()

    def _choose(self, task: int) -> int:
        """Keep the scheduler's choice for *task*; return the pushing worker if it was chosen.

        Otherwise return -1.
        """
        scheduler, pusher = self.scheduler, self.view.pusher
        choice = self._choices[task] = scheduler.choose(task)
        own = pusher is not None and scheduler.chosen(choice) == pusher
        return pusher if own and pusher is not None else -1

    def _commit(self, task: int) -> None:
        self.scheduler.commit(task, self._choices.pop(task))

    def _number(self, popped: Any, worker: int) -> int:
        """Return the number of the task *popped*, which is not a plain int."""
        task = integer_or_none(popped)
        if task is None or not 0 <= task < len(self._graph):
            name = self._platform.workers[worker].name
            raise illegal_pop(self.scheduler, self._graph, (), popped, name)
        return task


def _array(place: c_void_p, kind: Any, count: int) -> np.ndarray[Any, Any]:
    """Return a copy of *count* numbers that lie at *place*."""
    if not count:
        return np.empty(0, kind)
    return np.ctypeslib.as_array((kind * count).from_address(place.value)).copy()
