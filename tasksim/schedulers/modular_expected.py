"""Expected end of a worker's work in the modular schedulers."""

from __future__ import annotations

__all__ = ["Expected"]


class Expected:
    """Expected work of one worker in seconds: tasks handed out to it, and tasks in its queue.

    ``start`` is the end of the tasks handed out and ``pipeline`` their duration. ``length`` is the
    duration of the task that was taken and has not started, and ``queued`` that of the queue above
    the worker. As in StarPU's ``component_worker.c``, a worker that asks for a task counts as
    free *even if it still runs one*: when a device with two tasks at hand asks for the second, the
    first one no longer counts.
    """

    __slots__ = ("length", "pipeline", "queued", "start")

    def __init__(self) -> None:
        self.start = self.length = self.pipeline = self.queued = 0.0

    def end(self, now: float) -> float:
        """Return the expected end of all work of the worker."""
        if now > self.start:
            self.start = now
        return self.start + self.length + self.queued

    def asked(self, now: float) -> None:
        """Note that the worker asks for a task, and count it as free."""
        self.start = now
        self.length = self.pipeline = 0.0

    def queue(self, now: float, duration: float, transfer: float) -> float:
        """Add a task to the queue; return the part of *transfer* that no earlier work hides."""
        transfer = max(0.0, now + transfer - self.end(now))
        self.queued += duration + transfer
        return transfer

    def unqueue(self, duration: float, transfer: float, left: int) -> None:
        """Remove a task from the queue, which has *left* others."""
        rest = max(0.0, self.queued - duration)
        self.queued = max(0.0, rest - transfer) if left else 0.0  # no rounding error stays

    def take(self, now: float, duration: float, transfer: float) -> float:
        """Hand out a task and start its transfer; return the part that no earlier work hides."""
        end = self.start + self.length
        if now > self.start:
            self.start = now
        transfer = max(0.0, now + transfer - end)
        self.length += duration
        self.pipeline += transfer
        self.start = now + self.pipeline
        return transfer

    def begin(self, now: float, duration: float, transfer: float) -> None:
        """Note that the data have arrived and the task starts."""
        self.length -= duration
        self.pipeline += duration - transfer
        self.start = now + self.pipeline

    def finish(self, now: float, duration: float) -> None:
        """Note the end of a task."""
        self.pipeline -= duration
        self.start = max(self.start, now + self.pipeline)
