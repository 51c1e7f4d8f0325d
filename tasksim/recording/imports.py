"""Notice of the import of a module, for libraries that a program may import later, or never."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

__all__ = ["WhenImported"]


class WhenImported:
    """A finder of modules that finds none itself, and notices when one has been imported."""

    def __init__(self, name: str, then: Callable[[], None]) -> None:
        self._name = name
        self._then = then

    def watch(self) -> None:
        """Call back when the module is imported, or at once if it is there already."""
        if self._name in sys.modules:
            self._then()
        else:
            sys.meta_path.insert(0, self)

    def stop(self) -> None:
        """Wait no longer."""
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
