"""The movement of data: states after each access, what is merged, in which order, what leaves."""

from __future__ import annotations

from dataclasses import replace

import pytest
from scripted import GPU0, GPU1, RAM, machine, play, tasks

from tasksim.base.errors import InputError
from tasksim.graph.builder import RW, Commute, GraphBuilder, R, Reduce, Scratch, W
from tasksim.platform.description import Allocation, Copying, Link, Memory, Platform, Worker

GPU, CPU = 0, 1
FETCH, PREFETCH, IDLE, EVICTION = range(4)


# States


@pytest.mark.parametrize(
    ("mode", "valid", "copied"),
    [
        (R, [RAM, GPU0], 1),  # shared
        (W, [GPU0], 0),  # owned, without a copy
        (RW, [GPU0], 1),
        (Commute, [GPU0], 1),
        (Reduce, [RAM], 0),  # a part of each worker's own
        (Scratch, [RAM], 0),  # memory for the time of the task
    ],
)
@pytest.mark.parametrize("size", [None, 100])
def test_who_has_a_valid_copy_after_a_task_on_a_device(mode, valid, copied, size):
    played = play(tasks((1, [(mode, 0)])), machine(size=size), {GPU: [0]})
    assert played.valid(0) == valid
    assert len(played.copies) == copied


def test_what_a_core_writes_is_not_valid_on_devices_any_more():
    graph = tasks((1, [(R, 0)]), (1, [(RW, 0)]), (1, [(R, 0)]))
    played = play(graph, machine(), {GPU: [0, 2], CPU: [1]})
    assert [copy[1:3] for copy in played.copies] == [(RAM, GPU0), (RAM, GPU0)]
    assert played.valid(0) == [RAM, GPU0]


def test_what_is_shared_is_read_everywhere_without_another_copy():
    graph = tasks((1, [(R, 0)]), (1, [(R, 0)]), (1, [(R, 0)]))
    played = play(graph, machine(), {GPU: [0, 1], CPU: [2]})
    assert len(played.copies) == 1


def test_a_datum_at_home_on_a_device_stays_there():
    g = GraphBuilder("at home")
    x = g.handle("x", size_bytes=3, home=GPU0)
    g.insert("task", R(x), duration_s=1.0)
    played = play(g.build(), machine(), {GPU: [0]})
    assert played.copies == []


# Ways


def test_without_a_way_between_devices_data_go_by_main_memory_which_keeps_a_copy():
    graph = tasks((1, [(RW, 0)]), (1, [(R, 0)]))
    played = play(graph, machine(devices=2), {0: [0], 1: [1]})
    assert played.copies == [(0, RAM, GPU0, 0, 3), (0, GPU0, RAM, 4, 7), (0, RAM, GPU1, 7, 10)]
    assert played.valid(0) == [RAM, GPU0, GPU1]


def test_with_a_way_between_devices_data_go_straight():
    graph = tasks((1, [(RW, 0)]), (1, [(R, 0)]))
    played = play(graph, machine(devices=2, direct=True), {0: [0], 1: [1]})
    assert played.copies == [(0, RAM, GPU0, 0, 3), (0, GPU0, GPU1, 4, 7)]
    assert played.valid(0) == [GPU0, GPU1]


def test_of_equal_sources_the_first_memory_is_taken():
    graph = tasks((1, [(R, 0)]), (1, [(R, 0)]))
    played = play(graph, machine(devices=2, direct=True, submission_s=9), {0: [0], 1: [1]})
    assert [copy[1] for copy in played.copies] == [RAM, RAM]


def test_a_graph_whose_data_cannot_be_reached_is_refused():
    platform = Platform(
        name="apart",
        workers=(Worker(0, "a", "cpu", 0), Worker(1, "b", "cpu", 1)),
        memories=(Memory(0, "here"), Memory(1, "there")),
    )
    with pytest.raises(InputError, match="no route leads from memory here to there"):
        play(tasks((1, [(R, 0)])), platform, {1: [0]})


# Asking ahead


def test_what_is_brought_ahead_is_there_when_the_task_is_taken():
    """A pipeline of one: the second copy would wait for the end of the first task."""
    graph = tasks((4, [(R, 0)]), (4, [(R, 1)]))
    asked = play(graph, machine(pipeline=1), {GPU: [0, 1]}, {1: [(1, GPU0)]})
    assert asked.copies == [(1, RAM, GPU0, 0, 3), (0, RAM, GPU0, 3, 6)]
    assert asked.start == [6, 10]
    assert asked.reasons == [PREFETCH, FETCH]


