"""Conformance tests for kinds of kernel models, built-in or a user's own.

::

    from tasksim.models.conformance import parametrize_with_checks

    @parametrize_with_checks([MyModel, lambda: MyModel(order=2)])
    def test_my_model(model, check):
        check(model)

Each check takes a factory (a class will do), fits its models to samples of a matrix
product with parameters m, n and k (for kinds with one parameter: the size of the matrices), and
raises :exc:`CheckFailed` if a rule is broken.
"""

from __future__ import annotations

import copy
import inspect
import json
import pickle
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.errors import (
    CheckFailed,
    InputError,
    NotFittedError,
    OutOfDomainError,
    TasksimError,
    demand,
)
from tasksim.models.fitted import columns
from tasksim.models.kernelmodel import KernelModel
from tasksim.models.registry import from_json, kinds
from tasksim.models.samples import Samples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tasksim.base.arrays import Floats

    Factory = Callable[[], KernelModel]
    Check = Callable[[Factory], None]

__all__ = [
    "check_model",
    "checks",
    "example_samples",
    "example_sizes",
    "examples_for",
    "parametrize_with_checks",
]

COMMON_REPORT_KEYS = (
    "kind",
    "samples",
    "dropped",
    "configurations",
    "mlogq",
    "bias",
    "mape",
    "worst",
)


