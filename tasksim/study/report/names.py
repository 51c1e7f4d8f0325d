"""Names of files made of names of axes and cells."""

from __future__ import annotations

import re

__all__ = ["file_name"]


def file_name(name: str) -> str:
    """Return *name* as the name of a file, with nothing a system or a link may stumble over.

    >>> file_name("platform.links.pcie/0.bandwidth")
    'platform.links.pcie_0.bandwidth'
    """
    return re.sub(r"[^\w.+-]", "_", name, flags=re.ASCII).lstrip(".") or "axis"
