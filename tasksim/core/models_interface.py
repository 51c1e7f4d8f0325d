"""ctypes interface of the core's parts of kernel models."""

from __future__ import annotations

import ctypes
from ctypes import c_double, c_int32, c_int64, c_void_p
from functools import lru_cache
from typing import Any, Final

__all__ = ["declared"]

_PROCESS: Final = (
    None,
    [c_void_p, c_int64, c_int64, c_void_p, c_void_p, c_int64, c_void_p],
)
_SIGNATURES: Final[dict[str, tuple[Any, list[Any]]]] = {
    "process_float32": _PROCESS,
    "process_float64": _PROCESS,
    "forest": (
        c_int32,
        [
            c_void_p, c_int64, c_int64, c_int64, c_void_p, c_void_p, c_int64, c_void_p, c_void_p,
            c_void_p,
        ],
    ),
    "questions": (
        c_int32,
        [c_int64, c_int64, c_void_p, c_void_p, c_void_p, c_double, c_void_p],
    ),
}  # fmt: skip


@lru_cache(maxsize=8)
def declared(core: ctypes.CDLL) -> ctypes.CDLL:
    """Return *core* with its functions for models declared; they let Python's lock go."""
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(core, f"tasksim_{name}")
        function.restype, function.argtypes = result, arguments
    return core
