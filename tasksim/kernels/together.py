"""Joint checks of a result by processes that each have a part of it, without gathering it.

A program with such checks has an attribute ``together``, by default :data:`ALONE`. With another
value, all processes call ``check()`` and ``errors()`` together: each works with its own data, and
sums are taken over all processes. The result is the value that the first process returns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    T = TypeVar("T")
    Fetch = Callable[[int], Any]

__all__ = ["ALONE", "Alone", "Together"]


class Together(Protocol):
    """The processes of one run from the point of view of one of them."""

    rank: int
    """The rank of this process."""

    def counts(self, handle: int) -> bool:
        """Return whether this process counts *handle*; exactly one process counts each datum."""

    def executor(self, task: int) -> int:
        """Return the rank of the process that executed *task* and has its results."""

    def total(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the sum of the *values* of all processes."""

    def pass_on(self, values: NDArray[Any], source: int, target: int) -> None:
        """Copy the *values* of the process *source* to *target*; other processes do nothing."""

    def asked(self, judge: Callable[[Fetch], T], give: Fetch) -> T | None:
        """Return the result of *judge*, which the first process calls with a fetch function.

        The process that counts a datum calls *give* for it on request, one datum at a time. All
        processes except the first return None.
        """


class Alone:
    """A single process with all data."""

    rank = 0

    def counts(self, handle: int) -> bool:  # noqa: ARG002
        """Return True."""
        return True

    def executor(self, task: int) -> int:  # noqa: ARG002
        """Return 0."""
        return 0

    def total(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return *values*."""
        return values

    def pass_on(self, values: NDArray[Any], source: int, target: int) -> None:
        """Do nothing."""

    def asked(self, judge: Callable[[Fetch], T], give: Fetch) -> T | None:
        """Return the result of *judge* with *give*."""
        return judge(give)


ALONE = Alone()
"""The default: this process is the only one."""
