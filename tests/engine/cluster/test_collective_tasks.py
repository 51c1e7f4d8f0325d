"""Collectives as the command simulates them: as formulas, their own rounds and SimGrid have them.

Each rank is a node of one worker, as ``--workers 1 --nodes RANKS --grid 1xRANKS`` has it.
"""

from __future__ import annotations

import csv
from statistics import median

import pytest
from click.testing import CliRunner
from compiled_core import needs_core
from tiers import LONG, each_once

from tasksim import Platform, generate, simulate
from tasksim.cli.main import cli
from tasksim.network.collectives.closed import FORMULAS, closed_s
from tasksim.network.collectives.registry import ALGORITHMS, collective
from tasksim.network.load import read_network
from tasksim.run.first_difference import first_difference
from tests.engine.cluster.rounds import rounds_s
from tests.engine.cluster.test_collectives import MEASURED

NETWORK = "switch:bandwidth=1GB/s,latency=10us"
ALPHA_S, BETA_S = 2e-5, 1e-9
ALL_ALGORITHMS = [(operation, name) for operation, known in ALGORITHMS.items() for name in known]
WHOLE_BYTES = 1e-4
"""Messages of a graph have whole bytes, formulas have parts of them: a 64th of 8 bytes at worst,
of a message whose latency takes 20,000 bytes. Besides that, only the clock's nanoseconds differ."""


def simulated(operation, ranks, size, algorithm, network=NETWORK, engine="auto", **more):
    graph = generate(
        "collective", operation=operation, ranks=ranks, size_bytes=size, algorithm=algorithm, **more
    )
    return simulate(
        graph, Platform.identical(1), nodes=ranks, grid=f"1x{ranks}", network=network, check=True,
        engine=engine,
    )  # fmt: skip


def sizes(operation):
    return (0,) if operation == "barrier" else (8, 1_000_000)


def own_rounds_s(operation, ranks, size, algorithm, network=NETWORK):
    """Return what the program takes by itself; what a rank sends to itself never leaves a node."""
    program = [
        [
            step._replace(
                sends=tuple(m for m in step.sends if m[0] != rank),
                receives=tuple(m for m in step.receives if m[0] != rank),
            )
            for step in steps
        ]
        for rank, steps in enumerate(collective(operation, ranks, float(size), algorithm))
    ]
    return max(rounds_s(read_network(network), [program])[0])


def test_the_command_takes_what_the_formula_of_a_broadcast_says():
    words = (
        "simulate collective operation=bcast ranks=16 size_bytes=1000000 algorithm=binomial "
        f"--workers 1 --network {NETWORK} --nodes 16 --grid 1x16"
    )
    result = CliRunner().invoke(cli, words.split(), prog_name="tasksim")
    assert result.exit_code == 0, result.stderr
    # Four rounds of a megabyte. Before, the messages of a rank shared its cable: 10.08 ms.
    assert "makespan       4.08 ms" in result.stdout


@pytest.mark.parametrize("ranks", [2, 4, 16])
@pytest.mark.parametrize(("operation", "algorithm"), FORMULAS)
def test_a_simulated_collective_takes_what_its_formula_says(operation, algorithm, ranks):
    for size in sizes(operation):
        run = simulated(operation, ranks, size, algorithm)
        expected = closed_s(operation, algorithm, ranks, float(size), ALPHA_S, BETA_S)
        assert run.makespan_s == pytest.approx(expected, rel=WHOLE_BYTES)


@pytest.mark.slow
@pytest.mark.parametrize(("way", "ranks"), each_once(list(FORMULAS), (8, 32, 64)))
def test_a_simulated_collective_of_many_takes_what_its_formula_says(way, ranks):
    operation, algorithm = way
    size = sizes(operation)[-1]
    run = simulated(operation, ranks, size, algorithm)
    expected = closed_s(operation, algorithm, ranks, float(size), ALPHA_S, BETA_S)
    assert run.makespan_s == pytest.approx(expected, rel=WHOLE_BYTES)


@pytest.mark.parametrize("ranks", [2, 3, 7])
@pytest.mark.parametrize(("operation", "algorithm"), ALL_ALGORITHMS)
def test_ranks_go_from_step_to_step_as_their_program_says(operation, algorithm, ranks):
    for size in sizes(operation):
        run = simulated(operation, ranks, size, algorithm)
        expected = own_rounds_s(operation, ranks, size, algorithm)
        assert run.makespan_s == pytest.approx(expected, rel=WHOLE_BYTES)


