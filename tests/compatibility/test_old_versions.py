"""Files as earlier versions wrote them, read with the code of now.

``write_old_versions.py`` wrote them. There is a folder per kind of file, and in it one per version
whose files had another shape; its name has the date and the commit.
"""

import importlib.util
import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

import tasksim
from tasksim.base.errors import InputError
from tasksim.cli.main import cli
from tasksim.models.files.store import load_kernel
from tasksim.run.header import check_header
from tasksim.run.runchecks import check_records
from tasksim.study.sweep.store import read_header
from tasksim.tuning.tree_file import tree_from_json

spec = importlib.util.spec_from_file_location(
    "write_old_versions", Path(__file__).with_name("write_old_versions.py")
)
writer = importlib.util.module_from_spec(spec)
spec.loader.exec_module(writer)

KEPT = writer.KEPT_FILES
RUNS = {
    "run-cluster": ("simulated", 10, 17.0003972),
    "run-gpu": ("simulated", 10, None),
    "run-models": ("simulated", 10, None),
    "run-numa": ("simulated", 10, None),
    "run-of-object": ("simulated", 2, 2.0),
    "run-simulated": ("simulated", 10, 20.0),
    "run-uncertain": ("simulated", 10, None),
    "run-native": ("native", 10, None),
    "run-recorded": ("native", 4, None),
}
"""Kind of run -> what it reads as: its kind, its tasks, its makespan where all versions agree."""
BEFORE_SUBMISSIONS_OVERLAP = ("20261120", "20261121", "20261122", "20261124")
"""Days before tasks were submitted one by one as workers start: runs with that cost differ."""


