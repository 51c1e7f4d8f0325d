"""Reading text files; writing files so that nothing is ever half-written, and nothing lost."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

from tasksim.base.errors import InputError, OutputError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "new_folder",
    "read_text",
    "refuse_existing",
    "refuse_folder",
    "write_bytes",
    "write_text",
    "writing",
]


def read_text(path: Path) -> str:
    """Return the text (UTF-8) of a file; :exc:`InputError` if there is none."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder, not a file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text (byte {error.start})") from None


@contextmanager
def writing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside *path*; rename it to *path* when the block succeeds.

    Whatever goes wrong, *path* is what it was before. A link stays one: what it leads to is
    written. Raises :exc:`OutputError` where the operating system refuses (no permission, no
    space, no such folder).
    """
    target = _target(path)
    temporary = _beside(target).with_suffix(f".tmp{target.suffix}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        temporary.replace(target)
    except OSError as error:
        raise _refused(path, error) from error
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


def refuse_folder(path: Path, *, force: bool, what: str, mark: str) -> None:
    """Raise :exc:`InputError` if *path* exists and must not be replaced by a new folder.

    With *force*, a folder is replaced if it is empty or has the file *mark* in it: then it is
    *what* ("a run folder") and not somebody's home. Neither a file is replaced, nor the current
    folder or one above it.
    """
    refuse_existing(path, force=force)
    if not path.exists():
        return
    _refuse_irreplaceable(path, what)
    other = next((p.name for p in sorted(path.iterdir())), None)
    if other is not None and not (path / mark).exists():
        raise InputError(
            f"{path} is not {what} (it holds '{other}' and no {mark}); "
            "it is not replaced, choose another name"
        )


@contextmanager
def new_folder(path: Path, *, force: bool = False) -> Iterator[Path]:
    """Yield an empty temporary folder that becomes *path* when the block succeeds.

    An existing *path* is refused, or replaced with *force*: only once the new one is complete.
    """
    refuse_existing(path, force=force)
    if path.exists():
        _refuse_irreplaceable(path, "a folder")
    target = _target(path)
    temporary = _beside(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary.mkdir()
        yield temporary
        _put_in_place(temporary, target)
    except OSError as error:
        raise _refused(path, error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _refuse_irreplaceable(path: Path, what: str) -> None:
    if not path.is_dir():
        raise InputError(f"{path} is a file, not {what}; choose another name")
    if Path.cwd().is_relative_to(_target(path)):
        raise InputError(f"{path} holds the current folder; it is not replaced, choose another")


def _put_in_place(folder: Path, path: Path) -> None:
    """Rename *folder* to *path*; what was there leaves only after the new one has its name."""
    if not path.exists():
        folder.rename(path)
        return
    old = _beside(path)
    try:
        path.rename(old)
        folder.rename(path)
    except BaseException:
        if old.exists():
            old.rename(path)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _target(path: Path) -> Path:
    """Return the absolute path; where *path* is a link, of what it leads to."""
    return Path(os.path.realpath(path))


def _beside(path: Path) -> Path:
    """Return a hidden name beside *path* that nothing has."""
    return path.with_name(f".{path.name}.{token_hex(4)}.tmp")


def _refused(path: Path, error: OSError) -> OutputError:
    return OutputError(f"cannot write {path}: {error.strerror or error}")
