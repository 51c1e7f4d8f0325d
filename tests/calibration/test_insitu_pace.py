"""Calibration with the pace of the machine: what it keeps, and what predictions make of it."""

import itertools

import pytest

import tasksim
from tasksim.base.errors import InputError
from tasksim.calibration import insitu
from tasksim.calibration.calibrate import calibrate
from tasksim.calibration.calibration_options import CalibrationOptions
from tasksim.models.files.pacefile import pace_path, read_paces

GRAPH = "cholesky tiles=3 tile_size=16"


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A calibration whose paces are known: 1, 2 or 3 ms in turn, whatever the machine does."""
    paces = itertools.cycle([1e-3, 2e-3, 3e-3])
    monkeypatch.setattr(insitu, "Pace", lambda _workers: lambda: next(paces))
    # It ends after 20 runs, as means are known to a factor of 2 long before.
    options = CalibrationOptions(max_seconds=60.0, min_runs=20, tolerance=0.99, pace=True)
    calibrate([GRAPH], tmp_path, machine="here", workers=1, options=options)
    return tmp_path


def _sure(library, **asked):
    scenario = tasksim.Scenario(
        tasksim.generate("cholesky", tiles=4, tile_size=16),
        platform=tasksim.load_platform(str(library / "platforms" / "here.yaml")),
        models=tasksim.ModelLibrary(library / "models" / "here"),
    )
    return tasksim.how_sure(scenario, replications=60, **asked)


def test_each_run_has_its_pace(library):
    rows = read_paces(pace_path(library / "models" / "here"))
    assert len(rows) >= 20
    assert {row[0] for row in rows.values()} == {1e-3, 2e-3, 3e-3}


def test_beyond_the_paces_seen_runs_take_in_proportion(library):
    slow, slower = (_sure(library, pace_s=pace_s) for pace_s in (0.3, 0.6))
    assert slower.means_s == pytest.approx(2 * slow.means_s, rel=0.01)
    assert slow.sources == ("models", "runs", "tasks")


def test_a_second_calibration_adds_to_the_first(library, monkeypatch):
    monkeypatch.setattr(insitu, "Pace", lambda _workers: lambda: 5e-3)
    before = read_paces(pace_path(library / "models" / "here"))
    options = CalibrationOptions(max_seconds=0.2, pace=True)
    calibrate([GRAPH], library, machine="here", workers=1, options=options)
    after = read_paces(pace_path(library / "models" / "here"))
    assert {run: after[run][0] for run in before} == {run: before[run][0] for run in before}
    assert {row[0] for run, row in after.items() if run not in before} == {5e-3}


def test_replaced_samples_take_their_paces_along(library):
    options = CalibrationOptions(max_seconds=0.2)
    calibrate([GRAPH], library, machine="here", workers=1, options=options, replace=True)
    assert not read_paces(pace_path(library / "models" / "here"))
    with pytest.raises(InputError, match="calibrate --pace"):
        _sure(library, pace_s=1e-3)


def test_the_last_of_several_paces_is_that_of_the_run(library):
    fast, slow = (_sure(library, pace_s=[2e-3, 2e-3, pace_s]) for pace_s in (2e-3, 2.0))
    assert slow.mean_s > 50 * fast.mean_s


@pytest.mark.parametrize(
    "pace_s", [0.0, -1.0, float("nan"), float("inf"), [], [1e-3, 0.0], [float("nan"), 1e-3]]
)
def test_a_pace_is_a_time(library, pace_s):
    with pytest.raises(InputError, match="pace_s"):
        _sure(library, pace_s=pace_s)


def test_what_is_unknown_of_models_is_in_what_runs_show(library):
    for pace_s in (2e-3, None):
        sure = _sure(library, pace_s=pace_s, uncertainty="models")
        assert sure.sources == ("models",)
        # One number for all kernels, the level of the law: they are off together.
        ratios = sure.found.model_ratios
        assert ratios.std(axis=0).max() > 0
        assert ratios.std(axis=1).max() == pytest.approx(0, abs=1e-12)


def test_without_a_law_kernels_are_off_each_by_itself(library):
    pace_path(library / "models" / "here").unlink()
    sure = _sure(library, uncertainty="models")
    assert sure.found.model_ratios.std(axis=1).max() > 1e-6
