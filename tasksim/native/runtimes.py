"""Runtimes of native runs, one in Python and the faster compiled core."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from tasksim.base.arguments import one_of
from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from tasksim.native.compiled import CompiledExecution
    from tasksim.native.execution import Execution
    from tasksim.platform.description import Platform

__all__ = ["RUNTIMES", "Chosen", "Runtime", "choose_runtime"]

Runtime = Literal["auto", "python", "compiled"]
RUNTIMES: Final[tuple[Runtime, ...]] = ("auto", "python", "compiled")


class Chosen(NamedTuple):
    """A runtime, with its execution class, its name, and the reason why it is not the core."""

    execution: type[Execution] | type[CompiledExecution]
    name: str
    why: str = ""


def choose_runtime(runtime: Runtime, platform: Platform) -> Chosen:
    """Return the runtime for *platform*; ``"auto"`` takes the core if it is available.

    Raise :exc:`InputError` if ``runtime="compiled"`` and the core is not available.
    """
    from tasksim.core.library import status
    from tasksim.runtime.flat import MAX_CLASSES, MAX_MEMORIES

    one_of(runtime, RUNTIMES, "runtime")
    why = ""
    if runtime == "python":
        why = "asked for"
    elif not (core := status()).available:
        why = f"the core is {core.why}"
    elif len(platform.classes) > MAX_CLASSES or len(platform.memories) > MAX_MEMORIES:
        why = (
            f"the core supports at most {MAX_CLASSES} worker classes and {MAX_MEMORIES} "
            "memories, and the platform has more"
        )
    if why and runtime == "compiled":
        raise InputError(f"runtime=compiled: {why}; legal here: auto, python")
    if why:
        from tasksim.native.execution import Execution

        return Chosen(Execution, "python", why)
    from tasksim.native.compiled import CompiledExecution

    return Chosen(CompiledExecution, "compiled")
