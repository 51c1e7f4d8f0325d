"""Profiles of Taskflow (``TF_ENABLE_PROFILER``): the tasks of each worker.

Taskflow 4.1 writes them in a binary form, ``.tfp``, and earlier ones in JSON. A binary file is
decoded to the same objects as JSON.
"""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.documents.json_document import parse_json
from tasksim.base.errors import InputError
from tasksim.base.files import read_bytes, read_text
from tasksim.formats.registry import Format
from tasksim.formats.traces.records import Records
from tasksim.formats.traces.textlines import head_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tasksim.formats.traces.recorded_trace import RecordedTrace

__all__ = ["TFPROF", "read_tfprof"]

MICROSECOND_S: Final = 1e-6
LARGEST_US: Final = 1e18
"""Upper bound of times in us, thirty thousand years."""
PROFILE_KEYS: Final = ("executor", "worker", "level")
"""Keys at the beginning of a profile, in their order."""
BINARY_MAGIC: Final = b"TFPX"
"""First bytes of a binary profile."""
BINARY_VERSION: Final = 1
"""Version of the binary form that is read."""
BINARY_TYPES: Final = ("static", "subflow", "condition", "module", "async")
"""Types of tasks in a binary profile, by their numbers."""
MAX_VARINT_BYTES: Final = 10
"""Largest number of bytes of a number of 64 bits, with seven bits per byte."""


def read_tfprof(path: Path, skip_bad: bool = False) -> RecordedTrace:
    """Return the run in a profile of Taskflow, with times in microseconds.

    The kernel of a task is its name, or its type if Taskflow has made up the name of a task without
    one. Tasks that ran inside of others, as these waited for them, are not tasks of the run.

    Parameters
    ----------
    path : Path
        JSON, or TFProf's binary form (``.tfp``).
    skip_bad : bool, default False
        Whether malformed tasks are skipped and counted.

    Raises
    ------
    InputError
        ``file: [executor].data[worker].data[task]: what is wrong``, or where a binary file ends.
    """
    from tasksim.formats.traces.recorded_trace import assembled

    if _is_binary(path):
        executors: Any = _BinaryReader(path).executors()
    else:
        try:
            executors = parse_json(read_text(path))
        except json.JSONDecodeError as error:
            where = f"{path}:{error.lineno}:{error.colno}"
            raise InputError(f"{where}: not JSON: {error.msg}") from None
    found = Records(path, skip_bad=skip_bad)
    nested = 0
    for number, (where, executor) in enumerate(_objects(path, executors, "")):
        several = f"{number}/" if number else ""
        for place, worker in _objects(path, executor.get("data"), f"{where}.data"):
            name = worker.get("worker")
            if worker.get("level"):
                nested += sum(1 for _ in _objects(path, worker.get("data"), f"{place}.data"))
                continue
            for at, task in _objects(path, worker.get("data"), f"{place}.data"):
                _add(found, task, (at, several, name))
    if nested:
        found.note(f"{nested} tasks ran inside of others (level 1 and more), and are part of them")
    return assembled(found)


def _add(found: Records, task: dict[str, Any], at: tuple[str, str, object]) -> None:
    where, several, worker = at
    found.place = f"{{path}}: {where}"
    span, name, kind = task.get("span"), task.get("name"), task.get("type")
    is_pair = isinstance(span, list) and len(span) == 2
    if not is_pair or not all(isinstance(t, int) and 0 <= t <= LARGEST_US for t in span or ()):
        found.bad(f"span: got {span!r:.40}; legal: [BEGIN, END], microseconds from 0", 0)
        return
    assert isinstance(span, list)
    # Taskflow names a task without a name by its worker and its number: 6_0.
    own = isinstance(name, str) and name and not name.startswith(f"{worker}_")
    kernel = name if own else kind if isinstance(kind, str) and kind else "task"
    number = str(len(found))
    found.add(
        number,
        str(kernel),
        f"{several}cpu{worker}",
        span[0] * MICROSECOND_S,
        span[1] * MICROSECOND_S,
        line=0,
    )


