"""Pages of headings, texts, tables and figures, as one HTML file or as Markdown with images."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from html import escape
from io import BytesIO
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

__all__ = ["Callout", "Heading", "Image", "Table", "Text", "html_page", "markdown_page", "png"]

DOTS_PER_INCH: Final = 110.0  # figures are as wide as the text on a usual screen

# A number, with signs, a unit or stars behind it, or two with "to" or "±" between; or none.
_VALUE: Final = r"[-+<>≤≥~×–]*\s?\d[\d,.]*(e[-+]?\d+)?\s?(%|[a-zA-Z]{1,3}(/s)?|\*+)?"
_NUMBER: Final = re.compile(rf"({_VALUE}(\s?(to|±|/|\.\.)\s?{_VALUE})?|\**|[-–]|not known)")

STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 62rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: .3rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; font-size: .9rem; margin: .6rem 0; }
th, td { padding: .2rem .8rem; border-bottom: 1px solid #dde3e8; text-align: right; }
th.text, td.text { text-align: left; }
img { max-width: 100%; height: auto; display: block; margin: .8rem 0; }
.finding { border-left: 4px solid #9aa5b1; background: #f5f7f9; padding: .5rem .9rem;
  margin: .6rem 0; }
.finding.warning { border-color: #d55e00; background: #fdf3ec; }
.finding p { margin: .2rem 0; } .evidence { color: #5a6570; font-size: .85rem; }
code { background: #f0f3f5; padding: 0 .25rem; }
"""


@dataclass(frozen=True)
class Heading:
    """A heading of the second level."""

    text: str


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Table:
    """A table; columns of text are to the left, those of numbers to the right."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def texts(self) -> list[bool]:
        """Return which columns have text: the first, and where a cell is no number.

        >>> Table(["kernel", "time", "why"], [["gemm", "1.5 ms", "few"]]).texts()
        [True, False, True]
        """
        cells = list(zip(*self.rows, strict=True)) or [()] * len(self.header)
        return [
            number == 0 or not all(map(_NUMBER.fullmatch, column))
            for number, column in enumerate(cells)
        ]


@dataclass(frozen=True)
class Image:
    """A figure; *name* is part of its file's name, *alt* says what it shows."""

    name: str
    figure: Figure
    alt: str


@dataclass(frozen=True)
class Callout:
    """Something found: how severe, what, the numbers behind it, and what to do."""

    severity: str
    message: str
    evidence: str
    advice: str


Block = Heading | Text | Table | Image | Callout


def html_page(title: str, blocks: Sequence[Block]) -> str:
    """Return a page that needs nothing else: images are inside, there are no scripts."""
    body = "\n".join(map(_html, blocks))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{escape(title)}</h1>\n{body}\n</body>\n</html>\n"
    )


def markdown_page(title: str, blocks: Sequence[Block], images: Mapping[str, str]) -> str:
    """Return the page as Markdown; *images* gives the path of each image by its name."""
    parts = [f"# {_plain(title)}", *(_markdown(block, images) for block in blocks)]
    return "\n\n".join(parts) + "\n"


def png(figure: Figure) -> bytes:
    """Return a figure as PNG, the same bytes each time."""
    drawn = BytesIO()
    figure.savefig(drawn, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
    return drawn.getvalue()


def _html(block: Block) -> str:
    if isinstance(block, Heading):
        return f"<h2>{escape(block.text)}</h2>"
    if isinstance(block, Text):
        return f"<p>{escape(block.text)}</p>"
    if isinstance(block, Table):
        return _html_table(block)
    if isinstance(block, Image):
        data = base64.b64encode(png(block.figure)).decode("ascii")
        return f'<img alt="{escape(block.alt)}" src="data:image/png;base64,{data}">'
    advice = f"<p>Advice: {escape(block.advice)}.</p>" if block.advice else ""
    return (
        f'<div class="finding {escape(block.severity)}">'
        f"<p><strong>{escape(block.severity.capitalize())}:</strong> {escape(block.message)}.</p>"
        f'{advice}<p class="evidence">{escape(block.evidence)}</p></div>'
    )


def _html_table(table: Table) -> str:
    head = _html_cells("th", table.header, table.texts())
    rows = "\n".join(f"<tr>{_html_cells('td', row, table.texts())}</tr>" for row in table.rows)
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"


def _html_cells(tag: str, cells: Sequence[str], texts: Sequence[bool]) -> str:
    return "".join(
        f'<{tag} class="text">{escape(cell)}</{tag}>' if text else f"<{tag}>{escape(cell)}</{tag}>"
        for cell, text in zip(cells, texts, strict=True)
    )


def _markdown(block: Block, images: Mapping[str, str]) -> str:
    if isinstance(block, Heading):
        return f"## {_plain(block.text)}"
    if isinstance(block, Text):
        return _plain(block.text)
    if isinstance(block, Table):
        return _markdown_table(block)
    if isinstance(block, Image):
        return f"![{_plain(block.alt)}]({images[block.name]})"
    advice = f" Advice: {_plain(block.advice)}." if block.advice else ""
    evidence = f" ({_plain(block.evidence)})" if block.evidence else ""
    return f"- **{block.severity.capitalize()}:** {_plain(block.message)}.{advice}{evidence}"


def _markdown_table(table: Table) -> str:
    rule = ["---" if text else "---:" for text in table.texts()]
    lines = [table.header, rule, *([_plain(cell) for cell in row] for row in table.rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _plain(text: str) -> str:
    """Return *text* so that Markdown shows it as it is."""
    return "".join(f"\\{c}" if c in "\\*_|<>`[]#" else c for c in text)
