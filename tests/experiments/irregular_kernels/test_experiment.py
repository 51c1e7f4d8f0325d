"""The experiment itself: really run, on few particles."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from experiments.irregular_kernels import experiment as module
from experiments.irregular_kernels import reports
from experiments.irregular_kernels.__main__ import irregular_kernels
from experiments.irregular_kernels.experiment import again, experiment
from experiments.irregular_kernels.inputs import DESIGNS, SEEDS, Design, Input
from experiments.irregular_kernels.measuring import Setting
from experiments.irregular_kernels.results import KERNELS, VARIANTS
from tasksim.base.errors import InputError
from tasksim.models.files.store import ModelLibrary
from tasksim.native import calm_moments
from tasksim.platform.load import load as load_platform
from tasksim.run.runfolder import load as load_run

pytestmark = pytest.mark.slow

TINY = Design(
    fitted=(
        Input("cube", 800, 4, 12),
        Input("cube", 1500, 4, 30),
        Input("cube", 1200, 4, 20),
        Input("ellipsoid", 800, 4, 12),
        Input("ellipsoid", 1500, 5, 30),
        Input("ellipsoid", 1200, 5, 20),
    ),
    predicted=(Input("cube", 1000, 4, 15), Input("ellipsoid", 1000, 5, 200, badly_chosen=True)),
    unseen=(Input("sphere", 900, 4, 16), Input("sphere-poles", 900, 5, 16)),
)
REPORTED = "M2L_in"
SETTING = Setting("tiny", repetitions=2, order=2, workers=2, patience_s=0.0)


@pytest.fixture(scope="module")
def order():
    """Return what was done, in order: the parts that were measured, and ``said``."""
    return []


@pytest.fixture(scope="module")
def done(tmp_path_factory, order):
    """Return the results and the folder of an experiment."""
    folder = tmp_path_factory.mktemp("experiment") / "irregular"
    measure, write = module.measure, module._write_predictions
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(DESIGNS, "tiny", TINY)
        patch.setattr(calm_moments, "FIRST_PROBES", 3)
        patch.setattr(module, "measure", lambda p, *a: order.append(set(p)) or measure(p, *a))
        patch.setattr(module, "_write_predictions", lambda *a: order.append("said") or write(*a))
        # One kernel's reports: those of the others are the same again.
        models = reports._models
        patch.setattr(reports, "_models", lambda m: [x for x in models(m) if x[1] == REPORTED])
        yield experiment(folder, SETTING), folder


def test_every_input_is_run_as_often_as_asked_and_predicted(done):
    results, _ = done
    assert [o.input for o in results.seen] == list(TINY.predicted)
    assert [o.input for o in results.unseen] == list(TINY.unseen)
    for outcome in (*results.seen, *results.unseen):
        assert len(outcome.native) == 2
        assert {run.kind for run in outcome.native} == {"native"}
        assert {run.kind for run in outcome.simulated.values()} == {"simulated"}
    assert all(set(o.simulated) == set(VARIANTS) for o in results.seen)
    assert all(set(o.simulated) == {"MLR general"} for o in results.unseen)
    assert len(results.fits) == 4 * len(KERNELS)


def test_predicted_particles_are_not_those_that_were_fitted(done):
    results, folder = done
    seeds = {o.native[0].graph_arguments["seed"] for o in (*results.seen, *results.unseen)}
    assert seeds == {SEEDS["predicted"], SEEDS["unseen"]}
    fitted = load_run(next((folder / "native" / "fitted").iterdir()) / "0")
    assert fitted.graph_arguments["seed"] == SEEDS["fitted"]


def test_the_spheres_predicted_before_are_those_compared(done):
    results, folder = done
    said = json.loads((folder / "predictions.json").read_text())
    for outcome in results.unseen:
        assert said[outcome.input.text] == outcome.simulated["MLR general"].makespan_s


def test_spheres_are_predicted_before_they_run(done, order):
    assert order == [{"fitted", "predicted"}, "said", {"unseen"}]


def test_the_folder_has_the_report_and_the_models(done):
    _, folder = done
    files = {path.name for path in folder.iterdir()}
    assert {"index.html", "index.md", "results.json", "measured.json"} <= files
    for name in ("general", "cube", "ellipsoid"):
        library = ModelLibrary(folder / f"{name}.json")
        assert set(library.kernels()) == set(KERNELS)
    platform = load_platform(next((folder / "platforms").iterdir()))
    assert set(ModelLibrary(platform.models_folder()).kernels()) == set(KERNELS)
    assert platform.overheads.task_s > 0


def test_every_model_has_a_report(done):
    _, folder = done
    pages = sorted(str(path.relative_to(folder / "reports")) for path in folder.glob("reports/*/*"))
    sets = ("cube", "ellipsoid", "general", "naive-cube", "naive-ellipsoid")
    assert pages == [f"{name}/{REPORTED}.html" for name in sets]
    general = (folder / "reports/general/M2L_in.html").read_text()
    assert "M2L_in, general" in general
    assert "NbInteractions" in general
    assert "group_size" in (folder / "reports/naive-cube/M2L_in.html").read_text()


def test_the_models_in_the_file_are_those_that_predicted(done):
    results, folder = done
    graph = TINY.unseen[0].graph(SETTING.order, SEEDS["unseen"])
    library = ModelLibrary(folder / "general.json")
    kernel = graph.model_names.index("M2L_out")
    tasks = np.flatnonzero(graph.kernel == kernel)
    predicted = library.predict(
        "M2L_out",
        "cpu",
        graph.parameter_names[kernel],
        graph.parameters[kernel][graph.row[tasks]],
    )
    simulated = results.unseen[0].simulated["MLR general"].tasks.duration_s[tasks]
    # Where releases cost something, times are whole nanoseconds.
    np.testing.assert_allclose(simulated, predicted, rtol=1e-6, atol=1e-9)


def test_again_finds_the_same(done, monkeypatch):
    results, folder = done
    monkeypatch.setattr(module, "write_reports", lambda *_: [])
    before = (folder / "results.json").read_bytes()
    assert again(folder).to_json() == results.to_json()
    assert (folder / "results.json").read_bytes() == before


def test_what_is_no_folder_of_it_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"measured\.json: no such file"):
        again(tmp_path)
    (tmp_path / "measured.json").write_text("{}")
    with pytest.raises(InputError, match="is not what this experiment writes"):
        again(tmp_path)


def test_the_command(done, monkeypatch):
    results, folder = done
    for name in ("write_page", "write_reports"):
        monkeypatch.setattr(module, name, lambda *_: [])
    called = CliRunner().invoke(irregular_kernels, ["--again", str(folder), "--json"])
    assert called.exit_code == 0
    assert json.loads(called.stdout)["errors"] == results.to_json()["errors"]
    assert "index.html" in called.stderr
    printed = CliRunner().invoke(irregular_kernels, ["--again", str(folder)])
    assert all(o.input.text in printed.stdout for o in (*results.seen, *results.unseen))
    refused = CliRunner().invoke(irregular_kernels, ["--output", str(folder)])
    assert "exists; give --force" in str(refused.exception)
