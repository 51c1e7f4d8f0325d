"""Files: read up to a size; written so that nothing is ever half-written, and nothing lost."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from tasksim.base.errors import InputError, OutputError, option
from tasksim.base.units import format_size

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

__all__ = [
    "exists",
    "is_file",
    "is_folder",
    "new_folder",
    "read_bytes",
    "read_text",
    "reading",
    "refuse_existing",
    "refuse_folder",
    "sha256_of",
    "write_bytes",
    "write_text",
    "writing",
]

MOST_TEXT_BYTES: Final = 256 * 2**20
"""Of a text: ten times the largest that is known, samples of some million tasks, and what a laptop
has memory for, as the text and the values read from it."""
MOST_BYTES: Final = 4 * 2**30
"""Of any other file: a graph of 20 million tasks has 4 GiB."""

LEAST_READ: Final = 2**12
"""Bytes that are read beyond the size that is told, which files under /proc have not."""

_KINDS: Final = (
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)


def exists(path: Path) -> bool:
    """Return whether there is anything at *path*; False also for what can be no path."""
    try:
        return path.exists()
    except (OSError, ValueError):  # too long for the system, or with a null character
        return False


def is_file(path: Path) -> bool:
    """Return whether there is a file at *path*; False also for what can be no path."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """Return whether there is a folder at *path*; False also for what can be no path."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def read_text(path: Path, limit: int = MOST_TEXT_BYTES) -> str:
    """Return the text (UTF-8) of a file.

    Parameters
    ----------
    path : Path
        A regular file, or a link to one.
    limit : int, default 256 MiB
        The most bytes that the file may have.

    Returns
    -------
    str
        The text, without a byte order mark.

    Raises
    ------
    InputError
        In one line: if there is no such file, if it is a folder, a device, a pipe or a socket,
        if it is larger than *limit*, or not UTF-8.

    See Also
    --------
    read_bytes : The same for what is no text.
    tasksim.base.jsontext.read_json : The value of a JSON file.

    Examples
    --------
    >>> read_text(Path("/dev/zero"))
    Traceback (most recent call last):
    tasksim.base.errors.InputError: /dev/zero: is a device, not a file
    """
    try:
        return read_bytes(path, limit).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text (byte {error.start})") from None


def read_bytes(path: Path, limit: int = MOST_BYTES) -> bytes:
    """Return what is in a file.

    Parameters
    ----------
    path : Path
        A regular file, or a link to one.
    limit : int, default 4 GiB
        The most bytes that the file may have.

    Raises
    ------
    InputError
        As :func:`read_text` does, but for the encoding.

    See Also
    --------
    reading : The file itself, for readers that take a part of it.
    """
    with reading(path, limit) as file:
        data = _read_up_to(file, limit + 1)
    if len(data) > limit:  # it has grown since, or its size is not told, as under /proc
        raise _too_large(path, f"more than {limit} bytes", limit)
    return data


def sha256_of(path: Path) -> str | None:
    """Return the SHA-256 of a file; None if there is none."""
    import hashlib

    return hashlib.sha256(read_bytes(path)).hexdigest() if is_file(path) else None


def _read_up_to(file: BinaryIO, size_bytes: int) -> bytes:
    """Return what is in *file*, at most *size_bytes*: for which no memory is asked beforehand."""
    step = os.fstat(file.fileno()).st_size + LEAST_READ
    parts = []
    while size_bytes > 0 and (part := file.read(min(step, size_bytes))):
        parts.append(part)
        size_bytes -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


@contextmanager
def reading(path: Path, limit: int = MOST_BYTES) -> Iterator[BinaryIO]:
    """Yield the file *path*, opened to be read; close it in any case.

    Parameters
    ----------
    path : Path
        A regular file, or a link to one: a device may have no end, and a pipe may have to be
        waited for.
    limit : int, default 4 GiB
        The most bytes that the file may have.

    Raises
    ------
    InputError
        In one line, also where the system refuses to read (OSError) within the block.
    """
    if "\0" in str(path):
        raise InputError(f"{str(path)!r}: no such file: a null character is in no path")
    try:
        _refuse_unreadable(path, path.stat(), limit)
        # Should it have become a pipe since, opening it must not wait for a writer.
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(number, "rb") as file:
            yield file
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error


