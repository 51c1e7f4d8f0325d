"""Protocol: how a runtime's communication threads bring a message from one node to another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from tasksim.network.model import Model

__all__ = ["PLAIN", "STARPU", "Protocol", "protocol_of"]


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


def protocol_of(model: Model) -> Protocol:
    """Return StarPU's for SimGrid's models, those that count MPI's own envelope; else the plain."""
    return STARPU if model.envelope_bytes else PLAIN
