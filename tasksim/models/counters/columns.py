"""Columns of counters: names, units and meanings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["COUNTERS", "HITS", "LEVELS", "REACHED", "checked_counters", "counters_among"]

LEVELS: Final = ("l1", "l2", "l3", "memory")
"""Levels of memory, nearest first."""
HITS: Final = {"l1": "l1_hits", "l2": "l2_hits", "l3": "l3_hits", "memory": "memory_accesses"}
"""Level -> the counter of accesses that it served."""
REACHED: Final = {
    "l1": "l1_reached", "l2": "l2_reached", "l3": "l3_reached", "memory": "memory_accesses",
}  # fmt: skip
"""Level -> the accesses served by it or a more distant level: they increase monotonically with the
data, whereas hits of a level increase and decrease."""

COUNTERS: Final[Mapping[str, str]] = {
    "instructions": "instructions executed, per execution of the kernel",
    "cycles": "cycles of the core, per execution",
    "stall_cycles": "of these, cycles in which it only waited for memory",
    "l1_hits": "loads and stores of data that the first-level cache answered",
    "l2_hits": "those that the second level answered",
    "l3_hits": "those that the third level answered",
    "memory_accesses": "those that no cache answered",
    "communication_s": "seconds in messages between ranks, per execution",
    "frequency_hz": "cycles per second of the core while it was measured",
    "latency_factor": "how many times as long as alone an access took, beside a load of the memory",
}
"""Name of a column of samples -> its meaning, per execution. Counters are parameters only on
request; a missing level was not distinguished from the next one."""


def counters_among(columns: Sequence[str]) -> list[str]:
    """Return the *columns* that are counters, in their order.

    >>> counters_among(["m", "instructions", "duration_s", "l1_hits"])
    ['instructions', 'l1_hits']
    """
    return [name for name in columns if name in COUNTERS]


def checked_counters(counters: Mapping[str, Any], length: int) -> dict[str, NDArray[np.float64]]:
    """Return *counters* as columns of *length* numbers, finite and not negative.

    Raises
    ------
    InputError
        For a wrong value, with the counter and the sample.
    """
    found = {}
    for name, values in counters.items():
        column = np.array(values, dtype=np.float64)
        if column.shape != (length,):
            raise InputError(
                f"counter '{name}': {column.size} values, but there are {length} samples"
            )
        wrong = ~(np.isfinite(column) & (column >= 0))
        if wrong.any():
            index = int(np.argmax(wrong))
            raise InputError(
                f"sample {index}: {name} {column[index]!s}: counters must be finite and not "
                "negative"
            )
        column.setflags(write=False)
        found[name] = column
    return found
