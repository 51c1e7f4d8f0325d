"""Codelets of StarPU as kernel models, and kernel models as codelets."""

from __future__ import annotations

from tasksim.formats.starpu.codeletfile import (
    Codelet,
    Combination,
    Device,
    Entry,
    Implementation,
    Regression,
    read_codelet,
    write_codelet,
)

__all__ = [
    "Codelet",
    "Combination",
    "Device",
    "Entry",
    "Implementation",
    "Regression",
    "read_codelet",
    "write_codelet",
]
