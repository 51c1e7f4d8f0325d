"""Bulk-synchronous programs: their time on many ranks, from counters and messages on few."""

from dataclasses import replace
from math import log2, nan
from pathlib import Path

import numpy as np
import pytest

from tasksim.base.errors import InputError
from tasksim.graph.apps.registry import generate
from tasksim.graph.distribution.owners import NodeGrid, nearly_square
from tasksim.models.samples import Samples
from tasksim.network.load import read_network
from tasksim.reports.bulk.prediction import BulkModel, MessageCosts, parsed_collective
from tasksim.reports.bulk.profile import (
    KernelCounts,
    KernelOnRank,
    Profile,
    Sent,
    profile_of_graph,
    profile_of_run,
)
from tasksim.reports.bulk.report import MeanModels, simulated_s
from tasksim.reports.bulk.tables import median_errors, scaling_table
from tasksim.run.messageline import Hockney, fitted_hockney
from tasksim.run.samples import RecordedRun
from tasksim.scenario.public import simulate

MESSAGE_LINE = Hockney(1e-5, 1e-9)
LATENCIES_S = {"l1": 1e-9, "memory": 1e-7}


def profile(ranks, size=1e9, *, cpi=0.5, bf=0.25, comm=0.5, seed=None):
    """Return a program whose costs are known: half of what its messages take shows."""
    instructions = size / ranks
    counters = {
        "instructions": instructions, "l1_hits": 0.2 * instructions,
        "memory_accesses": 1e-3 * instructions + 1e3, "frequency_hz": 2e9,
    }  # fmt: skip
    waited = counters["l1_hits"] * 1e-9 + counters["memory_accesses"] * 1e-7
    sent = {"edge": Sent(8.0, 8e4, 8.0 * ranks, 4.0)} if ranks > 1 else {}
    work_s = cpi * instructions / 2e9 + bf * waited
    noise = 1.0 if seed is None else np.random.default_rng([seed, ranks]).normal(1, 0.02)
    work_s *= noise
    seconds = work_s + 0.01 / ranks + comm * (8 * (1e-5 + 1e4 * 1e-9) if ranks > 1 else 0.0)
    kernels = {"work": KernelOnRank(counters, work_s), "small": KernelOnRank({}, 0.01 / ranks)}
    return Profile(ranks, size, kernels, sent, seconds)


def test_a_program_whose_costs_are_known_is_foretold():
    model = BulkModel(
        [profile(P) for P in (1, 2, 4, 8)], MessageCosts(MESSAGE_LINE), latencies_s=LATENCIES_S
    )
    assert model.bf_comm == pytest.approx(0.5, rel=1e-3)
    for ranks in (16, 64, 256):
        for counted in (False, True):
            told = model.predict(profile(ranks), counted=counted)
            assert told.seconds == pytest.approx(profile(ranks).seconds, rel=0.02)
            assert told.low_s <= told.seconds <= told.high_s


def test_noise_of_two_percent_moves_it_by_as_much_and_the_interval_says_so():
    few = [profile(P, seed=seed) for P in (1, 2, 4, 8) for seed in range(3)]
    model = BulkModel(few, MessageCosts(MESSAGE_LINE), latencies_s=LATENCIES_S)
    told, truth = model.predict(profile(64)), profile(64).seconds
    assert told.seconds == pytest.approx(truth, rel=0.05)
    assert told.low_s < truth < told.high_s < 1.2 * truth


def test_ranks_of_one_size_foretell_a_larger_problem():
    few = [profile(P) for P in (4, 9, 16, 25)]
    model = BulkModel(few, MessageCosts(MESSAGE_LINE), latencies_s=LATENCIES_S)
    assert model.abscissa["work"] == "work per rank"
    for truth in (profile(256), profile(256, 16e9)):
        assert model.predict(truth).seconds == pytest.approx(truth.seconds, rel=0.05)


def test_intervals_widen_by_what_the_step_before_missed():
    few = [profile(P) for P in (1, 2, 4)] + [replace(profile(8), seconds=2 * profile(8).seconds)]
    model = BulkModel(few, MessageCosts(MESSAGE_LINE), latencies_s=LATENCIES_S, bf_comm=0.5)
    near, far = model.predict(profile(16)), model.predict(profile(64))
    # Half of the time on 8 ranks was missed: one step is another doubling of the ranks.
    assert near.high_s == pytest.approx(near.seconds * (1 + 1.96 * 0.5), rel=0.02)
    assert far.high_s == pytest.approx(far.seconds * (1 + 1.96 * 3 * 0.5), rel=0.02)
    within = model.predict(profile(6))
    assert within.high_s - within.low_s < 0.1 * within.seconds


