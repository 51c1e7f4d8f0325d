"""Executors: the same table whoever computes it; what cells do to their processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context

import pandas as pd
import pytest
from study_cases import CELLS, MISBEHAVING, answers, mpiexec

from tasksim.base.errors import InputError, TasksimError
from tasksim.study.executors import local
from tasksim.study.executors.child import Children
from tasksim.study.executors.local import SerialExecutor
from tasksim.study.executors.pool import ExecutorPool
from tasksim.study.executors.registry import EXECUTORS, opened
from tasksim.study.sweep import running, studies
from tasksim.study.sweep.studies import run_study

ONE_CELL = [("[3, 4]", "[3]"), ("[4, 8]", "[4]"), ("[1, 2]", "[1]"), ("seeds: 2", "seeds: 1")]


@pytest.fixture
def serial(study_file, tmp_path):
    """The table of the small study, computed one cell after the other."""
    run_study(study_file(), tmp_path / "serial", executor="serial")
    return answers(tmp_path / "serial")


@pytest.fixture
def misbehaving(tmp_path, monkeypatch):
    """A place of schedulers that misbehave, importable here and in new processes."""
    (tmp_path / "misbehaving.py").write_text(MISBEHAVING)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("misbehaving", None)


@pytest.mark.parametrize("executor", ["processes", "threads"])
def test_the_table_is_the_same_whoever_computes_it(serial, study_file, tmp_path, executor):
    outcome = run_study(study_file(), tmp_path / "study", executor=executor, jobs=2)
    assert (outcome.cells, outcome.computed, outcome.failed) == (CELLS, CELLS, 0)
    pd.testing.assert_frame_equal(answers(tmp_path / "study"), serial)


@pytest.mark.slow
@pytest.mark.parametrize("start_s", [0.0, 1e9])
def test_auto_starts_processes_where_they_pay(serial, study_file, tmp_path, monkeypatch, start_s):
    monkeypatch.setattr(local, "PROCESS_START_S", start_s)
    monkeypatch.setattr(running, "BATCH_S", 0.0)  # cell by cell: there is time to start
    monkeypatch.setattr(Children, "are_ready", lambda self: self.wait() is None)
    outcome = run_study(study_file(), tmp_path / "study", executor="auto", jobs=2)
    assert outcome.workers == (1 if start_s else 2)
    pd.testing.assert_frame_equal(answers(tmp_path / "study"), serial)


@pytest.mark.parametrize(("line", "trust"), [("\nlimits: {time: 60 s}", False), ("", True)])
def test_auto_keeps_cells_that_may_misbehave_in_processes(
    study_file, tmp_path, monkeypatch, line, trust
):
    asked = []
    real = studies.opened
    monkeypatch.setattr(
        studies, "opened", lambda name, jobs: asked.append(name) or real(name, jobs)
    )
    path = study_file(*ONE_CELL, ("noise: model", f"noise: model{line}"))
    run_study(path, tmp_path / "study", executor="auto", jobs=1, trust=trust)
    assert asked == ["processes"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Dask, about the worker that was killed
def test_workers_that_dask_gives_up_are_replaced():
    dask = pytest.importorskip("dask")
    pytest.importorskip("distributed")
    # Dask then gives a dead worker up at once, instead of if it is not back after 15 s.
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1ms"}),
        EXECUTORS.find("dask")(1, "") as pool,
    ):
        (nanny,) = pool.cluster.workers.values()
        os.kill(nanny.pid, signal.SIGKILL)
        end = time.monotonic() + 60
        while pool.cluster.workers and time.monotonic() < end:
            time.sleep(0.01)
        assert not pool.cluster.workers
        pool.grow(1.0)
        assert pool.executor.submit(pow, 2, 3).result(timeout=60) == 8


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    ("executor", "package"), [("dask", "distributed"), ("slurm:local", "submitit")]
)
def test_clusters_compute_the_same_table(serial, study_file, tmp_path, executor, package):
    pytest.importorskip(package)
    run_study(study_file(), tmp_path / "study", executor=executor, jobs=2)
    pd.testing.assert_frame_equal(answers(tmp_path / "study"), serial)


@pytest.mark.slow
def test_mpi_computes_the_same_table(serial, study_file, tmp_path):
    command = [mpiexec(), "-n", "3", sys.executable, "-m", "tasksim", "study", "run"]
    command += [study_file(), "-o", tmp_path / "study", "--executor", "mpi"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    pd.testing.assert_frame_equal(answers(tmp_path / "study"), serial)


@contextmanager
def spawning(jobs, argument):
    """The standard library's pool: any executor of concurrent.futures does."""
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as executor:
        yield executor


