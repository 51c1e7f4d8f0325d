"""Heteroprio's buckets, step by step against a view that is played by hand."""

from __future__ import annotations

import random
from functools import partial
from math import nan

import pytest
from scripted import replay_of

from tasksim.base.errors import InputError
from tasksim.engine.conformance import checks
from tasksim.graph.apps.registry import generate
from tasksim.graph.builder import GraphBuilder
from tasksim.platform.description import Memory, Overheads, Platform, Worker, WorkerClass
from tasksim.schedulers.heteroprio import Heteroprio, parse
from tasksim.schedulers.heteroprio_statistics import BucketStatistics
from tasksim.schedulers.registry import create


class View:
    """Workers by architecture, all asleep, in one class per architecture that runs everything."""

    decisions = None

    def __init__(self, graph, architectures):
        self.graph = graph
        self.now = 0.0
        self.pusher = 0
        self.workers = tuple(
            Worker(id=i, name=f"w{i}", architecture=a, memory=i, node=0, core=None)
            for i, a in enumerate(architectures)
        )
        names = list(dict.fromkeys(architectures))
        self.class_of = [names.index(a) for a in architectures]
        self.classes = tuple(
            WorkerClass(
                architecture=name,
                memory=0,
                workers=tuple(i for i, a in enumerate(architectures) if a == name),
                models=None,
            )
            for name in names
        )
        self.able = [2 ** len(names) - 1] * len(graph)
        self.priority = graph.priority.tolist()
        self.estimates = [[nan] * len(graph) for _ in names]
        self.prefetched = []
        self.woken = []

    def can_run(self, task, worker):
        return bool(self.able[task] >> self.class_of[worker] & 1)

    def sleeping(self, worker):
        return worker not in self.woken

    def wake(self, worker):
        self.woken.append(worker)

    def prefetch(self, task, memory):
        self.prefetched.append((task, memory))


def independent(*kernels, priorities=None):
    builder = GraphBuilder("independent")
    for index, kernel in enumerate(kernels):
        builder.insert(kernel, priority=priorities[index] if priorities else 0)
    return builder.build()


def filled(graph, architectures, **options):
    """A heteroprio to which all tasks of *graph* have been pushed."""
    view = View(graph, architectures)
    scheduler = Heteroprio(**options)
    scheduler.attach(view, random.Random(0))
    for task in range(len(graph)):
        scheduler.push(task)
    return scheduler, view


def test_a_worker_takes_two_from_the_top_and_runs_the_older():
    """It holds 2, then 1 before it; having run 1, it takes 0, which comes before 2."""
    scheduler, _ = filled(independent("a", "a", "a"), ["cpu"])
    assert [scheduler.pop(0) for _ in range(4)] == [1, 0, 2, None]


def test_of_the_two_the_more_urgent_runs_first():
    scheduler, _ = filled(independent("a", "a", "a", priorities=[0, 1, 9]), ["cpu"])
    assert [scheduler.pop(0) for _ in range(3)] == [2, 1, 0]


def test_one_at_a_time_where_tasks_are_fewer_than_workers():
    scheduler, _ = filled(independent("a", "a"), ["cpu"] * 3)
    assert [scheduler.pop(0), scheduler.pop(1), scheduler.pop(2)] == [1, 0, None]


def test_what_a_worker_holds_is_prefetched_and_can_be_stolen():
    scheduler, view = filled(independent("a", "a", "a"), ["cpu"] * 2)
    assert scheduler.pop(0) == 1
    assert view.prefetched == [(2, 0)]
    assert [scheduler.pop(1), scheduler.pop(1), scheduler.pop(0)] == [0, 2, None]


def test_nobody_steals_from_another_architecture():
    scheduler, _ = filled(independent("a", "a", "a"), ["cuda", "cpu"])
    assert scheduler.pop(0) == 1
    assert [scheduler.pop(1), scheduler.pop(1)] == [0, None]


def test_each_architecture_takes_in_its_own_order():
    workers = ["cuda", "cpu", "cpu"]
    scheduler, _ = filled(independent("a", "b"), workers, cuda="b/a", cpu="a/b")
    assert [scheduler.pop(0), scheduler.pop(1)] == [1, 0]
    scheduler, _ = filled(independent("b", "a"), workers, cuda="b/a", cpu="a/b")
    assert [scheduler.pop(1), scheduler.pop(0)] == [1, 0]


def test_kernels_that_share_a_bucket_are_one_stack():
    order = "a+b/c"
    scheduler, _ = filled(independent("a", "b", "c"), ["cpu"] * 4, cpu=order)
    assert [scheduler.pop(worker) for worker in range(3)] == [1, 0, 2]