def _objects(path: Path, found: Any, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of a list, with their places."""
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise InputError(
            f"{path}: {where or 'profile'}: got {found!r:.40}; legal: a list of objects"
        )
    for number, each in enumerate(found):
        yield f"{where}[{number}]", each


def _is_binary(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(BINARY_MAGIC)) == BINARY_MAGIC


class _BinaryReader:
    """Reader of a binary profile, from its beginning to its end.

    Each executor has a header of 24 bytes, the names of its tasks without separators, and a list of
    tasks per worker and level. A task has the time since the start of the task before and its own
    duration, in microseconds with seven bits per byte; then the place and the length of its name.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._data = read_bytes(path)
        self._at = len(BINARY_MAGIC)
        version, _flags, self._count = self._fields("<HHI", "its header")
        if version != BINARY_VERSION:
            raise InputError(
                f"{path}: got version {version} of Taskflow's binary profiles; legal: "
                f"{BINARY_VERSION}, or a profile in JSON"
            )

    def executors(self) -> list[dict[str, Any]]:
        """Return the executors in the form of a profile in JSON."""
        read: list[tuple[int, int, list[dict[str, Any]]]] = []
        for number in range(self._count):
            where = f"[{number}]"
            uid, origin, names, workers = self._fields("<QQII", where)
            begin, self._at = self._at, self._at + names
            text = self._data[begin : self._at]
            data = [self._worker(text, f"{where}.data[{worker}]") for worker in range(workers)]
            read.append((uid, origin, data))
        first = min((origin for _, origin, _ in read), default=0)
        for _, origin, data in read:  # the clock of an executor starts with it
            for task in (task for worker in data for task in worker["data"]):
                task["span"] = [time + origin - first for time in task["span"]]
        return [{"executor": str(uid), "data": data} for uid, _, data in read]

    def _worker(self, names: bytes, where: str) -> dict[str, Any]:
        worker, level, count = self._fields("<III", where)
        tasks, begin = [], 0
        for number in range(count):
            place = f"{where}.data[{number}]"
            begin += self._varint(place)
            end = begin + self._varint(place)
            offset, packed = self._fields("<IB", place)
            kind, length = packed >> 5, packed & 0x1F
            name = names[offset : offset + length].decode("utf-8", errors="replace")
            named = {"name": name} if length else {}
            known = BINARY_TYPES[kind] if kind < len(BINARY_TYPES) else "task"
            tasks.append({"span": [begin, end], "type": known, **named})
        return {"worker": worker, "level": level, "data": tasks}

    def _fields(self, form: str, where: str) -> tuple[int, ...]:
        size = struct.calcsize(form)
        if self._at + size > len(self._data):
            raise InputError(f"{self._path}: the file ends within {where}")
        self._at += size
        return struct.unpack_from(form, self._data, self._at - size)

    def _varint(self, where: str) -> int:
        value = 0
        for place in range(MAX_VARINT_BYTES):
            (byte,) = self._fields("<B", where)
            value |= (byte & 0x7F) << 7 * place
            if byte < 0x80:
                return value
        raise InputError(f"{self._path}: {where}: a number of more than {MAX_VARINT_BYTES} bytes")


def _is_tfprof(path: Path, head: bytes) -> bool:  # noqa: ARG001
    if head.startswith(BINARY_MAGIC):
        return True
    text = head_text(head).lstrip() if head else ""
    places = [text.find(f'"{key}"') for key in PROFILE_KEYS]
    return text.startswith("[") and -1 < places[0] < places[1] < places[2]


TFPROF = Format(
    summary="A profile of Taskflow (TF_ENABLE_PROFILER), in JSON or binary.",
    recognises=_is_tfprof,
    reads_trace=read_tfprof,
)
