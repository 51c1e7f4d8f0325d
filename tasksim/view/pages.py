"""Pages of headings, texts, tables and figures, as one HTML file or as Markdown with images."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from html import escape
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from tasksim.view.tokens import COLOURS, token_sheet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

__all__ = [
    "Callout",
    "Heading",
    "Image",
    "LinkLine",
    "Listing",
    "Table",
    "Text",
    "html_page",
    "markdown_page",
    "png",
]

DOTS_PER_INCH: Final = 110.0  # figures are as wide as the text on a usual screen

_CODE: Final = re.compile("`([^`\n]+)`")
# A number, with signs, a unit or stars behind it, or two with "to" or "±" between; or none.
_VALUE: Final = r"[-+<>≤≥~×–]*\s?\d[\d,.]*(e[-+]?\d+)?\s?(%|[a-zA-Z]{1,3}(/s)?|\*+)?"
_NUMBER: Final = re.compile(rf"({_VALUE}(\s?(to|±|/|\.\.)\s?{_VALUE})?|\**|[-–]|not known)")

STYLE: Final = (
    token_sheet(COLOURS)
    + """\
@media screen and (prefers-color-scheme: dark) { img { filter: invert(.91) hue-rotate(180deg); } }
body { font: 15px/1.55 var(--font); color: var(--text); background: var(--ground);
  max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; font-weight: 650; line-height: 1.25; margin-bottom: .3rem; }
h2 { font-size: 1.15rem; font-weight: 650; margin-top: 2rem; padding-top: 1rem;
  border-top: 1px solid var(--line); }
a { color: var(--action); }
:focus-visible { outline: 2px solid var(--action); outline-offset: 1px; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; margin: .6rem 0;
  font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .8rem; border-bottom: 1px solid var(--line); text-align: right; }
th { color: var(--soft); font-weight: 600; vertical-align: bottom; }
tbody tr:hover { background: var(--surface); }
td { white-space: nowrap; }
th.text, td.text { text-align: left; }
td.text { white-space: normal; }
img { max-width: 100%; height: auto; display: block; margin: .8rem 0; }
.finding { border-left: 4px solid var(--edge); border-radius: 0 var(--radius) var(--radius) 0;
  background: var(--surface); padding: .5rem .9rem; margin: .6rem 0; }
.finding.warning { border-color: var(--warning); background: var(--warm); }
.finding p { margin: .2rem 0; } .evidence { color: var(--soft); font-size: .85rem; }
code, pre { background: var(--band); border-radius: var(--radius); padding: 0 .25rem;
  font-family: var(--mono); }
pre { padding: .5rem .9rem; overflow-x: auto; font-size: .85rem; }
@media print {
  body { margin: 0; max-width: none; } .wide, pre { overflow: visible; }
  pre { white-space: pre-wrap; } table { font-size: .75rem; }
  th, td { padding: .15rem .4rem; } td { white-space: normal; }
  tr, img, .finding { break-inside: avoid; } h2 { break-after: avoid; }
}
"""
)
"""Style of a page, light or dark as the reader's system. Figures are drawn on white; in the dark,
their lightness is inverted and their hues are turned back."""


@dataclass(frozen=True)
class Heading:
    """A heading of the second level."""

    text: str


@dataclass(frozen=True)
class Text:
    """A paragraph; as in cells of tables, what is between backticks is code."""

    text: str


@dataclass(frozen=True)
class Table:
    """A table, with columns of text to the left and columns of numbers to the right."""

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
    """A figure, or its PNG; *name* is part of its file's name, *alt* is its alternative text."""

    name: str
    figure: Figure | bytes
    alt: str


@dataclass(frozen=True)
class Callout:
    """A finding with its severity, its numbers and a recommendation."""

    severity: str
    message: str
    evidence: str
    advice: str


@dataclass(frozen=True)
class Listing:
    """A listing of commands."""

    lines: Sequence[str]


@dataclass(frozen=True)
class LinkLine:
    """A line of links, with an introduction, and a label and a target for each link."""

    text: str
    targets: Sequence[tuple[str, str]]


PageBlock = Heading | Text | Table | Image | Callout | Listing | LinkLine


def html_page(title: str, blocks: Sequence[PageBlock]) -> str:
    """Return a page that needs nothing else: images are inside, there are no scripts."""
    body = "\n".join(map(_html, blocks))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<main>\n<h1>{escape(title)}</h1>\n{body}\n</main>\n</body>\n</html>\n"
    )


def markdown_page(title: str, blocks: Sequence[PageBlock], images: Mapping[str, str]) -> str:
    """Return the page as Markdown; *images* gives the path of each image by its name."""
    parts = [f"# {_plain(title)}", *(_markdown(block, images) for block in blocks)]
    return "\n\n".join(parts) + "\n"