@pytest.mark.parametrize("again", [1, 2])
def test_a_task_that_takes_what_was_asked_ahead_for_it_costs_one_copy(again):
    graph = tasks((1, [(R, 0)]))
    played = play(graph, machine(), {GPU: [0]}, {0: [(0, GPU0)] * again})
    assert played.copies == [(0, RAM, GPU0, 0, 3)]


def test_two_tasks_that_want_the_same_datum_cost_one_copy():
    graph = tasks((1, [(R, 0)]), (1, [(R, 0)]))
    ahead = {0: [(0, GPU0)], 1: [(1, GPU0)]}
    played = play(graph, machine(), {GPU: [0, 1]}, ahead)
    assert len(played.copies) == 1
    assert played.start == [3, 4]


def test_what_a_task_waits_for_comes_before_what_is_asked_ahead():
    """Two copies ahead are under way when the first task is taken; the third one must wait."""
    graph = tasks((1, [(R, 0)]), (1, [(R, 1)]), (1, [(R, 2)]), (1, [(R, 3)]))
    platform = machine(pipeline=1, submission_s=0.5)
    ahead = {0: [(1, GPU0), (2, GPU0), (3, GPU0)]}
    played = play(graph, platform, {GPU: [0, 1, 2, 3]}, ahead)
    assert [copy[0] for copy in played.copies] == [1, 2, 0, 3]
    assert played.reasons == [PREFETCH, PREFETCH, FETCH, PREFETCH]


@pytest.mark.parametrize(("prefetches", "order"), [(1, [1, 0, 2, 3]), (3, [1, 2, 3, 0])])
def test_as_many_copies_ahead_are_under_way_as_the_limit_says(prefetches, order):
    graph = tasks((1, [(R, 0)]), (1, [(R, 1)]), (1, [(R, 2)]), (1, [(R, 3)]))
    platform = machine(pipeline=1, copying=Copying(prefetches=prefetches))
    ahead = {0: [(1, GPU0), (2, GPU0), (3, GPU0)]}
    played = play(graph, platform, {GPU: [0, 1, 2, 3]}, ahead)
    assert [copy[0] for copy in played.copies] == order


def test_a_copy_ahead_becomes_urgent_when_its_task_is_taken():
    """It overtakes one that was asked for before it."""
    graph = tasks((1, [(R, 0)]), (1, [(R, 1)]), (1, [(R, 2)]), (1, [(R, 3)]))
    platform = machine(pipeline=1, copying=Copying(prefetches=1))
    ahead = {0: [(1, GPU0), (2, GPU0), (3, GPU0), (0, GPU0)]}
    played = play(graph, platform, {GPU: [0, 1, 2, 3]}, ahead)
    assert [copy[0] for copy in played.copies] == [1, 0, 2, 3]
    assert played.reasons[1] == FETCH


def test_of_one_class_the_most_urgent_task_comes_first():
    g = GraphBuilder("urgent")
    data = [g.handle(f"x{i}", size_bytes=3) for i in range(4)]
    for i, priority in enumerate([0, 0, 1, 2]):
        g.insert("task", R(data[i]), duration_s=1.0, priority=priority)
    platform = machine(pipeline=1, copying=Copying(prefetches=1))
    ahead = {0: [(1, GPU0), (2, GPU0), (3, GPU0)]}
    played = play(g.build(), platform, {GPU: [0, 1, 2, 3]}, ahead)
    assert [copy[0] for copy in played.copies] == [3, 0, 2, 1]


# Writers


def test_a_writer_waits_for_the_copies_of_its_datum_that_are_under_way():
    """The hint's write-back takes from 4 to 7; the next writer must not change what is copied."""
    graph = tasks((1, [(RW, 0)]), (1, [(RW, 0)]), hints=[(1, 0)])
    played = play(graph, machine(), {GPU: [0, 1]})
    assert played.copies[-1] == (0, GPU0, RAM, 4, 7)
    assert played.start == [3, 7]
    assert played.valid(0) == [GPU0]


def test_a_reader_does_not_wait_for_them():
    graph = tasks((1, [(RW, 0)]), (1, [(R, 0)]), hints=[(2, 0)])
    played = play(graph, machine(), {GPU: [0, 1]})
    assert played.start == [3, 4]


