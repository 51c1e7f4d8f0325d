"""Measurement campaigns within a time budget, saved while they run and ended early by Ctrl-C.

All campaigns have the same steps, and differ in what they measure and how::

    open       lock the output, read the measurements of earlier campaigns
    measure    step by step; after each step, report progress and save if it is time
    finish     fit, write

An interruption ends the measurement once; from then on, further ones are only noted, so that they
lose nothing of what was measured.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from tasksim.base.interruption import Interrupts, unbroken
from tasksim.base.lockfile import check_lock, locked
from tasksim.base.log import Log

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tasksim.base.progress import ShareProgress

__all__ = ["Campaign", "shuffled"]

_log = Log("calibration")

MIN_SAVE_INTERVAL_RATIO: Final = 10
"""Smallest ratio of the interval between saves to the duration of a save."""


class Campaign(ABC):
    """A running campaign.

    Parameters
    ----------
    output : Path
        File or folder that the campaign writes, locked while it runs: two campaigns on one machine
        would measure each other's load, and the second would overwrite the samples of the first.
    budget_s : float, optional
        Time limit in seconds, for everything that the campaign does, allocations included.
    progress : callable, optional
        Called after each step.

    Attributes
    ----------
    interrupted : bool
        Whether an interruption ended the measurement, or came later.
    """

    save_interval_s: ClassVar[float] = 5.0
    """Interval between saves, in seconds: the measurements that a kill -9 may lose."""

    def __init__(
        self, output: Path, budget_s: float | None = None, progress: ShareProgress | None = None
    ) -> None:
        self.output, self.budget_s, self.progress = output, budget_s, progress
        self.interrupted = False
        self.begun = time.monotonic()
        self._save_at = self.begun + self.save_interval_s
        self._interrupts = Interrupts()

    def run(self, *, wait: bool = False, tell: Callable[[str], None] | None = None) -> None:
        """Carry out the campaign; with *wait*, wait for others and *tell* it once."""
        with self._interrupts as interrupts, locked(self.output, wait=wait, tell=tell):
            self.open()
            _log.info("measuring for %s", self.output)
            try:
                self.measure()
                interrupts.hold()
            except KeyboardInterrupt:
                self.interrupted = True
            interrupts.hold()  # from here on, further interrupts must not lose the measurements
            self.finish(interrupts)
            _log.info("measured for %.3f s", self.seconds)
        self.interrupted = self.interrupted or interrupts.noted

    @abstractmethod
    def open(self) -> None:
        """Read and check the existing files."""

    @abstractmethod
    def measure(self) -> None:
        """Measure until all is known or the time is :attr:`over`."""

    @abstractmethod
    def save(self) -> None:
        """Write the measurements so far."""

    def finish(self, interrupts: Interrupts) -> None:  # noqa: ARG002
        """Write the results; *interrupts* are held."""
        self.save()

    @property
    @abstractmethod
    def has_samples(self) -> bool:
        """Whether anything was measured."""

    @property
    def seconds(self) -> float:
        """Time since the beginning, in seconds."""
        return time.monotonic() - self.begun

    @property
    def over(self) -> bool:
        """Whether the budget is used up; this never ends a campaign without samples."""
        used = self.budget_s is not None and self.seconds >= self.budget_s
        return used and self.has_samples

    @property
    def save_is_due(self) -> bool:
        """Whether it is time to save."""
        return time.monotonic() >= self._save_at

    def save_now(self) -> None:
        """Save what was measured, if the output is still locked by this campaign."""
        begun = time.monotonic()
        check_lock(self.output)
        with unbroken():
            self.save()
        now = time.monotonic()
        self._save_at = now + max(self.save_interval_s, MIN_SAVE_INTERVAL_RATIO * (now - begun))

    def after_step(self, what: str, share: float) -> None:
        """Tell progress, and save if it is time; end the measurement if a signal came."""
        if self.progress is not None:
            self.progress(what, share)
        if self.save_is_due:
            self.save_now()
        if self._interrupts.raised:  # within NumPy, which swallowed the exception
            raise KeyboardInterrupt


def shuffled(count: int, seed: int, number: int) -> list[int]:
    """Return the numbers below *count* in the random order of round *number*.

    Each round has another order, so that slow changes of the machine are noise and not a trend.

    >>> shuffled(5, seed=0, number=0), shuffled(5, seed=0, number=1)
    ([2, 4, 3, 0, 1], [1, 4, 3, 0, 2])
    """
    order: list[int] = np.random.default_rng([seed, number]).permutation(count).tolist()
    return order
