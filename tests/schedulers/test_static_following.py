"""Following plans: in order, or not; from files; natively; without deadlocks."""

from __future__ import annotations

import numpy as np
import pytest
from classic import processors
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted import replay_of
from strategies import costs, graphs, platforms
from tiers import few

from tasksim.base.errors import InputError
from tasksim.engine.simulation import Simulation
from tasksim.graph.apps.registry import generate
from tasksim.graph.builder import Commute, GraphBuilder, R, W
from tasksim.models.kinds.given import ConstantLibrary, GivenDurations
from tasksim.native.execute import execute
from tasksim.platform.description import Memory, Platform, Worker
from tasksim.schedulers.registry import create
from tasksim.schedulers.static import ALGORITHMS, Plan, Problem, plan, schedule_of, write_schedule
from tasksim.schedulers.static.follower import StaticScheduler
from tasksim.schedulers.static.schedule_file import read_schedule

CHOLESKY = ConstantLibrary({"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0})


class Fixed(StaticScheduler):
    """A plan that is given as lists of tasks."""

    name = "fixed"

    def __init__(self, lists, order="strict"):
        super().__init__(order)
        self.lists = lists

    def make_plan(self, problem):
        worker = np.zeros(problem.tasks, dtype=np.int32)
        for number, tasks in enumerate(self.lists):
            worker[tasks] = number
        return Plan(worker, np.zeros(problem.tasks), np.zeros(problem.tasks))

    def make_lists(self):
        return self.lists


def three_tasks():
    """0 takes 4; 1 waits for it; 2 is ready at once."""
    g = GraphBuilder("three")
    x = g.handle("x", size_bytes=1)
    g.insert("task", W(x), duration_s=4.0)
    g.insert("task", R(x), duration_s=1.0)
    g.insert("task", duration_s=2.0)
    return g.build()


@pytest.mark.parametrize(("order", "starts"), [("strict", [0, 4, 5]), ("ready", [0, 4, 0])])
def test_a_worker_waits_for_its_turn_or_takes_what_is_ready(order, starts):
    graph = three_tasks()
    scheduler = Fixed([[0], [1, 2]], order)
    run = Simulation(graph, Platform.identical(2), GivenDurations(graph), scheduler).run(check=True)
    assert run.tasks.start_s.tolist() == starts
    assert run.tasks.worker.tolist() == [0, 1, 1]


def test_a_task_that_holds_data_for_commutative_access_does_not_wait_for_its_turn():
    """Task 0 has x and comes after task 2 in the list; task 2 waits for task 1, which wants x."""
    g = GraphBuilder("held")
    x, y = g.handle("x", size_bytes=1), g.handle("y", size_bytes=1)
    g.insert("task", Commute(x), duration_s=1.0)
    g.insert("task", Commute(x), W(y), duration_s=1.0)
    g.insert("task", R(y), duration_s=1.0)
    graph = g.build()
    run = Simulation(graph, Platform.identical(2), GivenDurations(graph), Fixed([[2, 0], [1]])).run(
        check=True
    )
    assert run.tasks.start_s.tolist() == [0, 1, 2]


def test_an_unknown_order_is_told():
    with pytest.raises(InputError, match=r"option 'order': got 'strikt' .*, did you mean"):
        create("heft:order=strikt")


@settings(max_examples=few(100), deadline=None)
@given(st.data(), graphs(), platforms(), st.sampled_from(["strict", "ready"]))
def test_plans_can_be_followed_whatever_the_runtime_costs(data, graph, platform, order):
    """Also where tasks take other times than planned, commute, and are submitted late."""
    estimates = data.draw(costs(graph, platform))
    real = [[row * data.draw(st.sampled_from([0.5, 1.0, 3.0])) for row in c] for c in estimates]
    name = data.draw(st.sampled_from(sorted(ALGORITHMS)))
    scheduler = create(f"{name}:order={order}")
    replay = replay_of(graph, platform, scheduler, real, estimates)
    replay.run(0)
    assert replay.ledger.worker == scheduler.plan.worker.tolist()


@settings(max_examples=few(60), deadline=None)
@given(st.data(), graphs(), st.sampled_from(sorted(ALGORITHMS)))
def test_plans_can_be_followed_with_several_memories(data, graph, name):
    platform = processors([0, 1, 1, 2])
    estimates = data.draw(costs(graph, platform))
    replay = replay_of(graph, platform, create(name), estimates)
    replay.run(0)
    assert max(replay.ledger.end, default=0) >= np.asarray(estimates).min(axis=0).max(initial=0)


def test_what_is_written_is_sent_before_its_readers_are_ready():
    """Task 2 reads from 0 (ends at 1) and 1 (ends at 4): its first datum travels meanwhile."""
    g = GraphBuilder("sent")
    x, y = g.handle("x", size_bytes=3), g.handle("y", size_bytes=1)
    g.insert("task", W(x))
    g.insert("task", W(y))
    g.insert("task", R(x), R(y))
    times = [[1.0, 9, 9], [9.0, 4, 9], [9.0, 9, 1]]
    replay = replay_of(g.build(), processors([0, 1, 2]), create("heft"), times)
    replay.run(0)
    assert list(replay.ledger.end) == pytest.approx([1, 4, 6])


def test_data_at_home_are_sent_some_tasks_ahead():
    """Tasks in a row on worker 1 read a datum each; the copies of 3 s hide behind tasks."""
    g = GraphBuilder("home")
    for k in range(9):
        g.insert("task", R(g.handle(f"x{k}", size_bytes=3)), after=[k - 1] if k else [])
    times = [[50.0] * 9, [4.0] * 9]
    scheduler = Fixed([[], list(range(9))])
    replay = replay_of(g.build(), processors([0, 1]), scheduler, times)
    replay.run(0)
    assert max(replay.ledger.end) == pytest.approx(3 + 9 * 4)


def test_data_that_commute_are_sent_when_they_are_free():
    """Task 1 may have x from time 1 on; it is copied while its worker is busy until 5."""
    g = GraphBuilder("commute")
    x = g.handle("x", size_bytes=3)
    g.insert("task", Commute(x))
    g.insert("task", Commute(x))
    g.insert("task")
    scheduler = Fixed([[0], [2, 1]])
    times = [[1.0, 1.0, 5.0]] * 2
    replay = replay_of(g.build(), processors([0, 1]), scheduler, times)
    replay.run(0)
    assert list(replay.ledger.end) == pytest.approx([1, 6, 5])


def test_native_execution_follows_a_plan():
    graph, platform = generate("fork-join", width=4, stages=2, duration=1e-4), Platform.identical(2)
    scheduler = create("heft")
    estimates = [[1e-4] * len(graph)]
    run = execute(graph, platform, scheduler, estimates=estimates, check=True, pin=False)
    assert run.tasks.worker.tolist() == scheduler.plan.worker.tolist()


# Schedules in files


def written(tmp_path, text):
    path = tmp_path / "plan.csv"
    path.write_text(text)
    return f"static:file={path}"


def test_a_recorded_run_can_be_written_and_repeated(tmp_path):
    graph, platform = generate("cholesky", tiles=6), Platform.identical(3)
    run = Simulation(graph, platform, CHOLESKY, "ws", seed=3).run()
    path = tmp_path / "plan.csv"
    write_schedule(path, schedule_of(run), [worker.name for worker in run.workers])
    again = Simulation(graph, platform, CHOLESKY, f"static:file={path}").run(check=True)
    assert again.tasks.worker.tolist() == run.tasks.worker.tolist()
    assert again.tasks.start_s.tolist() == run.tasks.start_s.tolist()
    assert path.read_text().startswith("task,worker,order\n1,cpu0,0\n")


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_plan_in_a_file_is_the_same_plan(name, tmp_path):
    graph, platform = generate("cholesky", tiles=6), Platform.identical(3)
    run = Simulation(graph, platform, CHOLESKY, name).run()
    costs_s = [[float(d) for d in run.tasks.duration_s]]
    made = plan(name, Problem.of(graph, platform, costs_s))
    path = tmp_path / "plan.csv"
    write_schedule(path, made, ["cpu0", "cpu1", "cpu2"])
    scheduler = create(f"static:file={path}")
    again = Simulation(graph, platform, CHOLESKY, scheduler).run()
    assert again.tasks.start_s.tolist() == run.tasks.start_s.tolist()
    assert scheduler.plan.makespan_s == again.makespan_s


def test_a_file_needs_no_estimates_natively(tmp_path):
    graph, platform = generate("fork-join", width=3, duration=1e-4), Platform.identical(2)
    text = written(tmp_path, "task,worker\n0,cpu0\n1,1\n2,1\n3,0\n4,0\n")
    run = execute(graph, platform, text, check=True, pin=False)
    assert run.tasks.worker.tolist() == [0, 1, 1, 0, 0]


def test_tasks_and_workers_by_name_and_in_any_order(tmp_path):
    g = GraphBuilder("named")
    first = g.insert("prepare", duration_s=1.0)
    g.insert("work", duration_s=2.0, after=[first])
    g.insert("work", duration_s=2.0, after=[first])
    graph = g.build()
    text = written(tmp_path, "# by hand\ntask,worker,order\n2,1,1\n1, 1, 2\n\nprepare,cpu0,1\n")
    run = Simulation(graph, Platform.identical(2), GivenDurations(graph), text).run(check=True)
    assert run.tasks.start_s.tolist() == [0, 3, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"plan.csv: is empty; expected a line with the names of the columns"),
        ("task,wroker\n", r"plan.csv:1: header: got 'task,wroker'; legal: 'task,worker' or"),
        ("task,worker\n0\n", r"plan.csv:2: got 1 field, '0'; legal: 2, as in the header"),
        ("task,worker,order\n0,0,x\n", r"plan.csv:2: order: got 'x'; legal: a number from 0"),
    ],
)
def test_bad_files_are_told_at_once(text, message, tmp_path):
    with pytest.raises(InputError, match=message):
        create(written(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0,0\n1,0\n2,cpo1", r"plan.csv:4: worker: got 'cpo1'; legal: .* did you mean 'cpu1'\?"),
        ("0,0\n1,0\n3,0", r"plan.csv:4: task: got '3'; legal: a number from 0 to 2"),
        ("0,0\n1,0\n0,1", r"plan.csv:4: task '0' is in line 2 already"),
        ("0,0\n1,0", r"plan.csv: task #2 \(duration_s=2\) missing; a schedule has one line for"),
        ("1,0\n0,0\n2,1", r"plan.csv:2: task '1' can never start: it depends on '0' \(line 3\)"),
    ],
)
def test_schedules_that_do_not_fit_are_told_with_their_lines(text, message, tmp_path):
    graph = three_tasks()
    scheduler = written(tmp_path, f"task,worker\n{text}\n")
    with pytest.raises(InputError, match=message):
        Simulation(graph, Platform.identical(2), GivenDurations(graph), scheduler).run()


