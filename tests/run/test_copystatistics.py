import dataclasses

import numpy as np
import pytest
from growth import nearly_linear
from hypothesis import given, settings
from hypothesis import strategies as st

from tasksim.base.errors import CheckFailed
from tasksim.run import metrics
from tasksim.run.compare import compare
from tasksim.run.copystatistics import (
    data_arrival_s,
    moved_bytes,
    pair_statistics,
    reason_statistics,
    thrashing,
    transfer_summary,
)
from tasksim.run.header import check_header, encode
from tasksim.run.metrics import idle_time
from tasksim.run.record import MemoryInfo, TransferTable, WorkerInfo
from tasksim.view.texttables import comparison_table, run_summary, worker_table

INF = float("inf")


def test_data_arrive_with_the_last_copy_made_for_the_task(travelled):
    assert data_arrival_s(travelled).tolist() == [-INF, 3.0, 6.0, 8.5]


def test_copies_to_other_memories_and_write_backs_bring_a_task_nothing(travelled):
    table = travelled.transfers
    away = dataclasses.replace(
        table, task=[1, 1, 3, 2, 3], target=[1, 0, 0, 1, 0], source=[0, 1, 1, 0, 1]
    )
    run = dataclasses.replace(travelled, transfers=away)
    # The second led to RAM, the third is an eviction.
    assert data_arrival_s(run).tolist() == [-INF, 1.0, 6.0, 8.5]


def test_what_was_moved(travelled):
    assert moved_bytes(travelled) == 220
    to_gpu, to_ram = pair_statistics(travelled)
    assert to_gpu.to_json() == {
        "from": "ram",
        "to": "gpu0",
        "count": 3,
        "bytes": 120,
        "busy_s": 2.5,
    }
    assert (to_ram.source, to_ram.target, to_ram.count, to_ram.bytes) == ("gpu0", "ram", 2, 100)
    assert reason_statistics(travelled) == {
        "fetch": {"count": 3, "bytes": 120},
        "prefetch": {"count": 1, "bytes": 60},
        "idle": {"count": 0, "bytes": 0},
        "eviction": {"count": 1, "bytes": 40},
    }


def test_thrashing_is_bytes_moved_over_bytes_of_data(travelled):
    assert thrashing(travelled) == 220 / 120
    once = TransferTable(*[column[:2] for column in travelled.transfers.columns()])
    assert thrashing(dataclasses.replace(travelled, transfers=once)) == 1.0


def test_a_datum_counts_as_large_as_its_first_copy(travelled):
    data, sizes = [5, -1, 5, 2**31 - 1, -(2**31), 5], [10, 20, 11, 30, 40, 12]
    zeros = [0] * len(data)
    table = TransferTable(data, zeros, zeros, sizes, zeros, zeros, zeros, zeros, zeros)
    assert thrashing(dataclasses.replace(travelled, transfers=table)) == 123 / 100


def test_copies_at_the_same_time_keep_a_link_busy_once(travelled):
    start, end = [0.0, 0.5, 5.0, 1.0, 6.0], [2.0, 1.0, 5.5, 3.0, 7.0]
    table = dataclasses.replace(travelled.transfers, start_s=start, end_s=end)
    to_gpu, to_ram = pair_statistics(dataclasses.replace(travelled, transfers=table))
    assert (to_gpu.busy_s, to_ram.busy_s) == (3.0, 1.5)


def test_runs_without_copies(small, make):
    for run in (small, make.run([]), dataclasses.replace(small, transfers=TransferTable.empty())):
        assert transfer_summary(run)["count"] == 0
        assert transfer_summary(run)["links"] == []
        assert thrashing(run) == 0.0
        assert np.isneginf(data_arrival_s(run)).all()


def test_what_idle_workers_waited_for(travelled):
    waited = idle_time(travelled)
    assert waited.dependency_s.tolist() == [5.0, 2.0]
    assert waited.transfer_s.tolist() == [1.25, 2.0]
    assert waited.queue_s.tolist() == [0.5, 0.0]
    assert waited.end_s.tolist() == [0.0, 2.0]
    assert waited.totals() == {"dependency": 7.0, "transfer": 3.25, "queue": 0.5, "end": 2.0}
    assert waited.of_workers()[1] == {"dependency": 2.0, "transfer": 2.0, "queue": 0.0, "end": 2.0}


def test_a_task_taken_while_another_runs_waits_for_data_only_when_the_worker_is_free(make):
    # Taken at 1 while the first task runs until 4; data there at 6, started at 7.
    run = dataclasses.replace(
        make.run([(0, 0, 0, 0, 0, 4, -1), (1, 0, 0, 0.5, 7, 8, -1)], workers=("gpu0",)),
        memories=(MemoryInfo("ram"), MemoryInfo("gpu0")),
        workers=(WorkerInfo("gpu0", "gpu", memory=1),),
        transfers=TransferTable([0], [0], [1], [8], [1], [1], [6], [0], [1]),
    )
    run = dataclasses.replace(run, tasks=dataclasses.replace(run.tasks, popped_s=[0, 1]))
    waited = idle_time(run)
    assert (waited.transfer_s[0], waited.queue_s[0], waited.dependency_s[0]) == (2.0, 1.0, 0.0)
    assert metrics.waits(run).transfer_s.tolist() == [0.0, 5.0]
    assert metrics.waits(run).queue_s.tolist() == [0.0, 1.5]


