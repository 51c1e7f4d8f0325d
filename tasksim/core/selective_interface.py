"""ctypes interface of the core's selective runs."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_double, c_int32, c_int64, c_void_p
from functools import lru_cache
from typing import Any, Final

from tasksim.core.interface import Outcome, Scheduler, Tasks
from tasksim.core.native_interface import Program

__all__ = ["COUNTS", "Effort", "Selection", "declared"]

COUNTS: Final = {"": 0, "own": 1, "path": 2, "profile": 3, "share": 4}
"""Values of ``tasksim_counts`` in ``tasksim_core.h``, by their names in policies."""


class Selection(ctypes.Structure):
    """The choice of executed tasks, and the charges of the others."""

    _fields_ = [
        *(
            (name, c_int64)
            for name in (
                "kernels", "quantile_count", "least", "counts", "spread", "company", "rehearse",
                "draws",
            )
        ),
        ("tolerance", c_double),
        *(
            (name, c_void_p)
            for name in (
                "of_task", "quantiles", "sample_ptr", "sample_s", "told_s", "profile", "twister",
                "measured", "measured_task", "measured_s", "safe_ptr", "safe_target", "safe_source",
                "safe_bytes",
            )
        ),
    ]  # fmt: skip


class Effort(ctypes.Structure):
    """The amount of executed work."""

    _fields_ = [
        ("executed", c_int64),
        ("accompanied", c_int64),
        ("skipped", c_int64),
        ("rehearsed", c_int64),
        ("executed_s", c_double),
        ("busiest_s", c_double),
    ]


_SIGNATURES: Final[dict[str, tuple[Any, list[Any]]]] = {
    "new": (
        c_void_p,
        [
            c_void_p, c_void_p, POINTER(Program), c_void_p, POINTER(Scheduler), POINTER(Selection),
            c_int32, POINTER(c_int32),
        ],
    ),
    "attach": (c_int32, [c_void_p]),
    "submit": (None, [c_void_p]),
    "wait": (c_int32, [c_void_p, c_double]),
    "stop": (None, [c_void_p]),
    "work": (c_int32, [c_void_p, c_int64]),
    "left": (c_int64, [c_void_p]),
    "outcome": (c_int32, [c_void_p, POINTER(Outcome)]),
    "tasks": (None, [c_void_p, POINTER(Tasks)]),
    "effort": (None, [c_void_p, POINTER(Effort)]),
    "path": (None, [c_void_p, c_void_p, c_void_p, c_void_p]),
    "free": (None, [c_void_p]),
}  # fmt: skip


@lru_cache(maxsize=8)
def declared(core: ctypes.CDLL) -> ctypes.CDLL:
    """Return *core* with its functions for selective runs declared; they let Python's lock go."""
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(core, f"tasksim_selective_{name}")
        function.restype, function.argtypes = result, arguments
    return core
