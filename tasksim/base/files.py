"""Safe reading and writing of files. Reads are bounded in size, writes are all or nothing."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from tasksim.base.errors import InputError, OutputError, option
from tasksim.base.log import Log
from tasksim.base.units import format_size

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

__all__ = [
    "bare_name",
    "exists",
    "is_file",
    "is_folder",
    "near_file",
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

MAX_TEXT_BYTES: Final = 256 * 2**20
"""Largest text file, in bytes: ten times the largest known one (samples of some million tasks),
and a laptop has memory for such a text and the values read from it."""
MAX_FILE_BYTES: Final = 4 * 2**30
"""Largest file of any other kind, in bytes: a graph of 20 million tasks has 4 GiB."""

EXTRA_READ_BYTES: Final = 2**12
"""Bytes to read beyond the reported size of a file: files under /proc report a size of 0."""

_log = Log("base")

_FILE_KINDS: Final = (
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)


def exists(path: Path) -> bool:
    """Return whether there is anything at *path*; False for an impossible path, too."""
    # Path.exists raises for a path that is too long, or in a folder without permission.
    return os.path.exists(path)  # noqa: PTH110


def is_file(path: Path) -> bool:
    """Return whether there is a file at *path*; False for an impossible path, too."""
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: Path) -> bool:
    """Return whether there is a folder at *path*; False for an impossible path, too."""
    return os.path.isdir(path)  # noqa: PTH112


def bare_name(path: Path) -> str:
    """Return the name of *path* without suffixes; a number after a dot belongs to the name.

    >>> bare_name(Path("xhpl-2.3")), bare_name(Path("tasks.csv.gz")), bare_name(Path(".ninja_log"))
    ('xhpl-2.3', 'tasks', '.ninja_log')
    """
    name = Path(path.name)
    while name.suffix and not name.suffix[1].isdecimal():
        name = name.with_suffix("")
    return name.name


def near_file(path: Path) -> str:
    """Return ``", did you mean 'x'?"`` for a file beside the missing *path* with nearly its name.

    Files of another suffix do not count. ``""`` if there is none.
    """
    from difflib import get_close_matches  # imported late: only errors need it

    try:
        beside = {file.stem: file for file in path.parent.iterdir() if file.suffix == path.suffix}
    except (OSError, ValueError):  # no such folder, or an impossible path
        return ""
    matches = get_close_matches(path.stem, sorted(beside), n=1)
    return f", did you mean '{beside[matches[0]]}'?" if matches else ""


def read_text(path: Path, limit: int = MAX_TEXT_BYTES) -> str:
    """Return the text (UTF-8) of a file.

    Parameters
    ----------
    path : Path
        A regular file, or a link to one.
    limit : int, default 256 MiB
        The largest legal size of the file, in bytes.

    Returns
    -------
    str
        The text, without a byte order mark.

    Raises
    ------
    InputError
        If there is no such file, if it is a folder, a device, a pipe or a socket, if it is larger
        than *limit*, or not UTF-8. The message has one line.

    See Also
    --------
    read_bytes : The content of a binary file.
    tasksim.base.documents.json_document.read_json : The value of a JSON file.

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


def read_bytes(path: Path, limit: int = MAX_FILE_BYTES) -> bytes:
    """Return the content of a file.

    Parameters
    ----------
    path : Path
        A regular file, or a link to one.
    limit : int, default 4 GiB
        The largest legal size of the file, in bytes.

    Raises
    ------
    InputError
        As for :func:`read_text`, except for the encoding.

    See Also
    --------
    reading : The open file, for readers that need only a part of it.
    """
    with reading(path, limit) as file:
        # In parts, so that the limit is not allocated for a small file.
        step = os.fstat(file.fileno()).st_size + EXTRA_READ_BYTES
        parts, left = [], limit + 1
        while left > 0 and (part := file.read(min(step, left))):
            parts.append(part)
            left -= len(part)
    if left <= 0:  # it grew after it was opened, or reports no size, as under /proc
        raise _too_large(path, f"more than {limit} bytes", limit)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def sha256_of(path: Path) -> str | None:
    """Return the SHA-256 of a file; None if there is none."""
    import hashlib

    return hashlib.sha256(read_bytes(path)).hexdigest() if is_file(path) else None


