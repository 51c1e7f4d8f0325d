"""The GRAPH argument: a generator's name, or a file."""

from __future__ import annotations

import pytest

from tasksim.base.errors import InputError
from tasksim.formats.graphs import load_graph
from tasksim.graph.apps.registry import generate
from tasksim.graph.graph_file import save


def test_a_generator():
    assert load_graph("cholesky", ["tiles=3"]).same_as(generate("cholesky", tiles=3))


def test_a_file(tmp_path):
    save(generate("cholesky", tiles=3), tmp_path / "mine.npz")
    assert load_graph(str(tmp_path / "mine.npz")).same_as(generate("cholesky", tiles=3))


def test_a_generator_wins_over_a_file_of_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lu").write_text("something else")
    assert load_graph("lu", ["tiles=2"]).name == "lu"


def test_a_file_takes_no_settings(tmp_path):
    (tmp_path / "mine.npz").touch()
    with pytest.raises(InputError, match=r"mine\.npz: a file takes no settings, got tiles=3"):
        load_graph(str(tmp_path / "mine.npz"), ["tiles=3"])


def test_a_folder_is_that_of_a_run(tmp_path):
    with pytest.raises(InputError, match=r"is not a run folder: it has no run.json"):
        load_graph(str(tmp_path))


def test_something_else_than_text():
    with pytest.raises(InputError, match=r"task graph: expected str, got 3 \(int\)"):
        load_graph(3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("colesky", r"unknown task graph 'colesky', did you mean 'cholesky'\?"),
        ("mine.npz", r"mine\.npz: no such task graph file"),
        ("folder/mine", r"folder/mine: no such task graph file"),
    ],
)
def test_what_is_neither(text, message):
    with pytest.raises(InputError, match=message):
        load_graph(text)
