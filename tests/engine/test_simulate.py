"""Simulations: what is charged, what is believed, what repeats, what bounds hold."""

from __future__ import annotations

from array import array
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import graphs, platforms
from tiers import few

from tasksim.base.errors import CheckFailed, InputError
from tasksim.engine import replay as replay_module
from tasksim.engine.simulation import Simulation
from tasksim.graph.apps.registry import generate
from tasksim.graph.builder import RW, GraphBuilder
from tasksim.models.kinds.given import ConstantLibrary
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.locality import Locality
from tasksim.models.samples import Samples
from tasksim.platform.description import Platform
from tasksim.run.bounds import bounds
from tasksim.schedulers.central import Eager
from tasksim.schedulers.registry import names


class Measured:
    """Histories of one configuration per kernel, with 20 % of scatter around its mean."""

    def __init__(self, means_s, locality=None, architectures=("cpu",)):
        rng = np.random.default_rng(0)
        scatter = 1 + 0.2 * rng.uniform(-1, 1, 50)
        self.models = {
            (kernel, architecture): HistoryModel().fit(
                Samples((), np.empty((50, 0)), mean * (1 + 0.1 * index) * scatter / scatter.mean())
            )
            for kernel, mean in means_s.items()
            for index, architecture in enumerate(architectures)
        }
        self.known = locality

    def model(self, kernel, architecture):
        return self.models[kernel, architecture]

    def locality(self, kernel, architecture):
        return self.known


