"""Reports on the kernels of recorded runs: what their tasks took, and whether a model says so.

::

    runs = recorded_runs([(path, load(path))])
    table = write_reports(runs, ModelLibrary(folder), Path("report"))

One page per kernel (:mod:`tasksim.view.modelreport`), and an index of them.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import quote

import numpy as np

from tasksim.base.errors import InputError, unknown
from tasksim.base.files import new_folder, refuse_folder
from tasksim.models.base import SIZE, columns
from tasksim.models.candidates import AUTO
from tasksim.models.diagnostics import Diagnosis, diagnose
from tasksim.models.findings import Finding, sorted_findings
from tasksim.models.leftout import predicted_where_possible
from tasksim.models.regression import LinearModel
from tasksim.models.rows import describe_row
from tasksim.models.runshifts import shifted_runs
from tasksim.models.terms import parse_terms
from tasksim.run.samples import (
    RecordedKernel,
    RecordedRun,
    Repeated,
    first_repetitions,
    recorded_kernels,
)
from tasksim.view.modelpage import Heading, Image, Table, Text, html_page, markdown_page, png
from tasksim.view.modelreport import report_blocks
from tasksim.view.times import duration_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from tasksim.models.base import KernelModel
    from tasksim.models.leastsquares import Weights
    from tasksim.models.samples import Samples
    from tasksim.models.store import ModelLibrary
    from tasksim.view.modelpage import Block

__all__ = [
    "MARK",
    "Fitting",
    "Format",
    "KernelReport",
    "refuse_reports",
    "report_kernels",
    "write_reports",
]

Format = Literal["html", "md"]
Origin = Literal["given", "fitted"]

MARK: Final = "kernels.json"
"""The table as JSON data; what has it is a folder of kernel reports."""
FEWEST: Final = 4
"""Configurations that a search for terms needs, as :class:`LinearModel` says too."""
FITTED_ROW: Final = "samples that were fitted"
REFIT: Final = "refitted to these tasks, "
REFITTED_CODES: Final = ("overfit",)
"""Findings that compare with the fit, which was not to these samples."""
UNPREDICTED: Final = "the model that there is can predict none of its tasks"


@dataclass(frozen=True)
class Fitting:
    """How linear models are fitted to the tasks of runs.

    Attributes
    ----------
    terms
        Kernel -> the terms of its model; those of other kernels are searched for.
    weights
        What errors count, as in :class:`~tasksim.models.regression.LinearModel`.
    """

    terms: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    weights: Weights = "relative"

    def terms_of(self, kernel: str) -> str:
        """Return the terms of *kernel*, or ``"auto"``."""
        return self.terms.get(kernel, AUTO)


@dataclass(frozen=True, eq=False)
class KernelReport:
    """A kernel of the runs, a model of it, and how good that is.

    Attributes
    ----------
    model, origin, diagnosis
        None if there is no model, and none can be fitted.
    findings
        In words, warnings first; without a model, what is to be said of the runs.
    reason
        Why there is no model; else nothing.
    """

    recorded: RecordedKernel
    model: KernelModel | None
    origin: Origin | None
    diagnosis: Diagnosis | None
    findings: tuple[Finding, ...]
    reason: str = ""

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """The findings that say that predictions may be wrong."""
        return tuple(finding for finding in self.findings if finding.severity == "warning")

    def row(self, page: str | None) -> dict[str, Any]:
        """Return what the index says of it, as plain JSON data; *page* is its file's name."""
        recorded, model = self.recorded, self.model
        linear = model if isinstance(model, LinearModel) else None
        fit = None if self.diagnosis is None else self.diagnosis.training
        return {
            "kernel": recorded.name,
            "architecture": recorded.architecture,
            "tasks": len(recorded.samples),
            "configurations": len(recorded.samples.configurations()[0]),
            "total_s": recorded.total_s,
            "kind": None if model is None else model.kind,
            "origin": self.origin,
            "formula": None if linear is None else linear.formula(4),
            "rsquared_adj": None if linear is None else _finite(linear.rsquared_adj_),
            "mlogq": None if fit is None else _finite(fit.mlogq),
            "bias": None if fit is None else _finite(fit.bias),
            "warnings": len(self.warnings),
            "first_warning": self.warnings[0].message if self.warnings else None,
            "reason": self.reason or None,
            "report": page,
        }


