"""Model of message costs beyond the latency and bandwidth of the route.

The latency of a route, and the share of the links that a message gets, are multiplied by factors
that depend on its size. Measured curves of real networks are piecewise of this form: P. Clauss et
al., "Single node on-line simulation of MPI applications with SMPI", IPDPS 2011.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from tasksim.base.sums import total

__all__ = ["SHORTEST_S", "HostCost", "Model", "Piece", "cost_s"]

SHORTEST_S = 1e-9
"""Latency in seconds that replaces zero in the weights of shares: a tick of the clock, so that such
a message gets nearly all of the rest."""


class Piece(NamedTuple):
    """Factors of messages above a size, up to the next piece."""

    above_bytes: float
    latency_factor: float
    bandwidth_factor: float


class HostCost(NamedTuple):
    """Cost for a host of a message above a size, up to the next piece."""

    above_bytes: float
    fixed_s: float
    per_byte_s: float


@dataclass(frozen=True)
class Model:
    """Cost of messages, and their sharing of links.

    Examples
    --------
    >>> model = Model("plain", pieces=(Piece(0, 2.0, 0.5),))
    >>> model.duration_s(1000, 1e-6, 1e9)
    4e-06
    """

    name: str
    pieces: tuple[Piece, ...] = ()
    """Factors by size, ascending; 1 below the first."""
    envelope_bytes: float = 0.0
    """Size of the envelope of each message, beside its data."""
    shared: bool = True
    """Whether messages share links; otherwise each moves as if alone."""
    by_latency: bool = False
    """Whether shares are proportional to 1 / (latency + sum over the links of weight / bandwidth)
    of the route; otherwise all are equal."""
    weight_bytes: float = 0.0
    window_bytes: float = inf
    """Largest number of bytes per two latencies of a message: TCP's window."""
    cross_traffic: float = 0.0
    """Bytes of acknowledgement per byte of a message, on the links of the way back."""
    eager_bytes: float = 0.0
    """Size from which a message starts only when its receive is posted, too; smaller ones start at
    once.
    """
    detached_bytes: float = 0.0
    """Size from which the sender waits for the arrival of a message."""
    send_costs: tuple[HostCost, ...] = ()
    """Cost of a blocking send for the sender, before the message starts (LogGP's o_s)."""
    isend_costs: tuple[HostCost, ...] = ()
    """Cost of a non-blocking send, as *send_costs*."""
    receive_costs: tuple[HostCost, ...] = ()
    """Cost of a receive for the receiver, after the message has arrived (LogGP's o_r)."""
    _bounds: tuple[float, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_bounds", tuple(piece.above_bytes for piece in self.pieces))

    def factors(self, sent_bytes: float) -> tuple[float, float]:
        """Return the factors of the latency and of the bandwidth for a number of bytes.

        Parameters
        ----------
        sent_bytes : float
            Bytes of the message and its envelope.
        """
        place = bisect_left(self._bounds, sent_bytes) - 1
        if place < 0:
            return 1.0, 1.0
        _, latency, bandwidth = self.pieces[place]
        return latency, bandwidth

    def window_rate(self, latency_s: float) -> float:
        """Return the largest number of bytes per second that TCP's window allows over a route."""
        return self.window_bytes / (2.0 * latency_s) if latency_s > 0 else inf

    def penalty(self, latency_s: float, bandwidths: list[float]) -> float:
        """Return the penalty, to which shares are inversely proportional.

        Parameters
        ----------
        latency_s : float
            Latency of the route, before factors.
        bandwidths : list of float
            Bandwidths of the links of the route.
        """
        if not self.by_latency:
            return 1.0
        weights = total(self.weight_bytes / bandwidth for bandwidth in bandwidths)
        return max(latency_s + weights, SHORTEST_S)

    def duration_s(self, size_bytes: float, latency_s: float, rate: float) -> float:
        """Return the duration of a message that gets *rate* bytes per second of the links."""
        sent = size_bytes + self.envelope_bytes
        latency, bandwidth = self.factors(sent)
        return latency * latency_s + sent / (bandwidth * rate)


def cost_s(costs: tuple[HostCost, ...], size_bytes: float) -> float:
    """Return the cost of a message of *size_bytes* for a host, in seconds.

    >>> cost_s((HostCost(0, 1e-6, 0.0), HostCost(1000, 2e-6, 1e-9)), 2000)
    4e-06
    """
    for above, fixed, per_byte in reversed(costs):
        if size_bytes > above or not above:
            return fixed + per_byte * size_bytes
    return 0.0
