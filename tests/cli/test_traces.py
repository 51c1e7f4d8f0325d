"""`tasksim import trace`, `import workflow`, `export FORMAT RUN`, `report account`."""

import json

import pytest

WORKERS = "--workers 2 --durations potrf=1,trsm=3,syrk=3,gemm=6"


@pytest.fixture
def run(tasksim, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert tasksim(f"simulate cholesky tiles=3 {WORKERS} -o run").code == 0
    return "run"


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("perfetto", "run.json.gz"),
        ("starvz", "starvz"),
        ("csv", "run.csv"),
        ("tasks.rec", "tasks.rec"),
    ],
)
def test_what_is_exported_is_imported_and_replayed(tasksim, run, form, name):
    arrows = " --arrows all" if form == "perfetto" else ""
    assert tasksim(f"export {form} {run} -o {name}{arrows}").code == 0
    assert tasksim(f"export {form} {run} -o {name}").code == 2  # it is there
    assert tasksim(f"validate {name}").out.startswith(f"{name}: ok, trace of 10 tasks")
    imported = tasksim(f"import trace {name} -o again --json")
    assert imported.code == 0
    found = json.loads(imported.out)
    assert (found["tasks"], found["makespan_s"], found["skipped"]) == (10, 20.0, 0)
    again = tasksim("simulate again --durations measured --scheduler static:file=again --json")
    assert json.loads(again.out)["makespan_s"] == 20.0


def test_graphs_are_exported_and_imported(tasksim, run):
    for form, name in (("dot", "run.dot"), ("wfformat", "flow.json")):
        assert tasksim(f"export {form} {run} -o {name}").code == 0
        assert tasksim(f"validate {name}").out.startswith(f"{name}: ok, task graph cholesky: 10")
        done = tasksim(f"import workflow {name} -o {form}.npz")
        assert "10 tasks, 12 dependencies" in done.out
        simulated = tasksim(f"simulate {form}.npz --workers 2 --json")
        assert json.loads(simulated.out)["graph"]["tasks"] == 10


def test_the_account_adds_up(tasksim, run):
    found = json.loads(tasksim(f"report account {run} --json").out)
    parts = ("replayed_s", "submission_s", "busy_s", "idle_s")
    assert sum(found[part] for part in parts) == found["recorded_s"] == 20.0
    assert "recorded makespan" in tasksim(f"report account {run}").out


def test_bad_records_are_counted(tasksim, run):
    from pathlib import Path

    Path("bad.csv").write_text("kernel,worker,start,end\na,w,0,1\na,w,5,4\n")
    refused = tasksim("import trace bad.csv -o bad")
    assert (refused.code, refused.err) == (
        2, "Error: bad.csv:3: task 1: it ends (4 s) before it starts (5 s)\n",
    )  # fmt: skip
    assert not Path("bad").exists()
    passed = tasksim("import trace bad.csv -o bad --skip-bad")
    assert "bad (1 task)" in passed.out
    assert "skipped: bad.csv:3: task 1" in passed.err
    assert Path("bad").exists()


RANK = """\
Name: work
JobId: {rank}_1
SubmitOrder: 1
WorkerId: 0
MemoryNode: 0
SubmitTime: 2.0
StartTime: 2.0
EndTime: {end}
MPIRank: {rank}

"""


def test_the_command_that_is_proposed_keeps_tasks_on_their_ranks(tasksim, tmp_path, monkeypatch):
    """Any other scheduler gives the one task of the slow rank to either."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tasks.rec").write_text(RANK.format(rank=0, end=4.0) + RANK.format(rank=1, end=9.0))
    imported = tasksim("import trace tasks.rec -o ranks")
    proposed = imported.out.rpartition("Next:\n")[2].partition("#")[0].split()
    assert proposed[-1] == "static:file=ranks"
    replayed = tasksim(" ".join([*proposed[1:], "-o", "replayed"]))
    assert replayed.code == 0
    assert "makespan       7 ms" in replayed.out
    assert "no message between nodes was timed: their links have 1 TB/s" in imported.out
