"""Contention on the command line: who is slowed, what is a guess, what schedulers expect."""

from __future__ import annotations

import numpy as np
import pytest

from tasksim.graph.builder import RW, GraphBuilder
from tasksim.models.contention import Contention
from tasksim.models.files.coefficients import Entry, Machine, Measured
from tasksim.models.files.store import ModelLibrary, save_kernel
from tasksim.models.kinds.bysize import SizeHistory
from tasksim.models.kinds.given import ConstantModel
from tasksim.models.samples import Samples
from tasksim.platform.load import load
from tasksim.scenario.advice import beyond_contention

SIMULATE_COMMAND = "simulate cholesky tiles=6 --platform ./two.yaml --check --json --engine {} {}"


@pytest.fixture
def slowed(tmp_path):
    """Kernels that slow each other down, two cores that share a memory, and none that do."""
    beside = dict.fromkeys(("potrf", "trsm", "syrk", "gemm"), (1.25,))
    for kernel in beside:
        known = Contention(6e9, 0.5, beside)
        entry = Entry(ConstantModel(1.0), Measured("2025-01-31", "by hand"), contention=known)
        save_kernel(tmp_path / "mine", kernel, {"cpu": entry}, machine=Machine("laptop"))
    text = "version: 1\nmodels: mine\nworkers: {cpu: {count: 2}}\n"
    (tmp_path / "alone.yaml").write_text(text)
    domain = "memory_domains: {ram: {workers: cpu, bandwidth: [10 GB/s, 11 GB/s]}}\n"
    (tmp_path / "two.yaml").write_text(text + domain)


@pytest.mark.parametrize("engine", ["simpy", "auto"])
def test_two_cores_take_what_was_measured(tasksim, slowed, engine):
    done = tasksim(SIMULATE_COMMAND.format(engine, ""))
    alone = tasksim(SIMULATE_COMMAND.format(engine, "").replace("two.yaml", "alone.yaml"))
    assert 1.15 * alone.json["makespan_s"] < done.json["makespan_s"]
    assert done.json["makespan_s"] <= 1.25 * alone.json["makespan_s"]
    assert "guessed" not in done.json
    assert done.err == ""


def test_more_cores_are_a_guess_that_is_said(tasksim, slowed):
    done = tasksim(SIMULATE_COMMAND.format("auto", "--set platform.workers.cpu.count=24"))
    assert done.json["guessed"] == [
        "contention in ram: a guess: 24 workers share memory; contention of kernels was "
        "measured on up to 2 cores, bandwidth of up to 2 cores"
    ]
    assert "Warning: contention in ram: a guess" in done.err


def test_sizes_that_were_not_measured_are_a_guess_that_is_said(tasksim, tmp_path):
    table = np.array([[10_000.0], [20_000.0]])
    model = SizeHistory().fit(Samples(("size_bytes",), table, np.array([1.0, 2.0])))
    known = Contention(6e9, 0.5, {"copy": (1.25,)})
    entry = Entry(model, Measured("2025-01-31", "by hand"), contention=known)
    save_kernel(tmp_path / "mine", "copy", {"cpu": entry}, machine=Machine("laptop"))
    (tmp_path / "two.yaml").write_text(
        "version: 1\nmodels: mine\nworkers: {cpu: {count: 2}}\n"
        "memory_domains: {ram: {workers: cpu, bandwidth: [10 GB/s, 11 GB/s]}}\n"
    )
    platform, library = load(str(tmp_path / "two.yaml")), ModelLibrary(tmp_path / "mine")
    assert beyond_contention(copies(20_000), platform, library) == []
    (said,) = beyond_contention(copies(80_000), platform, library)
    assert said.startswith("contention of copy: a guess: measured for other sizes")


def copies(size):
    """Two copies beside each other."""
    builder = GraphBuilder("copies")
    for name in "ab":
        builder.insert("copy", RW(builder.handle(name, size_bytes=size)))
    return builder.build()


def test_schedulers_may_be_told(tasksim, slowed):
    line = SIMULATE_COMMAND.format("auto", "--scheduler dmda")
    told = tasksim(f"{line} --set platform.memory_domains.ram.known=true")
    assert told.json["makespan_s"] >= tasksim(line.replace("two", "alone")).json["makespan_s"]


def test_a_makespan_and_contention_are_not_asked_together(tasksim):
    refused = tasksim("calibrate cholesky tiles=2 --contention --until makespan:5%")
    assert refused.code == 2
    assert "--contention measures all kernels; leave --until out" in refused.err
