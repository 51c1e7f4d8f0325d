"""Decisions of the dm family: small cases worked out by hand."""

from __future__ import annotations

import random
from math import nan
from types import SimpleNamespace

import numpy as np
import pytest

from tasksim.run.power import PowerInfo, WorkerPower
from tasksim.schedulers.registry import create

DATA_AWARE = ["dmda", "dmdap", "dmdar", "dmdas", "dmdasd"]


class View:
    """Workers by class: (architecture, memory, numbers of its workers, duration per task).

    *transfers* and *lacks* by (task, memory); what is not named is 0.
    """

    power = decisions = None

    def __init__(self, *classes, transfers=None, lacks=None, priority=None, able=None):
        self.now = 0.0
        self.transfers, self.lacks = transfers or {}, lacks or {}
        self.classes = [SimpleNamespace(memory=c[1], workers=c[2]) for c in classes]
        self.estimates = [list(c[3]) for c in classes]
        self.class_of = [0] * sum(len(c[2]) for c in classes)
        self.workers = [None] * len(self.class_of)
        for index, (architecture, memory, workers, _) in enumerate(classes):
            for worker in workers:
                self.class_of[worker] = index
                self.workers[worker] = SimpleNamespace(
                    id=worker, memory=memory, architecture=architecture
                )
        tasks = len(self.estimates[0])
        self.priority = priority or [0] * tasks
        self.able = able or [2 ** len(classes) - 1] * tasks

    def transfer_estimate(self, task, memory):
        return self.transfers.get((task, memory), 0.0)

    def unready(self, task, memory):
        return self.lacks.get((task, memory), (0, 0, 0))

    def prefetch(self, task, memory):
        pass

    def wake(self, worker):
        pass


def places(text, view, tasks):
    """Push *tasks* in turn; return the worker chosen for each."""
    scheduler = create(text)
    scheduler.attach(view, random.Random(0))
    chosen = []
    for task in tasks:
        choice = scheduler.choose(task)
        scheduler.commit(task, choice)
        chosen.append(choice[0])
    return chosen


def gpu_and_two_cores(cpu_s, gpu_s, **more):
    """Worker 0 is a GPU with memory 1; 1 and 2 are cores with memory 0."""
    return View(("cuda", 1, (0,), gpu_s), ("cpu", 0, (1, 2), cpu_s), **more)


def test_dm_fills_the_fast_worker_until_a_slow_one_ends_earlier():
    view = gpu_and_two_cores([7.0] * 6, [2.0] * 6)
    # the GPU's ends: 2, 4, 6; then 8 loses to 7, to 7, and wins again
    assert places("dm", view, range(6)) == [0, 0, 0, 1, 2, 0]


def test_data_far_away_make_the_gpu_lose():
    # end 4 + 2 = 6 on the GPU, 5 on a core: dm does not see the 4
    cpu_s, gpu_s = [5.0], [2.0]
    assert places("dm", gpu_and_two_cores(cpu_s, gpu_s), [0]) == [0]
    for name in DATA_AWARE:
        view = gpu_and_two_cores(cpu_s, gpu_s, transfers={(0, 1): 4.0})
        assert places(name, view, [0]) == [1]


def test_beta_weighs_the_transfer_against_the_end():
    # GPU: end 3 + 2 = 5, D = 3; core: end 7, D = 0. Fitness 0 + 3·beta against 2.
    for beta, worker in [(0, 0), (0.5, 0), (1, 1), (2, 1)]:
        view = gpu_and_two_cores([7.0], [2.0], transfers={(0, 1): 3.0})
        assert places(f"dmda:beta={beta}", view, [0]) == [worker]


def test_alpha_weighs_the_end_against_the_transfer():
    for alpha, worker in [(1, 1), (1.25, 1), (2, 0)]:
        view = gpu_and_two_cores([7.0], [2.0], transfers={(0, 1): 3.0})
        assert places(f"dmda:alpha={alpha}", view, [0]) == [worker]


def test_without_alpha_only_the_transfer_counts_and_the_lowest_number_wins():
    view = gpu_and_two_cores([7.0] * 3, [2.0] * 3, transfers={(0, 1): 3.0, (2, 0): 1.0})
    assert places("dmda:alpha=0", view, [0, 0, 1, 2]) == [1, 1, 0, 0]


def test_the_transfer_is_waited_for_only_if_the_worker_is_free_before():
    # Task 0 fills the GPU to 10. Task 1: its transfer to 4 is hidden, end 12; on a core 13.
    view = gpu_and_two_cores([99.0, 13.0], [10.0, 2.0], transfers={(1, 1): 4.0})
    assert places("dmda:beta=0", view, [0, 1]) == [0, 0]