MANY_RANKS = [
    (operation, algorithm, ranks)
    for operation, algorithm in ALL_ALGORITHMS
    # Where there is a formula, powers of two are compared with that.
    for ranks in ([12, 13] if (operation, algorithm) in FORMULAS else [12, 13, 16, 24, 64])
]


@pytest.mark.slow
# Every third: each algorithm without a formula, and of each number of ranks some.
@pytest.mark.parametrize(("operation", "algorithm", "ranks"), MANY_RANKS[:: 1 if LONG else 3])
def test_many_ranks_go_from_step_to_step_as_their_program_says(operation, algorithm, ranks):
    size = 0 if operation == "barrier" else 100_000
    run = simulated(operation, ranks, size, algorithm)
    expected = own_rounds_s(operation, ranks, size, algorithm)
    assert run.makespan_s == pytest.approx(expected, rel=WHOLE_BYTES)


@pytest.mark.parametrize(
    ("operation", "algorithm", "ranks", "rounds"),
    [
        # Messages without bytes take a latency each: how many of them follow each other?
        ("reduce", "one_by_one", 13, 12), ("scatter", "one_by_one", 13, 12),
        ("scatter", "linear", 13, 1), ("alltoall", "linear", 13, 1), ("gather", "in_turns", 2, 3),
    ],
)  # fmt: skip
def test_messages_wait_only_for_what_their_algorithm_says(operation, algorithm, ranks, rounds):
    run = simulated(operation, ranks, 0, algorithm)
    assert run.makespan_s == pytest.approx(rounds * ALPHA_S, rel=WHOLE_BYTES)


@pytest.mark.parametrize(
    "network", [needs_core(NETWORK + model) for model in ("", ",model=smpi", ",model=loggp")]
)
@pytest.mark.parametrize(("operation", "algorithm"), [("bcast", "mpich"), ("gather", "in_turns"),
                                                      ("alltoall", "linear")])  # fmt: skip
def test_both_engines_have_the_same_messages(operation, algorithm, network):
    runs = [
        simulated(operation, 13, 100_000, algorithm, network, engine=engine, repeat=2)
        for engine in ("simpy", "compiled")
    ]
    assert first_difference(*runs) is None
    assert runs[0].makespan_s == runs[1].makespan_s > 0


def test_reductions_take_their_time():
    run = simulated("reduce", 8, 1_000_000, "binomial", per_byte=1e-9)
    assert run.makespan_s == pytest.approx(3 * (ALPHA_S + 2e-3), rel=WHOLE_BYTES)


def test_several_ranks_of_a_node_do_not_wait_for_each_other():
    graph = generate("collective", operation="gather", ranks=8, size_bytes=1000, algorithm="linear")
    run = simulate(graph, Platform.identical(1), nodes=2, grid="1x2", network=NETWORK, check=True)
    # Ranks 1, 3, 5 and 7 are on the second node; rank 0 has posted what it receives from them.
    assert run.makespan_s == pytest.approx(ALPHA_S + 4 * 1000 * BETA_S, rel=WHOLE_BYTES)


COMMUNICATORS = {("bcast", ranks, "8") for ranks in ("2", "4", "8", "16")}
"""The first call of a program, which sets up communicators: up to nine times what it takes."""


@pytest.mark.skipif(not MEASURED.is_dir(), reason="what was measured is not beside the checkout")
@pytest.mark.slow
def test_the_command_agrees_with_what_simgrid_s_mpich_was_measured_to_take():
    # Its barrier keeps ranks together, so that those of the measurement began together, as ours.
    network = "switch:bandwidth=1.25GB/s,latency=10us,model=smpi"
    rows = csv.reader((MEASURED / "coll_B_sel.txt").read_text().splitlines())
    errors = []
    for _, operation, ranks, size, seconds in (row for row in rows if row[0] == "mpich"):
        if (operation, ranks, size) in COMMUNICATORS:
            continue
        if operation == "alltoall" and int(size) in (1024, 16384):
            continue  # a rank's message to itself takes its cable there, and nothing here
        run = simulated(operation, int(ranks), int(size), "mpich", network)
        errors.append(abs(run.makespan_s / float(seconds) - 1))
    # A look at the clock takes SimGrid 10 ns, a thousandth of nothing; there are 184 rows.
    assert len(errors) == 184 - 4 - 8
    assert median(errors) < 1e-4
    assert max(errors) < 1e-3
