"""Whether a run is where a prediction says that runs are."""

from dataclasses import replace

import pytest

import tasksim

DURATIONS_S = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
KERNEL = {"kernel": "gemm", "architecture": "cpu", "run_low_s": 5.0, "run_high_s": 6.5}


@pytest.fixture
def run():
    return tasksim.simulate("cholesky tiles=4", workers=2, models=DURATIONS_S)


def _said(run, low=30.0, high=40.0, **kernel):
    said = {"run_low_s": low, "run_high_s": high, "level": 0.9, "kernels": [KERNEL | kernel]}
    return replace(run, uncertainty=said)


def test_inside(run):
    found = tasksim.compare(run, _said(run)).inside
    assert found.inside
    assert found.kernels[0].inside
    assert found.text() == "38 s is inside the interval of one run, 30 s to 40 s (90 %)"


def test_outside_with_the_kernels_that_are(run):
    found = tasksim.compare(run, _said(run, high=35.0, run_high_s=5.5)).inside
    assert not found.inside
    assert found.text().splitlines()[1] == (
        "kernels outside of theirs, alone: gemm on cpu takes 6 s, predicted 5 s to 5.5 s"
    )


def test_either_of_the_two_may_be_the_prediction(run):
    assert tasksim.compare(_said(run), run).inside.inside


def test_nothing_is_said_without_a_prediction_or_between_two(run):
    assert tasksim.compare(run, run).inside is None
    assert "inside" not in tasksim.compare(run, run).to_json()
    assert tasksim.compare(_said(run), _said(run)).inside is None


def test_it_is_kept_with_the_run(run, tmp_path):
    tasksim.save_run(_said(run), tmp_path / "run")
    assert tasksim.load_run(tmp_path / "run").uncertainty == _said(run).uncertainty


def test_damaged_uncertainty_is_told(run):
    with pytest.raises(tasksim.InputError, match=r"uncertainty of the run of cholesky.*run_low_s"):
        tasksim.compare(run, replace(run, uncertainty={"level": 0.9}))
