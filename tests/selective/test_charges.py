"""Charges of skipped tasks: drawn from measured durations, or their mean."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tasksim
from tasksim import RW, GraphBuilder
from tasksim.base.errors import InputError
from tasksim.core.library import status
from tasksim.kernels.program import bind
from tasksim.native.this_machine import this_machine
from tasksim.platform.description import Platform
from tasksim.selective.charges import Deck
from tasksim.selective.emulation import emulate_fully, emulate_selectively
from tasksim.selective.execute import execute_selectively
from tasksim.selective.statistics import Statistics, signatures
from tasksim.tuning.selection import SelectiveSettings

DURATIONS_S = st.lists(st.floats(0.8, 1.2), min_size=2, max_size=12)


@given(DURATIONS_S, st.integers(0, 2**70))
def test_a_deal_has_the_mean_of_the_samples_and_the_variance_of_their_population(samples, seed):
    mean = float(np.mean(samples))
    deck = Deck(lambda: samples, random.Random(seed))
    dealt = [deck.draw_s(mean) for _ in samples]
    assert np.mean(dealt) == pytest.approx(mean)
    assert np.var(dealt) == pytest.approx(np.var(samples, ddof=1), abs=1e-12)
    again = Deck(lambda: samples, random.Random(seed))
    assert [again.draw_s(mean) for _ in samples] == dealt


def test_a_draw_is_never_negative():
    deck = Deck(lambda: [0.0, 1.0], random.Random(0))
    assert min(deck.draw_s(0.5) for _ in range(2)) == 0.0


def test_new_durations_are_dealt_after_the_old_ones():
    samples = [1.0, 1.0]
    deck = Deck(lambda: samples, random.Random(0))
    deck.draw_s(1.0)
    samples += [3.0, 3.0]
    assert deck.draw_s(2.0) < 2.0
    assert {deck.draw_s(2.0) > 2.0 for _ in range(4)} == {True, False}


def bulk_synchronous(steps=60, ranks=8):
    """Return a graph whose steps end when the slowest of all ranks has ended."""
    steps_of = GraphBuilder("steps")
    parts = [steps_of.handle(f"part{rank}", size_bytes=8) for rank in range(ranks)]
    for _ in range(steps):
        for part in parts:
            steps_of.insert("compute", RW(part))
        steps_of.insert("wait", *map(RW, parts))
    return steps_of.build()


def test_drawn_charges_wait_for_the_slowest_and_means_do_not():
    graph, platform = bulk_synchronous(), Platform.identical(8)
    means = np.array(
        [[1.0 if graph.kernel_of(t) == "compute" else 1e-3 for t in range(len(graph))]]
    )
    rng, errors = np.random.default_rng(0), {"drawn": [], "mean": []}
    for _ in range(8):
        full, seconds = (means * rng.lognormal(-0.005, 0.1, means.shape[1]) for _ in range(2))
        truth = emulate_fully(graph, platform, "eager", full).run.makespan_s
        for charge, found in errors.items():
            done = emulate_selectively(
                graph, platform, "eager", seconds, policy="conditional", tolerance=0.03,
                charge=charge,
            )  # fmt: skip
            assert done.effort.executed < 0.3 * len(graph)
            found.append(done.run.makespan_s / truth - 1.0)
    assert np.mean(errors["mean"]) < -0.08
    assert abs(np.mean(errors["drawn"])) < 0.02


def scattered(graph):
    """Return statistics that know every kernel of *graph* by durations that scatter."""
    rng, statistics = np.random.default_rng(1), Statistics()
    for signature in signatures(graph)[0]:
        for seconds in rng.lognormal(0.0, 0.1, 50):
            statistics.add(signature, float(seconds))
    return statistics


def test_the_core_draws_as_python_does():
    if not status().available:
        pytest.skip(f"the core is {status().why}")
    graph = tasksim.generate("cholesky", tiles=6, tile_size=8)
    program, runs = bind(graph, 3), {}
    for runtime in ("python", "compiled"):
        for seed, charge in ((0, "drawn"), (2**40, "drawn"), (0, "mean")):
            done = execute_selectively(
                program, this_machine(3), "lws", policy="eager", tolerance=1.0, pin=False,
                statistics=scattered(graph), runtime=runtime, seed=seed, charge=charge,
            )  # fmt: skip
            assert done.effort.executed == 0
            runs[runtime, seed, charge] = done.run.tasks.end_s.tolist()
    for (_, *how), ends in runs.items():
        assert ends == runs["python", *how]
    assert len({tuple(ends) for ends in runs.values()}) == 3


def test_what_is_no_charge_is_refused():
    with pytest.raises(InputError, match=r"charge: got 'men' .* \(legal: drawn, mean\)"):
        SelectiveSettings(charge="men").statistics()
    graph = tasksim.generate("chain", length=2)
    with pytest.raises(InputError, match="charge: got 'men'"):
        emulate_selectively(graph, Platform.identical(1), "eager", np.ones((1, 2)), charge="men")
