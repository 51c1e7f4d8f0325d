"""The blocks of a report about a fit: kinds, largest errors, learning curve, dependence."""

from __future__ import annotations

import numpy as np
import pytest

from tasksim.models.samples import Samples
from tasksim.models.selection import select
from tasksim.reports.fitreport import fit_blocks
from tasksim.view.fitplots import panel_kinds
from tasksim.view.pages import Image, Table, Text

TERMS = {"mlr": {"terms": "m*n"}}


def measured(count, noise=0.05):
    rng = np.random.default_rng(0)
    table = np.exp(rng.uniform(0, np.log(1000), (count, 2)))
    true = 1e-6 + 1e-9 * table.prod(axis=1)
    return Samples(("m", "n"), table, true * rng.lognormal(0, noise, count))


@pytest.fixture(scope="module")
def found():
    return select(measured(140), ("history", "power", "mlr"), options=TERMS)


def parts(blocks):
    """Return the names of images, the text, and the rows of tables."""
    images = [block.name for block in blocks if isinstance(block, Image)]
    text = "\n".join(block.text for block in blocks if isinstance(block, Text))
    return images, text, [row for block in blocks if isinstance(block, Table) for row in block.rows]


def test_a_report_has_kinds_errors_a_curve_and_dependence(found):
    steps = []
    images, text, rows = parts(fit_blocks(found, progress=lambda *step: steps.append(step)))
    assert images == ["kinds", "learning", "dependence"]
    assert "Without an error: history cannot be judged: nothing was measured twice; power" in text
    assert "No part of the range of a parameter, and no category," in text
    assert "Twice as many configurations would " in text
    assert len(rows) == 10
    off = [abs(np.log(float(row[-1]))) for row in rows]
    assert off == sorted(off, reverse=True)
    shares = [share for _, share in steps]
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_the_region_with_larger_errors_is_named():
    samples = measured(140)
    worse = samples.parameters[:, 0] > 500
    noise = np.random.default_rng(1).lognormal(0, 0.8, len(samples))
    off = Samples(
        samples.names, samples.parameters, np.where(worse, noise, 1) * samples.durations_s
    )
    _, text, _ = parts(fit_blocks(select(off, ("mlr",), options=TERMS)))
    assert "Worst region: m from " in text


def test_few_configurations_have_no_learning_curve():
    images, text, _ = parts(fit_blocks(select(measured(40), ("mlr",), options=TERMS)))
    assert images == ["kinds", "dependence"]
    assert "No learning curve: it takes 64 configurations or more, got 40." in text


def test_a_history_has_its_errors_on_repetitions():
    samples = measured(20)
    twice = Samples(
        samples.names,
        np.repeat(samples.parameters, 2, axis=0),
        np.repeat(samples.durations_s, 2) * np.tile([1.0, 1.1], 20),
    )
    images, text, rows = parts(fit_blocks(select(twice, ("history",))))
    assert images == ["kinds"]
    assert "Repetitions were left out, not configurations" in text
    assert "No learning curve: history predicts only what was measured." in text
    assert len(rows) == 10


def test_bars_have_whiskers_of_a_standard_error(found):
    axes = panel_kinds(found.table, "mlr")
    (label,) = [text.get_text() for text in axes.get_yticklabels()]
    assert label == "mlr"
    (bar,) = axes.patches
    row = found.chosen
    assert bar.get_width() == pytest.approx(row.mlogq_cv)
    (whiskers,) = axes.containers[-1].lines[2]
    ((start, _), (end, _)) = whiskers.get_segments()[0]
    assert (end - start) / 2 == pytest.approx(row.mlogq_se)
    known = row.errors[np.isfinite(row.errors)]
    assert row.mlogq_se == pytest.approx(known.std(ddof=1) / len(known) ** 0.5)
