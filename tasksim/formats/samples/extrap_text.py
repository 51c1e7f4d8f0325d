"""Extra-P's text files: ``PARAMETER``, ``POINTS``, ``REGION``, ``METRIC``, ``DATA``.

::

    PARAMETER p
    PARAMETER n
    POINTS (4 64) (8 64) (8 128)
    REGION main->solve
    METRIC time
    DATA 1.1 1.2
    DATA 0.6 0.7
    DATA 1.3 1.2

A ``DATA`` line per point, in their order; its values are repetitions.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tasksim.base.errors import InputError, nearest
from tasksim.base.files import read_text
from tasksim.base.numerals import plain_float
from tasksim.formats.registry import Format, first_line
from tasksim.formats.samples.extrap_measurements import NO_NAME, Measurement, to_samples

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tasksim.models.samples import Samples

__all__ = ["EXTRA_P", "read_extrap_text"]

_FIRST: Final = re.compile(r"(PARAMETER|POINTS|REGION|METRIC)\s")
KEYWORDS: Final = ("PARAMETER", "POINTS", "REGION", "METRIC", "DATA")


def read_extrap_text(
    path: Path,
    duration: str | None = None,
    parameters: Sequence[str] | None = None,
    part: str | None = None,
) -> Samples:
    """Return the samples in Extra-P's text file at *path*.

    *duration* and *part* are as in :func:`~tasksim.formats.samples.extrap_measurements.to_samples`.

    Raises
    ------
    InputError
        ``file:line:column: what was got, what is legal``.
    """
    reader = _Reader(path)
    for number, line in enumerate(read_text(path).split("\n"), 1):
        reader.read(line, number)
    reader.finish()
    return to_samples(path, reader.names, reader.found, duration, parameters, part)


class _Reader:
    """Statements read so far."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.names: list[str] = []
        self.points: list[tuple[float, ...]] = []
        self.found: list[Measurement] = []
        self._callpath = self._metric = NO_NAME
        self._data = self._line = 0

    def read(self, line: str, number: int) -> None:
        """Take a line."""
        before, self._line = self._line, number
        match = re.match(r"\s*([^\s#]+)\s*", line)
        if match is None:
            self._line = before
            return
        keyword, rest, offset = match[1], line.split("#")[0][match.end() :], match.end()
        if keyword == "PARAMETER":
            self.names += rest.split()
        elif keyword == "POINTS":
            self.points += self._points(rest, offset)
        elif keyword == "REGION":
            self.finish()
            self._callpath = rest.strip() or NO_NAME
        elif keyword == "METRIC":
            self.finish()
            self._metric = rest.strip() or NO_NAME
        elif keyword == "DATA":
            self._take(self._numbers(rest, offset))
        else:
            legal = f"legal: {', '.join(KEYWORDS)}{nearest(keyword, KEYWORDS)}"
            raise self._error(match.start(1), f"got '{keyword[:40]}'; {legal}")

    def finish(self) -> None:
        """Refuse to go on where points have no data."""
        if self._data not in (0, len(self.points)):
            raise self._error(
                0,
                f"got {self._data} DATA line(s) for '{self._callpath}', {self._metric}; "
                f"legal: {len(self.points)}, one per point",
            )
        self._data = 0

    def _take(self, values: tuple[float, ...]) -> None:
        if not values:
            raise self._error(0, "got DATA without values; legal: a value per repetition")
        if self._data >= len(self.points):
            raise self._error(0, f"got more DATA lines than the {len(self.points)} point(s)")
        where = f"{self.path}:{self._line}"
        point = self.points[self._data]
        self.found.append(Measurement(self._callpath, self._metric, point, values, where))
        self._data += 1

    def _points(self, text: str, offset: int) -> list[tuple[float, ...]]:
        if "(" not in text:
            return [(value,) for value in self._numbers(text, offset)]
        outside = re.sub(r"\([^()]*\)", lambda m: " " * len(m[0]), text)
        if outside.strip():
            at = offset + len(outside) - len(outside.lstrip())
            raise self._error(at, f"got '{outside.strip()[:40]}'; legal: points, (4 1) (8 1)")
        return [
            self._numbers(m[1], offset + m.start(1)) for m in re.finditer(r"\(([^()]*)\)", text)
        ]

    def _numbers(self, text: str, offset: int) -> tuple[float, ...]:
        values = []
        for word in re.finditer(r"[^\s,]+", text):
            try:
                values.append(plain_float(word[0]))
            except ValueError:
                at = offset + word.start()
                raise self._error(at, f"got '{word[0][:40]}'; legal: a number") from None
        return tuple(values)

    def _error(self, column: int, message: str) -> InputError:
        return InputError(f"{self.path}:{self._line}:{column + 1}: {message}")


EXTRA_P = Format(
    summary="Samples in Extra-P's text: PARAMETER, POINTS, REGION, METRIC, DATA.",
    recognises=lambda path, head: bool(_FIRST.match(first_line(head))),  # noqa: ARG005
    reads_samples=read_extrap_text,
)
