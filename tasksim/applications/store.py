"""Store of an application's data in memory, made before execution, and the results in it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.applications.data import Form
from tasksim.base.arguments import refuse_too_large
from tasksim.base.errors import InputError
from tasksim.base.registry import raised_text
from tasksim.graph.access_mode import AccessMode
from tasksim.kernels.pointers import Buffer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from tasksim.applications.data import Block, Reduction
    from tasksim.graph.taskgraph import TaskGraph

    Array = NDArray[Any]

__all__ = ["DataStore", "Results"]


class DataStore:
    """The data of a graph in memory, by the numbers of their handles.

    Only accessed data are made; scratch memory and contributions to reductions are made once per
    worker. The initial values of written data are kept, too.

    Parameters
    ----------
    graph : TaskGraph
    blocks : sequence of Block
        Descriptions of its data.
    workers : int
    seed : int
        Seed of random data.
    held : array of int, optional
        The data to make, of those that tasks access; by default all.

    Attributes
    ----------
    data : list
        The array or object of each handle, or None.
    """

    def __init__(
        self,
        graph: TaskGraph,
        blocks: Sequence[Block],
        workers: int,
        seed: int,
        held: NDArray[np.integer] | None = None,
    ) -> None:
        self._blocks, self._seed, self._workers = blocks, seed, workers
        self._written = _accessed(
            graph, lambda mode: mode not in (AccessMode.R, AccessMode.SCRATCH)
        )
        self._reduced = _accessed(graph, lambda mode: mode == AccessMode.REDUCTION)
        self._accessed = _accessed(graph, lambda _: True)
        self._used = self._accessed
        if held is not None:
            self._used = self._accessed.intersection(held.tolist())
        refuse_too_large(self._size_bytes(graph), f"graph {graph.name}")
        self.data: list[Any] = [None] * graph.handles
        self._own: dict[int, list[Array]] = {}
        self._touched: dict[int, set[int]] = {}
        self._kept: dict[int, Array] = {}
        self._reductions: dict[int, Reduction] = {}
        for block in blocks:
            self._make(block)
        for handle in self._written & self._used:
            if isinstance(self.data[handle], np.ndarray):
                self._kept[handle] = self.data[handle].copy()

    def is_held(self, handle: int) -> bool:
        """Return whether tasks on *handle* can be executed here."""
        return handle in self._used

    def exists(self, block: Block, handle: int) -> bool:
        """Return whether *handle*, of *block*, exists here or on another process."""
        return handle in self._accessed and not block.scratch

    def of_worker(self, handle: int, worker: int) -> Array:
        """Return the private data of *worker*: scratch memory or contributions."""
        return self._own[handle][worker]

    def is_own(self, handle: int) -> bool:
        """Return whether each worker has private data of *handle*."""
        return handle in self._own

    def contributes(self, handle: int, worker: int) -> Array:
        """Return the contribution of *worker*, neutral at the beginning."""
        part = self._own[handle][worker]
        touched = self._touched[handle]
        if worker not in touched:
            touched.add(worker)
            part[...] = self._reductions[handle].neutral(part.dtype)
        return part

    def combine(self, handle: int) -> None:
        """Add all contributions to the datum, in the order of the workers."""
        operate, touched = self._reductions[handle].operate, self._touched[handle]
        for worker in sorted(touched):
            operate(self.data[handle], self._own[handle][worker])
        touched.clear()

    def reset(self) -> None:
        """Restore all initial values."""
        for handle, array in self._kept.items():
            self.data[handle][...] = array
        for touched in self._touched.values():
            touched.clear()
        for block in self._blocks:
            for handle in self.made_anew.intersection(block.handles):
                self.data[handle] = self._initial(block, handle)

    @cached_property
    def made_anew(self) -> frozenset[int]:
        """The handles of written objects, which :meth:`reset` replaces."""
        written = self._written & self._used
        return frozenset(h for h in written if not isinstance(self.data[h], np.ndarray))

    def initial_whole(self, block: Block) -> Any:
        """Return the initial array of a *block* of pieces, made again at most once."""
        if all(handle in self._kept for handle in block.handles):
            return np.concatenate([self._kept[handle] for handle in block.handles])
        return self._initial(block, block.first)

    def initial(self, block: Block, handle: int) -> Any:
        """Return the initial value of a datum, a copy or made again."""
        if handle in self._kept:
            return self._kept[handle].copy()
        if block.whole is not None:
            piece = handle - block.first
            rows = np.cumsum([0, *(form.shape[0] for form in block.forms)])  # type: ignore[union-attr]
            return self._initial(block, block.first)[rows[piece] : rows[piece + 1]]
        return self._initial(block, handle)

    def _make(self, block: Block) -> None:
        used = [handle for handle in block.handles if handle in self._used]
        if not used:
            return
        if block.scratch:
            for handle in used:
                self._own[handle] = self._per_worker(block, handle)
            return
        if block.whole is not None:
            self._cut(block)
        else:
            for handle in used:
                self.data[handle] = self._initial(block, handle)
        for handle in used:
            if handle in self._reduced and block.reduction is not None:
                self._reductions[handle] = block.reduction
                self._own[handle] = self._per_worker(block, handle)
                self._touched[handle] = set()

    def _cut(self, block: Block) -> None:
        whole, begin = self._initial(block, block.first), 0
        for handle, form in zip(block.handles, block.forms, strict=True):
            assert isinstance(form, Form)
            piece = whole[begin : begin + form.shape[0]]
            if self._used >= self._accessed:
                self.data[handle] = piece
            elif handle in self._used:
                # A copy, which does not keep the whole alive.
                self.data[handle] = _zeros(form)
                self.data[handle][...] = piece
            begin += form.shape[0]

    def _initial(self, block: Block, handle: int) -> Any:
        """Return the initial value of a datum; for pieces, of the whole."""
        form = block.whole or block.forms[handle - block.first]
        place = () if block.whole is not None else block.place_of(handle)
        made = block.initial
        if callable(made):
            try:
                made = made(np.random.default_rng([self._seed, handle]), *place)
            except Exception as error:
                text = f"data {block.name_of(handle)}: initial: {raised_text(error)}"
                raise InputError(text) from error
        if not isinstance(form, Form):
            return made
        array = _zeros(form)
        if made is not None:
            _fill(array, made, block.name if block.whole else block.name_of(handle))
        return array

    def _per_worker(self, block: Block, handle: int) -> list[Array]:
        form = block.forms[handle - block.first]
        assert isinstance(form, Form)
        return [_zeros(form) for _ in range(self._workers)]

    def _size_bytes(self, graph: TaskGraph) -> int:
        """Return the memory of all data."""

        def total(handles: Iterable[int]) -> int:
            return int(graph.handle_size[sorted(handles)].sum())

        scratch = {h for block in self._blocks if block.scratch for h in block.handles}
        own = total((self._reduced | scratch) & self._used) * self._workers
        return total(self._used - scratch) + total(self._written & self._used) + own


class Results:
    """Data after the run, for the function that checks them.

    ``results[x]`` is the array or object of the datum *x*. Data in a row are a list; data in rows
    and columns are a list of lists, with None where no task needed a datum; an array that was cut
    is the whole array. ``results.initial(x)`` is the same before the run.

    If several processes hold the data, only the requested data are fetched.
    """

    def __init__(self, store: DataStore, fetch: Callable[[int], Any]) -> None:
        self._store, self._fetch = store, fetch

    def __getitem__(self, described: Any) -> Any:
        return self._gathered(described, lambda _, handle: self._fetch(handle))

    def initial(self, described: Any) -> Any:
        """Return the initial data of *described*."""
        if described.block.whole is not None and not hasattr(described, "handle"):
            return self._store.initial_whole(described.block)
        return self._gathered(described, self._store.initial)

    def _gathered(self, described: Any, get: Any) -> Any:
        block = described.block
        if hasattr(described, "handle"):
            return get(block, described.handle)
        found = [
            get(block, handle) if self._store.exists(block, handle) else None
            for handle in block.handles
        ]
        if block.whole is not None:
            return np.concatenate([piece for piece in found if piece is not None])
        if len(block.extents) < 2:
            return found
        columns = block.extents[1]
        return [found[i : i + columns] for i in range(0, len(found), columns)]


def _accessed(graph: TaskGraph, wanted: Any) -> set[int]:
    """Return the handles with accesses in the *wanted* modes."""
    modes = [int(mode) for mode in AccessMode if wanted(mode)]
    return set(graph.access_handle[np.isin(graph.access_mode, modes)].tolist())


def _zeros(form: Form) -> Array:
    """Return an array of this form, aligned to a cache line."""
    buffer = Buffer(form.nbytes)
    order: Any = form.order
    return np.ndarray(form.shape, form.dtype, buffer.bytes.data, order=order)


def _fill(array: Array, made: Any, name: str) -> None:
    """Copy the *made* value into its place; a number fills it."""
    try:
        given = np.asarray(made)
    except ValueError as error:
        raise InputError(f"data {name}: initial: {error}") from None
    if given.ndim and given.shape != array.shape:
        raise InputError(
            f"data {name}: initial has shape {given.shape}; legal: {array.shape}, as described"
        )
    if not np.can_cast(given.dtype, array.dtype, "same_kind"):
        raise InputError(
            f"data {name}: initial has type {given.dtype}; legal: {array.dtype}, as described"
        )
    array[...] = given
