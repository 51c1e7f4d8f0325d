"""A kind of kernel model of another package: no second-class kind."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tasksim.formats.starpu.codelet_models import from_models
from tasksim.models.conformance import check_model
from tasksim.models.diagnosis.diagnose import diagnose
from tasksim.models.files.store import ModelLibrary
from tasksim.models.forms import LinearForm
from tasksim.models.kernelmodel import KernelModel
from tasksim.models.samples import Samples
from tasksim.models.selection import automatic_kinds, select
from tasksim.models.terms.formulas import parse_terms
from tasksim.models.uncertainty.doubt import Anchors, Covariance


class Proportional(KernelModel):
    """A duration proportional to the product of the parameters: the least a kind can say."""

    kind = "proportional"

    def __init__(self, *, fence: float | None = None):
        self.fence = fence

    def _fit(self, samples):
        work = samples.parameters.prod(axis=1)
        self.rate_ = float(np.exp(np.log(samples.durations_s / work).mean()))
        self.spread_ = float(np.log(samples.durations_s / (self.rate_ * work)).std())
        return np.ones(len(samples), dtype=bool)

    def _predict(self, table):
        return self.rate_ * table.prod(axis=1)

    def _sample(self, table, rng):
        draws = rng.standard_normal(len(table)) * self.spread_ - self.spread_**2 / 2
        return self._predict(table) * np.exp(draws)

    def _to_json(self):
        return {"rate": self.rate_, "spread": self.spread_}

    def _from_json(self, node):
        self.rate_, self.spread_ = node["rate"].positive(), node["spread"].number()


class Formed(Proportional):
    """The same, which also says that it is a linear form."""

    kind = "formed"
    doubt_kind = Covariance
    languages = ("python",)

    def linear(self):
        self._check_fitted("linear")
        terms = parse_terms(f"0 + {'*'.join(self.names_)}", self.names_)
        coef = np.array([self.rate_])
        return LinearForm(terms, coef, np.array([[np.nan] * 2]), np.array([np.nan]), 1e-11)

    def formula(self, digits=6):
        return self.linear().formula(digits)

    def source(self, language, name="duration_s"):
        from tasksim.models.forms import source

        return source(self.linear(), language, name)

    def _elasticities(self, table):
        return self.linear().elasticities(table)


KINDS = {found.kind: found for found in (Proportional, Formed)}


@pytest.fixture
def installed(package, monkeypatch):
    module = SimpleNamespace(**{found.__name__: found for found in KINDS.values()})
    monkeypatch.setitem(sys.modules, "theirs", module)
    entries = {kind: f"theirs:{found.__name__}" for kind, found in KINDS.items()}
    package("theirs", {"tasksim.models": entries})


@pytest.fixture
def samples():
    rng = np.random.default_rng(0)
    table = np.repeat(np.exp(rng.uniform(3, 6, (60, 2))).round(), 3, axis=0)
    return Samples(("m", "n"), table, 1e-9 * table.prod(axis=1) * rng.lognormal(0, 0.05, 180))


@pytest.fixture
def file(samples, tmp_path):
    rows = zip(samples.parameters.tolist(), samples.durations_s.tolist(), strict=True)
    lines = ["m,n,duration_s", *(f"{m:g},{n:g},{s!r}" for (m, n), s in rows)]
    path = tmp_path / "work.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_it_passes_the_battery(kind, installed):
    check_model(KINDS[kind])


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_fitted_judged_stored_asked_and_drawn(kind, installed, tasksim, file):
    command = f"fit {file} --kind {kind} -o models/here/work.json --report work.html --json"
    fit = tasksim(command)
    assert fit.code == 0, fit.err
    assert fit.json["kind"] == kind
    assert fit.json["mlogq_cv"] < 0.05
    page = Path("work.html").read_text()
    assert page.count("<img") >= 3
    assert ("*m*n (seconds)" if kind == "formed" else "Proportional()") in page
    assert ("Influence" in page) == (kind == "formed")

    asked = tasksim("predict models/here/work.json m=100 n=100 --json").json
    assert asked["low_s"] < 1e-5 < asked["high_s"] < 1.3e-5
    far = tasksim("predict models/here/work.json m=4000 n=4000 --json").json
    assert far["high_s"] / far["low_s"] > 2 * asked["high_s"] / asked["low_s"]
    assert tasksim("validate models/here/work.json").code == 0

    library = ModelLibrary(Path("models/here"))
    assert type(library.model("work", "cpu")) is KINDS[kind]
    stored = json.loads(Path("models/here/work.json").read_text())
    doubt = stored["architectures"]["cpu"]["model"]["uncertainty"]["doubt"]["kind"]
    assert doubt == {"proportional": Anchors.kind, "formed": Covariance.kind}[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_simulations_and_reports_take_it(kind, installed, tasksim, file, tmp_path):
    from tasksim.graph.builder import RW, GraphBuilder
    from tasksim.graph.graph_file import save

    builder = GraphBuilder("some")
    datum = builder.matrix("A", 1, 1, size_bytes=8)[0, 0]
    for size in range(20, 100, 5):
        builder.insert("work", RW(datum), m=size, n=2 * size)
    save(builder.build(), tmp_path / "some.npz")
    assert tasksim(f"fit {file} --kind {kind} -o models/here/work.json").code == 0
    simulate = "simulate ./some.npz --models ./models/here --workers 1 --noise model -o run"
    assert tasksim(simulate).code == 0
    reported = tasksim("report kernels run --models ./models/here --json -o pages")
    assert reported.code == 0, reported.err
    (row,) = reported.json["kernels"]
    assert (row["kind"], row["origin"], row["report"]) == (kind, "given", "work.html")
    assert (row["formula"] is None) == (kind == "proportional")


def test_it_is_tried_without_being_named(installed, samples):
    assert automatic_kinds()[-2:] == ["formed", "proportional"]
    found = select(samples, ["mlr", *KINDS], options={"mlr": {"terms": "m + n"}})
    assert found.model.kind in KINDS
    assert "the least" in found.why or "not significantly more" in found.why


def test_forms_decide_what_else_it_can(installed, tasksim, file, samples):
    refused = tasksim(f"fit {file} --kind proportional --source work.py")
    assert refused.code == 2
    assert "cannot be written as source code" in refused.err
    assert tasksim(f"fit {file} --kind formed --source work.py").code == 0
    assert Path("work.py").read_text().startswith("def work(m: float, n: float)")
    c = tasksim(f"fit {file} --kind formed --source work.c")
    assert (c.code, "written in python only" in c.err) == (2, True)

    formed, plain = Formed().fit(samples), Proportional().fit(samples)
    codelet = from_models("work", {"cpu": formed})
    (implementation,) = codelet.combinations[0].implementations
    assert implementation.coefficient_names == ("m*n",)
    with pytest.raises(Exception, match="StarPU has no models of kind 'proportional'"):
        from_models("work", {"cpu": plain})
    assert diagnose(plain, samples).coefficients == ()
    assert [row.term for row in diagnose(formed, samples).coefficients] == ["m*n"]


def test_options_that_only_some_kinds_have(installed, tasksim, file):
    refused = tasksim(f"fit {file} --kind proportional --terms m")
    assert refused.code == 2
    assert "--terms is for linear models, got --kind proportional" in refused.err
