"""CM02, SimGrid's first model of TCP: no factors, shares by latency, a window of 4 MiB.

H. Casanova, L. Marchal, "A network model for simulation of grid application", INRIA RR-4596, 2002.
SimGrid's cross traffic, 5 %, is on; the envelope is the one that its MPI adds.
"""

from __future__ import annotations

from typing import Final

from tasksim.network.model import Model

__all__ = ["CM02", "CROSS_TRAFFIC", "DETACHED", "ENVELOPE", "WINDOW"]

ENVELOPE: Final = 16.0
"""Bytes that SimGrid's MPI sends beside those of a message."""
WINDOW: Final = 4194304.0
"""SimGrid's ``network/TCP-gamma``, in bytes."""
CROSS_TRAFFIC: Final = 0.05
"""Bytes per byte that SimGrid's ``network/crosstraffic`` adds on the way back."""
DETACHED: Final = 65536.0
"""SimGrid's ``smpi/send-is-detached-thresh``, in bytes."""

CM02: Final = Model(
    "cm02",
    envelope_bytes=ENVELOPE,
    by_latency=True,
    window_bytes=WINDOW,
    cross_traffic=CROSS_TRAFFIC,
    detached_bytes=DETACHED,
)
