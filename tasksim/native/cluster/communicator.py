"""Communicator of one rank, the thread that sends and receives while workers compute.

It posts messages as the simulated one does. A send is ready when its task is released, that is when
the last writer has ended; ready sends go by priority, then in arrival order, with a limited number
in flight. A message that arrives before its receive is released, while earlier readers still use
the copy, waits in a buffer of its own. While all workers are busy, the thread sleeps longer between
polls.

The thread has no core of its own. It needs one for microseconds, immediately: while it waits for
the end of a worker's time slice, some milliseconds, all readers of its messages wait. So it asks
the system to run it soon after it wakes.
"""

from __future__ import annotations

import ctypes
import os
import platform
import threading
from array import array
from contextlib import suppress
from heapq import heappop, heappush
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tasksim.native.cluster.launch import end_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tasksim.base.arrays import Floats
    from tasksim.graph.distribution.messages import PostedMessages
    from tasksim.graph.distribution.parts import LocalPart
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.kernels.access_check import AccessCheckedProgram
    from tasksim.native.cluster.parcels import Parcels
    from tasksim.native.cluster.ranks import Ranks
    from tasksim.native.threads import EndedTask, HandsOut

__all__ = [
    "BUSY_SLEEP_S",
    "IDLE_SLEEP_S",
    "MAX_SENDS_IN_FLIGHT",
    "Communicator",
    "be_prompt",
    "error_tag",
]


MAX_SENDS_IN_FLIGHT: Final = 10
"""Maximum number of sends in flight, that of StarPU's ``STARPU_MPI_NDETACHED_SEND``."""

BUSY_SLEEP_S: Final = 200e-6
"""Sleep of the thread in seconds while all workers are busy and no message is in flight. A wake-up
takes 10 us of their cores: 5 % of them if the ranks have no core to spare."""
IDLE_SLEEP_S: Final = 30e-6
"""Sleep of the thread in seconds while a worker is idle. Polling without sleep would be faster on a
quiet machine; on a busy one, the system makes a thread that never sleeps wait for milliseconds.
Where ranks share cores the thread sleeps for :data:`BUSY_SLEEP_S` instead: its wake-ups would take
a third of a core from the ranks that compute."""

CPU_TIME_INTERVAL_S: Final = 1e-3
"""Interval between readings of the thread's processor time, in seconds: two or three tasks."""


class _Under(NamedTuple):
    """A message in flight at this rank."""

    task: int  # of this part; -1 if the message arrived before its receive was released
    number: int  # of the message
    sends: bool
    started_s: float


