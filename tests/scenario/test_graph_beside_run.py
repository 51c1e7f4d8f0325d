"""A graph that nothing can make again is kept with its run."""

import pytest

import tasksim
from tasksim.base.errors import InputError
from tasksim.graph.builder import GraphBuilder
from tasksim.run.runfolder import graph_beside, save
from tasksim.scenario.recorded import graph_of, recorded_runs


def made(tasks, name="mine"):
    g = GraphBuilder(name)
    for number in range(tasks):
        g.insert("work", duration_s=0.5 + number, after=range(number))
    return g.build()


def kept(graph, folder):
    run = tasksim.simulate(graph, workers=1)
    save(run, folder, graph=graph)
    return run


def test_a_graph_beside_a_run_is_its_graph(tmp_path):
    graph = made(3)
    run = kept(graph, tmp_path / "run")
    assert graph_beside(tmp_path / "run" / "run.json") == tmp_path / "run" / "graph.npz"
    for where in (tmp_path / "run", tmp_path / "run" / "run.json"):
        assert graph_of(run, where).same_as(graph)


def test_without_one_such_a_graph_is_lost(tmp_path):
    run = tasksim.simulate(made(3), workers=1)
    save(run, tmp_path / "run")
    assert graph_beside(tmp_path / "run") is None
    with pytest.raises(InputError, match="no generator is called 'mine' here"):
        graph_of(run, tmp_path / "run")


def test_runs_of_one_name_keep_their_own_graphs(tmp_path):
    runs = [(tmp_path / str(n), kept(made(n), tmp_path / str(n))) for n in (2, 3)]
    assert [len(recorded.graph) for recorded in recorded_runs(runs)] == [2, 3]


def test_the_graph_of_an_older_run_does_not_stay(tmp_path):
    kept(made(2), tmp_path / "run")
    save(tasksim.simulate("chain length=2", workers=1), tmp_path / "run", force=True)
    assert graph_beside(tmp_path / "run") is None


def test_a_graph_of_another_run_is_refused(tmp_path):
    run = kept(made(3), tmp_path / "run")
    tasksim.save_graph(made(2), tmp_path / "run" / "graph.npz", force=True)
    with pytest.raises(InputError, match="is not the graph that was run any more: 2 tasks"):
        graph_of(run, tmp_path / "run")
