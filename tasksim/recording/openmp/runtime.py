"""OpenMP runtime for recordings: LLVM's, which reports tasks to tools.

GCC's own runtime has no interface for tools, but LLVM's has all functions of GCC's: a program that
was compiled by GCC finds LLVM's runtime under the name of GCC's.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.arguments import path_of
from tasksim.base.errors import InputError, option
from tasksim.base.files import is_file
from tasksim.core.library import BUILT_RECORDER, RECORDER_WHY_NOT, digest, units
from tasksim.core.wheeltag import needs_of
from tasksim.recording.openmp.elf import is_elf, read_elf

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tasksim.recording.openmp.elf import Elf

__all__ = ["OpenMPProgram", "find_program", "find_recorder", "find_runtime"]

LOADER_TIMEOUT_S: Final = 30.0
"""Timeout of the dynamic loader for the list of the libraries of a program, in seconds."""
INSTALL_HINT: Final = (
    "install one: 'apt-get install libomp-14-dev' (Debian, Ubuntu), 'dnf install libomp' (Fedora), "
    "or 'pip install tasksim[openmp]'"
)

_LLVM: Final = re.compile(r"lib(i?omp5?)\.so(\.\d+)*$")
"""Names of LLVM's runtime: libomp.so.5, and Intel's build of it, libiomp5.so."""
_GNU: Final = re.compile(r"libgomp\.so(\.\d+)*$")
_LISTED: Final = re.compile(r"^\s*(\S+) => (/.*) \(0x[0-9a-f]+\)$", re.MULTILINE)
_DETACH: Final = "omp_fulfill_event"
"""Function that ends a detached task: programs with such tasks call it."""
_OMP_NAME: Final = re.compile(r"(GOMP|OMP|GOACC|OACC)_")


@dataclass(frozen=True)
class OpenMPProgram:
    """A program that uses OpenMP, and the runtime to run it on.

    Attributes
    ----------
    path
        The program.
    wants
        Name of the runtime that it was linked with, as ``libgomp.so.1``.
    runtime
        Path of the runtime that replaces it; None if it already is one that can be recorded.
    has_taskloops
        Whether GCC compiled it, or a library of it, with taskloops.
    """

    path: Path
    wants: str
    runtime: Path | None
    has_taskloops: bool = False

    def summary(self) -> str:
        """Return a line that says how the program is recorded."""
        if self.runtime is None:
            return f"{self.path.name} uses {self.wants}: recorded through its tool interface"
        why = ", which cannot be recorded" if _GNU.search(self.wants) else ""
        return f"{self.path.name} uses {self.wants}{why}: it runs on {self.runtime} instead"


def find_program(path: Path, libomp: Any = None) -> OpenMPProgram | None:
    """Return the program at *path* and its runtime; None for scripts and Python programs.

    Parameters
    ----------
    path : Path
    libomp : str or path, optional
        The runtime to use; default: that of the system, or of the package ``intel-openmp``.

    Raises
    ------
    InputError
        If it is a compiled program that cannot be recorded; the message says why.
    """
    if not is_elf(path):
        return None
    if not os.access(path, os.X_OK):
        raise InputError(f"{path}: not executable; 'chmod +x {path}' makes it so")
    elf = read_elf(path)
    if "ld-musl" in elf.interpreter:
        raise InputError(
            f"{path}: linked with musl; LLVM's OpenMP runtime, which reports tasks, needs glibc: "
            "compile the program on a system with glibc"
        )
    if not elf.interpreter:
        if elf.is_dynamic and elf.needed:
            raise InputError(f"{path}: a library, not a program: give a program that uses it")
        raise InputError(
            f"{path}: linked statically: its OpenMP runtime, if it has one, is a part of it and "
            "cannot be replaced; link it without -static"
        )
    libraries = _libraries_of(path, elf)
    llvm = next((name for name in libraries if _LLVM.search(name)), None)
    gnu = next((name for name in libraries if _GNU.search(name)), None)
    if any(name.startswith("libstarpu") for name in libraries):
        raise InputError(
            f"{path}: a program of StarPU, which measures and traces itself: 'tasksim import "
            "starpu' reads its kernel models, 'tasksim import trace' what starpu_fxt_tool writes"
        )
    if llvm is None and gnu is None:
        raise InputError(
            f"{path}: uses no OpenMP: neither libgomp nor libomp is among its "
            f"{len(libraries)} libraries; compile and link it with -fopenmp, or import the trace "
            "of another runtime: 'tasksim import trace'"
        )
    if libomp is None and llvm is not None and libraries[llvm] is not None and gnu is None:
        return OpenMPProgram(path, llvm, None)
    runtime = find_runtime(libomp, elf.machine)
    if gnu is not None:
        _refuse_override(path, elf, gnu)
        _refuse_missing(path, runtime)
    parts = [path, *(Path(where) for name, where in libraries.items() if where and name != gnu)]
    return OpenMPProgram(path, gnu or str(llvm), runtime, any(map(_has_taskloops, parts)))


def _libraries_of(path: Path, elf: Elf) -> dict[str, str | None]:
    """Return the path of each library of a program by its name; None if the loader finds none.

    The list is the loader's, as a library may need OpenMP although the program itself does not. The
    loader runs nothing of the program.
    """
    found: dict[str, str | None] = dict.fromkeys(elf.needed)
    environment = os.environ | {"LD_TRACE_LOADED_OBJECTS": "1"}
    try:
        done = subprocess.run(
            [elf.interpreter, str(path.absolute())], env=environment, capture_output=True,
            text=True, errors="replace", check=False, timeout=LOADER_TIMEOUT_S,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return found
    found.update((name, where) for name, where in _LISTED.findall(done.stdout))
    return found


def _refuse_override(path: Path, elf: Elf, name: str) -> None:
    """Refuse a program whose DT_RPATH leads to its runtime: nothing overrides that path."""
    for folder in filter(None, elf.run_path.split(":")):
        where = Path(folder.replace("$ORIGIN", str(path.absolute().parent)), name)
        if where.exists():
            raise InputError(
                f"{path}: its DT_RPATH leads to {where}, and no other runtime can be put in its "
                "place; 'patchelf --remove-rpath' removes it, or link with --enable-new-dtags"
            )


def _refuse_missing(path: Path, runtime: Path) -> None:
    """Refuse a program that needs functions, or versions of them, that *runtime* lacks."""
    program, offered = read_elf(path), read_elf(runtime).offered
    wanted = {name for name in program.wanted if _OMP_NAME.match(name)}
    with contextlib.suppress(ValueError, LookupError):  # no sections: its symbols alone are known
        wanted |= {version for version in needs_of(path).versions if _OMP_NAME.match(version)}
    missing = sorted(wanted - offered)
    if not missing:
        return
    if _DETACH in program.wanted:
        # No libomp understands the creation of such a task by GCC, whatever versions it has.
        raise InputError(
            f"{path}: has tasks with 'detach', which LLVM's OpenMP runtime supports in programs "
            "of Clang only: compile it with Clang"
        )
    raise InputError(
        f"{path}: needs {', '.join(missing)} of GCC's OpenMP runtime, which {runtime} lacks: "
        f"compile it with Clang, or give a newer libomp: {option('libomp', 'PATH')}"
    )


def _has_taskloops(path: Path) -> bool:
    """Return whether a program or a library names GCC's function for taskloops."""
    try:
        return b"GOMP_taskloop" in path.read_bytes()
    except OSError:
        return False


