"""Charges of skipped tasks: the mean of their kernel, or durations drawn from the measured ones.

Where ranks or tasks wait for the slowest of several, the maximum of means is less than the mean of
maxima, so a run that charges means is too short. Drawn charges scatter as the measured durations
do. They are dealt like cards: every sample once in a random order, then all again, so that the sum
of many charges equals that of as many means. Their distances from the mean are stretched, because
the variance of n samples about their mean is too small by (n - 1) / n.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Final, Literal, get_args

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

__all__ = ["CHARGES", "Charge", "Deck"]

Charge = Literal["drawn", "mean"]
CHARGES: Final[tuple[Charge, ...]] = get_args(Charge)
"""Charge of a skipped task: drawn from the measured durations of its kernel, or their mean."""


class Deck:
    """Measured durations of one kernel, dealt in random order.

    Parameters
    ----------
    samples_s : callable
        Returns the durations measured so far, in seconds; called whenever the deck is empty, when
        there must be at least two.
    rng : random.Random
        Source of the order, shared by the decks of a run.

    Examples
    --------
    >>> import random
    >>> deck = Deck(lambda: [9.0, 10.0, 11.0], random.Random(0))
    >>> sorted(round(deck.draw_s(10.0), 3) for _ in range(3))
    [8.775, 10.0, 11.225]
    """

    __slots__ = ("_left_s", "_rng", "_samples_s", "_stretch")

    def __init__(self, samples_s: Callable[[], Sequence[float]], rng: random.Random) -> None:
        self._samples_s, self._rng = samples_s, rng
        self._left_s: list[float] = []
        self._stretch = 1.0

    def draw_s(self, mean_s: float) -> float:
        """Return the next duration in seconds, stretched away from *mean_s*, and at least 0."""
        if not self._left_s:
            # All samples so far, shuffled; the core draws the same random words.
            left = list(self._samples_s())
            for last in range(len(left) - 1, 0, -1):
                place = self._rng.getrandbits(32) * (last + 1) >> 32
                left[place], left[last] = left[last], left[place]
            self._left_s, self._stretch = left, sqrt(len(left) / (len(left) - 1))
        return max(0.0, mean_s + (self._left_s.pop() - mean_s) * self._stretch)
