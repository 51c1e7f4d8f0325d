"""Process under Valgrind: executes kernels, each in a window of its own.

``python -m tasksim.calibration.counters.inside_valgrind REQUEST.json`` reads the request, and
writes facts that only this process knows to the file that the request names.
"""

from __future__ import annotations

import json
import os
import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasksim.calibration.counters.window import Window

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["main"]


def main(path: str) -> None:
    """Execute the request at *path*."""
    request = json.loads(Path(path).read_text())
    if request.get("prepare"):
        os.chdir(request["folder"])
        _prepare(request)
        return
    window, answer = Window(request["window"]), Path(request["answer"]).resolve()
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


def _kernel(window: Window, request: Mapping[str, Any]) -> dict[str, Any]:
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


def _application(window: Window, request: Mapping[str, Any]) -> dict[str, Any]:
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


def _counted(window: Window, program: Any, graph: TaskGraph, number: int) -> list[str]:
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
