"""The loop: five operations over blocks, in chunks."""

from __future__ import annotations

import numpy as np
import pytest

from tasksim import execute, generate, simulate
from tasksim.applications.loop import OPERATIONS
from tasksim.native.conformance import parametrize_with_checks


@parametrize_with_checks(
    [f"loop operation={name} n=50 block=8 chunk_size=2 iterations=2" for name in OPERATIONS]
)
def test_the_operations_keep_the_contract(application, check):
    check(application)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("chunk_size", [1, 3, 100])
def test_any_chunks_give_the_right_result(operation, chunk_size):
    words = f"loop operation={operation} n=70 block=9 chunk_size={chunk_size} iterations=2"
    execute(words, workers=2, check=True)


def test_a_chunk_has_so_many_blocks_the_last_one_what_is_left():
    graph = generate("loop", n=1000, block=100, chunk_size=4, iterations=3)
    sizes = [graph.parameters_of(task)["n"] for task in range(len(graph)) if task % 4 < 3]
    assert sizes == [400.0, 400.0, 200.0] * 3


def test_a_pass_begins_when_the_last_one_is_over():
    """Ten chunks of a second on four workers take three; all of them before the next pass."""
    run = simulate("loop iterations=2", workers=4, durations={"vector_add": 1.0, "next_pass": 0.5})
    assert run.makespan_s == 2 * 3.5


def test_a_chunk_larger_than_the_loop_is_the_loop():
    one, more = (generate("loop", n=100, block=10, chunk_size=size) for size in (10, 10**9))
    assert np.array_equal(one.handle_size, more.handle_size)
    assert len(one) == len(more) == 2
