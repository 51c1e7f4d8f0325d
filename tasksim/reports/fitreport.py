"""Fit of a model in its report: kinds, learning curve, dependence, worst errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.units import duration_text
from tasksim.models.candidate import percent
from tasksim.models.diagnosis.dependence import partial_dependence
from tasksim.models.diagnosis.leftouterrors import worst_configurations, worst_region
from tasksim.models.validation.learningcurve import learning_curve
from tasksim.view.fitplots import (
    kinds_height_inches,
    panel_curve,
    panel_dependence,
    panel_kinds,
    panel_over,
)
from tasksim.view.pages import Heading, Image, PageBlock, Table, Text
from tasksim.view.style import WIDTH_INCHES, new_figure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tasksim.base.progress import ShareProgress
    from tasksim.models.selection import Selection
    from tasksim.models.validation.learningcurve import LearningCurve

__all__ = ["fit_blocks", "over_blocks"]

AXES_PER_ROW: Final = 3
"""Number of small axes beside each other."""
MAX_PARAMETERS: Final = 12
"""Largest number of small axes: with more, the figure is higher than a screen."""
SHARE_OF_CURVE: Final = 0.8
"""Share of the work that the learning curve is, about: it alone fits models."""


def fit_blocks(
    found: Selection, *, seed: int = 0, progress: ShareProgress | None = None
) -> list[PageBlock]:
    """Return the blocks of a report about how *found* was selected, and where it errs.

    They have the errors of kinds, the worst configurations left out, the learning curve of the
    chosen kind (up to six fits), and the partial dependence on each parameter.
    """
    say = progress or (lambda _step, _share: None)
    blocks = [*_kinds(found), *_worst(found)]
    curve = learning_curve(
        found.model,
        found.samples,
        seed=seed,
        progress=lambda step, share: say(step, SHARE_OF_CURVE * share),
    )
    blocks += _curve(found, curve)
    say("partial dependence", SHARE_OF_CURVE)
    blocks += _dependence(found, seed)
    say("figures", 1.0)
    return blocks


def over_blocks(rows: Sequence[Mapping[str, Any]]) -> list[PageBlock]:
    """Return the blocks about fits with several values of options; none if there are no *rows*.

    A row has the values of options, before ``mlogq_cv``, and the errors of a fit.
    """
    if not rows:
        return []
    names = [name for name in list(rows[0])[: list(rows[0]).index("mlogq_cv")] if name]
    error = "mlogq_test" if rows[0].get("mlogq_test") is not None else "mlogq_cv"
    blocks: list[PageBlock] = [Heading(f"Errors over {' and '.join(names)}")]
    if any(row[error] is not None for row in rows):
        made = new_figure(3.4, WIDTH_INCHES * 0.7)
        panel_over(rows, names, error, made.add_subplot())
        blocks.append(Image("over", made, f"Mean error over {names[0]}"))
    cells = [
        [
            "-" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
            for value in row.values()
        ]
        for row in rows
    ]
    return [*blocks, Table(tuple(rows[0]), cells)]


def _kinds(found: Selection) -> list[PageBlock]:
    judged = [row for row in found.table if row.mlogq_cv is not None]
    if not judged:
        return []
    made = new_figure(kinds_height_inches(len(judged)), WIDTH_INCHES * 0.8)
    panel_kinds(judged, found.chosen.kind, made.add_subplot())
    others = [f"{row.kind} {row.reason}" for row in found.table if row.mlogq_cv is None]
    return [
        Heading("Kinds of models"),
        Image("kinds", made, "Mean error of each kind on what was left out, with standard error"),
        *([Text(f"Without an error: {'; '.join(others)}.")] if others else []),
        *_outside(found),
    ]


def _outside(found: Selection) -> list[PageBlock]:
    """Return how kinds extrapolate, if predictions outside the samples will be asked for."""
    outside = found.outside
    if outside is None:
        return []
    errors = [(row.kind, row.mlogq_cv, row.mlogq_outside) for row in found.table]
    rows = [
        (kind, *("-" if error is None else f"{error:.4f}" for error in both))
        for kind, *both in errors
        if both[0] is not None
    ]
    said = (
        f"{100 * outside.share:.3g} % of the domain asked for is outside the samples. So kinds are "
        "also compared by their errors on a quarter of the configurations, with "
        f"{' or '.join(end.text() for end in outside.ends)}, by models of the others."
    )
    return [Text(said), Table(("kind", "error inside", "error at the ends"), rows)]


def _worst(found: Selection) -> list[PageBlock]:
    if found.out is None:
        return []
    rows = [
        (
            one.configuration,
            duration_text(one.measured_s),
            duration_text(one.predicted_s),
            f"{one.factor:.3g}",
        )
        for one in worst_configurations(found.out, found.samples)
    ]
    region = worst_region(found.out, found.samples)
    if region is not None:
        said = f"Worst region: {region.text()}."
    elif found.out.by == "configuration":
        said = (
            "No part of the range of a parameter, and no category, has significantly larger errors "
            "than the rest."
        )
    else:
        said = "Repetitions were left out, not configurations: the model predicts no others."
    header = ("configuration left out", "measured", "predicted", "predicted / measured")
    return [Heading("Largest errors"), Text(said), Table(header, rows)]


def _curve(found: Selection, curve: LearningCurve) -> list[PageBlock]:
    heading = Heading("More samples")
    if len(curve.configurations) < 2:
        why = curve.reason or "a single part of the configurations could be fitted"
        return [heading, Text(f"No learning curve: {why}.")]
    made = new_figure(3.0, WIDTH_INCHES * 0.6)
    panel_curve(curve, made.add_subplot())
    ends = f" The curve is not whole: {curve.reason}." if curve.reason else ""
    return [
        heading,
        Text(_twice(found, curve) + ends),
        Image("learning", made, "Error on configurations left out over the number fitted"),
    ]


def _twice(found: Selection, curve: LearningCurve) -> str:
    """Return a sentence on what twice as many samples would bring."""
    before, after = (f"{100 * float(np.expm1(e)):.3g} %" for e in curve.mlogq[-2:])
    fewer, more = (f"{count:,}" for count in curve.configurations[-2:])
    gain = curve.gain()
    if gain is None:
        return (
            f"Twice as many configurations would bring little: with {fewer} the error is {before}, "
            f"with {more} it is {after}, not significantly less."
        )
    now = found.chosen.mlogq_cv
    if now is None:
        return f"With {fewer} configurations the error is {before}, with {more} it is {after}."
    then = 100 * float(np.expm1(now * gain))
    return (
        f"Twice as many configurations would lower the error from {percent(found.chosen)} to some "
        f"{then:.3g} %, if the last doubling is a guide: with {fewer} it is {before}, with {more} "
        f"{after}."
    )


def _dependence(found: Selection, seed: int) -> list[PageBlock]:
    model = found.model
    heading = Heading("Dependence on each parameter")
    used = model.used_parameters()
    if not used:
        return []
    every = [partial_dependence(model, found.samples, name, seed=seed) for name in used]
    known = [one for one in every if one.known]
    shown = known[:MAX_PARAMETERS]
    missing = [one.parameter for one in every if one not in shown]
    left_out = f" Not shown: {', '.join(missing)}." if missing else ""
    if not shown:
        return [heading, Text(f"Not known: {model.kind} predicts few configurations but measured.")]
    rows = -(-len(shown) // AXES_PER_ROW)
    made = new_figure(2.6 * rows)
    durations_s = np.concatenate([(one.low_s, one.high_s) for one in shown], axis=1).ravel()
    durations_s = durations_s[np.isfinite(durations_s)]
    grid = made.subplots(rows, AXES_PER_ROW, squeeze=False, sharey=True).ravel()
    for place, (axes, one) in enumerate(zip(grid, shown, strict=False)):
        panel_dependence(one, axes, durations_s=durations_s)
        if place % AXES_PER_ROW:
            axes.set_ylabel("")
    for axes in grid[len(shown) :]:
        axes.set_visible(False)
    alt = f"Predicted durations over {', '.join(one.parameter for one in shown)}"
    said = (
        "Median prediction while one parameter varies and the others are as in measured "
        f"configurations; shaded: the middle half of these.{left_out}"
    )
    return [heading, Text(said), Image("dependence", made, alt)]