def test_a_slow_architecture_leaves_the_others_enough():
    """Two devices: the core takes only of six tasks or more, three per device."""
    graph = independent(*["a"] * 6)
    scheduler, _ = filled(graph, ["cuda", "cuda", "cpu"], cuda="a", cpu="a@3")
    assert scheduler.pop(2) == 5
    assert scheduler.pop(2) is None
    assert scheduler.pop(0) == 3


def test_all_take_what_cpus_are_the_fastest_for():
    graph = independent("a")
    scheduler, _ = filled(graph, ["cuda", "cpu"], cuda="a@50", cpu="a")
    assert scheduler.pop(0) == 0


def test_a_push_wakes_up_to_the_first_worker_that_may_take_the_task():
    _, view = filled(independent("a"), ["cpu", "cpu", "cuda", "cuda"], cpu="a@9", cuda="a")
    assert view.woken == [0, 1, 2]
    _, view = filled(independent("a"), ["cuda", "cuda", "cpu"], cpu="a@9", cuda="a")
    assert view.woken == [0]


def test_averages_and_shares():
    """Two tasks of 2 and 4 s on architecture 0, one of 1 s on 1."""
    statistics = BucketStatistics([[True, True]], 2)
    statistics.find(0)
    statistics.pushed(0, [])
    assert statistics.slowness(0) == (0, [1.0, 1.0])
    for architecture, duration in [(0, 2.0), (0, 4.0), (1, 1.0)]:
        statistics.executed(0, architecture, duration)
    assert statistics.slowness(0) == (1, [3.0, 1.0])


def test_an_architecture_prefers_what_it_gains_most_with():
    """A device gains 3 s with bucket 0 and 1 s with bucket 1; a core loses least with 1."""
    statistics = BucketStatistics([[True, True], [True, True]], 2)
    for bucket in range(2):
        statistics.find(bucket)
        statistics.pushed(bucket, [])
        for _ in range(16):
            statistics.executed(bucket, 0, [4.0, 2.0][bucket])
            statistics.executed(bucket, 1, 1.0)
    assert statistics.orders() == [[1, 0], [0, 1]]


def test_what_releases_work_comes_first():
    """Equal gains; the end of a task of bucket 1 releases others, of which the device gains."""
    statistics = BucketStatistics([[True, True]] * 3, 2)
    for bucket in range(3):
        statistics.find(bucket)
        for _ in range(16):
            statistics.executed(bucket, 0, 4.0)
            statistics.executed(bucket, 1, 1.0)
    for bucket, released in [(0, []), (1, [(2, 1.5)]), (2, [])]:
        statistics.pushed(bucket, released)
    assert statistics.orders()[1] == [1, 0, 2]


def test_what_was_measured_too_little_comes_first():
    statistics = BucketStatistics([[True], [True]], 1)
    for bucket, count in [(0, 16), (1, 15)]:
        statistics.find(bucket)
        statistics.pushed(bucket, [])
        for _ in range(count):
            statistics.executed(bucket, 0, 1.0 + bucket)
    statistics.executed(0, 0, 1.0)
    assert statistics.orders() == [[1, 0]]


def test_durations_are_learned_from_start_to_end():
    graph = independent(*["a"] * 3)
    scheduler, view = filled(graph, ["cuda", "cpu"])
    for worker, duration in [(0, 1.0), (1, 5.0)]:
        task = scheduler.pop(worker)
        view.now = 10.0
        scheduler.started(task, worker)
        view.now += duration
        scheduler.finished(task, worker)
    scheduler.push(2)
    assert scheduler._buckets.slow[0] == [5.0, 1.0]


def test_durations_start_from_the_kernel_models():
    """Or from nothing: all architectures then seem equally fast."""
    graph = independent("a", "a", "b")
    for learned, slow in [(1, [[6.0, 1.0], [1.0, 2.0]]), (0, [[1.0, 1.0], [1.0, 1.0]])]:
        view = View(graph, ["cuda", "cpu"])
        view.estimates = [[1.0, 3.0, 4.0], [10.0, 14.0, 2.0]]
        scheduler = Heteroprio(learned=learned)
        scheduler.attach(view, random.Random(0))
        scheduler.push(0)
        assert scheduler._buckets.slow == slow


def test_orders_are_learned_again_after_an_interval():
    """By submission nothing is known of successors; the first order is that of discovery."""
    graph = independent("a", "b", "b", "b")
    view = View(graph, ["cpu"])
    scheduler = Heteroprio(interval=3)
    scheduler.attach(view, random.Random(0))
    for task in range(3):
        scheduler.push(task)
    assert list(scheduler._buckets.orders[0]) == [0, 1]
    for _ in range(16):
        scheduler._buckets.executed(0, 0, 1.0)
    scheduler.push(3)
    assert list(scheduler._buckets.orders[0]) == [1, 0]


