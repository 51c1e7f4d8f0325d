"""Calibration of a network, with a model fitted to the times of patterns of messages.

All measurements are collective. Sizes take turns in an order drawn anew for each round, so that a
busy moment affects all of them. Messages of the runtime are those of a chain of empty tasks that
alternates between two ranks, executed as any graph is.
"""

from __future__ import annotations

import random
import warnings
from dataclasses import dataclass, field
from platform import node
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import yaml

from tasksim.base.errors import InputError
from tasksim.base.files import write_text
from tasksim.calibration.fit_pieces import Line, fit_pieces, relative_errors
from tasksim.graph.builder import GraphBuilder, R, W
from tasksim.graph.distribution.parts import distribute
from tasksim.native.cluster.execute import RankExecution, platform_of_rank
from tasksim.native.cluster.records import message_table
from tasksim.native.this_machine import usable_cores
from tasksim.network.load import network_of_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.native.cluster.ranks import Ranks

__all__ = [
    "PATTERN_COUNT",
    "Calibration",
    "Taken",
    "both_ways",
    "calibrate_network",
    "chain_of_messages",
    "fan_in",
    "pairs",
    "ping_pong",
    "runtime_messages",
    "sizes_of",
    "warn_of_shared_cores",
]

PATTERN_COUNT: Final = 4
"""Number of patterns of messages that a calibration measures in turn."""
BURST_S: Final = 30e-6
"""Duration of a burst of messages between two readings of the clock, in seconds: long enough that a
reading, some 50 ns, counts little, and short enough that most bursts end before the system preempts
them."""
BURSTS_PER_ROUND: Final = 8
"""Number of bursts of a size per round: agreement on the next size takes as long as several."""
MAX_BURST_MESSAGES: Final = 100
"""Largest number of messages in a burst."""


@dataclass
class Taken:
    """Times of messages in seconds, per size and round."""

    rounds: dict[int, list[float]] = field(default_factory=dict)

    def add(self, size_bytes: int, seconds: float) -> None:
        """Add the time of a message of a size in one round."""
        self.rounds.setdefault(size_bytes, []).append(seconds)

    @property
    def sizes(self) -> list[int]:
        """Sizes in ascending order."""
        return sorted(self.rounds)

    def least_s(self) -> list[float]:
        """Return the least time of all rounds per size."""
        return [min(self.rounds[size]) for size in self.sizes]

    def median_s(self) -> list[float]:
        """Return the median time of all rounds per size."""
        return [float(np.median(self.rounds[size])) for size in self.sizes]


def ping_pong(ranks: Ranks, sizes: Sequence[int], seconds: float) -> Taken:
    """Return the time of a message between ranks 0 and 1, half of a round trip."""

    def play(size: int, times: int) -> None:
        if ranks.rank > 1:
            return
        comm, out, into = ranks.comm, _memory(size, 0), _memory(size, 1)
        for _ in range(times):
            if ranks.rank == 0:
                comm.Send(out, 1)
                comm.Recv(into, 1)
            else:
                comm.Recv(into, 0)
                comm.Send(out, 0)

    return _measured(ranks, sizes, seconds, 2, play)


def both_ways(ranks: Ranks, sizes: Sequence[int], seconds: float) -> Taken:
    """Return the times of messages that ranks 0 and 1 exchange at once."""
    return _exchanged(ranks, sizes, seconds, {0: 1, 1: 0})


def pairs(ranks: Ranks, sizes: Sequence[int], seconds: float) -> Taken:
    """Return the times of exchanges of all pairs at once: ranks 0 and 1, 2 and 3, and so on."""
    partners = {r: r ^ 1 for r in range(ranks.size) if r ^ 1 < ranks.size}
    return _exchanged(ranks, sizes, seconds, partners)


def fan_in(ranks: Ranks, sizes: Sequence[int], seconds: float) -> Taken:
    """Return the times until rank 0 has a message from each other rank."""
    from mpi4py import MPI

    def play(size: int, times: int) -> None:
        comm = ranks.comm
        for _ in range(times):
            if ranks.rank:
                comm.Send(_memory(size, 0), 0)
                comm.Recv(_memory(0, 1), 0)
                continue
            MPI.Request.Waitall([comm.Irecv(_memory(size, r), r) for r in range(1, ranks.size)])
            for rank in range(1, ranks.size):
                comm.Send(_memory(0, 0), rank)

    return _measured(ranks, sizes, seconds, 1, play)


