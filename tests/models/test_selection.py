"""Choice of the kind of model, and its reason."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tiers import LONG

from tasksim.base.errors import InputError
from tasksim.models import selection
from tasksim.models.candidate import size_bytes
from tasksim.models.samples import Samples
from tasksim.models.selection import AUTOMATIC_KINDS, check_separable, select
from tasksim.models.tensor.tuning import OPERATIONS_PER_S, GridSearch

GIVEN_OPTIONS = {"rank": 2, "cells": 6, "ridge": 1e-5}
FAST = {"cp": GIVEN_OPTIONS, "hybrid": GIVEN_OPTIONS}
"""Nothing of tensors is searched for: that takes seconds, and is tested with them."""


def samples_of(function, parameters, *, configurations=60, repetitions=3, noise=0.03, seed=0):
    rng = np.random.default_rng(seed)
    logs = rng.uniform(np.log(32), np.log(1024), (configurations, parameters))
    table = np.repeat(np.exp(logs).round(), repetitions, axis=0)
    names = ("m", "n", "k")[:parameters]
    return Samples(names, table, function(table) * rng.lognormal(0, noise, len(table)))


def power_law(table):
    return 2e-9 * table[:, 0] ** 1.73


def polynomial(table):
    return 2e-6 + 4e-11 * table.prod(axis=1) + 2e-9 * table[:, 0] * table[:, 1]


def lookup(table):
    """A duration that has nothing to do with its neighbours'."""
    codes = (table @ np.array([7919.0, 104729.0, 1299709.0])[: table.shape[1]]) % 1000
    return 1e-5 * np.exp(codes / 200)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "parameters", "kind"),
    [(power_law, 1, "power"), (polynomial, 3, "mlr"), (lookup, 3, "history")],
)
@pytest.mark.parametrize("seed", [0, 1] if LONG else [0])
def test_the_true_kind_is_chosen(function, parameters, kind, seed):
    samples = samples_of(function, parameters, seed=seed)
    found = select(samples, AUTOMATIC_KINDS, budget_s=60, seed=seed, options=FAST)
    assert found.model.kind == kind
    assert found.why.startswith(f"{kind}: ")
    assert [row.kind for row in found.table] == list(AUTOMATIC_KINDS)
    assert found.chosen.kind == kind
    assert found.model.uncertainty_ is not None


def test_a_smooth_function_that_is_no_polynomial_is_completed():
    def cached(table):
        # Slower by 2.5 beyond a cache of 2^14 elements: no sum of products of powers.
        work = table[:, 0] * table[:, 1]
        return 1e-9 * work * (1 + 1.5 / (1 + np.exp(-4 * (np.log(work) - np.log(2.0**14)))))

    samples = samples_of(cached, 2, configurations=300, repetitions=1, noise=0.01)
    found = select(samples, ("history", "mlr", "cp"), budget_s=60, options={
        "cp": {"rank": 4, "cells": 12, "ridge": 1e-5}, "mlr": {"terms": "m*n + m + n"},
    })  # fmt: skip
    assert found.model.kind == "cp"


def test_of_equally_good_ones_the_smallest():
    samples = samples_of(lambda table: 1e-9 * table[:, 0] ** 2, 1)
    found = select(samples, ("mlr", "power"), options={"mlr": {"terms": "m^2"}})
    assert found.model.kind == "power"
    sizes = {row.kind: row.size_bytes for row in found.table}
    assert sizes["power"] < sizes["mlr"]


def test_where_one_kind_is_asked_for_the_reason_says_that_no_other_was_tried():
    samples = samples_of(lambda table: 1e-9 * table[:, 0] ** 2, 1)
    alone = select(samples, ("mlr",), options={"mlr": {"terms": "m^2"}})
    assert alone.why.endswith("on sizes left out; it was the only kind tried")
    assert select(samples, ("history",)).why.startswith("history: the only kind tried; it errs by")
    both = select(samples, ("history", "mlr"), options={"mlr": {"terms": "m^2"}})
    assert both.why.endswith("; no other kind could be judged by these")


def test_a_power_law_may_have_a_constant():
    samples = samples_of(lambda table: 1e-4 + power_law(table), 1)
    assert select(samples, ("power",)).model.get_params() == {"constant": True}
    given = select(samples, ("power",), options={"power": {"constant": False}})
    assert given.model.get_params() == {"constant": False}


def test_rows_say_why_a_kind_cannot_be_fitted_and_where_it_can_predict():
    samples = samples_of(polynomial, 3, configurations=20)
    options = {"mlr": {"terms": "m*n*k + m*n"}}
    found = select(samples, ("history", "power", "mlr"), options=options)
    rows = {row.kind: row.row() for row in found.table}
    assert "need samples with 1 parameter" in rows["power"]["reason"]
    assert rows["power"]["size_bytes"] is rows["power"]["mlogq_cv"] is None
    assert rows["history"]["domain"] == "only what was measured"
    assert rows["mlr"]["domain"].endswith(", and beyond")
    assert rows["mlr"]["size_bytes"] == size_bytes(found.model)


