"""`tasksim report refinement`: lines through two clocks, or two loads of the memory."""

from pathlib import Path

import pandas as pd
import pytest

CPI_CORE, BF_MEM = 0.5, 0.25
L1_S, MEMORY_S = 4 / 2e9, 250 / 2e9  # what is guessed at 2 GHz


def write(path, conditions, *, bf_mem=BF_MEM):
    """Write samples with known costs, at some (clock, factor of latencies)."""
    lines = ["run,n,instructions,l1_hits,memory_accesses,latency_factor,frequency_hz,duration_s"]
    run = 0
    for n in (64, 128):
        instructions, hits, accesses = 9 * n * n, 2 * n * n, n
        for hertz, factor in conditions:
            for _ in range(3):
                waited = factor * (hits * L1_S + accesses * MEMORY_S)
                seconds = CPI_CORE * instructions / hertz + bf_mem * waited
                cells = (run, n, instructions, hits, accesses, factor, hertz, seconds)
                lines.append(",".join(map(str, cells)))
                run += 1
    Path(path).write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("conditions", [[(2e9, 1.0), (2e9, 1.6)], [(3e9, 1.0), (1e9, 1.0)]])
def test_both_costs_are_found(tasksim, conditions):
    write("two.csv", conditions)
    told = tasksim("report refinement two.csv -o out --json").json
    scale = 2e9 / pd.Series([hertz for hertz, _ in conditions]).median()
    for line in told["lines"]:
        assert line["cpi_core"] == pytest.approx(CPI_CORE, rel=1e-6)
        # Guessed latencies are those of the median clock: BF_mem is relative to them.
        assert line["bf_mem"] == pytest.approx(BF_MEM / scale, rel=1e-6)
    assert [line["n"] for line in told["lines"]] == [64, 128]
    assert {path.name for path in Path("out").iterdir()} == {
        "points.csv", "lines.csv", "refinement.png"
    }  # fmt: skip
    points = pd.read_csv("out/points.csv")
    assert len(points) == 4
    text = tasksim("report refinement two.csv").out
    assert "CPI_core" in text
    assert "latencies are guessed" in text


def test_costs_that_cannot_be_are_named(tasksim):
    write("two.csv", [(2e9, 1.0), (2e9, 1.6)], bf_mem=-0.1)
    assert "not plausible: a cost is negative" in tasksim("report refinement two.csv").out


@pytest.mark.parametrize(
    ("conditions", "said"),
    [([(2e9, 1.0)], "needs two clocks, or two loads"), ([], "legal: samples")],
)
def test_one_condition_is_no_line(tasksim, conditions, said):
    write("one.csv", conditions)
    called = tasksim("report refinement one.csv")
    assert called.code == 2
    assert said in called.err


def test_samples_without_counters_are_refused(tasksim):
    Path("plain.csv").write_text("n,duration_s\n1,1\n2,2\n")
    called = tasksim("report refinement plain.csv")
    assert called.code == 2
    assert "needs samples with instructions and frequency_hz" in called.err