def _refuse_unreadable(path: Path, status: os.stat_result, limit: int) -> None:
    """Refuse what is no regular file, and what is too large, before anything is opened."""
    mode = status.st_mode
    if stat.S_ISDIR(mode):
        raise InputError(f"{path}: is a folder, not a file")
    if not stat.S_ISREG(mode):
        kind = next((name for test, name in _KINDS if test(mode)), "no regular file")
        raise InputError(f"{path}: is {kind}, not a file")
    if status.st_size > limit:
        raise _too_large(path, format_size(status.st_size), limit)


def _too_large(path: Path, got: str, limit: int) -> InputError:
    return InputError(f"{path}: is too large: got {got}; legal: at most {format_size(limit)}")


@contextmanager
def writing(path: Path, *, force: bool = True) -> Iterator[Path]:
    """Yield a temporary path beside *path*; rename it to *path* when the block succeeds.

    Whatever goes wrong, *path* is what it was before. A link stays one: what it leads to is
    written. Raises :exc:`OutputError` where the operating system refuses (no permission, no
    space, no such folder); :exc:`InputError` if *path* is a device or a pipe, and without *force*
    if another process has written it meanwhile.
    """
    from tasksim.base.folders import no_empty_folders

    target = _target(path)
    _refuse_special(target)
    temporary = _beside(target).with_suffix(f".tmp{target.suffix}")
    with no_empty_folders(target):
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            yield temporary
            if force:
                temporary.replace(target)
            else:
                with _locked(target):
                    refuse_existing(path, force=False)
                    temporary.replace(target)
        except OSError as error:
            raise _refused(path, error) from error
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


def _refuse_special(target: Path) -> None:
    """Refuse to put a file in the place of a device or a pipe: root could, of /dev/null."""
    try:
        mode = target.stat().st_mode
    except (OSError, ValueError):
        return  # there is nothing, or nothing can be made: then writing says why
    kind = next((name for test, name in _KINDS if test(mode)), None)
    if kind is not None:
        raise InputError(f"{target}: is {kind}, not a file; choose another name")


def write_bytes(path: Path, data: bytes, *, force: bool = True) -> None:
    """Write *data* to *path*, all or nothing; *force* as for :func:`writing`."""
    with writing(path, force=force) as temporary:
        temporary.write_bytes(data)


def write_text(path: Path, text: str, *, force: bool = True) -> None:
    """Write *text* (UTF-8) to *path*, all or nothing; *force* as for :func:`writing`."""
    write_bytes(path, text.encode(), force=force)


def refuse_existing(path: Path, *, force: bool) -> None:
    """Raise :exc:`InputError` if *path* exists and *force* is not given."""
    if not force and (path.exists() or path.is_symlink()):
        raise InputError(f"{path} exists; give {option('force', 'True')} to replace it")


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

    An existing *path* is refused, or replaced with *force*: only once the new one is complete. So
    is one that another process has made meanwhile.
    """
    refuse_existing(path, force=force)
    if path.exists():
        _refuse_irreplaceable(path, "a folder")
    from tasksim.base.folders import no_empty_folders

    target = _target(path)
    temporary = _beside(target)
    with no_empty_folders(target):
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            temporary.mkdir()
            yield temporary
            with _locked(target):
                refuse_existing(path, force=force)
                _put_in_place(temporary, target)
        except OSError as error:
            raise _refused(path, error) from error
        finally:
            _remove(temporary)


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
    _remove(old)


def _locked(path: Path) -> AbstractContextManager[None]:
    """Wait until no other process writes *path*, see :mod:`tasksim.base.lockfile`."""
    from tasksim.base.lockfile import locked  # which most commands, that only read, do not need

    return locked(path)


def _remove(folder: Path) -> None:
    """Remove a folder, as far as that goes."""
    import shutil  # which imports all that archives are made with

    shutil.rmtree(folder, ignore_errors=True)


def _target(path: Path) -> Path:
    """Return the absolute path; where *path* is a link, of what it leads to."""
    return Path(os.path.realpath(path))


def _beside(path: Path) -> Path:
    """Return a hidden name beside *path* that nothing has."""
    return path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")


def _refused(path: Path, error: OSError) -> OutputError:
    return OutputError(f"cannot write {path}: {error.strerror or error}")