def _measured(
    ranks: Ranks,
    sizes: Sequence[int],
    seconds: float,
    messages: int,
    play: Callable[[int, int], None],
) -> Taken:
    """Run a pattern for *seconds*, each size at least once; *messages* is its length.

    Each size has several bursts at a time, as agreement on the size takes longer than a burst.
    """
    taken, rng = Taken(), random.Random(0)
    often = dict.fromkeys(sizes, 1)
    until = perf_counter() + seconds
    more = True
    while more:
        for size in rng.sample(list(sizes), len(sizes)):
            play(size, 1)  # warm up, and let the ranks begin together
            least_s = 1.0
            for _ in range(BURSTS_PER_ROUND):
                begun = perf_counter()
                play(size, often[size])
                spent_s = (perf_counter() - begun) / often[size]
                least_s = min(least_s, spent_s)
                taken.add(size, spent_s / messages)
            often[size] = ranks.comm.bcast(
                max(1, min(round(BURST_S / least_s), MAX_BURST_MESSAGES))
            )
        more = ranks.comm.bcast(perf_counter() < until)
    return taken


def _exchanged(
    ranks: Ranks, sizes: Sequence[int], seconds: float, partners: dict[int, int]
) -> Taken:
    """Return the times of messages that all *partners* exchange at once."""
    partner = partners.get(ranks.rank)

    def play(size: int, times: int) -> None:
        if partner is None:
            return
        out, into = _memory(size, 0), _memory(size, 1)
        for _ in range(times):
            ranks.comm.Sendrecv(out, partner, recvbuf=into, source=partner)

    return _measured(ranks, sizes, seconds, 1, play)


_kept: dict[int, Any] = {}


def _memory(size: int, which: int) -> Any:
    """Return touched memory of *size* bytes, the same for each *which*."""
    if which not in _kept or len(_kept[which]) < size:
        _kept[which] = np.ones(max(size, 1), np.uint8)
    return _kept[which][:size]


def chain_of_messages(sizes: Sequence[int], rounds: int) -> TaskGraph:
    """Return a chain of tasks that pass on data of all *sizes* in random order.

    >>> chain_of_messages([8, 16], rounds=2)
    <TaskGraph messages: 5 tasks, 4 edges>
    """
    rng, graph = random.Random(0), GraphBuilder("messages")
    order = [size for _ in range(rounds) for size in rng.sample(list(sizes), len(sizes))]
    before = None
    for number, size in enumerate([*order, order[-1]]):
        data = graph.handle(f"x{number}", size_bytes=size)
        graph.insert("step", *([] if before is None else [R(before)]), W(data), duration_s=0.0)
        before = data
    return graph.build()


def runtime_messages(ranks: Ranks, sizes: Sequence[int], rounds: int) -> tuple[Taken, Taken] | None:
    """Return the times of messages until they are posted, and from release to end.

    Only the first two ranks exchange messages; the call is collective, rank 0 has the result.
    """
    graph = chain_of_messages(sizes, rounds)
    owners = np.arange(graph.handles) % 2
    cut = distribute(graph, owners, ranks.size)
    platform = ranks.together(lambda: platform_of_rank(ranks, 1))
    record = RankExecution(ranks, graph, cut, platform).run("eager")
    if record is None:
        return None
    table = message_table(cut, record.ranks)
    posting, whole = Taken(), Taken()
    for size, posting_s, whole_s in zip(
        table.size_bytes.tolist(),
        (table.start_s - table.ready_s).tolist(),
        (table.end_s - table.ready_s).tolist(),
        strict=True,
    ):
        posting.add(size, posting_s)
        whole.add(size, whole_s)
    return posting, whole