def test_equal_fitness_goes_to_the_lowest_number_whatever_its_class():
    def view(first, second):
        return View(("cpu", 0, first, [3.0] * 4), ("cuda", 1, second, [3.0] * 4))

    for name in ["dm", *DATA_AWARE]:
        assert places(name, view((0, 3), (1, 2)), range(4)) == [0, 1, 2, 3]
        assert places(name, view((1, 2), (0, 3)), range(4)) == [0, 1, 2, 3]


def test_workers_free_before_the_data_arrive_are_equal_in_their_class():
    # task 0 keeps worker 1 busy to 1, but the data of task 1 arrive at 2
    view = gpu_and_two_cores([1.0, 1.0], [9.0, 9.0], transfers={(1, 0): 2.0})
    assert places("dmda", view, [0, 1]) == [1, 1]
    view = gpu_and_two_cores([1.0, 1.0], [9.0, 9.0], transfers={(1, 0): 0.5})
    assert places("dmda", view, [0, 1]) == [1, 2]


def test_a_run_that_gets_longer_pays_for_the_idle_machine():
    # After task 0 the core's work ends at 10: MAXE. Task 1: GPU end 12, D = 0: 2 s longer;
    # core 2: end 9, D = 5: as long as before. gamma·idle_power: 1 W costs a second per second.
    def chosen(watt):
        view = View(
            ("cpu", 0, (0, 2), [10.0, 4.0]),
            ("cuda", 1, (1,), [99.0, 12.0]),
            transfers={(1, 0): 5.0},
        )
        return places(f"dmda:gamma=1000000,idle_power={watt}", view, [0, 1])[1]

    # fitness of core 2: 0 + 5; of the GPU: 3 + 0 + 2·watt
    assert [chosen(watt) for watt in (0, 0.5, 2)] == [1, 1, 2]


def test_without_alpha_the_idle_machine_still_counts():
    view = View(("cpu", 0, (0, 1), [10.0, 4.0]))
    assert places("dmda:alpha=0", view, [0, 1]) == [0, 0]
    assert places("dmda:alpha=0,idle_power=1", view, [0, 1]) == [0, 1]


def test_a_class_that_cannot_run_the_task_is_not_asked():
    view = gpu_and_two_cores([1.0, 1.0], [9.0, 9.0], able=[0b01, 0b10])
    asked = []
    view.transfer_estimate = lambda task, memory: asked.append((task, memory)) or 0.0
    assert places("dmda", view, [0, 1]) == [0, 1]
    assert asked == [(0, 1), (1, 0)]  # one question per class, however many its workers


@pytest.mark.parametrize("name", ["dm", *DATA_AWARE])
def test_a_task_that_is_not_measured_somewhere_goes_there_to_be_measured(name):
    view = gpu_and_two_cores([nan] * 4, [2.0] * 4)
    assert places(name, view, range(4)) == [1, 2, 1, 2]


@pytest.mark.parametrize("name", ["dm", *DATA_AWARE])
def test_a_task_without_a_model_goes_where_the_fewest_wait_for_the_speed_of_the_worker(name):
    view = gpu_and_two_cores([0.0] * 30, [2.0] * 30)
    chosen = places(name, view, range(30))
    # a queued task counts 2 / 13.33 on the GPU and 2 / 0.5 on a core
    assert chosen == [0, 1, 2] + [0] * 26 + [1]


@pytest.mark.parametrize("name", ["dm", *DATA_AWARE])
def test_a_task_without_a_model_counts_for_nothing(name):
    view = gpu_and_two_cores([0.0, 0.0, 5.0], [2.0, 2.0, 4.0])
    assert places(name, view, [0, 1, 2]) == [0, 1, 0]


def served(text, view, tasks, worker=0):
    """Push *tasks* to the single worker of *view*; return the order in which it takes them."""
    scheduler = create(text)
    scheduler.attach(view, random.Random(0))
    for task in tasks:
        scheduler.push(task)
    return [scheduler.pop(worker) for _ in range(len(tasks) + 1)]


def one_gpu(**more):
    return View(("cuda", 1, (0,), [1.0] * 5), **more)


PRIORITY = [0, 2, 0, 2, 1]
MISSING_BYTES = {(0, 1): (8, 8, 0), (1, 1): (8, 0, 0), (2, 1): (4, 4, 0), (3, 1): (0, 0, 4)}


@pytest.mark.parametrize(
    ("name", "order"),
    [
        ("dm", [0, 1, 2, 3, 4]),
        ("dmda", [0, 1, 2, 3, 4]),
        ("dmdap", [1, 3, 4, 0, 2]),
        ("dmdar", [4, 3, 2, 1, 0]),
        ("dmdas", [3, 1, 4, 2, 0]),
        ("dmdasd", [3, 1, 4, 2, 0]),
    ],
)
def test_the_order_in_which_a_worker_takes_its_tasks(name, order):
    view = one_gpu(priority=PRIORITY, lacks=MISSING_BYTES)
    assert served(name, view, range(5)) == [*order, None]


