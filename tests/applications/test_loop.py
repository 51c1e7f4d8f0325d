"""The loop: operations over blocks, in chunks, by schedules."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksim import execute, generate, simulate
from tasksim.applications.loop import OPERATIONS, chunks
from tasksim.base.errors import InputError
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


BY_BLOCKS = [name for name, operation in OPERATIONS.items() if operation.by_blocks is not None]


@pytest.mark.parametrize("operation", BY_BLOCKS)
@pytest.mark.parametrize(("columns", "chunk_size"), [(8, 1), (7, 3), (20, 100), (49, 2)])
def test_blocks_of_some_columns_give_the_right_result(operation, columns, chunk_size):
    words = f"loop operation={operation} n=50 block=9 block_columns={columns}"
    execute(f"{words} chunk_size={chunk_size} iterations=2", workers=2, check=True)


def test_blocks_are_counted_in_rows_and_columns():
    graph = generate("loop", operation="matrix-add", n=10, block=4, block_columns=6, chunk_size=4)
    # 4 + 4 + 2 rows, 6 + 4 columns: four blocks, and the two of the last rows.
    sizes = [graph.parameters_of(task)["elements"] for task in range(len(graph) - 1)]
    assert sizes == [80, 20]


def test_vectors_have_no_columns():
    with pytest.raises(
        InputError, match="block_columns: got 3; legal: none, as the result of daxpy"
    ):
        generate("loop", operation="daxpy", n=10, block=4, block_columns=3)


@given(
    blocks=st.integers(1, 300),
    least=st.integers(1, 20),
    threads=st.integers(1, 40),
    schedule=st.sampled_from(["fixed", "static", "guided", "factoring", "trapezoid"]),
)
def test_a_schedule_hands_out_every_block(blocks, least, threads, schedule):
    sizes = list(chunks(schedule, blocks, least, threads))
    assert sum(sizes) == blocks
    assert min(sizes) > 0
    if schedule == "static":
        assert len(sizes) == min(blocks, threads)
        assert max(sizes) - min(sizes) <= 1
    else:
        assert all(size >= least for size in sizes[:-1])
    if schedule in ("guided", "factoring", "trapezoid"):
        assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize(
    ("schedule", "sizes"),
    [
        ("fixed", [1] * 12), ("static", [3] * 4), ("guided", [3, 3, 2, 1, 1, 1, 1]),
        ("factoring", [2] * 4 + [1] * 4), ("trapezoid", [2, 2, 2, 2, 1, 1, 1, 1]),
    ],
)  # fmt: skip
def test_a_schedule_decides_what_tasks_have(schedule, sizes):
    graph = generate("loop", n=12, block=1, chunk_size=1, threads=4, schedule=schedule)
    found = [graph.parameters_of(task)["n"] for task in range(len(graph) - 1)]
    assert found == sizes
    execute(f"loop n=12 block=1 chunk_size=1 threads=4 schedule={schedule}", workers=2, check=True)
