"""Collectives as tasks over nodes: steps of algorithms are tasks, messages data between them."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Annotated, Literal

from tasksim.base.errors import InputError
from tasksim.graph.apps.parameters import AtLeast, Count, Seconds
from tasksim.graph.apps.registry import generator
from tasksim.graph.builder import RW, GraphBuilder, R, W
from tasksim.graph.taskgraph import TaskGraph  # noqa: TC001 - read at run time
from tasksim.network.collectives.steps import Step, as_awaited

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.graph.handles import Vector
    from tasksim.network.collectives.steps import Program

__all__ = ["collective"]

Size = Annotated[int, AtLeast(0)]
Operation = Literal[
    "bcast", "reduce", "allreduce", "allgather", "alltoall", "gather", "scatter", "barrier"
]


@generator("collective")
def collective(
    operation: Operation,
    ranks: Count,
    size_bytes: Size = 8,
    algorithm: str = "mpich",
    repeat: Count = 1,
    per_byte: Seconds = 0.0,
) -> TaskGraph:
    """A collective operation among nodes, as the messages of its algorithm.

    A task per rank and step: it reads what has come, and writes what is sent next; what a rank
    sends one after the other without receiving anything goes off at once, as runtimes have it. On
    as many nodes as ranks each rank is on its own.

    Parameters
    ----------
    operation
        Which.
    ranks
        How many nodes take part.
    size_bytes
        What one has, or has for one other.
    algorithm
        Its name (``binomial``, ``ring``, ...), or that of a library,
        ``mpich``, ``openmpi`` or ``smpi``: what that chooses.
    repeat
        How many times, one after the other.
    per_byte
        Seconds that it takes to reduce a byte.
    """
    from tasksim.network.collectives.registry import SELECTORS
    from tasksim.network.collectives.registry import collective as program_of

    library = algorithm in SELECTORS
    program = program_of(
        operation, ranks, float(size_bytes), None if library else algorithm,
        algorithm if library else "mpich",
    )  # fmt: skip
    g = GraphBuilder("collective")
    data = g.vector("data", ranks, size_bytes=size_bytes)
    for turn in range(repeat):
        _Insertion(g, data, program, turn, per_byte).insert_all()
    return g.build()


class _Insertion:
    """The tasks of one collective, inserted as far as what they read has been written."""

    def __init__(
        self, g: GraphBuilder, data: Vector, program: Program, turn: int, per_byte: float
    ) -> None:
        self.g, self.data, self.turn, self.per_byte = g, data, turn, per_byte
        self.program = [as_awaited(steps) for steps in program]
        self.step = [0] * len(program)
        self.sent: dict[tuple[int, int], deque[int]] = {}
        """Messages that were written and not read, in order, by their ends."""

    def insert_all(self) -> None:
        """Insert all tasks, rank after rank, again and again."""
        slots = max((len(s.sends) for steps in self.program for s in steps), default=0)
        most = max(map(len, self.program)) * slots
        # Items of a vector go round the nodes: those of one rank are on its node.
        self.buffers: Sequence[int] | Vector = (
            self.g.vector(f"message{self.turn}", len(self.program) * most, self._sizes(most))
            if most
            else []
        )
        self.slots = slots
        for rank, steps in enumerate(self.program):
            if steps and steps[0].sends:
                self._insert(rank, Step(), 0)
        waiting = True
        while waiting:
            waiting = False
            for rank in range(len(self.program)):
                while self._can(rank):
                    waiting = True
                    self._insert(rank, self.program[rank][self.step[rank]], self.step[rank] + 1)
                    self.step[rank] += 1
        if any(n < len(steps) for n, steps in zip(self.step, self.program, strict=True)):
            raise InputError("collective: ranks wait for messages that nobody sends")

    def _sizes(self, most: int) -> list[int]:
        sizes = [0] * (len(self.program) * most)
        slots = most // max(map(len, self.program))
        for rank, steps in enumerate(self.program):
            for number, step in enumerate(steps):
                for slot, (_, size) in enumerate(step.sends):
                    place = (number * slots + slot) * len(self.program) + rank
                    sizes[place] = round(size)
        return sizes

    def _can(self, rank: int) -> bool:
        """Return whether all that the next step of *rank* receives has been written."""
        if self.step[rank] == len(self.program[rank]):
            return False
        step = self.program[rank][self.step[rank]]
        needed: dict[int, int] = {}
        for peer, _ in step.receives:
            needed[peer] = needed.get(peer, 0) + 1
        return all(len(self.sent.get((peer, rank), ())) >= n for peer, n in needed.items())

    def _insert(self, rank: int, step: Step, following: int) -> None:
        """Insert the task that ends *step* and writes what the step *following* sends."""
        reads = [R(self.sent[peer, rank].popleft()) for peer, _ in step.receives]
        writes = []
        if following < len(self.program[rank]):
            for slot, (peer, _) in enumerate(self.program[rank][following].sends):
                place = (following * self.slots + slot) * len(self.program) + rank
                writes.append(W(self.buffers[place]))
                self.sent.setdefault((rank, peer), deque()).append(self.buffers[place])
        seconds = step.reduced_bytes * self.per_byte
        self.g.insert("step", RW(self.data[rank]), *reads, *writes, duration_s=seconds)