def test_the_same_seed_gives_the_same_model():
    samples = samples_of(polynomial, 3, configurations=30)
    options = {"mlr": {"terms": "m*n*k + m*n"}}
    texts = [
        json.dumps(select(samples, ("history", "mlr"), seed=5, options=options).model.to_json())
        for _ in range(2)
    ]
    assert texts[0] == texts[1]


@pytest.mark.slow
def test_with_many_configurations_kinds_are_compared_on_some():
    """All kinds on 768 of 900; those that may win, and histories, on all."""
    samples = samples_of(polynomial, 3, configurations=900, repetitions=1)
    options = {"mlr": {"terms": "m"}}
    found = select(samples, ("history", "mlr", "hybrid"), options=options, seed=3)
    assert found.model.kind == "hybrid"
    counts = {row.kind: row.configurations for row in found.table}
    total = len(samples.configurations()[0])
    assert counts == {"history": total, "mlr": 768, "hybrid": total}
    assert f"compared on 768 of {total} configurations" in found.why
    assert found.model.report()["configurations"] == total


def test_a_history_is_compared_whatever_the_number_of_configurations():
    """Durations have nothing to do with n: only what was measured predicts them."""
    rng = np.random.default_rng(0)
    n = np.repeat(np.arange(1.0, 901.0), 2)
    durations_s = np.repeat(1e-3 * rng.lognormal(0, 1, 900), 2) * rng.lognormal(0, 0.01, 1800)
    samples = Samples(("n",), n[:, None], durations_s)
    found = select(samples, ("power", "history", "mlr"), options={"mlr": {"terms": "n"}})
    assert found.model.kind == "history"
    assert [row.kind for row in found.table] == ["power", "history", "mlr"]


def test_intervals_take_all_that_the_fit_left_out(monkeypatch):
    """A comparison leaves out two folds of many configurations, a learned model's fit all five."""
    monkeypatch.setattr(selection, "MAX_ALL_FOLDS", 40)
    monkeypatch.setattr(selection, "RESAMPLES", 2)
    samples = samples_of(lambda table: 1e-6 * (2 + np.sin(table[:, 0] / 90)) * table[:, 1], 2)
    options = {"mlr": {"terms": "m*n"}, "learned": {"trees": 0}}
    found = select(samples, ["mlr", "learned"], options=options)
    assert found.model.kind == "learned"
    assert found.out.known.sum() == len(samples) * 2 // 5
    assert found.model.uncertainty_.count == len(samples)


def test_a_small_budget_compares_on_fewer():
    samples = samples_of(polynomial, 2, configurations=300, repetitions=1)
    options = {"mlr": {"terms": "m"}}
    found = select(samples, ("hybrid", "mlr"), budget_s=0, options=options)
    assert found.model.kind == "hybrid"
    assert {row.kind: row.configurations for row in found.table}["mlr"] == 64
    assert found.model.report()["configurations"] == len(samples.configurations()[0])


def test_the_searches_of_all_fits_together_keep_to_the_budget(monkeypatch):
    """Fits of folds, resamples and intervals search again, each with its part of the operations."""
    spent, best = [], GridSearch.best

    def counting(search):
        found = best(search)
        spent.append(search.spent)
        return found

    monkeypatch.setattr(GridSearch, "best", counting)
    select(samples_of(polynomial, 2, configurations=60), ("cp",), budget_s=1.0)
    assert len(spent) > 10
    assert 0.5 * OPERATIONS_PER_S < sum(spent) <= OPERATIONS_PER_S


def test_each_step_is_reported():
    samples = samples_of(polynomial, 3, configurations=40)
    shown = []
    found = select(
        samples,
        ("cp", "hybrid"),
        budget_s=0,
        progress=lambda what, share: shown.append((what, share)),
    )
    assert all(row.model is not None and row.mlogq_cv is not None for row in found.table)
    assert [what for what, _ in shown] == [
        "trying cp", "trying hybrid", f"intervals of {found.model.kind}",
    ]  # fmt: skip
    shares = [share for _, share in shown]
    assert shares == sorted(shares)
    assert shares[-1] <= 1


@pytest.mark.parametrize("budget", [-1, True, "1s", float("nan")])
def test_budgets_that_are_none(budget):
    with pytest.raises(InputError, match="budget_s must be a number of seconds, not negative"):
        select(samples_of(power_law, 1), budget_s=budget)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "searches"),
    [
        ("cp", "tasksim.models.tensor.tuning.GridSearch.best"),
        ("hybrid", "tasksim.models.tensor.hybrid.learn_scales"),
    ],
)
def test_over_many_configurations_is_searched_once(kind, searches, monkeypatch):
    import importlib

    module, _, name = searches.rpartition(".")
    owner, calls = None, []
    try:
        owner = importlib.import_module(module)
    except ImportError:
        module, _, holder = module.rpartition(".")
        owner = getattr(importlib.import_module(module), holder)
    original = getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda *args: (calls.append(1), original(*args))[1])
    samples = samples_of(polynomial, 3, configurations=1100, repetitions=1)
    options = {kind: {"budget_s": 0.2}}
    found = select(samples, (kind,), options=options)
    assert len(calls) == 1
    assert found.table[0].mlogq_cv < 0.06
    low, high = found.model.interval(samples.parameters, 0.9)
    assert 0.85 < ((low <= samples.durations_s) & (samples.durations_s <= high)).mean() < 0.97


