"""The store: nothing lost, nothing doubled, nothing half-read, whatever happens to who writes."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from shutil import copytree

import pandas as pd
import pytest
from study_cases import CELLS, SLOW_SCHEDULER, answers, mpiexec
from tiers import LONG

from tasksim.base.errors import InputError
from tasksim.base.lockfile import locked
from tasksim.study.sweep.store import read_cells, read_header, read_table
from tasksim.study.sweep.studies import run_study

EXECUTORS = ("processes", "serial", "threads", "dask", "slurm:local", "mpi")
SLOW_STUDY = [
    ("- lws", "- slowly:Slow\n  - lws"),
    ("noise: model", "noise: model\nlimits: {time: 1 h}"),
]


def parts(folder):
    return sorted((folder / "cells").glob("[!.]*.parquet"))


@pytest.fixture
def slowly(tmp_path, monkeypatch):
    """A scheduler that takes its time, importable here and in new processes."""
    (tmp_path / "slowly.py").write_text(SLOW_SCHEDULER)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    yield
    sys.modules.pop("slowly", None)


def started(file, folder, executor, **more):
    """Return a command that runs the study *file*, started."""
    command = [sys.executable, "-m", "tasksim", "study", "run", file, "-o", folder, "--trust"]
    command += ["--executor", executor, "--jobs", "2"]
    if executor == "mpi":
        command = [mpiexec(), "-n", "3", *command]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more
    )


def ended(process):
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def children_of(pid):
    """Return the processes whose parent is *pid*."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(path.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(path.parent.name))
        except (OSError, IndexError):
            continue
    return found


def wait_for_a_part(folder, process):
    """Wait until something is in the store and the process is not at its end."""
    while not parts(folder) and process.poll() is None:
        time.sleep(0.02)


def test_what_is_done_is_not_done_again(study_file, tmp_path):
    first = run_study(study_file(), tmp_path / "study")
    again = run_study(study_file(), tmp_path / "study")
    assert (first.computed, again.computed) == (CELLS, 0)
    assert len(parts(tmp_path / "study")) == 1


def test_a_study_is_finished_after_it_was_interrupted(study_file, tmp_path):
    run_study(study_file(), tmp_path / "whole")

    def interrupt(progress):
        if progress.done >= 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_study(study_file(), tmp_path / "study", tell=interrupt)
    kept = len(read_table(tmp_path / "study"))
    assert 10 <= kept < CELLS
    assert run_study(study_file(), tmp_path / "study").computed == CELLS - kept
    pd.testing.assert_frame_equal(answers(tmp_path / "study"), answers(tmp_path / "whole"))


