"""Collectives as task graphs, with steps of algorithms as tasks and messages as data."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Literal

from tasksim.base.errors import InputError
from tasksim.graph.apps.parameters import AtLeast, Count, Seconds
from tasksim.graph.apps.registry import generator
from tasksim.graph.builder import RW, GraphBuilder, R, W
from tasksim.graph.taskgraph import TaskGraph  # noqa: TC001 - read at run time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tasksim.graph.handles import Vector
    from tasksim.network.collectives.steps import RankSteps, Step

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

    Ranks behave as in MPI: the messages that a rank posts together are under way together, and the
    rank continues when all of them have ended. On as many nodes as ranks each rank has its own
    node.

    Parameters
    ----------
    operation
        Which.
    ranks
        Number of ranks.
    size_bytes
        Bytes of the data of a rank, or of its data for one other.
    algorithm
        Its name (``binomial``, ``ring``, ...), or the library that chooses it: ``mpich``,
        ``openmpi`` or ``smpi``.
    repeat
        Number of operations, one after the other.
    per_byte
        Seconds to reduce a byte.
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
    return replace(g.build(), by_rank=True)


class _Insertion:
    """Insertion of the tasks of one collective, in an order in which ranks can execute them.

    Each step of a rank has a task that ends it and begins the next one: it writes the messages that
    the next step sends, and the *requests* of those that it receives. Each message has a task that
    reads it and writes its request, the *arrival*: so no message arrives before its request. The
    end of a step reads the requests that it waits for, and overwrites the messages that the step
    has sent: a buffer is the sender's again when its send has ended.
    """

    def __init__(
        self, g: GraphBuilder, data: Vector, program: RankSteps, turn: int, per_byte: float
    ) -> None:
        self.g, self.data, self.per_byte = g, data, per_byte
        sent = [[size for step in steps for _, size in step.sends] for steps in program]
        asked = [[0.0 for step in steps for _ in _receives(step)] for steps in program]
        messages = self._vectors(f"message{turn}", sent)
        requests = self._vectors(f"request{turn}", asked)
        self.ranks = [
            _Rank(number, iter(steps), iter(messages[number]), iter(requests[number]))
            for number, steps in enumerate(program)
        ]
        self.pairs: defaultdict[tuple[int, int], _Pair] = defaultdict(_Pair)
        self.apart: set[int] = set()
        """Messages and requests that have been written, without the arrival."""

    def _vectors(self, name: str, sizes: list[list[float]]) -> list[range]:
        """Return the data of each rank, of *size* bytes each."""
        ranks, most = len(sizes), max(map(len, sizes))
        if not most:
            return [range(0)] * ranks
        # Items of a vector go round the nodes, so those of a rank are on its node.
        items = [0] * (most * ranks)
        for rank, column in enumerate(sizes):
            items[rank : len(column) * ranks : ranks] = map(round, column)
        first = self.g.vector(name, len(items), items)[0]
        return [range(first + rank, first + len(items), ranks) for rank in range(ranks)]

    def insert_all(self) -> None:
        """Insert all tasks, rank by rank as far as possible, until none is left."""
        going = [rank for rank in self.ranks if self._go_on(rank)]
        while going:
            able = [rank for rank in going if self.apart.isdisjoint(rank.waits_for)]
            if not able:
                raise InputError("collective: ranks wait for messages that no rank sends")
            ended = {rank.number for rank in able if not self._go_on(rank)}
            going = [rank for rank in going if rank.number not in ended]

    def _go_on(self, rank: _Rank) -> bool:
        """Insert the task between two steps of *rank*; return whether a step has begun."""
        done, step = rank.step, next(rank.steps, None)
        seconds = done.reduced_bytes * self.per_byte if done else 0.0
        over = [*map(R, rank.awaited), *map(W, rank.outgoing)]
        rank.step = step
        rank.outgoing = [next(rank.messages) for _ in step.sends] if step else []
        asked = [next(rank.requests) for _ in _receives(step)] if step else []
        if done or step:
            begun = map(W, (*rank.outgoing, *asked))
            self.g.insert("step", RW(self.data[rank.number]), *over, *begun, duration_s=seconds)
        if step is None:
            return False
        rank.ahead += asked[: len(step.ahead)]
        rank.awaited = [*asked[len(step.ahead) :], *(rank.ahead[n] for n in step.awaited)]
        for (peer, _), message in zip(step.sends, rank.outgoing, strict=True):
            self._match(self.pairs[rank.number, peer], message=message)
        for (peer, _), request in zip(_receives(step), asked, strict=True):
            self._match(self.pairs[peer, rank.number], request=request)
        return True

    def _match(
        self, pair: _Pair, *, message: int | None = None, request: int | None = None
    ) -> None:
        """Note a *message* or a *request* of a *pair*; insert the arrival once both are known."""
        for queue, datum in ((pair.messages, message), (pair.requests, request)):
            if datum is not None:
                queue.append(datum)
                self.apart.add(datum)
        if pair.messages and pair.requests:
            ends = pair.messages.popleft(), pair.requests.popleft()
            self.g.insert("arrival", RW(ends[1]), R(ends[0]), duration_s=0.0)
            self.apart.difference_update(ends)


def _receives(step: Step) -> tuple[tuple[int, float], ...]:
    """Return all receives posted at the beginning of *step*, those posted ahead first."""
    return step.ahead + step.receives


@dataclass
class _Rank:
    """Progress of the graph for one rank."""

    number: int
    steps: Iterator[Step]
    messages: Iterator[int]
    requests: Iterator[int]
    step: Step | None = None
    ahead: list[int] = field(default_factory=list)
    """Requests of the receives posted ahead."""
    awaited: list[int] = field(default_factory=list)
    """Requests that the step waits for."""
    outgoing: list[int] = field(default_factory=list)
    """Messages that the step sends."""

    @property
    def waits_for(self) -> list[int]:
        """Messages that must arrive before the step ends."""
        return [*self.awaited, *self.outgoing]


class _Pair:
    """Ordered messages and requests from one rank to another that wait for each other."""

    def __init__(self) -> None:
        self.messages: deque[int] = deque()
        self.requests: deque[int] = deque()
