"""The schedulers of OpenMP runtimes: what a thread takes, what it goes on to, what it must not."""

from __future__ import annotations

import numpy as np
import pytest
from equal import as_run, disagreement
from openmp_graphs import Program, drawn_program
from tiers import few

import tasksim
from tasksim.base.errors import InputError
from tasksim.core.library import status
from tasksim.engine.choice import replayed
from tasksim.engine.conformance import check_scheduler
from tasksim.engine.question import Question
from tasksim.graph.builder import GraphBuilder
from tasksim.graph.taskgraph import Binding
from tasksim.platform.description import Overheads, Platform
from tasksim.schedulers.openmp_threads import NO_TASK, Threads
from tasksim.schedulers.registry import create

BOTH_RUNTIMES = pytest.mark.parametrize("name", ["libomp", "libgomp"])
SMALL_GRAPHS = pytest.mark.parametrize(
    "name", ["libomp", "libomp:deque=1", "libgomp", "libgomp:throttle=1", "libomp:max_priority=9",
             "libgomp:max_priority=9"]
)  # fmt: skip


def run_of(graph, workers, scheduler, **overheads):
    """Return a run of *graph*, without noise."""
    platform = Platform.identical(workers)
    if overheads:
        platform = Platform(
            platform.name, platform.workers, platform.memories, overheads=Overheads(**overheads)
        )
    return tasksim.simulate(graph, platform, scheduler=scheduler)


def where(run, tasks):
    """Return worker and start of each of *tasks*."""
    return [(int(run.tasks.worker[task]), float(run.tasks.start_s[task])) for task in tasks]


def creating(children, then=Binding.TIED, waits=True):
    """A program whose one thread creates tasks, each of as many seconds, and waits for them.

    Creations take no time. Returns the graph, and the numbers of the tasks.
    """
    program = Program()
    piece = program.piece(0.0, binding=Binding.HELD)
    made = []
    for seconds in children:
        made.append(program.piece(seconds, creator=piece))
        piece = program.piece(0.0, continues=piece)
    if waits:
        program.piece(1.0, made, continues=piece, binding=then)
    return program.build(), made


def test_libomp_takes_its_newest_and_steals_the_oldest():
    graph, made = creating([4.0, 1.0, 1.0, 1.0])
    run = run_of(graph, 2, "libomp")
    assert where(run, made) == [(1, 0.0), (0, 2.0), (0, 1.0), (0, 0.0)]
    assert run.makespan_s == 5.0


def test_libgomp_waits_with_its_newest_child_and_others_take_the_oldest():
    graph, made = creating([1.0, 4.0, 1.0, 1.0])
    run = run_of(graph, 2, "libgomp")
    assert where(run, made) == [(1, 0.0), (1, 1.0), (0, 1.0), (0, 0.0)]


def test_libgomp_takes_the_oldest_at_a_barrier():
    graph, made = creating([1.0, 1.0, 1.0], then=Binding.FREE)
    assert where(run_of(graph, 1, "libgomp"), made) == [(0, 0.0), (0, 1.0), (0, 2.0)]
    assert where(run_of(graph, 1, "libomp"), made) == [(0, 2.0), (0, 1.0), (0, 0.0)]


@pytest.mark.parametrize(
    ("scheduler", "starts"),
    [
        ("libomp:deque=2", [3.0, 4.0, 0.0, 1.0, 2.0]),
        ("libgomp:throttle=2", [3.0, 4.0, 5.0, 0.0, 1.0]),
        ("libomp", [4.0, 3.0, 2.0, 1.0, 0.0]),
    ],
)
def test_beyond_a_number_of_tasks_what_is_created_is_executed_at_once(scheduler, starts):
    graph, made = creating([1.0] * 5, then=Binding.FREE)
    found = [start for _, start in where(run_of(graph, 1, scheduler), made)]
    if scheduler == "libomp:deque=2":
        starts = [4.0, 3.0, 0.0, 1.0, 2.0]
    if scheduler == "libgomp:throttle=2":
        starts = [2.0, 3.0, 4.0, 0.0, 1.0]
    assert found == starts


def test_of_tasks_that_an_end_releases_libomp_takes_the_oldest_first():
    program = Program()
    begin = program.piece(0.0, binding=Binding.HELD)
    first = program.piece(1.0, creator=begin)
    piece = program.piece(0.0, continues=begin)
    released = []
    for _ in range(3):
        released.append(program.piece(1.0, [first], creator=piece))
        piece = program.piece(0.0, continues=piece)
    other = program.piece(1.0, creator=piece)
    piece = program.piece(0.0, continues=piece)
    program.piece(0.0, [other, *released], continues=piece)
    run = run_of(program.build(), 1, "libomp")
    assert where(run, [other, first, *released]) == [
        (0, 0.0), (0, 1.0), (0, 2.0), (0, 3.0), (0, 4.0)
    ]  # fmt: skip