def report_kernels(
    runs: Sequence[RecordedRun],
    library: ModelLibrary | None = None,
    *,
    only: Sequence[str] = (),
    fitting: Fitting = Fitting(),
    repeated: Repeated = "each",
    progress: Callable[[int, int], None] | None = None,
) -> list[KernelReport]:
    """Return a report on every kernel of *runs*, those first that take longest in all.

    Parameters
    ----------
    runs
        Native or simulated; samples keep their place in this list, so shifts between runs show.
    library
        Models to be judged. For kernels that it has none of, a linear model is fitted.
    only
        The kernels; by default all.
    fitting
        How that is fitted.
    repeated
        What runs that repeat each other are, as in :func:`~tasksim.run.samples.recorded_kernels`.
    progress
        Called after each kernel with how many are done, and of how many.

    Raises
    ------
    InputError
        If kernels of one name have different parameters, the library's model of a kernel needs
        others, or there is no model of any kernel and none can be fitted; if terms are given of
        kernels that are not there or have models in the library, or of unknown parameters; if
        *only* names a kernel that is not there.
    """
    kernels = _chosen(recorded_kernels(runs, repeated), only)
    _check_terms(fitting.terms, kernels, library)
    reports = []
    for kernel in kernels:
        reports.append(_reported(kernel, library, fitting))
        if progress is not None:
            progress(len(reports), len(kernels))
    if all(report.model is None for report in reports):
        reasons = "; ".join(f"{report.recorded.name}: {report.reason}" for report in reports)
        raise InputError(
            f"there is no kernel to report on ({reasons or 'the runs have no tasks'}): give "
            "--models with models of them, or runs of several sizes"
        )
    return reports


def _chosen(kernels: Sequence[RecordedKernel], only: Sequence[str]) -> list[RecordedKernel]:
    """Return those of *kernels* that *only* names, all if it names none."""
    names = list(dict.fromkeys(kernel.name for kernel in kernels))
    for name in only:
        if name not in names:
            raise unknown("kernel", name, names, "these runs")
    return [kernel for kernel in kernels if not only or kernel.name in only]


def refuse_reports(folder: Path, *, force: bool) -> None:
    """Raise :exc:`InputError`, before the work is done, if *folder* must not be replaced."""
    refuse_folder(folder, force=force, what="a folder of kernel reports", mark=MARK)


