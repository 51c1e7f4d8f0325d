"""Tasks whose parameters are names: in graphs, their files, and priced by models."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import tasksim
from tasksim.base.errors import GraphError, InputError, OutOfDomainError
from tasksim.calibration.kernel_samples import KernelSamples
from tasksim.calibration.steering import configurations_of
from tasksim.graph.builder import RW, GraphBuilder
from tasksim.graph.graph_file import load, save
from tasksim.graph.interchange import from_networkx, to_networkx
from tasksim.models.files.store import read_samples, write_samples
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.samples import Samples
from tasksim.run.samples import RecordedRun, recorded_kernels
from tasksim.selective.statistics import signatures

DURATIONS_S = {("row", 64): 2.0, ("col", 64): 3.0, ("row", 128): 16.0, ("col", 128): 20.0}


def graph_of(*tasks):
    g = GraphBuilder("layouts")
    x = g.handle("x", size_bytes=8)
    for layout, n in tasks:
        g.insert("copy", RW(x), layout=layout, n=n)
    return g.build()


@pytest.fixture
def models(tmp_path):
    """Return the path of a model file of copies by layout and size."""
    rows = [(layout, n, s) for (layout, n), s in DURATIONS_S.items()]
    layout, n, seconds = zip(*rows, strict=True)
    samples = Samples.from_columns({"n": n, "layout": layout, "duration_s": seconds})
    path = tmp_path / "models.json"
    tasksim.save_models(path, {"copy": {"cpu": HistoryModel().fit(samples)}}, machine="here")
    return path


def test_a_graph_has_names_in_order():
    graph = graph_of(("row", 64), ("col", 128), ("row", 64))
    assert graph.categories == {"copy": {"layout": ("col", "row")}}
    assert graph.parameters_of(0) == {"layout": "row", "n": 64.0}
    assert graph.label(1) == "copy #1 (layout=col, n=128)"
    assert len(graph.parameters[0]) == 2
    other = graph_of(("col", 128), ("row", 64))
    assert other.parameters[0].tolist() == [[0, 128], [1, 64]]


def test_a_parameter_is_a_name_in_all_tasks_or_in_none():
    g = GraphBuilder("mixed")
    g.insert("copy", layout="row")
    with pytest.raises(GraphError, match=r"copy #1: parameter layout is 8; legal: the name of a c"):
        g.insert("copy", layout=8)
    with pytest.raises(GraphError, match=r"copy #1: parameter layout is ''; legal: the name of a"):
        g.insert("copy", layout="")
    g.insert("scale", n=8)
    with pytest.raises(GraphError, match=r"scale #2: parameter n is 'row'; legal: a finite number"):
        g.insert("scale", n="row")
    with pytest.raises(GraphError, match=r"new #2: parameter n is None; .*, or the name of a cat"):
        g.insert("new", n=None)
    assert g.insert("copy", layout="col") == 2
    assert g.build().parameters_of(2) == {"layout": "col"}


def test_files_and_networkx_keep_the_names(tmp_path):
    graph = graph_of(("row", 64), ("col", 128), ("tile", 64))
    save(graph, tmp_path / "graph.npz")
    assert load(tmp_path / "graph.npz").same_as(graph)
    assert from_networkx(to_networkx(graph)).same_as(graph)
    G = nx.DiGraph()
    G.add_node("a", kernel="copy", parameters={"layout": "row"})
    assert from_networkx(G).parameters_of(0) == {"layout": "row"}


def test_wrong_categories_of_a_graph_are_errors():
    from dataclasses import replace

    graph = graph_of(("row", 64), ("col", 64))
    for categories, message in (
        ({"cpoy": {"layout": ("a", "b")}}, "categories of cpoy: there is no such kernel"),
        ({"copy": {"size": ("a", "b")}}, "categories of copy: there is no parameter size"),
        ({"copy": {"layout": ("a",)}}, "parameter layout is 1; legal: the number of a category, 0"),
    ):
        with pytest.raises(GraphError, match=message):
            replace(graph, categories=categories).validate()


@pytest.mark.parametrize("engine", ["simpy", "auto"])
def test_models_price_tasks_by_name(models, engine):
    tasks = [("row", 64), ("col", 128), ("row", 128), ("col", 64)]
    run = tasksim.simulate(graph_of(*tasks), workers=1, models=models, engine=engine)
    assert run.tasks.duration_s.tolist() == [DURATIONS_S[task] for task in tasks]


def test_nodes_of_a_cluster_price_tasks_by_name(models):
    tasks = [("row", 64), ("col", 128), ("row", 128)]
    network = "switch:bandwidth=100MB/s,latency=10us"
    graph = graph_of(*tasks)
    run = tasksim.simulate(graph, workers=1, models=models, nodes=2, network=network)
    assert sorted(run.tasks.duration_s.tolist()) == sorted(DURATIONS_S[task] for task in tasks)


def test_an_unseen_category_names_the_task(models):
    graph = graph_of(("row", 64), ("raw", 64))
    message = (
        r"copy on cpu: copy #1 \(layout=raw, n=64\): layout=raw: no such category was measured, "
        r"did you mean 'row'\? \(measured: col, row\)"
    )
    with pytest.raises(OutOfDomainError, match=message):
        tasksim.simulate(graph, workers=1, models=models)


def test_numbers_that_are_names_in_the_model(tmp_path):
    samples = Samples(("nodes",), [[2], [8]], [2.0, 8.0]).with_categories(["nodes"])
    path = tmp_path / "models.json"
    tasksim.save_models(path, {"send": {"cpu": HistoryModel().fit(samples)}}, machine="here")
    g = GraphBuilder("numbers")
    for nodes in (8, 2):
        g.insert("send", nodes=nodes)
    run = tasksim.simulate(g.build(), workers=1, models=path)
    assert run.tasks.duration_s.tolist() == [8.0, 2.0]
    g.insert("send", nodes=4)
    with pytest.raises(OutOfDomainError, match=r"send #2 \(nodes=4\): nodes=4: no such category"):
        tasksim.simulate(g.build(), workers=1, models=path)


def test_names_for_a_model_of_numbers_are_refused(tmp_path):
    samples = Samples(("layout",), [[2], [8]], [2.0, 8.0])
    path = tmp_path / "models.json"
    tasksim.save_models(path, {"copy": {"cpu": HistoryModel().fit(samples)}}, machine="here")
    g = GraphBuilder("names")
    g.insert("copy", layout="row")
    with pytest.raises(InputError, match=r"layout: got categories \(row\); legal: numbers"):
        tasksim.simulate(g.build(), workers=1, models=path)


def test_samples_of_a_run_have_the_names(tmp_path):
    samples = Samples.from_columns({"x": ["b", "a"], "n": [1, 2], "duration_s": [1.0, 2.0]})
    path = tmp_path / "copy.samples.csv"
    write_samples(path, {"cpu": samples})
    found = read_samples(path)["cpu"]
    assert found.categories == {"x": ("a", "b")}
    assert np.array_equal(found.parameters, samples.parameters)
    numbered = Samples(("x",), [[1]], [1.0]).with_categories(["x"])
    with pytest.raises(InputError, match="x: the category '1' is a number, which"):
        write_samples(path, {"cpu": numbered})
    path.write_text("run,architecture,x,duration_s\n,cpu,b,1\n,cpu,7,1\n,cpu,a,1\n")
    with pytest.raises(InputError, match=":3: x: expected the name of a category, got '7'"):
        read_samples(path)


def test_kernels_of_an_application_have_names(tmp_path):
    """From the application's own parameters to a model with categories."""

    @tasksim.kernel(parameters=lambda x, how: {"n": len(x), "how": how})
    def scale(x: RW, how: str) -> None:
        x *= 2.0 if how == "twice" else 3.0

    @tasksim.application("scaling")
    def scaling(g, tasks=4):
        x = g.array("x", 16)
        for task in range(tasks):
            g.insert(scale, x, how="twice" if task % 2 else "thrice")

    graph = scaling()
    assert graph.categories == {"scale": {"how": ("thrice", "twice")}}
    run = tasksim.execute(graph, workers=1, program=scaling.program(graph, 1, 0))
    samples = KernelSamples()
    samples.add_run(run, graph)
    assert samples.samples["scale"].categories == {"how": ("thrice", "twice")}
    (recorded,) = recorded_kernels([RecordedRun(tmp_path, run, graph)])
    assert recorded.samples.categories == {"how": ("thrice", "twice")}
    assert recorded.samples.parameters[:, 1].tolist() == [0, 1, 0, 1]


def test_selective_execution_tells_categories_apart():
    found, of_task = signatures(graph_of(("row", 64), ("col", 64), ("row", 64)))
    assert [str(found[place]) for place in of_task] == [
        "copy layout=row n=64", "copy layout=col n=64", "copy layout=row n=64",
    ]  # fmt: skip


def test_measuring_until_a_makespan_is_known_refuses_names():
    with pytest.raises(
        InputError, match=r"layouts: kernel copy has categories \(layout\); .* until"
    ):
        configurations_of(graph_of(("row", 64), ("col", 64)))
