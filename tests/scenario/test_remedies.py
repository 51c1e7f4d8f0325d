"""Remedies that an error proposes if there are no kernel models, and that they work."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from tasksim import InputError, generate, simulate
from tasksim.base.library import package_library
from tasksim.cli.main import cli
from tasksim.graph.apps.registry import GENERATORS

SMALL_SETTINGS = {
    "cholesky": "tiles=3",
    "lu": "tiles=3",
    "qr": "tiles=3",
    "chain": "length=3",
    "fork-join": "width=3",
    "random-layered": "layers=2 width=2",
    "random-graph": "shape=daggen tasks=4",
    "fmm": "particles=2e4 height=4 group_size=40",
    "loop": "",
    "bulk-cholesky": "tiles=3",
    "recursive-cholesky": "n=512",
    "pipelined-qr": "n=256 block=128",
    "summa": "tiles=2",
    "cg": "block_rows=2 block_columns=2 block_size=32 iterations=2",
    "jacobi": "block_rows=2 block_columns=2 block_size=32 iterations=2",
    "mg": "block_rows=2 block_columns=2 block_size=32 iterations=2",
    "ft": "slabs=2",
    "ssor": "block_rows=2 block_columns=2 block_size=32 planes=4 iterations=2",
    "adi": "block_rows=2 block_columns=2 block_size=32 iterations=2",
    "ep": "block_rows=2 block_columns=2 block_size=32",
    "collective": "operation=allreduce ranks=3",
}
"""A graph of each generator."""

PLATFORMS = sorted(path.stem for path in (package_library() / "platforms").glob("*.yaml"))
PROPOSED_OPTION = re.compile(
    r"--(?:models|durations) [^\s;,]+(?:,\w+=SECONDS)*|--model-names '[^']+'"
)
COMMAND = re.compile(r"'(tasksim calibrate .*?)', and give (.*)$")


@pytest.fixture
def called(tmp_path, monkeypatch):
    """Call a command in an empty folder; return what it says, and how it ended."""
    monkeypatch.chdir(tmp_path)

    def call(line):
        result = CliRunner().invoke(cli, shlex.split(line), prog_name="tasksim")
        return result.exit_code, result.stderr

    return call


def test_each_generator_is_here():
    assert list(SMALL_SETTINGS) == list(GENERATORS.built_in)
    assert PLATFORMS == [
        "h100-15c",
        "haswell24",
        "identical-8",
        "two-nodes",
        "unrelated-4",
        "xeon-24c",
        "xeon-2c",
    ]


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("graph", SMALL_SETTINGS)
def test_a_graph_is_simulated_on_a_shipped_platform_or_the_error_says_how(called, graph, platform):
    asked = f"simulate {graph} {SMALL_SETTINGS[graph]} --platform {platform}"
    code, said = called(asked)
    if code == 0:
        assert "stay idle" not in said
        return
    assert code == 2
    ways = [
        way for way in PROPOSED_OPTION.findall(said) if not way.endswith((" DIR", " mymachine"))
    ]
    assert ways, said
    for way in ways:
        code, said = called(f"{asked} {way.replace('SECONDS', '1ms')}")
        assert code == 0, said


@pytest.mark.parametrize("platform", ["xeon-2c", "identical-8"])
@pytest.mark.parametrize("graph", ["jacobi", "cg", "loop"])
def test_the_calibration_that_it_proposes_does(called, graph, platform):
    asked = f"simulate {graph} {SMALL_SETTINGS[graph]}"
    (command, given) = COMMAND.search(called(f"{asked} --platform {platform}")[1]).groups()
    code, said = called(f"{command.removeprefix('tasksim ')} --max-time 0.3s")
    assert code == 0, said
    where = "" if given.startswith("--platform") else f" --platform {platform}"
    code, said = called(f"{asked} {given}{where}")
    assert code == 0, said


def test_a_graph_made_in_python_is_told_with_its_settings():
    graph = generate("jacobi", block_rows=2, block_columns=3)
    proposed = "'tasksim calibrate jacobi block_rows=2 block_columns=3 --name mymachine'"
    with pytest.raises(InputError, match=f"{proposed}, and give models=mymachine$"):
        simulate(graph, workers=2)
    with pytest.raises(InputError, match=f"{proposed}, and give platform=mymachine$"):
        simulate(graph, "xeon-2c")


def test_models_of_another_precision_are_not_proposed(called):
    """Single precision has durations of its own."""
    for graph in ("cholesky tiles=3 dtype=float32", "lu tiles=3 dtype=float32"):
        code, said = called(f"simulate {graph} --platform xeon-2c")
        assert code == 2
        assert "--model-names" not in said
        assert f"'tasksim calibrate {graph} --name mymachine', and give --platform" in said
        assert "--models DIR, or --durations" in called(f"simulate {graph} --workers 2")[1]


def test_the_nearest_library_comes_first(called):
    Path("models").mkdir()
    (Path("models") / "mine").symlink_to(package_library() / "models" / "xeon-2c")
    assert "; give --models mine, or" in called("simulate cholesky tiles=2 --workers 2")[1]