def png(figure: Figure | bytes) -> bytes:
    """Return a figure as PNG, the same bytes each time."""
    if isinstance(figure, bytes):
        return figure
    # savefig() draws twice, first for the layout alone, which is a step of each drawing anyway.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.image import imsave

    figure.set_dpi(DOTS_PER_INCH)
    canvas: Any = FigureCanvasAgg(figure)
    unnamed: Any = {"Software": None}
    canvas.draw()
    drawn = BytesIO()
    imsave(
        drawn, canvas.buffer_rgba(), format="png", origin="upper", dpi=DOTS_PER_INCH,
        metadata=unnamed,
    )  # fmt: skip
    return drawn.getvalue()


def _html(block: PageBlock) -> str:
    if isinstance(block, Heading):
        return f"<h2>{escape(block.text)}</h2>"
    if isinstance(block, Text):
        return f"<p>{_html_text(block.text)}</p>"
    if isinstance(block, Table):
        return _html_table(block)
    if isinstance(block, Image):
        data = base64.b64encode(png(block.figure)).decode("ascii")
        return f'<img alt="{escape(block.alt)}" src="data:image/png;base64,{data}">'
    if isinstance(block, Listing):
        return f'<pre tabindex="0">{escape(chr(10).join(block.lines))}</pre>'
    if isinstance(block, LinkLine):
        found = (f'<a href="{escape(quote(to))}">{escape(name)}</a>' for name, to in block.targets)
        return f"<p>{escape(block.text)} {', '.join(found)}</p>"
    advice = f"<p>Advice: {escape(block.advice)}.</p>" if block.advice else ""
    evidence = f'<p class="evidence">{escape(block.evidence)}</p>' if block.evidence else ""
    return (
        f'<div class="finding {escape(block.severity)}">'
        f"<p><strong>{escape(block.severity.capitalize())}:</strong> {escape(block.message)}.</p>"
        f"{advice}{evidence}</div>"
    )


def _html_table(table: Table) -> str:
    head = _html_cells("th", table.header, table.texts())
    rows = "\n".join(f"<tr>{_html_cells('td', row, table.texts())}</tr>" for row in table.rows)
    return (
        f'<div class="wide" tabindex="0"><table>\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{rows}\n</tbody>\n</table></div>"
    )


def _html_cells(tag: str, cells: Sequence[str], texts: Sequence[bool]) -> str:
    return "".join(
        f'<{tag} class="text">{_html_text(cell)}</{tag}>'
        if text
        else f"<{tag}>{_html_text(cell)}</{tag}>"
        for cell, text in zip(cells, texts, strict=True)
    )


def _html_text(text: str) -> str:
    return _CODE.sub(r"<code>\1</code>", escape(text))


def _markdown(block: PageBlock, images: Mapping[str, str]) -> str:
    if isinstance(block, Heading):
        return f"## {_plain(block.text)}"
    if isinstance(block, Text):
        return _markdown_text(block.text)
    if isinstance(block, Table):
        return _markdown_table(block)
    if isinstance(block, Image):
        return f"![{_plain(block.alt)}]({images[block.name]})"
    if isinstance(block, Listing):
        ticks = [len(ticks) for line in block.lines for ticks in re.findall("`+", line)]
        fence = "`" * max(3, 1 + max(ticks, default=0))
        return "\n".join([fence, *block.lines, fence])
    if isinstance(block, LinkLine):
        found = (f"[{_plain(name)}]({quote(to)})" for name, to in block.targets)
        return f"{_plain(block.text)} {', '.join(found)}"
    advice = f" Advice: {_plain(block.advice)}." if block.advice else ""
    evidence = f" ({_plain(block.evidence)})" if block.evidence else ""
    return f"- **{block.severity.capitalize()}:** {_plain(block.message)}.{advice}{evidence}"


def _markdown_table(table: Table) -> str:
    rule = ["---" if text else "---:" for text in table.texts()]
    rows = ([_markdown_text(cell) for cell in row] for row in table.rows)
    lines = [[_plain(name) for name in table.header], rule, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _markdown_text(text: str) -> str:
    # A bar ends a cell, also within code.
    parts = _CODE.split(text)
    return "".join(
        f"`{part.replace('|', chr(92) + '|')}`" if number % 2 else _plain(part)
        for number, part in enumerate(parts)
    )


def _plain(text: str) -> str:
    """Return *text* so that Markdown shows it as it is."""
    return "".join(f"\\{c}" if c in "\\*_|<>`[]#" else c for c in text)
