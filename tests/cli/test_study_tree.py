"""`tasksim study tree`, and settings that are `auto`."""

from __future__ import annotations

import json

import pytest

STUDY = """
version: 1
name: tiles
graphs:
  - graph: cholesky
    set: {tiles: [4, 8, 16], tile_size: [128, 256, 512]}
platforms: [xeon-2c, xeon-24c]
schedulers: [lws, prio]
seeds: 2
noise: model
"""


@pytest.fixture
def study(computed, tmp_path):
    return computed(STUDY, tmp_path / "tiles")


def test_a_tree_is_written_in_all_forms(tasksim, study, tmp_path):
    names = ["c.h", "c.py", "c.txt", "c.json", "c.png"]
    words = " ".join(f"-o {name}" for name in names)
    done = tasksim(f"study tree tiles --choose tile_size {words} --json")
    assert done.code == 0, done.err
    assert done.json["choose"] == "graph.tile_size"
    assert done.json["choices"] == ["128", "256", "512"]
    # A matrix of 2048 is 16 tiles of 128, 8 of 256, 4 of 512; others have not all three.
    assert done.json["features"] == ["platform=xeon-2c", "platform=xeon-24c", "scheduler=lws",
                                     "scheduler=prio"]  # fmt: skip
    assert "do not have all choices of graph.tile_size" in done.err
    assert done.json["constant"]["msop"] <= done.json["msop"] <= 1
    assert "choose_tile_size(" in (tmp_path / "c.h").read_text()
    assert all((tmp_path / name).stat().st_size > 100 for name in names)


def test_a_setting_that_is_auto_is_what_the_tree_says(tasksim, study, tmp_path):
    tasksim("study tree tiles --choose tile_size -o c.json -o c.py")
    names = {}
    exec((tmp_path / "c.py").read_text(), names)
    for platform in ("xeon-2c", "xeon-24c"):
        done = tasksim(
            f"simulate cholesky n=4096 tile_size=auto --platform {platform} --auto c.json --json"
        )
        meant = names["choose_tile_size"](
            platform_xeon_2c=platform == "xeon-2c",
            platform_xeon_24c=platform == "xeon-24c",
            scheduler_lws=1,
            scheduler_prio=0,
        )
        assert done.json["graph"]["arguments"]["tile_size"] == meant
        assert done.json["graph"]["arguments"]["tiles"] == 4096 // meant
        assert done.err == f"chosen    tile_size={meant}\n"


def test_a_scheduler_that_is_auto(tasksim, study):
    tasksim("study tree tiles --choose scheduler -o c.json")
    done = tasksim(
        "run cholesky tiles=4 tile_size=16 --workers 2 --scheduler auto --auto c.json --json"
    )
    assert done.json["scheduler"] in ("lws", "prio")


def test_what_is_auto_without_a_file_is_refused(tasksim):
    done = tasksim("simulate cholesky tiles=4 tile_size=auto --platform xeon-2c")
    assert done.errors == ["Error: cholesky: tile_size: got 'auto'; legal: an integer from 1"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("cholesky tiles=4", "nothing to choose; give KEY=auto"),
        ("cholesky tiles=auto", "chooses graph.tile_size, not graph.tiles"),
        ("cholesky n=1000 tile_size=auto", "not a multiple of tile_size=256"),
        ("cholesky n=1024 tiles=4 tile_size=auto", "n and tiles are both given"),
        ("lu tile_size=auto", "lu.json: the tree needs graph.n; give n=NUMBER"),
    ],
)
def test_words_that_make_no_sense(tasksim, tmp_path, words, said):
    leaf = {"choice": "256", "msop": 1.0, "examples": 1}
    tree = {
        "format": "tasksim-tree", "version": 1, "choose": "graph.tile_size", "features": [],
        "choices": ["256"], "msop": 1.0, "examples": 1, "tree": leaf,
    }  # fmt: skip
    (tmp_path / "c.json").write_text(json.dumps(tree))
    (tmp_path / "lu.json").write_text(json.dumps({**tree, "features": ["graph.n"]}))
    file = "lu" if words.startswith("lu") else "c"
    done = tasksim(f"simulate {words} --platform xeon-2c --auto {file}.json")
    assert done.code == 2
    assert said in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--choose tile", "no column 'tile', did you mean"),
        ("--choose n", "no column 'n'"),
        ("--choose tile_size -o c.x", "files that end in .h, .py, .txt, .json, .png"),
        ("--choose tile_size --depth 99", "depth: got 99"),
    ],
)
def test_studies_and_axes_that_make_no_sense(tasksim, study, words, said):
    done = tasksim(f"study tree tiles {words}")
    assert done.code == 2
    assert said in done.err


