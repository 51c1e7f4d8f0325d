"""Reports on kernel models, for developers who judge them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from tasksim.base.errors import InputError
from tasksim.base.files import refuse_existing, write_bytes, write_text
from tasksim.base.units import duration_text
from tasksim.models.diagnosis.diagnose import Diagnosis, diagnose
from tasksim.models.diagnosis.findings import spread_by_fitted
from tasksim.models.diagnosis.linearfindings import stars
from tasksim.models.rows import plain_number
from tasksim.view.modelplots import (
    domain_height_inches,
    panel_domain,
    panel_influence,
    panel_parameter,
    panel_qq,
    panel_residuals,
)
from tasksim.view.pages import (
    Callout,
    Heading,
    Image,
    PageBlock,
    Table,
    Text,
    html_page,
    markdown_page,
    png,
)
from tasksim.view.style import WIDTH_INCHES, new_figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.samples import Samples

__all__ = ["REPORT_SUFFIXES", "report_blocks", "warnings_text", "write_report"]

REPORT_SUFFIXES: Final = (".html", ".htm", ".md")
MAX_LISTED_CONFIGURATIONS: Final = 10
"""Maximum number of configurations with large influence that the report names: the figure has all
of them."""


def write_report(
    model: KernelModel,
    samples: Samples,
    test: Samples | None,
    path: str | Path,
    *,
    asked: NDArray[np.float64] | None = None,
    title: str = "",
    force: bool = False,
    said: Sequence[str] = (),
    warned: Sequence[str] = (),
    further: Sequence[PageBlock] = (),
) -> Diagnosis:
    """Write a report on the quality of *model* to *path*, and return the diagnosis.

    Parameters
    ----------
    model :
        A fitted model of any kind; linear ones have a table of coefficients and influences.
    samples :
        Samples that it was fitted to; further columns may be missing parameters.
    test :
        Samples it was not fitted to, or None.
    path :
        ``.html``: one file that needs nothing else. ``.md``: Markdown, with the figures beside
        it, ``NAME-residuals.png`` and so on.
    asked :
        Configurations of later predictions, columns as in ``model.names_``.
    title :
        Subject of the model, ``"gemm on cpu"``; default: the label of the model.
    force :
        Whether existing files may be replaced.
    said, warned :
        Notes and warnings of the fit, which the report repeats.
    further :
        Blocks at the end, such as those of :func:`~tasksim.reports.fitreport.fit_blocks`.

    Raises
    ------
    InputError
        If the suffix is unknown, a file exists and *force* is not given, or as
        :func:`~tasksim.models.diagnosis.diagnose.diagnose`.
    OutputError
        If the operating system refuses.
    """
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in REPORT_SUFFIXES:
        raise InputError(
            f"{target}: cannot write a report as '{target.suffix}' "
            f"(legal: {', '.join(REPORT_SUFFIXES)})"
        )
    refuse_existing(target, force=force)
    diagnosis = diagnose(model, samples, test, asked)
    blocks = [*report_blocks(diagnosis, asked, said, warned), *further]
    named = title or model.label
    heading = f"Kernel model of {named}: {model.kind}" if named else f"Kernel model {model.kind}"
    if suffix != ".md":
        write_text(target, html_page(heading, blocks))
        return diagnosis
    images = [block for block in blocks if isinstance(block, Image)]
    paths = {image.name: target.with_name(f"{target.stem}-{image.name}.png") for image in images}
    for one in paths.values():
        refuse_existing(one, force=force)
    for image in images:
        write_bytes(paths[image.name], png(image.figure))
    links = {name: quote(one.name) for name, one in paths.items()}
    write_text(target, markdown_page(heading, blocks, links))
    return diagnosis


def report_blocks(
    diagnosis: Diagnosis,
    asked: NDArray[np.float64] | None = None,
    said: Sequence[str] = (),
    warned: Sequence[str] = (),
    *,
    judged: str = "",
) -> list[PageBlock]:
    """Return the blocks of the report, with what the fit *said* and *warned* first.

    *judged* is the summary of a model that was fitted to other samples than the diagnosed ones.
    """
    return [
        Text(judged or _summary(diagnosis, len(warned))),
        *_of_the_fit(said, warned),
        *_findings(diagnosis),
        *_quality(diagnosis, fitted=not judged),
        *_coefficients(diagnosis),
        *_residuals(diagnosis),
        *_influence(diagnosis),
        *_parameters(diagnosis),
        *_domain(diagnosis, asked),
    ]


def _of_the_fit(said: Sequence[str], warned: Sequence[str]) -> list[PageBlock]:
    if not said and not warned:
        return []
    return [
        Heading("Fit"),
        *(Callout("warning", line, "fit", "") for line in warned),
        *(Text(line) for line in said),
    ]


def _summary(diagnosis: Diagnosis, warned: int) -> str:
    model, res = diagnosis.model, diagnosis.residuals
    size = (
        f"{len(res.samples):,} samples of {len(res.rows):,} configurations"
        f"{f', and {res.dropped:,} outliers left out' if res.dropped else ''}."
    )
    verdict = warnings_text(len(diagnosis.warnings) + warned)
    linear = model.linear()
    rsquared = ""
    if linear is not None and math.isfinite(linear.rsquared_adj):
        rsquared = f"Adjusted R² {linear.rsquared_adj:.4f}. "
    return f"{model.description()}. Fitted to {size} {rsquared}{verdict}"


def warnings_text(count: int) -> str:
    """Return the number of warnings as a sentence."""
    return {0: "No warnings.", 1: "One warning."}.get(count, f"{count} warnings.")


def _findings(diagnosis: Diagnosis) -> list[PageBlock]:
    blocks: list[PageBlock] = [Heading("Findings")]
    if not diagnosis.findings:
        blocks.append(Text("None: the model agrees with the samples."))
    for f in diagnosis.findings:
        numbers = ", ".join(
            f"{name.replace('_', ' ')} {_p_value(value) if name == 'p_value' else _short(value)}"
            for name, value in f.evidence.items()
        )
        blocks.append(Callout(f.severity, f.message, f"{f.code}: {numbers}", f.advice))
    return blocks


def _quality(diagnosis: Diagnosis, *, fitted: bool) -> list[PageBlock]:
    """Return the errors of a model that was *fitted* to the diagnosed samples, or to others."""
    over = diagnosis.held_out.over if diagnosis.held_out is not None else ""
    refit = "" if fitted else "refitted to these tasks, "
    rows = [
        (
            name,
            f"{found.configurations:,}",
            f"{100 * math.expm1(found.mlogq):.2f} %",
            f"{100 * math.expm1(found.bias):+.2f} %",
            f"{100 * found.mape:.2f} %",
            f"{100 * math.expm1(found.worst):.2f} %",
        )
        for name, found in (
            ("samples that were fitted" if fitted else "tasks of these runs", diagnosis.training),
            (f"{refit}cross-validated ({over})", diagnosis.held_out),
            (f"{refit}test samples", diagnosis.test),
        )
        if found is not None
    ]
    header = ("errors of configurations", "number", "typical", "bias", "mean relative", "largest")
    blocks: list[PageBlock] = [Heading("Errors"), Table(header, rows)]
    if diagnosis.held_out is None:
        blocks.append(
            Text("No cross-validation: the model says nothing about configurations left out.")
        )
    linear = diagnosis.model.linear()
    if linear is not None:
        number = f"{len(diagnosis.residuals.samples):,}"
        of = f", {number} observations" if fitted else " of the model's own fit"
        blocks.append(Text(f"R² {linear.rsquared:.4f}, adjusted R² {linear.rsquared_adj:.4f}{of}."))
    return blocks


def _coefficients(diagnosis: Diagnosis) -> list[PageBlock]:
    if not diagnosis.coefficients:
        return []
    header = ("term", "coefficient (s)", "95 % interval", "p", "stars", "VIF")
    rows = [
        (
            "constant" if one.term == "1" else one.term,
            f"{one.value_s:.4g}",
            f"{one.low_s:.4g} to {one.high_s:.4g}" if math.isfinite(one.low_s) else "not known",
            _p_value(one.p_value),
            stars(one.p_value),
            _short(one.vif),
        )
        for one in diagnosis.coefficients
    ]
    return [
        Heading("Coefficients"),
        Table(header, rows),
        Text(
            "* p<0.1, ** p<0.05, *** p<0.01. VIF: how many times correlation with other terms "
            "inflates the variance. Intervals take samples as independent; those of one run are "
            "not quite."
        ),
    ]


def _short(value: float) -> str:
    if math.isnan(value):
        return "–"
    if float(value).is_integer() and abs(value) < 1e6:
        return str(plain_number(float(value)))
    return f"{value:.3g}"


def _p_value(value: float) -> str:
    return "<1e-16" if value < 1e-16 else _short(value)


def _residuals(diagnosis: Diagnosis) -> list[PageBlock]:
    made = new_figure(4.6)
    left, right = made.subplots(1, 2, width_ratios=(1.5, 1.0))
    panel_residuals(diagnosis.residuals, left)
    panel_qq(diagnosis.residuals, right)
    middle, spread, count = spread_by_fitted(diagnosis.residuals, 10)
    rows = [
        (duration_text(float(m)), f"{100 * s:.2f} %", f"{c:,}")
        for m, s, c in zip(middle, spread, count, strict=True)
    ]
    return [
        Heading("Residuals"),
        Image("residuals", made, "Residuals over fitted durations, and normal Q-Q plot"),
        Table(("predicted, by tenths", "spread of samples", "samples"), rows),
    ]


def _influence(diagnosis: Diagnosis) -> list[PageBlock]:
    inf, res = diagnosis.influence, diagnosis.residuals
    if inf is None:
        return []
    made = new_figure(4.2)
    panel_influence(diagnosis, made.add_subplot())
    order = (-inf.group_cook).argsort()[:MAX_LISTED_CONFIGURATIONS].tolist()
    rows = [
        (
            res.row_text(i),
            f"{inf.group_cook[i]:.3g}",
            f"{inf.group_leverage[i]:.3g}",
            f"{inf.group_studentized[i]:+.3g}",
            f"{100 * inf.group_shift[i]:.2f} %",
        )
        for i in order
    ]
    header = ("configuration", "Cook's distance", "leverage", "studentised", "predictions change")
    return [
        Heading("Influence"),
        Image("influence", made, "Studentised mean errors of configurations over their leverage"),
        Text("The configurations that decide most; the last column is without them."),
        Table(header, rows),
    ]


def _parameters(diagnosis: Diagnosis) -> list[PageBlock]:
    names = diagnosis.model.used_parameters()
    if not names:
        return []
    rows = -(-len(names) // 2)
    made = new_figure(4.3 * rows)
    grid = made.add_gridspec(rows, 2 if len(names) > 1 else 1)
    for index, name in enumerate(names):
        panel_parameter(diagnosis, name, made.add_subplot(grid[index // 2, index % 2]))
    alt = f"Durations over {', '.join(names)}: samples, curve and band"
    return [Heading("Parameters"), Image("parameters", made, alt)]


def _domain(diagnosis: Diagnosis, asked: NDArray[np.float64] | None) -> list[PageBlock]:
    if not diagnosis.model.names_:
        return []
    made = new_figure(domain_height_inches(len(diagnosis.model.names_)), WIDTH_INCHES * 0.8)
    panel_domain(diagnosis, made.add_subplot(), asked=asked)
    said = f"Fitted: {diagnosis.model.measured()}. Elsewhere the model extrapolates."
    return [Heading("Domain"), Text(said), Image("domain", made, "Measured values per parameter")]
