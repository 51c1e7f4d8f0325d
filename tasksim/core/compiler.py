"""Compiler of the core, and its flags."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tasksim.base.errors import TasksimError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["Compiler", "NotBuilt", "find_compiler", "sanitizing"]

NAMES: Final = ("c++", "g++", "clang++")
"""Compilers in order of search, if ``CXX`` names none."""
COMMON: Final = ("-std=c++20", "-fPIC", "-pthread", "-fvisibility=hidden")
EXACT: Final = ("-ffp-contract=off",)
"""Flags for exact results: a product and a sum stay two roundings, as in Python. Do not add a flag
that changes a result: no ``-ffast-math`` or part of it, and no ``-march``."""
FAST: Final = ("-O3",)
SANITIZED: Final = ("-O0", "-g1", "-fno-omit-frame-pointer", "-fno-sanitize-recover=undefined")
"""Flags for sanitizers. ``-g1`` keeps lines without variables: findings name the lines, and
compiling takes half as long."""
LINKED: Final = ("-shared", "-pthread", "-Wl,-z,relro,-z,now")
WHOLE: Final = ("-Wl,-z,defs", "-Wl,--strip-debug", "-Wl,--version-script=offered.map")
"""Linker flags: a missing symbol is an error now, not at the first call, and the library exports
only its interface."""
OFFERED: Final = "{ global: tasksim_*; local: *; };\n"
"""Exported symbols. Templates of C++'s library in the core stay local: otherwise those of another
library in the process could replace them, or be replaced by them."""
OFFERED_BY_RECORDER: Final = "{ global: ompt_start_tool; tasksim_*; local: *; };\n"
"""Exported symbols of the recorder of OpenMP programs: that which a runtime looks for, and ours."""
STANDALONE: Final = ("-static-libstdc++", "-static-libgcc")
"""Flags that link C++'s own library statically, so that the core needs only the C library."""


class NotBuilt(TasksimError):
    """Error for a core that could not be built, with the reason."""


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler.

    Attributes
    ----------
    command
        The program, by its path, and what always comes after it.
    name
        What it says of itself, in a line.
    """

    command: tuple[str, ...]
    name: str

    def compile(self, source: str, target: str, extra: Sequence[str] = ()) -> list[str]:
        """Return the command that compiles *source* to *target* and lists its headers beside it."""
        flags = (*COMMON, *EXACT, *extra, "-I.", "-MMD", "-MF", f"{target}.d")
        return [*self.command, *flags, "-c", source, "-o", target]

    def link(self, objects: Sequence[str], target: str, extra: Sequence[str]) -> list[str]:
        """Return the command that makes the shared library *target* of *objects*."""
        return [*self.command, *LINKED, *extra, *objects, "-o", target]

    def run(self, command: Sequence[str], folder: Path) -> None:
        """Run a *command* in *folder*; raise :exc:`NotBuilt` with what the compiler says."""
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        except OSError as error:
            raise NotBuilt(f"{self.command[0]} cannot be run: {error.strerror}") from error
        if done.returncode:
            raise NotBuilt(f"{self.name} failed: {_first_error(done.stderr)}")


def find_compiler() -> Compiler:
    """Return the machine's C++ compiler: ``$CXX``, or the first that is found.

    Raises :exc:`NotBuilt` if there is none.
    """
    wanted = shlex.split(os.environ.get("CXX", ""))
    for name, *rest in [wanted] if wanted else [[name] for name in NAMES]:
        program = shutil.which(name)
        if program is not None:
            return Compiler((program, *rest), _version_of([program, *rest]))
    if wanted:
        raise NotBuilt(f"no C++ compiler was found: CXX={shlex.join(wanted)} names no program")
    raise NotBuilt(f"no C++ compiler was found ({', '.join(NAMES)}, or what CXX says)")


def sanitizing(compiler: Compiler, sanitize: Sequence[str]) -> tuple[str, ...]:
    """Return the flags for checks at run time, by a library that Python can be told to load."""
    flags = (f"-fsanitize={','.join(sanitize)}",)
    # GCC takes the shared one by itself; of Clang's, the static one is for programs only.
    return (*flags, "-shared-libsan") if "clang" in compiler.name else flags


def _first_error(said: str) -> str:
    """Return the first error of what a compiler said, then all of it."""
    lines = said.strip().splitlines() or ["it does not say why"]
    first = next((line for line in lines if "error" in line), lines[0])
    return "\n".join([first, *lines] if len(lines) > 1 else [first])


def _version_of(command: Sequence[str]) -> str:
    """Return the first line of what a compiler says of its version."""
    try:
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    except OSError as error:
        raise NotBuilt(f"{command[0]} cannot be run: {error.strerror}") from error
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        said = done.stderr.strip().rpartition("\n")[2] or "it does not answer --version"
        raise NotBuilt(f"{shlex.join(command)} is no compiler: {said}")
    return lines[0].strip()
