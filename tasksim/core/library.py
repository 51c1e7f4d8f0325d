"""Shared library of the core, loaded at the first request.

The library is beside this file. The environment variable ``TASKSIM_CORE`` overrides that: ``off``,
or the path of another library.
"""

from __future__ import annotations

import ctypes
import os
import threading
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "BUILT_LIBRARY",
    "BUILT_RECORDER",
    "FOLDER",
    "INTERFACE_VERSION",
    "RECORDER_WHY_NOT",
    "WASM_PATH",
    "Status",
    "all_sources",
    "digest",
    "library",
    "status",
    "units",
    "wasm_status",
]

INTERFACE_VERSION: Final = 25
"""Version of the interface that the callers use, ``TASKSIM_CORE_VERSION`` in ``tasksim_core.h``."""
FOLDER: Final = Path(__file__).resolve().parent
"""Folder of the sources in a checkout. Wheels have the library instead."""
BUILT_LIBRARY: Final = FOLDER / "libtasksim_core.so"
"""Path of the library, in a build and in wheels."""
WASM_PATH: Final = BUILT_LIBRARY.with_suffix(".wasm")
"""Path of the core as WebAssembly, for pages, where it was built."""
WHY_NOT: Final = FOLDER / "not-built.txt"
"""File with the reason of a failed build, written by the build."""
BUILT_RECORDER: Final = FOLDER.parent / "recording" / "openmp" / "recorder" / "libtasksim_ompt.so"
"""Path of the recorder of OpenMP programs, beside its sources: a library that their runtime loads.
It is built with the core, and apart from it."""
RECORDER_WHY_NOT: Final = BUILT_RECORDER.with_name(WHY_NOT.name)
"""File with the reason of a failed build of the recorder."""
_REBUILD: Final = "python -m tasksim.core.build"


@dataclass(frozen=True)
class Status:
    """Availability of the compiled core.

    Attributes
    ----------
    available
        Whether the core is loaded and can be called.
    why
        The reason why it is not, to complete a sentence about it: "switched off by ...".
    path
        The library; None if there is none.
    version
        Version of the library's interface; None if there is no library, or it states none.
    compiler
        Compiler of the library; None in the same cases.
    """

    available: bool
    why: str
    path: Path | None
    version: int | None = None
    compiler: str | None = None


class _Loaded(NamedTuple):
    library: ctypes.CDLL | None
    status: Status


_lock = threading.Lock()
_loaded: dict[str, _Loaded] = {}
"""Loaded libraries by the value of ``TASKSIM_CORE``."""


def library() -> ctypes.CDLL | None:
    """Return the loaded library, always the same object; None if there is none.

    Its functions run without Python's lock.

    See Also
    --------
    status : Why there is none.
    """
    return _found().library


def status() -> Status:
    """Return whether the core is there, and why not.

    See Also
    --------
    library : The core itself.
    """
    return _found().status


def wasm_status() -> Status:
    """Return whether the core is there as WebAssembly, and why not."""
    build = f"'{_REBUILD} --target wasm' does it"
    if not WASM_PATH.is_file():
        there = f"built in this checkout; {build}" if all_sources() else "in this installation"
        return Status(False, f"not {there}", None)
    if all_sources() and digest().encode() not in WASM_PATH.read_bytes():
        return Status(False, f"not made of the sources that are here; {build} again", WASM_PATH)
    return Status(True, "there", WASM_PATH, INTERFACE_VERSION)


def _found() -> _Loaded:
    setting = os.environ.get("TASKSIM_CORE", "")
    with _lock:
        if setting not in _loaded:
            _loaded[setting] = _look(setting)
        return _loaded[setting]


def _look(setting: str) -> _Loaded:
    if setting == "off":
        return _Loaded(None, Status(False, "switched off by TASKSIM_CORE=off", None))
    path = Path(setting).absolute() if setting else BUILT_LIBRARY
    if not path.is_file():
        why = f"not there: TASKSIM_CORE={setting} is no file" if setting else _why_absent()
        return _Loaded(None, Status(False, why, None))
    return _load(path, None if setting else FOLDER)


def _why_absent() -> str:
    """Return why there is no library beside this file."""
    try:
        why = WHY_NOT.read_text(encoding="utf-8").partition("\n")[0]  # then what the compiler said
        return f"not built when tasksim was installed: {why}"
    except OSError:
        pass
    if all_sources():
        return f"not built in this checkout; '{_REBUILD}' does it"
    return "not in this installation"


def _load(path: Path, sources: Path | None = None) -> _Loaded:
    """Load the library *path*; refuse it if it is not made of the *sources* that are there."""
    try:
        core = ctypes.CDLL(str(path))
        version = int(core.tasksim_core_version())
    except OSError as error:
        return _Loaded(None, Status(False, f"not to be loaded: {error}", path))
    except AttributeError:
        return _Loaded(None, Status(False, "no core of tasksim, another library", path))
    if version != INTERFACE_VERSION:
        why = f"built for another version: {version}, expected {INTERFACE_VERSION}"
        return _Loaded(None, Status(False, why, path, version))
    compiler = _text(core, "tasksim_core_compiler")
    # Wheels have no sources to compare with.
    told = "tasksim_core_sources"
    if sources is not None and all_sources(sources) and digest(sources) != _text(core, told):
        why = f"not made of the sources that are here; '{_REBUILD}' does it again"
        return _Loaded(None, Status(False, why, path, version, compiler))
    return _Loaded(core, Status(True, "loaded", path, version, compiler))


def _text(core: ctypes.CDLL, name: str) -> str:
    function = core[name]
    function.restype = ctypes.c_char_p
    return str(function().decode())


# The sources


def units(folder: Path = FOLDER, without: Sequence[str] = ("wasm",)) -> list[Path]:
    """Return what the compiler is called with, in an order that does not depend on the machine.

    *without* are folders that are left out: by default what only WebAssembly needs.
    """
    return sorted(p for p in folder.rglob("*.cpp") if p.relative_to(folder).parts[0] not in without)


def all_sources(folder: Path = FOLDER) -> list[Path]:
    """Return the units and the headers, in such an order."""
    return sorted([*folder.rglob("*.cpp"), *folder.rglob("*.h")])


def digest(folder: Path = FOLDER) -> str:
    """Return what differs between sources that differ: names and contents, not times."""
    total = sha256()
    for path in all_sources(folder):
        total.update(path.relative_to(folder).as_posix().encode() + b"\0")
        total.update(sha256(path.read_bytes()).digest())
    return total.hexdigest()[:16]