@contextmanager
def reading(path: Path, limit: int = MAX_FILE_BYTES) -> Iterator[BinaryIO]:
    """Open the file *path* for reading within the block.

    Parameters
    ----------
    path : Path
        A regular file, or a link to one. Devices may have no end, and opening a pipe may block:
        both are refused.
    limit : int, default 4 GiB
        The largest legal size of the file, in bytes.

    Raises
    ------
    InputError
        If the file cannot be opened, or a read within the block fails (OSError). The message has
        one line.
    """
    if "\0" in str(path):
        raise InputError(f"{str(path)!r}: no such file: a path cannot contain a null character")
    try:
        _refuse_unreadable(path, path.stat(), limit)
        # Non-blocking: if it has become a pipe since the check, opening must not wait for a writer.
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(number, "rb") as file:
            _log.debug("read %s: %d bytes", path, os.fstat(number).st_size)
            yield file
    except FileNotFoundError:
        raise InputError(f"{path}: no such file{near_file(path)}") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error


def _refuse_unreadable(path: Path, status: os.stat_result, limit: int) -> None:
    """Raise :exc:`InputError` for anything but a regular file, and for one that is too large."""
    mode = status.st_mode
    if stat.S_ISDIR(mode):
        raise InputError(f"{path}: is a folder, not a file")
    if not stat.S_ISREG(mode):
        kind = next((name for test, name in _FILE_KINDS if test(mode)), "no regular file")
        raise InputError(f"{path}: is {kind}, not a file")
    if status.st_size > limit:
        raise _too_large(path, format_size(status.st_size), limit)


def _too_large(path: Path, got: str, limit: int) -> InputError:
    return InputError(f"{path}: is too large: got {got}; legal: at most {format_size(limit)}")


@contextmanager
def writing(path: Path, *, force: bool = True) -> Iterator[Path]:
    """Yield a temporary path beside *path*; rename it to *path* when the block succeeds.

    If anything fails, *path* stays as it was. A link stays a link: its target is written. Raises
    :exc:`OutputError` if the operating system refuses (no permission, no space, no such folder);
    :exc:`InputError` if *path* is a device or a pipe, and, without *force*, if another process
    has written *path* in the meantime.
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
            _log.info("wrote %s", path)
        except OSError as error:
            raise _refused(path, error) from error
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


def _refuse_special(target: Path) -> None:
    """Refuse to replace a device or a pipe by a file: root could replace /dev/null."""
    try:
        mode = target.stat().st_mode
    except (OSError, ValueError):
        return  # nothing is there, or the path cannot be used: writing will report why
    kind = next((name for test, name in _FILE_KINDS if test(mode)), None)
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

    With *force*, a folder may be replaced if it is empty or contains the file *mark*, which shows
    that it is *what* ("a run folder") and not somebody's home. A file, the current folder and the
    folders above it are never replaced.
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

    An existing *path* is refused, or, with *force*, replaced once the new folder is complete. The
    same holds for a folder that another process makes in the meantime.
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
            _log.info("wrote the folder %s", path)
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
    """Rename *folder* to *path*; remove the old folder at *path* only afterwards."""
    if not path.exists():
        folder.rename(path)
        return
    old = _beside(path)
    try:
        path.rename(old)
        folder.rename(path)
    except BaseException:  # Ctrl-C included: the old folder must get its name back
        if old.exists():
            old.rename(path)
        raise
    _remove(old)


def _locked(path: Path) -> AbstractContextManager[None]:
    """Wait until no other process writes *path*, see :mod:`tasksim.base.lockfile`."""
    from tasksim.base.lockfile import locked  # imported late: most commands only read

    return locked(path)


def _remove(folder: Path) -> None:
    """Remove a folder; ignore errors."""
    import shutil  # imported late: it imports the modules of all archive formats

    shutil.rmtree(folder, ignore_errors=True)


def _target(path: Path) -> Path:
    """Return the absolute path, with links resolved."""
    return Path(os.path.realpath(path))


def _beside(path: Path) -> Path:
    """Return an unused hidden name beside *path*."""
    return path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")


def _refused(path: Path, error: OSError) -> OutputError:
    return OutputError(f"cannot write {path}: {error.strerror or error}")
