"""The experiment on chunk sizes: a whole one, as small as can be; what trees choose."""

import json
import sys

import pytest

from experiments.chunk_sizes.__main__ import main
from experiments.chunk_sizes.measuring import chosen, loop, words_of
from tasksim.applications.loop import OPERATIONS

TINY_DESIGN = (
    "--sizes 2 --points 2 --repetitions 1 --run-ms 0.05 --operations vector-add,matrix-add"
    " --shown vector-add,matrix-multiply-nt --chunks 1,2,4 --threads 1 --patience-s 0"
    " --calibration-s 0.2"
)


@pytest.mark.slow
@pytest.mark.usefixtures("commands_here")
def test_a_small_experiment_shows_every_exhibit(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["experiments.chunk_sizes", *TINY_DESIGN.split(), "--json"])
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capsys.readouterr()
    assert ended.value.code == 0, err
    found = json.loads(out)
    names = [exhibit["name"] for exhibit in found["exhibits"]]
    assert names == [
        "table-1", "table-2", "table-3", "figure-7", "figure-8", "figure-9", "figure-10",
        "table-4", "listing-1", "figure-11", "beyond-1", "beyond-2",
    ]  # fmt: skip
    drawn = {path.stem for path in (tmp_path / "chunk-sizes" / "figures").iterdir()}
    assert drawn == {
        "figure-7", "figure-8", "figure-11", "table-4", "beyond-1", "beyond-2"
    }  # fmt: skip
    assert "choose_chunk_size" in found["found"]["judging"]["header"]
    page = (tmp_path / "chunk-sizes" / "index.html").read_text()
    assert "94.8 %" in page
    assert "tasksim tune table loops.csv" in page


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_loop_has_a_run_of_the_wanted_length(operation):
    asked = loop(operation, 100, 2, 1e-3)
    assert asked["iterations"] >= 1
    assert words_of(asked, "3").startswith(f"loop operation={operation} n=100 block=")
    assert OPERATIONS[operation].flop(100) * asked["iterations"] == asked["flop"]
    assert "schedule=guided" in words_of(asked, "guided")


def test_a_tree_chooses_no_more_blocks_than_there_are():
    leaf = {"choice": "8"}
    tree = {"tree": {"feature": "Ms", "threshold": 50.0, "low": {"choice": "2"}, "high": leaf}}
    assert chosen(tree, loop("matrix-add", 50, 1, 1e-3)) == "2"
    assert chosen(tree, loop("matrix-add", 51, 1, 1e-3)) == "7"
    assert chosen(tree, loop("matrix-add", 500, 1, 1e-3)) == "8"
