"""Lock files: one writer at a time, also on file systems that several machines share.

A lock is a file beside what it guards, ``.NAME.lock``, that appears with its owner in it: by a
hard link, which all file systems make once only, those over a network too. A lock whose owner is
dead is *stale* and is taken over. Of a process of this machine that is known; of one elsewhere
the file tells, whose time its owner renews: and where the system has record locks (``fcntl``),
one on the file says that the owner lives, though it may be asleep.
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

LOOK_S: Final = 0.05
"""How often one that waits looks again: more often than a person notices, seldom enough for a
file server."""
RENEW_S: Final = 10.0
"""How often an owner renews the time of its lock."""
STALE_S: Final = 120.0
"""A lock of another machine that was not renewed for so long is stale: twelve times missed, more
than caches of network file systems (up to a minute) hide."""
BREAKING_S: Final = 60.0
"""Who takes over a stale lock needs milliseconds; a trace of that which is as old as this was left
by a process that was killed meanwhile."""
LARGEST: Final = 64 * 2**10
"""Of a lock file, in bytes; the command in it is cut to fit."""

_held: dict[tuple[Path, int, int], _Lock] = {}
"""The locks of this process (a child that was forked has none of them) by file, process, thread."""


@dataclass(frozen=True)
class Owner:
    """The process that holds a lock.

    Attributes
    ----------
    host, pid
        Where, and which.
    space
        Within which the number of a process means the same one: a machine since its start, and in
        it a name space of processes (a container).
    started
        When the process started, as the system tells it: numbers are given again.
    command
        What it was called as.
    since
        When it took the lock, local time.
    token
        Different for each lock.
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
        """Return the owner that a lock file names; None if there is none, or it is none of ours."""
        try:
            with path.open("rb") as file:
                return cls(**json.loads(file.read(LARGEST)))
        except (OSError, ValueError, TypeError, RecursionError):
            return None

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} since {self.since} ({self.command})"

    def lives_here(self) -> bool | None:
        """Return whether this process lives; None if that cannot be told from here."""
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
        A file or folder that need not exist yet; the folder above it is made if need be, and
        removed if it is empty in the end.
    wait : bool, default True
        Wait until another process gives the lock back.
    tell : callable, optional
        Called once with a sentence when there is something to wait for.

    Raises
    ------
    InputError
        If another process holds the lock and *wait* is false; names the process.
    OutputError
        If the lock cannot be made.

    See Also
    --------
    check_lock : Whether a lock that is held for long is still ours.

    Notes
    -----
    A thread that holds a lock gets it again at once.

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
    """Raise :exc:`OutputError` if the lock of *target*, which this thread holds, was taken over.

    For who holds one for long, before writing: a process may be stopped for minutes.
    """
    lock = _held.get(_key(target))
    if lock is not None:
        lock.check(target)


def _key(target: Path) -> tuple[Path, int, int]:
    return lock_path(target), os.getpid(), threading.get_ident()


def _acquired(path: Path, target: Path, wait: bool, tell: Callable[[str], None] | None) -> _Lock:
    """Return the lock once it is ours."""
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lock = _try(path)
        except FileNotFoundError:
            continue  # who had the lock has removed the folder, which was empty
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
        time.sleep(LOOK_S)


def _try(path: Path) -> _Lock | None:
    """Return the lock at *path* if it is free or stale."""
    if path.exists() and not _break(path):
        return None
    return _Lock.new(path)


