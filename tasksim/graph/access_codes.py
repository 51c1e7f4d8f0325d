"""Integer codes of accesses to data handles, such as ``R(x)`` and ``RW(A[m, n])``.

An access is one integer, for speed. It is negative, to distinguish it from a handle given without
a mode, which is not.
"""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import GraphError
from tasksim.graph.access_mode import AccessMode
from tasksim.graph.csr import owner, owner_of_each
from tasksim.graph.dependencies import Accesses
from tasksim.graph.handles import INT32_LIMIT

if TYPE_CHECKING:
    from array import array

__all__ = ["RW", "Commute", "R", "Reduce", "Scratch", "W", "access", "decode"]

_R, _W, _RW = map(int, (AccessMode.R, AccessMode.W, AccessMode.RW))
_COMMUTATIVE, _REDUCTION, _SCRATCH = map(
    int, (AccessMode.COMMUTATIVE, AccessMode.REDUCTION, AccessMode.SCRATCH)
)


def R(handle: int) -> int:  # noqa: N802
    """Return the access that reads *handle*.

    Parameters
    ----------
    handle : int
        A handle of :meth:`GraphBuilder.handle`, or an element of a matrix or vector.

    Returns
    -------
    int
        An access for :meth:`GraphBuilder.insert`.

    Raises
    ------
    GraphError
        If *handle* is not a whole number, such as a matrix instead of one of its handles.

    See Also
    --------
    RW : Access that reads and writes.

    Examples
    --------
    >>> from tasksim import GraphBuilder, R, W
    >>> g = GraphBuilder("two readers")
    >>> x = g.handle("x", size_bytes=8)
    >>> tasks = [g.insert("task", mode(x)) for mode in (W, R, R)]
    >>> g.build().successors_of(0)
    [1, 2]
    """
    try:
        return ~(index(handle) << 3 | _R)
    except TypeError:
        raise _no_handle("R", handle) from None


def W(handle: int) -> int:  # noqa: N802
    """Return the access that writes *handle* and ignores its old value.

    Parameters
    ----------
    handle : int
        A handle of :meth:`GraphBuilder.handle`, or an element of a matrix or vector.

    Returns
    -------
    int
        An access for :meth:`GraphBuilder.insert`.

    Raises
    ------
    GraphError
        If *handle* is not a whole number, such as a matrix instead of one of its handles.

    See Also
    --------
    RW : Access that reads the old value, too.

    Examples
    --------
    >>> from tasksim import GraphBuilder, R, W
    >>> g = GraphBuilder("written again")
    >>> x = g.handle("x", size_bytes=8)
    >>> tasks = [g.insert("task", mode(x)) for mode in (W, R, W)]
    >>> [g.build().successors_of(task) for task in tasks]
    [[1], [2], []]
    """
    try:
        return ~(index(handle) << 3 | _W)
    except TypeError:
        raise _no_handle("W", handle) from None


def RW(handle: int) -> int:  # noqa: N802
    """Return the access that reads and writes *handle*.

    Parameters
    ----------
    handle : int
        A handle of :meth:`GraphBuilder.handle`, or an element of a matrix or vector.

    Returns
    -------
    int
        An access for :meth:`GraphBuilder.insert`.

    Raises
    ------
    GraphError
        If *handle* is not a whole number, such as a matrix instead of one of its handles.

    See Also
    --------
    R, W : Accesses that only read, or only write.
    Commute : The same in any order.

    Examples
    --------
    >>> from tasksim import GraphBuilder, RW
    >>> g = GraphBuilder("one after the other")
    >>> x = g.handle("x", size_bytes=8)
    >>> tasks = [g.insert("task", RW(x)) for _ in range(3)]
    >>> [g.build().successors_of(task) for task in tasks]
    [[1], [2], []]
    """
    try:
        return ~(index(handle) << 3 | _RW)
    except TypeError:
        raise _no_handle("RW", handle) from None


