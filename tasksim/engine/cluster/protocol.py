"""Protocol: how a runtime's communication threads bring a message from one node to another."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from tasksim.network.model import Model

__all__ = ["MPI", "PLAIN", "STARPU", "Protocol", "protocol_of"]


class Protocol(NamedTuple):
    """What happens around the data of each message.

    StarPU-MPI sends an *envelope* before the data. A node awaits one envelope at a time, while a
    receive of its is ready that none has come for, and asks for the data once it has it.
    """

    name: str
    envelope_bytes: float | None
    """What is sent before the data, and handled one after the other; None: nothing is."""
    in_flight: int
    """So many messages at most are on their way from a node."""


STARPU: Final = Protocol("starpu", envelope_bytes=32, in_flight=10)
"""``STARPU_MPI_NDETACHED_SEND`` is 10; an envelope has mode, size, tag and a flag."""
PLAIN: Final = Protocol("plain", envelope_bytes=None, in_flight=10)
"""Data alone, which move once the send is made and the receive is ready."""
MPI: Final = Protocol("mpi", envelope_bytes=None, in_flight=sys.maxsize)
"""Data alone, and no thread of a runtime that limits them."""


def protocol_of(model: Model, *, by_rank: bool = False) -> Protocol:
    """Return MPI's where nodes are ranks, else StarPU's for SimGrid's models, else the plain.

    SimGrid's models are those that count MPI's own envelope.
    """
    if by_rank:
        return MPI
    return STARPU if model.envelope_bytes else PLAIN
