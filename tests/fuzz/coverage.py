"""Coverage of the lines of tasksim that an input reaches first: what guides the search."""

from __future__ import annotations

import dis
import sys
from contextlib import contextmanager
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any

import tasksim

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import FrameType

__all__ = ["Coverage"]

_PACKAGE = Path(tasksim.__file__).parent
_IS_FUNCTION = 1
"""The flag ``CO_OPTIMIZED``: the code of a function, not of a module or a class."""


class Coverage:
    """The lines of the package that have run while it watched.

    A function whose lines have all run is not watched any more, so the search soon runs at
    nearly full speed.
    """

    def __init__(self) -> None:
        self.lines = 0
        """Number of lines that have run so far."""
        self._unseen: dict[CodeType, set[int]] = {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Count the lines that run in the block."""
        before = sys.gettrace()
        sys.settrace(self._call)
        try:
            yield
        finally:
            sys.settrace(before)

    def of_modules(self, modules: Sequence[str]) -> tuple[int, dict[str, list[int]]]:
        """Return the number of lines of a reader, and those that have not run, by file.

        *modules* are files or folders of the package. Of their functions those count that have run,
        and those that they call, so that writers in the same files do not.
        """
        entered = {(code.co_filename, *_key(code)): lines for code, lines in self._unseen.items()}
        total, missed = 0, {}
        for path in _files(modules):
            functions = {_key(code): code for code in _functions(_compiled(path))}
            run = [key for key in functions if (str(path), *key) in entered]
            counted = _named(functions, run)
            total += sum(len(_lines(functions[key])) for key in counted)
            lines: set[int] = set()
            for key in counted:
                lines |= entered.get((str(path), *key), _lines(functions[key]))
            if lines:
                missed[str(path.relative_to(_PACKAGE))] = sorted(lines)
        return total, missed

    def _call(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        unseen = self._unseen.get(code)
        if unseen is None:
            ours = code.co_filename.startswith(str(_PACKAGE))
            unseen = _lines(code) if ours else set()
            self._unseen[code] = unseen
        return self._line if unseen else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        unseen = self._unseen[frame.f_code]
        if frame.f_lineno in unseen:
            unseen.remove(frame.f_lineno)
            self.lines += 1
        return self._line


def _lines(code: CodeType) -> set[int]:
    """Return the lines of a function that run: not that of its ``def``, unless it has no other."""
    lines = {line for *_, line in code.co_lines() if line}
    return lines - {code.co_firstlineno} or lines


def _files(modules: Sequence[str]) -> list[Path]:
    places = [_PACKAGE / module for module in modules]
    return [
        file for place in places for file in ([place], sorted(place.rglob("*.py")))[place.is_dir()]
    ]


def _compiled(path: Path) -> CodeType:
    return compile(path.read_text(encoding="utf-8"), str(path), "exec", dont_inherit=True)


def _functions(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of all functions in a module, those within classes and functions, too."""
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            if inner.co_flags & _IS_FUNCTION:
                yield inner
            yield from _functions(inner)


def _key(code: CodeType) -> tuple[int, str, int]:
    """Return a key of a function in its file, with the column: lambdas may share a line."""
    column = next((start for _, _, start, _ in code.co_positions() if start is not None), 0)
    return code.co_firstlineno, code.co_name, column


def _called(code: CodeType) -> Iterator[str]:
    """Yield the names of functions that a function names, and of private methods.

    Those of public methods say little: many classes have a ``to_json``, and readers write none.
    """
    for step in dis.get_instructions(code):
        name = step.argval
        if isinstance(name, str) and (step.opname == "LOAD_GLOBAL" or name.startswith("_")):
            yield name


def _named(
    functions: dict[tuple[int, str, int], CodeType], run: list[tuple[int, str, int]]
) -> set[tuple[int, str, int]]:
    """Return *run* and the functions that those call or contain, and so on."""
    found: set[tuple[int, str, int]] = set()
    left = list(run)
    while left:
        key = left.pop()
        if key in found:
            continue
        found.add(key)
        code = functions[key]
        names = set(_called(code))
        left += [other for other in functions if other[1] in names]
        left += [_key(inner) for inner in _functions(code)]
    return found
