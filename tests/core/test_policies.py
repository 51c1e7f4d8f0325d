"""Policies of the core: the same bytes as under SimPy's engine, and which schedulers are ported."""

from __future__ import annotations

import random
from dataclasses import replace

import hypothesis
import numpy as np
import pytest
from equal import answer, disagreement
from hypothesis import given, settings
from questions import KERNELS, drawn_question, questions
from scripted import machine
from tiers import LONG, few

from tasksim.base.errors import TasksimError
from tasksim.core.library import status
from tasksim.engine.compiled import replay as compiled_replay
from tasksim.engine.compiled.flat import Refused
from tasksim.engine.compiled.replay import CompiledReplay
from tasksim.engine.question import Question
from tasksim.engine.simulation import Simulation
from tasksim.graph.apps.registry import generate
from tasksim.graph.builder import RW, GraphBuilder, R
from tasksim.models.kinds.given import ConstantLibrary
from tasksim.platform.power import ArchitecturePower, Power
from tasksim.runtime.flat import Ported, ported
from tasksim.schedulers.central import Eager
from tasksim.schedulers.dm import DataAware
from tasksim.schedulers.heteroprio import Heteroprio
from tasksim.schedulers.registry import create, names
from tasksim.schedulers.static import schedule_of, write_schedule

core = pytest.mark.skipif(not status().available, reason=f"the core is {status().why}")


def given_orders(platform):
    """A heteroprio whose orders are given, one per architecture of *platform*."""
    orders = ("potrf/trsm/syrk+gemm", "gemm@2/syrk@1.5/trsm/potrf@11", "syrk+gemm@0/potrf/trsm@3")
    apart = "gemm/syrk/trsm/potrf"
    kinds = sorted({worker.architecture for worker in platform.workers})
    if len(kinds) == 2:
        return Heteroprio(**{kinds[0]: apart, kinds[1]: orders[1]})
    return Heteroprio(**{kind: orders[k] for k, kind in zip((0, 2, 2), kinds, strict=False)})


SCHEDULERS = [
    *names(bare=True),
    "libomp:deque=2,max_priority=2",
    "libgomp:throttle=1,max_priority=2",
    "dm:prefetch=0",
    "dmda:alpha=0",
    "dmda:beta=0,prefetch=0",
    "dmda:alpha=0,idle_power=100",
    "dmdas:idle_power=50",
    "dmdasd:idle_power=10",
    "heteroprio:learned=0",
    "heteroprio:interval=1",
    given_orders,
    "graph_test:descendants=1",
    "modular-dmda:alpha=0",
    "modular-dmdas:idle_power=100",
    "modular-heft:tasks=2",
    "modular-heft:seconds=0.0005",
    "heft:order=ready",
    "min-min:order=ready",
    "met:ties=free",
    "gdl:average=mean,descendants=0",
    "hbmct:begin=completion",
    "wba:alpha=1",
    "fcp:queue=1",
]
PARTS = 10
READY_FIRST = ("dmdar", "dmdas", "dmdasd", "modular-dmdar", "modular-dmdas", "modular-heft")
"""Policies whose workers take the task that lacks the fewest bytes."""
each_scheduler = pytest.mark.parametrize(
    "scheduler", SCHEDULERS, ids=lambda given: given if isinstance(given, str) else given.__name__
)


@core
@each_scheduler
def test_both_engines_give_the_same_bytes(scheduler):
    for number in range(10):
        asked = replace(drawn_question(number, scheduler), decisions=number % 2 == 0)
        assert disagreement(asked) is None, f"seed {number}"


@core
@pytest.mark.parametrize("name", ["dmda", "dmdas", "dmdasd", "modular-dmda", "modular-heft"])
def test_energy_weighs_the_same_in_both_engines(name):
    for number in range(6):
        draw = random.Random(number)
        weight = 10.0 ** draw.randint(2, 7)
        asked = drawn_question(number, f"{name}:gamma={weight}")
        names = asked.graph.kernels
        kinds = {
            name: ArchitecturePower(1.0, draw.uniform(1, 90), dict.fromkeys(names[:1], 90.0))
            for name in asked.platform.architectures
        }
        powered = replace(asked.platform, power=Power(draw.uniform(0, 100), kinds))
        asked = replace(asked, platform=powered, decisions=True)
        assert disagreement(asked) is None, f"seed {number}"


@core
@pytest.mark.parametrize("name", READY_FIRST)
def test_of_many_tasks_that_wait_the_same_is_the_readiest(name):
    """So many that both engines keep what they lack, and look at them no more.

    The core does when its searches have looked at 4,096 tasks more than 64 each: here a search
    looks at most of a thousand.
    """
    for seed in range(2 if LONG else 1):
        draw = random.Random(seed)
        builder = GraphBuilder("many")
        data = [builder.handle(f"x{i}", size_bytes=draw.choice((8, 9, 16))) for i in range(100)]
        for _ in range(1200):
            chosen = draw.sample(data, draw.randint(5, 6))
            modes = (R, R, R, R, RW) if draw.random() < 0.1 else (R,)
            accesses = [draw.choice(modes)(handle) for handle in chosen]
            builder.insert("gemm", *accesses, priority=int(draw.random() < 0.05))
        graph = builder.build()
        platform = machine(devices=1, cores=0, size=300.0, bandwidth=draw.choice((1e5, 1e6)))
        durations = np.full((len(platform.classes), len(graph)), 1e-4)
        given, other = (
            answer(Question(graph, platform, create(name), durations, durations), engine)
            for engine in ("simpy", "compiled")
        )
        assert given == other
        assert given["evictions"] > 50