class Communicator:
    """The communication tasks of one rank's part, executed by a thread of its own.

    Parameters
    ----------
    ranks : Ranks
    whole : TaskGraph
        The whole graph.
    part : LocalPart
        The part of this rank.
    messages : PostedMessages
        All messages; the index of a message is its tag.
    parcels : Parcels
        The memory of the data.
    fails : callable, optional
        Called with the error message of another rank; by default ends all ranks.
    idle_s : float, optional
        Sleep of the thread while a worker is idle.
    watch : AccessCheckedProgram, optional
        Notified of data that messages write.

    Attributes
    ----------
    tasks : int8 array
        1 for each task of the part that belongs to this thread, otherwise 0.
    """

    def __init__(
        self,
        ranks: Ranks,
        whole: TaskGraph,
        part: LocalPart,
        messages: PostedMessages,
        parcels: Parcels,
        fails: Callable[[str], object] = end_all,
        idle_s: float = IDLE_SLEEP_S,
        watch: AccessCheckedProgram | None = None,
    ) -> None:
        from mpi4py import MPI

        self._mpi, self._comm, self._rank = MPI, ranks.comm, ranks.rank
        self._whole, self._part, self._messages = whole, part, messages
        self._parcels, self._fails = parcels, fails
        self._idle_s, self._watch = idle_s, watch
        self.tasks: NDArray[np.int8] = (part.message >= 0).astype(np.int8)
        self._number: list[int] = part.message.tolist()
        self._sends: list[bool] = (
            messages.source[np.maximum(part.message, 0)] == ranks.rank
            if len(messages)
            else np.zeros(len(part.message), np.bool_)
        ).tolist()
        self._thread: threading.Thread | None = None
        self._ready: list[tuple[int, int, int]] = []
        self._came = 0
        self._in_flight = 0
        self._requests: list[Any] = []
        self._under: list[_Under] = []
        self._expected: dict[int, int] = {}
        self._early: dict[int, NDArray[np.uint8]] = {}
        self._arrived: set[int] = set()
        self._ended: list[EndedTask] = []
        self.cpu_s = 0.0
        """Processor time of the thread in seconds, set when it ends."""
        self._looks: array[float] = array("d", (0.0, 0.0))
        """Alternating times of readings and the thread's processor time at each of them."""
        self._origin_s = 0.0

    def label(self, task: int) -> str:
        """Return the label of *task* in messages: that of the same task in the whole graph."""
        return self._whole.label(int(self._part.task[task]))

    def begin(self, runtime: HandsOut) -> None:
        """Start the thread: the clock of *runtime* runs."""
        self._thread = threading.Thread(
            target=self._work, args=(runtime,), name="communication", daemon=True
        )
        self._thread.start()

    def join(self) -> None:
        """Wait for the end of the thread, which comes with the end of the run."""
        if self._thread is not None:
            self._thread.join()

    def used_s(self, start_s: Floats, end_s: Floats) -> Floats:
        """Return the thread's processor time between each start and end, in seconds of the run."""
        times_s, cpu_s = np.reshape(self._looks, (-1, 2)).T
        found: Floats = np.interp(end_s, times_s, cpu_s) - np.interp(start_s, times_s, cpu_s)
        return found

    # The communication thread

    def _work(self, runtime: HandsOut) -> None:
        be_prompt()
        try:
            self._origin_s = runtime.origin_s
            self._communicate(runtime)
        except BaseException as error:
            self._fails(f"rank {self._rank}: communication failed: {error}")
        finally:
            self.cpu_s = thread_time()
            self._looks.extend((self._now(), self.cpu_s))

    def _communicate(self, runtime: HandsOut) -> None:
        moved = True
        while True:
            if self._now() - self._looks[-2] >= CPU_TIME_INTERVAL_S:
                self._looks.extend((self._now(), thread_time()))
            idle_s = self._idle_s
            busy_s = idle_s if self._requests else BUSY_SLEEP_S
            handed = runtime.handed_out(0.0, 0.0) if moved else runtime.handed_out(busy_s, idle_s)
            if handed is None:
                return
            for task in handed:
                self._accept(task)
            moved = bool(handed)
            moved |= self._send()
            moved |= self._receive()
            moved |= self._finish()
            if self._ended:
                runtime.completed(self._ended)
                self._ended = []

    def _now(self) -> float:
        return perf_counter() - self._origin_s

    def _accept(self, task: int) -> None:
        """Accept *task*, which was released."""
        number = self._number[task]
        if self._sends[task]:
            self._came += 1
            heappush(self._ready, (-int(self._messages.priority[number]), self._came, task))
            return
        self._expected[number] = task
        if number in self._arrived:  # arrived in full, in a buffer of its own
            self._unpack(number, self._now())

    def _send(self) -> bool:
        """Start the sends that may start; return whether there were any."""
        begun = False
        while self._ready and self._in_flight < MAX_SENDS_IN_FLIGHT:
            _, _, task = heappop(self._ready)
            number, started_s = self._number[task], self._now()
            buffer = self._parcels.buffer(int(self._messages.handle[number]))
            target = int(self._messages.target[number])
            self._add(
                self._comm.Isend(buffer, target, number), _Under(task, number, True, started_s)
            )
            self._in_flight += 1
            begun = True
        return begun

    def _receive(self) -> bool:
        """Start to receive arrived messages; return whether there were any."""
        came = False
        status = self._mpi.Status()
        while (message := self._comm.Improbe(status=status)) is not None:
            came = True
            number, started_s = status.Get_tag(), self._now()
            if number >= len(self._messages):
                # Another rank failed, and sent its error: end all ranks with it.
                text = bytearray(status.Get_count(self._mpi.BYTE))
                message.Recv([text, self._mpi.BYTE])
                self._fails(text.decode())
                continue
            task = self._expected.get(number, -1)
            if task >= 0:
                if self._watch is not None:
                    self._watch.coming(int(self._messages.handle[number]))
                buffer = self._parcels.buffer(int(self._messages.handle[number]))
            else:
                here = np.empty(status.Get_count(self._mpi.BYTE), np.uint8)
                self._early[number] = here
                buffer = here, len(here), self._mpi.BYTE
            self._add(message.Irecv(buffer), _Under(task, number, False, started_s))
        return came

    def _add(self, request: Any, under: _Under) -> None:
        self._requests.append(request)
        self._under.append(under)

    def _finish(self) -> bool:
        """Complete finished requests; return whether there were any."""
        if not self._requests:
            return False
        done = self._mpi.Request.Testsome(self._requests)
        if not done:
            return False
        now = self._now()
        # From the last one down: removal moves the last request into the freed place.
        for place in sorted(done, reverse=True):
            under = self._under[place]
            for column in (self._requests, self._under):
                column[place] = column[-1]
                column.pop()
            self._complete(under, now)
        return True

    def _complete(self, under: _Under, now: float) -> None:
        if under.sends:
            self._in_flight -= 1
        elif under.task < 0:
            self._arrived.add(under.number)
            if under.number in self._expected:
                self._unpack(under.number, now)
            return
        else:
            del self._expected[under.number]
            if self._watch is not None:
                self._watch.has_come(int(self._messages.handle[under.number]))
        self._ended.append((under.task, under.started_s, now))

    def _unpack(self, number: int, started_s: float) -> None:
        """Copy a message that arrived before its receive was released to its datum."""
        self._arrived.remove(number)
        handle = int(self._messages.handle[number])
        if self._watch is not None:
            self._watch.coming(handle)
        self._parcels.unpack(handle, self._early.pop(number))
        if self._watch is not None:
            self._watch.has_come(handle)
        self._ended.append((self._expected.pop(number), started_s, self._now()))


