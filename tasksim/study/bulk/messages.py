"""Messages of a bulk-synchronous program: what those of a profile take, one after the other."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import InputError, unknown
from tasksim.network.collectives.closed import closed_s
from tasksim.network.collectives.registry import ALGORITHMS
from tasksim.run.messageline import Hockney

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tasksim.network.description import Network
    from tasksim.study.bulk.profile import Sent

__all__ = ["MessageCosts", "parsed_collective"]


class OverNetwork:
    """Messages over a *network* whose latencies depend on the distance: the mean of some."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._sized = cache(network.sized)

    def seconds(self, ranks: int, size_bytes: float) -> float:
        """Return how long a message takes: the mean over distances 1, 2, 4, ... of ranks."""
        network, distance, taken = self._sized(max(ranks, 2)), 1, []
        while distance < max(ranks, 2):
            taken.append(network.alone_s(0, distance, size_bytes))
            distance *= 2
        return float(np.mean(taken))


Collective = tuple[tuple[str, str], ...]
"""Operations with their algorithms, one after the other."""


@dataclass(frozen=True)
class MessageCosts:
    """What messages take, and which data are those of collectives.

    Attributes
    ----------
    network : Network or Hockney
        Of a message alone.
    collectives : mapping
        Name of data -> the operations that they are sent for; all others go from point to point,
        n messages of s bytes in ``n (a + b s)``.
    """

    network: Network | Hockney
    collectives: Mapping[str, Collective] = field(default_factory=dict)

    def seconds(self, ranks: int, sent: Mapping[str, Sent]) -> float:
        """Return how long all messages take, one after the other."""
        if ranks < 2:
            return 0.0
        return sum(self._of(name, ranks, found) for name, found in sent.items() if found.messages)

    def _of(self, name: str, ranks: int, sent: Sent) -> float:
        size_bytes = sent.size_bytes / sent.messages
        alone = self._alone()
        if name not in self.collectives:
            return sent.messages * alone.seconds(ranks, size_bytes)
        operations = self.collectives[name]
        only_from_one = all(operation == "bcast" for operation, _ in operations)
        # A broadcast sends one datum to all; what is gathered or summed is sent once by each.
        calls = sent.total / (ranks - 1) if only_from_one else sent.calls
        # The line at that size: a message of no bytes may go another way than one of eight.
        taken_s, twice_s = (alone.seconds(ranks, factor * size_bytes) for factor in (1.0, 2.0))
        beta_s = (twice_s - taken_s) / size_bytes if size_bytes else 0.0
        alpha_s = max(taken_s - beta_s * size_bytes, 0.0)
        return calls * sum(
            closed_s(*each, ranks, size_bytes, alpha_s, beta_s) for each in operations
        )

    def _alone(self) -> Hockney | OverNetwork:
        return self.network if isinstance(self.network, Hockney) else OverNetwork(self.network)


def parsed_collective(text: str) -> tuple[str, Collective]:
    """Return name and operations of ``pq=reduce:binomial+bcast:linear``.

    Raises
    ------
    InputError
        If an operation or its algorithm is not known, or has no formula.

    Examples
    --------
    >>> parsed_collective("pq=allreduce:ring")
    ('pq', (('allreduce', 'ring'),))
    """
    name, sign, words = text.partition("=")
    if not sign or not name or not words:
        raise InputError(f"collective: got '{text}'; legal: DATA=OPERATION:ALGORITHM[+...]")
    found = []
    for word in words.split("+"):
        operation, _, algorithm = word.partition(":")
        if operation not in ALGORITHMS:
            raise unknown("collective", operation, ALGORITHMS)
        if algorithm not in ALGORITHMS[operation]:
            raise unknown("algorithm", algorithm, ALGORITHMS[operation], operation)
        closed_s(operation, algorithm, 2, 1.0, 1.0, 1.0)  # has it a formula?
        found.append((operation, algorithm))
    return name, tuple(found)
