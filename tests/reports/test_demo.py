"""The demo from end to end, with tiny tiles."""

from __future__ import annotations

import json

import pytest

from tasksim.base.errors import InputError, TaskFailed
from tasksim.base.units import format_time
from tasksim.core.library import wasm_status
from tasksim.models.files.store import ModelLibrary
from tasksim.platform.load import load as load_platform
from tasksim.reports import demo as module
from tasksim.reports.demo import demo
from tasksim.run.runfolder import load
from tasksim.scenario.recorded import scenario_of
from tasksim.view import figure


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    """Two cases of tiles so small that a run takes a few milliseconds."""
    monkeypatch.setattr(module, "PREDICTED_CASES", ((3, "eager"), (5, "lws")))
    monkeypatch.setattr(module, "DRAWN_CASE", (5, "lws"))
    monkeypatch.setattr(module, "CALIBRATED_TILES", (2, 4))
    monkeypatch.setattr(module, "TILE_SIZE", 24)
    monkeypatch.setattr(module, "CALIBRATION_S", 0.3)
    monkeypatch.setattr(module, "REPETITIONS", 3)


@pytest.mark.slow
def test_everything_is_there(tmp_path):
    told = []
    result = demo(tmp_path / "out", workers=2, progress=lambda *what: told.append(what))
    out = tmp_path / "out"
    assert {path.name for path in tmp_path.iterdir()} == {"out"}
    assert {path.name for path in out.iterdir()} == {
        "demo.json", "gantt.pdf", "gantt.png", "live.html", "models", "native", "platforms",
        "runs.html", "simulated", "table.txt",
    }  # fmt: skip
    _check_json(json.loads((out / "demo.json").read_text()), result, workers=2)
    _check_table((out / "table.txt").read_text(), result)
    native, simulated = load(out / "native"), load(out / "simulated")
    assert (native.kind, simulated.kind) == ("native", "simulated")
    assert native.graph_arguments == simulated.graph_arguments
    assert native.graph_label.startswith("cholesky tiles=5 tile_size=24")
    assert native.makespan_s == result.rows[1].measured.median_s
    assert simulated.makespan_s == result.rows[1].predicted.makespan_s
    called = scenario_of(simulated, out / "simulated").solve()
    assert called.tasks == simulated.tasks
    assert (out / "gantt.png").read_bytes().startswith(b"\x89PNG")
    assert (out / "gantt.pdf").read_bytes().startswith(b"%PDF")
    assert (out / "runs.html").read_text().count('"expected_by":"the kernel models"') == 2
    assert f'"--platform","{out}/platforms/' in (out / "live.html").read_text()
    shares = [share for _, share in told]
    assert shares == sorted(shares)
    assert told[-1] == ("done", 1.0)
    # The files of the calibration are complete, and found where they are now.
    platform = load_platform(str(out / "platforms" / f"{result.machine}.yaml"))
    models = ModelLibrary(platform.models_folder())
    assert set(models.kernels()) == {"potrf", "trsm", "syrk", "gemm"}


def _check_json(data, result, workers):
    assert data["files"] == sorted(path.name for path in result.output.iterdir())
    assert data == json.loads(json.dumps(result.to_json()))
    assert (data["schema_version"], data["workers"]) == (2, workers)
    assert (data["live_refused"] is None) == wasm_status().available
    cases = data["cases"]
    named = [(case["graph"], case["scheduler"]) for case in cases]
    assert named == [
        ("cholesky tiles=3 tile_size=24", "eager"),
        ("cholesky tiles=5 tile_size=24", "lws"),
    ]
    for case in cases:
        assert len(case["measured_s"]) == 3
        assert 0 < case["run_low_s"] < case["run_high_s"]
        inside = [case["run_low_s"] <= s <= case["run_high_s"] for s in case["measured_s"]]
        assert case["inside"] == sum(inside)
        known = case["median_s"] if case["alone_s"] is None else case["alone_s"]
        assert 0 < known <= max(case["measured_s"])
        assert case["error"] == pytest.approx(case["predicted_s"] / known - 1)
    errors = [abs(case["error"]) for case in cases]
    assert data["median_error"] == pytest.approx(sum(errors) / 2)
    assert data["worst_error"] == max(errors)
    assert 0 <= data["others_share"] <= 1
    assert 0 <= (data["crowded_share"] or 0.0) < 1


def _check_table(text, result):
    lines = text.splitlines()
    headers = ["graph", "scheduler", "predicted", "one", "run", "measured", "alone", "error"]
    assert lines[0].split() == headers
    for line, row in zip(lines[1:], result.rows, strict=False):
        assert line.startswith(row.measured.scenario.graph_label)
        assert format_time(row.predicted.makespan_s) in line
        assert line.endswith(f"{100 * row.error:+.1f} %")
    assert lines[4].startswith("measured: median of 3 runs on 2 workers of ")
    assert " of 6 are within their interval of one run (95 %)" in lines[4]
    assert lines[5].startswith("alone: ")
    assert lines[6].startswith("predicted: alone on the machine")
    assert lines[7].startswith("error: predicted against ")
    assert lines[8].startswith("|error| of the native runs replayed with their own durations: ")


@pytest.fixture
def existing(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("precious")
    return tmp_path / "out"


def test_an_existing_output_is_refused_before_any_work(existing, monkeypatch):
    monkeypatch.setattr(module, "calibrate", lambda *_, **__: pytest.fail("it calibrates"))
    with pytest.raises(InputError, match="out exists; give force=True to replace it"):
        demo(existing)
    assert (existing / "mine").read_text() == "precious"


@pytest.mark.slow
def test_with_force_it_is_replaced(existing, monkeypatch):
    monkeypatch.setattr(figure, "save_figure", lambda _, path: path.write_text("drawn"))
    result = demo(existing, workers=1, force=True)
    assert not (existing / "mine").exists()
    _check_json(json.loads((existing / "demo.json").read_text()), result, workers=1)


def stop_at(message, error):
    def progress(what, share):
        if message in what:
            raise error

    return progress


@pytest.mark.slow
@pytest.mark.parametrize(
    ("when", "error"),
    [
        ("calibrating, round 1", KeyboardInterrupt()),
        ("tiles=5", TaskFailed("gemm #3 failed")),
        ("drawing", KeyboardInterrupt()),
    ],
)
def test_stopped_at_any_time_it_leaves_the_output_as_it_was(existing, tmp_path, when, error):
    """Also while it calibrates, which by itself would keep what it has."""
    with pytest.raises(type(error)):
        demo(existing, workers=1, force=True, progress=stop_at(when, error))
    assert (existing / "mine").read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_stopped_it_leaves_nothing_where_nothing_was(tmp_path):
    progress = stop_at("calibrating, round 1", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        demo(tmp_path / "new", workers=1, progress=progress)
    assert list(tmp_path.iterdir()) == []
