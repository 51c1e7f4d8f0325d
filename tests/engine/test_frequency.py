"""Frequency: what computes takes longer, what waits for memory does not."""

from dataclasses import replace

import numpy as np
import pytest
from compiled_core import needs_core

import tasksim
from tasksim.engine.durations import durations, stretch
from tasksim.graph.apps.registry import generate
from tasksim.models.contention import Contention
from tasksim.models.files.coefficients import Entry, Measured
from tasksim.models.kinds.counted import CounterModel
from tasksim.models.kinds.given import ConstantLibrary, ConstantModel
from tasksim.models.samples import Samples
from tasksim.platform.description import Platform
from tasksim.platform.power import Frequency

SLOW_PLATFORM = replace(Platform.identical(2), frequencies={"cpu": Frequency(1e9, models_hz=2e9)})


class Computing(ConstantModel):
    """A model that knows what computes: less, the larger the tile."""

    def compute_share(self, parameters):
        return np.linspace(1.0, 0.0, len(parameters))


class Shared(ConstantLibrary):
    """Models of which it is known how much memory slows the kernels."""

    def contention(self, kernel, architecture):
        return Contention(1e9, 0.25) if kernel == "gemm" else None


def test_what_nobody_knows_computes():
    table, rows = np.ones((2, 1)), np.array([0, 1, 0])
    assert stretch(ConstantModel(1.0), table, rows, 2.0) == 2.0


def test_a_model_that_knows_is_asked_row_by_row():
    table, rows = np.ones((3, 1)), np.array([0, 1, 2, 1])
    found = stretch(Computing(1.0), table, rows, 3.0, Contention(1e9, 0.9))
    assert found.tolist() == [3.0, 2.0, 1.0, 2.0]


def test_contention_says_what_waits_for_memory():
    graph = generate("cholesky", tiles=3)
    models = Shared({"potrf": 1.0, "trsm": 1.0, "syrk": 1.0, "gemm": 4.0})
    (row,) = durations(graph, SLOW_PLATFORM, models)
    named = {graph.kernel_of(task): seconds for task, seconds in enumerate(row.tolist())}
    assert named == {"potrf": 2.0, "trsm": 2.0, "syrk": 2.0, "gemm": 4.0 * (0.75 * 2 + 0.25)}


def counted():
    """Return a model of counters: half a cycle per instruction, a third of memory's time."""
    n = np.repeat(np.arange(64.0, 512.0, 32.0), 3)
    counters = {"instructions": 0.5 * n**3, "l1_hits": 20 * n**2, "frequency_hz": 0 * n + 2e9}
    seconds = 0.5 * counters["instructions"] / 2e9 + counters["l1_hits"] * 1e-9 / 3
    samples = Samples(("n",), n[:, None], seconds, None, counters)
    return CounterModel(latencies_s={"l1": 1e-9}).fit(samples)


@pytest.mark.parametrize("engine", [needs_core("compiled"), "simpy"])
def test_a_model_of_counters_computes_slower_and_waits_as_long_as_ever(tmp_path, engine):
    model = counted()
    entry = Entry(model, Measured("2026-11-22", "by hand"))
    models = tasksim.save_models(tmp_path / "m.json", {"work": {"cpu": entry}}, machine="mine")
    platform = tmp_path / "mine.yaml"
    platform.write_text("version: 1\narch: {cpu: {frequency: 2 GHz}}\nworkers: {cpu: {count: 1}}\n")
    slow = tasksim.load_platform(str(platform), settings=["platform.arch.cpu.frequency=0.8GHz"])
    g = tasksim.GraphBuilder("two sizes")
    for n in (128, 256):
        g.insert("work", tasksim.RW(g.handle(f"x{n}", size_bytes=8)), n=n)
    run = tasksim.simulate(g.build(), slow, models=models, engine=engine)
    compute, memory, _ = model.parts([[128], [256]])
    assert run.makespan_s == pytest.approx((2.5 * compute + memory).sum(), rel=1e-6)
    assert (0.1 * compute < memory).all()


def test_what_was_recorded_goes_with_the_clock(tmp_path):
    seconds = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
    run = tasksim.simulate("cholesky tiles=4", Platform.identical(2), durations=seconds)
    tasksim.save_run(run, tmp_path / "run")
    again = tasksim.simulate(str(tmp_path / "run"), SLOW_PLATFORM, durations="measured")
    assert again.makespan_s == pytest.approx(2 * run.makespan_s)