@pytest.mark.slow
@pytest.mark.usefixtures("slowly")
def test_a_study_is_finished_after_its_process_was_killed(study_file, tmp_path):
    run_study(study_file(*SLOW_STUDY), tmp_path / "whole", trust=True, executor="threads", jobs=2)
    process = started(study_file(*SLOW_STUDY), tmp_path / "study", "processes")
    wait_for_a_part(tmp_path / "study", process)
    process.kill()
    process.communicate()
    (tmp_path / "study" / "cells" / ".x.1a2b3c4d.tmp.parquet").write_text("half a fi")
    assert len(read_table(tmp_path / "study")) > 0  # all of them, if this process had to wait
    code, _, err = ended(started(study_file(*SLOW_STUDY), tmp_path / "study", "processes"))
    assert code == 0, err
    pd.testing.assert_frame_equal(answers(tmp_path / "study"), answers(tmp_path / "whole"))
    assert not list((tmp_path / "study" / "cells").glob(".*tmp*"))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The answers of a study that nobody kills, by its file: the same for all executors."""
    known = {}

    def compute(file):
        text = file.read_text()
        if text not in known:
            folder = tmp_path_factory.mktemp("whole")
            run_study(file, folder, trust=True, executor="threads", jobs=4)
            known[text] = answers(folder)
        return known[text]

    return compute


@pytest.mark.slow
@pytest.mark.usefixtures("slowly")
@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_study_is_finished_after_many_murders(study_file, undisturbed, tmp_path, executor):
    """The command or one of its processes is killed at any moment, or the disk is full.

    The store is one for all executors: the first one sees each kind of murder, the others one each.
    """
    file = study_file(*SLOW_STUDY, ("seeds: 2", "seeds: 6"))
    whole = undisturbed(file)
    assert (whole["status"] == "done").all(), set(whole["error"].dropna())
    moments = random.Random(executor)
    number = EXECUTORS.index(executor)
    for murder in range(9) if LONG else [number % 3] if number else range(3):
        full = {"preexec_fn": disk_of_some_bytes} if murder % 3 == 2 else {}
        process = started(file, tmp_path / "study", executor, cwd=tmp_path, **full)
        time.sleep(moments.uniform(0.3, 3.0))
        victims = children_of(process.pid) if murder % 2 else []
        for pid in [moments.choice(victims)] if victims else [process.pid]:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.3)
        process.kill()
        process.communicate()
    code, _, err = ended(started(file, tmp_path / "study", executor, cwd=tmp_path))
    assert code == 0, err
    pd.testing.assert_frame_equal(answers(tmp_path / "study"), whole)


def disk_of_some_bytes():
    """Refuse files that are longer than the lock and the header."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def test_a_full_disk_is_told_and_nothing_is_lost(study_file, tmp_path):
    run_study(study_file(), tmp_path / "whole")
    full = started(study_file(), tmp_path / "study", "serial", preexec_fn=disk_of_some_bytes)
    code, _, err = ended(full)
    assert code == 1
    assert f"Error: cannot write {tmp_path}/study/cells/" in err
    assert read_header(tmp_path / "study").cells == CELLS
    run_study(study_file(), tmp_path / "study")
    pd.testing.assert_frame_equal(answers(tmp_path / "study"), answers(tmp_path / "whole"))