@pytest.mark.slow
def test_any_executor_of_the_standard_library_does(serial, study_file, tmp_path, monkeypatch):
    monkeypatch.setitem(EXECUTORS._found, "spawning", spawning)
    run_study(study_file(), tmp_path / "study", executor="spawning", jobs=2)
    pd.testing.assert_frame_equal(answers(tmp_path / "study"), serial)


@pytest.mark.usefixtures("misbehaving")
@pytest.mark.parametrize("executor", ["processes", pytest.param("serial", marks=pytest.mark.slow)])
def test_cells_that_hang_raise_or_take_all_memory_are_rows(study_file, tmp_path, executor):
    path = study_file(
        *ONE_CELL,
        ("- lws", "- misbehaving:Hangs\n  - misbehaving:Raises\n  - misbehaving:Hungry"),
        ("noise: model", "noise: model\nlimits: {time: 3 s, memory: 1 GiB}"),
        ("  - qr tiles=3\n", ""),
        ("  - {platform: xeon-24c, set: {workers.cpu.count: [4]}}\n", ""),
    )
    outcome = run_study(path, tmp_path / "study", executor=executor, jobs=1, trust=True)
    found = answers(tmp_path / "study").set_index("scheduler")
    assert (outcome.cells, outcome.failed) == (4, 3)
    assert found["status"].to_dict() == {
        "misbehaving:Hangs": "timeout",
        "misbehaving:Raises": "failed",
        "misbehaving:Hungry": "memory",
        "dmdas:beta=1": "done",
    }
    assert found.loc["misbehaving:Hangs", "error"] == "took more than 3 s"
    assert "no such luck" in found.loc["misbehaving:Raises", "error"]


@pytest.mark.usefixtures("misbehaving")
def test_a_cell_whose_process_is_killed_is_tried_again(study_file, tmp_path, monkeypatch, serial):
    monkeypatch.setenv("DIED", str(tmp_path / "died"))
    path = study_file(("- lws", "- misbehaving:DiesOnce\n  - lws"))
    outcome = run_study(path, tmp_path / "study", executor="processes", jobs=2, trust=True)
    assert (tmp_path / "died").exists()
    assert outcome.failed == 0
    found = answers(tmp_path / "study")
    others = found[found["scheduler"] != "misbehaving:DiesOnce"].reset_index(drop=True)
    pd.testing.assert_frame_equal(others, serial)


@pytest.mark.slow
@pytest.mark.usefixtures("misbehaving")
@pytest.mark.parametrize(
    "executor", ["processes", pytest.param("spawning", marks=pytest.mark.slow)]
)
def test_a_cell_that_kills_its_process_costs_no_other(study_file, tmp_path, monkeypatch, executor):
    monkeypatch.setitem(EXECUTORS._found, "spawning", spawning)
    one = [*ONE_CELL, ("  - qr tiles=3\n", "")]
    path = study_file(*one, ("- lws", "- misbehaving:Dies\n  - lws"))
    outcome = run_study(path, tmp_path / "study", executor=executor, jobs=2, trust=True)
    found = answers(tmp_path / "study")
    bad = found["scheduler"] == "misbehaving:Dies"
    assert outcome.failed == bad.sum() == 2
    assert set(found.loc[~bad, "status"]) == {"done"}
    assert set(found.loc[bad, "status"]) == {"failed"}
    assert found.loc[bad, "error"].str.startswith("given up after 3 attempts").all()


