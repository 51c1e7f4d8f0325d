"""Libraries of platform files, coefficient files and traces, found by name.

A *library* is a folder with ``platforms/``, ``models/`` and ``traces/``. Libraries are searched
in this order: the given folder (``--library``), the working directory, the user's data
directory, the library of the package.
"""

from __future__ import annotations

import os
from pathlib import Path

from tasksim.base.errors import InputError, unknown
from tasksim.base.files import exists, near_file

__all__ = ["find", "libraries", "named", "names", "package_library", "user_library"]

SINGLE_FILE_SUFFIXES = {"models": ".json"}
"""Suffix of the single file that may replace a folder, by kind."""


def package_library() -> Path:
    """Return the library that comes with tasksim (in a source checkout: its top level)."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "data"
    return installed if installed.is_dir() else package.parent


def user_library() -> Path:
    """Return the user's own library, ``$XDG_DATA_HOME/tasksim``."""
    data_home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data_home) / "tasksim"


def libraries(library: Path | None = None) -> list[Path]:
    """Return the libraries in search order; *library*, if given, is the first."""
    places = [Path.cwd(), user_library(), package_library()]
    ordered = [Path(library), *places] if library is not None else places
    return list(dict.fromkeys(place.resolve() for place in ordered))


def names(kind: str, suffix: str = "", library: Path | None = None) -> dict[str, Path]:
    """Return the paths of everything of one *kind* (``"platforms"``) by name.

    If several libraries have a name, the first one in search order counts.
    """
    found: dict[str, Path] = {}
    for place in libraries(library):
        folder = place / kind
        if folder.is_dir():
            for path in sorted(folder.iterdir()):
                if not path.name.startswith(".") and (path.suffix == suffix or path.is_dir()):
                    found.setdefault(path.stem if suffix else path.name, path)
    return found


def find(kind: str, name: str, suffix: str = "", library: Path | None = None) -> Path:
    """Return *name* if it is a path, else its path in the first library that has the name.

    Models are folders or single files; a name that ends in ``.json`` is always a path.

    Raises :exc:`InputError` with the nearest known name.
    """
    path = Path(name)
    # A file without suffix or folder in its name, such as "gemm", must not hide a library's name.
    if exists(path) and (path.suffix or path.is_dir() or os.sep in name or not suffix):
        return path
    if path.suffix and path.suffix == SINGLE_FILE_SUFFIXES.get(kind):
        raise InputError(f"{name}: no such file{near_file(path)}")
    if os.sep in name:
        raise InputError(f"{name}: no such {'file' if suffix else 'folder'}")
    return named(kind, name, suffix, library)


def named(kind: str, name: str, suffix: str = "", library: Path | None = None) -> Path:
    """Return the path of *name* in the first library that has it; never take it as a path.

    Raises :exc:`InputError` with the nearest known name.
    """
    known = names(kind, suffix, library)
    if name in known:
        return known[name]
    raise unknown(kind.rstrip("s"), name, known)
