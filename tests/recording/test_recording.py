"""Recordings: what is refused, what they give, what is kept of them."""

import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool

import pytest

import tasksim
from tasksim.base.errors import InputError
from tasksim.recording.replayable import main_threads_lost_s, workers_lost_s


def nap(seconds=0.002):
    time.sleep(seconds)
    return [seconds]


@pytest.fixture
def recording():
    """A recording of two rounds of naps on two workers."""
    with tasksim.record("naps") as made, ThreadPoolExecutor(2) as pool:
        first = list(pool.map(nap, [0.01] * 6))
        assert list(pool.map(nap, [0.01] * 6)) == first
    return made


def test_a_recording_without_tasks():
    with tasksim.record() as recording:
        pass
    with pytest.raises(InputError, match="no task was recorded: submit to an executor"):
        recording.run  # noqa: B018


def test_a_recording_used_before_its_end():
    with tasksim.record() as recording, ThreadPoolExecutor(1) as pool:
        pool.submit(nap)
        assert repr(recording) == "<Recording recorded: open, 1 tasks so far>"
        for what in ("run", "graph", "notes"):
            with pytest.raises(InputError, match="the recording is open: its results"):
                getattr(recording, what)
    assert len(recording.run) == 1


def test_a_recording_before_it_is_opened():
    with pytest.raises(InputError, match="the recording is new"):
        tasksim.record().run  # noqa: B018


def test_two_recordings_at_once():
    with tasksim.record(), pytest.raises(InputError, match="another recording is open"):
        tasksim.record().__enter__()


def test_a_recording_is_used_once(recording):
    with pytest.raises(InputError, match="a recording can be used only once"), recording:
        pass


def test_a_program_that_fails_is_recorded_so_far():
    recording = tasksim.record()

    def program():
        with recording, ThreadPoolExecutor(1) as pool:
            pool.submit(nap).result()
            raise KeyError

    with pytest.raises(KeyError):
        program()
    assert len(recording.run) == 1
    with tasksim.record():  # and the next one can be opened
        pass


def test_a_name_that_is_none():
    with pytest.raises(InputError, match="name"):
        tasksim.record(7)


def test_it_is_replayed_on_its_own_workers(recording):
    """12 naps on two workers, and what was lost between them: see also test_replay.py."""
    run = recording.run
    again = recording.simulate()
    assert run.makespan_s >= 0.06
    assert again.kind == "simulated"
    assert again.makespan_s >= float(run.tasks.duration_s.sum()) / 3
    assert again.makespan_s == recording.simulate(workers=2).makespan_s


def test_own_work_between_waits_is_a_task():
    with tasksim.record() as recording, ThreadPoolExecutor(1) as pool:
        futures = [pool.submit(nap, 0.01) for _ in range(2)]
        for future in futures:
            future.result()
            time.sleep(0.03)
        pool.submit(nap, 0.01)
    run = recording.run
    tasksim.check_run(run, recording.graph)
    own = run.tasks.duration_s[run.frame()["kernel"] == "main thread"]
    assert sorted(own)[-2] >= 0.03
    assert recording.simulate().makespan_s >= 0.08  # 10, 30, 30, 10 ms, one after another


def test_own_work_before_a_result_of_a_pool_is_a_task_once(checked):
    """The method that gives the result calls the one that waits for it."""
    with tasksim.record() as recording, ThreadPool(1) as pool:
        result = pool.apply_async(nap, (0.01,))
        time.sleep(0.03)
        assert result.get() == [0.01]
    run = checked(recording).run
    own = run.tasks.start_s[run.frame()["kernel"] == "main thread"]
    assert len(set(own)) == len(own) >= 1


def test_more_workers_and_one(recording):
    times = [recording.simulate(workers).makespan_s for workers in (1, 6, 12)]
    assert times[0] >= 0.12
    assert times[1] < times[0]
    assert times[2] == pytest.approx(times[1])  # 6 naps at once, twice


def test_the_costs_are_what_the_workers_lost(recording):
    run, cost = recording.run, recording.platform().overheads
    lost = workers_lost_s(run) + main_threads_lost_s(run)
    assert cost.task_s == pytest.approx(lost / len(run))
    assert cost.submission_s > 0
    assert recording.platform(24).summary().startswith(f"{run.platform}: 24 cpu + 1 main")


def test_it_is_kept_with_its_graph_and_its_platform(recording, tmp_path):
    recording.save(tmp_path / "naps")
    assert tasksim.load_run(tmp_path / "naps") == recording.run
    assert tasksim.load_graph(str(tmp_path / "naps" / "graph.npz")).same_as(recording.graph)
    platform = tasksim.load_platform(tmp_path / "naps" / "platform.yaml")
    assert platform.overheads == recording.platform().overheads
    assert [w.architecture for w in platform.workers] == ["cpu", "cpu", "main"]
    with pytest.raises(InputError, match="exists"):
        recording.save(tmp_path / "naps")
    recording.save(tmp_path / "naps", force=True)


def test_a_kept_run_is_replayed_with_its_measured_durations(recording, tmp_path):
    recording.save(tmp_path / "naps")
    again = tasksim.simulate(tmp_path / "naps", durations="measured", scheduler="eager")
    assert again.makespan_s == pytest.approx(recording.simulate().makespan_s)
    more = tasksim.simulate(
        tmp_path / "naps",
        durations="measured",
        scheduler="eager",
        changes=["platform.workers.cpu.count=6"],
    )
    assert more.makespan_s == pytest.approx(recording.simulate(6).makespan_s)
