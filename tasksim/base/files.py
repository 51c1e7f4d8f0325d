"""Writing files so that nothing is ever half-written, and nothing lost."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tasksim.base.errors import InputError, OutputError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["new_folder", "refuse_existing", "write_bytes", "write_text", "writing"]


@contextmanager
def writing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside *path*; rename it to *path* when the block succeeds.

    Whatever goes wrong, *path* is what it was before. Raises :exc:`OutputError` where the
    operating system refuses (no permission, no space, no such folder).
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_bytes(path: Path, data: bytes) -> None:
    """Write *data* to *path*, all or nothing."""
    with writing(path) as temporary:
        temporary.write_bytes(data)


def write_text(path: Path, text: str) -> None:
    """Write *text* (UTF-8) to *path*, all or nothing."""
    write_bytes(path, text.encode())


def refuse_existing(path: Path, *, force: bool) -> None:
    """Raise :exc:`InputError` if *path* exists and *force* is not given."""
    if not force and (path.exists() or path.is_symlink()):
        raise InputError(f"{path} exists; give --force to replace it")


@contextmanager
def new_folder(path: Path, *, force: bool = False) -> Iterator[Path]:
    """Yield an empty temporary folder that becomes *path* when the block succeeds.

    An existing *path* is refused, or replaced with *force*: only once the new one is complete.
    """
    refuse_existing(path, force=force)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from error
    try:
        yield temporary
        temporary.chmod(0o755)
        _put_in_place(temporary, path)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _put_in_place(folder: Path, path: Path) -> None:
    """Rename *folder* to *path*; what was there leaves only after the new one has its name."""
    if not path.exists():
        folder.rename(path)
        return
    if path.is_file():
        raise InputError(f"{path} is a file, not a run folder; choose another name")
    old = path.with_name(f".{path.name}.{os.getpid()}.old")
    path.rename(old)
    folder.rename(path)
    shutil.rmtree(old, ignore_errors=True)
