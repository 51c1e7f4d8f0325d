"""Graphs, platforms and policies as flat arrays for the compiled core, made once and cached."""

from __future__ import annotations

import ctypes
import weakref
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import numpy as np

from tasksim.core import interface
from tasksim.platform.description import class_of
from tasksim.schedulers.base import NOMINAL_SPEED, SCHEDULER_METHODS, Scheduler

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from tasksim.graph.csr import Int64
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform
    from tasksim.schedulers.base import View

__all__ = [
    "MAX_CLASSES",
    "MAX_MEMORIES",
    "Arrays",
    "Flat",
    "FlatStructure",
    "Kept",
    "Ported",
    "Refused",
    "flat_graph",
    "flat_memory",
    "graph_columns",
    "policy_fields",
    "policy_structure",
    "ported",
]

MAX_CLASSES: Final = 64
"""Maximum number of classes of workers in the core: a mask of classes is one word."""
MAX_MEMORIES: Final = 64
"""Maximum number of memories in the core: a mask of memories is one word."""
_PORTED_METHODS: Final = (*SCHEDULER_METHODS, "core_options", "core_tables")
"""Methods of a scheduler that its policy in the core replaces or reads."""

T = TypeVar("T")


class Refused(Exception):
    """Error for an object that the core cannot take, with the reason; the Python engines can."""


class Flat:
    """An object of the core, and the arrays that it refers to."""

    def __init__(self, kind: str, given: ctypes.Structure, arrays: Arrays) -> None:
        core = interface.functions()
        if core is None:
            raise Refused("the core is not available")
        status = ctypes.c_int32()
        make = getattr(core, f"tasksim_{kind}_new")
        self._given, self._arrays = given, arrays
        self.handle: int | None = make(ctypes.byref(given), ctypes.byref(status))
        if self.handle is None:
            raise Refused(f"the core rejected this {kind}")
        weakref.finalize(self, getattr(core, f"tasksim_{kind}_free"), self.handle)

    def fields(self) -> dict[str, Any]:
        """Return what it was made of, as :meth:`Arrays.fields` does."""
        return self._arrays.fields(self._given)