@pytest.mark.parametrize(
    "seconds",
    [nan, 0.0],  # it was not run, or its clock did not see it
)
def test_a_last_step_that_cannot_be_judged_widens_no_interval(seconds):
    few = [profile(P) for P in (1, 2, 4)] + [replace(profile(8), seconds=seconds)]
    model = BulkModel(few, MessageCosts(MESSAGE_LINE), latencies_s=LATENCIES_S, bf_comm=0.5)
    told = model.predict(profile(64))
    assert told.seconds == pytest.approx(profile(64).seconds, rel=0.05)
    assert told.high_s - told.low_s < 0.1 * told.seconds


def test_a_kernel_that_only_the_most_ranks_have_is_judged_by_no_step():
    few = [replace(profile(P), kernels={"small": KernelOnRank({}, 0.01 / P)}) for P in (1, 2, 4)]
    model = BulkModel(
        [*few, profile(8)], MessageCosts(MESSAGE_LINE), latencies_s=LATENCIES_S, bf_comm=0.5
    )
    told = model.predict(profile(16))
    assert 0 <= told.low_s <= told.seconds <= told.high_s < 2 * told.seconds


def test_problems_that_grow_with_the_ranks_are_foretold():
    few = [profile(P, 1e9 * P) for P in (1, 2, 4)] + [profile(2, 1e9), profile(4, 1e9)]
    model = BulkModel(few, MessageCosts(MESSAGE_LINE), latencies_s=LATENCIES_S)
    truth = profile(32, 32e9)
    assert model.predict(truth).seconds == pytest.approx(truth.seconds, rel=0.02)


def test_more_ranks_than_cores_take_turns():
    few = [profile(P) for P in (1, 2, 4)]
    free, shared = (
        BulkModel(few, MessageCosts(MESSAGE_LINE), bf_comm=1.0, cores=cores).predict(profile(8))
        for cores in (None, 2)
    )
    assert shared.computing_s == pytest.approx(4 * free.computing_s)
    assert shared.messages_s == free.messages_s


def test_what_is_not_critical_is_taken_together():
    few = [profile(P) for P in (1, 2, 4)]
    model = BulkModel(few, MessageCosts(MESSAGE_LINE), critical=["work"])
    assert list(model.kernels) == ["work"]
    assert model.predict(profile(8)).others_s == pytest.approx(0.01 / 8, rel=1e-6)


def test_too_little_is_refused():
    with pytest.raises(InputError, match=r"two numbers of ranks or sizes, got 1 profile"):
        BulkModel([profile(2)], MessageCosts(MESSAGE_LINE))
    with pytest.raises(InputError, match="no kernel has counters"):
        BulkModel([profile(1), profile(2)], MessageCosts(MESSAGE_LINE), critical=["small"])
    with pytest.raises(InputError, match="bf_comm: got -1"):
        BulkModel([profile(1), profile(2)], MessageCosts(MESSAGE_LINE), bf_comm=-1)


def test_messages_go_from_point_to_point_unless_they_are_said_to_be_of_a_collective():
    sent = {"pq": Sent(30.0, 240.0, 120.0, 4.0)}
    alone_s = 1e-5 + 8e-9
    assert MessageCosts(MESSAGE_LINE).seconds(16, sent) == pytest.approx(30 * alone_s)
    assert MessageCosts(MESSAGE_LINE).seconds(1, sent) == 0
    for words, each_s in {
        "reduce:binomial": log2(16) * alone_s,
        "reduce:binomial+bcast:binomial": 2 * log2(16) * alone_s,
        "allreduce:recursive_doubling": log2(16) * alone_s,
    }.items():
        collectives = dict([parsed_collective(f"pq={words}")])
        assert MessageCosts(MESSAGE_LINE, collectives).seconds(16, sent) == pytest.approx(
            4 * each_s
        )
    # A broadcast to fifteen others: 120 messages are eight of them.
    collectives = dict([parsed_collective("pq=bcast:binomial")])
    assert MessageCosts(MESSAGE_LINE, collectives).seconds(16, sent) == pytest.approx(
        8 * 4 * alone_s
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pq", "legal: DATA=OPERATION:ALGORITHM"),
        ("pq=allreduc:ring", "did you mean 'allreduce'"),
        ("pq=allreduce:rings", "did you mean 'ring'"),
        ("pq=alltoall:scattered", "unknown formula"),
    ],
)
def test_a_collective_that_is_none_is_refused(text, said):
    with pytest.raises(InputError, match=said):
        parsed_collective(text)