# Hints


def test_a_hint_writes_back_once_the_last_writer_has_ended():
    graph = tasks((1, [(RW, 0)]), (5, [(R, 0)]), hints=[(2, 0)])
    played = play(graph, machine(), {GPU: [0, 1]})
    assert played.copies[1:] == [(0, GPU0, RAM, 4, 7)]
    assert played.reasons[1:] == [IDLE]
    assert played.valid(0) == [RAM, GPU0]


def test_a_hint_about_what_main_memory_has_copies_nothing():
    graph = tasks((1, [(R, 0)]), hints=[(0, 0), (1, 0)])
    assert len(play(graph, machine(), {GPU: [0]}).copies) == 1


def test_what_a_hint_names_is_the_first_to_leave():
    """Least recently used is x0, but x1 will not be used any more."""
    accesses = [(1, [(R, 0)]), (1, [(R, 1)]), (1, [(R, 2)]), (1, [(R, 0)])]
    plan = {GPU: [0, 1, 2, 3]}
    platform = machine(size=6, pipeline=1, submission_s=0.5)
    plain = play(tasks(*accesses), platform, plan)
    assert [copy[0] for copy in plain.copies] == [0, 1, 2, 0]
    slow = machine(size=6, pipeline=1, submission_s=4.0)
    hinted = play(tasks(*accesses, hints=[(2, 1)]), slow, plan)
    assert [copy[0] for copy in hinted.copies] == [0, 1, 2]


# What leaves a memory that is full


def test_the_least_recently_used_datum_leaves():
    """Room for two: x0 was used again after x1, which leaves for x2; x0 then for x1."""
    graph = tasks(*[(1, [(R, i)]) for i in (0, 1, 0, 2, 0, 1)])
    played = play(graph, machine(size=6, pipeline=1), {GPU: list(range(6))})
    assert [copy[0] for copy in played.copies] == [0, 1, 2, 1]
    assert played.evictions == 2


def test_what_is_valid_elsewhere_leaves_before_what_must_be_written_back():
    graph = tasks((1, [(RW, 0)]), (1, [(R, 1)]), (1, [(R, 2)]))
    played = play(graph, machine(size=6, pipeline=1), {GPU: [0, 1, 2]})
    assert [copy[:3] for copy in played.copies] == [
        (0, RAM, GPU0), (1, RAM, GPU0), (2, RAM, GPU0),
    ]  # fmt: skip
    assert played.valid(0) == [GPU0]


def test_of_what_is_valid_elsewhere_one_of_equal_size_leaves():
    graph = tasks((1, [(R, 0)]), (1, [(R, 1)]), (1, [(R, 2)]), (1, [(R, 1)]), sizes=(2, 2, 3, 3))
    same = tasks((1, [(R, 0)]), (1, [(R, 2)]), (1, [(R, 3)]), sizes=(2, 2, 3, 3))
    played = play(same, machine(size=5, pipeline=1), {GPU: [0, 1, 2]})
    assert played.valid(0) == [RAM, GPU0]  # x2 has left, though x0 was used longer ago
    assert play(graph, machine(size=7, pipeline=1), {GPU: [0, 1, 2, 3]}).evictions == 0


def test_what_only_the_device_has_is_written_back_before_it_leaves():
    """Twice the size that is needed at a time: both data go home, one after the other."""
    graph = tasks((1, [(RW, 0)]), (1, [(RW, 1)]), (1, [(R, 2)]), (1, [(R, 0)]))
    played = play(graph, machine(size=6, pipeline=1), {GPU: [0, 1, 2, 3]})
    assert played.copies == [
        (0, RAM, GPU0, 0, 3),
        (1, RAM, GPU0, 4, 7),
        (0, GPU0, RAM, 8, 11),
        (1, GPU0, RAM, 11, 14),
        (2, RAM, GPU0, 11, 14),
        (0, RAM, GPU0, 15, 18),
    ]
    assert played.reasons == [FETCH, FETCH, EVICTION, EVICTION, FETCH, FETCH]
    assert played.tasks == [0, 1, -1, -1, 2, 3]


