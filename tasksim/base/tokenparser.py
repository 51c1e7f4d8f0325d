"""Parser of short texts, one token at a time, for errors that name a column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    import re

__all__ = ["TokenParser"]


class TokenParser:
    """A recursive-descent parser; its subclasses have a method for each rule of a grammar.

    Parameters
    ----------
    text : str
    what : str
        The kind of text, for messages.
    pattern : re.Pattern
        A token. Its named groups are the kinds of tokens: ``end`` matches at the end of the text,
        and ``other``, the last one, matches anything, which is an error.

    Attributes
    ----------
    token, kind : str
        The current token, and its kind.
    at : int
        Its place in the text.
    end : int
        End of the token before it.
    """

    def __init__(self, text: str, what: str, pattern: re.Pattern[str]) -> None:
        self.text = text
        self._what, self._pattern = what, pattern
        self.token = self.kind = ""
        self.at = self.end = self._next_at = 0
        self._advance()

    def _advance(self) -> str:
        """Advance to the next token; return the current one."""
        passed, self.end = self.token, self._next_at
        match = self._pattern.match(self.text, self._next_at)
        assert match is not None  # the last alternative matches anything
        self.kind = str(match.lastgroup)
        self.token = match[self.kind]
        self.at, self._next_at = match.start(self.kind), match.end()
        if self.kind == "other":
            raise self._error(self.at, f"unexpected '{self.token}'")
        return passed

    def _expected(self, what: str) -> InputError:
        got = f"'{self.token}'" if self.token else "the end"
        return self._error(self.at, f"expected {what}, got {got}")

    def _error(self, at: int, message: str) -> InputError:
        return InputError(f"{self._what} '{self.text}': column {at + 1}: {message}")
