"""Models of messages by name, from SimGrid and from the literature.

SimGrid's models, CM02, LV08, SMPI and raw, have the envelope of its MPI; all but raw have its cross
traffic of 5 %.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any, Final

from tasksim.base.errors import InputError
from tasksim.base.registry import Registry
from tasksim.network.model import HostCost, Model, Piece

__all__ = ["MODELS"]

IDEAL: Final = Model("ideal", shared=False)
"""Latency of the route plus bytes over the bandwidth of the narrowest link.

No message slows another down. Algorithms of collectives are compared on this model.
"""

HOCKNEY: Final = Model("hockney")
"""alpha + beta * s; alpha is the latency of the route, beta one over its bandwidth.

R. Hockney, "The communication challenge for MPP", Parallel Computing 20 (3), 1994. Messages that
cross one link share it evenly. With ``pieces`` it is piecewise linear, as calibrations of real
networks are.
"""

_LOGGP_OVERHEAD: Final = (HostCost(0.0, 1e-6, 0.0),)

LOGGP: Final = Model(
    "loggp",
    eager_bytes=65536.0,
    detached_bytes=65536.0,
    send_costs=_LOGGP_OVERHEAD,
    isend_costs=_LOGGP_OVERHEAD,
    receive_costs=_LOGGP_OVERHEAD,
)
"""o_s + L + s G + o_r; L is the latency of the route, G one over its bandwidth.

A. Alexandrov et al., "LogGP: incorporating long messages into the LogP model", SPAA 1995. The
overheads o_s and o_r of the two hosts are a microsecond each unless a file sets them; small
messages are eager. The gap g between messages is that of their bytes: g = 0.
"""

_ENVELOPE_BYTES: Final = 16.0
"""Size of the envelope that SimGrid's MPI adds to a message, in bytes."""
_WINDOW_BYTES: Final = 4194304.0
"""TCP window in bytes: SimGrid's ``network/TCP-gamma``."""
_CROSS_TRAFFIC: Final = 0.05
"""Bytes per byte that SimGrid's ``network/crosstraffic`` adds in the opposite direction."""
_DETACHED_BYTES: Final = 65536.0
"""Threshold of detached sends in bytes: SimGrid's ``smpi/send-is-detached-thresh``."""

CM02: Final = Model(
    "cm02",
    envelope_bytes=_ENVELOPE_BYTES,
    by_latency=True,
    window_bytes=_WINDOW_BYTES,
    cross_traffic=_CROSS_TRAFFIC,
    detached_bytes=_DETACHED_BYTES,
)
"""SimGrid's first model of TCP: no factors, shares by latency, a window of 4 MiB.

H. Casanova, L. Marchal, "A network model for simulation of grid application", INRIA RR-4596, 2002.
"""

LV08: Final = replace(CM02, name="lv08", pieces=(Piece(0, 13.01, 0.97),), weight_bytes=20537.0)
"""SimGrid's default: CM02 with factors fitted to a packet simulator.

P. Velho, A. Legrand, "Accuracy study and improvement of network simulation in the SimGrid
framework", SIMUTools 2009.
"""

SMPI: Final = replace(
    CM02,
    name="smpi",
    pieces=(
        Piece(0, 2.01467, 0.812084),
        Piece(257, 1.95341, 0.338112),
        Piece(732, 1.9503, 0.341987),
        Piece(1426, 1.61075, 0.608902),
        Piece(3484, 1.88101, 0.77493),
        Piece(5776, 2.18796, 1.08739),
        Piece(9376, 2.59299, 0.58729),
        Piece(15424, 3.48845, 0.697866),
        Piece(65472, 11.6436, 0.940694),
    ),
    weight_bytes=8775.0,
)
"""The default of ``smpirun``: piecewise factors measured on a cluster with Ethernet.

P. Clauss et al., "Single node on-line simulation of MPI applications with SMPI", IPDPS 2011;
SimGrid 3.32's options ``smpi/lat-factor``, ``smpi/bw-factor`` and ``network/weight-S``.
"""

RAW: Final = replace(CM02, name="raw", window_bytes=inf, cross_traffic=0.0)
"""Raw flows, SimGrid 4's ``raw``: links shared evenly, no factors, no window, no cross traffic."""


def _adopt(name: str, found: Any) -> Model:
    if not isinstance(found, Model):
        raise InputError(f"network model '{name}': got {found!r:.60}; legal: a Model")
    return found


MODELS: Final[Registry[Model]] = Registry(
    "network model",
    "tasksim.network_models",
    {
        "ideal": "tasksim.network.models:IDEAL",
        "hockney": "tasksim.network.models:HOCKNEY",
        "loggp": "tasksim.network.models:LOGGP",
        "cm02": "tasksim.network.models:CM02",
        "lv08": "tasksim.network.models:LV08",
        "smpi": "tasksim.network.models:SMPI",
        "raw": "tasksim.network.models:RAW",
    },
    _adopt,
)
