"""Together: how processes that each have a part of a result judge it, without bringing it together.

A program that can be judged so has an attribute ``together``; it is :data:`ALONE` unless somebody
sets another one. Then ``check()`` and ``errors()`` are for all processes at once: each works with
what it has, and sums are made over all. What they return at the first is the result.
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
    """The processes of one run, as one of them sees them."""

    rank: int
    """Which this is."""

    def counts(self, handle: int) -> bool:
        """Return whether *handle* is this one's to count: of each datum, exactly one has to."""

    def executor(self, task: int) -> int:
        """Return who executed *task*, and has what it wrote."""

    def total(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the sum of the *values* of all."""

    def pass_on(self, values: NDArray[Any], source: int, target: int) -> None:
        """Make the *values* of *target* those of *source*; the others do nothing."""

    def asked(self, judge: Callable[[Fetch], T], give: Fetch) -> T | None:
        """Return what *judge* returns, which the first calls with a function that fetches data.

        Whoever counts a datum gives it, one at a time, when it is asked for; all but the first
        return None.
        """


class Alone:
    """One process that has everything."""

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
        """Return what *judge* makes of what it is given."""
        return judge(give)


ALONE = Alone()
"""The only one there is, until somebody says otherwise."""
