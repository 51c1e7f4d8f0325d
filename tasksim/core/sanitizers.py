"""Runs of Python with a core that sanitizers check.

A library with sanitizers needs their runtime to be loaded before anything else, which the dynamic
linker does (``LD_PRELOAD``). A whole command is run in this way::

    python -m tasksim.core.sanitizers address,undefined python -m pytest tests/core

The exit code is not zero if a check fails. Only the core is checked.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tasksim.core.build import SANITIZERS, build
from tasksim.core.compiler import Compiler, NotBuilt, find_compiler

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["checked_environment", "main"]

_RUNTIMES: Final = {
    "address": ("libasan.so", "libclang_rt.asan.so"),
    "thread": ("libtsan.so", "libclang_rt.tsan.so"),
    "undefined": ("libubsan.so", "libclang_rt.ubsan_standalone.so"),
}
"""Runtime libraries of the sanitizers, of GCC and of Clang."""
_OPTIONS: Final = {
    # Python exits without freeing all of its memory.
    "ASAN_OPTIONS": "detect_leaks=0:halt_on_error=1",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1",
}


def checked_environment(
    library: Path, sanitize: Sequence[str], compiler: Compiler | None = None
) -> dict[str, str]:
    """Return the environment variables with which Python loads a core built with *sanitize*.

    Parameters
    ----------
    library : Path
        Library that :func:`tasksim.core.build.build` made.
    sanitize : sequence of str
        Sanitizers of that build.
    compiler : Compiler, optional
        Compiler of that build.

    Returns
    -------
    dict
        Libraries to load first, options of the sanitizers, and ``TASKSIM_CORE``.

    Raises
    ------
    NotBuilt
        If the compiler has no runtime library of a sanitizer.

    See Also
    --------
    tasksim.core.build.build : Build the library.
    """
    compiler = compiler or find_compiler()
    # The runtimes of "address" and "thread" contain that of "undefined". The C++ library must be
    # loaded, too: a runtime wraps its functions when it starts.
    first = next(name for name in ("address", "thread", "undefined") if name in sanitize)
    loaded = [_runtime(compiler, first), _path_of(compiler, "libstdc++.so.6")]
    return {
        "LD_PRELOAD": " ".join(path for path in loaded if path),
        "TASKSIM_CORE": str(library.absolute()),
        **_OPTIONS,
    }


def _runtime(compiler: Compiler, sanitizer: str) -> str:
    for name in _RUNTIMES[sanitizer]:
        if path := _path_of(compiler, name):
            return path
    raise NotBuilt(f"{compiler.name} has no library for -fsanitize={sanitizer}")


def _path_of(compiler: Compiler, name: str) -> str:
    """Return the path of a library of the compiler; "" if it has none."""
    names = [name, name.replace(".so", f"-{os.uname().machine}.so")]
    for each in names:
        command = [*compiler.command, f"-print-file-name={each}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        path = Path(done.stdout.strip())
        if path.is_absolute() and path.is_file():
            return str(path.resolve())
    return ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the core with sanitizers, run a command with it, and return its exit code."""
    parser = argparse.ArgumentParser("python -m tasksim.core.sanitizers", description=__doc__)
    known = ", ".join(SANITIZERS)
    parser.add_argument("sanitizers", help=f"sanitizers, separated by commas: {known}")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args(arguments)
    sanitize = options.sanitizers.split(",")
    if not set(sanitize) <= set(SANITIZERS):
        parser.error(f"got {options.sanitizers}; legal, separated by commas: {known}")
    with tempfile.TemporaryDirectory() as folder:
        library = build(Path(folder) / "checked.so", sanitize=sanitize)
        environment = os.environ | checked_environment(library, sanitize)
        return subprocess.run(options.command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
