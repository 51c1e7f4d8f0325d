"""Results that a program holds in its hands, by which it is seen what it gives to later tasks."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Mapping, Set
from concurrent.futures import Future
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from tasksim.recording.sizes import size_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tasksim.recording.log import Datum

__all__ = ["Results", "task_of"]

KEPT_BYTES: Final = 4096
"""Containers that cannot be referred to weakly are kept up to this size, so that no other object
gets their address: with a million tasks these are at most 4 GB, in practice a thousandth."""
LOOKED_AT: Final = 1000
"""Objects among the arguments of one call that are looked at: some tenths of a millisecond. What is
left out was waited for all the same."""
DEEP: Final = 3
"""Containers in containers that are looked into."""
_MARK: Final = "_tasksim_task"


def task_of(future: Any) -> Any:
    """Return the recorded task of a future; None if it has none."""
    return getattr(future, _MARK, None)


def mark(future: Any, task: Any) -> None:
    """Make *task* the recorded task of *future*."""
    setattr(future, _MARK, task)


class Results:
    """The results of tasks, found again by what they are, not by what they equal."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, Datum]] = {}

    def add(self, value: Any, datum: Datum) -> None:
        """Note that *value* is what a task returned.

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
            reference = _Kept(value)
        self._known[key] = (reference, datum)

    def among(self, *arguments: Any) -> list[Datum]:
        """Return what tasks returned that is among *arguments*, in containers too; each once."""
        found: dict[int, Datum] = {}
        for value, _ in zip(_objects(arguments, DEEP), range(LOOKED_AT), strict=False):
            datum = self._datum(value)
            if datum is not None:
                found[id(datum)] = datum
        return list(found.values())

    def _datum(self, value: Any) -> Datum | None:
        if isinstance(value, Future):
            task = task_of(value)
            return None if task is None else task.result
        reference, datum = self._known.get(id(value), (None, None))
        return datum if reference is not None and reference() is value else None


class _Kept:
    """A reference to what cannot be referred to weakly."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __call__(self) -> Any:
        return self._value


def _objects(value: Any, deep: int) -> Iterator[Any]:
    """Yield *value* and what is in it."""
    yield value
    if not deep or isinstance(value, str | bytes | bytearray | range):
        return
    if isinstance(value, Mapping):
        value = list(islice(value.values(), LOOKED_AT))
    if isinstance(value, list | tuple | deque | Set):
        for item in list(islice(value, LOOKED_AT)):
            yield from _objects(item, deep - 1)
