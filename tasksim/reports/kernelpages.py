"""Pages on the kernels of recorded runs, one per kernel, and an index of them.

::

    write_pages(report_kernels(runs), runs, Path("report"))
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import quote

from tasksim.base.files import new_folder, refuse_folder
from tasksim.base.units import duration_text
from tasksim.reports.modelreport import report_blocks, warnings_text
from tasksim.run.samples import first_repetitions
from tasksim.view.page.document import MOST_RUNS, save_page
from tasksim.view.pages import Heading, Image, Table, Text, html_page, markdown_page, png

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tasksim.models.samples import Samples
    from tasksim.reports.kernelreport import KernelReport
    from tasksim.run.samples import RecordedRun, Repeated
    from tasksim.view.pages import PageBlock

__all__ = ["MARK_FILE", "PageFormat", "refuse_reports", "write_pages"]

PageFormat = Literal["html", "md"]

MARK_FILE: Final = "kernels.json"
"""File with the table as JSON; its presence marks a folder of kernel reports."""
EXPLORED_PAGE: Final = "runs.html"
"""Page of the runs, to explore in a browser."""
MAX_EXPLORED_TASKS: Final = 1_000_000
"""Maximum number of tasks that a browser shows within seconds; larger runs have only the kernels'
pages."""


def refuse_reports(folder: Path, *, force: bool) -> None:
    """Raise :exc:`InputError`, before any work, if *folder* must not be replaced."""
    refuse_folder(folder, force=force, what="a folder of kernel reports", mark=MARK_FILE)


def write_pages(
    reports: Sequence[KernelReport],
    runs: Sequence[RecordedRun],
    folder: Path,
    *,
    repeated: Repeated = "each",
    form: PageFormat = "html",
    force: bool = False,
) -> list[dict[str, Any]]:
    """Write a page per kernel and an index to *folder*, all or nothing.

    Parameters
    ----------
    reports, runs, repeated
        The reports of :func:`~tasksim.reports.kernelreport.report_kernels`, and its arguments.

    Returns
    -------
    list of dict
        The table of the index, a row per kernel (:meth:`KernelReport.row`).

    Raises
    ------
    InputError
        If *folder* exists and *force* is not given, or is no folder of kernel reports.
    OutputError
        If the operating system refuses.
    """
    refuse_reports(folder, force=force)
    given = _Runs.of(runs, repeated)
    pages = _page_names(reports, form)
    rows = [report.row(page) for report, page in zip(reports, pages, strict=True)]
    with new_folder(folder, force=force) as temporary:
        for report, page in zip(reports, pages, strict=True):
            if page is not None:
                _write_page(temporary / page, report, given, form)
        explored = _write_explored(temporary, runs) if form == "html" else ""
        index = _index(rows, given, form, explored)
        (temporary / f"index.{form}").write_text(index, encoding="utf-8")
        data = json.dumps({"kernels": rows}, indent=2, ensure_ascii=False)
        (temporary / MARK_FILE).write_text(data + "\n", encoding="utf-8")
    return rows


# Pages


def _page_names(reports: Sequence[KernelReport], form: PageFormat) -> list[str | None]:
    """Return a unique file name per report; None for a report without a page."""
    several = len({report.recorded.architecture for report in reports}) > 1
    taken = {"index", EXPLORED_PAGE.removesuffix(".html")}
    names: list[str | None] = []
    for report in reports:
        recorded = report.recorded
        whole = f"{recorded.name}-{recorded.architecture}" if several else recorded.name
        stem = base = re.sub(r"[^\w.+-]", "_", whole).lstrip(".") or "kernel"
        count = 1
        while stem.lower() in taken:
            count += 1
            stem = f"{base}-{count}"
        taken.add(stem.lower())
        names.append(None if report.diagnosis is None else f"{stem}.{form}")
    return names


def _write_explored(folder: Path, runs: Sequence[RecordedRun]) -> str:
    """Write the page to explore the runs; return the index's sentence about it."""
    shown = runs[:MOST_RUNS]
    tasks = sum(len(recorded.run) for recorded in shown)
    if tasks > MAX_EXPLORED_TASKS:
        return ""
    names = [str(recorded.path) for recorded in shown]
    save_page([recorded.run for recorded in shown], folder / EXPLORED_PAGE, names=names)
    which = "the runs" if len(shown) == len(runs) else f"the first {len(shown)} of {len(runs)} runs"
    return f"{LINK_MARK}Explore {which}{LINK_MARK}: the tasks over time, and their waits."


def _write_page(path: Path, report: KernelReport, runs: _Runs, form: PageFormat) -> None:
    assert report.diagnosis is not None
    judged = _judged_summary(report) if report.origin == "given" else ""
    blocks = report_blocks(report.diagnosis, judged=judged)
    blocks += runs.blocks(report.recorded.samples)
    title = f"Kernel {report.recorded.title}"
    if form == "html":
        path.write_text(html_page(title, blocks), encoding="utf-8")
        return
    images = [block for block in blocks if isinstance(block, Image)]
    links = {image.name: f"{path.stem}-{image.name}.png" for image in images}
    for image in images:
        (path.parent / links[image.name]).write_bytes(png(image.figure))
    path.write_text(markdown_page(title, blocks, links), encoding="utf-8")


