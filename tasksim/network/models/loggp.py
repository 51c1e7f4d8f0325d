"""LogGP: o_s + L + s G + o_r; L the latency of the route, G one over its bandwidth.

A. Alexandrov et al., "LogGP: incorporating long messages into the LogP model", SPAA 1995. The
overheads o_s and o_r of the two hosts are a microsecond each unless a file says what they are;
messages small enough are eager. The gap g between messages is that of their bytes: g = 0.
"""

from __future__ import annotations

from typing import Final

from tasksim.network.model import HostCost, Model

__all__ = ["LOGGP"]

_OVERHEAD: Final = (HostCost(0.0, 1e-6, 0.0),)

LOGGP: Final = Model(
    "loggp",
    eager_bytes=65536.0,
    detached_bytes=65536.0,
    send_costs=_OVERHEAD,
    isend_costs=_OVERHEAD,
    receive_costs=_OVERHEAD,
)
