"""Files that the recorder writes while an OpenMP program runs.

The form of the records is described in ``recorder/records.h``. A process that was killed leaves
files that end earlier, and nothing half.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["DATA_FILE", "NO_SITE", "RecordKind", "Site", "ThreadRecords", "Trace", "read_trace"]

NO_SITE: Final = 0xFFFF
"""Number of the site of what has none."""
DATA_FILE: Final = "data"
"""File that the program may write of its data."""
THREAD_SHIFT: Final = 36
"""Position of the thread's number in the number of a task or a region."""

_MAGIC: Final = b"tsOMPT\r\n"
_VERSION: Final = 1
_HEADER: Final = struct.Struct("=8sIIQQ")
_RECORD_BYTES: Final = 16


class RecordKind(IntEnum):
    """Type of a record."""

    CLOCKS = 1
    CREATE = 2
    DEPENDENCE_PAIR = 3
    DEPENDENCE = 4
    DEPENDENCES_OF = 5
    SCHEDULE = 6
    SYNC = 7
    IMPLICIT = 8
    TEAM = 9
    PARALLEL = 10
    ENCOUNTERED = 11
    WORK = 12
    CANCEL = 13
    PULSE = 14


_TIMED: Final = (RecordKind.SCHEDULE, RecordKind.SYNC, RecordKind.IMPLICIT, RecordKind.PARALLEL)
"""Records whose second word are times of both clocks."""
_WALL: Final = (RecordKind.CREATE, RecordKind.WORK)
"""Records with a time of the wall clock."""


@dataclass(frozen=True, eq=False)
class ThreadRecords:
    """Records of one thread, with absolute times.

    Attributes
    ----------
    number : int
        Number of the thread.
    kind, head, body : ndarray
        Type and words of each record.
    wall_ns, cpu_ns : ndarray
        Time of each record on the wall clock, from the start of the recorder, and on the thread's
        processor clock; of a record without a time, that of the one before.
    pulse_ns : ndarray
        Times of the pulses of the thread's core, from the start of the recorder.
    pulses : ndarray, float64 [pulses, 2]
        Pulses and beats, relative to an idle core.
    """

    number: int
    kind: NDArray[np.uint8]
    head: NDArray[np.uint64]
    body: NDArray[np.uint64]
    wall_ns: NDArray[np.int64]
    cpu_ns: NDArray[np.int64]
    pulse_ns: NDArray[np.int64]
    pulses: NDArray[np.float64]


@dataclass(frozen=True)
class Site:
    """Place in the program that creates tasks, regions or loops.

    Attributes
    ----------
    address
        Address of the code in the process.
    offset
        The same, from the beginning of its module; None if it belongs to none.
    symbol, symbol_offset
        Nearest exported symbol, and the distance to it; empty if there is none.
    module
        Path of the program or library; ``runtime`` for code of the OpenMP runtime itself.
    """

    address: int
    offset: int | None = None
    symbol: str = ""
    symbol_offset: int = 0
    module: str = ""

    @property
    def is_of_runtime(self) -> bool:
        """Whether the runtime itself creates: parts of a taskloop that it splits."""
        return self.offset is None and self.module == "runtime"


@dataclass(frozen=True, eq=False)
class Trace:
    """All that was recorded.

    Attributes
    ----------
    threads : tuple of ThreadRecords
        Records of the threads, in the order of their numbers.
    sites : dict of int -> Site
    notes : dict of str -> list of str
        Notes of the recorder: "started", "fork", "full", ... -> the texts after the word.
    data : list of str
        Lines that the program has written of its data.
    """

    threads: tuple[ThreadRecords, ...]
    sites: dict[int, Site] = field(default_factory=dict)
    notes: dict[str, list[str]] = field(default_factory=dict)
    data: list[str] = field(default_factory=list)


def read_trace(folder: Path) -> Trace:
    """Return the records that the recorder wrote to *folder*.

    Raises
    ------
    InputError
        If a file in it is not of this recorder.
    """
    files = sorted(folder.glob("thread-*"), key=lambda path: (len(path.name), path.name))
    threads = [found for path in files if (found := _thread(path)) is not None]
    notes: dict[str, list[str]] = {}
    for line in _lines(folder / "notes"):
        word, _, text = line.partition("\t")
        notes.setdefault(word, []).append(text)
    return Trace(tuple(threads), _sites(folder / "sites"), notes, _lines(folder / DATA_FILE))


def _thread(path: Path) -> ThreadRecords | None:
    """Return the records of a file; None for one that a killed process had just begun."""
    data = path.read_bytes()
    if len(data) < _HEADER.size or not any(data[: _HEADER.size]):
        return None
    magic, version, number, start_ns, _ = _HEADER.unpack_from(data)
    if magic != _MAGIC or version != _VERSION:
        raise InputError(f"{path}: not written by this version of the recorder")
    whole = (len(data) - _HEADER.size) // _RECORD_BYTES * _RECORD_BYTES
    words = np.frombuffer(data, np.uint64, whole // 8, _HEADER.size).reshape(-1, 2)
    kind = (words[:, 0] & 0xFF).astype(np.uint8)
    ends = np.flatnonzero(kind == 0)
    count = int(ends[0]) if len(ends) else len(kind)
    if count and kind[:count].max() > max(RecordKind):
        raise InputError(
            f"{path}: a record of type {kind[:count].max()}; legal: 1 to {max(RecordKind)}"
        )
    kind, head, body = kind[:count], words[:count, 0].copy(), words[:count, 1].copy()
    is_clock = kind == RecordKind.CLOCKS
    timed, wall = np.isin(kind, _TIMED), np.isin(kind, _WALL)
    wall_ns = np.zeros(count, np.int64)
    wall_ns[timed] = (body[timed] & 0xFFFFFFFF).astype(np.int64)
    wall_ns[wall] = (head[wall] >> 32).astype(np.int64)
    cpu_ns = np.where(timed, body >> 32, 0).astype(np.int64)
    wall_ns = _absolute(wall_ns, is_clock, (head >> 8).astype(np.int64)) - start_ns
    cpu_ns = _absolute(cpu_ns, is_clock, body.astype(np.int64))
    taken = kind == RecordKind.PULSE
    halves = np.stack([body[taken] & 0xFFFFFFFF, body[taken] >> 32], axis=1)
    pulses = halves.astype(np.uint32).view(np.float32).astype(np.float64)
    return ThreadRecords(number, kind, head, body, wall_ns, cpu_ns, wall_ns[taken], pulses)


def _absolute(
    steps: NDArray[np.int64], is_clock: NDArray[np.bool_], clock: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the sums of *steps*, each from the last *clock* before it on."""
    sums = np.cumsum(steps)
    places = np.flatnonzero(is_clock)
    if not len(places):
        return sums
    behind = np.cumsum(is_clock) - 1
    shift = (clock[places] - sums[places])[np.maximum(behind, 0)]
    absolute: NDArray[np.int64] = sums + np.where(behind >= 0, shift, 0)
    return absolute


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except FileNotFoundError:
        return []


def _sites(path: Path) -> dict[int, Site]:
    found = {}
    for number, line in enumerate(_lines(path), 1):
        words = line.split("\t", 5)
        try:
            slot, address, offset, symbol, symbol_offset, module = words
            found[int(slot)] = Site(
                int(address, 16), int(offset, 16) if offset else None, symbol,
                int(symbol_offset or "0", 16), module,
            )  # fmt: skip
        except ValueError:
            raise InputError(f"{path}:{number}: not the line of a site: {line!r:.80}") from None
    return found