def checks(factory: Factory) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield the name of each check, and the check as a function without arguments."""
    for check in CHECKS:
        yield check.__name__, partial(check, factory)


def check_model(factory: Factory) -> None:
    """Run all checks on the models that *factory* makes; raise :exc:`CheckFailed`."""
    for _, check in checks(factory):
        check()


def parametrize_with_checks(factories: list[Factory]) -> Any:
    """Return a pytest decorator that runs a test for each *model* (a factory) and each *check*."""
    import pytest

    cases = [
        pytest.param(factory, check, id=f"{_name(factory)}-{check.__name__}")
        for factory in factories
        for check in CHECKS
    ]
    return pytest.mark.parametrize(("model", "check"), cases)


def init_stores_its_options_and_nothing_else(factory: Factory) -> None:
    """Check that a model can be made again from its options."""
    model = factory()
    options = model.get_params()
    demand(
        list(options) == list(inspect.signature(type(model)).parameters),
        "get_params() does not give the parameters of __init__",
    )
    demand(
        not model.needs_fit or vars(model) == options,
        f"__init__ sets other attributes than its options: {sorted(vars(model))}",
    )
    again = type(model)(**options)
    demand(again.get_params() == options, "__init__ changes its options")


def has_a_kind(factory: Factory) -> None:
    """Check that the model has a kind, which coefficient files name."""
    model = factory()
    demand(isinstance(model, KernelModel), "not a subclass of tasksim.KernelModel")
    demand(isinstance(model.kind, str) and bool(model.kind), "kind is not a name")


def refuses_to_predict_before_fit(factory: Factory) -> None:
    """Check for :exc:`NotFittedError` with a hint to call ``fit``."""
    model = factory()
    if not model.needs_fit:
        return
    table = np.ones((1, 3))
    asked: list[Callable[[], object]] = [
        lambda: model.predict(table),
        lambda: model.sample(table, np.random.default_rng(0)),
        lambda: model.inside(table),
        lambda: columns(model, ("m", "n", "k"), table),
        model.report,
        model.to_json,
    ]
    for ask in asked:
        message = _refused(ask, NotFittedError, "used before fit")
        told = f"This {type(model).__name__} instance is not fitted yet. Call 'fit'"
        demand(told in message, f"the message does not say '{told} ...': {message}")


def fit_returns_the_model(factory: Factory) -> None:
    """Check that ``fit`` returns the model, so that calls can be chained."""
    model = factory()
    demand(model.fit(examples_for(model)) is model, "fit() does not return the model itself")


def fit_starts_from_nothing(factory: Factory) -> None:
    """Check that a second fit forgets the first, and that fits leave the options unchanged."""
    model = _fitted(factory, seed=1)
    options = copy.deepcopy(model.get_params())
    model.fit(examples_for(model))
    fresh = _fitted(factory)
    demand(_same(model, fresh), "a second fit gives another model than a first one")
    demand(model.get_params() == options, "fit() changes the options")


def learns_names_and_domain(factory: Factory) -> None:
    """Check ``names_`` and ``domain_``."""
    model = _fitted(factory)
    if not model.needs_fit:
        return
    samples = examples_for(model)
    demand(model.names_ == samples.names, f"names_ are {model.names_}, not those of the samples")
    columns_of = zip(samples.names, samples.parameters.T, strict=True)
    box = {name: (column.min(), column.max()) for name, column in columns_of}
    demand(model.domain_ == box, f"domain_ is {model.domain_}, not {box}")


def predicts_one_duration_per_row(factory: Factory) -> None:
    """Check that durations are finite and positive (given ones: not negative), one per row."""
    model = _fitted(factory)
    rows = _rows(model)
    for some in (rows, rows[:1], rows[:0], np.asfortranarray(rows), rows.tolist()):
        for values in (model.predict(some), model.sample(some, np.random.default_rng(0))):
            demand(
                isinstance(values, np.ndarray) and values.dtype == np.float64,
                "predict() or sample() does not return float64",
            )
            demand(values.shape == (len(some),), f"{len(some)} rows, result {values.shape}")
            positive = values > 0 if model.needs_fit else values >= 0
            demand(bool((np.isfinite(values) & positive).all()), "a duration is not positive")


def rows_do_not_depend_on_each_other(factory: Factory) -> None:
    """Check that the prediction of a row does not depend on the other rows or their order."""
    model = _fitted(factory)
    rows = _rows(model)
    together = model.predict(rows)
    alone = np.concatenate([model.predict(rows[i : i + 1]) for i in range(len(rows))])
    demand(bool(np.allclose(together, alone, rtol=1e-12)), "a row alone is predicted differently")
    demand(
        bool(np.allclose(model.predict(rows[::-1]), together[::-1], rtol=1e-12)),
        "the order of the rows changes predictions",
    )


def refuses_wrong_parameters(factory: Factory) -> None:
    """Check that NaN, infinite and negative values and tables of a wrong shape are refused."""
    model = _fitted(factory)
    if not model.names_:
        return
    rows = _rows(model)
    for value in (np.nan, np.inf, -np.inf, -1.0):
        wrong = rows.copy()
        wrong[1, 0] = value
        message = _refused(lambda: model.predict(wrong), InputError, f"a parameter is {value}")  # noqa: B023
        demand(model.names_[0] in message, f"the message does not name the parameter: {message}")
    for table in (rows[:, :-1], np.hstack([rows, rows]), rows[0], 3.0, [["x"] * rows.shape[1]]):
        _refused(lambda: model.predict(table), InputError, f"parameters are {table!r}")  # noqa: B023


def names_wrong_columns(factory: Factory) -> None:
    """Check that :func:`columns` ignores extra columns and names missing ones."""
    model = _fitted(factory)
    rows = _rows(model)
    names = (*reversed(model.names_), "extra")
    table = np.hstack([rows[:, ::-1], np.ones((len(rows), 1))])
    demand(bool((columns(model, names, table) == rows).all()), "columns() returns wrong columns")
    if not model.names_:
        return
    others = ("extra", *model.names_[1:])
    message = _refused(lambda: columns(model, others, rows), InputError, "a column is missing")
    for told in (f"needs the parameter {model.names_[0]}", "got extra"):
        demand(told in message, f"the message does not say '{told}': {message}")


def takes_categories_or_refuses_them(factory: Factory) -> None:
    """Check that a fit to a parameter with categories is refused, or knows them by name."""
    model = factory()
    samples = examples_for(model)
    if not model.needs_fit or not samples.names:
        return
    name = samples.names[-1]
    named = samples.with_categories([name])
    try:
        model.fit(named)
    except InputError as error:
        demand(name in str(error), f"the message does not name '{name}': {error}")
        return
    rows, _ = named.configurations()
    names = [[*row[:-1], named.categories[name][int(row[-1])]] for row in rows.tolist()]
    demand(
        bool((model.predict(np.array(names, dtype=object)) == model.predict(rows)).all()),
        "predictions for the names of categories differ from those for their numbers",
    )
    again = type(model).from_json(json.loads(json.dumps(model.to_json())))
    demand(again.categories_ == model.categories_, "a file loses the names of categories")
    unseen = np.array([[*rows[0, :-1].tolist(), "unseen"]], dtype=object)
    _refused(lambda: model.predict(unseen), OutOfDomainError, "a category is not known")
    demand(not model.inside(unseen).any(), "a category that is not known is inside")


def samples_by_the_seed(factory: Factory) -> None:
    """Check that draws depend on the seed only."""
    model = _fitted(factory)
    rows = _rows(model)
    first, second = (model.sample(rows, np.random.default_rng(7)) for _ in range(2))
    demand(bool((first == second).all()), "the same seed gives other draws")
    third = model.sampler(rows)(np.random.default_rng(7))
    demand(bool((first == third).all()), "sampler() draws other values than sample()")
    _refused(lambda: model.sample(rows, None), InputError, "rng is not a generator")  # type: ignore[arg-type]


def samples_have_the_mean_that_is_predicted(factory: Factory) -> None:
    """Check that the mean of draws is within five standard errors of the prediction."""
    model = _fitted(factory)
    for row in _rows(model)[[0, -1]]:
        many = np.tile(row, (20_000, 1))
        draws = model.sample(many, np.random.default_rng(3))
        expected = model.predict(many[:1])[0]
        error = abs(draws.mean() - expected)
        demand(
            error <= 5 * draws.std() / np.sqrt(len(draws)) + 1e-9 * expected,
            f"the mean of 20 000 draws is {draws.mean():.6g} s, predicted is {expected:.6g} s",
        )


def knows_what_is_inside(factory: Factory) -> None:
    """Check that the samples are inside the domain, and values a hundred times larger are not."""
    model = _fitted(factory)
    rows = _rows(model)
    demand(bool(model.inside(rows).all()), "a row of the samples is outside")
    if model.domain_:
        demand(not model.inside(100 * rows).any(), "rows far outside the samples are inside")


def survives_pickling(factory: Factory) -> None:
    """Check that models can be sent to other processes."""
    model = _fitted(factory)
    demand(
        _same(pickle.loads(pickle.dumps(model)), model), "a pickled model differs from the original"
    )


def survives_json(factory: Factory) -> None:
    """Check that JSON restores the model to the last bit."""
    model = _fitted(factory)
    text = json.dumps(model.to_json(), allow_nan=False)
    demand(json.loads(text) == model.to_json(), "to_json() does not give plain data")
    again = type(model).from_json(json.loads(text))
    demand(_same(again, model), "the model read from to_json() differs from the original")
    demand(again.report() == model.report(), "the report is lost in JSON")
    demand(again.to_json() == model.to_json(), "to_json() changes after a round trip through JSON")


def is_registered(factory: Factory) -> None:
    """Check that :func:`tasksim.models.registry.from_json` finds an installed kind."""
    model = _fitted(factory)
    if model.kind in kinds():
        demand(_same(from_json(model.to_json()), model), "the registry makes another model")


def refuses_malformed_json(factory: Factory) -> None:
    """Check that a missing key and a wrong value are refused by name."""
    data = _fitted(factory).to_json()
    make = type(factory()).from_json
    for key in data:
        without = {k: value for k, value in data.items() if k != key}
        message = _refused(lambda: make(without), InputError, f"JSON has no '{key}'")  # noqa: B023
        demand(key in message, f"the message does not name '{key}': {message}")
        message = _refused(
            lambda: make({**data, key: True}),  # noqa: B023
            InputError,
            f"'{key}' is true in JSON",
        )
        demand(key in message, f"the message does not name '{key}': {message}")


def reports_the_fit(factory: Factory) -> None:
    """Check that the report has the keys common to all kinds, and correct counts."""
    samples = examples_for(factory())
    report = factory().fit(samples).report()
    missing = [key for key in COMMON_REPORT_KEYS if key not in report]
    demand(not missing, f"report() has no {missing}")
    json.dumps(report, allow_nan=False)
    if factory().needs_fit:
        demand(report["samples"] == len(samples), f"{report['samples']} samples in the report")
        demand(report["configurations"] == 64, f"{report['configurations']} configurations")
        demand(report["mlogq"] < 0.5, f"mlogq is {report['mlogq']:.3g} on a matrix product")


def leaves_its_input_alone(factory: Factory) -> None:
    """Check that neither samples nor parameters are modified."""
    samples = examples_for(factory())
    before = samples.parameters.copy(), samples.durations_s.copy()
    model = factory().fit(samples)
    rows = _rows(model)
    kept = rows.copy()
    model.predict(rows)
    model.sample(rows, np.random.default_rng(0))
    unchanged = (
        (samples.parameters == before[0]).all(),
        (samples.durations_s == before[1]).all(),
        (rows == kept).all(),
    )
    demand(all(unchanged), "the input was changed")


def fits_little_or_refuses(factory: Factory) -> None:
    """Check zero, one and twelve samples: the model reproduces them, or says why it cannot."""
    some = examples_for(factory())
    for count in (0, 1, 12):
        few = some.select(np.arange(count))
        model = factory()
        try:
            model.fit(few)
        except TasksimError as error:
            demand(bool(str(error)), f"fit() of {count} samples is refused without a reason")
            continue
        demand(count > 0 or not model.needs_fit, "fit() accepts no samples")
        if model.needs_fit:
            predicted = model.predict(few.parameters)
            low, high = few.durations_s.min() / 1.5, few.durations_s.max() * 1.5
            demand(
                bool(((low <= predicted) & (predicted <= high)).all()),
                f"fitted to {count} sample(s) of one configuration, it predicts {predicted[0]:g} s,"
                f" not about {few.durations_s.mean():g} s",
            )


CHECKS: tuple[Check, ...] = (
    has_a_kind,
    init_stores_its_options_and_nothing_else,
    refuses_to_predict_before_fit,
    fit_returns_the_model,
    fit_starts_from_nothing,
    learns_names_and_domain,
    predicts_one_duration_per_row,
    rows_do_not_depend_on_each_other,
    refuses_wrong_parameters,
    names_wrong_columns,
    samples_by_the_seed,
    samples_have_the_mean_that_is_predicted,
    knows_what_is_inside,
    survives_pickling,
    survives_json,
    is_registered,
    refuses_malformed_json,
    reports_the_fit,
    leaves_its_input_alone,
    fits_little_or_refuses,
    takes_categories_or_refuses_them,
)


def _name(factory: Factory) -> str:
    return getattr(factory, "__name__", "").replace("<lambda>", "") or type(factory()).__name__


def _rows(model: KernelModel) -> Floats:
    """Return the distinct rows of the example, with the columns that *model* has."""
    rows = examples_for(model, 1).parameters
    return rows if model.names_ else rows[:, :0]


def _fitted(factory: Factory, seed: int = 0) -> KernelModel:
    model = factory()
    try:
        return model.fit(examples_for(model, seed=seed))
    except TasksimError as error:
        raise CheckFailed(f"fit() to the durations of a matrix product fails: {error}") from error


def _same(a: KernelModel, b: KernelModel) -> bool:
    rows = _rows(b)
    draws = [model.sample(rows, np.random.default_rng(5)) for model in (a, b)]
    return (
        a.names_ == b.names_
        and a.domain_ == b.domain_
        and bool((a.predict(rows) == b.predict(rows)).all())
        and bool((draws[0] == draws[1]).all())
        and bool((a.inside(rows) == b.inside(rows)).all())
    )


def _refused(ask: Callable[[], object], kind: type[TasksimError], when: str) -> str:
    """Return the message of the error that *ask* must raise."""
    try:
        ask()
    except kind as error:
        return str(error)
    except Exception as error:
        raise CheckFailed(
            f"{when}: {type(error).__name__} instead of {kind.__name__}: {error}"
        ) from error
    raise CheckFailed(f"{when}, but {kind.__name__} is not raised")


BLOCK_SIZES = (64.0, 96.0, 128.0, 192.0)
"""Block sizes typical of applications, not all of them powers of 2."""


def example_samples(repetitions: int = 12, seed: int = 0) -> Samples:
    """Return durations of a matrix product with 5 % of noise, measured at 64 sizes."""
    rng = np.random.default_rng(seed)
    grid = np.array([(m, n, k) for m in BLOCK_SIZES for n in BLOCK_SIZES for k in BLOCK_SIZES])
    table = np.repeat(grid, repetitions, axis=0)
    durations_s = (2e-6 + 6e-11 * table.prod(axis=1)) * rng.lognormal(0.0, 0.05, len(table))
    return Samples(("m", "n", "k"), table, durations_s, np.arange(len(table)) % repetitions)


def example_sizes(repetitions: int = 12, seed: int = 0) -> Samples:
    """Return durations of products of square matrices of 64 sizes, by their bytes."""
    rng = np.random.default_rng(seed)
    orders = np.repeat(np.arange(64.0, 128.0), repetitions)
    durations_s = (2e-6 + 6e-11 * orders**3) * rng.lognormal(0.0, 0.05, len(orders))
    sizes = 3 * 8 * orders[:, None] ** 2
    return Samples(("size_bytes",), sizes, durations_s, np.arange(len(orders)) % repetitions)


def examples_for(model: KernelModel, repetitions: int = 12, seed: int = 0) -> Samples:
    """Return samples that *model* can be fitted to, with the parameters and counters it needs."""
    make = example_sizes if model.parameter_count == 1 else example_samples
    samples = make(repetitions, seed)
    return _counted(samples) if model.needs_counters else samples


def _counted(samples: Samples) -> Samples:
    """Return *samples* of a product with plausible counters."""
    table = samples.parameters
    product, sides = table.prod(axis=1), table.sum(axis=1)
    counters = {
        "instructions": 1000 + 0.5 * product,
        "l1_hits": 0.15 * product + 10 * sides,
        "l2_hits": 0.01 * product,
        "memory_accesses": sides,
        "frequency_hz": np.full(len(samples), 3e9),
    }
    return Samples(samples.names, table, samples.durations_s, samples.runs, counters)
