"""Process under Valgrind that executes kernels, each in a window of its own.

``python -m tasksim.calibration.counters.inside_valgrind REQUEST.json`` reads the request, and
writes facts that only this process knows to the file that the request names.

A window is one call of a function by its address, and nothing else. Valgrind's Callgrind simulates
caches as Cachegrind does, and lets the program start and stop the counting. So one process counts
all executions, each in a window, and the counts of an empty function are subtracted: the rest is
the difference between n and n + 1 executions. The execution before fills the caches, with no Python
code between both: Python's accesses, and so its evictions, differ a little between processes.
"""

from __future__ import annotations

import ctypes
import json
import os
import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tasksim.calibration.tools import compiled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["MAX_INTEGERS", "CountingWindow", "main", "window_library"]

MAX_INTEGERS: Final = 32
MAX_REALS: Final = 8
"""Largest numbers of arguments, as in the core (``TASKSIM_MAX_ARGUMENTS``,
``TASKSIM_MAX_REALS``)."""
MAX_WRITTEN_OPERANDS: Final = 8
"""Largest number of operands that a kernel writes: those of LAPACK write at most three."""

_INTEGER_ARGUMENTS: Final = ", ".join(f"i[{n}]" for n in range(MAX_INTEGERS))
_REAL_ARGUMENTS: Final = ", ".join(f"r[{n}]" for n in range(MAX_REALS))
PROGRAM_SOURCE: Final = f"""
#include <string.h>
#include <valgrind/callgrind.h>
// More arguments than a function takes do no harm: the caller clears them away.
typedef void (*Function)({", ".join(["long"] * MAX_INTEGERS + ["double"] * MAX_REALS)});
#define OFFERED extern "C" __attribute__((visibility("default")))
OFFERED void window_begin() {{ CALLGRIND_START_INSTRUMENTATION; }}
OFFERED void window_end() {{ CALLGRIND_STOP_INSTRUMENTATION; }}
OFFERED void window_nothing() {{}}
OFFERED void window_zero() {{ CALLGRIND_ZERO_STATS; }}
OFFERED void window_write(const char *label) {{ CALLGRIND_DUMP_STATS_AT(label); }}
struct Restored {{ char *where; const char *from; long bytes; }};
static long i[{MAX_INTEGERS}];
static double r[{MAX_REALS}];
static struct Restored again[{MAX_WRITTEN_OPERANDS}];
// The arguments lie at places of their own: where Python has them differs between processes.
OFFERED void window_call(Function function, const long *integers, const double *reals,
                         const char *label, const struct Restored *restored, long count) {{
    memcpy(i, integers, sizeof i);
    memcpy(r, reals, sizeof r);
    memcpy(again, restored, count * sizeof *restored);
    if (count) function({_INTEGER_ARGUMENTS}, {_REAL_ARGUMENTS});
    for (long at = 0; at < count; ++at)
        memcpy(again[at].where, again[at].from, again[at].bytes);
    CALLGRIND_ZERO_STATS;
    function({_INTEGER_ARGUMENTS}, {_REAL_ARGUMENTS});
    CALLGRIND_DUMP_STATS_AT(label);
}}
"""


def window_library(target: Path) -> Path:
    """Compile the window to *target*; this needs the headers of Valgrind's package."""
    return compiled(PROGRAM_SOURCE, target, "counting with Valgrind", ("-O1",))


class CountingWindow:
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
        places = (ctypes.c_long * MAX_INTEGERS)(*integers)
        numbers = (ctypes.c_double * MAX_REALS)(*reals)
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


def main(path: str) -> None:
    """Execute the request at *path*."""
    request = json.loads(Path(path).read_text())
    if request.get("prepare"):
        os.chdir(request["folder"])
        _prepare(request)
        return
    window, answer = CountingWindow(request["window"]), Path(request["answer"]).resolve()
    execute = _kernel
    if "application" in request:  # it may name files and modules of the user
        os.chdir(request["folder"])
        execute = _application
    told = execute(window, request)
    window.begin()
    for _ in range(2):  # overhead of a window, once it is in the caches
        window.nothing("nothing")
    window.end()
    answer.write_text(json.dumps(told))


def _kernel(window: CountingWindow, request: Mapping[str, Any]) -> dict[str, Any]:
    """Execute a kernel with each configuration: once to warm the caches, then counted."""
    from tasksim.core.library import library
    from tasksim.kernels.standalone import standalone

    for number, sizes in enumerate(request["configurations"]):
        body = standalone(request["kernel"], sizes, request["dtype"], request["seed"])
        # the caller has checked that there is a core
        address, arguments = body.called(library())  # type: ignore[arg-type]
        body.reset()
        window.begin()
        window.call(address, arguments, str(number), restored=body.restored())
        window.end()
    return {"core": core_type()}


def _application(window: CountingWindow, request: Mapping[str, Any]) -> dict[str, Any]:
    """Execute the tasks of an application in the order of their insertion."""
    from tasksim.graph.apps.registry import generate
    from tasksim.kernels.program import bind

    by_python = []
    for number, settings in enumerate(request["application"]["settings"]):
        graph = generate(request["application"]["name"], **settings)
        program: Any = bind(graph, 1, request["seed"])
        window.begin()  # the caches are empty: the first execution is not counted
        for task in range(len(graph)):
            program.run(task, 0)
        program.reset()
        by_python += _counted(window, program, graph, number)
        window.end()
    return {"core": core_type(), "by_python": sorted(set(by_python))}


def _prepare(request: Mapping[str, Any]) -> None:
    """Execute everything without counting, so that compiled code, also Python's, is cached."""
    from tasksim.core.library import library
    from tasksim.graph.apps.registry import generate
    from tasksim.kernels.program import bind

    if "application" not in request:
        from tasksim.kernels.standalone import standalone

        standalone(
            request["kernel"], request["configurations"][0], request["dtype"], request["seed"]
        ).run()
        return
    for settings in request["application"]["settings"]:
        graph = generate(request["application"]["name"], **settings)
        program: Any = bind(graph, 1, request["seed"])
        core = library()
        if core is not None and hasattr(program, "calls"):
            program.calls(core)
        for task in range(len(graph)):
            program.run(task, 0)


def _counted(window: CountingWindow, program: Any, graph: TaskGraph, number: int) -> list[str]:
    """Execute and count all tasks of *program*; return the kernels that Python calls."""
    from tasksim.core.library import library

    core = library()
    calls = program.calls(core) if core is not None and hasattr(program, "calls") else None
    by_python = set()
    for task in range(len(graph)):
        label = f"{number}.{task}"
        index = -1 if calls is None else int(calls.function[task])
        if calls is None or index < 0:
            by_python.add(graph.model_names[graph.kernel[task]])
            window.called(program.run, (task, 0), label)
            continue
        arguments = calls.arguments[calls.argument_ptr[task] : calls.argument_ptr[task + 1]]
        arguments = arguments.tolist()
        if calls.own.size:
            arguments += calls.own[0, calls.own_ptr[index] : calls.own_ptr[index + 1]].tolist()
        split = len(arguments) - int(calls.reals[index])
        reals = [struct.unpack("<d", struct.pack("<q", bits))[0] for bits in arguments[split:]]
        window.call(int(calls.address[index]), arguments[:split], label, reals)
    return sorted(by_python)


def core_type() -> str:
    """Return the processor for which BLAS chose its kernels in this process."""
    from tasksim.kernels.threads import blas_info

    return "; ".join(sorted({str(found.get("architecture")) for found in blas_info()}))


if __name__ == "__main__":
    main(sys.argv[1])
