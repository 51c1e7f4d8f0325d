"""Hockney's model: alpha + beta * s, alpha the latency of the route, beta one over its bandwidth.

R. Hockney, "The communication challenge for MPP", Parallel Computing 20 (3), 1994. Messages that
cross one link share it evenly. With ``pieces`` it is piecewise linear: what a calibration of a real
network finds.
"""

from __future__ import annotations

from typing import Final

from tasksim.network.model import Model

__all__ = ["HOCKNEY"]

HOCKNEY: Final = Model("hockney")
