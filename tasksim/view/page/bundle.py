"""Bundle of the page's script: the modules of ``script/`` as one, which needs nothing else.

The sources are plain modules of JavaScript that import each other by name; a browser or Node runs
them as they are. In a page they stand one after another, each after those that it imports, without
their imports and exports. Names are unique over all of them, which a test asks.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

__all__ = ["bundle", "source"]

_IMPORT: Final = re.compile(r'^import \{[^}]*\} from "\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export (?=(async )?(function|class|const|let) )", re.MULTILINE)


def source(name: str) -> str:
    """Return the text of a file beside this module."""
    return _place(name).read_text(encoding="utf-8")


@cache
def bundle(main: str = "main") -> str:
    """Return the module *main* with all that it imports, as one module."""
    ordered: dict[str, str] = {}
    _collect(main, ordered)
    return "\n".join(ordered.values())


def _collect(name: str, ordered: dict[str, str]) -> None:
    """Add a module after those that it imports, each once."""
    if name in ordered:
        return
    text = source(f"script/{name}.js")
    for needed in _IMPORT.findall(text):
        _collect(needed, ordered)
    ordered[name] = _EXPORT.sub("", _IMPORT.sub("", text))


def _place(name: str) -> Traversable:
    place = files("tasksim.view.page")
    for part in name.split("/"):
        place = place / part
    return place
