"""HTML summaries of objects for notebooks, with a title, facts, a table and a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["html_summary"]

_LEFT_ALIGNED = ' style="text-align: left"'


def html_summary(
    title: str,
    facts: Sequence[tuple[str, str]] = (),
    *,
    header: Sequence[str] = (),
    rows: Sequence[Sequence[str]] = (),
    picture: str = "",
) -> str:
    """Return the HTML of an object, for its ``_repr_html_``.

    Parameters
    ----------
    title : str
        Kind of the object, in bold.
    facts : sequence of (str, str), default ()
        Pairs of a name and a text.
    header, rows : sequences of str, default ()
        A table below the facts; the first column is text, the others are numbers.
    picture : str, default ""
        SVG below the title. It is the only argument that is not escaped.

    Examples
    --------
    >>> html_summary("Run", [("makespan", "2 s")])
    '<div><b>Run</b><table><tr><td style="text-align: left">makespan</td>...</tr></table></div>'
    """
    parts = [f"<b>{_escaped(title)}</b>"]
    if picture:
        parts.append(f"<div>{picture}</div>")
    if facts:
        pairs = [f"{_cell('td', name, True)}{_cell('td', text, True)}" for name, text in facts]
        parts.append(f"<table>{''.join(f'<tr>{pair}</tr>' for pair in pairs)}</table>")
    if rows:
        lines = [_row("th", header), *(_row("td", row) for row in rows)]
        parts.append(f"<table>{''.join(lines)}</table>")
    return f"<div>{''.join(parts)}</div>"


def _row(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(_cell(tag, cell, n == 0) for n, cell in enumerate(cells))}</tr>"


def _cell(tag: str, text: str, left: bool) -> str:
    return f"<{tag}{_LEFT_ALIGNED if left else ''}>{_escaped(text)}</{tag}>"


def _escaped(text: str) -> str:
    from html import escape  # imported late: only notebooks need it

    return escape(text)
