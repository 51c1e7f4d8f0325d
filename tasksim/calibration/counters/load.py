"""Memory load by processes that stream beside a measurement, each on a core of its own.

``python -m tasksim.calibration.counters.load CORE BYTES PARENT`` is such a process.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Final

from tasksim.base.errors import InputError, TasksimError
from tasksim.calibration.memory import disturbed_text, working_sets
from tasksim.calibration.tools import MemoryTool
from tasksim.models.samples import HITS
from tasksim.native.caches import data_caches
from tasksim.native.this_machine import pin_thread, usable_cores

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["check_load", "faster_beside", "latencies", "latency_factor", "loaded_memory", "main"]

STREAM_BYTES: Final = 64 << 20
"""Bytes that each process streams over: more than most caches keep of data read once."""
CHASED_BYTES: Final = 1 << 30
"""Four times the largest working set for memory, in bytes: building a larger chain takes over a
second."""
LATENCY_ROUNDS: Final = 21
"""Number of latencies per level; their median counts, as beside a load the typical one matters, not
the least."""
CHASE_STEPS: Final = 20_000
MIN_LATENCY_RATIO: Final = 0.95
"""Smallest plausible ratio of latencies beside a load and alone: a load makes nothing faster, and
medians on a calm machine differ by a few percent."""
TERMINATION_PATIENCE_S: Final = 5.0
"""Time in seconds after which a process that does not end is killed."""


def check_load(processes: int) -> None:
    """Raise :exc:`InputError` unless there are cores for *processes* and a measurement."""
    cores = len(usable_cores())
    if not 0 <= processes < cores:
        raise InputError(
            f"load={processes}: this process may use {cores} cores, and the measurement needs one; "
            f"legal: 0 to {cores - 1}"
        )


@contextmanager
def loaded_memory(processes: int) -> Iterator[None]:
    """Load the memory by *processes* processes in the block; pin this thread to another core.

    Raise :exc:`TasksimError` if a process does not start.
    """
    check_load(processes)
    cores = usable_cores()
    streaming: list[subprocess.Popen[str]] = []
    try:
        command = [sys.executable, "-m", "tasksim.calibration.counters.load"]
        for core in cores[1 : 1 + processes]:
            numbers = [str(core), str(STREAM_BYTES), str(os.getpid())]
            streaming.append(
                subprocess.Popen([*command, *numbers], stdout=subprocess.PIPE, text=True)
            )
        for process in streaming:
            assert process.stdout is not None
            if process.stdout.readline() != "streaming\n":
                raise TasksimError("a process of the memory load did not start")
        pin_thread(cores[0])
        yield
    finally:
        for process in streaming:
            process.terminate()
        for process in streaming:
            _end(process)
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, cores)


def latencies() -> dict[str, float]:
    """Return the current latency of each level of memory in seconds."""
    caches, tool = data_caches(), MemoryTool()
    if not caches:
        raise TasksimError("memory load: the system does not report the sizes of the caches")
    line = caches[0].line_bytes
    return {
        name: sorted(islice(tool.latencies(size, line, CHASE_STEPS), LATENCY_ROUNDS))[
            LATENCY_ROUNDS // 2
        ]
        for name, size in working_sets(caches, CHASED_BYTES)
    }


def latency_factor(
    counted: Mapping[str, float], alone: Mapping[str, float], beside: Mapping[str, float]
) -> float:
    """Return the slowdown of *counted* accesses beside the load.

    It follows from each level's latency *alone* and *beside* the load; a load makes nothing faster.

    >>> latency_factor({"l1_hits": 100, "memory_accesses": 1}, {"l1": 1, "memory": 100},
    ...                {"l1": 1, "memory": 200})
    1.5
    """
    pairs = [(counted[HITS[n]], alone[n], beside[n]) for n in alone if HITS[n] in counted]
    before = sum(hits * seconds for hits, seconds, _ in pairs)
    after = sum(hits * max(seconds, slower) for hits, seconds, slower in pairs)
    return after / before if before else 1.0


def faster_beside(alone: Mapping[str, float], beside: Mapping[str, float]) -> list[str]:
    """Return a sentence for each level that is faster *beside* the load than *alone*.

    >>> faster_beside({"l1": 1e-9, "memory": 9e-8}, {"l1": 1.01e-9, "memory": 6e-8})
    ['disturbed, off by 33 % at least: memory answers after 60 ns beside the load, and 90 ns alone']
    """
    return [
        disturbed_text(
            1 - beside[name] / seconds,
            f"{name} answers after {1e9 * beside[name]:.3g} ns beside the load, and "
            f"{1e9 * seconds:.3g} ns alone",
        )
        for name, seconds in alone.items()
        if beside[name] < MIN_LATENCY_RATIO * seconds
    ]


def _end(process: subprocess.Popen[str]) -> None:
    try:
        process.wait(TERMINATION_PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


CHECK_INTERVAL_S: Final = 0.2
"""Interval in seconds between checks whether the parent is still there."""


def main(arguments: Sequence[str]) -> None:
    """Stream over BYTES on CORE for as long as PARENT is the parent of this process."""
    core, size, parent = map(int, arguments)
    pin_thread(core)
    tool = MemoryTool()
    tool.bandwidth(size, 1, CHECK_INTERVAL_S / 10)
    sys.stdout.write("streaming\n")
    sys.stdout.flush()
    while os.getppid() == parent:
        tool.bandwidth(size, 1, CHECK_INTERVAL_S)


if __name__ == "__main__":
    main(sys.argv[1:])