def test_a_folder_may_have_a_colon_in_its_name(study_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_study(study_file(), "study:2")
    assert len(answers(Path("study:2"))) == CELLS


def test_cells_that_stand_in_two_files_count_once(study_file, tmp_path):
    """As when a process is killed that has merged files and not removed the old ones."""
    run_study(study_file(), tmp_path / "study")
    whole = answers(tmp_path / "study")
    (one,) = parts(tmp_path / "study")
    one.with_name("another.parquet").write_bytes(one.read_bytes())
    pd.testing.assert_frame_equal(answers(tmp_path / "study"), whole)
    run_study(study_file(), tmp_path / "study")
    assert len(parts(tmp_path / "study")) == 1
    pd.testing.assert_frame_equal(answers(tmp_path / "study"), whole)


def test_only_one_process_adds_to_a_store(study_file, tmp_path):
    run_study(study_file(), tmp_path / "study")
    code = "import sys, time\nfrom pathlib import Path\nfrom tasksim.base.lockfile import locked\n"
    code += f"with locked(Path({str(tmp_path / 'study' / 'cells')!r})):\n"
    code += "    print('locked', flush=True)\n    time.sleep(60)\n"
    other = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    with other:
        assert other.stdout.readline() == "locked\n"
        with pytest.raises(InputError, match=f"process {other.pid} on "):
            run_study(study_file(), tmp_path / "study")
        assert len(read_table(tmp_path / "study")) == CELLS
        other.kill()
    with locked(tmp_path / "study" / "cells", wait=False):
        pass


def test_a_part_that_is_no_more_what_it_was_is_told(study_file, tmp_path):
    run_study(study_file(), tmp_path / "study")
    (one,) = parts(tmp_path / "study")
    data = one.read_bytes()
    one.write_bytes(data[: len(data) // 2])
    with pytest.raises(InputError, match=r"cannot be read: .*; remove it to have its cells"):
        read_table(tmp_path / "study")
    one.unlink()
    assert run_study(study_file(), tmp_path / "study").computed == CELLS


def test_a_store_of_a_newer_version_is_refused(study_file, tmp_path):
    run_study(study_file(), tmp_path / "study")
    header = tmp_path / "study" / "study.json"
    header.write_text(json.dumps({**json.loads(header.read_text()), "version": 2}))
    for call in (
        lambda: read_table(tmp_path / "study"),
        lambda: run_study(study_file(), tmp_path / "study"),
    ):
        with pytest.raises(InputError, match="version 2 is newer than 1, which"):
            call()


def test_a_folder_of_something_else_is_left_alone(study_file, tmp_path):
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "thesis.tex").touch()
    with pytest.raises(InputError, match=r"holds 'thesis.tex' and no study; choose another folder"):
        run_study(study_file(), tmp_path / "study")


def test_two_studies_do_not_go_into_one_folder(study_file, tmp_path):
    run_study(study_file(), tmp_path / "study")
    other = study_file(("name: small", "name: other"))
    with pytest.raises(InputError, match="holds the study 'small', this one is 'other': choose an"):
        run_study(other, tmp_path / "study", extend=True)


CHANGED_STUDY = [
    ("- lws", "- lws\n  - prio"),
    ("[3, 4]", "[4, 5]"),
    ("seeds: 2", "seeds: 3"),
    ("noise: model\n", "noise: model\nwhere: graph != 'qr tiles=3' or seed == 2\n"),
]


def test_a_study_that_has_changed_is_refused_with_what_has_changed(study_file, tmp_path):
    run_study(study_file(), tmp_path / "study")
    before = answers(tmp_path / "study")
    with pytest.raises(InputError) as caught:
        run_study(study_file(*CHANGED_STUDY), tmp_path / "study")
    said = str(caught.value)
    for line in (
        "graphs, cholesky, graph.tiles: + 5", "graphs, cholesky, graph.tiles: - 3",
        "schedulers: + prio", "seeds: + 2", "where: + graph != 'qr tiles=3' or seed == 2",
        "extend=True adds the new cells; or choose another folder",
    ):  # fmt: skip
        assert line in said
    pd.testing.assert_frame_equal(answers(tmp_path / "study"), before)


def test_a_study_is_extended(study_file, tmp_path):
    run_study(study_file(), tmp_path / "study")
    before = answers(tmp_path / "study")
    outcome = run_study(study_file(*CHANGED_STUDY), tmp_path / "study", extend=True)
    run_study(study_file(*CHANGED_STUDY), tmp_path / "other")
    after, fresh = answers(tmp_path / "study"), answers(tmp_path / "other")
    assert outcome.cells == len(fresh)
    pd.testing.assert_frame_equal(after.head(len(fresh)), fresh, check_dtype=False)
    # What the file asks no more stays: it adds.
    assert set(after["cell"]) == {*before["cell"], *fresh["cell"]}
    assert outcome.computed == len({*fresh["cell"]} - {*before["cell"]})


def test_cells_of_files_that_have_changed_give_way(study_file, tmp_path):
    platform = tmp_path / "mine.yaml"
    platform.write_text("version: 1\nextends: xeon-24c\nname: mine\n")
    path = study_file(("- xeon-2c", "- ./mine.yaml"))
    run_study(path, tmp_path / "study")
    before = answers(tmp_path / "study")
    platform.write_text("version: 1\nextends: xeon-24c\nname: mine\narch: {cpu: {speed: 2}}\n")
    with pytest.raises(InputError, match=r"files that it names .* have changed"):
        run_study(path, tmp_path / "study")
    outcome = run_study(path, tmp_path / "study", extend=True)
    after = answers(tmp_path / "study")
    assert (len(after), outcome.computed) == (CELLS, CELLS // 3)
    same = after["cell"].isin(before["cell"])
    assert (~same).sum() == CELLS // 3
    assert (after["makespan_s"][~same] < before["makespan_s"][~same]).all()


def test_failed_cells_are_tried_again_on_request(study_file, tmp_path):
    path = study_file(("- qr tiles=3", "- jacobi block_rows=1 block_columns=1"))
    first = run_study(path, tmp_path / "study")
    assert first.failed == CELLS // 3
    assert run_study(path, tmp_path / "study")[1:3] == (0, CELLS // 3)
    assert run_study(path, tmp_path / "study", retry=True)[1:3] == (CELLS // 3, CELLS // 3)
    assert len(read_cells(tmp_path / "study")) == CELLS


def test_copies_of_a_store_are_stores(study_file, tmp_path):
    run_study(study_file(), tmp_path / "study")
    copytree(tmp_path / "study", tmp_path / "copy")
    pd.testing.assert_frame_equal(read_table(tmp_path / "copy"), read_table(tmp_path / "study"))
