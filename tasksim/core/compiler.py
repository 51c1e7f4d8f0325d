"""Compilers of the core, for this machine and for WebAssembly, and their flags."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from tasksim.base.errors import TasksimError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "Compiler",
    "NoCompiler",
    "NotBuilt",
    "find_compiler",
    "find_wasm_compiler",
    "sanitizing",
]

COMPILER_NAMES: Final = ("c++", "g++", "clang++")
"""Compilers in order of search, if ``CXX`` names none."""
COMMON_FLAGS: Final = ("-std=c++20", "-fPIC", "-pthread", "-fvisibility=hidden")
EXACT_FLAGS: Final = ("-ffp-contract=off",)
"""Flags for exact results: a product and a sum stay two roundings, as in Python. Do not add a flag
that changes a result: no ``-ffast-math`` or part of it, and no ``-march``."""
FAST_FLAGS: Final = ("-O3",)
SANITIZER_FLAGS: Final = (
    "-O0",
    "-g1",
    "-fno-omit-frame-pointer",
    "-fno-sanitize-recover=undefined",
)
"""Flags for sanitizers. ``-g1`` keeps lines without variables: findings name the lines, and
compiling takes half as long."""
REDUNDANT_CHECK_FLAGS: Final = ("-fno-sanitize=null,alignment,pointer-overflow",)
"""Flags beside the sanitizer of addresses, which ends a process that follows a null pointer, or one
that has wrapped around, as well. Python refuses arrays that are not aligned
(:func:`tasksim.core.interface.address`). These checks precede every access, and take half of the
time to compile."""
CALLED_CHECK_FLAGS: Final = ("--param", "asan-instrumentation-with-call-threshold=0")
"""Flags of GCC with which the sanitizer of addresses checks in functions that it calls, which
compiles faster than the same checks in place."""
LINK_FLAGS: Final = ("-shared", "-pthread", "-Wl,-z,relro,-z,now")
LIBRARY_FLAGS: Final = ("-Wl,-z,defs", "-Wl,--strip-debug", "-Wl,--version-script=offered.map")
"""Linker flags: a missing symbol is an error now, not at the first call, and the library exports
only its interface."""
EXPORT_MAP: Final = "{ global: tasksim_*; local: *; };\n"
"""Exported symbols. Templates of C++'s library in the core stay local: otherwise those of another
library in the process could replace them, or be replaced by them."""
RECORDER_EXPORT_MAP: Final = "{ global: ompt_start_tool; GOMP_taskloop*; tasksim_*; local: *; };\n"
"""Exported symbols of the recorder of OpenMP programs: ours, and the one that runtimes look for."""
STATIC_LINK_FLAGS: Final = ("-static-libstdc++", "-static-libgcc")
"""Flags that link C++'s own library statically, so that the core needs only the C library."""

WASM_COMMON_FLAGS: Final = (
    "-std=c++20", "-fwasm-exceptions", "-mexception-handling", "-fvisibility=hidden",
)  # fmt: skip
"""Flags of all units for WebAssembly, with its own exceptions; ``wasm/exceptions.cpp`` has the
functions that they need."""
WASM_FAST_FLAGS: Final = ("-O2",)
WASM_STACK_BYTES: Final = 1 << 20
"""Size of the stack, bytes: what systems give a thread; the core's routines are not on it."""
WASM_EXPORTS: Final = (
    "core_version", "core_sources", "core_compiler", "graph_new", "graph_free", "platform_new",
    "platform_free", "replay_new", "replay_go_on", "replay_outcome", "replay_tasks", "replay_log",
    "replay_decisions", "replay_numa", "log_free", "replay_free", "cluster_new", "cluster_outcome",
    "cluster_tasks", "cluster_log", "cluster_numa", "cluster_messages",
)  # fmt: skip
"""Functions of the interface that the module exports: those that ``view/page/script/core.js``
calls."""
WASM_LINK_FLAGS: Final = (
    "-mexec-model=reactor",  # a library, not a program
    "-s",
    "-Wl,--gc-sections",
    f"-Wl,-z,stack-size={WASM_STACK_BYTES}",
    *(f"-Wl,--export={name}" for name in ("malloc", "free")),
    *(f"-Wl,--export=tasksim_{name}" for name in WASM_EXPORTS),
)
WASM_TARGET_FLAGS: Final = ("-target", "wasm32-wasi")