def error_tag(messages: PostedMessages) -> int:
    """Return the tag of error messages to rank 0: the one after all messages."""
    return len(messages)


SLACK_NS: Final = 1000
"""Allowed extra sleep in nanoseconds; the default of 50 us exceeds the sleep itself."""
SLICE_NS: Final = 100_000
"""Requested time slice in nanoseconds, the smallest that Linux grants: since 6.12, threads with
short slices run first, which needs no privilege and takes nothing from other threads."""

_TIMER_SLACK: Final = 29
_SET_ATTRIBUTES: Final = {"x86_64": 314, "aarch64": 274, "riscv64": 274}
"""Number of the system call ``sched_setattr`` per architecture: C libraries have no name for it."""


class _Attributes(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("policy", ctypes.c_uint32),
        ("flags", ctypes.c_uint64),
        ("nice", ctypes.c_int32),
        ("priority", ctypes.c_uint32),
        ("runtime_ns", ctypes.c_uint64),
        ("deadline_ns", ctypes.c_uint64),
        ("period_ns", ctypes.c_uint64),
    ]


def be_prompt() -> None:
    """Let the calling thread wake on time and run soon afterwards; no effect but on Linux."""
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        library.prctl(_TIMER_SLACK, SLACK_NS, 0, 0, 0)
        number = _SET_ATTRIBUTES.get(platform.machine())
        if number is not None:
            nice = os.getpriority(os.PRIO_PROCESS, 0)
            wanted = _Attributes(
                size=ctypes.sizeof(_Attributes), policy=0, nice=nice, runtime_ns=SLICE_NS
            )
            library.syscall(number, 0, ctypes.byref(wanted), 0)
