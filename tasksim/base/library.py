"""Libraries: folders where platform files, coefficient files and traces are found by name.

A *library* is a folder with ``platforms/``, ``models/`` and ``traces/``. They are searched in
this order: the folder given (``--library``), the working directory, the user's data
directory, what comes with the package.
"""

from __future__ import annotations

import os
from pathlib import Path

from tasksim.base.errors import InputError, nearest, unknown
from tasksim.base.files import exists

__all__ = ["find", "libraries", "named", "names", "package_library", "user_library"]

FILES = {"models": ".json"}
"""Of kinds whose names are those of folders: how single files end that may be given instead."""


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
    """Return the libraries in search order, *library* first when given."""
    places = [Path.cwd(), user_library(), package_library()]
    ordered = [Path(library), *places] if library is not None else places
    return list(dict.fromkeys(place.resolve() for place in ordered))


def names(kind: str, suffix: str = "", library: Path | None = None) -> dict[str, Path]:
    """Return name -> path of everything of one *kind* (``"platforms"``), nearest library first."""
    found: dict[str, Path] = {}
    for place in libraries(library):
        folder = place / kind
        if folder.is_dir():
            for path in sorted(folder.iterdir()):
                if not path.name.startswith(".") and (path.suffix == suffix or path.is_dir()):
                    found.setdefault(path.stem if suffix else path.name, path)
    return found


def find(kind: str, name: str, suffix: str = "", library: Path | None = None) -> Path:
    """Return the path of *name*: itself if it is a path, else the first library that has it.

    Models are folders, or files that end in ``.json``, which are paths always.

    Raises :exc:`InputError` with the nearest known name.
    """
    path = Path(name)
    if exists(path) and (path.suffix or path.is_dir() or os.sep in name or not suffix):
        return path
    if path.suffix and path.suffix == FILES.get(kind):
        beside = [str(file) for file in sorted(path.parent.glob(f"*{path.suffix}"))]
        raise InputError(f"{name}: no such file{nearest(name, beside)}")
    if os.sep in name:
        raise InputError(f"{name}: no such {'file' if suffix else 'folder'}")
    return named(kind, name, suffix, library)


def named(kind: str, name: str, suffix: str = "", library: Path | None = None) -> Path:
    """Return the path of *name* in the first library that has it, whatever else is called so.

    Raises :exc:`InputError` with the nearest known name.
    """
    known = names(kind, suffix, library)
    if name in known:
        return known[name]
    raise unknown(kind.rstrip("s"), name, known)
