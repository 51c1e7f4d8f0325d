"""ctypes interface of the core's native runs, a mirror of the end of its header."""

from __future__ import annotations

import ctypes
from ctypes import CFUNCTYPE, POINTER, PYFUNCTYPE, c_double, c_int8, c_int32, c_int64, c_void_p
from functools import lru_cache
from typing import Any, Final

from tasksim.core.interface import Callbacks, Outcome, Scheduler, Tasks

__all__ = ["KERNEL", "CalledBack", "Program", "declared", "with_lock"]

KERNEL: Final = 14
"""Status of a run in which a kernel failed."""

CalledBack = CFUNCTYPE(c_int32, c_int64, c_int64, POINTER(c_double))
"""Callback for a task in Python, with its number, its worker's number, and the place for its times.
"""


class Program(ctypes.Structure):
    """The calls of the tasks of a native run."""

    _fields_ = [
        ("functions", c_int64),
        ("address", c_void_p),
        ("tells", c_void_p),
        ("reals", c_void_p),
        ("function", c_void_p),
        ("argument_ptr", c_void_p),
        ("arguments", c_void_p),
        ("own_ptr", c_void_p),
        ("own", c_void_p),
        ("call_back", CalledBack),
    ]


_SIGNATURES: Final[dict[str, tuple[Any, list[Any]]]] = {
    "native_new": (
        c_void_p,
        [
            c_void_p, c_void_p, POINTER(Program), c_void_p, POINTER(Scheduler), POINTER(Callbacks),
            c_int32, POINTER(c_int32),
        ],
    ),
    "native_attach": (c_int32, [c_void_p]),
    "native_begin": (None, [c_void_p, c_double]),
    "native_submit": (c_int32, [c_void_p, c_double]),
    "native_wait": (c_int32, [c_void_p, c_double]),
    "native_stop": (None, [c_void_p]),
    "native_finish": (c_int32, [c_void_p, c_double]),
    "native_work": (c_int32, [c_void_p, c_int64]),
    "native_left": (c_int64, [c_void_p]),
    "native_outside": (None, [c_void_p, c_void_p]),
    "native_handed_out": (c_int64, [c_void_p, c_double, c_double, c_void_p]),
    "native_completed": (c_int32, [c_void_p, c_int64, c_void_p, c_void_p, c_void_p]),
    "native_outcome": (c_int32, [c_void_p, POINTER(Outcome)]),
    "native_tasks": (None, [c_void_p, POINTER(Tasks)]),
    "native_keep_paths": (c_int32, [c_void_p, c_void_p, c_int64]),
    "native_path": (None, [c_void_p, c_void_p, c_void_p, c_void_p]),
    "native_keep_processor_times": (None, [c_void_p]),
    "native_free": (None, [c_void_p]),
    "native_sleepers": (POINTER(c_int8), [c_void_p]),
    "native_pusher": (c_int64, [c_void_p]),
    "native_wake": (None, [c_void_p, c_int64]),
    "native_wake_any": (None, [c_void_p, c_int64]),
    "native_wake_all": (None, [c_void_p, c_int64]),
    "timed_new": (c_void_p, [POINTER(Program), c_int64, c_int64, POINTER(c_int32)]),
    "timed_call": (c_int64, [c_void_p, c_int64, c_int64, POINTER(c_double)]),
    "timed_free": (None, [c_void_p]),
    "gate_new": (c_void_p, []),
    "gate_set": (None, [c_void_p, c_int32]),
    "gate_free": (None, [c_void_p]),
}  # fmt: skip


@lru_cache(maxsize=8)
def declared(core: ctypes.CDLL) -> ctypes.CDLL:
    """Return *core* with its functions for native runs declared; they let Python's lock go."""
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(core, f"tasksim_{name}")
        function.restype, function.argtypes = result, arguments
    return core


def with_lock(core: ctypes.CDLL, name: str) -> Any:
    """Return the function *name* of *core* for callbacks: it keeps Python's lock, and is quick."""
    result, arguments = _SIGNATURES[name]
    return PYFUNCTYPE(result, *arguments)((f"tasksim_{name}", core))
