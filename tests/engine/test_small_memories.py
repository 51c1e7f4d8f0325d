"""Machines whose memories are small, or too small: who is refused, and who takes turns."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scripted import GPU0, machine, play, tasks
from strategies import ALLOCATIONS, OVERHEADS
from tiers import few

from tasksim.base.errors import InputError, SchedulerError
from tasksim.engine.simulation import Simulation
from tasksim.graph.apps.registry import generate
from tasksim.graph.builder import R, Reduce, Scratch
from tasksim.models.kinds.given import ConstantLibrary
from tasksim.platform.description import Copying
from tasksim.schedulers.registry import names

GPU, CPU = 0, 1
"""The numbers of the workers of a machine with one device and one core."""

PUSHES = st.sampled_from(["serial", "blind"])

THREE_TASKS = tasks((4, [(R, 0)]), (4, [(R, 1)]), (4, [(R, 2)]))


def test_a_task_whose_data_fit_nowhere_is_named():
    graph = tasks((1, [(R, 0), (R, 1)]))
    with pytest.raises(InputError, match=r"task #0 .* needs 6 bytes at once"):
        play(graph, machine(cores=0, size=5), {GPU: [0]})


@pytest.mark.parametrize("scheduler", names(bare=True))
def test_where_the_memory_of_a_class_is_too_small_its_workers_cannot_run_the_task(scheduler):
    graph = tasks((1, [(R, 0), (R, 1)]), (1, [(R, 0)]), (1, [(R, 1)]))
    played = play(graph, machine(size=5), scheduler)
    assert played.worker[0] == CPU


def test_what_is_only_scratch_or_reduced_needs_no_room():
    graph = tasks((1, [(R, 0), (Scratch, 1), (Reduce, 2)]))
    assert play(graph, machine(cores=0, size=3), {GPU: [0]}).end == [4]


def test_a_task_that_is_never_given_out_is_the_schedulers_fault():
    with pytest.raises(SchedulerError, match=r"dropped task #1 .*pushed, but all workers sleep"):
        play(THREE_TASKS, machine(), {GPU: [0, 2]})


TILE = 8


def cholesky(tiles):
    return generate("cholesky", tiles=tiles, tile_size=1)


def thrashing(size, tiles=6, scheduler="eager", **options):
    graph = cholesky(tiles)  # tiles of 8 bytes
    platform = machine(cores=0, size=size, **options)
    models = ConstantLibrary(dict.fromkeys(["potrf", "trsm", "syrk", "gemm"], 1.0))
    return Simulation(graph, platform, models, scheduler).run(check=True)


@pytest.mark.parametrize("scheduler", ["eager", "prio", "lws", "dmda", "dmdas", "heteroprio"])
def test_three_tiles_of_memory_are_enough_for_a_cholesky_but_copies_are_many(scheduler):
    """The memory just holds the data of the largest task: data come and go all the time."""
    small, large = (thrashing(size, scheduler=scheduler) for size in (3 * TILE, 100 * TILE))
    assert small.evictions > 20
    assert large.evictions == 0
    copied = [int(run.transfers.size_bytes.sum()) for run in (small, large)]
    assert copied[0] > 2 * copied[1]
    assert small.makespan_s > large.makespan_s
    assert small.memory.used_bytes.max() == 3 * TILE


@settings(max_examples=few(60), deadline=None)
@given(
    st.sampled_from(["cholesky", "lu", "qr"]),
    st.integers(3, 5),
    st.sampled_from(names(bare=True)),
    st.sampled_from([40.0, 48.0, 56.0, 80.0]),
    st.integers(1, 3),
    st.booleans(),
    st.sampled_from(OVERHEADS),
    st.sampled_from(ALLOCATIONS),
    PUSHES,
)
def test_applications_end_however_small_the_memory(
    name, tiles, scheduler, size, pipeline, direct, overheads, allocation, pushes
):
    """Copies that wait for room, for their source and for each other never wait in a circle."""
    graph = generate(name, tiles=tiles, tile_size=1)
    platform = machine(
        devices=2, cores=0, size=size, pipeline=pipeline, direct=direct, bandwidth=1e5,
        allocation=allocation, copying=Copying(serialised=True),
    )  # fmt: skip
    platform = replace(platform, overheads=overheads)
    library = ConstantLibrary(dict.fromkeys(graph.model_names, 1e-4))
    try:
        Simulation(graph, platform, library, scheduler, simultaneous_pushes=pushes).run(check=True)
    except InputError as error:
        assume("bytes at once" not in str(error))
        raise


def test_less_than_three_tiles_of_memory_are_too_small_for_a_cholesky():
    with pytest.raises(InputError, match="needs 24 bytes at once"):
        thrashing(3 * TILE - 1)


def test_workers_that_share_a_small_memory_take_turns():
    """Each of two tasks needs all of it: they run one after the other."""
    graph = tasks((2, [(R, 0), (R, 1)]), (2, [(R, 2), (R, 3)]))
    apart = machine(devices=2, size=6, cores=0)
    workers = tuple(replace(worker, memory=GPU0) for worker in apart.workers)
    together = replace(apart, workers=workers)
    assert play(graph, apart, {0: [0], 1: [1]}).start == [6, 6]
    assert play(graph, together, {0: [0], 1: [1]}).start == [6, 14]
    roomy = replace(together, memories=machine(devices=2, size=12).memories)
    assert play(graph, roomy, {0: [0], 1: [1]}).start == [6, 12]
