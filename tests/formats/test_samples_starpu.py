"""Samples that StarPU has written: of multiple regressions, histories of codelets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sample_files import detect_format, plain, problem

from tasksim.formats.samples import read_samples
from tasksim.formats.starpu.codelet_file import read_codelet

STARPU = Path(__file__).parents[2] / ".." / "shared" / "data" / "starpu" / "sampling" / "codelets"


@pytest.fixture
def starpu():
    if not STARPU.is_dir():
        pytest.skip("no StarPU files in ../shared/data/starpu beside the checkout")
    return STARPU


def test_samples_of_multiple_regressions(file, starpu):
    path = file("Duration, M, N\n10, 4, 5\n0, 1, 1\n20.5, 6, 7\n", "x.out")
    with pytest.warns(UserWarning, match="not used: 1 execution "):
        assert plain(read_samples(path)) == (("M", "N"), [[4, 5], [6, 7]], [1e-5, 2.05e-5])
    with pytest.warns(UserWarning, match="not used: 1 execution "):
        assert plain(read_samples(path, parameters=["N"])) == (("N",), [[5], [7]], [1e-5, 2.05e-5])
    assert "unknown parameter 'K'" in problem(path, parameters=["K"])
    assert "durations in a file of StarPU are its Duration, in microseconds" in problem(
        path, duration="M"
    )
    assert "does not name its architecture, so that --part cpu cannot be found" in problem(
        path, part="cpu"
    )
    assert read_samples(starpu / "tmp" / "mlr_init.out").names == ("M", "N", "K")


def test_histories_of_codelets(starpu):
    path = starpu / "45" / "chol_model_gemm.attila"
    samples = read_samples(path, part="cuda0")
    assert samples.names == ("size_bytes",)
    assert (np.diff(samples.parameters[:, 0]) >= 0).all()
    assert "4 sets of samples: combination cpu, cuda0, cuda1, cuda2; choose one" in problem(path)
    assert "unknown parameter 'm' (known: size_bytes)" in problem(path, parameters=["m"])
    text = path.read_text()
    size, mean_us = samples.parameters[0, 0], samples.durations_s[0] * 1e6
    assert f"{int(size)}" in text
    assert f"{mean_us:e}" in text


def test_every_codelet_of_starpu_is_read(starpu):
    read = 0
    for path in sorted((starpu / "45").iterdir()):
        assert detect_format(path) == "starpu-codelet", path.name
        measured = [c.name for c in read_codelet(path).combinations if _measured(c)]
        if measured:
            read += 1
            assert len(read_samples(path, part=measured[0])) > 0, path.name
        else:
            assert "has no history entries with samples" in problem(path)
    assert read > 100


def _measured(combination):
    return any(e.n and e.mean_us > 0 for i in combination.implementations for e in i.entries)
