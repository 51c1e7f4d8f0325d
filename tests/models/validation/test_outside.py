"""Errors of extrapolation, and the choice of kinds by them."""

from __future__ import annotations

import numpy as np
import pytest

from tasksim.base.errors import InputError
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.kinds.power import PowerLaw
from tasksim.models.samples import Samples
from tasksim.models.selection import select
from tasksim.models.validation.outside import (
    End,
    Outside,
    checked_domain,
    errors_outside,
    outside_of,
)


def sizes(low, high, count=16):
    return np.round(np.geomspace(low, high, count))


def cubic(values):
    return Samples(("n",), values[:, None], 1e-9 * values**3)


def crossed(noise=0.0):
    m, n = (one.ravel() for one in np.meshgrid(sizes(64, 512), sizes(64, 512)))
    durations_s = 1e-9 * m**2 * n * np.random.default_rng(0).lognormal(0, noise, len(m))
    return Samples(("m", "n"), np.column_stack([m, n]), durations_s)


def test_the_quarter_with_the_largest_values_is_left_out():
    rows = np.arange(16.0)[:, None]
    assert np.flatnonzero(End("n", 0, above=True).out(rows)).tolist() == [12, 13, 14, 15]
    assert np.flatnonzero(End("n", 0, above=False).out(rows)).tolist() == [0, 1, 2, 3]


def test_of_two_values_the_larger_one_unless_most_are():
    rows = np.repeat([1.0, 2.0], [5, 5])[:, None]
    assert End("n", 0, above=True).out(rows).tolist() == [False] * 5 + [True] * 5
    mostly = np.repeat([1.0, 2.0], [2, 8])[:, None]
    assert not End("n", 0, above=True).out(mostly).any()


def test_the_share_is_that_of_logarithms():
    found = outside_of(crossed(), {"m": (64, 4096)})
    assert [end.text() for end in found.ends] == ["the largest m"]
    assert found.share == pytest.approx(0.5)
    both = outside_of(crossed(), {"m": (64, 4096), "n": (8, 512)})
    assert [end.text() for end in both.ends] == ["the largest m", "the smallest n"]
    assert both.share == pytest.approx(0.75)


def test_a_domain_that_was_measured_is_not_outside():
    assert outside_of(crossed(), {"m": (64, 512), "n": (100, 200)}) is None
    # Samples drawn from a domain do not reach its ends.
    assert outside_of(crossed(), {"m": (60, 530)}) is None
    assert outside_of(crossed(), {}) is None


def test_one_size_outside():
    assert outside_of(crossed(), {"m": (2048, 2048)}).share == 1.0


def test_a_law_is_exact_at_the_end_and_a_history_predicts_nothing():
    samples = cubic(sizes(32, 1024))
    outside = outside_of(samples, {"n": (32, 8192)})
    errors = errors_outside(PowerLaw().fit(samples), samples, outside)
    assert errors == pytest.approx(np.zeros(4), abs=1e-6)
    assert np.isinf(errors_outside(HistoryModel().fit(samples), samples, outside)).all()


def test_too_few_values_say_nothing():
    table = np.column_stack([np.arange(10.0), np.repeat([1.0, 2.0], [2, 8])])
    samples = Samples(("m", "n"), table, table.sum(axis=1))
    outside = outside_of(samples, {"n": (1, 8)})
    assert len(errors_outside(HistoryModel().fit(samples), samples, outside)) == 0


def test_at_several_ends_less_is_left_out_at_each():
    rows = np.random.default_rng(0).random((1000, 5))
    for count, kept in ((1, 0.75), (2, 0.75**2), (5, 0.4)):
        ends = tuple(End(str(column), column, above=True) for column in range(count))
        assert 1 - Outside({}, ends, 0.5).out(rows).mean() == pytest.approx(kept, abs=0.03)


def test_what_extrapolates_is_chosen_where_it_is_asked():
    """A tensor of few cells is right inside; cubes of sizes are beyond them, too."""
    kinds, options = ("cp", "mlr"), {"cp": {"rank": 2, "cells": 16, "ridge": 1e-5}}
    samples = crossed(noise=0.02)
    found = select(samples, kinds, options=options, domain={"m": (64, 65536)})
    by_kind = {row.kind: row for row in found.table}
    assert found.model.kind == "mlr"
    assert by_kind["mlr"].mlogq_outside < by_kind["cp"].mlogq_outside
    assert "on those at their ends" in found.why
    assert found.outside.share == pytest.approx(0.7)
    row = by_kind["mlr"].row()
    assert row["mlogq_outside"] == by_kind["mlr"].mlogq_outside
    assert by_kind["mlr"].judged == pytest.approx(
        0.3 * by_kind["mlr"].mlogq_cv + 0.7 * by_kind["mlr"].mlogq_outside
    )
    inside = select(samples, kinds, options=options, domain={"m": (64, 512)})
    assert inside.outside is None
    assert all(row.mlogq_outside is None for row in inside.table)


def test_a_history_is_warned_of():
    samples = crossed()
    twice = samples.select(np.repeat(np.arange(len(samples)), 2))
    found = select(twice, ["history"], domain={"m": (64, 1024)})
    assert any("where history predicts nothing" in said for said in found.warnings)


def test_extrapolation_that_errs_is_warned_of():
    n = sizes(32, 1024, 40)
    samples = Samples(("n",), n[:, None], 1e-9 * n**2 + 1e-15 * n**5)
    found = select(samples, ["power"], domain={"n": (32, 8192)})
    assert any("with the largest n: measure there" in said for said in found.warnings)


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        ({"mm": (1, 2)}, "unknown parameter 'mm', did you mean 'm'"),
        ({"layout": (1, 2)}, "layout has categories, which have no range"),
        ({"fixed": (1, 2)}, "fixed is 7 in all samples"),
        ({"m": (2, 1)}, "m from 2 to 1; legal: numbers from 0, the lower first"),
        ({"m": (0, float("inf"))}, "m from 0 to inf; legal"),
        ({"m": 5}, "m=5; legal: .lowest, highest."),
        ([("m", 1, 2)], "legal: parameter -> .lowest, highest."),
    ],
)
def test_domains_that_are_none(domain, message):
    samples = Samples(
        ("m", "layout"), [[1, 0], [2, 1]], [1.0, 2.0], categories={"layout": ("a", "b")},
        constants={"fixed": 7.0},
    )  # fmt: skip
    with pytest.raises(InputError, match=message):
        checked_domain(samples, domain)