def mixed_platform(cuda, cpus):
    workers = tuple(
        Worker(id=i, name=f"w{i}", architecture="cuda" if i < cuda else "cpu", memory=0, node=0,
               core=None)
        for i in range(cuda + cpus)
    )  # fmt: skip
    return Platform(
        name="mixed",
        workers=workers,
        memories=(Memory(id=0, name="ram", node=0, size_bytes=None),),
        overheads=Overheads(),
    )


ORDERS = [
    "heteroprio",
    "heteroprio:learned=0",
    "heteroprio:cpu=potrf/trsm/syrk@9/gemm@30,cuda=gemm/syrk/trsm/potrf",
]


@pytest.mark.parametrize("name", ORDERS)
def test_devices_run_what_they_are_good_at(name):
    """A Cholesky on 4 cores and two devices, 30 times as fast for gemm and as slow for potrf."""
    graph = generate("cholesky", tiles=14)
    cpu = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
    cuda = {"potrf": 1.0, "trsm": 1.0, "syrk": 0.3, "gemm": 0.2}
    costs = [[times[graph.kernel_of(t)] for t in range(len(graph))] for times in (cuda, cpu)]
    replay = replay_of(graph, mixed_platform(2, 4), create(name), costs)
    makespan = replay.run(0)
    gemms = [t for t in range(len(graph)) if graph.kernel_of(t) == "gemm"]
    assert sum(replay.ledger.worker[t] < 2 for t in gemms) > 0.8 * len(gemms)
    eager = replay_of(graph, mixed_platform(2, 4), create("eager"), costs)
    # Luck of ties is worth 1 %: eager, too, leaves few gemms to the cores.
    assert makespan < 1.02 * eager.run(0)


def test_given_orders_are_parsed():
    orders = parse(
        {"cpu": "potrf/syrk+gemm@11", "cuda": "gemm/potrf@2.5"},
        ["cpu", "cuda"],
        ["potrf", "gemm", "syrk"],
    )
    assert dict(orders.bucket_of) == {"potrf": 0, "syrk": 1, "gemm": 1}
    assert orders.orders == ((0, 1), (1, 0))
    assert orders.slow == ((0.0, 2.5), (11.0, 0.0))
    assert orders.fastest == (0, 1)


def test_given_orders_survive_the_command_line():
    scheduler = create("heteroprio:cpu=potrf/trsm/gemm@11,cuda=gemm/trsm/potrf")
    assert scheduler.orders == {"cpu": "potrf/trsm/gemm@11", "cuda": "gemm/trsm/potrf"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"cpx": "a"}, r"'cpu' has no order; unknown option 'cpx', did you mean 'cpu'\?"),
        ({"intervall": "3"}, r"unknown option 'intervall', did you mean 'interval'\?"),
        ({"cpu": "a", "intervall": "3"}, r"unknown option 'intervall', did you mean 'interval'"),
        ({"cpu": "b"}, r"no order has kernel 'a'.*\(kernels in orders: b\)"),
        ({"cpu": "a//b"}, r"option 'cpu': '' names no kernel; legal: KERNEL/"),
        ({"cpu": "a@fast"}, r"got slow factor 'fast'; legal: a number of at least 0"),
        ({"cpu": "a/b/a+b"}, r"option 'cpu': kernel 'b' is in two buckets"),
    ],
)
def test_orders_that_make_no_sense_are_refused(given, message):
    with pytest.raises(InputError, match=message):
        parse(given, ["cpu"], ["a"])


def test_many_classes_of_workers():
    """Masks of classes that no machine word holds."""
    names = [f"kind{i}" for i in range(70)]
    platform = Platform(
        name="many",
        workers=tuple(Worker(i, name, name, 0) for i, name in enumerate(names)),
        memories=(Memory(0, "ram"),),
        overheads=Overheads(),
    )
    graph = generate("fork-join", width=140)
    replay = replay_of(graph, platform, Heteroprio(), [[1.0] * len(graph)] * len(names))
    assert replay.run(0) == 4.0


def test_learned_is_a_switch():
    with pytest.raises(InputError, match=r"option 'learned': got 5 .*; legal: 0 or 1"):
        Heteroprio(learned=5)


def test_the_interval_is_a_count():
    with pytest.raises(
        InputError, match=r"option 'interval': got 0 .*; legal: a whole number from 1"
    ):
        Heteroprio(interval=0)


@pytest.mark.parametrize("check", list(checks()), ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", ["heteroprio", "heteroprio:learned=0"])
def test_rules(name, check):
    check(partial(create, name))
