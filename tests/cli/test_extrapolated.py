"""Warnings for predictions outside the domain to which models were fitted."""

from __future__ import annotations

import numpy as np
import pytest

from tasksim.models.files.coefficients import Entry, Machine, Measured
from tasksim.models.files.store import save_kernel
from tasksim.models.kinds.bysize import SizeEntry, SizeHistory
from tasksim.models.kinds.given import ConstantModel
from tasksim.models.kinds.linear import LinearModel
from tasksim.models.samples import Samples


def test_models_by_size_say_which_sizes_were_measured(tasksim, tmp_path):
    entries = [SizeEntry(8 * n * n, 1e-3 * n, 0.0, 50) for n in (16, 32)]
    entry = Entry(SizeHistory.from_entries(entries), Measured("2025-01-31", "by hand"))
    save_kernel(tmp_path / "mine", "potrf", {"cpu": entry}, machine=Machine("laptop"))
    line = "simulate cholesky tiles=1 tile_size={} --workers 1 --models ./mine --json"
    measured = tasksim(line.format(32))
    assert measured.json["makespan_s"] == 0.032
    assert (measured.json["extrapolated"], measured.err) == ([], "")
    beyond = tasksim(line.format(64))
    assert beyond.json["extrapolated"] == [
        "potrf on cpu: extrapolated to size_bytes 32768 (measured 2048 to 8192)"
    ]
    assert beyond.json["makespan_s"] == pytest.approx(0.064)


def test_architectures_of_which_the_same_is_to_be_said_share_a_line(tasksim, tmp_path):
    (tmp_path / "two.yaml").write_text(
        "version: 1\nmodels: mine\nworkers:\n"
        "  cuda: {count: 2, models: [cuda0, cuda1]}\n  cpu: {count: 1}\n"
    )
    often = [SizeEntry(8 * n * n, 1e-3 * n, 0.0, 50) for n in (16, 32)]
    once = [SizeEntry(8 * 16 * 16, 5e-3, 0.0, 50)]
    measured = Measured("2025-01-31", "by hand")
    entries = {
        architecture: Entry(SizeHistory.from_entries(sizes), measured)
        for architecture, sizes in {"cuda0": often, "cuda1": often, "cpu": once}.items()
    }
    save_kernel(tmp_path / "mine", "potrf", entries, machine=Machine("laptop"))
    said = tasksim("simulate cholesky tiles=1 tile_size=64 --platform two.yaml --json")
    what = "extrapolated to size_bytes 32768"
    assert said.json["extrapolated"] == [
        f"potrf on cuda0, cuda1: {what} (measured 2048 to 8192)",
        f"potrf on cpu: {what} (measured 2048 only)",
    ]


def test_models_that_are_called_otherwise_are_found_for_the_user(tasksim, tmp_path):
    entry = Entry(
        SizeHistory.from_entries([SizeEntry(8, 1.0, 0.0, 50)]), Measured("2025-01-31", "by hand")
    )
    for kernel in ("potrf", "trsm", "syrk", "gemm"):
        name = f"chol_{kernel}_goto"
        save_kernel(tmp_path / "mine", name, {"cpu": entry}, machine=Machine("laptop"))
    line = "simulate {} tiles=2 tile_size=1 --workers 1 --models ./mine --json"
    (error,) = tasksim(line.format("cholesky")).errors
    assert error.endswith("; its models have other names: give --model-names 'chol_{kernel}_goto'")
    assert tasksim(line.format("cholesky") + " --model-names chol_{kernel}_goto").code == 0
    (error,) = tasksim(line.format("qr")).errors
    assert "--model-names" not in error


def test_workers_of_which_no_kernel_has_a_model_are_told(tasksim, tmp_path):
    (tmp_path / "typo.yaml").write_text(
        "version: 1\nmodels: mine\nworkers:\n"
        "  cuda: {count: 2, models: [cuda0, cuda]}\n  cpu: {count: 1}\n"
    )
    entry = Entry(
        SizeHistory.from_entries([SizeEntry(8, 1.0, 0.0, 50)]), Measured("2025-01-31", "x")
    )
    entries = {"cuda0": entry, "cuda1": entry, "cpu": entry}
    save_kernel(tmp_path / "mine", "potrf", entries, machine=Machine("laptop"))
    called = tasksim("simulate cholesky tiles=1 tile_size=1 --platform typo.yaml")
    assert called.err == (
        "Warning: no kernel of cholesky has a model on cuda: workers there stay idle\n"
    )


def test_only_parameters_that_the_model_uses_count_and_one_line_has_all_configurations(
    tasksim, tmp_path
):
    """P2M's model is 1 + NbParticles: the other parameters vary, and do not matter."""
    rng = np.random.default_rng(0)
    particles = np.arange(60.0, 2060.0, 50.0)
    others = {name: rng.integers(900, 999, len(particles)) for name in ("NbCells", "SizeInterval")}
    columns = {**others, "NbParticles": particles, "Order": np.full(len(particles), 5.0)}
    samples = Samples.from_columns({**columns, "duration_s": 1e-6 + 1e-8 * particles})
    entry = Entry(LinearModel("NbParticles").fit(samples), Measured("2025-01-31", "by hand"))
    known = Entry(ConstantModel(1e-6), Measured("2025-01-31", "by hand"))
    others = ("M2M", "M2L_in", "M2L_out", "L2L", "L2P", "P2P_in", "P2P_out")
    for kernel, of in {"P2M": entry, **dict.fromkeys(others, known)}.items():
        save_kernel(tmp_path / "mine", kernel, {"cpu": of}, machine=Machine("laptop"))
    line = "simulate fmm particles={} height=3 group_size=8 order={} --workers 1 --models ./mine"
    asked = f"{line} --json"
    assert tasksim(asked.format(1000, 5)).json["extrapolated"] == []
    (said,) = tasksim(asked.format(20_000, 5)).json["extrapolated"]
    assert said == (
        "P2M on cpu: extrapolated to NbParticles 2421 to 2577 (measured 60 to 2010)"
        " in 8 of 8 configurations"
    )
    (said,) = tasksim(asked.format(1000, 7)).json["extrapolated"]
    assert said == "P2M on cpu: extrapolated to Order 7 (measured 5 only) in 6 of 6 configurations"
