"""Generators by name: what users type, and what they are told when it is wrong."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from tasksim.base.errors import InputError
from tasksim.graph.apps import registry
from tasksim.graph.apps.parameters import Count, Seconds  # noqa: TC001 - read at run time
from tasksim.graph.apps.registry import GENERATORS, find, generate, generator, generators, parse
from tasksim.graph.builder import GraphBuilder
from tasksim.graph.taskgraph import TaskGraph  # noqa: TC001 - read at run time


def test_text_and_python_give_the_same_graph():
    text = parse("cholesky", ["tiles=3", "tile_size=1e2", "dtype=float32"])
    assert text.same_as(generate("cholesky", tiles=3, tile_size=100, dtype="float32"))
    assert text.same_as(generate("cholesky", tiles=np.int64(3), tile_size=100.0, dtype="float32"))
    assert text.name == "cholesky"


def test_a_graph_can_be_made_again_from_its_arguments():
    for name, given in [
        ("cholesky", {"tiles": 3}),
        ("qr", {"rows": 3, "columns": 2, "priorities": "bottom-level"}),
        ("random-layered", {"layers": 3, "width": 4, "seed": 5}),
    ]:
        graph = generate(name, **given)
        assert generate(graph.name, **graph.arguments).same_as(graph)


def test_arguments_are_complete():
    assert generate("cholesky", tiles=2).arguments == {
        "tiles": 2, "tile_size": 256, "dtype": "float64", "priorities": "app",
    }  # fmt: skip
    assert registry.parse_settings("chain", ["length=100e3"]) == {
        "length": 100_000, "duration": 1e-3, "size_bytes": 0, "priorities": "app",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("choleski", [], r"^unknown generator 'choleski', did you mean 'cholesky'\? \(known: chol"),
        ("cholesky", ["tile=3"], r"^cholesky: unknown parameter 'tile', did you mean 'tiles'\?"),
        ("cholesky", ["3"], r"^cholesky: got '3', did you mean 'tiles=3'\? \(legal: KEY=VALUE w"),
        ("cholesky", ["=3"], r"^cholesky: got '=3'; legal: KEY=VALUE"),
        ("cholesky", ["tiles=2", "tiles=3"], r"^cholesky: tiles is given twice: 2 and 3$"),
        ("cholesky", ["tile_size=3"], r"^cholesky: tiles is missing; give tiles=VALUE, an integer"),
        ("cholesky", ["tiles=0"], r"^cholesky: tiles: got '0'; legal: an integer from 1$"),
        ("cholesky", ["tiles=-2"], r"got '-2'; legal"),
        ("cholesky", ["tiles=2.5"], r"got '2.5'; legal"),
        ("cholesky", ["tiles=many"], r"got 'many'; legal"),
        ("cholesky", ["tiles="], r"got ''; legal"),
        ("cholesky", ["tiles=nan"], r"got 'nan'; legal"),
        ("cholesky", ["tiles=inf"], r"got 'inf'; legal"),
        (
            "cholesky",
            ["tiles=2", "dtype=float23"],
            r"dtype: got 'float23', did you mean 'float32'\? \(legal: float64, float32\)",
        ),
        (
            "lu",
            ["tiles=2", "priorities=bottom"],
            r"^lu: priorities: got 'bottom', did you mean 'bottom-level'\?",
        ),
        ("chain", ["length=2", "duration=1 kg"], r"got '1 kg'; legal: a number from 0, or a time"),
        ("chain", ["length=2", "duration=-1"], r"^chain: duration: got '-1'; legal: a number from"),
    ],
)
def test_what_is_wrong_is_said(name, settings, message):
    with pytest.raises(InputError, match=message):
        parse(name, settings)


def test_a_time_may_have_a_unit():
    assert parse("chain", ["length=2", "duration=2ms"]).arguments["duration"] == 2e-3
    assert parse("chain", ["length=2", "duration=2"]).arguments["duration"] == 2.0


@pytest.mark.parametrize("value", [True, [3], 2.5, b"3", -1])
def test_python_values_are_checked_as_well(value):
    with pytest.raises(InputError, match=r"cholesky: tiles: got .*; legal: an integer from 1"):
        generate("cholesky", tiles=value)


def test_none_means_not_given():
    assert generate("qr", tiles=2, rows=None).arguments["tiles"] == 2
    with pytest.raises(InputError, match="cholesky: tiles is missing"):
        generate("cholesky", tiles=None)


def test_the_list_of_generators():
    built_in = [each for each in generators() if each.name in GENERATORS.built_in]
    assert [each.name for each in built_in][:6] == [
        "cholesky", "lu", "qr", "chain", "fork-join", "random-layered",
    ]  # fmt: skip
    for each in built_in:
        assert each.summary.endswith(".")
        assert each.parameters[-1].choices == ("app", "bottom-level", "none")
    tiles, tile_size, dtype, *_ = find("cholesky").parameters
    assert (tiles.required, tiles.default, tiles.legal) == (True, None, "an integer from 1")
    assert (tile_size.required, tile_size.default, tile_size.kind) == (False, 256, int)
    assert (dtype.legal, dtype.default) == ("float64, float32", "float64")


def test_sizes_that_no_graph_can_have_name_the_generator():
    with pytest.raises(InputError, match=r"^cholesky: a graph of 166671666700000 tasks"):
        generate("cholesky", tiles=100_000)
    with pytest.raises(InputError, match=r"^lu: data A: size_bytes 8000.*; legal: an integer from"):
        generate("lu", tiles=2, tile_size=10**15)


def test_a_name_is_text():
    with pytest.raises(InputError, match=r"generator: expected str, got 3"):
        generate(3, tiles=2)


@pytest.fixture
def wavefront(monkeypatch):
    monkeypatch.setattr(registry.GENERATORS, "_found", dict(registry.GENERATORS._found))

    @generator("wavefront")
    def wavefront(tiles: Count, duration: Seconds = 1.0) -> TaskGraph:
        """Return a diagonal."""
        g = GraphBuilder("anything")
        for _ in range(tiles):
            g.insert("task", duration_s=duration)
        return g.build()

    return wavefront


def test_other_packages_register_theirs(wavefront):
    graph = parse("wavefront", ["tiles=3", "duration=2", "priorities=none"])
    assert (graph.name, len(graph), graph.parameters_of(2)) == ("wavefront", 3, {"duration_s": 2})
    assert "wavefront" in registry.names()
    assert len(wavefront(tiles=2)) == 2


@pytest.mark.usefixtures("wavefront")
def test_a_name_is_taken_once():
    with pytest.raises(InputError, match="generator 'wavefront' exists already"):

        @generator("wavefront")
        def another(tiles: Count) -> TaskGraph:
            """Return nothing."""
            raise NotImplementedError


def test_names_are_known_without_numpy():
    script = (
        "import sys; from tasksim.graph.apps import registry; "
        "registry.names(); print('numpy' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert result.stdout.strip() == "False", result.stderr
