"""Samples of recorded runs, by kernel."""

import numpy as np
import pytest

import tasksim
from tasksim import InputError

DURATIONS_S = {"potrf": 1.0, "trsm": 3.0, "syrk": 2.0, "gemm": 6.0}


@pytest.fixture
def runs(tmp_path):
    """Folders of two runs of one graph, the second twice as long."""
    folders = []
    for factor in (1.0, 2.0):
        durations = {kernel: factor * s for kernel, s in DURATIONS_S.items()}
        run = tasksim.simulate("cholesky tiles=4 tile_size=64", workers=2, durations=durations)
        folders.append(tmp_path / f"run-{factor:g}")
        tasksim.save_run(run, folders[-1])
    return folders


def test_each_task_of_each_run_is_a_sample(runs):
    found = tasksim.recorded_samples(runs)
    assert set(found) == set(DURATIONS_S)
    assert next(iter(found)) == "gemm"  # the longest total
    gemm = found["gemm"]
    assert sorted(gemm.durations_s.tolist()) == [6.0] * 4 + [12.0] * 4
    assert gemm.names == ("m", "n", "k")
    assert (gemm.parameters == 64.0).all()


def test_repetitions_of_a_task_may_count_as_one(runs):
    found = tasksim.recorded_samples(runs, "mean", architecture="cpu")
    np.testing.assert_array_equal(found["gemm"].durations_s, [9.0] * 4)
    alone = tasksim.recorded_samples(str(runs[0]), "mean")
    np.testing.assert_array_equal(alone["gemm"].durations_s, [6.0] * 4)


@pytest.mark.parametrize(
    ("wrong", "options", "message"),
    [
        ([], {}, "runs: got"),
        (["nowhere"], {}, "nowhere: no such"),
        (None, {"repeated": "means"}, "repeated: got 'means'.*did you mean 'mean'"),
        (None, {"architecture": "cuda"}, "architecture: got 'cuda'"),
    ],
)
def test_wrong_arguments_are_refused(runs, wrong, options, message):
    with pytest.raises(InputError, match=message):
        tasksim.recorded_samples(runs if wrong is None else wrong, **options)
