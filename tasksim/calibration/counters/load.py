"""Load of the memory: processes that stream beside what is measured, each on a core of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Final

from tasksim.base.errors import InputError, TasksimError
from tasksim.calibration.caches import data_caches
from tasksim.calibration.memory.campaign import working_sets
from tasksim.calibration.memory.tool import MemoryTool
from tasksim.calibration.physical_limits import disturbed_text
from tasksim.models.counters.columns import HITS
from tasksim.native.cores import pin_thread, usable_cores

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["check_load", "faster_beside", "latencies", "latency_factor", "loaded_memory"]

STREAM_BYTES: Final = 64 << 20
"""Of each process: more than most caches keep of what is read once."""
CHASED_BYTES: Final = 1 << 30
"""Of memory, at most a quarter of this is chased through: it takes a second to lay the trail."""
ROUNDS: Final = 21
"""The median of so many: beside a load it is what is typical that counts, not the least."""
STEPS: Final = 20_000
SOONEST_BESIDE: Final = 0.95
"""A load makes nothing faster; medians of latencies of a calm machine differ by a few percent."""
GRACE_S: Final = 5.0
"""After which a process that does not end is ended."""


def check_load(processes: int) -> None:
    """Raise :exc:`InputError` unless there are cores for so many *processes* and a measurement."""
    cores = len(usable_cores())
    if not 0 <= processes < cores:
        raise InputError(
            f"load={processes}: this process may use {cores} cores, one of which measures; legal: "
            f"0 to {cores - 1}"
        )


@contextmanager
def loaded_memory(processes: int) -> Iterator[None]:
    """Let so many *processes* stream meanwhile, this thread on a core that none of them has.

    Raises :exc:`TasksimError` if one does not start.
    """
    check_load(processes)
    cores = usable_cores()
    streaming: list[subprocess.Popen[str]] = []
    try:
        streaming += [_started(core) for core in cores[1 : 1 + processes]]
        for process in streaming:
            assert process.stdout is not None
            if process.stdout.readline() != "streaming\n":
                raise TasksimError("a process that was to load the memory did not start")
        pin_thread(cores[0])
        yield
    finally:
        for process in streaming:
            process.terminate()
        for process in streaming:
            _ended(process)
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, cores)


def latencies() -> dict[str, float]:
    """Return what an access takes that each level of memory answers, in seconds, as it is now."""
    caches, tool = data_caches(), MemoryTool()
    if not caches:
        raise TasksimError("load of the memory: the system does not tell the sizes of the caches")
    line = caches[0].line_bytes
    return {
        name: sorted(islice(tool.latencies(size, line, STEPS), ROUNDS))[ROUNDS // 2]
        for name, size in working_sets(caches, CHASED_BYTES)
    }


def latency_factor(
    counted: Mapping[str, float], alone: Mapping[str, float], beside: Mapping[str, float]
) -> float:
    """Return how many times as long the accesses that were *counted* take beside the load.

    By the latencies of each level *alone* and *beside* it; the load makes nothing faster.

    >>> latency_factor({"l1_hits": 100, "memory_accesses": 1}, {"l1": 1, "memory": 100},
    ...                {"l1": 1, "memory": 200})
    1.5
    """
    pairs = [(counted[HITS[n]], alone[n], beside[n]) for n in alone if HITS[n] in counted]
    before = sum(hits * seconds for hits, seconds, _ in pairs)
    after = sum(hits * max(seconds, slower) for hits, seconds, slower in pairs)
    return after / before if before else 1.0


def faster_beside(alone: Mapping[str, float], beside: Mapping[str, float]) -> list[str]:
    """Return a sentence for each level that answers sooner *beside* the load than *alone*.

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
        if beside[name] < SOONEST_BESIDE * seconds
    ]


def _started(core: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tasksim.calibration.counters.streaming"]
    numbers = [str(core), str(STREAM_BYTES), str(os.getpid())]
    return subprocess.Popen([*command, *numbers], stdout=subprocess.PIPE, text=True)


def _ended(process: subprocess.Popen[str]) -> None:
    try:
        process.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()
