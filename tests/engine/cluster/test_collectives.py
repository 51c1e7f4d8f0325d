"""Collectives: as closed formulas have them on ideal networks, as SimGrid's MPI on a cluster."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tasksim.base.errors import InputError
from tasksim.network.collectives.closed import FORMULAS, closed_s
from tasksim.network.collectives.openmpi import TABLES
from tasksim.network.collectives.registry import ALGORITHMS, collective, selected
from tasksim.network.collectives.steps import Step
from tasksim.network.load import read_network
from tests.engine.cluster.rounds import rounds_s

MEASURED = (
    Path(__file__).resolve().parents[3].parent / "shared" / "data" / "starpu-mpi" / "collectives"
)
B = "switch:bandwidth=1.25GB/s,latency=10us,model=smpi,nodes=16"
WTIME_S = 1e-8
"""Cost of a look at the clock in SimGrid's MPI, which measured times include."""


def duration_s(network, operation, ranks, size, **options):
    ends = rounds_s(network, [collective(operation, ranks, size, **options)])
    return max(ends[0])


@pytest.mark.parametrize("ranks", [2, 4, 8, 16, 32])
@pytest.mark.parametrize(("operation", "algorithm"), FORMULAS)
def test_algorithms_take_what_their_formulas_say(operation, algorithm, ranks):
    network = read_network("switch:bandwidth=1GB/s,latency=1us")
    size = 0.0 if operation == "barrier" else 64_000.0
    program = collective(operation, ranks, size, algorithm)
    ends = rounds_s(network, [program], reduce_s_per_byte=1e-10)
    expected = closed_s(operation, algorithm, ranks, size, 2e-6, 1e-9, 1e-10)
    assert max(ends[0]) == pytest.approx(expected, rel=1e-6)


def as_awaited(steps):
    """Return *steps* with receives at the steps that wait for them, none ahead."""
    ahead = [message for step in steps for message in step.ahead]
    return [
        Step(s.sends, (*s.receives, *(ahead[number] for number in s.awaited)), s.reduced_bytes)
        for s in steps
    ]


@pytest.mark.parametrize("ranks", [3, 5, 6, 7, 12, 13])
@pytest.mark.parametrize("operation", ALGORITHMS)
def test_any_number_of_ranks_will_do(operation, ranks):
    network = read_network("switch:bandwidth=1GB/s,latency=1us,model=smpi")
    for algorithm in ALGORITHMS[operation]:
        program = collective(operation, ranks, 1000.0, algorithm)
        sent = sorted(
            (rank, peer, size)
            for rank, steps in enumerate(program)
            for step in steps
            for peer, size in step.sends
        )
        received = sorted(
            (peer, rank, size)
            for rank, steps in enumerate(program)
            for step in as_awaited(steps)
            for peer, size in step.receives
        )
        assert sent == received
        assert max(rounds_s(network, [program])[0]) > 0


@pytest.mark.parametrize(
    ("operation", "algorithm", "blocks"),
    [
        ("bcast", "binomial", 7), ("bcast", "linear", 7), ("reduce", "binomial", 7),
        ("gather", "linear", 7), ("gather", "binomial", 12), ("scatter", "binomial", 12),
        ("allgather", "ring", 56), ("allgather", "recursive_doubling", 56),
        ("allgather", "bruck", 56), ("alltoall", "pairwise", 56), ("alltoall", "bruck", 96),
        ("allreduce", "ring", 14), ("allreduce", "rabenseifner", 14),
        ("allreduce", "recursive_doubling", 24), ("bcast", "scatter_ring", 8.5),
    ],
)  # fmt: skip
def test_algorithms_send_what_they_must(operation, algorithm, blocks):
    program = collective(operation, 8, 800.0, algorithm)
    sent = sum(size for steps in program for step in steps for _, size in step.sends)
    assert sent == pytest.approx(800.0 * blocks)


def test_hosts_pay_for_sends_and_receives():
    network = read_network("switch:bandwidth=1GB/s,latency=1us,model=loggp")
    # o_s + L + s G + o_r, and the sender is done after o_s: the message is eager.
    ends = rounds_s(network, [collective("bcast", 2, 1000.0, "linear")])[0]
    assert ends == pytest.approx([1e-6, 1e-6 + 2e-6 + 1e-6 + 1e-6])
    ends = rounds_s(network, [collective("bcast", 3, 1000.0, "linear")])[0]
    assert ends == pytest.approx([2e-6, 5e-6, 6e-6])


def test_small_messages_wait_for_their_receiver_unless_they_are_eager():
    late = [[Step(sends=((1, 1024.0),))], [Step(reduced_bytes=1e9), Step(receives=((0, 1024.0),))]]
    for text, waits_s in ((B, 41.4e-6), (f"{B},eager=64 KiB", 0.0)):
        ends = rounds_s(read_network(text), [late], reduce_s_per_byte=1e-9)[0]
        assert ends[0] == 0.0
        assert ends[1] - 1.0 == pytest.approx(waits_s, abs=1e-7)


def test_large_messages_keep_their_sender():
    late = [[Step(sends=((1, 1e6),))], [Step(reduced_bytes=1e9), Step(receives=((0, 1e6),))]]
    ends = rounds_s(read_network(B), [late], reduce_s_per_byte=1e-9)[0]
    assert ends[0] == ends[1] > 1.0


