"""Writer of a report's folder, with pages in HTML and Markdown, figures, and all data as CSV.

::

    write_report(examine(StudyTable.of(frame)), Path("report"))
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from tasksim.base.errors import InputError
from tasksim.base.files import new_folder, refuse_folder
from tasksim.study.report.blocks import report_blocks
from tasksim.study.report.figures.registry import FIGURES, file_name
from tasksim.view.pages import Image, html_page, markdown_page, png

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tasksim.base.progress import ShareProgress
    from tasksim.study.report.figures.registry import Drawing
    from tasksim.study.report.findings import Findings
    from tasksim.view.pages import PageBlock

__all__ = ["MARK_FILE", "refuse_report", "write_report"]

MARK_FILE: Final = "report.json"
"""File with the findings as JSON; it marks a folder as a report."""
PAGE_FILE: Final = "index.html"
TEXT_PAGE: Final = "report.md"


def refuse_report(folder: Path, *, force: bool) -> None:
    """Raise :exc:`InputError` if *folder* must not be replaced; call it before the work begins."""
    refuse_folder(folder, force=force, what="a folder of a study's report", mark=MARK_FILE)


def write_report(
    findings: Findings,
    folder: Path,
    *,
    gantts: Sequence[PageBlock] = (),
    force: bool = False,
    progress: ShareProgress | None = None,
    pdf: bool = False,
) -> list[str]:
    """Write the report on a study to *folder*, all or nothing.

    Parameters
    ----------
    findings : Findings
    folder : Path
        Gets ``index.html``, which needs none of the other files, ``report.md`` with ``figures/``,
        ``data/`` with one CSV file per table and figure, and ``report.json``.
    gantts : sequence of blocks, default ()
        Gantt charts of cells to include.
    force : bool, default False
        Whether to replace an older report.
    progress : callable, optional
        Called with the name of the current figure, and the share of the work that is done.
    pdf : bool, default False
        Whether to write each figure as PDF beside the PNG.

    Returns
    -------
    list of str
        Paths of the files within *folder*.

    Raises
    ------
    InputError
        If *folder* exists and *force* is false, or if it is not a report.
    OutputError
        If the operating system refuses.

    See Also
    --------
    tasksim.study.report.findings.examine : Make the findings.
    """
    refuse_report(folder, force=force)
    tell = progress or (lambda _what, _share: None)
    drawings = _drawings(findings, tell)
    tables = _tables(findings, [d for found in drawings.values() for d in found])
    data = {name: f"data/{name}.csv" for name in tables}
    drawn = report_blocks(findings, drawings, data, gantts)
    blocks = _painted(drawn, tell)
    title = f"Study {findings.table.name}"
    with new_folder(folder, force=force) as temporary:
        (temporary / "data").mkdir()
        for name, table in tables.items():
            table.to_csv(temporary / data[name], index=False)
        links = _write_images(temporary, blocks)
        if pdf:
            _write_pdfs(temporary, drawn)
        (temporary / PAGE_FILE).write_text(html_page(title, blocks), encoding="utf-8")
        (temporary / TEXT_PAGE).write_text(markdown_page(title, blocks, links), encoding="utf-8")
        text = json.dumps(_plain(findings.to_json()), indent=2, ensure_ascii=False)
        (temporary / MARK_FILE).write_text(text + "\n", encoding="utf-8")
        return sorted(
            str(path.relative_to(temporary)) for path in temporary.rglob("*") if path.is_file()
        )


def _drawings(findings: Findings, tell: ShareProgress) -> dict[str, list[Drawing]]:
    """Return the drawings of each figure, with unique names."""
    found: dict[str, list[Drawing]] = {}
    taken = set(_TABLES)
    figures = FIGURES.items()
    for step, (name, figure) in enumerate(figures.items()):
        # Half of the work is drawing, the other half painting.
        tell(name, 0.5 * step / len(figures))
        found[name] = []
        for drawing in figure.draw(findings):
            stem = unique = file_name(drawing.name)
            count = 1
            while unique.lower() in taken:  # some file systems ignore case
                count += 1
                unique = f"{stem}-{count}"
            taken.add(unique.lower())
            found[name].append(replace(drawing, name=unique))
    return found


_TABLES: Final = ("cells", "tournament", "best", "failed", "interactions")


def _tables(findings: Findings, drawings: Sequence[Drawing]) -> dict[str, pd.DataFrame]:
    """Return all tables of a report, by name."""
    table = findings.table
    tables = {
        "cells": table.frame.drop(columns="used"),
        "tournament": pd.DataFrame(findings.to_json()["schedulers"]),
        "best": pd.DataFrame([_flat(vars(choice)) for choice in findings.best]),
        "interactions": pd.DataFrame(
            [
                {"first": i.first.name, "second": i.second.name, "strength": i.strength}
                for i in findings.interactions
            ]
        ),
        "failed": table.failed.drop(columns="used"),
    }
    assert tuple(sorted(tables)) == tuple(sorted(_TABLES))
    known = {name: frame for name, frame in tables.items() if len(frame)}
    return known | {drawing.name: drawing.data for drawing in drawings}


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return *values* with the items of nested mappings as values of their own."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        if key in ("question", "choice"):
            found |= value
        elif key == "next_choice":
            found["next"] = "" if value is None else ", ".join(f"{k}={v}" for k, v in value.items())
        else:
            found[key] = value
    return found


def _painted(blocks: Sequence[PageBlock], tell: ShareProgress) -> list[PageBlock]:
    """Return the blocks with their figures as PNG: painted once, for both pages."""
    painted: list[PageBlock] = []
    for step, block in enumerate(blocks):
        if isinstance(block, Image):
            tell(block.name, 0.5 + 0.5 * step / len(blocks))
            painted.append(replace(block, figure=png(block.figure)))
        else:
            painted.append(block)
    return painted


def _write_images(folder: Path, blocks: Sequence[PageBlock]) -> dict[str, str]:
    images = [block for block in blocks if isinstance(block, Image)]
    if images:
        (folder / "figures").mkdir()
    links = {image.name: f"figures/{image.name}.png" for image in images}
    if len(links) < len(images):
        raise InputError("two figures of the report have the same name")
    for image in images:
        (folder / links[image.name]).write_bytes(png(image.figure))
    return links


def _write_pdfs(folder: Path, blocks: Sequence[PageBlock]) -> None:
    from tasksim.view.figure import save_figure

    for block in blocks:
        if isinstance(block, Image) and not isinstance(block.figure, bytes):
            save_figure(block.figure, folder / "figures" / f"{block.name}.pdf")


def _plain(value: Any) -> Any:
    """Return *value* in types of JSON; NaN and infinities become null."""
    if isinstance(value, dict) or hasattr(value, "items"):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
