"""Conformance checks for schedulers, built-in ones and a user's own.

::

    from tasksim.engine.conformance import parametrize_with_checks

    @parametrize_with_checks([MyScheduler])
    def test_my_scheduler(scheduler, check):
        check(scheduler)
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.errors import demand
from tasksim.engine.question import Question
from tasksim.engine.replay import Replay
from tasksim.engine.simulation import Simulation
from tasksim.graph.apps.registry import generate
from tasksim.graph.builder import RW, Commute, GraphBuilder
from tasksim.models.kinds.given import ConstantLibrary
from tasksim.platform.description import Memory, Overheads, Platform, Worker, class_of

if TYPE_CHECKING:
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run
    from tasksim.schedulers.base import Scheduler

__all__ = ["check_scheduler", "checks", "parametrize_with_checks"]

Factory = Callable[[], "Scheduler"]
Check = Callable[[Factory], None]

KERNEL_COSTS = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0, "task": 1.0}
"""Costs of kernels in proportion to their flop; the checks hold for any costs."""


def checks() -> Iterator[Check]:
    """Yield the checks; each takes a factory, such as a class, and raises an error if it fails."""
    yield runs_every_task_once
    yield one_worker_is_never_idle
    yield no_worker_starves
    yield same_seed_same_run
    yield can_be_used_again
    yield empty_graph
    yield more_workers_than_tasks
    yield commutative_tasks_exclude_each_other
    yield runtime_costs
    yield respects_abilities
    yield keeps_the_global_random_state


def check_scheduler(factory: Factory) -> None:
    """Run all checks on the schedulers that *factory* makes.

    Raises :exc:`CheckFailed`, or :exc:`SchedulerError` for a broken rule.
    """
    for check in checks():
        check(factory)


def parametrize_with_checks(factories: list[Factory]) -> Any:
    """Return a pytest decorator that runs a test for each *scheduler* with each *check*."""
    import pytest

    cases = [
        pytest.param(factory, check, id=f"{_name(factory)}-{check.__name__}")
        for factory in factories
        for check in checks()
    ]
    return pytest.mark.parametrize(("scheduler", "check"), cases)


def _name(factory: Factory) -> str:
    return getattr(factory, "__name__", None) or type(factory()).__name__


def _run(graph: TaskGraph, platform: Platform, factory: Factory, seed: int = 0) -> Run:
    models = ConstantLibrary({name: KERNEL_COSTS[name] for name in graph.kernels})
    return Simulation(graph, platform, models, factory(), seed=seed).run(check=True)


def runs_every_task_once(factory: Factory) -> None:
    """Every task of a Cholesky and of a random graph runs once, on 1, 3 and 8 workers."""
    for graph in (
        generate("cholesky", tiles=6),
        generate("random-layered", layers=6, width=7, seed=3),
    ):
        for workers in (1, 3, 8):
            run = _run(graph, Platform.identical(workers), factory)
            demand(bool((run.tasks.worker >= 0).all()), "a task was not executed")


def one_worker_is_never_idle(factory: Factory) -> None:
    """A single worker always has a ready task: the makespan is the work."""
    run = _run(generate("cholesky", tiles=5), Platform.identical(1), factory)
    demand(run.makespan_s == 125.0, f"makespan {run.makespan_s}, but the work is 125")


def no_worker_starves(factory: Factory) -> None:
    """40 independent tasks on 4 workers: at least one task runs at any time."""
    builder = GraphBuilder("independent")
    for _ in range(40):
        builder.insert("task", duration_s=1.0)
    run = _run(builder.build(), Platform.identical(4), factory)
    demand(run.makespan_s <= 40.0, f"makespan {run.makespan_s}, more than one worker's 40")


def same_seed_same_run(factory: Factory) -> None:
    """Two runs with one seed are equal to the last bit."""
    graph = generate("cholesky", tiles=7)
    first, second = (_run(graph, Platform.identical(4), factory, seed=5) for _ in range(2))
    same = np.array_equal(first.tasks.start_s, second.tasks.start_s) and np.array_equal(
        first.tasks.worker, second.tasks.worker
    )
    demand(same, "the same seed gave two different runs")


def can_be_used_again(factory: Factory) -> None:
    """The same object serves a second run: ``attach`` starts afresh."""
    scheduler = factory()
    graph = generate("cholesky", tiles=5)
    runs = [_run(graph, Platform.identical(3), lambda: scheduler) for _ in range(2)]
    demand(runs[0].makespan_s == runs[1].makespan_s, "the second run of one object differs")


def empty_graph(factory: Factory) -> None:
    """A graph without tasks ends at once."""
    run = _run(GraphBuilder("empty").build(), Platform.identical(2), factory)
    demand(run.makespan_s == 0.0, "an empty graph took time")


def more_workers_than_tasks(factory: Factory) -> None:
    """Three tasks in a row on 20 workers take three times one."""
    run = _run(generate("chain", length=3), Platform.identical(20), factory)
    demand(run.makespan_s == 3.0, f"a chain of three unit tasks took {run.makespan_s}")


def commutative_tasks_exclude_each_other(factory: Factory) -> None:
    """Tasks that commute on one datum run one at a time, in any order."""
    builder = GraphBuilder("commute")
    shared = builder.handle("x", size_bytes=8)
    for _ in range(6):
        builder.insert("task", Commute(shared), duration_s=1.0)
    builder.insert("task", RW(shared), duration_s=1.0)
    run = _run(builder.build(), Platform.identical(3), factory)
    demand(run.makespan_s == 7.0, f"seven exclusive unit tasks took {run.makespan_s}")


def runtime_costs(factory: Factory) -> None:
    """Submission, task and wake-up costs delay tasks, and lose none."""
    free = Platform.identical(3)
    costly = Platform(
        name="costly",
        workers=free.workers,
        memories=free.memories,
        overheads=Overheads(submission_s=0.01, task_s=0.1, wakeup_s=0.05),
        speeds=free.speeds,
    )
    run = _run(generate("cholesky", tiles=5), costly, factory)
    work_s = 125.0 + 0.1 * len(run.tasks.task)
    demand(run.makespan_s >= work_s / 3, "the costs of the runtime were not charged")


def respects_abilities(factory: Factory) -> None:
    """A kernel that only one class of workers can run goes there."""
    graph = generate("cholesky", tiles=6)
    costs = np.array([
        [np.inf if graph.kernel_of(t) == "potrf" else 2.0 for t in range(len(graph))],
        [np.inf if graph.kernel_of(t) == "gemm" else 1.0 for t in range(len(graph))],
    ])  # fmt: skip
    platform = two_classes()
    replay = Replay(Question(graph, platform, factory(), costs, costs))
    replay.run(0)
    classes, worker = class_of(platform), replay.ledger.worker
    allowed = all(costs[classes[w]][t] < np.inf for t, w in enumerate(worker))
    demand(allowed, "a task ran on a worker that cannot run it")


def keeps_the_global_random_state(factory: Factory) -> None:
    """The global generators of ``random`` and NumPy stay unchanged."""
    before = random.getstate(), str(np.random.get_state())  # noqa: NPY002
    _run(generate("cholesky", tiles=4), Platform.identical(2), factory)
    after = random.getstate(), str(np.random.get_state())  # noqa: NPY002
    demand(before == after, "the scheduler drew from a global random state")


def two_classes() -> Platform:
    """Return two workers of each of two architectures, "cpu" and "big"."""
    names = ["cpu", "cpu", "big", "big"]
    return Platform(
        name="two-classes",
        workers=tuple(
            Worker(id=i, name=f"{name}{i}", architecture=name, memory=0, node=0, core=None)
            for i, name in enumerate(names)
        ),
        memories=(Memory(id=0, name="ram", node=0, size_bytes=None),),
        overheads=Overheads(),
        speeds={"cpu": 1.0, "big": 1.0},
    )