class _Lock:
    """A lock that this process holds: its file is kept open, and renewed by a thread."""

    def __init__(self, path: Path, owner: Owner, file: int) -> None:
        self._path, self._owner, self._file = path, owner, file
        self._over = threading.Event()
        # A thread that waits costs nothing; it must not keep the process alive.
        self._renewing = threading.Thread(target=self._renew, daemon=True)
        self._renewing.start()

    @classmethod
    def new(cls, path: Path) -> _Lock | None:
        """Return the lock, None if there is one already."""
        owner = Owner.this()
        beside = path.with_name(f"{path.name}.{owner.token}")
        file = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        try:
            os.write(file, json.dumps(asdict(owner)).encode())
            _record_lock(file)
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
            f"{target}: another process took it over, as this one was stopped for minutes"
            + (f": {now}" if now else "")
        )

    def release(self) -> None:
        """Give the lock back, if it is still ours."""
        self._over.set()
        self._renewing.join()
        with suppress(OSError), _breaking(self._path) as mine:
            owner = Owner.read(self._path)
            if mine and owner is not None and owner.token == self._owner.token:
                self._path.unlink(missing_ok=True)
        os.close(self._file)

    def _renew(self) -> None:
        while not self._over.wait(RENEW_S):
            with suppress(OSError):
                os.utime(self._path if os.utime not in os.supports_fd else self._file)


def _appears(beside: Path, path: Path) -> bool:
    """Give the file *beside* the name *path*, too; return False if there is one of that name."""
    try:
        os.link(beside, path)
    except FileExistsError:
        return False
    except OSError:  # a network may lose the answer to what was done; or there are no links here
        if beside.stat().st_nlink == 2:
            return True
        return _copied(beside, path)
    return True


def _copied(beside: Path, path: Path) -> bool:
    """Do the same where there are no links."""
    try:
        with path.open("xb") as file:
            file.write(beside.read_bytes())
    except FileExistsError:
        return False
    return True


def _break(path: Path) -> bool:
    """Remove a stale lock; return whether there is none now."""
    stale = _stale(path)
    if stale is None:
        return not path.exists()
    with _breaking(path) as mine:
        # Looked at again: another process may have been as quick, and hold a new one.
        if mine and _stale(path) == stale:
            path.unlink(missing_ok=True)
    return not path.exists()


@contextmanager
def _breaking(path: Path) -> Iterator[bool]:
    """Be the only one who removes the lock at *path*; yield False if another one is."""
    beside = path.with_name(f"{path.name}.breaking")
    with suppress(OSError):
        if _now(path) - beside.stat().st_mtime > BREAKING_S:
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
            time.sleep(LOOK_S / 10)
    try:
        yield True
    finally:
        beside.unlink(missing_ok=True)


def _stale(path: Path) -> tuple[Any, ...] | None:
    """Return what tells this lock from others, if its owner is dead; else None."""
    try:
        status = path.stat()
    except OSError:
        return None
    owner = Owner.read(path)
    identity = (status.st_ino, None if owner is None else owner.token)
    lives = None if owner is None else owner.lives_here()
    if lives is not None:
        return None if lives else identity
    if _now(path) - status.st_mtime < STALE_S or _record_locked(path):
        return None
    return identity


def _now(path: Path) -> float:
    """Return the time as the file system has it, whose clock may be another machine's."""
    probe = path.with_name(f"{path.name}.{os.urandom(4).hex()}.now")
    try:
        probe.touch()
        return probe.stat().st_mtime
    finally:
        probe.unlink(missing_ok=True)


def _record_lock(file: int) -> None:
    """Lock the open *file*, where the system can: it ends with this process, however that ends."""
    with suppress(ImportError, OSError):
        import fcntl

        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _record_locked(path: Path) -> bool:
    """Return whether a living process has locked the file, as far as the system tells."""
    try:
        import fcntl

        with path.open("r+b") as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return False
    except ImportError:
        return False
    except BlockingIOError:
        return True
    except OSError:  # no such locks here, or the file has gone
        return False


def _space() -> str:
    """Return within what numbers of processes are unique; nothing where that is not told."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""


def _started(pid: int) -> str:
    """Return when a process started, in the system's ticks; nothing if there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    fields = text.rpartition(")")[2].split()  # the name before it may have blanks and brackets
    return "" if fields[0] in "ZX" else fields[19]
