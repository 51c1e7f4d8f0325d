"""Temporary replacements of attributes of modules and classes."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["Patches"]


class Patches:
    """Replaced attributes, restored in reverse order."""

    def __init__(self) -> None:
        self._before: list[tuple[Any, str, Any, Any]] = []

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Replace an attribute of a class or a module."""
        self._before.append((owner, name, vars(owner).get(name), value))
        setattr(owner, name, value)

    def set_everywhere(self, function: Any, value: Any) -> None:
        """Replace a module's *function* also where other modules have it under any name."""
        for module in list(sys.modules.values()):
            names = getattr(module, "__dict__", None)
            if not isinstance(names, dict):
                continue
            for name, found in list(names.items()):
                if found is function:
                    self.set(module, name, value)

    def undo(self) -> None:
        """Put back what was there, but for what somebody else has replaced meanwhile."""
        while self._before:
            owner, name, before, value = self._before.pop()
            if vars(owner).get(name) is not value:
                continue
            if before is None:
                delattr(owner, name)
            else:
                setattr(owner, name, before)