def write_reports(
    runs: Sequence[RecordedRun],
    library: ModelLibrary | None,
    folder: Path,
    *,
    only: Sequence[str] = (),
    fitting: Fitting = Fitting(),
    repeated: Repeated = "each",
    form: Format = "html",
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> list[dict[str, Any]]:
    """Write a page per kernel of *runs* and an index to *folder*, all or nothing.

    Returns the table of the index, a row per kernel (:meth:`KernelReport.row`).

    Raises
    ------
    InputError
        As :func:`report_kernels`; if *folder* exists and *force* is not given, or is no folder
        of kernel reports.
    OutputError
        Where the operating system refuses.
    """
    refuse_reports(folder, force=force)
    reports = report_kernels(
        runs, library, only=only, fitting=fitting, repeated=repeated, progress=progress
    )
    given = _Runs.of(runs, repeated)
    pages = _page_names(reports, form)
    rows = [report.row(page) for report, page in zip(reports, pages, strict=True)]
    with new_folder(folder, force=force) as temporary:
        for report, page in zip(reports, pages, strict=True):
            if page is not None:
                _write_page(temporary / page, report, given, form)
        _write(temporary / f"index.{form}", _index(rows, given, form))
        _write(temporary / MARK, json.dumps({"kernels": rows}, indent=2, ensure_ascii=False) + "\n")
    return rows


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


# Models


def _check_terms(
    terms: Mapping[str, str], kernels: Sequence[RecordedKernel], library: ModelLibrary | None
) -> None:
    """Raise :exc:`InputError` for terms that no kernel of the runs can have."""
    recorded = {kernel.name: kernel for kernel in kernels}
    for name, text in terms.items():
        if name not in recorded:
            raise unknown("kernel", name, sorted(recorded), "terms")
        if library is not None and any(_known_model(k, library) for k in kernels if k.name == name):
            raise InputError(
                f"terms of {name}: {library.file_of(name)} has a model of it, which is judged as "
                "it is; give either its terms or its model"
            )
        if text != AUTO:
            try:
                parse_terms(text, recorded[name].samples.names)
            except InputError as error:
                raise InputError(f"terms of {name}: {error}") from error


def _reported(
    recorded: RecordedKernel, library: ModelLibrary | None, fitting: Fitting
) -> KernelReport:
    model = _known_model(recorded, library)
    if model is not None:
        return _judged(recorded, model)
    terms = fitting.terms_of(recorded.name)
    reason = _unfit(recorded.samples) if terms == AUTO else ""
    if not reason:
        try:
            return _fitted(recorded, LinearModel(terms, weights=fitting.weights))
        except InputError as error:
            reason = f"no linear model can be fitted: {error}"
    findings = tuple(shifted_runs(recorded.samples))
    return KernelReport(recorded, None, None, None, findings, reason)


def _known_model(recorded: RecordedKernel, library: ModelLibrary | None) -> KernelModel | None:
    """Return the library's model; None if it has none of this kernel on this architecture."""
    if library is None or recorded.name not in library.kernels():
        return None
    entry = library.file(recorded.name).architectures.get(recorded.architecture)
    return None if entry is None else entry.model


def _unfit(samples: Samples) -> str:
    """Return why no terms can be searched for; nothing if they can."""
    if not samples.names:
        return "it has no parameters that a model could depend on"
    rows = samples.configurations()[0]
    if len(rows) == 1:
        return f"all its tasks have {describe_row(samples.names, rows[0])}, nothing varies"
    if len(rows) < FEWEST:
        return f"{len(rows)} configurations are too few to search for terms"
    return ""


def _fitted(recorded: RecordedKernel, model: LinearModel) -> KernelReport:
    model.fit(recorded.samples)
    model.label = _title(recorded)
    diagnosis = diagnose(model, recorded.samples)
    return KernelReport(recorded, model, "fitted", diagnosis, diagnosis.findings)


def _judged(recorded: RecordedKernel, model: KernelModel) -> KernelReport:
    """Return how good a model is that was fitted to other samples.

    What is refitted to these is the model with its terms, whether those were searched for or not.
    """
    if isinstance(model, LinearModel):
        model = model.with_terms_settled()
    whole = recorded.with_sizes() if SIZE in model.names_ else recorded.samples
    try:
        samples, unseen = _predictable(model, whole)
        if not len(samples):
            shifts = tuple(shifted_runs(whole))
            return KernelReport(recorded, None, None, None, (*unseen, *shifts), UNPREDICTED)
        found = diagnose(model, samples)
    except InputError as error:
        raise InputError(f"kernel {_title(recorded)}: {error}") from error
    kept = [_elsewhere(f) for f in found.findings if f.code not in REFITTED_CODES]
    diagnosis = replace(found, findings=sorted_findings([*unseen, *kept]))
    return KernelReport(recorded, model, "given", diagnosis, diagnosis.findings)


def _predictable(model: KernelModel, samples: Samples) -> tuple[Samples, list[Finding]]:
    """Return the samples that *model* can predict, and what is to be said of the others."""
    rows, group = samples.configurations()
    known = np.isfinite(predicted_where_possible(model, columns(model, samples.names, rows)))
    if known.all():
        return samples, []
    kept = samples.select(known[group])
    unknown, tasks = int((~known).sum()), len(samples) - len(kept)
    finding = Finding(
        "unpredictable",
        "warning",
        f"the model cannot predict {unknown} of {len(rows)} configurations, {tasks} of "
        f"{len(samples)} tasks, such as {describe_row(samples.names, rows[~known][0])}",
        {"configurations": unknown, "tasks": tasks},
        "calibrate with these parameters, or fit a model that extrapolates",
    )
    return kept, [finding]


def _elsewhere(finding: Finding) -> Finding:
    """Return a finding in words that hold for samples to which the model was not fitted."""
    said = finding.message.replace("even where it was fitted", "on the tasks of these runs")
    return replace(finding, message=said)


# Pages


def _page_names(reports: Sequence[KernelReport], form: Format) -> list[str | None]:
    """Return a name per report that no other file in the folder has; None: there is no page."""
    several = len({report.recorded.architecture for report in reports}) > 1
    taken = {"index"}
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
        names.append(None if report.model is None else f"{stem}.{form}")
    return names


def _title(recorded: RecordedKernel) -> str:
    return f"{recorded.name} on {recorded.architecture}"


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _write_page(path: Path, report: KernelReport, runs: _Runs, form: Format) -> None:
    title, blocks = f"Kernel {_title(report.recorded)}", _blocks(report, runs)
    if form == "html":
        _write(path, html_page(title, blocks))
        return
    images = [block for block in blocks if isinstance(block, Image)]
    links = {image.name: f"{path.stem}-{image.name}.png" for image in images}
    for image in images:
        (path.parent / links[image.name]).write_bytes(png(image.figure))
    _write(path, markdown_page(title, blocks, links))


def _blocks(report: KernelReport, runs: _Runs) -> list[Block]:
    assert report.diagnosis is not None
    blocks = report_blocks(report.diagnosis)
    if report.origin == "given":
        # They speak of a fit to these samples.
        blocks = [Text(_judged_summary(report)), *map(_renamed, blocks[1:])]
    return [*blocks, *runs.blocks(report.recorded.samples)]


def _judged_summary(report: KernelReport) -> str:
    model, samples = report.model, report.recorded.samples
    fit = ""
    what = repr(model)
    if isinstance(model, LinearModel):
        what = f"{model.formula()} (seconds)"
        if math.isfinite(model.rsquared_adj_):
            fit = f", with an adjusted R² of {model.rsquared_adj_:.4f}"
    return (
        f"{what}. The model was fitted to other samples{fit}; it is judged by {len(samples):,} "
        f"tasks of {len(samples.configurations()[0]):,} configurations. "
        f"{_warnings_text(len(report.warnings))}"
    )


def _warnings_text(count: int) -> str:
    return {0: "No warnings.", 1: "One warning."}.get(count, f"{count} warnings.")


def _renamed(block: Block) -> Block:
    """Return the block in words that hold for a model fitted elsewhere."""
    if isinstance(block, Text) and block.text.startswith("R² "):
        return Text(f"{block.text.rpartition(', ')[0]} of the model's own fit.")
    if not isinstance(block, Table) or not block.rows or block.rows[0][0] != FITTED_ROW:
        return block
    first, *others = block.rows
    rows = [("tasks of these runs", *first[1:]), *((REFIT + r[0], *r[1:]) for r in others)]
    return Table(block.header, rows)


@dataclass(frozen=True)
class _Runs:
    """The runs that are reported on, and the numbers that their samples have."""

    runs: Sequence[RecordedRun]
    numbers: Sequence[int]

    @classmethod
    def of(cls, runs: Sequence[RecordedRun], repeated: Repeated) -> _Runs:
        return cls(runs, first_repetitions(runs) if repeated == "mean" else range(len(runs)))

    def count(self) -> str:
        """Return how many there are, in words."""
        different = len(set(self.numbers))
        runs = "1 run" if len(self.runs) == 1 else f"{len(self.runs)} runs"
        if different == len(self.runs):
            return runs
        return f"{'1 graph' if different == 1 else f'{different} graphs'} (means of {runs})"

    def blocks(self, samples: Samples | None = None) -> list[Block]:
        """Return which run has which number, and how many of *samples*."""
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
        blocks: list[Block] = [Heading("Runs"), Table(header, rows)]
        if len(set(self.numbers)) < len(self.runs):
            blocks.append(Text("Runs of one number are averaged task by task."))
        return blocks


# The index

HEADER: Final = (
    "kernel", "tasks", "total time", "model", "formula (s)", "R² adj.", "MLogQ", "bias",
    "warnings", "first warning",
)  # fmt: skip
WORDS: Final = """<style>
body { max-width: 90rem; }
td:nth-child(4), td:nth-child(5), td:nth-child(10) { text-align: left; }
</style>
</head>"""
"""In the index, columns of words begin at the left."""
LINK: Final = "\N{WORD JOINER}"
"""Marks the cells that become links: no kernel's name and no word has it."""


def _index(rows: Sequence[dict[str, Any]], runs: _Runs, form: Format) -> str:
    """Return the page that leads to the others."""
    tasks, total = sum(row["tasks"] for row in rows), sum(row["total_s"] for row in rows)
    warned = sum(row["warnings"] > 0 for row in rows)
    blocks: list[Block] = [
        Text(
            f"{len(rows)} kernels, {tasks:,} tasks of {runs.count()}, "
            f"{duration_text(total)} in all; {warned} with warnings."
        ),
        Table(HEADER, [_index_cells(row) for row in rows]),
        Text(
            "MLogQ: mean of |ln(predicted / measured)| over configurations; bias: mean of "
            "ln(predicted / measured), negative where predictions are too short. R² is that of "
            "a linear model's own fit. A model that was given was fitted to other samples."
        ),
        *runs.blocks(),
    ]
    pages = [row["report"] for row in rows]
    if form == "html":
        page = html_page("Kernels", blocks).replace("</head>", WORDS, 1)
        return _linked(page, pages, '<a href="{page}">{text}</a>')
    return _linked(markdown_page("Kernels", blocks, {}), pages, "[{text}]({page})")


def _index_cells(row: dict[str, Any]) -> tuple[str, ...]:
    """Return a row of the index as texts; :data:`LINK` is on both sides of what links."""
    name = f"{row['kernel']} on {row['architecture']}"
    return (
        f"{LINK}{name}{LINK}" if row["report"] else name,
        f"{row['tasks']:,}",
        duration_text(row["total_s"]),
        "–" if row["kind"] is None else f"{row['kind']} ({row['origin']})",
        row["formula"] or "–",
        _number(row["rsquared_adj"]),
        _number(row["mlogq"]),
        _number(row["bias"], "+.4f"),
        str(row["warnings"]),
        _said(row),
    )


def _said(row: dict[str, Any]) -> str:
    said = [f"no model: {row['reason']}" if row["reason"] else "", row["first_warning"] or ""]
    return "; ".join(filter(None, said)) or "–"


def _number(value: float | None, form: str = ".4f") -> str:
    return "–" if value is None else format(round(value, 4) + 0.0, form)


def _linked(text: str, pages: Sequence[str | None], link: str) -> str:
    """Return *text* with its marked cells as links to *pages*, in order."""
    ahead = iter([page for page in pages if page is not None])
    return re.sub(
        f"{LINK}(.*?){LINK}",
        lambda found: link.format(page=quote(next(ahead)), text=found[1]),
        text,
    )