@pytest.fixture(params=["no task is named", "no pop is known"])
def unknown(request, travelled):
    """A run whose records do not tell how long tasks waited for data."""
    tasks, transfers = travelled.tasks, travelled.transfers
    if request.param == "no task is named":
        transfers = dataclasses.replace(transfers, task=[-1] * len(transfers))
    else:
        tasks = dataclasses.replace(tasks, popped_s=[])
    return dataclasses.replace(travelled, tasks=tasks, transfers=transfers)


def test_waits_for_data_may_be_unknown(unknown):
    assert idle_time(unknown).transfer_s is None
    assert idle_time(unknown).queue_s.tolist() == [1.75, 2.0]
    assert idle_time(unknown).totals()["transfer"] is None
    assert idle_time(unknown).of_workers()[0]["transfer"] is None
    assert metrics.waits(unknown).transfer_s is None
    assert metrics.waits(unknown).queue_s.tolist() == [0, 1, 1, 1.75]
    assert metrics.summary(unknown)["mean_transfer_wait_s"] is None
    assert metrics.summary(unknown)["idle_waits_s"]["transfer"] is None
    assert compare(unknown, unknown).a.idle_waits_s["transfer"] is None


def test_texts_say_that_waits_for_data_are_unknown(unknown):
    assert "for dependencies, unknown for data, 938 ms for a worker" in run_summary(unknown)
    assert [row.split()[-1] for row in worker_table(unknown).splitlines()[1:]] == ["unknown"] * 2
    rows = comparison_table(compare(unknown, unknown)).splitlines()
    (row,) = (row for row in rows if row.startswith("idle for data"))
    assert row.split()[-2:] == ["unknown", "unknown"]


def test_unknown_waits_that_an_earlier_version_wrote_as_0_are_read(unknown, tmp_path):
    path, text = tmp_path / "run.json", encode(unknown)
    assert text.count('"mean_transfer_wait_s": null') == 1
    path.write_text(text.replace('_wait_s": null', '_wait_s": 0.0'))
    check_header(unknown, path)
    path.write_text(text.replace('_wait_s": null', '_wait_s": 1.0'))
    with pytest.raises(CheckFailed, match=r"mean_transfer_wait_s is 1.0, .* say None"):
        check_header(unknown, path)


def test_waits_of_tasks(travelled):
    waits = metrics.waits(travelled)
    assert waits.transfer_s.tolist() == [0, 1, 1, 1.25]
    assert waits.queue_s.tolist() == [0, 0, 0, 0.5]
    assert metrics.summary(travelled)["mean_transfer_wait_s"] == 3.25 / 4
    assert metrics.summary(travelled)["evictions"] == 1


def test_a_worker_without_tasks_waits_for_the_end(make):
    run = make.run([(0, 0, 0, 0, 0, 4, -1)])
    assert idle_time(run).end_s.tolist() == [0.0, 4.0]
    assert idle_time(make.run([])).totals() == dict.fromkeys(
        ("dependency", "transfer", "queue", "end"), 0.0
    )


@given(seed=st.integers(0, 1000), workers=st.integers(1, 6), tiles=st.integers(1, 5))
@settings(max_examples=30, deadline=None)
def test_the_parts_add_up_to_the_idle_time(make, seed, workers, tiles):
    graph = make.cholesky(tiles)
    rng = np.random.default_rng(seed)
    run = make.schedule(graph, workers, rng.uniform(0.1, 2, len(graph)))
    between = rng.uniform(run.tasks.ready_s, run.tasks.start_s)
    task = rng.integers(0, len(graph), 20)
    start_s = rng.uniform(0, run.tasks.start_s[task])
    end_s = rng.uniform(start_s, run.tasks.start_s[task])
    copies = (task, [1] * 20, [0] * 20, [8] * 20, start_s, start_s, end_s, [0] * 20, task)
    run = dataclasses.replace(
        run,
        tasks=dataclasses.replace(run.tasks, popped_s=between),
        memories=(MemoryInfo("ram"), MemoryInfo("gpu0")),
        transfers=TransferTable(*copies),
    )
    waited = idle_time(run)
    parts = np.array([waited.dependency_s, waited.transfer_s, waited.queue_s, waited.end_s])
    assert (parts >= -1e-12).all()
    assert parts.sum(axis=0) == pytest.approx(metrics.idle_s(run))


def made_up(make, n):
    """A run of *n* tasks and nearly half as many copies."""
    copies = 30 * n // 65
    rng = np.random.default_rng(0)
    start = np.sort(rng.uniform(0, 100, n))
    worker = rng.integers(0, 16, n)
    rows = (range(n), [0] * n, worker, [0] * n, start, start, start, start + 1e-3, [-1] * n, start)
    small = make.run([], workers=[f"cpu{i}" for i in range(16)], kernels=("a",))
    when = rng.uniform(0, 100, copies)
    pair = rng.integers(0, 6, copies)
    table = TransferTable(
        rng.integers(0, 2000, copies),
        pair // 2,
        (pair // 2 + 1 + pair % 2) % 4,
        rng.integers(1, 10**7, copies),
        when,
        when,
        when + 1e-3,
        rng.integers(0, 4, copies),
        rng.integers(-1, n, copies),
    )
    return dataclasses.replace(
        small,
        tasks=type(small.tasks)(*rows),
        transfers=table,
        memories=tuple(MemoryInfo(f"m{i}") for i in range(4)),
    )


def test_large_runs_are_summed_up_in_a_time_in_proportion(make):
    runs = {n: made_up(make, n) for n in (8_000, 64_000)}
    assert nearly_linear(lambda n: metrics.summary(runs[n]), 8_000, 64_000)
