"""Ideal network: a message takes the latency of its route and its bytes over the narrowest link.

No message slows another down. What algorithms of collectives are compared on.
"""

from __future__ import annotations

from typing import Final

from tasksim.network.model import Model

__all__ = ["IDEAL"]

IDEAL: Final = Model("ideal", shared=False)