class NotBuilt(TasksimError):
    """Error for a core that could not be built, with the reason."""


class NoCompiler(NotBuilt):
    """Error for a compiler that has to be installed first."""

    exit_code: ClassVar[int] = 2


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler.

    Attributes
    ----------
    command
        Path of the program, and the arguments that always follow it.
    name
        Its name and version, in a line.
    common, linked
        Flags of each compilation and of each linking, by default of libraries for this machine.
    """

    command: tuple[str, ...]
    name: str
    common: tuple[str, ...] = COMMON_FLAGS
    linked: tuple[str, ...] = LINK_FLAGS

    def compile(self, source: str, target: str, extra: Sequence[str] = ()) -> list[str]:
        """Return the command that compiles *source* to *target* and lists its headers beside it."""
        flags = (*self.common, *EXACT_FLAGS, *extra, "-I.", "-MMD", "-MF", f"{target}.d")
        return [*self.command, *flags, "-c", source, "-o", target]

    def link(self, objects: Sequence[str], target: str, extra: Sequence[str]) -> list[str]:
        """Return the command that links *objects* to the library *target*."""
        return [*self.command, *self.linked, *extra, *objects, "-o", target]

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
    for name, *rest in [wanted] if wanted else [[name] for name in COMPILER_NAMES]:
        program = shutil.which(name)
        if program is not None:
            return Compiler((program, *rest), _version_of([program, *rest]))
    if wanted:
        raise NotBuilt(f"no C++ compiler was found: CXX={shlex.join(wanted)} names no program")
    raise NotBuilt(
        f"no C++ compiler was found (tried {', '.join(COMPILER_NAMES)}; CXX can name another)"
    )


def find_wasm_compiler() -> Compiler:
    """Return a C++ compiler for WebAssembly: ``$WASM_CXX``, or Zig's.

    Zig's is that of the Python package ``ziglang``, or the program ``zig``. Another one is named
    with its flags, as Clang of WASI's SDK.

    Raises :exc:`NoCompiler` if there is none.
    """
    command = shlex.split(os.environ.get("WASM_CXX", ""))
    if command and shutil.which(command[0]) is None:
        wanted = shlex.join(command)
        raise NoCompiler(f"no compiler for WebAssembly: WASM_CXX={wanted} names no program")
    if not command:
        package = find_spec("ziglang")
        zig = str(Path(package.origin).with_name("zig")) if package and package.origin else "zig"
        if shutil.which(zig) is None:
            raise NoCompiler(
                "no compiler for WebAssembly was found: 'python -m pip install ziglang' installs "
                "one; or name a Clang for wasm32-wasi and its flags in WASM_CXX"
            )
        command = [zig, "c++", *WASM_TARGET_FLAGS]
    return Compiler(tuple(command), _version_of(command), WASM_COMMON_FLAGS, WASM_LINK_FLAGS)


def sanitizing(compiler: Compiler, sanitize: Sequence[str]) -> tuple[str, ...]:
    """Return the flags for checks at run time, by a library that Python can be told to load."""
    flags: tuple[str, ...] = (f"-fsanitize={','.join(sanitize)}",)
    if {"address", "undefined"} <= set(sanitize):
        flags += REDUNDANT_CHECK_FLAGS
    if "address" in sanitize and "clang" not in compiler.name:
        flags += CALLED_CHECK_FLAGS
    # GCC takes the shared one by itself; of Clang's, the static one is for programs only.
    return (*flags, "-shared-libsan") if "clang" in compiler.name else flags


def _first_error(said: str) -> str:
    """Return the first error in the output of a compiler, then the whole output."""
    lines = said.strip().splitlines() or ["it does not say why"]
    first = next((line for line in lines if "error" in line), lines[0])
    return "\n".join([first, *lines] if len(lines) > 1 else [first])


def _version_of(command: Sequence[str]) -> str:
    """Return the first line that a compiler prints for ``--version``."""
    try:
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    except OSError as error:
        raise NotBuilt(f"{command[0]} cannot be run: {error.strerror}") from error
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        said = done.stderr.strip().rpartition("\n")[2] or "it does not answer --version"
        raise NotBuilt(f"{shlex.join(command)} is not a compiler: {said}")
    return lines[0].strip()