def test_a_line_is_laid_through_typical_messages():
    sizes = np.repeat([8.0, 1e5, 1e6], 5)
    taken = 1e-5 + sizes * 1e-9
    taken[::5] *= 100
    line = fitted_hockney(sizes, taken)
    assert (line.alpha_s, line.beta_s) == pytest.approx((1e-5, 1e-9), rel=1e-6)
    with pytest.raises(InputError, match="none was timed"):
        fitted_hockney(np.zeros(2), np.full(2, nan))


def counts(instructions=1e5):
    columns = {"instructions": [instructions], "l1_hits": [2e4], "memory_accesses": [10.0]}
    samples = Samples(
        ("n",), [[64.0]], [1e-4], counters={name: np.array(c) for name, c in columns.items()}
    )
    return KernelCounts(samples)


def cg_run(ranks, **more):
    settings = {"block_rows": 4, "block_columns": 4, "block_size": 64, "iterations": 2, **more}
    graph = generate("cg", **settings)
    seconds = {
        "stencil": 1e-4,
        "dot": 2e-5,
        "axpy": 5e-5,
        "update": 4e-5,
        "pack": 1e-6,
        "add": 1e-7,
    }
    on = {} if ranks == 1 else {"nodes": ranks, "network": "switch:bandwidth=1GB/s,latency=1us"}
    return RecordedRun(
        Path(f"cg{ranks}"), simulate(graph, workers=1, durations=seconds, **on), graph
    )


KNOWN_COUNTS = {name: counts() for name in ("stencil", "dot", "axpy", "update")}


def test_a_run_has_the_profile_that_its_graph_on_these_ranks_has():
    for ranks in (1, 2, 4, 8):
        run = cg_run(ranks)
        found = profile_of_run(run, KNOWN_COUNTS)
        planned = profile_of_graph(run.graph, nearly_square(ranks), "row", KNOWN_COUNTS)
        assert planned.sent == found.sent
        assert found.kernels["stencil"].counters["instructions"] == 32 / ranks * 1e5
        assert found.kernels["stencil"].seconds == pytest.approx(32 / ranks * 1e-4)
        assert {n: k.counters for n, k in planned.kernels.items()} == {
            n: k.counters for n, k in found.kernels.items()
        }
        assert found.size == planned.size == (32 + 64 + 32 + 32) * 1e5
    # Each block sends an edge to each neighbour in each iteration; sums are sent to all.
    assert found.sent["edge0"].calls == 2
    assert profile_of_graph(run.graph, NodeGrid(1, 8), "row", KNOWN_COUNTS).sent != found.sent


def test_all_methods_stand_beside_what_was_measured():
    runs = {ranks: cg_run(ranks) for ranks in (1, 2, 4, 8, 16)}
    profiles = {ranks: profile_of_run(run, KNOWN_COUNTS) for ranks, run in runs.items()}
    few = [profiles[ranks] for ranks in (1, 2, 4, 8)]
    network = read_network("switch:bandwidth=1GB/s,latency=1us")
    model = BulkModel(few, MessageCosts(network))
    means = MeanModels([runs[ranks] for ranks in (1, 2, 4)])
    told = simulated_s(runs[16].graph, NodeGrid(4, 4), "row", network, means)
    table = scaling_table(model, few, [profiles[16]], [told])
    row = table.iloc[0]
    assert row.simulated_error_percent == pytest.approx(0, abs=1e-6)
    assert abs(row.counted_error_percent) < 15
    assert set(median_errors(table)) == {"counters", "counted", "simulated", "worley", "nan"}
    unknown = scaling_table(model, few, [replace(profiles[16], seconds=nan)])
    assert median_errors(unknown) == {}
    assert unknown.counters_s[0] == table.counters_s[0]