@BOTH_RUNTIMES
def test_a_task_goes_on_where_it_began_and_after_what_it_was_left_for(name):
    """The creator waits; meanwhile its thread is in a long task, and so goes on late."""
    graph, made = creating([1.0, 3.0])
    run = run_of(graph, 2, name)
    last = len(graph) - 1
    assert where(run, [*made, last]) == [(1, 0.0), (0, 0.0), (0, 3.0)]


def a_wait_within_a_task(binding):
    """Two tasks of one creator; the first waits for a child that another thread has.

    Returns the graph, and a task that is not of the one that waits.
    """
    program = Program()
    begin = program.piece(0.0, binding=Binding.HELD)
    outer = program.piece(0.0, creator=begin)
    after = program.piece(1.0, continues=begin)
    child = program.piece(5.0, creator=outer)
    inner = program.piece(2.0, continues=outer)
    program.piece(1.0, [child], continues=inner)
    stranger = program.piece(1.0, creator=after, binding=binding)
    program.piece(10.0, continues=after)
    return program.build(), stranger


@pytest.mark.parametrize(
    ("binding", "scheduler", "start"),
    [
        (Binding.TIED, "libomp", 5.0),
        (Binding.FREE, "libomp", 2.0),
        (Binding.TIED, "libgomp", 5.0),
        (Binding.FREE, "libgomp", 5.0),
    ],
)
def test_a_thread_that_waits_in_a_tied_task_begins_nothing_else(binding, scheduler, start):
    graph, stranger = a_wait_within_a_task(binding)
    run = run_of(graph, 3, scheduler)
    assert where(run, [stranger])[0][1] == start


def test_implicit_tasks_are_spread_over_the_threads():
    program = Program()
    begin = program.piece(1.0, binding=Binding.HELD)
    parts = [program.piece(2.0, [begin], binding=Binding.HELD) for _ in range(3)]
    program.piece(1.0, parts, continues=begin, binding=Binding.FREE)
    graph = program.build()
    for name in ("libomp", "libgomp"):
        assert where(run_of(graph, 3, name), parts) == [(0, 1.0), (1, 1.0), (2, 1.0)]
        assert run_of(graph, 2, name).makespan_s == 1.0 + 4.0 + 1.0


def test_an_undeferred_task_is_of_its_creator():
    program = Program()
    begin = program.piece(0.0, binding=Binding.HELD)
    waiting = [program.piece(1.0, creator=begin)]
    piece = program.piece(0.0, continues=begin)
    at_once = program.piece(1.0, creator=piece, binding=Binding.HELD)
    program.piece(1.0, [at_once], continues=piece)
    for name in ("libomp", "libgomp"):
        run = run_of(program.build(), 1, name)
        assert where(run, [at_once, len(run) - 1, *waiting]) == [(0, 0.0), (0, 1.0), (0, 2.0)]


@BOTH_RUNTIMES
def test_priorities_count_up_to_the_largest(name):
    builder = GraphBuilder("priorities")
    for priority in (0, 1, 2, 3):
        builder.insert("task", duration_s=1.0, priority=priority)
    graph = builder.build()

    def order(scheduler):
        return np.argsort(run_of(graph, 1, scheduler).tasks.start_s).tolist()

    unordered = order(name)
    assert unordered == ([3, 2, 1, 0] if name == "libomp" else [0, 1, 2, 3])
    assert order(f"{name}:max_priority=2") == [2, 3, 1, 0]


@BOTH_RUNTIMES
def test_what_goes_on_without_a_wait_costs_the_runtime_nothing(name):
    graph, _made = creating([1.0, 1.0])
    run = run_of(graph, 1, name, task_s=0.1)
    # The first piece, two tasks and the piece after the wait ask the runtime; two others do not.
    assert run.makespan_s == pytest.approx(3.0 + 4 * 0.1, abs=1e-9)


def question(seed, name, workers):
    graph = drawn_program(seed)
    costs = np.array([graph.parameters_of(task)["duration_s"] for task in range(len(graph))])
    costs = costs[None, :]
    platform = Platform.identical(workers)
    overheads = (
        Overheads(),
        Overheads(task_s=3e-7, wakeup_s=2e-6, start_s=5e-6),
        Overheads(push_s=1e-6, start_s=5e-6),
    )
    platform = Platform(
        "threads", platform.workers, platform.memories, overheads=overheads[seed % 3]
    )
    return Question(graph, platform, create(name), costs, costs)


