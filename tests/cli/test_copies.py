"""Commands on runs that moved data between memories."""

import dataclasses

import pytest

from tasksim.graph.builder import RW, GraphBuilder
from tasksim.run.record import (
    MemoryInfo,
    MemoryTable,
    Run,
    TaskTable,
    TransferTable,
    WorkerInfo,
)
from tasksim.run.runfolder import save


@pytest.fixture
def run():
    """A task on a core, then, after a copy of a second and a bit of the runtime, one on a GPU."""
    return Run(
        kind="simulated",
        graph_name="two",
        graph_arguments={},
        kernel_names=("first", "second"),
        workers=(WorkerInfo("cpu0", "cpu"), WorkerInfo("gpu0", "cuda", memory=1)),
        platform="hand",
        scheduler="eager",
        seed=0,
        tasks=TaskTable(
            [0, 1], [0, 1], [0, 1], [0, 0], [0, 0], [0, 2], [0, 3.25], [2, 4], [-1, 0], [0, 2]
        ),
        transfers=TransferTable([0], [0], [1], [100], [2], [2], [3], [0], [1]),
        memory=MemoryTable([2.0], [1], [100]),
        memories=(MemoryInfo("ram"), MemoryInfo("gpu0", size_bytes=150.0)),
    )


@pytest.fixture
def on_disk(tasksim, run):
    """Return a function that runs a command line beside the run ``a``; ``b`` has no copies."""
    save(run, "a")
    no_copies = {"transfers": None, "memory": None, "memories": ()}
    save(dataclasses.replace(run, workers=(WorkerInfo("cpu0", "cpu"),) * 2, **no_copies), "b")
    return tasksim


def test_a_run_is_described_with_its_copies(run):
    from tasksim.cli.output import describe_run

    g = GraphBuilder("two")
    x = g.handle("x", 100)
    for kernel in run.kernel_names:
        g.insert(kernel, RW(x))
    described = describe_run(run, g.build())
    assert described["transfers"] == {
        "count": 1,
        "bytes": 100,
        "thrashing": 1.0,
        "reasons": {
            "fetch": {"count": 1, "bytes": 100},
            "prefetch": {"count": 0, "bytes": 0},
            "idle": {"count": 0, "bytes": 0},
            "eviction": {"count": 0, "bytes": 0},
        },
        "links": [{"from": "ram", "to": "gpu0", "count": 1, "bytes": 100, "busy_s": 1.0}],
    }
    assert described["evictions"] == 0
    assert described["idle_waits_s"] == {
        "cpu0": {"dependency": 0.0, "transfer": 0.0, "queue": 0.0, "end": 2.0},
        "gpu0": {"dependency": 2.0, "transfer": 1.0, "queue": 0.25, "end": 0.0},
    }


def test_a_simulation_in_one_memory_copies_nothing(simulate):
    result = simulate("tiles=2 --json").json
    assert (result["transfers"]["count"], result["transfers"]["links"]) == (0, [])
    assert result["evictions"] == 0
    waits = result["idle_waits_s"]
    for worker, idle in result["idle_s"].items():
        assert sum(waits[worker].values()) == pytest.approx(idle)


def test_validate_looks_at_the_copies(on_disk, run):
    assert on_disk("validate a").out == "a: ok, simulated run of two, 2 tasks\n"
    late = dataclasses.replace(run.transfers, end_s=[3.5])
    save(dataclasses.replace(run, transfers=late), "late")
    called = on_disk("validate late")
    assert called.code == 3
    assert called.errors == [
        "Error: late: task second #1 on worker gpu0: starts at 3.25 s, before the data that are "
        "copied for it arrive at 3.5 s"
    ]


def test_compare_runs_with_and_without_copies(on_disk):
    result = on_disk("compare b a --json").json
    assert [result[side]["transfers"] for side in "ab"] == [None, 1]
    assert [result[side]["transferred_bytes"] for side in "ab"] == [None, 100]
    assert result["b"]["idle_waits_s"]["transfer"] == 1.0
    text = on_disk("compare b a").out
    assert "idle for data" in text
    assert "copied" in text
    assert "idle for data" not in on_disk("compare b b").out


def test_bounds_say_how_long_the_path_waited_for_data(on_disk):
    result = on_disk("bounds a --json").json
    path = result["practical_critical_path"]
    assert path["waited_s"] == {"start": 0.0, "dependency": 0.25, "transfer": 1.0}
    assert "waiting: transfer" in on_disk("bounds a").out
