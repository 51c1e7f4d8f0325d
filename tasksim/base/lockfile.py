"""Lock files for one writer at a time, also on file systems that several machines share.

A lock is a file ``.NAME.lock`` beside its target. It appears complete, with its owner in it, by a
hard link: all file systems, network ones included, make a link of one name only once. A lock whose
owner is dead is *stale*, and another process takes it over. The system knows whether a process of
this machine lives. For a process of another machine, the modification time of the file decides,
which the owner renews; and if the system has record locks (``fcntl``), a record lock on the file
shows that the owner lives, even if it is suspended.
"""

from __future__ import annotations

import json
import os
import platform
import shlex
import sys
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.errors import InputError, OutputError
from tasksim.base.folders import no_empty_folders

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Owner", "check_lock", "lock_path", "locked"]

POLL_INTERVAL_S: Final = 0.05
"""Seconds between two attempts to get a lock: too short for a person to notice, and long enough
for a file server."""
RENEWAL_INTERVAL_S: Final = 10.0
"""Seconds between two renewals of a lock's modification time by its owner."""
STALE_AGE_S: Final = 120.0
"""Age in seconds at which a lock of another machine is stale: its owner has missed twelve
renewals, more than the caches of network file systems (up to a minute) hide."""
ABANDONED_TAKEOVER_S: Final = 60.0
"""Age in seconds at which a takeover file is considered abandoned by a killed process: a takeover
itself needs milliseconds."""
MAX_LOCK_FILE_BYTES: Final = 64 * 2**10
"""Largest lock file, in bytes; the command in it is cut to fit."""

_held: dict[tuple[Path, int, int], _Lock] = {}
"""The locks of this process by file, process and thread; the process is part of the key because a
forked child inherits this table, but none of the locks."""


@dataclass(frozen=True)
class Owner:
    """The process that holds a lock.

    Attributes
    ----------
    host, pid
        Machine and process number.
    space
        The scope in which process numbers are unique: one boot of a machine, and in it one
        process namespace (a container).
    started
        Start time of the process, in the system's ticks: process numbers are reused.
    command
        Command line of the process.
    since
        Local time at which the process took the lock.
    token
        Random text, different for each lock.
    """

    host: str
    pid: int
    space: str
    started: str
    command: str
    since: str
    token: str

    @classmethod
    def this(cls) -> Owner:
        """Return this process, with a new token."""
        return cls(
            host=platform.node(),
            pid=os.getpid(),
            space=_space(),
            started=_started(os.getpid()),
            command=shlex.join([Path(sys.argv[0] or "python").name, *sys.argv[1:]])[:200],
            since=time.strftime("%Y-%m-%d %H:%M:%S"),
            token=os.urandom(8).hex(),
        )

    @classmethod
    def read(cls, path: Path) -> Owner | None:
        """Return the owner in a lock file; None if there is no file, or it is not a lock file."""
        try:
            with path.open("rb") as file:
                return cls(**json.loads(file.read(MAX_LOCK_FILE_BYTES)))
        except (OSError, ValueError, TypeError, RecursionError):
            return None

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} since {self.since} ({self.command})"

    def lives_here(self) -> bool | None:
        """Return whether the process lives; None if this machine cannot know."""
        if self.space != _space() or not self.space:
            return None
        return _started(self.pid) == self.started


def lock_path(target: Path) -> Path:
    """Return the lock file of *target*.

    >>> lock_path(Path("/library/models/here")).name
    '.here.lock'
    """
    real = Path(os.path.realpath(target))
    return real.with_name(f".{real.name}.lock")


@contextmanager
def locked(
    target: Path, *, wait: bool = True, tell: Callable[[str], None] | None = None
) -> Iterator[None]:
    """Hold the lock of *target* within the block.

    Parameters
    ----------
    target : Path
        A file or folder, which need not exist yet. The folder above it is made if it is missing,
        and removed if it is empty in the end.
    wait : bool, default True
        Wait until another process releases the lock.
    tell : callable, optional
        Called once, with a sentence, if the lock is not free.

    Raises
    ------
    InputError
        If another process holds the lock and *wait* is false; the message names the process.
    OutputError
        If the lock file cannot be written.

    See Also
    --------
    check_lock : Check that a lock held for a long time is still ours.

    Notes
    -----
    The lock is reentrant: a thread that holds it gets it again at once.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, locked(Path(folder) / "gemm.json"):
    ...     [path.name for path in Path(folder).iterdir()]
    ['.gemm.json.lock']
    """
    key = _key(target)
    if key in _held:
        yield
        return
    with no_empty_folders(key[0]):
        lock = _acquired(key[0], target, wait, tell)
        _held[key] = lock
        try:
            yield
        finally:
            del _held[key]
            lock.release()


def check_lock(target: Path) -> None:
    """Raise :exc:`OutputError` if another process took over this thread's lock of *target*.

    Call it before writing if the lock was held for a long time: a process may have been suspended
    for minutes.
    """
    lock = _held.get(_key(target))
    if lock is not None:
        lock.check(target)


def _key(target: Path) -> tuple[Path, int, int]:
    return lock_path(target), os.getpid(), threading.get_ident()


