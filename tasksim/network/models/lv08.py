"""LV08, SimGrid's default: CM02 with factors fitted to a packet simulator.

P. Velho, A. Legrand, "Accuracy study and improvement of network simulation in the SimGrid
framework", SIMUTools 2009.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tasksim.network.model import Piece
from tasksim.network.models.cm02 import CM02

__all__ = ["LV08"]

LV08: Final = replace(CM02, name="lv08", pieces=(Piece(0, 13.01, 0.97),), weight_bytes=20537.0)
