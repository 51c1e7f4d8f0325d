"""Report of the experiment: a page with figures and tables.

::

    write_page(results, Path("irregular"))   # index.html, index.md, the figures as PNG files
"""

from __future__ import annotations

import base64
import re
import statistics
from typing import TYPE_CHECKING, Final

from experiments.irregular_kernels.durations import duration_distances, shifts, totals_s
from experiments.irregular_kernels.figures import (
    NATIVE,
    by_distribution,
    distributions_figure,
    gantt_figure,
    m2l_figure,
    makespans_figure,
    totals_figure,
    variants,
)
from experiments.irregular_kernels.summary import (
    BADLY_CHOSEN_SAID,
    GENERAL_FIT,
    NONE,
    TARGET_HEADER,
    input_cells,
    paragraphs,
    signed,
    size,
    targets,
    times,
)
from tasksim.base.files import write_bytes, write_text
from tasksim.base.units import time_unit
from tasksim.view.pages import Heading, Image, Table, Text, html_page, markdown_page

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from experiments.irregular_kernels.durations import Shift
    from experiments.irregular_kernels.results import Fit, Outcome, Results
    from tasksim.run.record import Run
    from tasksim.view.pages import Block

__all__ = ["write_page"]

TITLE: Final = "Irregular kernels: the fast multipole method, predicted and run"
SHOWN_TASKS: Final = 2000
"""Of the inputs with fewer tasks the largest is shown in detail."""


def write_page(results: Results, folder: Path) -> list[Path]:
    """Write ``index.html``, ``index.md`` and the figures to *folder*; return what was written.

    The HTML page has its figures inside; the Markdown page links to the PNG files. The same
    results give the same bytes. Files of these names that exist are replaced.

    Raises
    ------
    OutputError
        Where the operating system refuses.
    """
    blocks = _blocks(results)
    drawn = [block for block in blocks if isinstance(block, Image)]
    images = {image.name: f"{image.name}.png" for image in drawn}
    paths = [folder / "index.html", folder / "index.md", *(folder / p for p in images.values())]
    page = html_page(TITLE, blocks)
    write_text(paths[0], page)
    write_text(paths[1], markdown_page(TITLE, blocks, images))
    # As they are in the page: what is drawn twice may come out a pixel apart.
    for path, data in zip(
        paths[2:], re.findall('src="data:image/png;base64,(.*?)"', page), strict=True
    ):
        write_bytes(path, base64.b64decode(data))
    return paths


def _blocks(results: Results) -> list[Block]:
    """Return the page: the summary first, then the figures in the order of the paper."""
    shown = _shown(results.seen)
    summary: list[Block] = [Text(paragraph) for paragraph in paragraphs(results)]
    return [
        *summary,
        Table(TARGET_HEADER, [target.cells for target in targets(results)]),
        *_makespan_blocks(results),
        *_gantt_blocks(shown[0]),
        *_total_blocks(shown),
        *_distribution_blocks(shown),
        *_unseen_blocks(results.unseen),
        *_fit_blocks(results),
    ]


# Makespans


def _makespan_blocks(results: Results) -> list[Block]:
    return [
        Heading("Makespans, native and predicted"),
        Text(
            "Native: the median of the repetitions, whiskers from the shortest to the longest. "
            "Below, the errors of the predictions against the median; the grey lines are the "
            "repetitions. Bars that go beyond the axis have their value at its end. An input is "
            "named by its particles, the height of its tree (h) and its group size (g). "
            f"{BADLY_CHOSEN_SAID}"
        ),
        Image("makespans", makespans_figure(results.seen), "Makespans and their errors, per input"),
        _makespan_table(results.seen),
        Text("Errors of the makespan, without their signs:"),
        _median_table(results.seen),
    ]


def _unseen_blocks(outcomes: Sequence[Outcome]) -> list[Block]:
    if not outcomes:
        return []
    return [
        Heading("Spheres, predicted before they were run"),
        Text(
            "No model was fitted to these distributions: particles on a sphere, uniform, or dense "
            "at the poles. They are predicted by the general models."
        ),
        Image("spheres", makespans_figure(outcomes), "Makespans on spheres and their errors"),
        _makespan_table(outcomes),
        Text("Errors of the makespan, without their signs:"),
        _median_table(outcomes),
    ]


