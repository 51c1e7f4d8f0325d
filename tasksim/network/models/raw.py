"""Raw flows, SimGrid 4's ``raw``: links shared evenly, no factors, no window, no cross traffic."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Final

from tasksim.network.models.cm02 import CM02

__all__ = ["RAW"]

RAW: Final = replace(CM02, name="raw", window_bytes=inf, cross_traffic=0.0)
