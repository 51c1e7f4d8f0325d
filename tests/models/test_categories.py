"""Parameters with categories: samples, all kinds of models, their files."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tasksim
from tasksim.base.documents.json_document import FormatError
from tasksim.base.errors import InputError, OutOfDomainError
from tasksim.base.numerals import sorted_names
from tasksim.models.categories import code_of, coded_column
from tasksim.models.diagnosis.diagnose import diagnose
from tasksim.models.fitted import columns
from tasksim.models.kernelmodel import KernelModel
from tasksim.models.kinds.bysize import SizeHistory
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.kinds.linear import LinearModel
from tasksim.models.kinds.power import PowerLaw
from tasksim.models.samples import Samples
from tasksim.models.selection import select
from tasksim.models.tensor.hybrid import HybridModel
from tasksim.models.tensor.model import TensorModel

FACTORS = {"col": 1.0, "row": 3.0, "tile": 0.5}


def measured(count=120, seed=0, noise=0.0):
    """Durations of a kernel whose layouts differ by the FACTORS."""
    rng = np.random.default_rng(seed)
    layout = np.array(sorted(FACTORS))[rng.integers(3, size=count)]
    n = np.round(2.0 ** rng.uniform(4, 9, count))
    factor = np.array([FACTORS[name] for name in layout.tolist()])
    seconds = 1e-6 * n * factor * np.exp(noise * rng.standard_normal(count))
    return Samples.from_columns({"layout": layout, "n": n, "duration_s": seconds})


KINDS = [
    LinearModel("auto"),
    LinearModel("0 + n*is(layout, col) + n*is(layout, row) + n*is(layout, tile)"),
    TensorModel(rank=2, cells=6, ridge=1e-6),
    HybridModel(),
    HistoryModel(),
]


@pytest.mark.parametrize("model", KINDS, ids=lambda model: repr(model)[:30])
def test_each_kind_predicts_categories_by_name(model):
    samples = measured()
    model = model.clone().fit(samples)
    assert model.categories_ == {"layout": ("col", "row", "tile")}
    assert model.measured().startswith("layout col, row, tile, n ")
    for name, factor in FACTORS.items():
        of = samples.parameters[:, 0] == samples.categories["layout"].index(name)
        n = samples.parameters[of, 1].tolist()
        got = model.predict([[name, value] for value in n])
        np.testing.assert_allclose(got, 1e-6 * factor * np.array(n), rtol=0.05)
        assert np.array_equal(got, model.predict(samples.parameters[of]))
        assert model.inside([[name, value] for value in n]).all()


@pytest.mark.parametrize("model", KINDS, ids=lambda model: repr(model)[:30])
def test_files_keep_the_categories(model):
    model = model.clone().fit(measured())
    data = json.loads(json.dumps(model.to_json()))
    assert data["categories"] == {"layout": ["col", "row", "tile"]}
    again = type(model).from_json(data)
    assert again.categories_ == model.categories_
    assert json.loads(json.dumps(again.to_json())) == data
    table = measured().parameters[:5]
    assert np.array_equal(again.predict(table), model.predict(table))


def test_files_of_models_without_categories_do_not_mention_them():
    samples = Samples(("n",), [[1], [2], [3]], [1.0, 2.0, 3.0])
    assert {"categories", "unmeasured"}.isdisjoint(HistoryModel().fit(samples).to_json())


@pytest.mark.parametrize(
    ("categories", "message"),
    [
        ({"layuot": ["a"]}, "layuot.*none of the parameters"),
        ({"layout": []}, "at least one"),
        ({"layout": ["a", "a"]}, "layout"),
    ],
)
def test_wrong_categories_in_a_file_are_errors_that_name_the_place(categories, message):
    data = {**HistoryModel().fit(measured()).to_json(), "categories": categories}
    with pytest.raises(FormatError, match=message):
        HistoryModel.from_json(data)


def test_an_unseen_category_is_an_error_with_the_nearest_one():
    model = LinearModel("auto").fit(measured())
    message = (
        "row 1: layout=rwo: no such category was measured, did you mean 'row'? "
        r"\(measured: col, row, tile\)"
    )
    for asked in (model.predict, lambda table: model.sample(table, np.random.default_rng(0))):
        with pytest.raises(OutOfDomainError, match=message.replace("?", r"\?")):
            asked([["row", 64], ["rwo", 64]])
    assert model.inside([["row", 64], ["rwo", 64]]).tolist() == [True, False]


def test_a_pooled_prediction_is_the_geometric_mean_over_the_categories():
    model = select(measured(noise=0.05), ["mlr"]).model
    every = [[name, 64] for name in FACTORS]
    one = model.predict([["new", 64], ["row", 64]], unseen="pooled")
    assert one[0] == pytest.approx(np.exp(np.log(model.predict(every)).mean()))
    assert one[1] == model.predict([["row", 64]])[0]
    low, high = model.interval([["new", 64]], unseen="pooled")
    lows, highs = model.interval(every)
    assert (low[0], high[0]) == (lows.min(), highs.max())
    with pytest.raises(InputError, match=r"unseen: got 'poold'.*did you mean 'pooled'"):
        model.predict(every, unseen="poold")


def test_numbers_in_a_table_of_numbers_are_numbers_of_categories():
    model = HistoryModel().fit(
        Samples.from_columns({"nodes": ["2", "8", "16"], "duration_s": [2.0, 8.0, 16.0]})
    )
    assert model.predict([[0], [1], [2]]).tolist() == [2.0, 8.0, 16.0]
    assert model.predict([["16"], ["8"]]).tolist() == [16.0, 8.0]
    assert model.predict(np.array([[8], [2.0]], dtype=object)).tolist() == [8.0, 2.0]
    with pytest.raises(InputError, match=r"row 0: nodes=8: .* 0 to 2; give names as texts: 2"):
        model.predict([[8]])


def test_a_fit_to_a_part_refuses_categories_that_it_lacks():
    samples = measured()
    part = samples.select(samples.parameters[:, 0] != 1)
    model = LinearModel("auto").fit(part)
    assert model.unmeasured_ == {"layout": ("row",)}
    again = LinearModel.from_json(model.to_json())
    for one in (model, again):
        with pytest.raises(OutOfDomainError, match=r"layout=row: .*\(measured: col, tile\)"):
            one.predict([[1.0, 64.0]])
        assert one.inside([["row", 64], ["tile", 64]]).tolist() == [False, True]
    one = model.predict([["row", 64]], unseen="pooled")
    assert one[0] == pytest.approx(1e-6 * 64 * 0.5**0.5, rel=1e-3)
    assert part.with_used_categories().categories == {"layout": ("col", "tile")}


@pytest.mark.parametrize("model", [PowerLaw(), SizeHistory()])
def test_kinds_that_need_a_quantity_refuse_categories(model):
    samples = measured().without(["n"])
    with pytest.raises(InputError, match=r"need numbers: 'layout' has categories \(col, row"):
        model.fit(samples)


def test_a_term_of_categories_needs_their_names():
    with pytest.raises(InputError, match=r"'layout' has categories.* write is\(layout, col\)"):
        LinearModel("layout*n").fit(measured())
    with pytest.raises(InputError, match="no category 'rwo', did you mean 'row'"):
        LinearModel("n*is(layout, rwo)").fit(measured())
    model = LinearModel("0 + n*is(layout, row) + n").fit(measured())
    assert "is(layout, row)*n" in model.formula()


def test_columns_turn_the_numbers_of_others_into_those_of_the_model():
    model = HistoryModel().fit(
        Samples.from_columns({"layout": ["row", "tile"], "n": [1, 1], "duration_s": [1.0, 2.0]})
    )
    table = np.array([[1.0, 2.0], [1.0, 1.0]])
    others = {"layout": ("col", "row", "tile")}
    assert columns(model, ("n", "layout"), table, categories=others).tolist() == [[1, 1], [0, 1]]
    with pytest.raises(OutOfDomainError, match="layout=col: no such category was measured"):
        columns(model, ("n", "layout"), np.array([[1.0, 0.0]]), categories=others)
    with pytest.raises(OutOfDomainError, match="layout=3: no such category"):
        columns(model, ("n", "layout"), np.array([[1.0, 3.0]]))
    numeric = HistoryModel().fit(Samples(("n",), [[1], [1]], [1.0, 2.0]))
    with pytest.raises(InputError, match=r"n: got categories \(a\); legal: numbers"):
        columns(numeric, ("n",), np.array([[0.0]]), categories={"n": ("a",)})


@pytest.mark.slow
def test_every_parameter_of_a_hybrid_may_have_categories():
    """The fit to a part for the drift lacks categories, and keeps the scales of the others."""
    rng = np.random.default_rng(0)
    table = rng.integers(1, 9, (160, 8)).astype(float)
    seconds = 1e-6 * table[:, :3].prod(axis=1) * rng.lognormal(0, 0.02, 160)
    samples = Samples(tuple("abcdefgh"), table, seconds)
    found = select(samples, ["hybrid"], options={"hybrid": {"spacing": "categorical"}})
    assert found.model.kind == "hybrid"
    assert found.model.uncertainty_ is not None


def test_a_diagnosis_takes_categories_as_such():
    samples = measured(count=300, noise=0.02)
    good = diagnose(select(samples, ["mlr"]).model, samples)
    assert not good.warnings
    assert not good.has("few-values")
    without = samples.without(["layout"])
    lacking = diagnose(LinearModel("n").fit(without), samples)
    found = next(f for f in lacking.findings if f.code == "missing-parameter")
    assert found.names == ("layout",)


def test_a_constant_category_is_named():
    columns = {"layout": ["row"] * 6, "n": [1, 2, 3, 4, 5, 6], "duration_s": [1, 2, 3, 4, 5, 6]}
    found = select(Samples.from_columns(columns), ["mlr"])
    assert found.samples.constants == {"layout": 0.0}
    assert found.model.categories_ == {"layout": ("row",)}
    assert found.warnings[0].startswith("layout is row in all 6 samples")
    again = LinearModel.from_json(found.model.to_json())
    assert again.categories_ == {"layout": ("row",)}


# --- samples --------------------------------------------------------------------------------------


def test_samples_of_several_parts_have_all_categories():
    a = Samples.from_columns({"x": ["b", "d"], "duration_s": [1.0, 2.0]})
    b = Samples.from_columns({"x": ["c", "b"], "duration_s": [3.0, 1.0]})
    both = Samples.concat([a, b])
    assert both.categories == {"x": ("b", "c", "d")}
    assert both.parameters.ravel().tolist() == [0.0, 2.0, 1.0, 0.0]
    with pytest.raises(InputError, match=r"numbers and with categories of 'x'.* b, d"):
        Samples.concat([a, Samples(("x",), [[1]], [1.0])])


def test_columns_without_texts_stay_numbers():
    samples = Samples.from_columns({"n": [1, 2], "x": np.array(["1", "2"]), "duration_s": [1, 2]})
    assert samples.categories == {"x": ("1", "2")}
    assert samples.without(["x"]).categories == {}
    assert samples.select([0]).categories == {"x": ("1", "2")}


@pytest.mark.parametrize(
    ("categories", "message"),
    [
        ({"y": ("a",)}, r"got 'y'; legal: one of the parameters \(x\)"),
        ({"x": "ab"}, "legal: texts"),
        ({"x": ("a", "")}, "none empty"),
        ({"x": ("a", "a")}, "once"),
        ({"x": ()}, "one or more"),
        ({"x": ("a",)}, "sample 1: x=1: .* 0 to 0"),
        (7, "legal: parameter -> names"),
    ],
)
def test_wrong_categories_of_samples_are_errors(categories, message):
    with pytest.raises(InputError, match=message):
        Samples(("x",), [[0], [1]], [1.0, 1.0], categories=categories)


NAMES = st.lists(st.text("ab1.-", min_size=1, max_size=3), min_size=1, max_size=8)


@given(NAMES)
def test_names_and_numbers_of_categories_are_one_to_one(texts):
    column, names = coded_column(texts)
    assert names == sorted_names(texts)
    assert [names[int(code)] for code in column] == texts
    assert [code_of(name, names) for name in names] == list(range(len(names)))


# --- names in terms -------------------------------------------------------------------------------


def strange():
    """Durations of layouts with names that are no words, and must not end a comment."""
    names = ["row-major", 'a "b"', "*/ x", "tile", "2"]
    n = np.repeat(np.arange(1.0, 9.0), len(names))
    layout = names * 8
    factor = np.array([names.index(name) + 1 for name in layout])
    return Samples.from_columns({"layout": layout, "n": n, "duration_s": 1e-3 * n * factor}), names


def test_names_that_are_no_words_are_quoted_and_read_again():
    samples, names = strange()
    model = LinearModel("auto").fit(samples)
    assert 'is(layout, "row-major")' in str(model._parsed_) + str(model.report()["alternatives"])
    settled = model.settled().clone().fit(samples)
    assert settled.formula() == model.formula()
    again = LinearModel.from_json(json.loads(json.dumps(model.to_json())))
    table = [[name, 3] for name in names]
    assert again.predict(table).tolist() == model.predict(table).tolist()
    np.testing.assert_allclose(model.predict(table), 3e-3 * np.arange(1, 6), rtol=1e-6)


def test_source_says_what_numbers_mean_and_names_do_not_end_comments():
    samples, names = strange()
    terms = " + ".join(f"n*is(layout, {json.dumps(name)})" for name in names)
    model = LinearModel(f"0 + {terms}").fit(samples)
    c = model.source("c", "f")
    assert c.count("*/") == 1
    assert "layout 4 is tile" in c
    found: dict[str, object] = {}
    exec(model.source("python", "f"), found)  # the source that the test is about
    for name in names:
        code = model.categories_["layout"].index(name)
        assert found["f"](code, 5.0) == pytest.approx(model.predict([[name, 5]])[0])


def test_a_number_in_a_term_is_the_name_of_a_category_if_there_are_names():
    samples = Samples(("nodes", "n"), [[8, 1], [2, 1], [8, 2], [2, 2]], [8.0, 2.0, 16.0, 4.0])
    model = LinearModel("0 + n*is(nodes, 8) + n*is(nodes, 2)").fit(
        samples.with_categories(["nodes"])
    )
    assert model.predict([["8", "3"], ["2", "3"]]).tolist() == pytest.approx([24.0, 6.0])
    with pytest.raises(InputError, match=r"'nodes' has no category '4' \(2, 8\)"):
        LinearModel("n*is(nodes, 4)").fit(samples.with_categories(["nodes"]))


def test_a_library_predicts_by_name(tmp_path):
    model = HistoryModel().fit(
        Samples.from_columns({"n": [1, 2], "layout": ["row", "col"], "duration_s": [1.0, 2.0]})
    )
    path = tasksim.save_models(tmp_path / "m.json", {"copy": {"cpu": model}}, machine="here")
    library = tasksim.ModelLibrary(path)
    names = ("layout", "n", "other")
    assert library.predict("copy", "cpu", names, [["row", 1, 0], ["col", 2, 0]]).tolist() == [1, 2]
    with pytest.raises(OutOfDomainError, match="layout=raw: no such category was measured, did"):
        library.predict("copy", "cpu", names, [["raw", 1, 0]])
    with pytest.raises(InputError, match=r"parameters must be numbers: .*'x'"):
        library.predict("copy", "cpu", names, [["row", "x", 0]])


class Sum(KernelModel):
    """A kind of another package: seconds are the sum of the parameters."""

    kind = "sum"

    def _fit(self, samples):
        return np.ones(len(samples), dtype=bool)

    def _predict(self, table):
        return table.sum(axis=1)

    def _sample(self, table, rng):
        return self._predict(table)

    def _to_json(self):
        return {}

    def _from_json(self, node):
        pass


class NamedSum(Sum):
    takes_categories = True


def test_kinds_of_other_packages_take_categories_only_if_they_say_so():
    samples = Samples.from_columns({"x": ["b", "a"], "n": [5, 7], "duration_s": [1.0, 2.0]})
    with pytest.raises(InputError, match=r"sum models need numbers: 'x' has categories \(a, b\)"):
        Sum().fit(samples)
    assert NamedSum().fit(samples).predict([["b", 5]]).tolist() == [6.0]