def test_nothing_fits():
    samples = samples_of(polynomial, 3, configurations=10)
    with pytest.raises(InputError, match=r"no kind of model fits.*\n  power: .*\n  cp2: not inst"):
        select(samples, ("power", "cp2"))
    with pytest.raises(InputError, match="cannot be fitted: power models need samples with 1"):
        select(samples, ("power",))
    with pytest.raises(InputError, match="unknown kind of model 'hystory', did you mean 'history'"):
        select(samples, ("hystory",))


def test_fewer_samples_than_terms():
    samples = samples_of(polynomial, 3, configurations=3, repetitions=1)
    with pytest.raises(InputError, match=r"5 terms .* need samples of at least 5 configurations"):
        select(samples, ("mlr",), options={"mlr": {"terms": "m*n*k + m*n + m + n"}})


def test_parameters_that_are_the_same_in_all_samples_are_left_out():
    m = np.repeat(np.arange(1.0, 10.0), 3)
    samples = Samples(("m", "n"), np.column_stack([m, np.full(27, 64.0)]), 1e-6 * m)
    found = select(samples, ("mlr", "power"))
    assert (found.samples.names, found.samples.constants) == (("m",), {"n": 64.0})
    assert found.warnings[0].startswith("n is 64 in all 27 samples: left out")
    assert (found.model.names_, found.model.fixed_) == (("m",), {"n": 64.0})
    again = type(found.model).from_json(found.model.to_json())
    assert again.fixed_ == {"n": 64.0}
    with pytest.raises(InputError, match=r"parameter n is 64 in all 27 samples.*--parameters m"):
        select(samples, ("mlr",), options={"mlr": {"terms": "m*n"}})


def test_parameters_that_samples_cannot_tell_apart():
    grid = np.array([[m, n] for m in (1.0, 2.0, 4.0) for n in (1.0, 3.0, 5.0)])
    check_separable(Samples(("m", "n"), grid, grid.sum(axis=1)))
    m = grid[:, 0]
    for table, message in (
        (np.column_stack([grid, 2 * m + 1]), "parameter k is a linear combination of m in all"),
        (
            np.column_stack([grid, grid[:, 0] * grid[:, 1] ** 2]),
            "k is a product of powers of m and n",
        ),
    ):
        names = ("m", "n", "k")[: table.shape[1]]
        with pytest.raises(InputError, match=message):
            select(Samples(names, table, np.arange(1.0, 10.0)))


def test_a_history_does_not_mind_parameters_that_do_not_vary():
    table = np.full((12, 2), 64.0)
    durations = np.random.default_rng(0).uniform(1.0, 1.2, 12)
    found = select(Samples(("m", "n"), table, durations), ("history",))
    assert found.model.predict([[64, 64]])[0] == pytest.approx(durations.mean())


def test_one_sample():
    with pytest.raises(InputError, match="1 sample: it says nothing about other durations"):
        select(Samples(("n",), [[1.0]], [1.0]))
    only = select(Samples(("n",), [[1.0]], [1.0]), ("history",))
    assert only.warnings[0].startswith("no intervals: intervals need at least 5 samples")
    assert "nothing was measured twice" in only.table[0].reason


def test_poor_models_and_few_samples_are_warned_of():
    samples = samples_of(lookup, 3, configurations=12, repetitions=1)
    found = select(samples, ("mlr",), options={"mlr": {"terms": "m*n*k"}})
    assert found.warnings[0].startswith("mlr errs by ")
    assert found.warnings[1].startswith("only 12 samples could be left out")
    good = select(samples_of(power_law, 1), ("power",))
    assert good.warnings == ()


def test_a_second_comparison_is_begun_if_it_will_end_in_time(monkeypatch):
    """The budget is 9 s: both may take 12, and the second takes 1.8 times as long."""
    now = [100.0]
    monkeypatch.setattr(selection.time, "process_time", lambda: now[0])
    contest = selection._Contest(None, ("mlr", "hybrid"), 9.0, 0, {}, None, None)
    now[0] += 3.0
    assert contest.affords(5.0)
    assert not contest.affords(5.1)
    now[0] += 9.0
    assert contest.affords(0.0)
    now[0] += 0.1
    assert not contest.affords(0.0)


@pytest.mark.slow
def test_without_a_budget_for_it_there_is_no_second_comparison(monkeypatch):
    samples = samples_of(polynomial, 3, configurations=900, repetitions=1)
    monkeypatch.setattr(selection._Contest, "affords", lambda *_: False)
    options = {"mlr": {"terms": "m"}}
    found = select(samples, ("mlr", "hybrid"), options=options, seed=3)
    assert found.model.kind == "hybrid"
    assert f"compared on 768 of {len(samples.configurations()[0])} configurations" in found.why