CHOLESKY = generate("cholesky", tiles=6)
MODELS = Measured({"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0})
FOUR_CORES = Platform.identical(4)


def chain(length):
    builder = GraphBuilder("chain")
    x = builder.handle("x", size_bytes=8)
    for _ in range(length):
        builder.insert("task", RW(x))
    return builder.build()


@pytest.mark.parametrize("scheduler", names(bare=True))
@pytest.mark.parametrize("noise", ["none", "model"])
def test_the_same_seed_gives_the_same_table(scheduler, noise):
    first, second = (
        Simulation(CHOLESKY, FOUR_CORES, MODELS, scheduler, seed=5, noise=noise).run(check=True)
        for _ in range(2)
    )
    assert first == second


def test_another_seed_gives_another_draw():
    one, other = (
        Simulation(CHOLESKY, FOUR_CORES, MODELS, seed=s, noise="model").run() for s in (0, 1)
    )
    assert one.tasks != other.tasks
    quiet = [Simulation(CHOLESKY, FOUR_CORES, MODELS, "eager", seed=s).run().tasks for s in (0, 1)]
    assert quiet[0] == quiet[1]


def test_without_noise_a_task_costs_its_mean():
    run = Simulation(chain(3), FOUR_CORES, Measured({"task": 2.0}), "eager").run()
    assert run.makespan_s == pytest.approx(6.0)
    assert run.kind == "simulated"


def test_the_mean_of_many_draws_is_the_prediction():
    """Of a chain, where the makespan is the sum; within five standard errors."""
    graph, models = chain(30), Measured({"task": 2.0})
    drawn = [
        Simulation(graph, FOUR_CORES, models, "eager", seed=s, noise="model").run().makespan_s
        for s in range(100)
    ]
    assert np.std(drawn) > 0.5
    assert np.mean(drawn) == pytest.approx(60.0, abs=5 * np.std(drawn) / 10)


class Curious(Eager):
    """Remembers what it was told."""

    def attach(self, view, rng):
        super().attach(view, rng)
        self.seen = [list(row) for row in view.estimates]


@pytest.mark.parametrize("locality", [None, Locality(8.0, 0.01, 0.5)])
@pytest.mark.parametrize("noise", ["none", "model"])
def test_the_scheduler_is_told_means_whatever_is_charged(noise, locality):
    scheduler = Curious()
    models = Measured({"task": 2.0}, locality)
    run = Simulation(chain(3), FOUR_CORES, models, scheduler, noise=noise).run()
    assert scheduler.seen == [pytest.approx([2.0] * 3)]
    assert (noise == "none" and locality is None) == np.allclose(run.tasks.duration_s, 2.0)


def test_dm_decides_alike_with_and_without_noise_while_nothing_is_finished():
    """Its first decisions rest on estimates alone."""
    builder = GraphBuilder("independent")
    for _ in range(9):
        builder.insert("task")
    graph, models = builder.build(), Measured({"task": 2.0})
    quiet, noisy = (
        Simulation(graph, FOUR_CORES, models, "dm", noise=noise).run().tasks.worker.tolist()
        for noise in ("none", "model")
    )
    assert quiet == noisy


def test_the_run_remembers_what_it_was_made_of():
    run = Simulation(CHOLESKY, FOUR_CORES, MODELS, "dm", seed=3).run(config={"a": 1})
    assert (run.scheduler, run.seed, run.config) == ("dm", 3, {"a": 1})
    assert (run.graph_name, run.graph_arguments["tiles"]) == ("cholesky", 6)
    assert run.platform == "identical-4"
    assert [worker.name for worker in run.workers] == ["cpu0", "cpu1", "cpu2", "cpu3"]


def test_bounds_by_hand():
    """Cholesky of two tiles: all in a row, 1 + 3 + 3 + 1."""
    models = ConstantLibrary({"potrf": 1.0, "trsm": 3.0, "syrk": 3.0})
    run = Simulation(generate("cholesky", tiles=2), FOUR_CORES, models).run()
    assert run.bounds == {"critical_path_s": 8.0, "area_s": 2.0}
    assert run.makespan_s == 8.0


def test_a_kernel_without_a_model_is_named():
    with pytest.raises(InputError, match="no duration for kernel 'trsm'"):
        Simulation(CHOLESKY, FOUR_CORES, ConstantLibrary({"potrf": 1.0})).run()


def test_check_verifies_the_run(monkeypatch):
    assert (
        Simulation(CHOLESKY, FOUR_CORES, MODELS).run(check=True)
        == Simulation(CHOLESKY, FOUR_CORES, MODELS).run()
    )

    class Hasty(replay_module.Replay):
        def run(self, seed, progress=None):
            super().run(seed)
            self.ledger.start[:] = array("d", bytes(8 * len(self.ledger.start)))

    monkeypatch.setattr(replay_module, "Replay", Hasty)
    with pytest.raises(CheckFailed):
        Simulation(CHOLESKY, FOUR_CORES, MODELS).run(check=True, engine="simpy")


def two_classes():
    one = Platform.identical(2)
    workers = tuple(replace(w, architecture=a) for w, a in zip(one.workers, "ab", strict=True))
    return replace(one, workers=workers)


def test_the_area_bound_holds_where_the_draws_of_a_configuration_differ():
    """Each of two tasks is quick on another worker; at their means of 2 s they would take 2 s."""
    builder = GraphBuilder("two")
    for _ in range(2):
        builder.insert("task")
    assert bounds(builder.build(), [[1.0, 3.0], [3.0, 1.0]], [1, 1]).area_s == pytest.approx(1.0)


def test_no_lucky_draw_beats_the_bounds():
    builder = GraphBuilder("independent")
    for _ in range(2):
        builder.insert("task")
    graph, models = builder.build(), Measured({"task": 1.0}, architectures=("a", "b"))
    ratios = []
    for seed in range(100):
        run = Simulation(graph, two_classes(), models, "eager", seed=seed, noise="model").run()
        ratios.append(run.makespan_s / max(run.bounds.values()))
    assert min(ratios) >= 1 - 1e-9
    assert min(ratios) < 1.1  # and they are close


LOCALITIES = st.sampled_from([None, Locality(8.0, 0.02, 0.5), Locality(20.0, 0.1, 1.0)])


@settings(max_examples=few(150), deadline=None)
@given(
    graphs(),
    platforms(),
    LOCALITIES,
    st.sampled_from(["none", "model"]),
    st.sampled_from(names(bare=True)),
    st.integers(0, 9),
)
def test_no_run_beats_the_bounds(graph, platform, locality, noise, scheduler, seed):
    means = {kernel: 1.0 + index for index, kernel in enumerate(graph.kernels)}
    models = Measured(means, locality, platform.architectures)
    run = Simulation(graph, platform, models, scheduler, seed=seed, noise=noise).run(check=True)
    assert run.makespan_s >= (1 - 1e-9) * max(run.bounds.values())