class Kept(Generic[T]):
    """A cache of results by the identity of their argument; an entry lives as long as that."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self._made: dict[int, T] = {}

    def __call__(self, what: Any) -> T:
        """Return the result for *what*, and make it on the first call."""
        made = self._made.get(id(what))
        if made is None:
            made = self._made[id(what)] = self._make(what)
            # Another object may get the same id later, so the entry goes with its key.
            weakref.finalize(what, self._made.pop, id(what), None)
        return made


class Arrays:
    """Arrays, and structures, that a structure of the core points to, kept alive."""

    def __init__(self) -> None:
        self._at: dict[int, NDArray[Any] | FlatStructure] = {}

    def __call__(self, values: Iterable[Any] | NDArray[Any], dtype: type[np.generic]) -> int:
        """Return the address of *values* as a contiguous array of *dtype*."""
        array = values if isinstance(values, np.ndarray) else np.array(list(values), dtype)
        # An empty part of another array has an address of its own, too.
        array = np.ascontiguousarray(array, dtype) if array.size else np.empty(0, dtype)
        place: int = array.ctypes.data
        self._at[place] = array
        return place

    def structure(self, flat: FlatStructure | None) -> int | None:
        """Return the address of another structure; None if there is none."""
        if flat is None:
            return None
        self._at[flat.address] = flat
        return flat.address

    def fields(self, given: ctypes.Structure) -> dict[str, Any]:
        """Return the fields of *given* by name: numbers, arrays, and structures in the same way.

        Null pointers are left out.
        """
        found: dict[str, Any] = {}
        for name, kind in given._fields_:  # type: ignore[misc]
            value = getattr(given, name)
            if kind is not ctypes.c_void_p:
                found[name] = value
            elif value is not None:
                kept = self._at[value]
                found[name] = kept.fields() if isinstance(kept, FlatStructure) else kept
        return found


class FlatStructure:
    """A structure of the core, kept with the arrays that it points to."""

    def __init__(self, given: ctypes.Structure, column: Arrays) -> None:
        self._given, self._column = given, column

    @property
    def address(self) -> int:
        """The address of the structure."""
        return ctypes.addressof(self._given)

    def fields(self) -> dict[str, Any]:
        """Return its fields, as :meth:`Arrays.fields` does."""
        return self._column.fields(self._given)


def graph_columns(graph: TaskGraph, column: Arrays) -> dict[str, int | None]:
    """Return the fields of *graph* for the core, as arrays that *column* keeps alive."""
    i32, i64 = np.int32, np.int64
    return {
        "tasks": len(graph),
        "handles": graph.handles,
        "kernels": len(graph.kernels),
        "hints": len(graph.hint_handle),
        "edges": len(graph.successors),
        "accesses": len(graph.access_handle),
        "apart": int(graph.apart),
        "kernel": column(graph.kernel, i32),
        "priority": column(graph.priority, i32),
        "successor_ptr": column(graph.successor_ptr, i64),
        "successors": column(graph.successors, i32),
        "access_ptr": column(graph.access_ptr, i64),
        "access_handle": column(graph.access_handle, i32),
        "access_mode": column(graph.access_mode, np.int8),
        "handle_size": column(graph.handle_size, i64),
        "handle_home": column(graph.handle_home, i32),
        "hint_after": column(graph.hint_after, i32),
        "hint_handle": column(graph.hint_handle, i32),
        "at_once": column(graph.goes_on_at_once, np.int8) if len(graph.continues) else None,
        "starts": graph.starts,
    }


@Kept
def flat_graph(graph: TaskGraph) -> Flat:
    """Return the flat form of *graph*, cached as long as the graph lives."""
    column = Arrays()
    return Flat("graph", interface.Graph(**graph_columns(graph, column)), column)


@Kept
def flat_memory(platform: Platform) -> Flat:
    """Return *platform* with one memory that all workers share, and copies that cost nothing.

    It is cached as long as the platform lives.
    """
    workers, count = platform.workers, len(platform.memories)
    column, i32, f64 = Arrays(), np.int32, np.float64
    pairs = np.zeros((count, count))
    given = interface.Platform(
        workers=len(workers),
        classes=len(platform.classes),
        memories=count,
        class_of=column(class_of(platform), i32),
        memory_of=column((worker.memory for worker in workers), i32),
        node_of=column((worker.node for worker in workers), i32),
        pipeline=column((0 for _ in workers), i32),
        nominal_speed=column((NOMINAL_SPEED.get(w.architecture, 0.5) for w in workers), f64),
        unit_bytes=1.0,
        memory_bytes=column((-1.0 for _ in platform.memories), f64),
        fixed_s=column(pairs, f64),
        per_byte_s=column(pairs, f64),
        direct=column(pairs, np.int8),
        path=column(pairs - 1, i32),
        path_ptr=column([0], np.int64),
    )
    return Flat("platform", given, column)


@dataclass(frozen=True)
class Ported:
    """A scheduler that the core can run.

    Attributes
    ----------
    scheduler : Scheduler
        The Python scheduler.
    name : str
        The name of its policy in the core.
    numbers : dict of str to float
        Its numeric options.
    """

    scheduler: Scheduler
    name: str
    numbers: dict[str, float]

    @property
    def asks(self) -> bool:
        """Whether it has tables, which are made from a view."""
        return type(self.scheduler).core_tables is not Scheduler.core_tables

    def tables(self, view: View | None, rng: random.Random) -> dict[str, Int64]:
        """Return its tables for the run that begins; a static scheduler plans the run now.

        *view* may be None if there are no tables. Errors of the scheduler's ``attach`` pass
        through.
        """
        return {} if view is None else self.scheduler.core_tables(view, rng)


def ported(scheduler: Scheduler) -> Ported | None:
    """Return *scheduler* for the core; None if the core would not behave in the same way.

    The core has policies for the built-in classes, not for classes derived from them, nor for
    objects or classes with a replaced method or class attribute.
    """
    kind = type(scheduler)
    name = getattr(kind, "core", "")
    if not (name and _is_built_in(kind)) or any(hasattr(kind, key) for key in vars(scheduler)):
        return None
    if not all(_is_built_in(getattr(kind, hook)) for hook in _PORTED_METHODS):
        return None
    numbers = scheduler.core_options()
    if not all(isinstance(number, int | float) and isfinite(number) for number in numbers.values()):
        return None
    return Ported(scheduler, name, {option: float(number) for option, number in numbers.items()})


def _is_built_in(found: Any) -> bool:
    """Return whether a class or a method is that of a built-in scheduler, and no replacement."""
    return getattr(found, "__module__", "").startswith("tasksim.schedulers.")


def policy_structure(
    policy: Ported, view: View | None, rng: random.Random, kept: list[Any]
) -> interface.Scheduler:
    """Return the policy with its options, its tables and the state of its random generator."""
    numbers, tables, column = policy.numbers, policy.tables(view, rng), Arrays()
    number_names, table_names = _texts(numbers), _texts(tables)
    places = (ctypes.c_void_p * len(tables))(*(column(t, np.int64) for t in tables.values()))
    kept += [column, number_names, table_names, places]
    return interface.Scheduler(
        name=policy.name.encode(),
        numbers=len(numbers),
        number_names=ctypes.addressof(number_names),
        number_values=column(numbers.values(), np.float64),
        tables=len(tables),
        table_names=ctypes.addressof(table_names),
        table_values=ctypes.addressof(places),
        table_lengths=column(map(len, tables.values()), np.int64),
        twister=column(rng.getstate()[1], np.uint32),
    )


def policy_fields(
    policy: Ported, view: View | None, rng: random.Random, seed: int
) -> dict[str, Any]:
    """Return the policy by name, with its options, its tables and its random numbers.

    These are the *seed* of *rng*, unless the core makes another generator of it.
    """
    tables = policy.tables(view, rng)
    state = rng.getstate()[1]
    drawn = {"seed": seed} if 0 <= seed < 2**64 else {"twister": np.array(state, np.uint32)}
    columns = {name: np.ascontiguousarray(table, np.int64) for name, table in tables.items()}
    return {"name": policy.name, "numbers": policy.numbers, "tables": columns, **drawn}


def _texts(names: dict[str, Any]) -> ctypes.Array[ctypes.c_char_p]:
    return (ctypes.c_char_p * len(names))(*(name.encode() for name in names))
