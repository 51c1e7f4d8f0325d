"""SMPI's model, the default of ``smpirun``: piecewise factors measured on a cluster with Ethernet.

P. Clauss et al., "Single node on-line simulation of MPI applications with SMPI", IPDPS 2011;
SimGrid 3.32's options ``smpi/lat-factor``, ``smpi/bw-factor`` and ``network/weight-S``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tasksim.network.model import Piece
from tasksim.network.models.cm02 import CM02

__all__ = ["SMPI"]

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
