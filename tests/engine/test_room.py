"""Memories that are too small for the data that are at home in them."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import pytest
from click.testing import CliRunner
from compiled_core import needs_core

from tasksim import CheckFailed, GraphBuilder, Scenario, W, simulate, simulate_many
from tasksim.cli.main import cli
from tasksim.engine.room import overfull
from tasksim.graph.apps.registry import generate
from tasksim.platform.description import Memory, Platform

MIB = 2**20
RAM_OF_1_MIB = "simulate cholesky tiles=6 --platform xeon-24c --set platform.memories.ram.size=1MiB"
NO_ROOM_MESSAGE = (
    "memory ram has 1 MiB, and data of 10.5 MiB are at home in it: simulated as if they had room"
)


def called(words):
    return CliRunner().invoke(cli, words.split(), prog_name="tasksim")


def test_data_that_do_not_fit_are_warned_of():
    # 21 tiles of the lower half, 512 KiB each; those above the diagonal are never used.
    result = called(RAM_OF_1_MIB)
    assert result.exit_code == 0
    assert NO_ROOM_MESSAGE in result.stderr
    assert json.loads(called(f"{RAM_OF_1_MIB} --json").stdout)["overfull"] == [NO_ROOM_MESSAGE]
    result = called(RAM_OF_1_MIB.replace("1MiB", "10.5MiB"))
    assert "at home" not in result.stderr


@pytest.mark.parametrize("engine", ["simpy", needs_core("compiled")])
def test_a_check_fails_where_they_do_not_fit(engine):
    result = called(f"{RAM_OF_1_MIB} --check")
    assert result.exit_code == 3
    assert NO_ROOM_MESSAGE in result.stderr
    given = {"platform": "xeon-24c", "changes": ["platform.memories.ram.size=1MiB"]}
    with (
        pytest.warns(UserWarning, match="are at home in it"),
        pytest.raises(CheckFailed, match="are at home in it"),
    ):
        simulate("cholesky tiles=6", check=True, engine=engine, **given)


def test_many_simulations_are_warned_of_once():
    """A tuning over sizes of a memory gave the same time for all of them, without a word."""
    base = Scenario("cholesky tiles=6", platform="xeon-24c")
    sizes = ("1MiB", "10.5MiB")
    small = [
        base.vary({"platform.memories.ram.size": size}, seed=n) for size in sizes for n in (0, 1)
    ]
    with pytest.warns(UserWarning, match="at home in it") as said:
        simulate_many(small)
    assert [str(one.message) for one in said] == [NO_ROOM_MESSAGE]
    asked = "tune cholesky tiles=6 --platform xeon-24c --over platform.memories.ram.size="
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # those of a command are lines, here they are errors
        result = called(f"{asked}1MiB,1GiB")
        assert (result.exit_code, result.stderr.count("Warning: memory ram has 1 MiB")) == (0, 1)
        assert "Warning" not in called(f"{asked}1GiB,2GiB").stderr


def test_each_node_has_room_for_what_it_owns():
    on = "--network switch:bandwidth=1GB/s,latency=1us --nodes"
    assert (
        "at home" not in called(f"{RAM_OF_1_MIB.replace('1MiB', '6MiB')} {on} 2 --grid 1x2").stderr
    )
    result = called(f"{RAM_OF_1_MIB.replace('1MiB', '5MiB')} {on} 2 --grid 1x2 --check")
    # Columns 0, 2 and 4 have 6 + 4 + 2 tiles.
    said = "memory ram of node 0 has 5 MiB, and data of 6 MiB are at home in it"
    assert result.exit_code == 3
    assert said in result.stderr


def test_only_used_data_at_home_there_count():
    g = GraphBuilder("two")
    used, _ = g.handle("used", 3 * MIB), g.handle("unused", 3 * MIB)
    g.insert("task", W(used), duration_s=1.0)
    graph = g.build()
    sizes = (2 * MIB, 3 * MIB, None)
    one = Platform.identical(1)
    rooms = [replace(one, memories=(Memory(0, "ram", size_bytes=size),)) for size in sizes]
    lines = [overfull(graph, [platform]) for platform in rooms]
    assert [len(line) for line in lines] == [1, 0, 0]
    assert overfull(generate("chain", length=3), [one]) == []