@pytest.mark.slow
def test_a_process_for_cells_ends_with_its_parent(study_file, tmp_path):
    code = "import sys, time\nfrom tasksim.study.executors.child import Child\nchild = Child()\n"
    code += "child.wait()\nprint(child._process.pid, flush=True)\ntime.sleep(60)\n"
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    with parent:
        pid = int(parent.stdout.readline())
        parent.kill()
    for _ in range(200):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail("the child goes on")


def test_an_executor_that_is_not_there_is_told_with_the_nearest(study_file, tmp_path):
    with pytest.raises(InputError, match="unknown executor 'proceses', did you mean 'processes'"):
        run_study(study_file(), tmp_path / "study", executor="proceses")
    assert not (tmp_path / "study").exists()


def test_a_missing_package_is_told_with_the_extra_that_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "submitit", None)
    with pytest.raises(InputError, match=r"'slurm:local' needs submitit, .*tasksim\[slurm\]'$"):
        opened("slurm:local", 1).__enter__()


@pytest.mark.parametrize(
    ("yielded", "said"),
    [(7, "got 7; legal: an executor of concurrent"), (None, "RuntimeError: no")],
)
def test_an_executor_that_refuses_is_told(monkeypatch, study_file, tmp_path, yielded, said):
    @contextmanager
    def refusing(jobs, argument):
        if yielded is None:
            raise RuntimeError("no room")
        yield yielded

    monkeypatch.setitem(EXECUTORS._found, "refusing", refusing)
    with pytest.raises(InputError, match=said):
        run_study(study_file(), tmp_path / "study", executor="refusing")


def test_each_executor_says_where_it_computes():
    assert all(text.startswith("Compute ") for text in EXECUTORS.summaries().values())


def test_an_executor_that_is_broken_ends_the_study_and_no_cell(study_file, tmp_path, monkeypatch):
    class Broken(SerialExecutor):
        def submit(self, *arguments):
            self.calls = getattr(self, "calls", 0) + 1
            if self.calls > 2:
                raise BrokenExecutor("a cable")
            return super().submit(*arguments)

    @contextmanager
    def breaking(jobs, argument):
        yield ExecutorPool(Broken(), 1)

    monkeypatch.setitem(EXECUTORS._found, "breaking", breaking)
    with pytest.raises(TasksimError, match="the executor is broken; finished cells are kept"):
        run_study(study_file(), tmp_path / "study", executor="breaking")
    kept = answers(tmp_path / "study")
    assert 0 < len(kept) < CELLS
    assert set(kept["status"]) == {"done"}


@pytest.mark.slow
@pytest.mark.parametrize("executor", ["serial", "threads"])
def test_processes_for_cells_with_limits_know_what_can_be_imported_now(
    study_file, tmp_path, monkeypatch, executor
):
    """Workers of an earlier study of this process knew other places."""
    limited = [*ONE_CELL, ("noise: model", "noise: model\nlimits: {time: 1 h}")]
    assert run_study(study_file(*limited), tmp_path / "one", executor=executor).failed == 0
    (tmp_path / "later").mkdir()
    (tmp_path / "later" / "own_scheduler_of_later.py").write_text(
        "from tasksim.schedulers.central import Eager\nclass Later(Eager):\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path / "later")
    path = study_file(*limited, ("- lws", "- own_scheduler_of_later:Later\n  - lws"))
    outcome = run_study(path, tmp_path / "two", executor=executor, trust=True)
    assert (outcome.failed, set(answers(tmp_path / "two")["error"].dropna())) == (0, set())
