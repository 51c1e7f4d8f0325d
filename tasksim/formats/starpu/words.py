"""Words of StarPU's text files."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Word", "Words"]


_WHOLE: Final = re.compile(r"\+?[0-9]{1,19}")
_HEXADECIMAL: Final = re.compile(r"(?:0[xX])?[0-9a-fA-F]{1,8}")
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,5})?")
_NAN: Final = re.compile(r"[+-]?nan(?:\([^)]*\))?", re.IGNORECASE)

MAX_WORD_LETTERS: Final = 40
"""Largest number of characters of a word in a message: the place and the legal values need the rest
of the line."""


class Word(NamedTuple):
    """A word between white space; line and column count from 1."""

    text: str
    line: int
    column: int


class Words:
    """A text without its comments, read from the beginning to the end.

    Attributes
    ----------
    where
        The current part of the file, for messages: ``"combination 2 (cuda0)"``.
    last
        The last word read.
    comment
        The comment just above it, or an empty text.
    """

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.where = ""
        self.comment = ""
        self._lines: list[list[Word]] = []
        """Words of the lines outside comments."""
        self._comments: list[str] = []
        """Comment above each of these lines."""
        self._next = self._column = 0
        above = ""
        for number, line in enumerate(text.split("\n"), 1):
            words = [Word(m[0], number, m.start() + 1) for m in re.finditer(r"\S+", line)]
            if words and words[0].text.startswith("#"):
                above = line
            elif words:
                self._lines.append(words)
                self._comments.append(above)
                above = ""
        # An empty word at the end of the text.
        self.last = self._end = Word("", text.count("\n") + 1, len(text) - text.rfind("\n"))

    def line(self, what: str, length: int | None = None) -> list[Word]:
        """Return the *length* words that remain on this line, or those of the next."""
        self._seek(what)
        words = self._lines[self._next][self._column :]
        self.last, self.comment = words[0], self._comments[self._next]
        if length is not None and len(words) != length:
            found = f"{len(words)}: {_quoted(' '.join(word.text for word in words))}"
            raise self.error(words[0], f"{length} numbers on a line, {what}", found)
        self._next, self._column = self._next + 1, 0
        return words

    def one(self, what: str) -> Word:
        """Return the next word; *what* describes it in messages."""
        self._seek(what)
        self.last = self._lines[self._next][self._column]
        self.comment = self._comments[self._next]
        self._column += 1
        return self.last

    def count(self, what: str) -> int:
        """Return the next word, a whole number."""
        legal = f"{what} (a whole number)"
        return self.whole(self.one(legal), legal)

    def finish(self, what: str) -> None:
        """Refuse remaining words; *what* was expected instead."""
        rest = [word for words in self._lines[self._next :] for word in words][self._column :]
        if rest:
            raise self.error(rest[0], what)

    def whole(self, word: Word, what: str) -> int:
        """Return *word* as a whole number, not negative."""
        if not _WHOLE.fullmatch(word.text):
            raise self.error(word, what)
        return int(word.text)

    def hexadecimal(self, word: Word, what: str) -> int:
        """Return *word* as a number of 32 bits in hexadecimal digits."""
        if not _HEXADECIMAL.fullmatch(word.text):
            raise self.error(word, what)
        return int(word.text, 16)

    def number(self, word: Word, what: str) -> float:
        """Return *word* as a finite number, or NaN."""
        if _NAN.fullmatch(word.text):
            return math.nan
        if not _NUMBER.fullmatch(word.text) or not math.isfinite(float(word.text)):
            raise self.error(word, what)
        return float(word.text)

    def not_negative(self, word: Word, what: str) -> float:
        """Return *word* as a finite number that is not negative, or NaN."""
        value = self.number(word, what)
        if value < 0:
            raise self.error(word, what)
        return value

    def error(self, word: Word, expected: str, found: str = "") -> InputError:
        """Return the error for a *word* that is not the *expected* one."""
        got = found or (_quoted(word.text) if word is not self._end else "the end of the file")
        where = f"{self.where}: " if self.where else ""
        place = f"{self.path}:{word.line}:{word.column}"
        return InputError(f"{place}: {where}expected {expected}, found {got}")

    def _seek(self, what: str) -> None:
        """Move to the next word."""
        if self._next < len(self._lines) and self._column == len(self._lines[self._next]):
            self._next, self._column = self._next + 1, 0
        if self._next == len(self._lines):
            raise self.error(self._end, what)


def _quoted(text: str) -> str:
    short = text if len(text) <= MAX_WORD_LETTERS else f"{text[: MAX_WORD_LETTERS - 3]}..."
    return repr(short)
