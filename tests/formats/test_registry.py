"""Formats by name: of other packages, told by content or suffix, for every verb."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

import tasksim
from tasksim.base.errors import InputError
from tasksim.cli.main import cli
from tasksim.formats.registry import FORMATS, Format, GraphInput, format_of
from tasksim.formats.runs import read_trace
from tasksim.formats.samples import read_samples
from tasksim.graph.builder import GraphBuilder
from tasksim.models.samples import Samples
from tasksim.scenario.recorded import recorded_runs


def _read_graph(path):
    g = GraphBuilder("edges")
    for line in path.read_text().split()[1:]:
        g.insert(line, duration_s=1.0)
    return GraphInput(g.build())


def _read_samples(path, duration, parameters, part):
    return Samples(("m",), np.array([[1.0]]), np.array([2.0]))


def _write_run(run, path, force):
    path.write_text(json.dumps([run.makespan_s, force]))


def _write_models(models, path, force):
    path.write_text(" ".join(models.kernels()))
    return ["no spread"]


THEIRS = Format(
    summary="A word a task.",
    suffixes=(".words",),
    recognises=lambda path, head: head.startswith(b"WORDS"),
    reads_graph=_read_graph,
    reads_run=lambda path: json.loads(path.read_text()),
    reads_platform=lambda path: tasksim.Platform.identical(3),
    reads_samples=_read_samples,
    writes_run=_write_run,
    writes_models=_write_models,
)


@pytest.fixture
def theirs(monkeypatch, package, tmp_path):
    monkeypatch.setitem(sys.modules, "theirs", SimpleNamespace(words=THEIRS))
    package("theirs", {"tasksim.formats": {"words": "theirs:words"}})
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["a.words", "a.csv", "a.yaml", "a.npz", "a"])
def test_content_decides_before_any_suffix(theirs, name):
    (theirs / name).write_text("WORDS a b c\n")
    assert tasksim.load_graph(name).kernels == ("a", "b", "c")
    assert len(tasksim.load_platform(name).workers) == 3
    assert read_samples(theirs / name).names == ("m",)


def test_a_suffix_decides_where_there_is_no_content(theirs):
    run = tasksim.simulate(
        tasksim.generate("chain", length=2),
        tasksim.Platform.identical(1),
        tasksim.ConstantLibrary({"task": 1.0}),
    )
    tasksim.save_run(run, "out.words")
    assert tasksim.load_run("out.words") == [2.0, False]
    tasksim.save_run(run, "out")
    assert tasksim.load_run("out").makespan_s == 2.0
    assert tasksim.load_run("out/run.json").makespan_s == 2.0


def test_settings_are_for_platform_files(theirs):
    (theirs / "a.words").write_text("WORDS\n")
    with pytest.raises(InputError, match=r"a.words: settings change only platform files \(.yaml\)"):
        tasksim.load_platform("a.words", settings=["platform.workers.cpu.count=2"])


def test_costs_are_one_of_the_formats(tmp_path):
    costs = FORMATS.find("costs")
    (tmp_path / "x.costs.txt").write_text("task,P0,P1\nT1,1,2\n")
    (tmp_path / "schedule.csv").write_text("task,worker\nT1,P0\n")
    assert format_of(tmp_path / "x.costs.txt", "reads_graph") is costs
    assert format_of(tmp_path / "not_there.csv", "reads_graph") is costs
    assert format_of(tmp_path / "schedule.csv", "reads_platform") is costs  # by its suffix alone
    assert format_of(tmp_path / "not_there", "reads_graph") is None
    (tmp_path / "x.edges.txt").write_text("from,to,volume\n")
    assert len(tasksim.load_platform(tmp_path / "x.costs.txt").workers) == 2
    with pytest.raises(
        InputError,
        match="a file of costs per processor brings its own platform; legal here: a graph a",
    ):
        tasksim.load_graph(str(tmp_path / "x.costs.txt"))


WITHOUT_SUFFIX = (
    "run", "starvz", "pj_dump", "wfformat", "estee", "extra-p", "starpu-codelet", "starpu-samples",
    "tfprof", "joblog", "ninja", "nextflow", "pegasus", "cargo", "ci-jobs", "junit",
    "snakemake", "spark",
)  # fmt: skip


def test_every_format_says_what_it_does():
    for name, each in FORMATS.items().items():
        assert each.verbs(), name
        assert each.summary.endswith("."), name
        assert each.suffixes or name in WITHOUT_SUFFIX


def test_files_of_other_formats_are_validated(theirs):
    (theirs / "a.words").write_text("WORDS a b c\n")
    (theirs / "b.tool").write_text("WORDS a\n")
    (theirs / "c.tool").write_text("a\n")
    called = CliRunner().invoke(cli, ["validate", "a.words", "b.tool", "c.tool"])
    assert called.stdout == (
        "a.words: ok, task graph edges: 3 tasks, 0 edges\n"
        "b.tool: ok, task graph edges: 1 tasks, 0 edges\n"
    )
    assert called.stderr.startswith("Error: c.tool: not a kind of file that can be checked")
    assert called.exit_code == 2


def test_a_run_of_a_graph_in_another_format_is_repeated_and_reported(theirs):
    (theirs / "a.words").write_text("WORDS a b c\n")
    called = CliRunner().invoke(cli, ["simulate", "a.words", "--workers", "2", "-o", "run"])
    assert called.exit_code == 0, called.output
    assert CliRunner().invoke(cli, ["simulate", "--from", "run"]).exit_code == 0
    (recorded,) = recorded_runs([(theirs / "run", tasksim.load_run("run"))])
    assert recorded.graph.kernels == ("a", "b", "c")


def test_models_are_exported_to_another_format(theirs):
    called = CliRunner().invoke(cli, ["export", "models", "xeon-2c", "-o", "all.words"])
    assert called.exit_code == 0, called.output
    assert "note: no spread" in called.stdout
    assert {"gemm", "potrf"} <= set((theirs / "all.words").read_text().split())


def test_an_empty_file_is_called_empty_whatever_was_expected(tmp_path):
    path = tmp_path / "jobs.log"
    path.touch()
    for read in (read_trace, tasksim.load_graph, tasksim.load_run):
        with pytest.raises(InputError, match=r"jobs\.log: the file is empty"):
            read(str(path))


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("app-1.zstd", "'zstd -d .*app-1.zstd' unpacks it"),
        ("gpu.nsys-rep", "'nsys stats --report cuda_gpu_trace .*gpu.nsys-rep' writes a table"),
        ("boot.pftrace", "'traceconv json .*boot.pftrace run.json' of Perfetto"),
    ],
)
def test_binary_traces_are_refused_with_the_program_that_converts_them(tmp_path, name, hint):
    path = tmp_path / name
    path.write_bytes(b"\x28\xb5\x2f\xfd\x00")
    with pytest.raises(InputError, match=f"{name}: not read as it is: {hint}"):
        read_trace(path)
