"""Registry of task results in a program, which shows the results that later tasks receive."""

from __future__ import annotations

import sys
import weakref
from collections import deque
from collections.abc import Mapping, Sequence, Set
from concurrent.futures import Future
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tasksim.recording.log import RecordedDatum

__all__ = ["TaskResults", "size_of", "task_of"]


SIZED_ITEMS: Final = 100
"""Maximum number of items of a container whose sizes are determined: enough for a mean within some
ten per cent if sizes vary as much as their mean, and a few microseconds."""
SIZED_DEPTH: Final = 3
"""Maximum depth of nested containers for sizes: results are seldom nested deeper."""


def size_of(value: Any, deep: int = SIZED_DEPTH) -> int:
    """Return about how many bytes *value* takes.

    Arrays and frames say it themselves; of long containers the first items stand for all.

    >>> size_of(b"x" * 1000) >= 1000
    True
    """
    try:
        return _said(value) or sys.getsizeof(value, 0) + _inside(value, deep)
    except Exception:  # a user's object may do anything when it is asked
        return 0


def _said(value: Any) -> int:
    """Return the size that an object reports itself; 0 if it reports none."""
    bytes_ = getattr(value, "nbytes", 0)
    if isinstance(bytes_, int) and not isinstance(bytes_, bool):
        return max(0, bytes_)
    if type(value).__module__.partition(".")[0] == "pandas" and hasattr(value, "memory_usage"):
        used = value.memory_usage()
        return int(used.sum() if hasattr(used, "sum") else used)
    return 0


def _inside(value: Any, deep: int) -> int:
    """Return the size of the items of a container, in bytes."""
    if not deep or isinstance(value, str | bytes | bytearray | range):
        return 0
    if not isinstance(value, Sequence | Set | Mapping) or not len(value):
        return 0
    items = value.values() if isinstance(value, Mapping) else value
    some = [size_of(item, deep - 1) for item, _ in zip(items, range(SIZED_ITEMS), strict=False)]
    return sum(some) * len(value) // len(some)


KEPT_BYTES: Final = 4096
"""Size in bytes up to which containers without weak references are kept, so that no other object
gets their address: with a million tasks these are at most 4 GB, in practice a thousandth."""
LOOKED_AT: Final = 1000
"""Maximum number of examined objects among the arguments of one call: some tenths of a millisecond.
The program waited for the omitted ones all the same."""
MAX_CONTAINER_DEPTH: Final = 3
"""Maximum depth of nested containers in arguments."""
_MARK: Final = "_tasksim_task"


def task_of(future: Any) -> Any:
    """Return the recorded task of a future; None if it has none."""
    return getattr(future, _MARK, None)


def mark(future: Any, task: Any) -> None:
    """Make *task* the recorded task of *future*."""
    setattr(future, _MARK, task)


class TaskResults:
    """The results of tasks, found by identity and not by equality."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, RecordedDatum]] = {}

    def add(self, value: Any, datum: RecordedDatum) -> None:
        """Note that *value* is the result of a task.

        Numbers and texts are not noted: equal ones may be one object.
        """
        if value is None or isinstance(value, bool | int | float | complex | str | bytes):
            return
        key = id(value)
        try:
            reference: Any = weakref.ref(value, lambda _: self._known.pop(key, None))
        except TypeError:
            if not isinstance(value, list | tuple | dict) or size_of(value) > KEPT_BYTES:
                return
            reference = lambda: value  # noqa: E731 - a strong reference, called as a weak one is
        self._known[key] = (reference, datum)

    def among(self, *arguments: Any) -> list[RecordedDatum]:
        """Return the results of tasks among *arguments*, in containers too; each once."""
        found: dict[int, RecordedDatum] = {}
        for value, _ in zip(
            _objects(arguments, MAX_CONTAINER_DEPTH), range(LOOKED_AT), strict=False
        ):
            datum = self._datum(value)
            if datum is not None:
                found[id(datum)] = datum
        return list(found.values())

    def _datum(self, value: Any) -> RecordedDatum | None:
        if isinstance(value, Future):
            task = task_of(value)
            return None if task is None else task.result
        reference, datum = self._known.get(id(value), (None, None))
        return datum if reference is not None and reference() is value else None


def _objects(value: Any, deep: int) -> Iterator[Any]:
    """Yield *value* and the objects in it."""
    yield value
    if not deep or isinstance(value, str | bytes | bytearray | range):
        return
    if isinstance(value, Mapping):
        value = list(islice(value.values(), LOOKED_AT))
    if isinstance(value, list | tuple | deque | Set):
        for item in list(islice(value, LOOKED_AT)):
            yield from _objects(item, deep - 1)