@core
@pytest.mark.parametrize("scheduler", ["dmdap", "dmdas", "dmdasd", "dmdasd:idle_power=10"])
def test_queues_of_tasks_with_priorities_of_their_own(scheduler):
    """So many that trees over them are three nodes deep; of some, no duration is known."""
    draw = random.Random(1)
    builder = GraphBuilder("own")
    data = [builder.handle(f"x{i}", size_bytes=draw.choice((8, 9, 16))) for i in range(400)]
    for task in range(1000):
        chosen = draw.sample(data, 2)
        priority = draw.choice((task, draw.randint(-(2**31), 2**31 - 1)))
        builder.insert(draw.choice(KERNELS), RW(chosen[0]), R(chosen[1]), priority=priority)
    graph = builder.build()
    platform = machine(devices=2, cores=3, size=2000.0, bandwidth=1e6)
    shape = len(platform.classes), len(graph)
    costs = np.array([[draw.uniform(1e-5, 1e-3) for _ in range(shape[1])] for _ in range(shape[0])])
    for unknown in (0.0, 0.05):
        estimates = costs.copy()
        estimates[:, [draw.random() < unknown for _ in range(shape[1])]] = np.nan
        asked = Question(graph, platform, create(scheduler), costs, estimates)
        assert disagreement(asked) is None


def compare_examples(count, schedulers, number):
    """Ask both engines *count* questions of seed *number*, and show a small one that differs."""

    @settings(max_examples=count)
    @given(questions(schedulers))
    def agree(question):
        assert disagreement(question) is None

    (hypothesis.seed(number)(agree) if settings().derandomize else agree)()


@pytest.mark.slow
@core
def test_both_engines_give_the_same_bytes_on_examples():
    compare_examples(few(300), SCHEDULERS, PARTS)


@core
@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_both_engines_give_the_same_bytes_on_many_examples(part):
    """In parts, for processes side by side, each with schedulers and a seed of its own."""
    compare_examples((20_000 if LONG else few(2_500)) // PARTS, SCHEDULERS[part::PARTS], part)


@core
@pytest.mark.parametrize("order", ["strict", "ready"])
def test_a_plan_from_a_file_is_followed(order, tmp_path):
    graph, platform = generate("cholesky", tiles=5), machine(devices=2, cores=2, bandwidth=1e9)
    durations = ConstantLibrary(dict.fromkeys(KERNELS, 1e-3))
    run = Simulation(graph, platform, durations, "random").run()
    path = tmp_path / "plan.csv"
    write_schedule(path, schedule_of(run), [worker.name for worker in platform.workers])
    scheduler = f"static:file={path},order={order}"
    answers = [
        Simulation(graph, platform, durations, scheduler).run(engine=engine)
        for engine in ("simpy", "compiled")
    ]
    assert answers[0].tasks.start_s.tobytes() == answers[1].tasks.start_s.tobytes()
    assert answers[0].transfers.start_s.tobytes() == answers[1].transfers.start_s.tobytes()
    assert answers[1].tasks.worker.tolist() == run.tasks.worker.tolist()


def test_every_scheduler_is_ported():
    assert [name for name in names(bare=True) if ported(create(name)) is None] == []


def test_options_are_read_off_the_scheduler():
    found = ported(create("dmda:alpha=2,gamma=100,idle_power=50,prefetch=0"))
    assert (found.name, found.numbers) == (
        "dmda",
        {"prefetch": 0.0, "alpha": 2.0, "beta": 1.0},
    )


class Own(DataAware):
    """A user's own: the built-in one, and more."""


def test_only_objects_of_exactly_a_built_in_class_are_ported(monkeypatch):
    assert ported(Own()) is None
    scheduler = Eager()
    scheduler.pop = lambda worker: None
    assert ported(scheduler) is None
    scheduler = DataAware()
    scheduler.ready_first = True
    assert ported(scheduler) is None
    scheduler = DataAware()
    scheduler.alpha = "2"
    assert ported(scheduler) is None
    monkeypatch.setattr(Eager, "push", lambda self, task: None)
    assert ported(Eager()) is None


@core
@pytest.mark.parametrize("scheduler", ["heft", "heteroprio", given_orders, "graph_test"])
def test_tables_of_nonsense_are_refused_or_replayed(scheduler, monkeypatch):
    """The core checks its input: it may refuse or fail, but it always answers."""
    draw = random.Random(0)

    class Broken(Ported):
        def tables(self, view, rng):
            return {name: spoilt(draw, made) for name, made in super().tables(view, rng).items()}

    monkeypatch.setattr(compiled_replay, "ported", lambda known: Broken(**vars(ported(known))))
    for seed in range(60):
        replay = CompiledReplay(drawn_question(seed, scheduler))
        try:
            replay.run(0)
        except (Refused, TasksimError):
            continue


def spoilt(draw, table):
    """Return *table* as it is, or with an entry that is another, one more or one less."""
    table = table.tolist()
    place = draw.randrange(len(table) + 1)
    number = draw.choice((-1, 0, 1, 2, 63, 64, 2**31, 2**63 - 1, -(2**63)))
    change = draw.choice((None, None, "other", "more", "less"))
    if change == "more":
        table.insert(place, number)
    elif change == "other" and place < len(table):
        table[place] = number
    elif change == "less":
        del table[place:]
    return np.array(table, np.int64)
