"""Expected end of a worker, as the modular schedulers keep it."""

from __future__ import annotations

__all__ = ["Expected"]


class Expected:
    """Expected work of one worker, in seconds: given to it, and waiting in the queue above it.

    ``start`` is when the tasks handed out are done and ``pipeline`` how long they take,
    ``length`` how long the task takes that was taken and has not started; ``queued`` belongs to
    the queue above the worker. As StarPU's ``component_worker.c``: a worker that asks is taken
    to be free, *whatever it still runs*, so that of a device with two tasks at hand the first one
    is forgotten when it asks for the second.
    """

    __slots__ = ("length", "pipeline", "queued", "start")

    def __init__(self) -> None:
        self.start = self.length = self.pipeline = self.queued = 0.0

    def end(self, now: float) -> float:
        """Return when all that is expected of the worker is done."""
        if now > self.start:
            self.start = now
        return self.start + self.length + self.queued

    def asked(self, now: float) -> None:
        """The worker asks for a task: take it to be free."""
        self.start = now
        self.length = self.pipeline = 0.0

    def queue(self, now: float, duration: float, transfer: float) -> float:
        """Add a task to the queue; return the part of *transfer* that nothing hides."""
        transfer = max(0.0, now + transfer - self.end(now))
        self.queued += duration + transfer
        return transfer

    def unqueue(self, duration: float, transfer: float, left: int) -> None:
        """Remove a task from the queue, in which *left* others stay."""
        rest = max(0.0, self.queued - duration)
        self.queued = max(0.0, rest - transfer) if left else 0.0

    def take(self, now: float, duration: float, transfer: float) -> float:
        """Hand out a task and start its transfer; return what nothing hides of it."""
        end = self.start + self.length
        if now > self.start:
            self.start = now
        transfer = max(0.0, now + transfer - end)
        self.length += duration
        self.pipeline += transfer
        self.start = now + self.pipeline
        return transfer

    def begin(self, now: float, duration: float, transfer: float) -> None:
        """The data are there and the task starts."""
        self.length -= duration
        self.pipeline += duration - transfer
        self.start = now + self.pipeline

    def finish(self, now: float, duration: float) -> None:
        """The task is done."""
        self.pipeline -= duration
        self.start = max(self.start, now + self.pipeline)
