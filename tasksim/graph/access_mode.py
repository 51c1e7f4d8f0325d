"""Modes of access of tasks to data handles."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

__all__ = ["FETCHING_MODES", "READING_MODES", "WRITING_MODES", "AccessMode"]


class AccessMode(IntEnum):
    """Mode of access of a task to a data handle.

    The first three combine by their bits: a task that reads and writes has mode ``R | W``.
    Commutative accesses run in any order, one at a time; reductions may run together; scratch
    memory is private to the task and implies no dependencies.

    See Also
    --------
    R, W, RW, Commute, Reduce, Scratch : Accesses in these modes, for :class:`GraphBuilder`.

    Examples
    --------
    >>> AccessMode.R | AccessMode.W == AccessMode.RW
    True
    >>> AccessMode(4).name
    'COMMUTATIVE'
    """

    R = 1
    W = 2
    RW = 3
    COMMUTATIVE = 4
    REDUCTION = 5
    SCRATCH = 6


READING_MODES: Final = frozenset(
    (AccessMode.R, AccessMode.RW, AccessMode.COMMUTATIVE, AccessMode.REDUCTION)
)
"""Modes in which a task needs the previous value of the datum."""
WRITING_MODES: Final = frozenset(
    (AccessMode.W, AccessMode.RW, AccessMode.COMMUTATIVE, AccessMode.REDUCTION)
)
"""Modes in which a task changes the datum."""
FETCHING_MODES: Final = READING_MODES - {AccessMode.REDUCTION}
"""Modes in which a task needs the value of the datum in its memory: a reduction begins with a copy
of its own."""