def test_a_study_that_is_none(tasksim, tmp_path):
    (tmp_path / "empty").mkdir()
    assert tasksim("study tree empty --choose n").code == 2
    assert tasksim("study tree nothing --choose n").code == 2


@pytest.mark.parametrize("tuned", [True, False])
def test_nothing_is_imported_because_a_file_names_it(tasksim, tmp_path, monkeypatch, tuned):
    (tmp_path / "canary.py").write_text("from pathlib import Path\nPath('EXECUTED').touch()\n")
    monkeypatch.syspath_prepend(tmp_path)
    leaf = {"choice": "canary:Policy", "msop": 1.0, "examples": 1}
    tree = {
        "format": "tasksim-tree", "version": 1, "choose": "scheduler", "features": [],
        "choices": ["canary:Policy"], "msop": 1.0, "examples": 1, "tree": leaf,
    }  # fmt: skip
    best = {"format": "tasksim-tuned", "graph": "chain", "best": {"scheduler": "canary:Policy"}}
    (tmp_path / "c.json").write_text(json.dumps(best if tuned else tree))
    done = tasksim("simulate chain length=2 --workers 1 --scheduler auto --auto c.json")
    assert done.code == 2
    assert "nothing is imported because a file names it" in done.err
    assert not (tmp_path / "EXECUTED").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("[]", "is neither a decision tree nor"),
        ("[" * 200, "c.json"),
        ('{"format": "tasksim-tuned", "graph": 3}', "is not a readable result of tuning"),
        ('{"format": "tasksim-tree", "version": 1}', "'features' is missing"),
    ],
)
def test_files_that_are_no_trees(tasksim, tmp_path, text, said):
    (tmp_path / "c.json").write_text(text)
    done = tasksim("simulate chain length=auto --workers 1 --auto c.json")
    assert done.code == 2
    assert len(done.errors) == 1
    assert said in done.err


@pytest.mark.parametrize(
    ("command", "feature", "how"),
    [
        ("simulate --platform xeon-2c", "workers", "; give --workers N"),
        (
            "simulate --platform xeon-2c",
            "platform.workers.cpu.count",
            "; give --set platform.workers.cpu.count=NUMBER",
        ),
        ("run --workers 2", "platform.workers.cpu.count", ""),  # run has no --set
        ("run --workers 2", "Nthr", ""),
    ],
)
def test_a_missing_feature_is_asked_for_where_it_can_be_given(
    tasksim, tmp_path, command, feature, how
):
    leaf = {"choice": "256", "msop": 1.0, "examples": 1}
    tree = {
        "format": "tasksim-tree", "version": 1, "choose": "graph.tile_size", "features": [feature],
        "choices": ["256"], "msop": 1.0, "examples": 1, "tree": leaf,
    }  # fmt: skip
    (tmp_path / "c.json").write_text(json.dumps(tree))
    name, _, options = command.partition(" ")
    done = tasksim(f"{name} cholesky tiles=4 tile_size=auto {options} --auto c.json")
    assert done.errors == [f"Error: c.json: the tree needs {feature}{how}"]
