"""`tasksim report scaling`: what it predicts, what it writes, what it refuses."""

from pathlib import Path

import pytest


@pytest.fixture
def recorded(tasksim):
    """Record runs on 1, 2, 4, 8 nodes, and write counters of two kernels."""
    Path("counted").mkdir()
    for name in ("relax", "pack"):
        rows = "".join(f"{n},{9 * n * n},{2 * n * n},{n},2e9,1e-4\n" for n in (32, 64))
        header = "n,instructions,l1_hits,memory_accesses,frequency_hz,duration_s\n"
        Path(f"counted/{name}-counters.csv").write_text(header + rows)
    for ranks in (1, 2, 4, 8):
        tasksim(
            "simulate jacobi block_rows=4 block_columns=4 block_size=64 iterations=3 --workers 1"
            f" --durations pack=1us,relax=50us --nodes {ranks}"
            f" --network switch:bandwidth=1GB/s,latency=1us -o r{ranks}"
        )


def test_the_command_predicts_and_judges(tasksim, recorded):
    called = tasksim(
        "report scaling r1 r2 r4 r8 --counters counted --fitted 4 --to 16"
        " --to 16:block_rows=8,block_columns=8 --network switch:bandwidth=1GB/s,latency=1us -o out"
    )
    assert "of their time shows" in called.out
    assert "errs by" in called.out
    assert {path.name for path in Path("out").iterdir()} == {"scaling.csv", "scaling.png"}
    told = tasksim("report scaling r1 r2 r4 --counters counted --to 16 --by r2 --json").json
    assert told["kernels"] == ["relax"]
    assert told["rest"] == ["pack"]
    assert [row["ranks"] for row in told["rows"]] == [16]
    assert told["rows"][0]["measured_s"] is None


def test_a_law_that_three_runs_do_not_determine_predicts_nothing_and_says_so(tasksim, recorded):
    three = "report scaling r1 r2 r4 --counters counted --to 64"
    told = tasksim(f"{three} --json").json
    assert told["rows"][0]["worley_s"] is None
    assert told["undetermined"]["worley"] == (
        "needs times on 4 numbers of nodes, as it has 4 coefficients; got 3 (1, 2, 4), of the "
        "size that is asked"
    )
    assert "a/P + b P^c + d; needs times on 4 numbers of nodes" in tasksim(three).out
    four = tasksim("report scaling r1 r2 r4 r8 --counters counted --to 64 --json").json
    assert four["rows"][0]["worley_s"] > 0
    assert four["undetermined"] == {}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--counters counted", "nothing is asked: give --to RANKS"),
        ("--counters counted --to many", "--to many: legal: RANKS"),
        ("--counters . --to 16", "no KERNEL-counters.csv with counters"),
        ("--counters counted --to 16 --collective edge0=sum", "unknown collective 'sum'"),
        ("--counters counted --to 16:block_row=8", "did you mean 'block_rows'"),
    ],
)
def test_bad_input_ends_with_a_message(tasksim, recorded, words, said):
    called = tasksim(f"report scaling r1 r2 r4 {words}")
    assert called.code == 2
    assert said in called.errors[0]
