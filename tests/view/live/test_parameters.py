"""Sliders for the parameters of a graph: their values, and what is refused."""

import json

import pytest
from click.testing import CliRunner

import tasksim
from tasksim.base.errors import InputError
from tasksim.cli.main import cli
from tasksim.core.library import status, wasm_status
from tasksim.graph.apps.registry import generator
from tasksim.graph.builder import GraphBuilder
from tasksim.graph.taskgraph import TaskGraph
from tasksim.scenario.scenario import Scenario
from tasksim.view.live.page import explore

pytestmark = pytest.mark.skipif(
    not (status().available and wasm_status().available), reason="no core for browsers here"
)
DURATIONS_S = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}


def cholesky(settings="tiles=4"):
    return Scenario(f"cholesky {settings}", workers=2, durations=DURATIONS_S)


def test_values_are_written_as_in_a_study():
    page = explore(cholesky("tiles=2..8:2 tile_size=64..256:log priorities=app,none"))
    assert page.sliders == {
        "tiles": [2, 4, 6, 8],
        "tile_size": [64, 128, 256],
        "priorities": ["app", "none"],
    }
    assert page.graphs == 24
    assert page.run.graph_arguments == {
        "tiles": 4,  # no default: the middle one
        "tile_size": 256,  # the default
        "dtype": "float64",
        "priorities": "app",
    }


def test_the_value_of_the_scenario_is_one_of_the_slider():
    page = explore(cholesky(), over={"tiles": [6, 2], "lookahead": [0, 1]})
    assert page.sliders == {"tiles": [2, 4, 6], "lookahead": ["not set", 0, 1]}
    assert page.graphs == 9


def test_without_a_wish_all_whole_numbers_have_sliders():
    page = explore(cholesky("tiles=6"))
    assert list(page.sliders) == ["tiles", "tile_size"]
    assert all(value in page.sliders["tiles"] for value in (3, 6, 12))
    assert page.left_out == []
    assert explore(cholesky("tiles=6"), over={}).sliders == {}


def test_two_pages_of_a_scenario_have_the_same_bytes(hybrid, tmp_path):
    for name in ("one.html", "other.html"):
        explore(hybrid, over={"tiles": [6, 4]}).save(tmp_path / name)
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "other.html").read_bytes()


def test_large_graphs_have_no_sliders_unless_asked_for():
    large = Scenario("fork-join width=12000", workers=2)
    page = explore(large)
    assert page.graphs == 1
    assert "12002 tasks" in page.left_out[0]
    assert explore(large, over={"width": [10]}).graphs == 2


def test_every_generator_has_sliders():
    @generator("own-steps")
    def own_steps(steps: int, pairs: int = 2) -> TaskGraph:
        """Return steps of pairs."""
        builder = GraphBuilder("own-steps")
        for _ in range(steps * pairs):
            builder.insert("step")
        return builder.build()

    page = explore(Scenario("own-steps steps=4", workers=2, durations={"step": 1.0}))
    assert list(page.sliders) == ["steps", "pairs"]


def test_values_that_have_no_graph_are_left_out_and_said():
    usual = explore(Scenario("cholesky tiles=3", platform="xeon-2c"))
    assert 64 not in usual.sliders["tile_size"]
    assert any(line.startswith("tile_size=64 is left out: ") for line in usual.left_out)
    asked = explore(
        Scenario("cholesky tiles=3 tile_size=256", platform="xeon-2c"),
        over={"tile_size": [64, 128]},
    )
    assert asked.sliders == {"tile_size": [64, 128, 256]}
    assert asked.graphs == 2
    assert len(asked.left_out) == 1


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ({"tile": [1]}, "unknown parameter 'tile'.*tiles"),
        ({"tiles": "9..4"}, "cholesky: tiles=9..4: the range is empty: 9 is more than 4"),
        ({"tiles": [0, 4]}, "cholesky: tiles: got 0; legal: an integer from 1"),
        ({"tiles": [4, 4]}, "cholesky: tiles: got .* legal: different values, at least one"),
        ({"tiles": []}, "different values, at least one"),
        ({"tiles": 4}, "cholesky: tiles: got 4 .int.; legal: a list of values, or a range"),
        ({"tiles": range(1, 99), "tile_size": range(1, 99)}, "9702 graphs .*at most 640"),
        ({"tiles": "1..1000000000000"}, "values; legal: at most 640"),
        (["tiles"], "over: got .*legal: a mapping"),
    ],
)
def test_what_is_wrong_is_said(over, message):
    with pytest.raises(InputError, match=message):
        explore(cholesky(), over=over)


def test_graphs_without_a_generator_have_no_parameters():
    graph = tasksim.generate("chain", length=3)
    with pytest.raises(InputError, match="over: graph chain has no parameters"):
        explore(Scenario(graph, workers=2), over={"length": [3]})
    assert explore(Scenario(graph, workers=2)).sliders == {}


def test_a_command_asks_for_sliders_and_says_what_they_are(tmp_path):
    runner = CliRunner()
    words = ["explore", "cholesky", "tiles=2..4", "--workers", "2", "--durations"]
    words += ["potrf=1,trsm=3,syrk=3,gemm=6", "-o", str(tmp_path / "live.html")]
    done = runner.invoke(cli, words)
    assert done.exit_code == 0, done.output
    assert "3 graphs: tiles 2..4 (3)" in done.output
    bad = runner.invoke(cli, [*words, "--force", "tile_size=2,x"])
    assert bad.exit_code == 2
    assert "cholesky: tile_size: got 'x'; legal: an integer from 1" in bad.output


def test_a_recorded_run_may_be_given_sliders(tmp_path):
    runner = CliRunner()
    tasksim.save_run(cholesky("tiles=3").solve(), tmp_path / "run")
    words = ["explore", str(tmp_path / "run"), "-o", str(tmp_path / "live.html"), "--json"]
    done = runner.invoke(cli, [*words, "tiles=2,4"])
    assert json.loads(done.stdout)["sliders"] == {"tiles": [2, 3, 4]}
    refused = runner.invoke(cli, [*words, "--force", "tiles=2,4", "tile_size=64"])
    assert refused.exit_code == 2
    assert "KEY=VALUE cannot be given" in refused.output
