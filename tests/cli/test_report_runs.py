"""`tasksim report kernels`: which runs it takes, and what it says of each."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from recorded_sizes import SIZES, cholesky, law, recorded, save_model

from tasksim.base.errors import InputError
from tasksim.formats.graphs import graph_of
from tasksim.graph.apps.registry import GENERATORS, generate
from tasksim.graph.builder import RW, GraphBuilder
from tasksim.graph.graph_file import save as save_graph
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.samples import Samples
from tasksim.run.runfolder import load, save
from tasksim.run.samples import RecordedRun, recorded_kernels


def test_shifts_between_runs_show(tasksim, many_sizes, models):
    for number, factor in enumerate((1.0, 1.0, 1.5)):
        many_sizes(f"run{number}", factor, seed=number)
    called = tasksim(f"report kernels run0 run1 run2 {models} -o out --json")
    row = next(row for row in called.json["kernels"] if row["kernel"] == "work")
    assert row["tasks"] == 3 * 96
    assert re.match(r"run 2 took (49|50|51) % longer", row["first_warning"])
    assert "run2" in Path("out/work.html").read_text()


def test_samples_are_parameters_and_durations_by_task():
    small, large = cholesky(64), cholesky(128)
    runs = [RecordedRun(Path(n), r, graph_of(r, Path(n))) for n, r in (("a", small), ("b", large))]
    kernels = {kernel.name: kernel for kernel in recorded_kernels(runs)}
    counts = {name: len(kernel.samples) for name, kernel in kernels.items()}
    assert counts == {"potrf": 8, "trsm": 12, "syrk": 12, "gemm": 8}
    potrf = kernels["potrf"]
    assert potrf.samples.names == ("n",)
    assert potrf.samples.parameters[:, 0].tolist() == [64.0] * 4 + [128.0] * 4
    assert potrf.samples.runs.tolist() == [0] * 4 + [1] * 4
    assert potrf.samples.durations_s[0] == pytest.approx(1e-3)
    # A potrf updates one tile of float64 in place.
    assert potrf.with_sizes().parameters[:, 1].tolist() == [8 * 64**2] * 4 + [8 * 128**2] * 4
    total = small.tasks.duration_s.sum() + large.tasks.duration_s.sum()
    assert sum(kernel.total_s for kernel in kernels.values()) == pytest.approx(total)


def test_architectures_are_kept_apart(many_sizes, tmp_path):
    graph = generate("cholesky", tiles=4, tile_size=64)
    run = recorded(graph, np.full(len(graph), 1e-3), ("cpu", "cuda"))
    found = recorded_kernels([RecordedRun(tmp_path, run, graph)])
    gemm = {k.architecture: len(k.samples) for k in found if k.name == "gemm"}
    assert set(gemm) == {"cpu", "cuda"}
    assert sum(gemm.values()) == 4


def test_barriers_which_take_no_time_are_no_kernels(tmp_path):
    """A kernel of which only some tasks took no time is refused: errors are relative."""
    builder = GraphBuilder("bare")
    work = [builder.insert("work") for _ in range(2)]
    builder.insert("barrier", after=work)
    graph = builder.build()
    run = recorded(graph, np.array([1.0, 2.0, 0.0]))
    assert [k.name for k in recorded_kernels([RecordedRun(tmp_path, run, graph)])] == ["work"]
    run = recorded(graph, np.array([1.0, 0.0, 0.0]))
    with pytest.raises(InputError, match=r"kernel work: sample 1: duration 0\.0 s"):
        recorded_kernels([RecordedRun(tmp_path, run, graph)])


def test_where_nothing_varies_there_is_nothing_to_fit(tasksim):
    save(cholesky(64), Path("run"))
    called = tasksim("report kernels run -o out")
    assert called.code == 2
    assert "potrf: all its tasks have n=64, nothing varies" in called.err
    assert "--models" in called.err
    assert not Path("out").exists()


def test_kernels_without_parameters(tasksim, tmp_path):
    builder = GraphBuilder("bare")
    builder.insert("nothing", RW(builder.handle("x", size_bytes=8)))
    graph = builder.build()
    save_graph(graph, tmp_path / "bare.npz")
    save(recorded(graph, np.ones(1), config={"graph": {"name": "bare.npz"}}), Path("run"))
    called = tasksim("report kernels run -o out")
    assert called.code == 2
    assert "nothing: it has no parameters" in called.err


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"graph_name": "mine"}, "unknown generator 'mine'"),
        ({"graph_arguments": {"tiles": 4, "colour": 3}}, "unknown parameter 'colour'"),
        ({"graph_arguments": {"tiles": 5, "tile_size": 64}}, "35 tasks, the run has 20"),
        ({"graph_arguments": {"tiles": 4}, "kernel_names": tuple("abcd")}, "task 0 is potrf"),
        ({"config": {"graph": {"name": "gone.npz"}}}, "gone.npz"),
        ({"config": {"graph": {"name": "costs.csv", "path": None}}}, "tasks that have no param"),
    ],
)
def test_graphs_that_cannot_be_made_again(tasksim, changes, said):
    save(replace(cholesky(64), **changes), Path("run"))
    called = tasksim("report kernels run -o out")
    assert called.code == 2
    assert said in called.err
    assert called.err.startswith("Error: run: ")
    assert not Path("out").exists()


def test_one_name_for_kernels_of_different_parameters(tasksim, many_sizes):
    many_sizes("a")
    many_sizes("b", names=("m", "k"))
    called = tasksim("report kernels a b -o out")
    assert called.code == 2
    assert "kernel work has the parameters (m, k) in b, but (n) in a" in called.err
    assert not Path("out").exists()


def test_simulated_runs_tell_what_their_models_say(tasksim, many_sizes, models):
    graph = many_sizes("run")
    save_model("models", "fixed", HistoryModel().fit(Samples(("n",), [[7.0]] * 9, [1e-3] * 9)))
    assert tasksim(f"simulate ./n.npz {models} --workers 2 -o simulated").code == 0
    assert len(load("simulated")) == len(graph)
    called = tasksim(f"report kernels simulated {models} -o out --json")
    assert called.code == 0, called.err
    for row in called.json["kernels"]:
        assert row["kind"] == "history"
        assert row["reason"].startswith("the runs were simulated with this model")
        assert row["mlogq"] is row["report"] is row["first_warning"] is None
    assert "simulated with this model" in Path("out/index.html").read_text()
    printed = tasksim(f"report kernels simulated {models}")
    assert "work: the runs were simulated with this model" in printed.out


def test_simulated_runs_that_others_predicted_are_said_to_be(tasksim, many_sizes, models):
    many_sizes("run")
    sizes = np.array(SIZES, dtype=float)
    other = HistoryModel().fit(Samples(("n",), sizes[:, None], 1.2 * law(sizes)))
    save_model("models", "fixed", HistoryModel().fit(Samples(("n",), [[7.0]] * 9, [1e-3] * 9)))
    assert tasksim(f"simulate ./n.npz {models} --workers 2 -o simulated").code == 0
    save_model("others", "work", other)
    called = tasksim("report kernels simulated --models ./others --kernel work --json")
    (row,) = called.json["kernels"]
    # The law gives microseconds, of which a simulation keeps whole nanoseconds.
    assert row["mlogq"] == pytest.approx(np.log(1.2), rel=1e-3)
    assert row["first_warning"].startswith("the tasks were simulated")
    mixed = tasksim("report kernels simulated run --models ./others --kernel work --json")
    assert "were simulated" not in mixed.json["kernels"][0]["first_warning"]


APPLICATION = """
import tasksim
from tasksim import RW