def _makespan_table(outcomes: Sequence[Outcome]) -> Table:
    """Return all makespans, and signed errors against the native medians."""
    names = variants(outcomes)
    unit, shown = times(outcomes)
    header = ["input", "tasks", f"native ({unit})", "spread"]
    for name in names:
        header += [f"{name} ({unit})", "error"]
    rows = []
    for outcome in outcomes:
        row = [*input_cells(outcome), shown(outcome.median_s), size(outcome.spread)]
        for name in names:
            run = outcome.simulated.get(name)
            row += (
                [NONE, NONE]
                if run is None
                else [shown(run.makespan_s), signed(outcome.error(name))]
            )
        rows.append(row)
    return Table(header, rows)


def _median_table(outcomes: Sequence[Outcome]) -> Table:
    """Return median and worst |error| per variant, of each distribution and of all."""
    parts = by_distribution(outcomes)
    groups = parts if len(parts) == 1 else {**parts, "all": list(outcomes)}
    header = [""]
    for name in groups:
        header += [f"{name}, median", "worst"]
    rows = []
    for variant in variants(outcomes):
        row = [variant]
        for members in groups.values():
            sizes = [abs(o.error(variant)) for o in members if variant in o.simulated]
            row += [size(statistics.median(sizes)), size(max(sizes))] if sizes else [NONE, NONE]
        rows.append(row)
    return Table(header, rows)


# One input in detail


def _gantt_blocks(outcome: Outcome) -> list[Block]:
    name = outcome.input.text
    return [
        Heading(f"One input, run and predicted: {name}"),
        Image("gantt", gantt_figure(outcome), f"Gantt charts of {name}, native and simulated"),
        Text(
            "How far apart the tasks of each kernel start, and end, in the native run and in the "
            "simulated ones: Kolmogorov-Smirnov distances between the distributions of these "
            f"times, 0 if they are the same, 1 if they do not overlap.{_reference_said(outcome)}"
        ),
        _shift_table(outcome),
    ]


def _total_blocks(outcomes: Sequence[Outcome]) -> list[Block]:
    tables: list[Block] = []
    for outcome in outcomes:
        said = "native time, its share, and the ratio of each prediction to it"
        tables += [Text(f"{outcome.input.text}: {said}."), _total_table(outcome)]
    return [
        Heading("Total time per kernel"),
        Image("totals", totals_figure(outcomes), "Total time per kernel, native and predicted"),
        *tables,
    ]


def _distribution_blocks(outcomes: Sequence[Outcome]) -> list[Block]:
    blocks: list[Block] = [
        Heading("Durations of tasks"),
        Text(
            "Shares of the tasks of each kernel by their duration. KS is the Kolmogorov-Smirnov "
            "distance to the native run: the largest difference between the shares of tasks that "
            "take at most some time."
        ),
    ]
    for outcome in outcomes:
        name = outcome.input.text
        figure = distributions_figure(outcome)
        blocks += [
            Text(f"{name}:"),
            Image(f"durations-{outcome.input.distribution}", figure, f"Durations of {name}"),
            Text(f"Kolmogorov-Smirnov distances to the native run.{_reference_said(outcome)}"),
            _distance_table(outcome),
        ]
    return blocks


def _shift_table(outcome: Outcome) -> Table:
    """Return per kernel how far apart its tasks start and end, for each simulated run."""
    native = outcome.median_run
    counts = _counts(native)
    names = variants([outcome])
    found = {name: shifts(native, outcome.simulated[name]) for name in names}
    header = ["kernel", "tasks"]
    for name in (*names, *_reference_names(outcome)):
        header += [f"{name}, start", "end"]
    others = [shifts(native, run) for run in _others(outcome)]
    rows = []
    for kernel, count in counts.items():
        row = [kernel, f"{count:,}"]
        for shift in [found[name].get(kernel) for name in names]:
            row += _shift_cells(shift)
        if others:
            row += [f"{max(part[kernel][k] for part in others):.2f}" for k in (0, 1)]
        rows.append(row)
    return Table(header, rows)


def _shift_cells(shift: Shift | None) -> list[str]:
    return [NONE, NONE] if shift is None else [f"{shift.start:.2f}", f"{shift.end:.2f}"]


