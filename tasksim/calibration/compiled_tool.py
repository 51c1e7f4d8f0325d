"""C++ tools for measurements: compiled on demand in a temporary folder."""

from __future__ import annotations

import ctypes
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from tasksim.base.errors import TasksimError
from tasksim.core.compiler import NotBuilt, find_compiler

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["compiled", "loaded"]

LINKED: Final = ("-shared", "-pthread")


def compiled(source: str, target: Path, purpose: str, flags: Sequence[str] = ("-O2",)) -> Path:
    """Compile *source* to the shared library *target*, and return *target*.

    Raises
    ------
    TasksimError
        If there is no compiler or compilation fails; names the *purpose*.
    """
    target.with_suffix(".cpp").write_text(source, encoding="utf-8")
    try:
        compiler = find_compiler()
        name = target.with_suffix("").name
        compiler.run(compiler.compile(f"{name}.cpp", f"{name}.o", flags), target.parent)
        compiler.run([*compiler.command, *LINKED, f"{name}.o", "-o", target.name], target.parent)
    except NotBuilt as error:
        raise TasksimError(f"{purpose} needs a small C++ program: {error}") from error
    return target


def loaded(source: str, purpose: str, flags: Sequence[str] = ("-O2",)) -> ctypes.CDLL:
    """Return *source* compiled and loaded as a library; its file is deleted."""
    with TemporaryDirectory(prefix="tasksim-") as folder:
        return ctypes.CDLL(str(compiled(source, Path(folder, "tool.so"), purpose, flags)))