@pytest.mark.parametrize("name", ["dmdar", "dmdas", "dmdasd"])
def test_the_search_for_a_ready_task_ends_at_the_first(name):
    view, asked = one_gpu(lacks={(0, 1): (8, 8, 0)}), []
    answer = view.unready
    view.unready = lambda task, memory: asked.append((task, memory)) or answer(task, memory)
    assert served(name, view, [0, 1, 2]) == [1, 2, 0, None]
    assert asked == [(0, 1), (1, 1), (0, 1), (2, 1)]


def test_equal_in_all_the_oldest_goes_first():
    lacks = {(task, 1): (4, 4, 4) for task in range(5)}
    assert served("dmdar", one_gpu(lacks=lacks), range(5)) == [0, 1, 2, 3, 4, None]


def two_gpus(lengths, priority):
    return View(("cuda", 1, (0,), lengths), ("cuda", 2, (1,), lengths), priority=priority)


def test_a_sorted_decision_sees_only_what_goes_before_the_task():
    lengths, priority = [10.0, 8.0, 1.0], [0, 1, 1]
    # Task 0 keeps GPU 0 to 10. dmdas puts the others on GPU 1, to 8 and 9. dmdasd knows that
    # task 1 goes before task 0: it ends at 8 on either; and task 2 behind task 1 at 9, else at 1.
    assert places("dmdas", two_gpus(lengths, priority), range(3)) == [0, 1, 1]
    assert places("dmdasd", two_gpus(lengths, priority), range(3)) == [0, 0, 1]


def test_a_sorted_decision_in_the_middle_of_a_queue_counts_the_tasks_before_it():
    # one queue: priorities 5 (3 s), 3 (4 s), 1 (9 s); the other: 4 (6.5 s), 0 (1 s)
    lengths = [3.0, 6.5, 4.0, 9.0, 1.0, 1.0, 1.0, 1.0]
    view = two_gpus(lengths, [5, 4, 3, 1, 0, 2, 4, -1])
    scheduler = create("dmdasd")
    scheduler.attach(view, random.Random(0))
    for task, worker in [(0, 0), (2, 0), (3, 0), (1, 1), (4, 1)]:
        scheduler.commit(task, (worker, lengths[task], 0.0))
    assert scheduler.choose(5) == (1, 1.0, 0.0)  # 6.5 + 1 against 3 + 4 + 1
    assert scheduler.choose(6) == (0, 1.0, 0.0)  # 3 + 1 against 6.5 + 1
    assert scheduler.choose(7) == (1, 1.0, 0.0)  # last on both: 7.5 against 16


def test_a_sorted_decision_counts_a_running_task_twice_ahead_of_all_the_queue():
    view = two_gpus([4.0, 1.0, 7.0, 1.0], [0, 0, 0, 9])
    scheduler = create("dmdasd")
    scheduler.attach(view, random.Random(0))
    scheduler.commit(0, (0, 4.0, 0.0))
    scheduler.commit(1, (0, 1.0, 0.0))
    assert scheduler.pop(0) == 0
    scheduler.started(0, 0)
    scheduler.commit(2, (1, 7.0, 0.0))
    assert scheduler.pop(1) == 2
    scheduler.started(2, 1)
    # as StarPU does: GPU 0 is free at 4, plus its pipeline of 4; GPU 1, its queue empty, at 7 + 7
    assert scheduler._groups[0].ends.earliest(0.0) == (5.0, 0)
    assert scheduler.choose(3)[0] == 0
    assert scheduler._groups[0].ends.earliest(0.0) == (8.0, 0)
    assert scheduler._groups[1].ends.earliest(0.0) == (14.0, 1)


def test_what_a_joule_costs_moves_a_task_to_the_frugal_worker():
    # 10 s on the core at 4 W beside idleness, 8 s on the GPU at 100 W: 40 and 800 J.
    def chosen(us_per_joule):
        view = View(("cpu", 0, (0,), [10.0]), ("cuda", 0, (1,), [8.0]))
        kinds = (WorkerPower(1.0, 5.0), WorkerPower(50.0, 90.0, {"k": 150.0}))
        view.power = PowerInfo(0.0, kinds, (0, 1))
        view.graph = SimpleNamespace(kernels=("k",), kernel=np.zeros(1, np.int16))
        # The end counts 2 s more on the core, the idle machine likewise for both: it is 0 W.
        return [
            places(f"{name}:gamma={us_per_joule},idle_power=0", view, [0])[0]
            for name in ("dmda", "dmdas")
        ]

    # 2 s are worth 760 J at 2,632 us per joule.
    assert (chosen(2600), chosen(2700)) == ([1, 1], [0, 0])