def Commute(handle: int) -> int:  # noqa: N802
    """Return the access that updates *handle* in any order with others, one at a time.

    Parameters
    ----------
    handle : int
        A handle of :meth:`GraphBuilder.handle`, or an element of a matrix or vector.

    Returns
    -------
    int
        An access for :meth:`GraphBuilder.insert`.

    Raises
    ------
    GraphError
        If *handle* is not a whole number, such as a matrix instead of one of its handles.

    See Also
    --------
    RW : Accesses in the order of submission.
    Reduce : Accesses that may also run together.

    Examples
    --------
    >>> from tasksim import GraphBuilder, Commute, W
    >>> g = GraphBuilder("in any order")
    >>> x = g.handle("x", size_bytes=8)
    >>> tasks = [g.insert("task", mode(x)) for mode in (W, Commute, Commute)]
    >>> [g.build().successors_of(task) for task in tasks]
    [[1, 2], [], []]
    """
    try:
        return ~(index(handle) << 3 | _COMMUTATIVE)
    except TypeError:
        raise _no_handle("Commute", handle) from None


def Reduce(handle: int) -> int:  # noqa: N802
    """Return the access that contributes to *handle* in any order, also together.

    Parameters
    ----------
    handle : int
        A handle of :meth:`GraphBuilder.handle`, or an element of a matrix or vector.

    Returns
    -------
    int
        An access for :meth:`GraphBuilder.insert`.

    Raises
    ------
    GraphError
        If *handle* is not a whole number, such as a matrix instead of one of its handles.

    See Also
    --------
    Commute : Accesses in any order, one at a time.

    Examples
    --------
    >>> from tasksim import GraphBuilder, R, Reduce
    >>> g = GraphBuilder("contributions")
    >>> x = g.handle("x", size_bytes=8)
    >>> tasks = [g.insert("task", mode(x)) for mode in (Reduce, Reduce, R)]
    >>> [g.build().successors_of(task) for task in tasks]
    [[2], [2], []]
    """
    try:
        return ~(index(handle) << 3 | _REDUCTION)
    except TypeError:
        raise _no_handle("Reduce", handle) from None


def Scratch(handle: int) -> int:  # noqa: N802
    """Return the access that uses *handle* as private memory during the task.

    Parameters
    ----------
    handle : int
        A handle of :meth:`GraphBuilder.handle`, or an element of a matrix or vector.

    Returns
    -------
    int
        An access for :meth:`GraphBuilder.insert`.

    Raises
    ------
    GraphError
        If *handle* is not a whole number, such as a matrix instead of one of its handles.

    See Also
    --------
    W : Access that writes for others to read.

    Examples
    --------
    >>> from tasksim import GraphBuilder, Scratch
    >>> g = GraphBuilder("workspace")
    >>> x = g.handle("x", size_bytes=8)
    >>> tasks = [g.insert("task", Scratch(x)) for _ in range(2)]
    >>> g.build().edges
    0
    """
    try:
        return ~(index(handle) << 3 | _SCRATCH)
    except TypeError:
        raise _no_handle("Scratch", handle) from None


def access(handle: int, mode: AccessMode) -> int:
    """Return the access to *handle* in *mode*.

    >>> access(3, AccessMode.RW) == RW(3)
    True
    """
    try:
        return ~(index(handle) << 3 | AccessMode(mode))
    except TypeError:
        raise _no_handle("access", handle) from None


def decode(codes: array[int], ends: array[int]) -> Accesses:
    """Return the accesses of all tasks in columns; those of task *i* end at ``ends[i + 1]``.

    Raises :exc:`GraphError` for a handle without a mode, or with an impossible number.
    """
    coded, limits = np.array(codes, dtype=np.int64), np.array(ends, dtype=np.int64)
    if len(coded) and coded.max() >= 0:
        task = owner(limits, int(np.argmax(coded >= 0)))
        raise GraphError(f"task #{task}: a handle without a mode; write R(handle), ...")
    np.invert(coded, out=coded)
    modes = (coded & 7).astype(np.int8)
    coded >>= 3
    if len(coded) and coded.max() >= INT32_LIMIT:
        place = int(np.argmax(coded >= INT32_LIMIT))
        raise GraphError(f"task #{owner(limits, place)}: accesses handle {coded[place]}: no such")
    task_of = owner_of_each(limits, np.int32)
    return Accesses(task_of, coded.astype(np.int32), modes)


def _no_handle(function: str, got: object) -> GraphError:
    return GraphError(f"{function}({got!r:.60}); legal: a handle, such as A[0, 1]")
