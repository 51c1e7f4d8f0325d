"""The public interface as text: each public function, class and method with its signature.

    python docs/api.py

writes docs/api.txt, which ``tests/docs/test_api.py`` compares with the code: a signature does not
change by accident. Public is what ``tasksim`` itself offers, and what these pages, the README and
the examples import from its modules. Names that begin with an underscore never are.
"""

from __future__ import annotations

import enum
import functools
import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tasksim

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
API_FILE = ROOT / "docs" / "api.txt"
PAGES_WITH_IMPORTS = ("README.md", "docs/*.md", "docs/design/add-*.md", "examples/**/*.py")
"""Files whose imports are public."""
IMPORT = re.compile(
    r"^(?:>>> |\.\.\. )?\s*from (tasksim\.[\w.]+) import (\([^)]*\)|[^\n#]*)", re.MULTILINE
)
FILE_HEAD = """\
# The public interface of tasksim, as `python docs/api.py` writes it. A change of this file is a
# change that users notice: CHANGELOG.md names it. CONTRIBUTING.md says how to deprecate names.
"""


def text() -> str:
    """Return the whole file, a line per signature."""
    lines = [line for path, found in public() for line in described(path, found)]
    return FILE_HEAD + "\n".join(lines) + "\n"


def public() -> Iterator[tuple[str, Any]]:
    """Yield each public name with its object: tasksim's own, then those of its modules."""
    for name in sorted(tasksim.__all__):
        yield f"tasksim.{name}", getattr(tasksim, name)
    for module, name in sorted(imported()):
        found = getattr(import_module(module), name)
        if found is not getattr(tasksim, name, None):
            yield f"{module}.{name}", found


def imported() -> set[tuple[str, str]]:
    """Return what the pages import, each as its module and its name there."""
    pages = (page for pattern in PAGES_WITH_IMPORTS for page in ROOT.glob(pattern))
    found = set()
    for page in pages:
        for module, names in IMPORT.findall(page.read_text(encoding="utf-8")):
            plain = re.sub(r"[()\n]|\.\.\. ", " ", names)
            words = [name.split(" as ")[0].strip() for name in plain.split(",")]
            found |= {(module, word) for word in words if word.isidentifier()}
    return found


def described(path: str, found: Any) -> Iterator[str]:
    """Yield the lines of one public object, and of its public members."""
    if inspect.ismodule(found):
        yield f"module {path}"
    elif inspect.isclass(found):
        bases = ", ".join(base.__name__ for base in found.__bases__ if base is not object)
        yield f"class {path}{f' is {bases}' if bases else ''}"
        if issubclass(found, enum.Enum):
            yield from (f"    {path}.{member.name} = {member.value!r}" for member in found)
            return
        if _is_ours(found.__init__) or _is_ours(found.__new__) or hasattr(found, "_fields"):
            yield f"    {path}{_signature(found)}"
        yield from (f"    {line}" for line in _members(path, found))
    elif callable(found):
        yield f"{path}{_signature(found)}"
    else:
        yield f"{path}: {type(found).__name__}"


def _members(path: str, kind: type) -> Iterator[str]:
    """Yield the public methods, properties and attributes of a class.

    Those of parents are included, except of parents that are public themselves.
    """
    members: dict[str, Any] = {}
    listed = [getattr(tasksim, name) for name in tasksim.__all__]
    for parent in reversed(kind.__mro__):
        if parent.__module__.startswith("tasksim") and (parent is kind or parent not in listed):
            members |= dict.fromkeys(getattr(parent, "__annotations__", {}))
            members |= vars(parent)
    constructor = _signature(kind) if _is_ours(kind.__init__) else ""
    for name, member in sorted(members.items()):
        if name.startswith("_") or inspect.isclass(member):
            continue
        function = getattr(member, "__func__", member)
        getter = getattr(member, "fget", getattr(member, "func", None))
        if isinstance(member, property | functools.cached_property) and getter is not None:
            yield f"{path}.{name} -> {_words(inspect.signature(getter).return_annotation)}"
        elif inspect.isroutine(function):
            yield f"{path}.{name}{_signature(function)}"
        elif f"{name}:" not in constructor:  # else an argument of the constructor
            yield f"{path}.{name}"


def _is_ours(function: Any) -> bool:
    """Return whether a constructor was written for its class, or made by a dataclass."""
    return inspect.isfunction(function)


def _signature(found: Any) -> str:
    """Return the signature of *found*, the same with each version of Python."""
    try:
        signature = inspect.signature(found)
    except ValueError:
        return "(...)"
    parts: list[str] = []
    kinds = [p.kind for p in signature.parameters.values()]
    for place, parameter in enumerate(signature.parameters.values()):
        star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        is_first = parameter.KEYWORD_ONLY not in kinds[:place]
        is_only = parameter.kind is parameter.KEYWORD_ONLY
        if is_only and is_first and parameter.VAR_POSITIONAL not in kinds:
            parts.append("*")
        word = f"{star}{parameter.name}"
        if parameter.annotation is not parameter.empty:
            word += f": {_words(parameter.annotation)}"
        if parameter.default is not parameter.empty:
            word += f" = {_default(parameter.default)}"
        parts.append(word)
    result = signature.return_annotation
    arrow = "" if result in (signature.empty, None, "None") else f" -> {_words(result)}"
    return f"({', '.join(parts)}){arrow}"


def _words(annotation: Any) -> str:
    if isinstance(annotation, str):
        return annotation.strip("'\"")
    return getattr(annotation, "__name__", None) or str(annotation).replace("typing.", "")


def _default(value: Any) -> str:
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if inspect.isroutine(value) or inspect.isclass(value):
        return str(value.__name__)
    said = repr(value)
    return "..." if "<" in said or " object at 0x" in said else said


if __name__ == "__main__":
    API_FILE.write_text(text(), encoding="utf-8")