def test_messages_that_nobody_sends_are_an_error():
    with pytest.raises(InputError, match="wait for messages that no rank sends"):
        rounds_s(read_network(B), [[[], [Step(receives=((0, 1.0),))]]])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("bcats", 4, 1.0), "did you mean 'bcast'"),
        (("bcast", 4, 1.0, "binomal"), "did you mean 'binomial'"),
        (("bcast", 4, 1.0, None, "mpic"), "did you mean 'mpich'"),
        (("bcast", 0, 1.0), "at least 1"),
    ],
)
def test_misspelt_collectives_are_refused(arguments, said):
    with pytest.raises(InputError, match=said):
        collective(*arguments)


@pytest.mark.parametrize(
    ("selector", "operation", "size", "took_s"),
    [
        # Measured on 2, 4, 8 and 16 ranks of a cluster, 1.25 GB/s, twice 10 us.
        ("smpi", "allreduce", 4194304, (7.64e-3, 18.574e-3, 36.642e-3, 68.978e-3)),
        ("smpi", "allreduce", 8, (80.634e-6, 121.036e-6, 161.513e-6, 202.103e-6)),
        ("smpi", "barrier", 0, (80.618e-6, 80.681e-6, 80.807e-6, 81.06e-6)),
        ("mpich", "allreduce", 4194304, (3.978e-3, 7.956e-3, 11.935e-3, 15.913e-3)),
        ("mpich", "allgather", 131072, (0.34993e-3, 1.04978e-3, 2.4495e-3, 5.24892e-3)),
    ],
)
def test_libraries_choose_as_was_measured(selector, operation, size, took_s):
    network = read_network(B)
    for ranks, expected in zip((2, 4, 8, 16), took_s, strict=True):
        took = measured_s(network, selector, operation, ranks, size)
        assert took == pytest.approx(expected, rel=6e-4)


def measured_s(network, selector, operation, ranks, size):
    """Return the longest that a rank takes from one barrier on, as such things are measured."""
    barrier = collective("barrier", ranks, 0.0, selector=selector)
    ends = rounds_s(network, [barrier, collective(operation, ranks, size, selector=selector)])
    return max(end - begun for begun, end in zip(*ends, strict=True))


MISSED_ROWS = {"smpi": 0, "mpich": 4, "openmpi": 5}
"""Rows that are not met. Those of MPICH, and two of Open MPI, are the first calls of a broadcast,
with what these set up; three gathers of Open MPI are .1 % off."""


@pytest.mark.skipif(not MEASURED.is_dir(), reason="what was measured is not beside the checkout")
@pytest.mark.parametrize(
    ("selector", "file", "name"),
    [
        ("smpi", "coll_B.txt", None),
        ("mpich", "coll_B_sel.txt", "mpich"),
        ("openmpi", "coll_B_sel.txt", "ompi"),
    ],
)
def test_every_measured_collective_is_met_to_half_a_thousandth(selector, file, name):
    network = read_network(B)
    lines = (MEASURED / file).read_text().splitlines()
    rows = [row[-4:] for row in csv.reader(lines) if name in (None, row[0])]
    far = []
    for operation, ranks, size, seconds in rows:
        took = measured_s(network, selector, operation, int(ranks), float(size)) + WTIME_S
        if took != pytest.approx(float(seconds), rel=5e-4):
            far.append((operation, ranks, size, seconds, took))
    assert len(rows) == 184
    assert len(far) == MISSED_ROWS[selector], far


@pytest.mark.parametrize("operation", ALGORITHMS)
def test_the_tables_of_open_mpi_name_algorithms_that_are_there(operation):
    chosen = {
        selected(operation, ranks, 2.0**power, "openmpi")
        for ranks in (2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128, 255, 256, 511, 512, 1023,
                      1024, 2047, 2048, 4095, 4096, 10_000)
        for power in range(24)
    }  # fmt: skip
    assert chosen <= set(ALGORITHMS[operation])
    named = {word for word in TABLES[operation].split() if word[0].isalpha()}
    assert named <= set(ALGORITHMS[operation])


def test_open_mpi_chooses_by_ranks_and_bytes():
    # As measured on 2 and 8 ranks of a cluster, 1.25 GB/s, twice 10 us.
    network = read_network(B)
    for operation, ranks, size, took_s in [
        ("bcast", 8, 524288, 3.01165e-3), ("reduce", 2, 4194304, 18.47168e-3),
        ("gather", 4, 524288, 1.62731e-3), ("allreduce", 8, 16384, 0.25449e-3),
    ]:  # fmt: skip
        took = measured_s(network, "openmpi", operation, ranks, size)
        assert took == pytest.approx(took_s, rel=5e-4)


def test_a_receive_posted_ahead_is_waited_for_later():
    network = read_network("switch:bandwidth=1GB/s,latency=1us,model=ideal")
    sender = [Step(sends=((1, 1000.0),)), Step(sends=((1, 9000.0),))]
    expects = Step(ahead=((0, 1000.0), (0, 9000.0)))
    ends = rounds_s(network, [[sender, [expects, Step(awaited=(0,))]]])[0]
    assert ends[1] == pytest.approx(3e-6)
    ends = rounds_s(network, [[sender, [expects, Step(awaited=(1, 0))]]])[0]
    assert ends[1] == pytest.approx(ends[0]) == pytest.approx(14e-6)