def _total_table(outcome: Outcome) -> Table:
    """Return per kernel the native time per worker, and what the predictions are of it."""
    workers = len(outcome.median_run.workers)
    names = variants([outcome])
    native = totals_s(outcome.median_run)
    found = {name: totals_s(outcome.simulated[name]) for name in names}
    everything = sum(native.values())
    factor, unit = time_unit(everything / workers)

    def row(what: str, total: float, others: Sequence[float]) -> list[str]:
        shown = f"{factor * total / workers:.4g}"
        return [
            what,
            shown,
            size(total / everything),
            *(f"{other / total:.3f}" for other in others),
        ]

    rows = [row(k, total, [found[n].get(k, 0.0) for n in names]) for k, total in native.items()]
    rows.append(row("all", everything, [sum(found[name].values()) for name in names]))
    return Table(["kernel", f"native / {workers} workers ({unit})", "share", *names], rows)


def _distance_table(outcome: Outcome) -> Table:
    """Return per kernel the distances of the durations that each variant predicts."""
    native = outcome.median_run
    names = variants([outcome])
    found = [duration_distances(native, outcome.simulated[name]) for name in names]
    others = [duration_distances(native, run) for run in _others(outcome)]
    rows = []
    for kernel, count in _counts(native).items():
        row = [kernel, f"{count:,}"]
        row += [f"{part[kernel]:.2f}" if kernel in part else NONE for part in found]
        row += [f"{max(part[kernel] for part in others):.2f}"] if others else []
        rows.append(row)
    return Table(["kernel", "tasks", *names, *_reference_names(outcome)], rows)


def _others(outcome: Outcome) -> list[Run]:
    """Return the native runs besides the one that is shown."""
    return [run for run in outcome.native if run is not outcome.median_run]


def _reference_names(outcome: Outcome) -> list[str]:
    return [NATIVE] if _others(outcome) else []


def _reference_said(outcome: Outcome) -> str:
    others = len(_others(outcome))
    if not others:
        return ""
    of = "the other repetition" if others == 1 else f"the {others} other repetitions, the largest"
    return f" Native: the distance to {of}; so much do runs themselves differ."


def _counts(run: Run) -> dict[str, int]:
    """Return how many tasks each kernel has."""
    return {kernel: int((run.tasks.kernel == run.kernel_names.index(kernel)).sum())
            for kernel in totals_s(run)}  # fmt: skip


def _shown(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return an outcome of each distribution: the largest that can be seen, else the first."""
    found = []
    for members in by_distribution(outcomes).values():
        small = [o for o in members if len(o.median_run) < SHOWN_TASKS]
        found.append(max(small, key=lambda o: len(o.median_run)) if small else members[0])
    return found


# Fits


def _fit_blocks(results: Results) -> list[Block]:
    m2l = results.m2l
    figure = m2l_figure(m2l.measured_s, m2l.with_s, m2l.without_s)
    sets = list(dict.fromkeys(fit.models for fit in results.fits))
    tables: list[Block] = []
    for models in sorted(sets, key=lambda name: name != GENERAL_FIT):
        fits = [fit for fit in results.fits if fit.models == models]
        tables += [Text(f"{models[0].upper()}{models[1:]}:"), _fit_table(fits)]
    return [
        Heading("Fits"),
        Text(
            "Formulas give seconds. Each task counts with its mean over the repetitions. R² is "
            "adjusted for the number of terms: of ordinary least squares, and of the same terms "
            "with the weights 1/y², where short tasks count as much as long ones. MLogQ is the "
            "mean of |ln(predicted / measured)| over the tasks. Beside this page, "
            "reports/SET/KERNEL.html has intervals of the coefficients, residuals and findings of "
            "each model."
        ),
        *tables,
        Text(
            "Why the indirect parameter matters: the tasks of M2L_in, predicted from what is "
            "known of a group without looking at its interactions, and with their number. Where "
            "a line would be negative, the prediction is a tenth of the shortest task."
        ),
        Image("m2l", figure, "Measured over predicted durations of M2L_in"),
    ]


def _fit_table(fits: Sequence[Fit]) -> Table:
    rows = [
        [
            f"{fit.kernel} = {fit.formula}",
            f"{fit.tasks:,}",
            f"{fit.rsquared_adj:.4f}",
            f"{fit.rsquared_adj_relative:.4f}",
            f"{fit.mlogq:.3f}",
        ]
        for fit in fits
    ]
    return Table(["kernel", "tasks", "R² adj.", "R² adj., 1/y²", "MLogQ"], rows)
