"""Callbacks from the compiled runtime into Python, for Python schedulers and Python tasks."""

from __future__ import annotations

import threading
from operator import index
from time import perf_counter
from typing import TYPE_CHECKING, Any

from tasksim.core.interface import Call0, Call1, Call2, Callbacks, CalledBack, with_lock
from tasksim.native.processor_time import ProcessorTime
from tasksim.native.pulse import relative_pulse
from tasksim.runtime.blame import blamed
from tasksim.runtime.rules import illegal_pop
from tasksim.runtime.view import RunView
from tasksim.schedulers.base import unless_default

if TYPE_CHECKING:
    import ctypes
    import random
    from collections.abc import Callable, Sequence

    from tasksim.base.interruption import Interrupts
    from tasksim.kernels.program import Program
    from tasksim.native.processor_time import ProcessorUses
    from tasksim.native.pulse import Idle
    from tasksim.runtime.view import Facts

__all__ = ["CalledProgram", "CalledScheduler", "CompiledView"]

FAILED = -2
"""Return value of a callback that failed; -1 means that there is no task."""


class CompiledView(RunView):
    """View of the core's threads for a Python scheduler; every call holds the run's lock."""

    def __init__(self, facts: Facts) -> None:
        super().__init__(facts)
        self.origin = 0.0
        """Start of the run's clock, as a time of :func:`time.perf_counter`."""
        self._asleep: Sequence[int] = [0] * len(self.workers)

    def connect(self, core: ctypes.CDLL, run: int) -> None:
        """Attach the view to *run*, a handle of the library *core*."""
        self._run = run
        self._asleep = with_lock(core, "native_sleepers")(run)
        self._wake = with_lock(core, "native_wake")
        self._wake_any = with_lock(core, "native_wake_any")
        self._wake_all = with_lock(core, "native_wake_all")
        self._pusher = with_lock(core, "native_pusher")

    @property
    def now(self) -> float:
        """Time in seconds since the start of the submission."""
        return perf_counter() - self.origin

    def sleeping(self, worker: int) -> bool:
        """Return whether *worker* sleeps."""
        return bool(self._asleep[self.known_worker(worker)])

    def wake(self, worker: int) -> None:
        """Let *worker* ask for a task if it sleeps."""
        self._wake(self._run, self.known_worker(worker))

    def wake_any(self, task: int) -> None:
        """Wake the sleeping worker of lowest number that can run *task*."""
        self._wake_any(self._run, index(task))

    def wake_all(self, task: int) -> None:
        """Wake every sleeping worker that can run *task*."""
        self._wake_all(self._run, index(task))

    def note_pusher(self) -> None:
        """Note which worker's task released the task that is about to be pushed."""
        pusher = self._pusher(self._run)
        self.pusher = None if pusher < 0 else pusher


class CalledScheduler:
    """Adapter that the core calls as a scheduler and that calls a Python scheduler.

    Parameters
    ----------
    facts : Facts
        Facts of the run, with its scheduler.
    view : CompiledView
        View that the scheduler is attached to.
    rng : random.Random
        Random numbers of the scheduler.

    Attributes
    ----------
    error : BaseException or None
        First error that the scheduler raised, with a note that blames it.
    interrupts : Interrupts or None
        Set while the main thread submits: a signal then interrupts a push that does not return.
    """

    def __init__(self, facts: Facts, view: CompiledView, rng: random.Random) -> None:
        self.error: BaseException | None = None
        self.interrupts: Interrupts | None = None
        self._facts, self._view, self._rng = facts, view, rng
        self._scheduler = facts.scheduler
        self._main = threading.get_ident()
        self.state: Callable[[], Sequence[int]] = list
        """Function that returns the states of all tasks, for error messages."""
        hooks = {
            hook: Call2(self._noting(own))
            for hook in ("started", "finished")
            if (own := unless_default(self._scheduler, hook)) is not None
        }
        self.callbacks = Callbacks(
            attach=Call0(self._attach), push=Call1(self._push), pop=Call1(self._pop), **hooks
        )

    def _attach(self) -> int:
        try:
            self._scheduler.attach(self._view, self._rng)
        except BaseException as error:
            return self._failed(error)
        return 0

    def _push(self, task: int) -> int:
        interrupts = self.interrupts if threading.get_ident() == self._main else None
        try:
            self._view.note_pusher()
            if interrupts is None:
                self._scheduler.push(task)
            else:
                try:
                    interrupts.allow()
                    self._scheduler.push(task)
                finally:
                    interrupts.hold()
        except BaseException as error:
            return self._failed(error)
        return 0

    def _pop(self, worker: int) -> int:
        try:
            popped = self._scheduler.pop(worker)
            if popped is None:
                return -1
            task = popped if popped.__class__ is int else self._number(popped)
            if not 0 <= task < len(self._facts.graph):
                facts = self._facts
                name = facts.platform.workers[worker].name
                raise illegal_pop(self._scheduler, facts.graph, self.state(), popped, name)
        except BaseException as error:
            return self._failed(error)
        return task

    def _number(self, popped: Any) -> int:
        """Return *popped* as an integer (also one of NumPy), or -1 if it is none, such as True."""
        try:
            return -1 if isinstance(popped, bool) else index(popped)
        except TypeError:
            return -1

    def _noting(self, hook: Callable[[int, int], None]) -> Callable[[int, int], int]:
        def note(task: int, worker: int) -> int:
            try:
                hook(task, worker)
            except BaseException as error:
                return self._failed(error)
            return 0

        return note

    def _failed(self, error: BaseException) -> int:
        self.error = self.error or blamed(error, self._scheduler, self._facts.graph)
        return FAILED


class CalledProgram:
    """Tasks of a program that run in Python, called by the core.

    Attributes
    ----------
    call_back
        Function that the core calls.
    errors : dict of int to BaseException
        Error that the task of each worker raised.
    uses : ProcessorUses or None
        Processor time of the tasks, if it is recorded.
    idle : list of Idle or None
        Idle state of each worker's core, if pulses are taken.
    """

    def __init__(self, program: Program) -> None:
        self.errors: dict[int, BaseException] = {}
        self.uses: ProcessorUses | None = None
        self.idle: list[Idle] | None = None
        self._accounts: dict[int, ProcessorTime] = {}
        """Account per worker: only a thread itself can read its preemptions."""
        self._run = program.run
        self.call_back = CalledBack(self._call)

    def _call(self, task: int, worker: int, times: Any) -> int:
        try:
            account = None if self.uses is None else self._account(worker)
            times[0] = perf_counter()
            # Reading the clocks takes time that belongs to no task: start again after it.
            if account is not None and account.look_after_pause(times[0]):
                times[0] = perf_counter()
            self._run(task, worker)
            times[1] = perf_counter()
            if account is not None:
                account.ended(task, times[0], times[1])
        except BaseException as error:
            self.errors[worker] = error
            return 1
        return 0

    def finish(self, worker: int) -> None:
        """End the account of *worker*, in its thread."""
        account = self._accounts.get(worker)
        if account is not None:
            account.finish(perf_counter())

    def _account(self, worker: int) -> ProcessorTime:
        account = self._accounts.get(worker)
        if account is None:
            assert self.uses is not None
            idle = self.idle
            pulse = None if idle is None else relative_pulse(idle[worker])
            account = self._accounts[worker] = ProcessorTime(self.uses, pulse=pulse)
            account.begin(perf_counter())
        return account
