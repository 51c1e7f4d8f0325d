"""`tasksim tune GRAPH`: the best choice, and what others cost."""

from __future__ import annotations

import pytest

TUNE_COMMAND = (
    "tune cholesky n=4096 --platform xeon-24c --over tile_size=128..1024:log scheduler=lws,prio"
)


def test_the_best_choice_and_what_others_cost(tasksim):
    done = tasksim(f"{TUNE_COMMAND} --json")
    assert done.code == 0, done.err
    found = done.json
    assert len(found["choices"]) == 8
    assert found["best"] == found["choices"][0]["values"]
    assert set(found["best"]) == {"graph.tile_size", "scheduler"}
    ratios = [row["ratio"] for row in found["choices"] if row["ratio"]]
    assert ratios == sorted(ratios)
    assert ratios[0] == 1
    assert 0 < found["expected_loss"] < 1
    # Its models have not seen tiles of 1024.
    assert [row["values"]["graph.tile_size"] for row in found["choices"] if row["error"]] == [
        1024
    ] * 2
    text = tasksim(TUNE_COMMAND).out
    assert "best      tile_size=" in text
    assert text.count("no samples with (n=1024)") == 1


def test_the_grid_of_nodes_is_an_axis(tasksim):
    where = "--platform xeon-2c --network switch:bandwidth=1GB/s,latency=10us"
    found = tasksim(
        f"tune cholesky tiles=6 {where} --nodes 4 --over grid=1x4,2x2 owner=row,column --json"
    )
    assert found.code == 0, found.err
    for row in found.json["choices"]:
        place = f"--nodes 4 --grid {row['values']['grid']} --owner {row['values']['owner']}"
        alone = tasksim(f"simulate cholesky tiles=6 {where} {place} --json")
        assert alone.json["makespan_s"] == row["makespan_s"]
    wrong = tasksim(f"tune cholesky tiles=6 {where} --over grid=1x4,2y2")
    assert (wrong.code, wrong.errors) == (
        2, ["Error: --grid: got '2y2'; legal: ROWSxCOLUMNS of nodes, such as 2x4"]
    )  # fmt: skip


def test_a_setting_that_is_auto_is_what_was_found(tasksim):
    done = tasksim(f"{TUNE_COMMAND} -o best.json --json")
    best = done.json["best"]
    run = tasksim(
        "simulate cholesky n=4096 tile_size=auto --scheduler auto --auto best.json"
        " --platform xeon-24c --json"
    )
    assert run.json["graph"]["arguments"]["tile_size"] == best["graph.tile_size"]
    assert run.json["scheduler"] == best["scheduler"]
    assert run.json["makespan_s"] == pytest.approx(done.json["makespan_s"])
    assert tasksim(f"{TUNE_COMMAND} -o best.json").code == 2
    other = tasksim("simulate lu n=4096 tile_size=auto --auto best.json --platform xeon-24c")
    assert other.errors == ["Error: best.json: is a result for cholesky n=4096, not for lu"]


def test_several_seeds_have_intervals(tasksim):
    done = tasksim(f"{TUNE_COMMAND} --seeds 4 --json")
    row = done.json["choices"][1]
    assert done.json["noise"] == "model"
    assert row["low"] <= row["ratio"] <= row["high"]
    assert "interval" in tasksim(f"{TUNE_COMMAND} --seeds 4 --search halving").out


def test_options_may_come_first(tasksim):
    done = tasksim("tune --workers 2 --over width=2,4 --json fork-join duration=1")
    assert done.json["best"] == {"graph.width": 2}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("tune nothing --workers 2 --over a=1,2", "unknown task graph 'nothing'"),
        ("tune chain --workers 2 --over lenght=1,2", "did you mean 'length'"),
        ("tune chain --workers 2", "Missing option '--over'"),
        ("tune chain --workers 2 --over length=1,2 -o x.txt", "are .json files"),
        ("tune chain --workers 2 --over length=1,2 --search halving", "give --seeds"),
        ("tune", "Usage: tasksim tune"),
    ],
)
def test_words_that_make_no_sense(tasksim, words, said):
    done = tasksim(words)
    assert done.code == 2
    assert said in done.err + done.out
