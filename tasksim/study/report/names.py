"""File names made from names of axes and cells."""

from __future__ import annotations

import re

__all__ = ["file_name"]


def file_name(name: str) -> str:
    """Return *name* as a file name that is safe on all systems and in links.

    >>> file_name("platform.links.pcie/0.bandwidth")
    'platform.links.pcie_0.bandwidth'
    """
    return re.sub(r"[^\w.+-]", "_", name, flags=re.ASCII).lstrip(".") or "axis"