def _judged_summary(report: KernelReport) -> str:
    model, samples = report.model, report.recorded.samples
    fit = ""
    assert model is not None
    linear = model.linear()
    if linear is not None and math.isfinite(linear.rsquared_adj):
        fit = f", with an adjusted R² of {linear.rsquared_adj:.4f}"
    return (
        f"{model.description()}. The model was fitted to other samples{fit}; it is judged by "
        f"{len(samples):,} tasks of {len(samples.configurations()[0]):,} configurations. "
        f"{warnings_text(len(report.warnings))}"
    )


@dataclass(frozen=True)
class _Runs:
    """The runs of the reports, and their numbers in the samples."""

    runs: Sequence[RecordedRun]
    numbers: Sequence[int]

    @classmethod
    def of(cls, runs: Sequence[RecordedRun], repeated: Repeated) -> _Runs:
        return cls(runs, first_repetitions(runs) if repeated == "mean" else range(len(runs)))

    def count(self) -> str:
        """Return the number of runs, in words."""
        different = len(set(self.numbers))
        runs = "1 run" if len(self.runs) == 1 else f"{len(self.runs)} runs"
        if different == len(self.runs):
            return runs
        return f"{'1 graph' if different == 1 else f'{different} graphs'} (means of {runs})"

    def blocks(self, samples: Samples | None = None) -> list[PageBlock]:
        """Return a table of the runs with their numbers and, if given, their tasks in *samples*."""
        header = ["run", "folder", "graph", "kind", "scheduler", "makespan"]
        rows = [
            [
                str(number),
                str(recorded.path),
                recorded.run.graph_label,
                recorded.run.kind,
                recorded.run.scheduler,
                duration_text(recorded.run.makespan_s),
            ]
            for number, recorded in zip(self.numbers, self.runs, strict=True)
        ]
        if samples is not None and samples.runs is not None:
            header.append("tasks")
            for number, row in zip(self.numbers, rows, strict=True):
                row.append(f"{int((samples.runs == number).sum()):,}")
        blocks: list[PageBlock] = [Heading("Runs"), Table(header, rows)]
        if len(set(self.numbers)) < len(self.runs):
            blocks.append(Text("Runs of one number are averaged task by task."))
        return blocks


# The index

INDEX_HEADER: Final = (
    "kernel", "tasks", "total time", "model", "formula (s)", "R² adj.", "MLogQ", "bias",
    "warnings", "first warning",
)  # fmt: skip
TEXT_COLUMN_STYLE: Final = """<style>
body { max-width: 90rem; }
td:nth-child(4), td:nth-child(5), td:nth-child(10) { text-align: left; }
</style>
</head>"""
"""Style of the index that aligns columns of text at the left."""
LINK_MARK: Final = "\N{WORD JOINER}"
"""Mark on both sides of a text that becomes a link; no kernel's name contains it."""


def _index(rows: Sequence[dict[str, Any]], runs: _Runs, form: PageFormat, explored: str) -> str:
    """Return the index page; *explored* is its sentence about the page of the runs."""
    tasks, total = sum(row["tasks"] for row in rows), sum(row["total_s"] for row in rows)
    warned = sum(row["warnings"] > 0 for row in rows)
    blocks: list[PageBlock] = [
        Text(
            f"{len(rows)} kernels, {tasks:,} tasks of {runs.count()}, "
            f"{duration_text(total)} in all; {warned} with warnings."
        ),
        Table(INDEX_HEADER, [_index_cells(row) for row in rows]),
        Text(
            "MLogQ: mean of |ln(predicted / measured)| over configurations; bias: mean of "
            "ln(predicted / measured), negative where predictions are too short. R² is that of "
            "a linear model's own fit. A model that was given was fitted to other samples."
        ),
        *runs.blocks(),
        *([Text(explored)] if explored else []),
    ]
    pages = [*(row["report"] for row in rows), EXPLORED_PAGE if explored else None]
    if form == "html":
        page = html_page("Kernels", blocks).replace("</head>", TEXT_COLUMN_STYLE, 1)
        return _linked(page, pages, '<a href="{page}">{text}</a>')
    return _linked(markdown_page("Kernels", blocks, {}), pages, "[{text}]({page})")


def _index_cells(row: dict[str, Any]) -> tuple[str, ...]:
    """Return a row of the index as texts, with :data:`LINK_MARK` around those that become links."""
    name = f"{row['kernel']} on {row['architecture']}"
    return (
        f"{LINK_MARK}{name}{LINK_MARK}" if row["report"] else name,
        f"{row['tasks']:,}",
        duration_text(row["total_s"]),
        "–" if row["kind"] is None else f"{row['kind']} ({row['origin']})",
        row["formula"] or "–",
        _number(row["rsquared_adj"]),
        _number(row["mlogq"]),
        _number(row["bias"], "+.4f"),
        str(row["warnings"]),
        _first_words(row),
    )


def _first_words(row: dict[str, Any]) -> str:
    """Return why there is no model or no judgement, and the first warning."""
    reason = row["reason"] or ""
    if reason and row["kind"] is None:
        reason = f"no model: {reason}"
    return "; ".join(filter(None, [reason, row["first_warning"]])) or "–"


def _number(value: float | None, form: str = ".4f") -> str:
    return "–" if value is None else format(round(value, 4) + 0.0, form)


def _linked(text: str, pages: Sequence[str | None], link: str) -> str:
    """Return *text* with its marked cells as links to *pages*, in order."""
    ahead = iter([page for page in pages if page is not None])
    return re.sub(
        f"{LINK_MARK}(.*?){LINK_MARK}",
        lambda found: link.format(page=quote(next(ahead)), text=found[1]),
        text,
    )