def find_runtime(libomp: Any = None, machine: str = "") -> Path:
    """Return the path of a runtime of LLVM, for programs of a *machine*.

    Raises
    ------
    InputError
        If none is found, or *libomp* is not one.
    """
    if libomp is not None:
        path = path_of(libomp, "libomp")
        if not is_file(path) or not is_elf(path):
            raise InputError(f"{option('libomp')}: {path} is no shared library")
        if why := _unfit(path, machine):
            raise InputError(f"{option('libomp')}: {path} {why}")
        return path.absolute()
    seen = []
    for path in _candidates():
        if not path.is_file():
            continue
        why = _unfit(path, machine)
        if not why:
            return path
        seen.append(f"{path} {why}")
    beside = f" ({'; '.join(seen)})" if seen else ""
    raise InputError(f"no OpenMP runtime that can be recorded was found{beside}; {INSTALL_HINT}")


def _unfit(path: Path, machine: str) -> str:
    """Return why a library is no runtime for programs of a *machine*; "" if it is one."""
    try:
        elf = read_elf(path)
    except InputError as error:
        return f"cannot be read ({error})"
    if machine and elf.machine != machine:
        return f"is for {elf.machine}, the program for {machine}"
    if not {"GOMP_parallel", "__kmpc_fork_call"} <= elf.offered:
        return "is no OpenMP runtime of LLVM"
    return ""


def _candidates() -> Iterator[Path]:
    """Yield paths of possible runtimes: the system's, newest first, then Python's packages."""
    folders = sorted(Path("/usr/lib").glob("llvm-*/lib"), key=_version, reverse=True)
    multiarch = map(str, Path("/usr/lib").glob("*-linux-gnu*"))
    system = {"/usr/lib", "/usr/lib64", "/usr/local/lib", *multiarch}
    folders += [Path(place) for place in sorted(system)]
    for folder in folders:
        for name in ("libomp.so.5", "libomp.so"):
            yield folder / name
    yield from _of_package()


def _version(folder: Path) -> int:
    digits = re.search(r"\d+", folder.parent.name)
    return int(digits[0]) if digits else 0


def _of_package() -> Iterator[Path]:
    """Yield paths of the runtime of the package ``intel-openmp``, if it is installed."""
    try:
        files = metadata.files("intel-openmp") or []
    except metadata.PackageNotFoundError:
        return
    for file in files:
        if file.name == "libiomp5.so":
            yield Path(str(file.locate())).resolve()
    yield Path(sys.prefix, "lib", "libiomp5.so")


def find_recorder() -> Path:
    """Return the path of the recorder; :exc:`InputError` with the reason if there is none."""
    if BUILT_RECORDER.is_file():
        folder = BUILT_RECORDER.parent
        if units(folder) and digest(folder).encode() not in BUILT_RECORDER.read_bytes():
            raise InputError(
                f"{BUILT_RECORDER}: not made of the sources that are here; "
                "'python -m tasksim.core.build' builds it again"
            )
        return BUILT_RECORDER
    try:
        why = RECORDER_WHY_NOT.read_text(encoding="utf-8").partition("\n")[0]
    except OSError:
        why = "'python -m tasksim.core.build' builds it in a checkout"
    raise InputError(f"OpenMP programs cannot be recorded: their recorder is not built ({why})")