def kept(start):
    """Return the folders of all versions of the kinds that begin so."""
    return [
        pytest.param(folder, id=folder.relative_to(KEPT).as_posix())
        for kind in sorted(KEPT.iterdir())
        if kind.name.startswith(start)
        for folder in sorted(kind.iterdir())
    ]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A working directory with the platforms that the runs name."""
    for name, text in writer.INPUT_FILES.items():
        if name.startswith("platforms/"):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "user"))
    return tmp_path


def called(line):
    """Call a command line; return what it prints."""
    result = CliRunner().invoke(cli, shlex.split(line), prog_name="tasksim")
    assert result.exit_code == 0, result.output
    return result.stdout


def test_every_kind_is_kept():
    assert sorted(writer.STEPS) == sorted(folder.name for folder in KEPT.iterdir())


def test_the_page_lists_what_is_kept():
    page = (KEPT.parents[2] / "docs" / "compatibility.md").read_text()
    told = re.findall(r"^\| `([\w-]+)` \| (\d+) \| (\S+) \| (\S+) \|", page, re.MULTILINE)
    kinds = {
        kind.name: sorted(version.name[:8] for version in kind.iterdir()) for kind in KEPT.iterdir()
    }
    assert told == [
        (name, str(len(days)), _date(days[0]), _date(days[-1]))
        for name, days in sorted(kinds.items())
    ]


def _date(day):
    return f"{day[:4]}-{day[4:6]}-{day[6:]}"


@pytest.mark.parametrize("folder", kept("run-"))
def test_runs_are_read_and_right(folder):
    run = tasksim.load_run(folder)
    check_records(run, folder)
    check_header(run, folder / "run.json")
    kind, tasks, makespan_s = RUNS[folder.parent.name]
    assert (run.kind, len(run)) == (kind, tasks)
    if makespan_s is not None:
        assert run.makespan_s == pytest.approx(makespan_s, rel=1e-9)


@pytest.mark.parametrize("folder", kept("run-"))
def test_runs_written_anew_are_the_same(folder, here):
    run = tasksim.load_run(folder)
    tasksim.save_run(run, here / "anew")
    assert tasksim.load_run(here / "anew") == run


def reproducible(folder):
    """Return whether a run is simulated, and all that it names is there."""
    run = tasksim.load_run(folder)
    return run.kind == "simulated" and ("object" not in run.config["graph"] or run.graph)


@pytest.mark.parametrize(
    "folder", [param for param in kept("run-") if reproducible(param.values[0])]
)
def test_simulated_runs_are_reproduced_or_the_first_difference_is_named(folder):
    found = tasksim.load_run(folder).reproduce()
    costs_of_runtime = folder.parent.name in ("run-models", "run-uncertain")
    if costs_of_runtime and folder.name.startswith(BEFORE_SUBMISSIONS_OVERLAP):
        assert not found.same
        assert "is submitted; in the other run" in found.first_difference
    else:
        assert found.same, found.first_difference


@pytest.mark.parametrize("folder", kept("models-"))
def test_kernel_models_predict_what_they_were_fitted_to(folder):
    (entry,) = load_kernel(folder / "gemm.json").architectures.values()
    sizes = [64.0] * len(entry.model.names_)
    assert float(entry.model.predict([sizes])[0]) == pytest.approx(1e-9 * 64**3, rel=0.05)


@pytest.mark.parametrize("folder", kept("calibration"))
def test_calibrations_simulate(folder):
    library = shlex.quote(str(folder))
    said = called(
        f"simulate cholesky tiles=3 tile_size=16 --platform here --library {library} --json"
    )
    found = json.loads(said)
    assert (found["workers"], found["makespan_s"] > 0) == (2, True)


@pytest.mark.parametrize("folder", kept("graph"))
def test_graphs_are_read(folder):
    graph = tasksim.load_graph(str(folder / "small.npz"))
    assert (len(graph), graph.edges, graph.kernels) == (2, 1, ("work",))


@pytest.mark.parametrize("folder", kept("study"))
def test_stores_of_studies_are_read(folder):
    assert read_header(folder).cells == 4
    found = json.loads(called(f"study table {shlex.quote(str(folder))} --json"))
    makespans = [row["makespan_s"] for row in found["rows"]]
    assert makespans == [8.0, 8.0, 17.0, 17.0]


@pytest.mark.parametrize("folder", kept("tree"))
def test_decision_trees_are_read(folder):
    path = folder / "tree.json"
    assert tree_from_json(json.loads(path.read_text()), path).choose == "scheduler"


@pytest.mark.parametrize("folder", kept("optimum"))
def test_searches_for_a_schedule_go_on(folder, here):
    shutil.copytree(folder, here / "best")
    given = "--workers 2 --durations potrf=1,trsm=3,syrk=3,gemm=6 --method annealing --steps 5"
    called(f"optimize cholesky tiles=3 {given} --resume -o best")


@pytest.mark.slow  # it draws what it finds
@pytest.mark.parametrize("folder", kept("adversary"))
def test_searches_of_an_adversary_go_on(folder, here):
    shutil.copytree(folder, here / "worst")
    called("study adversary heft cpop --tasks 4 --workers 2 --steps 5 --runs 1 --keep 1 -o worst")


NEWER = "is newer than [12], which this tasksim reads: update tasksim"


@pytest.mark.parametrize(
    ("kind", "file", "key", "read"),
    [
        ("run-simulated", "run.json", ("schema_version",), tasksim.load_run),
        ("run-simulated", "run.json", ("config", "version"),
         lambda p: tasksim.load_run(p).reproduce()),
        ("models-mlr", "gemm.json", ("schema_version",), lambda p: load_kernel(p / "gemm.json")),
        ("study", "study.json", ("version",), read_header),
        ("tree", "tree.json", ("version",),
         lambda p: tree_from_json(json.loads((p / "tree.json").read_text()), p)),
    ],
)  # fmt: skip
def test_files_of_a_newer_version_are_refused_in_the_same_words(here, kind, file, key, read):
    last = sorted((KEPT / kind).iterdir())[-1]
    shutil.copytree(last, here / "newer")
    data = json.loads((here / "newer" / file).read_text())
    place = data
    for name in key[:-1]:
        place = place[name]
    place[key[-1]] = 99
    (here / "newer" / file).write_text(json.dumps(data))
    with pytest.raises(InputError, match=f"version 99 {NEWER}"):
        read(here / "newer")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "version: 99\nworkers: {cpu: {count: 1}}\n",
            "simulate cholesky tiles=2 --platform newer.yaml",
        ),
        (
            writer.INPUT_FILES["study.yaml"].replace("version: 1", "version: 99"),
            "study run newer.yaml -o x",
        ),
    ],
)
def test_texts_of_a_newer_version_are_refused_in_the_same_words(here, text, line):
    (here / "newer.yaml").write_text(text)
    result = CliRunner().invoke(cli, shlex.split(line), prog_name="tasksim")
    assert result.exit_code == 2
    assert "version 99 is newer than 1, which this tasksim reads: update tasksim" in result.stderr
