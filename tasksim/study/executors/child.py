"""Child process that computes cells, so that a misbehaving cell harms nothing else.

A child is a new Python process, which inherits nothing of its parent. It ends when its parent
ends, even if the parent is killed. The parent kills the child if a cell exceeds its time limit; an
allocation beyond the memory limit fails. If a child dies, its cells are computed again with one
answer per message, which shows the cell at fault. Otherwise answers are sent in groups, which is
cheaper.
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

START_TIMEOUT_S: Final = 120.0
"""Timeout for the start of a new process, in seconds: it usually needs a second, and a minute on a
file server with a thousand other clients."""
EXIT_TIMEOUT_S: Final = 5.0
"""Timeout for the exit of a child after it closed its pipe, in seconds."""
PARENT_CHECK_INTERVAL_S: Final = 1.0
"""Seconds between two checks of a child whether its parent lives."""
ANSWER_PERIOD_S: Final = 0.02
"""Time in seconds during which a child collects answers before it sends them as one message: a
message takes about 40 us on each side."""
THREAD_COUNT_VARIABLES: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Environment variables that limit libraries to one thread: each child has one core, and libraries
that use all cores would take those of the other children."""
_PROGRAM: Final = (
    "import sys; sys.path[:] = {paths!r}; "
    "from tasksim.study.executors.child import serve; serve({number})"
)
"""Program of a child, with the paths of its parent's modules and the number of its pipe."""


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
                env={**os.environ, **dict.fromkeys(THREAD_COUNT_VARIABLES, "1")},
            )
        self._ready = False
        self.alive = True

    def answers(self, jobs: Sequence[Job], limits: Limits, singly: bool) -> Iterator[Answer]:
        """Yield the answers of cells, until the child ends.

        If they are sent *singly*, the cell at which the child ended is known, and gets an answer,
        too.
        """
        left = list(jobs)
        try:
            self.wait()
            # Jobs and answers are sent as plain tuples: pickling named tuples takes twice as long.
            self._connection.send(([tuple(job) for job in left], limits.memory_bytes, singly))
            while left:
                if not self._connection.poll(limits.time_s):
                    self.kill()
                    seconds = limits.time_s or 0.0
                    error = f"took more than {format_time(seconds)}"
                    yield Answer(left[0].cell, "timeout", error, seconds=seconds)
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
        """End the process, and close the pipe to it."""
        self.kill()
        self._connection.close()

    def wait(self) -> None:
        """Wait until the process has finished its imports."""
        if self._ready:
            return
        if not self._connection.poll(START_TIMEOUT_S):
            raise TasksimError(f"a process for cells was not ready after {START_TIMEOUT_S:g} s")
        self._connection.recv()
        self._ready = True

    def is_ready(self) -> bool:
        """Return whether :meth:`wait` would return at once, also because the process has ended."""
        return self._ready or self._connection.poll()

    def _end(self) -> str:
        """Return the end of the process in words, once it has closed its side of the pipe."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(EXIT_TIMEOUT_S)
        code = self._process.poll()
        self.kill()
        if code is None:
            return "was silent"
        if code >= 0:
            return f"ended with exit code {code}"
        return f"was killed by {signal.Signals(-code).name}"


class Children:
    """A set of children that threads borrow.

    Idle children wait for the next thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[Child] = []
        self._all: set[Child] = set()
        self._closed = False

    def start(self, count: int) -> None:
        """Start *count* children; they import while the parent does other work."""
        children = [Child() for _ in range(count)]
        with self._lock:
            self._idle += children
            self._all.update(children)

    def wait(self) -> None:
        """Wait until all started children are ready or dead; a dead one shows at its first cell."""
        for child in tuple(self._all):
            with suppress(EOFError, OSError):
                child.wait()

    def are_ready(self) -> bool:
        """Return whether all started children are ready."""
        with suppress(OSError):
            return all(child.is_ready() for child in tuple(self._all))
        return True

    def compute(self, jobs: Sequence[Job], limits: Limits) -> list[Answer]:
        """Return the answers of cells from a child; if it dies, the next child continues."""
        found: list[Answer] = []
        singly = len(jobs) == 1 or any(limit is not None for limit in limits)
        while len(found) < len(jobs):
            with self._lock:
                if self._closed:
                    break
                child = self._idle.pop() if self._idle else Child()
                self._all.add(child)
            found += child.answers(jobs[len(found) :], limits, singly)
            singly = singly or not child.alive  # to find out which cell kills a child
            with self._lock:
                if child.alive and not self._closed:
                    self._idle.append(child)
                else:
                    self._all.discard(child)
        return found

    def compute_limited(self, jobs: Sequence[Job], limits: Limits) -> list[Answer]:
        """Return the answers of cells: from a child if there are limits, else from this thread."""
        if any(limit is not None for limit in limits):
            return self.compute(jobs, limits)
        return compute(jobs)

    def close(self) -> None:
        """End all children; pending calls return the answers that they have."""
        with self._lock:
            self._closed = True
            children, self._all = self._all, set()
            self._idle.clear()
        for child in children:
            child.kill()


def compute_here(jobs: Sequence[Job], limits: Limits) -> list[Answer]:
    """Return the answers of cells that another process sent to this one."""
    return _children().compute_limited(jobs, limits)


@cache
def _children() -> Children:
    """Return the children of this process."""
    children = Children()
    atexit.register(children.close)
    return children


def serve(number: int) -> None:
    """Compute the cells that arrive on the file descriptor *number*, until it is closed."""
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
            _send(connection, answers, 0.0 if singly else ANSWER_PERIOD_S)


def _send(connection: Connection, answers: Iterable[Answer], every_s: float) -> None:
    """Send the answers in groups, one every *every_s* seconds."""
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
    """End this process when its parent has ended."""
    while os.getppid() == parent:
        time.sleep(PARENT_CHECK_INTERVAL_S)
    os._exit(1)  # not sys.exit: the main thread may be in a cell that never ends


def _data_bytes() -> int:
    """Return the size of this process's private memory, in bytes; 0 if it is unknown."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[5]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def _limit_memory(size_bytes: int) -> None:
    """Limit the private memory of this process, if the system can."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (size_bytes, most))