def test_two_tasks_at_one_place(tmp_path):
    graph = three_tasks()
    scheduler = written(tmp_path, "task,worker,order\n0,0,1\n1,0,2\n2,0,2\n")
    with pytest.raises(
        InputError, match=r"plan.csv:4: order: got 2 for worker '0', the order of task '1'"
    ):
        Simulation(graph, Platform.identical(2), GivenDurations(graph), scheduler).run()


def test_a_worker_that_cannot_run_the_task(tmp_path):
    graph = three_tasks()
    cpu = Platform.identical(1)
    platform = Platform("two", (*cpu.workers, Worker(1, "gpu0", "gpu", 0)), (Memory(0, "ram"),))
    scheduler = create(written(tmp_path, "task,worker\n0,0\n1,gpu0\n2,0\n"))
    replay = replay_of(graph, platform, scheduler, [[1.0] * 3, [float("inf")] * 3])
    with pytest.raises(InputError, match=r"plan.csv:3: worker 'gpu0' cannot run task #1"):
        replay.run(0)


def test_a_scheduler_without_its_file():
    with pytest.raises(InputError, match=r"scheduler static: no file given; legal: static:file="):
        create("static")
    with pytest.raises(InputError, match=r"nowhere.csv: no such file"):
        create("static:file=nowhere.csv")


def test_writing_keeps_what_exists(tmp_path):
    made = Plan(np.array([0]), np.array([0.0]), np.array([1.0]))
    write_schedule(tmp_path / "a.csv", made, ["cpu0"], ["T1"])
    assert [(e.task, e.worker) for e in read_schedule(tmp_path / "a.csv")] == [("T1", "cpu0")]
    with pytest.raises(InputError, match=r"a.csv exists; give force=True to replace it"):
        write_schedule(tmp_path / "a.csv", made, ["cpu0"])
