"""Threads of a native run: one per worker, and the main thread, which submits and waits.

The same for both runtimes: how a run begins, how it is interrupted, how it ends.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from time import perf_counter
from typing import TYPE_CHECKING, Final, Protocol

from tasksim.base.interruption import Interrupts
from tasksim.base.memory import no_garbage_collection
from tasksim.native.cores import cores_for, pin_thread
from tasksim.native.processor_time import ThreadAccount

if TYPE_CHECKING:
    from tasksim.kernels.program import Program

__all__ = ["LOOK_S", "PATIENCE_S", "Progress", "Runtime", "conduct"]

SWITCH_INTERVAL_S: Final = 1e-4
"""How long a thread may keep Python's lock from one that asks for it. The default, 5 ms, is ten
times a typical task: a worker back from its kernel would wait for the submission to pause."""

LOOK_S: Final = 0.2
"""How often the main thread, while it waits, looks for signals and tells the progress: often enough
for a person, too seldom to cost a run anything."""

PATIENCE_S: Final = 2.0
"""How long an interrupted run waits for the scheduler to return from what it is doing."""

LEAVE_S: Final = 0.3
"""How long an interrupted run waits for the tasks under way: what a person takes for at once. Many
times a usual task, so that threads are left behind only where tasks are long; a kernel in C cannot
be stopped from without."""

Progress = Callable[[int, int], None]
"""Called now and then with the number of tasks done and of all tasks."""


class Runtime(Protocol):
    """What the threads of a run do."""

    def begin(self) -> None:
        """Start the clock, once: before any thread goes on."""

    def work(self, worker: int) -> None:
        """Execute tasks as *worker* until the run is over."""

    def submit(self, interrupts: Interrupts) -> None:
        """Submit all tasks; what *interrupts* have noted is raised now and then."""

    def wait(self, progress: Progress | None, interrupts: Interrupts) -> None:
        """Wait until the run is over; likewise."""

    def give_up(self) -> None:
        """Let no worker begin another task."""

    def stop(self) -> bool:
        """End the run; return False if a scheduler that does not return holds its lock."""


def conduct(
    runtime: Runtime,
    names: Sequence[str],
    program: Program,
    *,
    pin: bool,
    progress: Progress | None,
) -> list[ThreadAccount | None]:
    """Let threads, one per worker, called *names*, run to the end of the run.

    Return the system's account of each; None of one that was left behind.

    However it ends, no thread is left behind, but for a scheduler that does not return, and, after
    an interruption, for tasks that take long: their threads end with these tasks, or with the
    process.
    """
    start = threading.Barrier(len(names) + 1, action=runtime.begin)
    cores = cores_for(len(names)) if pin else None
    accounts: list[ThreadAccount | None] = [None] * len(names)
    threads = [
        threading.Thread(
            target=_work,
            args=(runtime, worker, start, cores[worker] if cores else None, accounts),
            name=name,
            daemon=True,
        )
        for worker, name in enumerate(names)
    ]
    # Interruptions wait until they are looked for: one that came while the main thread takes
    # or gives back the lock would leave it locked.
    patience_s: float | None = None
    with _undisturbed(), Interrupts(held=True) as interrupts:
        try:
            for thread in threads:
                thread.start()
            start.wait()
            runtime.submit(interrupts)
            runtime.wait(progress, interrupts)
            interrupts.check()
        except KeyboardInterrupt:
            runtime.give_up()  # before anything else: no worker begins another task
            _interrupt(program)
            patience_s = LEAVE_S
            raise
        finally:
            start.abort()  # where the main thread was interrupted before it let them go
            if runtime.stop():
                _join(threads, patience_s)
    return accounts


def _work(
    runtime: Runtime,
    worker: int,
    start: threading.Barrier,
    core: int | None,
    accounts: list[ThreadAccount | None],
) -> None:
    pin_thread(core)
    with suppress(threading.BrokenBarrierError):
        start.wait()
    before = ThreadAccount.now()
    runtime.work(worker)
    accounts[worker] = ThreadAccount.now().since(before)


def _join(threads: Sequence[threading.Thread], patience_s: float | None) -> None:
    """Wait until *threads* have ended, but no longer than *patience_s* for all; None: for ever."""
    begun = perf_counter()
    for thread in filter(threading.Thread.is_alive, threads):
        left = None if patience_s is None else max(0.0, begun + patience_s - perf_counter())
        thread.join(left)


def _interrupt(program: Program) -> None:
    """Let the tasks under way end early, where *program* can do that."""
    interrupt = getattr(program, "interrupt", None)
    if interrupt is not None:
        interrupt()


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Keep the garbage collector and long turns of Python's lock out of the measurement."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    try:
        with no_garbage_collection():
            yield
    finally:
        sys.setswitchinterval(interval)