MAX_MESSAGE_BYTES: Final = 16 * 2**20
"""Largest message in bytes, a tile of 1448 x 1448 doubles; larger ones take the same path."""
SHARED_CABLE_RATIO: Final = 1.5
"""Smallest slowdown of messages both ways at once that shows a shared cable: with separate cables
it is 1, with a shared one 2."""
EAGER_THRESHOLD: Final = "1 TB"
"""Threshold of eager messages: all messages start when they are sent, as the receiver takes them at
once, if need be into a buffer."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """Measurements of a network between ranks, and the model fitted to them.

    Attributes
    ----------
    single, both, pairs, fan_in : Taken
        Times of messages to and fro, both ways at once, of all pairs at once, from all to rank 0.
        The last two are None if there are too few ranks.
    posting, whole : Taken
        Times of the runtime's messages: until they are posted, and from release to end.
    """

    ranks: int
    single: Taken
    both: Taken
    pairs: Taken | None
    fan_in: Taken | None
    posting: Taken
    whole: Taken

    def transfer_s(self) -> list[float]:
        """Return the time of the transfer itself per size: the least of all measurements."""
        posting = self.posting_s()
        least = zip(self.single.least_s(), self.whole.least_s(), strict=True)
        return [min(alone, max(of_runtime - posting, 1e-9)) for alone, of_runtime in least]

    def posting_s(self) -> float:
        """Return the time from a ready send to its posting, the median of all."""
        return float(np.median([s for many in self.posting.rounds.values() for s in many]))

    def lines(self) -> list[Line]:
        """Return the pieces of the transfer time."""
        return fit_pieces(self.single.sizes, self.transfer_s())

    def receiving(self) -> tuple[float, float]:
        """Return the time until the receiver notices a message: a constant, and a time per byte."""
        sizes, seconds = self.single.sizes, self.whole.median_s()
        lines = self.lines()
        moved = (1.0 + relative_errors(lines, sizes, self.transfer_s())) * self.transfer_s()
        rest = np.maximum(np.array(seconds) - self.posting_s() - moved, 1e-9)
        # A line through noisy times: the median of small sizes, and of slopes beyond.
        size = np.array(sizes, float)
        small = size < 2**12
        fixed = float(np.median(rest[small]))
        slopes = (rest[~small] - fixed) / size[~small]
        return fixed, max(float(np.median(slopes[-6:])), 0.0)

    def duplex_ratio(self) -> float:
        """Return the slowdown of large messages by messages in the other direction."""
        return _ratio(self.both, self.single)

    def section(self) -> dict[str, Any]:
        """Return the network as a section of a network file."""
        lines, (fixed_s, per_byte_s) = self.lines(), self.receiving()
        latency_s, bandwidth = lines[0].latency_s, 1.0 / lines[-1].per_byte_s
        pieces = [
            {
                "above": f"{line.above_bytes:.0f} B",
                "latency": float(f"{line.latency_s / latency_s:.6g}"),
                "bandwidth": float(f"{1.0 / (line.per_byte_s * bandwidth):.6g}"),
            }
            for line in lines
        ]
        return {
            "topology": "switch",
            "bandwidth": f"{bandwidth:.6g} B/s",
            "latency": _time(latency_s / 2),  # of a cable; a route has two
            "full_duplex": self.duplex_ratio() < SHARED_CABLE_RATIO,
            "model": {
                "name": "hockney",
                "pieces": pieces,
                "eager": EAGER_THRESHOLD,
                "isend": [{"fixed": _time(self.posting_s())}],
                "receive": [{"fixed": _time(fixed_s), "per_kilobyte": _time(1000 * per_byte_s)}],
            },
        }

    def errors(self) -> tuple[float, float]:
        """Return the median and the largest relative error of the fit."""
        found = np.abs(relative_errors(self.lines(), self.single.sizes, self.transfer_s()))
        return float(np.median(found)), float(found.max())

    def noise(self) -> float:
        """Return the median over sizes of median time by least time: a measure of disturbance."""
        return float(np.median(np.array(self.single.median_s()) / self.single.least_s()))

    def to_json(self) -> dict[str, Any]:
        """Return all results as plain JSON data."""
        fixed_s, per_byte_s = self.receiving()
        median, worst = self.errors()
        return {
            "ranks": self.ranks,
            "bytes": self.single.sizes,
            "least_s": self.single.least_s(),
            "median_s": self.single.median_s(),
            "runtime_least_s": self.whole.least_s(),
            "runtime_median_s": self.whole.median_s(),
            "pieces": [line._asdict() for line in self.lines()],
            "fit_error_median": median,
            "fit_error_worst": worst,
            "median_over_least": self.noise(),
            "posting_s": self.posting_s(),
            "receiving_s": fixed_s,
            "receiving_per_byte_s": per_byte_s,
            "both_ways_ratio": self.duplex_ratio(),
            "pairs_ratio": None if self.pairs is None else _ratio(self.pairs, self.both),
            "fan_in_ratio": None if self.fan_in is None else _ratio(self.fan_in, self.single),
        }

    def write(self, library: Path, name: str) -> Path:
        """Write the network to a library; return the path."""
        section = {"name": name, **self.section()}
        # make sure that the file can be read
        network_of_fields(section, name, "what was calibrated")
        path = library / "networks" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        document = {"version": 1, "network": section}
        write_text(path, yaml.safe_dump(document, sort_keys=False, allow_unicode=True))
        return path


def calibrate_network(
    ranks: Ranks,
    *,
    seconds: float,
    quick: bool = False,
    begin: Callable[[str], None] = lambda _pattern: None,
) -> Calibration | None:
    """Measure the network between *ranks* for about *seconds*; return the result on rank 0.

    *begin* is called with each pattern before it is measured: :data:`PATTERN_COUNT` times.

    Raise :exc:`InputError` if there is only one rank.
    """
    if ranks.size < 2:
        raise InputError(
            "calibrate network: one rank has no partner; start it with: "
            "mpiexec -n 2 tasksim calibrate network"
        )
    warn_of_shared_cores(ranks, "as network time, mostly as receiving; calibrate with")
    sizes = sizes_of(quick=quick)
    large = [size for size in sizes if size >= 2**16]
    share = seconds / 8
    begin("messages to and fro")
    single = ping_pong(ranks, sizes, 3 * share)
    begin("both ways at once")
    both = both_ways(ranks, large, share)
    begin("pairs and all to one")
    of_pairs = pairs(ranks, large, share) if ranks.size > 3 else None
    to_one = fan_in(ranks, large, share) if ranks.size > 2 else None
    begin("messages of the runtime")
    rounds = 4 if quick else 16
    messages = runtime_messages(ranks, sizes, rounds)
    if messages is None:
        return None
    return Calibration(ranks.size, single, both, of_pairs, to_one, *messages)


def warn_of_shared_cores(ranks: Ranks, counts: str) -> None:
    """Warn on rank 0 if ranks of a machine share cores; collective.

    *counts* says what the wait for a core counts as, and what to do with fewer ranks.
    """
    cores_of: dict[str, list[list[int]]] = {}
    for name, cores in ranks.comm.allgather((node(), usable_cores())):
        cores_of.setdefault(name, []).append(cores)
    for name, each in cores_of.items():
        together = len(set().union(*each))  # a rank may be bound to cores of its own
        if len(each) > together and not ranks.rank:
            warnings.warn(
                f"{len(each)} ranks share {together} {'core' if together == 1 else 'cores'} of "
                f"{name}: their wait for a core counts {counts} at most a rank per core",
                stacklevel=3,
            )


def sizes_of(*, quick: bool) -> list[int]:
    """Return the message sizes to measure: two per doubling, or one per two doublings.

    >>> sizes_of(quick=True)[:4], len(sizes_of(quick=False))
    ([1, 4, 16, 64], 47)
    """
    steps = int(np.log2(MAX_MESSAGE_BYTES))
    powers = np.arange(0, steps + 1, 2) if quick else np.arange(0, steps + 0.5, 0.5)
    return sorted({round(2.0**power) for power in powers.tolist()})


def _ratio(more: Taken, less: Taken) -> float:
    """Return the median over large sizes of the ratio of least times."""
    other = dict(zip(less.sizes, less.least_s(), strict=True))
    ratios = [s / other[size] for size, s in zip(more.sizes, more.least_s(), strict=True)]
    return float(np.median(ratios))


def _time(seconds: float) -> str:
    return f"{1e9 * seconds:.6g} ns"