def _acquired(path: Path, target: Path, wait: bool, tell: Callable[[str], None] | None) -> _Lock:
    """Return the lock as soon as this process holds it."""
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lock = None if path.exists() and not _break(path) else _Lock.new(path)
        except FileNotFoundError:
            continue  # the previous owner removed the folder, which was empty
        except OSError as error:
            raise OutputError(f"cannot write {target}: {error.strerror or error}") from error
        if lock is not None:
            return lock
        owner = Owner.read(path)
        who = owner or "another process"
        if not wait:
            raise InputError(f"{target} is being written by {who}")
        if tell is not None:
            tell(f"waiting for {who}, which writes {target}")
            tell = None
        time.sleep(POLL_INTERVAL_S)


class _Lock:
    """A lock of this process, whose file stays open and is renewed by a thread."""

    def __init__(self, path: Path, owner: Owner, file: int) -> None:
        self._path, self._owner, self._file = path, owner, file
        self._over = threading.Event()
        # A daemon, as the thread must not keep the process alive.
        self._renewing = threading.Thread(target=self._renew, daemon=True)
        self._renewing.start()

    @classmethod
    def new(cls, path: Path) -> _Lock | None:
        """Return a new lock at *path*; None if there is one already."""
        owner = Owner.this()
        beside = path.with_name(f"{path.name}.{owner.token}")
        file = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        try:
            os.write(file, json.dumps(asdict(owner)).encode())
            # A record lock, if the system has them, ends with this process. It comes before the
            # link, because others must not see the file without it.
            with suppress(ImportError, OSError):
                import fcntl

                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not _appears(beside, path):
                os.close(file)
                return None
        except BaseException:
            os.close(file)
            raise
        finally:
            beside.unlink(missing_ok=True)
        return cls(path, owner, file)

    def check(self, target: Path) -> None:
        """Raise :exc:`OutputError` if the lock is not ours any more."""
        with suppress(OSError):
            there, ours = self._path.stat(), os.fstat(self._file)
            if (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino):
                return
        now = Owner.read(self._path)
        raise OutputError(
            f"{target}: another process took over its lock, as this one was suspended for minutes"
            + (f": {now}" if now else "")
        )

    def release(self) -> None:
        """Release the lock, if it is still ours."""
        self._over.set()
        self._renewing.join()
        with suppress(OSError), _breaking(self._path) as mine:
            owner = Owner.read(self._path)
            if mine and owner is not None and owner.token == self._owner.token:
                self._path.unlink(missing_ok=True)
        os.close(self._file)

    def _renew(self) -> None:
        while not self._over.wait(RENEWAL_INTERVAL_S):
            with suppress(OSError):
                os.utime(self._path if os.utime not in os.supports_fd else self._file)


def _appears(beside: Path, path: Path) -> bool:
    """Link the file *beside* as *path*; return False if *path* exists already."""
    try:
        os.link(beside, path)
    except FileExistsError:
        return False
    except OSError:
        if beside.stat().st_nlink == 2:  # the link was made, the network lost the answer
            return True
        try:  # the file system has no links
            with path.open("xb") as file:
                file.write(beside.read_bytes())
        except FileExistsError:
            return False
    return True


def _break(path: Path) -> bool:
    """Remove the lock at *path* if it is stale; return whether *path* is free now."""
    stale = _stale(path)
    if stale is None:
        return not path.exists()
    with _breaking(path) as mine:
        # Checked again: another process may have removed the stale lock and hold a new one.
        if mine and _stale(path) == stale:
            path.unlink(missing_ok=True)
    return not path.exists()


@contextmanager
def _breaking(path: Path) -> Iterator[bool]:
    """Yield True while this process alone may remove the lock at *path*, False if another may."""
    beside = path.with_name(f"{path.name}.breaking")
    with suppress(OSError):
        if _now(path) - beside.stat().st_mtime > ABANDONED_TAKEOVER_S:
            beside.unlink(missing_ok=True)
    until = time.monotonic() + 1.0
    while True:
        try:
            os.close(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))
            break
        except FileExistsError:
            if time.monotonic() > until:
                yield False
                return
            time.sleep(POLL_INTERVAL_S / 10)  # a takeover is much shorter than a lock
    try:
        yield True
    finally:
        beside.unlink(missing_ok=True)


def _stale(path: Path) -> tuple[Any, ...] | None:
    """Return the identity of the lock at *path* if its owner is dead; else None."""
    try:
        status = path.stat()
    except OSError:
        return None
    owner = Owner.read(path)
    identity = (status.st_ino, None if owner is None else owner.token)
    lives = None if owner is None else owner.lives_here()
    if lives is not None:
        return None if lives else identity
    # The owner is on another machine: its last renewal and its record lock tell.
    if _now(path) - status.st_mtime < STALE_AGE_S or _record_locked(path):
        return None
    return identity


def _now(path: Path) -> float:
    """Return the file system's time, whose clock may be another machine's."""
    probe = path.with_name(f"{path.name}.{os.urandom(4).hex()}.now")
    try:
        probe.touch()
        return probe.stat().st_mtime
    finally:
        probe.unlink(missing_ok=True)


def _record_locked(path: Path) -> bool:
    """Return whether a living process has a record lock on the file; False if unknown."""
    try:
        import fcntl

        with path.open("r+b") as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return False
    except ImportError:
        return False
    except BlockingIOError:
        return True
    except OSError:  # the file system has no record locks, or the file is gone
        return False


def _space() -> str:
    """Return the scope in which process numbers are unique; ``""`` if the system has no /proc."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""


def _started(pid: int) -> str:
    """Return the start time of a process, in the system's ticks; ``""`` if it does not run."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    fields = text.rpartition(")")[2].split()  # the name before ")" may contain blanks and brackets
    return "" if fields[0] in "ZX" else fields[19]  # Z and X: a zombie, a dead process