def test_the_data_of_a_task_that_runs_do_not_leave():
    """Room for two: x0 is in use until 13, so x2 takes the place of x1 when its task has ended."""
    graph = tasks((9, [(R, 0)]), (1, [(R, 1)]), (1, [(R, 2)]))
    played = play(graph, machine(size=3, pipeline=2), {GPU: [0, 1, 2]})
    assert played.start == [3, 15, 19]
    assert [copy[3] for copy in played.copies] == [0, 12, 16]


def test_copies_ahead_do_not_drive_out_what_was_brought_ahead_for_others():
    """Room for three; x1 and x2 were brought ahead, x0 runs: x3 must wait until x0 may leave."""
    graph = tasks((20, [(R, 0)]), (1, [(R, 1)]), (1, [(R, 2)]), (1, [(R, 3)]))
    platform = machine(size=9, pipeline=1)
    ahead = {0: [(1, GPU0), (2, GPU0), (3, GPU0)]}
    played = play(graph, platform, {GPU: [0, 1, 2, 3]}, ahead)
    assert [copy[0] for copy in played.copies] == [1, 2, 0, 3]
    assert played.copies[-1][3] == played.end[0] == 29
    assert played.evictions == 1


def test_what_a_task_waits_for_drives_out_what_was_brought_ahead():
    graph = tasks((1, [(R, 0)]), (1, [(R, 1)]))
    platform = machine(size=3, pipeline=1)
    played = play(graph, platform, {GPU: [0, 1]}, {0: [(1, GPU0)]})
    assert [copy[0] for copy in played.copies] == [1, 0, 1]
    assert played.start == [6, 10]


def test_nothing_is_allocated_beyond_the_usable_part():
    graph = tasks(*[(1, [(R, i)]) for i in range(4)])
    half = Allocation(chunk_bytes=1.0, unit_bytes=1.0, largest_bytes=0.0, usable=0.5)
    played = play(graph, machine(size=12, allocation=half), {GPU: [0, 1, 2, 3]})
    assert max(played.replay.node.memories.log.used) == 6
    assert played.evictions == 2


def test_main_memory_is_not_bounded_where_the_data_live():
    ram = Memory(0, "ram", 0, 4.0)
    platform = Platform(
        name="small",
        workers=(Worker(0, "cpu0", "cpu", 0), Worker(1, "far0", "far", 1)),
        memories=(ram, Memory(1, "far")),
        links=(Link(0, "link", (0, 1), 1.0),),
    )
    played = play(tasks((1, [(R, 0), (R, 1), (R, 2)])), platform, {0: [0]})
    assert played.end == [1]


@pytest.mark.parametrize("duration", [0.5, 9])
def test_a_writer_waits_for_what_is_copied_to_make_room_where_its_datum_was(duration):
    """The second device takes a task that only writes x0 at 12, its place is allocated by 14. At
    12.5 the first device, which alone has x0 and x1, must make room: both are written home, x0
    from 15.5 to 18.5. Only then is it written anew; what came home is not valid."""
    graph = tasks(
        (1, [(RW, 1)]), (1, [(RW, 0)]), (duration, [(W, 0)]), (12.5, [(RW, 3)]), (1, [(R, 3)])
    )
    slow = Allocation(2.0, chunk_bytes=1.0, unit_bytes=1.0, largest_bytes=0.0)
    platform = machine(devices=2, size=6, allocation=slow, pipeline=1)
    played = play(graph, platform, {0: [0, 1, 4], 1: [2], 2: [3]})
    assert played.copies[2:4] == [(1, GPU0, RAM, 12.5, 15.5), (0, GPU0, RAM, 15.5, 18.5)]
    assert played.start[2] == 18.5
    assert played.valid(0) == [GPU1]


def test_a_hint_writes_back_before_a_later_task_writes_again():
    """The hint takes 0.5 s after the first task; the push of the second, which comes after it,
    0.25 s more. The second begins when the datum is home."""
    graph = tasks((1, [(RW, 0)]), (3, [(RW, 0)]), hints=[(1, 0)])
    apart = machine(devices=2, push_s=0.25)
    workers = [replace(w, memory=GPU0) if w.id < 2 else w for w in apart.workers]
    played = play(graph, replace(apart, workers=tuple(workers)), {0: [0], 1: [1]})
    assert played.copies == [(0, RAM, GPU0, 0.25, 3.25), (0, GPU0, RAM, 5.0, 8.0)]
    assert played.start == [3.25, 8.0]
