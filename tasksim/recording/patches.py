"""Temporary replacements of attributes of modules and classes.

A library that a program may import later, or never, is patched when its module is imported.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

__all__ = ["Patches"]


class Patches:
    """Replaced attributes, restored in reverse order."""

    def __init__(self) -> None:
        self._before: list[tuple[Any, str, Any, Any]] = []
        self._awaited: list[_Finder] = []

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

    def when_imported(self, module: str, then: Callable[[], None]) -> None:
        """Call *then* when the program imports a *module*, or at once if it has; import nothing."""
        if module in sys.modules:
            then()
            return
        finder = _Finder(module, then)
        self._awaited.append(finder)
        sys.meta_path.insert(0, finder)

    def undo(self) -> None:
        """Restore all attributes, except those replaced by others meanwhile; await no import."""
        for finder in self._awaited:
            finder.stop()
        while self._before:
            owner, name, before, value = self._before.pop()
            if vars(owner).get(name) is not value:
                continue
            if before is None:
                delattr(owner, name)
            else:
                setattr(owner, name, before)


class _Finder:
    """A finder of modules that finds none itself, and notices when one has been imported."""

    def __init__(self, name: str, then: Callable[[], None]) -> None:
        self._name = name
        self._then = then

    def stop(self) -> None:
        """Await the module no longer."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(self, name: str, *_: Any) -> importlib.machinery.ModuleSpec | None:
        """Return the specification of the module, with a loader that calls back."""
        if name != self._name:
            return None
        self.stop()  # the other finders are asked now, and this one no more
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            watched: Any = _Loader(spec.loader, self._then)
            spec.loader = watched
        return spec


class _Loader:
    """A loader that calls back when it has executed its module."""

    def __init__(self, loader: Any, then: Callable[[], None]) -> None:
        self._loader = loader
        self._then = then

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        """Create the module as its own loader does."""
        created: ModuleType | None = self._loader.create_module(spec)
        return created

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module, then call back."""
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._then()