@tasksim.kernel(parameters=lambda x: {"n": len(x)})
def double(x: RW):
    x *= 2

@tasksim.application("doubles-of-many")
def doubles(g, n=10, parts=12):
    for x in g.arrays("x", [n * (i + 1) for i in range(parts)]):
        g.insert(double, x)
"""


def test_runs_of_an_application_keep_their_graph_so_that_nothing_is_imported(tasksim, tmp_path):
    (tmp_path / "doubles.py").write_text(APPLICATION)
    for n in (10, 1000):
        assert tasksim(f"run doubles.py n={n} --workers 1 -o native{n}").code == 0
    sys.modules.pop("doubles")
    reported = tasksim("report kernels native10 native1000 --terms double=n --json")
    assert (reported.code, reported.json["kernels"][0]["tasks"]) == (0, 24), reported.err
    assert "doubles" not in sys.modules
    GENERATORS._found.pop("doubles-of-many")


def test_without_its_graph_the_file_that_a_run_names_is_imported_on_request_only(tasksim, tmp_path):
    (tmp_path / "doubles.py").write_text(APPLICATION.replace("doubles-of-many", "doubles-again"))
    assert tasksim("run doubles.py --workers 1 -o native").code == 0
    (tmp_path / "native" / "graph.npz").unlink()
    sys.modules.pop("doubles")
    refused = tasksim("report kernels native --terms double=n")
    assert "it names the generator 'doubles.py'" in refused.err
    assert "doubles" not in sys.modules
    GENERATORS._found.pop("doubles-again")
    assert tasksim("report kernels native --terms double=n --trust").code == 0
    GENERATORS._found.pop("doubles-again")
