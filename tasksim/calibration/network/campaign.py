"""Campaign that calibrates a network: runs all patterns, fits a model, writes the network file."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from platform import node
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import yaml

from tasksim.base.errors import InputError
from tasksim.base.files import write_text
from tasksim.calibration.network.patterns import both_ways, fan_in, pairs, ping_pong
from tasksim.calibration.network.piecewise import Line, fit_pieces, relative_errors
from tasksim.calibration.network.runtime_messages import runtime_messages
from tasksim.native.cores import usable_cores
from tasksim.network.load import network_of_fields

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tasksim.calibration.network.patterns import Taken
    from tasksim.native.cluster.ranks import Ranks

__all__ = ["Calibration", "calibrate_network", "sizes_of"]

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
        line = _robust_line(sizes, rest)
        return line.latency_s, line.per_byte_s

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


def calibrate_network(ranks: Ranks, *, seconds: float, quick: bool = False) -> Calibration | None:
    """Measure the network between *ranks* for about *seconds*; return the result on rank 0.

    Raise :exc:`InputError` if there is only one rank.
    """
    if ranks.size < 2:
        raise InputError(
            "calibrate network: one rank has no partner; start it with: "
            "mpiexec -n 2 tasksim calibrate network"
        )
    _warn_of_crowds(ranks)
    sizes = sizes_of(quick=quick)
    large = [size for size in sizes if size >= 2**16]
    share = seconds / 8
    single = ping_pong(ranks, sizes, 3 * share)
    both = both_ways(ranks, large, share)
    of_pairs = pairs(ranks, large, share) if ranks.size > 3 else None
    to_one = fan_in(ranks, large, share) if ranks.size > 2 else None
    rounds = 4 if quick else 16
    messages = runtime_messages(ranks, sizes, rounds)
    if messages is None:
        return None
    return Calibration(ranks.size, single, both, of_pairs, to_one, *messages)


def _warn_of_crowds(ranks: Ranks) -> None:
    """Warn on rank 0 if ranks of a machine share cores; collective."""
    cores_of: dict[str, list[list[int]]] = {}
    for name, cores in ranks.comm.allgather((node(), usable_cores())):
        cores_of.setdefault(name, []).append(cores)
    for name, each in cores_of.items():
        together = len(set().union(*each))  # a rank may be bound to cores of its own
        if len(each) > together and not ranks.rank:
            warnings.warn(
                f"{len(each)} ranks share {together} {'core' if together == 1 else 'cores'} of "
                f"{name}: their wait for a core counts as network time, mostly as receiving; "
                "calibrate with at most a rank per core",
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


def _robust_line(sizes: Sequence[float], seconds: Any) -> Line:
    """Return a line through noisy times: the median of small sizes, and of slopes beyond."""
    size, taken = np.array(sizes, float), np.array(seconds)
    small = size < 2**12
    fixed = float(np.median(taken[small]))
    slopes = (taken[~small] - fixed) / size[~small]
    return Line(0.0, fixed, max(float(np.median(slopes[-6:])), 0.0))


def _time(seconds: float) -> str:
    return f"{1e9 * seconds:.6g} ns"
