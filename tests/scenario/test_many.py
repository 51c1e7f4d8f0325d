"""Many replays: the same numbers as one by one, made together."""

from __future__ import annotations

import numpy as np
import pytest

import tasksim
from tasksim import InputError, Scenario, Scheduler, simulate_many
from tasksim.base.errors import SchedulerError
from tasksim.run.critical import practical_critical_path

DURATIONS_S = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
CHOLESKY_SCENARIO = Scenario("cholesky tiles=5", workers=3, durations=DURATIONS_S)
NOISY_SCENARIO = Scenario("cholesky tiles=5", platform="xeon-2c", noise="model")


def one_by_one(scenarios, **options):
    runs = [scenario.solve(**options) for scenario in scenarios]
    return [
        (
            run.makespan_s,
            float((run.tasks.end_s - run.tasks.start_s).sum()),
            0 if run.transfers is None else int(run.transfers.size_bytes.sum()),
            run.evictions,
        )
        for run in runs
    ]


def rows(many):
    columns = (many.makespan_s, many.busy_s, many.copied_bytes, many.evictions)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("engine", ["auto", "simpy"])
def test_many_are_as_one_by_one(threads, engine):
    scenarios = [
        *(NOISY_SCENARIO.vary(seed=seed) for seed in range(6)),
        *(
            CHOLESKY_SCENARIO.vary(scheduler=name, workers=n)
            for name in ("ws", "dm")
            for n in (1, 4)
        ),
        NOISY_SCENARIO.vary(noise="none"),
        NOISY_SCENARIO.vary(scheduler="dmdas", changes=("engine.simultaneous_pushes=blind",)),
    ]
    many = simulate_many(scenarios, threads=threads, engine=engine)
    assert rows(many) == one_by_one(scenarios)
    assert len(many) == len(scenarios)
    assert len(set(many.makespan_s[:6])) > 1


def test_copies_are_counted():
    ram, memory = tasksim.Memory(0, "ram"), tasksim.Memory(1, "gpu0", size_bytes=4e6)
    platform = tasksim.Platform(
        "small",
        (tasksim.Worker(0, "gpu", "cuda", 1), tasksim.Worker(1, "cpu", "cpu", 0)),
        (ram, memory),
        links=(tasksim.Link(0, "bus", (0, 1), 1e9, 1e-6),),
        devices={"cuda": tasksim.Device(pipeline=2)},
    )
    asked = Scenario("cholesky tiles=4", platform=platform, durations=DURATIONS_S)
    scenarios = [asked.vary(scheduler=name) for name in ("eager", "dmda")]
    many = simulate_many(scenarios)
    assert rows(many) == one_by_one(scenarios)
    assert many.copies.min() > 0
    assert many.copies.tolist() == [len(many.run(k).transfers) for k in range(2)]


def test_tables_are_there_on_demand():
    many = simulate_many([NOISY_SCENARIO.vary(seed=seed) for seed in range(3)])
    assert many.run(2) == NOISY_SCENARIO.vary(seed=2).solve()
    counts = many.critical_counts()
    assert counts.max() == 3
    assert counts[0] == 3  # the first task is on each path
    frame = many.to_frame()
    assert frame.seed.tolist() == [0, 1, 2]
    assert frame.makespan_s.tolist() == many.makespan_s.tolist()


def test_an_object_takes_part_in_one_at_a_time():
    class Mine(Scheduler):
        def attach(self, view, rng):
            super().attach(view, rng)
            self.tasks = []

        def push(self, task):
            self.tasks.append(task)
            self.view.wake_any(task)

        def pop(self, worker):
            return self.tasks.pop() if self.tasks else None

    mine = Mine()
    scenarios = [CHOLESKY_SCENARIO.vary(scheduler=mine, workers=n) for n in (1, 2, 3, 4) * 5]
    many = simulate_many(scenarios, threads=4)
    assert many.makespan_s[:4].tolist() == [row[0] for row in one_by_one(scenarios[:4])]
    assert np.array_equal(many.makespan_s.reshape(5, 4), np.tile(many.makespan_s[:4], (5, 1)))


def test_the_first_that_fails_is_told():
    class Bad(Scheduler):
        def push(self, task):
            pass

        def pop(self, worker):
            return None

    with pytest.raises(SchedulerError, match="Bad dropped"):
        simulate_many(
            [CHOLESKY_SCENARIO, CHOLESKY_SCENARIO.vary(scheduler=Bad), CHOLESKY_SCENARIO], threads=2
        )


def test_arguments_are_checked():
    with pytest.raises(InputError, match="threads"):
        simulate_many([CHOLESKY_SCENARIO], threads=0)
    with pytest.raises(InputError, match="engine"):
        simulate_many([CHOLESKY_SCENARIO], engine="fast")
    with pytest.raises(InputError, match="native"):
        simulate_many([CHOLESKY_SCENARIO.vary(clock="native", durations=None, workers=None)])
    with pytest.raises(InputError, match="scenario"):
        simulate_many(["cholesky"])
    assert len(simulate_many([])) == 0
    assert simulate_many([]).critical_counts().size == 0


@pytest.mark.parametrize("scheduler", ["random", "ws", "lws", "heteroprio", "graph_test", "heft"])
def test_series_are_as_one_by_one_whatever_the_seed(scheduler):
    seeds = (0, 1, 2**32 - 1, 2**32, 2**63 + 5, 2**64 - 1, 2**64, 10**30)
    scenarios = [CHOLESKY_SCENARIO.vary(scheduler=scheduler, seed=seed) for seed in seeds]
    scenarios += [NOISY_SCENARIO.vary(scheduler=scheduler, seed=seed) for seed in (1, 2)]
    assert rows(simulate_many(scenarios)) == one_by_one(scenarios)


def test_tasks_on_critical_paths_are_counted():
    scenarios = [NOISY_SCENARIO.vary(seed=seed, scheduler="random") for seed in range(5)]
    paths = [practical_critical_path(scenario.solve()) for scenario in scenarios]
    tasks = [step.task for path in paths for step in path.steps]
    counts = simulate_many(scenarios).critical_counts()
    assert counts.tolist() == np.bincount(tasks, minlength=len(counts)).tolist()


def test_paths_are_counted_over_one_graph():
    many = simulate_many(
        [CHOLESKY_SCENARIO, Scenario("cholesky tiles=4", workers=1, durations=DURATIONS_S)]
    )
    with pytest.raises(InputError, match="has 20 tasks, the first scenario 35"):
        many.critical_counts()


def test_what_fails_in_a_series_fails_as_by_itself():
    platform = tasksim.Platform(
        "tiny",
        (tasksim.Worker(0, "gpu", "cuda", 1),),
        (tasksim.Memory(0, "ram"), tasksim.Memory(1, "gpu0", size_bytes=1e5)),
        links=(tasksim.Link(0, "bus", (0, 1), 1e9, 1e-6),),
        devices={"cuda": tasksim.Device(pipeline=2)},
    )
    asked = Scenario(
        "cholesky tiles=4", platform=platform, durations=DURATIONS_S, scheduler="eager"
    )
    with pytest.raises(InputError) as alone:
        asked.solve()
    with pytest.raises(InputError) as together:
        simulate_many([asked, asked])
    assert str(together.value) == str(alone.value)
