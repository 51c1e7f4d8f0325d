"""Window for counting: one call of a function by its address, and nothing else.

Valgrind's Callgrind simulates caches as Cachegrind does, and lets the program start and stop the
counting. So one process counts all executions, each in a window, and the counts of an empty
function are subtracted: the rest is the difference between n and n + 1 executions.

The execution before fills the caches, with no Python code between both: Python's accesses, and so
its evictions, differ a little between processes.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Final

from tasksim.calibration.compiled_tool import compiled

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["MOST_INTEGERS", "Window", "window_library"]

MOST_INTEGERS: Final = 32
MOST_REALS: Final = 8
"""Largest numbers of arguments, as in the core (``TASKSIM_MOST_ARGUMENTS``,
``TASKSIM_MOST_REALS``)."""
MOST_RESTORED: Final = 8
"""Largest number of operands that a kernel writes: those of LAPACK write at most three."""

_PLACES: Final = ", ".join(f"i[{n}]" for n in range(MOST_INTEGERS))
_REALS: Final = ", ".join(f"r[{n}]" for n in range(MOST_REALS))
SOURCE: Final = f"""
#include <string.h>
#include <valgrind/callgrind.h>
// More arguments than a function takes do no harm: the caller clears them away.
typedef void (*Function)({", ".join(["long"] * MOST_INTEGERS + ["double"] * MOST_REALS)});
#define OFFERED extern "C" __attribute__((visibility("default")))
OFFERED void window_begin() {{ CALLGRIND_START_INSTRUMENTATION; }}
OFFERED void window_end() {{ CALLGRIND_STOP_INSTRUMENTATION; }}
OFFERED void window_nothing() {{}}
OFFERED void window_zero() {{ CALLGRIND_ZERO_STATS; }}
OFFERED void window_write(const char *label) {{ CALLGRIND_DUMP_STATS_AT(label); }}
struct Restored {{ char *where; const char *from; long bytes; }};
static long i[{MOST_INTEGERS}];
static double r[{MOST_REALS}];
static struct Restored again[{MOST_RESTORED}];
// The arguments lie at places of their own: where Python has them differs between processes.
OFFERED void window_call(Function function, const long *integers, const double *reals,
                         const char *label, const struct Restored *restored, long count) {{
    memcpy(i, integers, sizeof i);
    memcpy(r, reals, sizeof r);
    memcpy(again, restored, count * sizeof *restored);
    if (count) function({_PLACES}, {_REALS});
    for (long at = 0; at < count; ++at)
        memcpy(again[at].where, again[at].from, again[at].bytes);
    CALLGRIND_ZERO_STATS;
    function({_PLACES}, {_REALS});
    CALLGRIND_DUMP_STATS_AT(label);
}}
"""


def window_library(target: Path) -> Path:
    """Compile the window to *target*; this needs the headers of Valgrind's package."""
    return compiled(SOURCE, target, "counting with Valgrind", ("-O1",))


class Window:
    """The window, in a process under Valgrind.

    Parameters
    ----------
    path
        Path of the window's library.
    """

    def __init__(self, path: str) -> None:
        self._library: Any = ctypes.CDLL(path)

    def begin(self) -> None:
        """Start the simulation, with empty caches."""
        self._library.window_begin()

    def end(self) -> None:
        """Stop the simulation, so that the program runs faster."""
        self._library.window_end()

    def nothing(self, label: str) -> None:
        """Count an empty function, for the overhead of a window."""
        address = ctypes.cast(self._library.window_nothing, ctypes.c_void_p).value or 0
        self.call(address, [], label)

    def call(
        self,
        address: int,
        integers: Sequence[int],
        label: str,
        reals: Sequence[float] = (),
        restored: Sequence[tuple[int, int, int]] = (),
    ) -> None:
        """Count one call of the function at *address*; Valgrind writes it under *label*.

        *restored* lists operands as (address, address of a copy, bytes). If it is given, the
        function is called once before, so that its data are in the caches, and then the operands
        are restored.
        """
        places = (ctypes.c_long * MOST_INTEGERS)(*integers)
        numbers = (ctypes.c_double * MOST_REALS)(*reals)
        function = ctypes.c_void_p(address)
        flat = [number for one in restored for number in one]
        saved = (ctypes.c_long * len(flat))(*flat)
        count = ctypes.c_long(len(restored))
        self._library.window_call(function, places, numbers, label.encode(), saved, count)

    def called(self, function: Any, arguments: Sequence[Any], label: str) -> None:
        """Count one call of a Python *function*, with Python's own work."""
        self._library.window_zero()
        function(*arguments)
        self._library.window_write(label.encode())