CASES = [
    pytest.param(range(8), id="few"),
    pytest.param(range(8, 8 + few(92)), id="many", marks=pytest.mark.slow),
]


@pytest.mark.skipif(not status().available, reason=f"the core is {status().why}")
@SMALL_GRAPHS
@pytest.mark.parametrize("seeds", CASES)
def test_both_engines_agree_on_drawn_programs(name, seeds):
    """On 3 threads: on 1, 2 and 4 the fixture of this folder compares them in the next test."""
    for seed in seeds:
        found = disagreement(question(seed, name, 3))
        assert found is None, f"seed {seed}: {found}"


@SMALL_GRAPHS
@pytest.mark.parametrize("seeds", CASES)
def test_drawn_programs_keep_the_rules_of_threads(name, seeds, monkeypatch):
    """But for those in which threads would wait for ever, as they are fewer than there were."""
    refuged = []
    take = Threads.last_resort

    def counted(self, worker):
        task = take(self, worker)
        refuged.append(task != NO_TASK)
        return task

    monkeypatch.setattr(Threads, "last_resort", counted)
    kept = 0
    for seed in seeds:
        graph = drawn_program(seed)
        for workers in (1, 2, 4):
            refuged.clear()
            replay = replayed(question(seed, name, workers), 0, "simpy").replay
            run = as_run(question(seed, name, workers), replay)
            tasksim.check_run(run, graph)
            if not any(refuged):
                kept += 1
                broken = broken_rule(graph, run, constrained=name.startswith("libomp"))
                assert broken is None, f"seed {seed}, {workers} workers: {broken}"
    assert kept > 2.5 * len(seeds)


def broken_rule(graph, run, *, constrained):
    """Return which rule of threads a run breaks; None: none.

    A task stays on its thread, and does not go on while that is within another one that began later
    (implicit tasks take turns). In libomp, what a thread begins descends from what it waits in.
    """
    worker, start = run.tasks.worker, run.tasks.start_s
    whole, parent, follows = list(range(len(graph))), {}, {}
    for piece, last in enumerate(graph.continues.tolist()):
        if last >= 0:
            whole[piece] = whole[last]
            follows[last] = piece
        elif graph.creator[piece] >= 0:
            parent[piece] = whole[graph.creator[piece]]
    # Pieces without duration may share an instant: then in the order in which they end.
    order = np.lexsort((np.arange(len(graph)), run.tasks.end_s, start)).tolist()
    within = {number: [] for number in range(len(run.workers))}
    for piece in order:
        mine, stack = whole[piece], within[int(worker[piece])]
        if mine == piece:
            if constrained and graph.binding[piece] == Binding.TIED:
                broken = _stranger(graph, stack, follows, parent, piece)
                if broken is not None:
                    return broken
            if piece in follows:
                stack.append([mine, piece])
            continue
        held = [each for each in stack if each[0] == mine]
        if not held:
            return f"{piece} goes on on another thread"
        above = stack[stack.index(held[0]) + 1 :]
        if any(each[0] in parent for each in above):
            return f"{piece} goes on before what its thread is within"
        held[0][1] = piece
        if piece not in follows:
            stack.remove(held[0])
    return None


def _stranger(graph, stack, follows, parent, piece):
    """Return a complaint if *piece* begins within a tied task that it does not descend from."""
    for mine, last in reversed(stack):
        if graph.binding[follows[last]] == Binding.FREE:
            return None
        if graph.binding[mine] == Binding.FREE:
            continue
        ancestor = parent.get(piece)
        while ancestor is not None and ancestor != mine:
            ancestor = parent.get(ancestor)
        return None if ancestor == mine else f"{piece} begins within {mine}"
    return None


@BOTH_RUNTIMES
def test_graphs_that_tell_of_no_pieces_are_replayed_too(name):
    graph = tasksim.generate("cholesky", tiles=6)
    assert not len(graph.continues)
    check_scheduler(lambda: create(name))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("libomp:deque=0", "scheduler 'libomp': option 'deque': got 0"),
        ("libomp:deque=many", "scheduler 'libomp': option 'deque': got 'many'"),
        ("libomp:dequeue=3", "did you mean 'deque'"),
        ("libgomp:throttle=0.5", "scheduler 'libgomp': option 'throttle': got 0.5"),
        ("libgomp:max_priority=-1", "scheduler 'libgomp': option 'max_priority': got -1"),
    ],
)
def test_options_are_checked(text, message):
    with pytest.raises(InputError, match=message.replace("(", "\\(")):
        create(text)
