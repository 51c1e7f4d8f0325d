"""Child process that computes cells: what a cell does to it, it does to nobody else.

A child is a new Python (nothing of its parent's is in it) that ends when its parent does, also
when that is killed. Its parent ends it when a cell takes too long; a cell that takes too much
memory gets none; and of one that brings the process down just that is known, for answers come one
by one then. As long as nothing happens they come in groups, which takes less.
"""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from functools import cache
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tasksim.base.errors import TasksimError
from tasksim.base.units import format_time
from tasksim.study.sweep.columns import LOST, Answer
from tasksim.study.sweep.workbench import Job, Workbench, compute

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tasksim.study.sweep.study import Limits

__all__ = ["Child", "Children", "compute_here", "serve"]

START_S: Final = 120.0
"""That a new process may take until it is ready: a second here, a minute on a file server that a
thousand others ask at the same time."""
ENDING_S: Final = 5.0
"""That a process may take from closing its files to its end."""
LOOK_S: Final = 1.0
"""How often a child looks whether its parent lives."""
GROUP_S: Final = 0.02
"""Answers of so long are sent together: to send takes some 40 us here and there."""
ONE_THREAD: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Each child has a core: libraries that take all cores would take those of the others."""
_PROGRAM: Final = (
    "import sys; sys.path[:] = {paths!r}; "
    "from tasksim.study.executors.child import serve; serve({number})"
)


class Child:
    """A child process, seen from its parent."""

    def __init__(self) -> None:
        self._connection, theirs = Pipe()
        with theirs:
            number = theirs.fileno()
            paths = [path or str(Path.cwd()) for path in sys.path]
            self._process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM.format(paths=paths, number=number)],
                pass_fds=(number,),
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the parent
                env={**os.environ, **dict.fromkeys(ONE_THREAD, "1")},
            )
        self._ready = False
        self.alive = True

    def answers(self, jobs: Sequence[Job], limits: Limits, singly: bool) -> Iterator[Answer]:
        """Yield the answers of cells, as far as the child comes.

        If they come *singly* it is known for which one it ended, which gets its answer, too.
        """
        left = list(jobs)
        try:
            self.wait()
            # Jobs and answers go as tuples: such of a class of their own take twice as long.
            self._connection.send(([tuple(job) for job in left], limits.memory_bytes, singly))
            while left:
                if not self._connection.poll(limits.time_s):
                    self.kill()
                    yield _too_long(left[0], limits)
                    return
                group = self._connection.recv()
                del left[: len(group)]
                yield from map(Answer._make, group)
        except (EOFError, OSError):
            how = self._end()
            if singly and left:
                yield Answer(left[0].cell, LOST, f"its process {how}")

    def kill(self) -> None:
        """End the process at once."""
        self.alive = False
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """End the process, and give back what it took."""
        self.kill()
        self._connection.close()

    def wait(self) -> None:
        """Wait until the process has imported what it needs."""
        if self._ready:
            return
        if not self._connection.poll(START_S):
            raise TasksimError(f"a process for cells was not ready after {START_S:g} s")
        self._connection.recv()
        self._ready = True

    def is_ready(self) -> bool:
        """Return whether waiting would take no time; a process that has ended is ready, too."""
        return self._ready or self._connection.poll()

    def _end(self) -> str:
        """Return how a process ended that has closed its side."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(ENDING_S)
        code = self._process.poll()
        self.kill()
        if code is None:
            return "was silent"
        if code >= 0:
            return f"ended with exit code {code}"
        return f"was killed by {signal.Signals(-code).name}"


class Children:
    """Children that threads borrow; those that are idle wait for the next."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[Child] = []
        self._all: set[Child] = set()
        self._closed = False

    def start(self, count: int) -> None:
        """Start children that will be needed: while they import, others can plan."""
        children = [Child() for _ in range(count)]
        with self._lock:
            self._idle += children
            self._all.update(children)

    def wait(self) -> None:
        """Wait until those that were started are ready; of one that died, its cells will tell."""
        for child in tuple(self._all):
            with suppress(EOFError, OSError):
                child.wait()

    def are_ready(self) -> bool:
        """Return whether all that were started are ready."""
        with suppress(OSError):
            return all(child.is_ready() for child in tuple(self._all))
        return True

    def compute(self, jobs: Sequence[Job], limits: Limits) -> list[Answer]:
        """Return the answers of cells, computed in a child; of a child that dies, in the next."""
        found: list[Answer] = []
        singly = len(jobs) == 1 or any(limit is not None for limit in limits)
        while len(found) < len(jobs):
            child = self._borrow()
            if child is None:
                break
            found += child.answers(jobs[len(found) :], limits, singly)
            singly = singly or not child.alive
            self._give_back(child)
        return found

    def compute_limited(self, jobs: Sequence[Job], limits: Limits) -> list[Answer]:
        """Return the answers of cells: from a child if they have limits, else of this thread."""
        if any(limit is not None for limit in limits):
            return self.compute(jobs, limits)
        return compute(jobs)

    def close(self) -> None:
        """End all children; calls that are under way return what they have."""
        with self._lock:
            self._closed = True
            children, self._all = self._all, set()
            self._idle.clear()
        for child in children:
            child.kill()

    def _borrow(self) -> Child | None:
        with self._lock:
            if self._closed:
                return None
            child = self._idle.pop() if self._idle else Child()
            self._all.add(child)
            return child

    def _give_back(self, child: Child) -> None:
        with self._lock:
            if child.alive and not self._closed:
                self._idle.append(child)
            else:
                self._all.discard(child)


def compute_here(jobs: Sequence[Job], limits: Limits) -> list[Answer]:
    """Return the answers of cells, as this process makes them that others gave them."""
    return _children().compute_limited(jobs, limits)


@cache
def _children() -> Children:
    """Return the children of this process."""
    children = Children()
    atexit.register(children.close)
    return children


def serve(number: int) -> None:
    """Compute cells that come through the connection with this *number*, until it is closed."""
    parent = os.getppid()
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    connection = Connection(number)
    bench = Workbench()
    bench.warm_up()
    before = _data_bytes()
    with suppress(EOFError, OSError):
        connection.send("ready")
        while True:
            jobs, memory_bytes, singly = connection.recv()
            if memory_bytes is not None:
                _limit_memory(before + int(memory_bytes))
            answers = bench.answers(map(Job._make, jobs))
            _send(connection, answers, 0.0 if singly else GROUP_S)


def _send(connection: Connection, answers: Iterable[Answer], every_s: float) -> None:
    """Send answers: those of so many seconds together."""
    group: list[tuple[object, ...]] = []
    sent = time.monotonic()
    for answer in answers:
        group.append(tuple(answer))
        if time.monotonic() - sent >= every_s:
            connection.send(group)
            group, sent = [], time.monotonic()
    if group:
        connection.send(group)


def _watch(parent: int) -> None:
    """End this process when its parent has ended: a cell may go on for ever."""
    while os.getppid() == parent:
        time.sleep(LOOK_S)
    os._exit(1)


def _too_long(job: Job, limits: Limits) -> Answer:
    seconds = limits.time_s or 0.0
    return Answer(job.cell, "timeout", f"took more than {format_time(seconds)}", seconds=seconds)


def _data_bytes() -> int:
    """Return how much memory of its own this process has asked for."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[5]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def _limit_memory(size_bytes: int) -> None:
    """Let the system refuse more memory of its own to this process."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (size_bytes, most))
