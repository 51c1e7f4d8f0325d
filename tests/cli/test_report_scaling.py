"""`tasksim report scaling`: what it predicts, what it writes, what it refuses."""

from pathlib import Path

import pandas as pd
import pytest
from figure_labels import unlabelled

import tasksim
from tasksim.graph.builder import GraphBuilder
from tasksim.reports.bulk import figures
from tasksim.reports.bulk import report as bulk_report
from tasksim.run.samples import RecordedRun


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
    assert "of their time is not hidden" in called.out
    assert "errs by" in called.out
    tables, drawn = bulk_report.TABLE_NAMES, bulk_report.FIGURE_NAMES
    assert {path.name for path in Path("out").iterdir()} == {
        *(f"{name}.csv" for name in tables), *(f"{name}.png" for name in drawn)
    }  # fmt: skip
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


def test_a_prediction_is_the_sum_of_its_parts(tasksim, recorded):
    network = "switch:bandwidth=1GB/s,latency=1us"
    line = f"report scaling r1 r2 r4 --counters counted --to 16 --network {network}"
    row = tasksim(f"{line} --json").json["rows"][0]
    parts = [row[f"counters_{name}_s"] for name in ("computing", "memory", "messages", "others")]
    assert sum(parts) == pytest.approx(row["counters_s"])
    assert min(parts) >= 0
    assert parts[2] > 0
    lines = tasksim(line).out.splitlines()
    heading = lines.index("of counters:") + 1
    assert lines[heading].split() == ["ranks", "computing", "memory", "messages", "others"]
    assert lines[heading + 1].split()[0] == "16"


def test_tables_compare_each_run_with_the_model(tasksim, recorded):
    tasksim("report scaling r1 r2 r4 r8 --counters counted --fitted 4 --to 16 -o out")
    tables = {name: pd.read_csv(f"out/{name}.csv") for name in bulk_report.TABLE_NAMES}
    kernels = tables["kernels"]
    assert kernels["ranks"].tolist() == [1, 2, 4, 8, 16]
    assert kernels["fitted"].tolist() == [True, True, True, False, False]
    # 50 us at 2 GHz, for 9 instructions per point: what each run says of each cost.
    assert kernels["cycles_per_instruction"].dropna().tolist() == pytest.approx(
        [1e5 / (9 * 64 * 64)] * 4
    )
    assert kernels["modelled_s"][:4].tolist() == pytest.approx(kernels["measured_s"][:4].tolist())
    counters = tables["counters"]
    assert set(counters["counter"]) == {"instructions", "l1_hits", "memory_accesses"}
    assert counters["r2"].tolist() == pytest.approx([1.0] * len(counters))
    assert counters["modelled"].tolist() == pytest.approx(counters["counted"].tolist())
    messages = tables["messages"]
    assert set(messages["ranks"]) == {2, 4, 8, 16}
    ran = (messages["ranks"] < 16) & (messages["messages"] > 0)
    assert (messages["measured_s"].notna() == ran).all()
    of_two = messages[(messages["ranks"] == 2) & (messages["data"] == "edge2")].iloc[0]
    # Columns of blocks alternate between the ranks: edges of four rows cross three bounds, in
    # each of three steps.
    assert (of_two["messages"], of_two["bytes"]) == (36.0, 36 * 64 * 8.0)


def test_the_size_of_a_problem_may_be_that_of_its_settings(tasksim, recorded):
    line = "report scaling r1 r2 r4 r8 --counters counted --to 16:block_size=32"
    sizes = {
        size: tasksim(f"{line} {size} --json").json["rows"][0]
        for size in ("", "--size block_rows*block_columns", "--size block_rows*block_size^2")
    }
    by_instructions, by_blocks, by_points = sizes.values()
    assert by_instructions["worley_s"] is None  # as many blocks, but smaller ones
    assert by_blocks["worley_s"] > 0
    assert (by_blocks["size"], by_points["size"]) == (16, 4 * 32 * 32)


def test_rows_of_the_same_ranks_are_told_apart_by_their_settings(tasksim, recorded):
    two = (
        "report scaling r1 r2 r4 --counters counted --to 16 --to 16:block_rows=8"
        " --to 16:block_columns=8 --network switch:bandwidth=1GB/s,latency=1us"
    )
    told = tasksim(f"{two} --json").json["rows"]
    assert [row["settings"] for row in told] == ["", "block_rows=8", "block_columns=8"]
    # The last two are of one size: each is simulated by itself.
    alone = tasksim(f"{two.replace(' --to 16:block_columns=8', '')} --json").json["rows"]
    assert told[1]["simulated_s"] == alone[1]["simulated_s"]
    lines = [line.split() for line in tasksim(two).out.splitlines() if line.lstrip()[:3] == "16 "]
    # One table of times, one of their parts.
    assert [line[1] for line in lines] == ["as", "block_rows=8", "block_columns=8"] * 2


def test_settings_have_no_column_where_there_are_none(tasksim, recorded):
    out = tasksim("report scaling r1 r2 r4 --counters counted --to 16 --to 64").out
    assert "settings" not in out


@pytest.mark.slow
def test_the_figure_joins_rows_of_the_same_settings(tasksim, recorded, monkeypatch):
    drawn = []
    draw = figures.scaling_figure

    def kept(*arguments):
        drawn.append(draw(*arguments))
        return drawn[-1]

    monkeypatch.setattr(figures, "scaling_figure", kept)
    for words in (
        "--to 64",
        "--to 16 --to 64",
        "--to 16 --to 64 --to 16:block_rows=8 --to 64:block_rows=8",
    ):
        tasksim(f"report scaling r1 r2 r4 --counters counted {words} -o out --force")
        figure = drawn[-1]
        assert unlabelled(figure) == []
        for line in figure.axes[0].lines:
            ranks = line.get_xdata()
            assert len(set(ranks)) == len(ranks)  # no line goes straight up
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {"as recorded", "block_rows=8"} <= set(labels)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--counters counted", "nothing to predict; give --to RANKS"),
        ("--counters counted --to many", "--to many: legal: RANKS"),
        ("--counters . --to 16", "no KERNEL-counters.csv with counters"),
        ("--counters counted --to 16 --collective edge0=sum", "unknown collective 'sum'"),
        ("--counters counted --to 16:block_row=8", "did you mean 'block_rows'"),
        ("--counters counted --to 16 --size block_row^2", "did you mean 'block_rows'"),
        ("--counters counted --to 16 --size 2*block_rows", "write the term without 2"),
        ("--counters counted --to 16 --size 1", "size 1: got 0"),
    ],
)
def test_bad_input_ends_with_a_message(tasksim, recorded, words, said):
    called = tasksim(f"report scaling r1 r2 r4 {words}")
    assert called.code == 2
    assert said in called.errors[0]


ENOUGH = "--counters counted --network switch:bandwidth=1GB/s,latency=1us"


def test_runs_are_learned_from_until_the_next_one_is_predicted_well(tasksim, recorded):
    line = f"report scaling r1 r2 r4 r8 {ENOUGH} --fitted 2 --to 16 --json"
    rounds = {
        accuracy: tasksim(f"{line} --accuracy {accuracy}").json["rounds"]
        for accuracy in ("1000%", "0.0001%")
    }
    # Any error will do: the first run judges, and that is all.
    assert [(r["ranks"], r["within"]) for r in rounds["1000%"]] == [(4, True)]
    assert [(r["ranks"], r["within"]) for r in rounds["0.0001%"]] == [(4, False), (8, False)]
    for found in rounds["0.0001%"]:
        parts = found["kernels_percent"] + found["messages_percent"]
        assert parts == pytest.approx(found["error_percent"])
    text = tasksim(f"{line.removesuffix('--json')} --accuracy 0.0001%").out
    assert "4 ranks: errs by" in text
    assert "more runs are needed" in text
    # What was not needed still judges.
    told = tasksim(f"{line} --accuracy 1000%").json
    assert [row["ranks"] for row in told["rows"]] == [4, 8, 16]


@pytest.mark.slow
def test_runs_that_lack_are_made(tasksim, recorded):
    command = (
        "tasksim simulate jacobi block_rows=4 block_columns=4 block_size=64 iterations=3"
        " --workers 1 --durations pack=1us,relax=50us --nodes {ranks} --grid {rows}x{columns}"
        " --network switch:bandwidth=1GB/s,latency=1us -o {output}"
    )
    line = f"report scaling r1 r2 r4 {ENOUGH} --to 64 --accuracy 1000% --more 16 --more 8 -o out"
    called = tasksim(f"{line} --measure '{command}' --json")
    assert called.code == 0, called.err
    told = called.json
    assert [r["ranks"] for r in told["rounds"]] == [8]
    assert [row["ranks"] for row in told["rows"]] == [8, 64]  # what judged is not lost
    assert {path.name for path in Path("out").glob("run-*")} == {"run-8"}
    assert Path("out/scaling.csv").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--accuracy 10% --fitted 2", "--accuracy: give --to RANKS"),
        ("--to 8 --accuracy 10%", "no run is left to judge the model; give --fitted"),
        ("--to 8 --more 8", "--more and --measure need --accuracy"),
        ("--to 64 --accuracy 10% --more 8", "give both"),
        ("--to 64 --accuracy 10% --more 8 --measure 'true {output}'", "give --output"),
        ("--to 64 --accuracy 0% --fitted 2", "accuracy: got 0"),
        ("--to 64 --accuracy 1% --more 8 --measure true -o out", "has no {output}"),
        (
            "--to 64 --accuracy 1% --more 8 --measure 'true {rank} {output}' -o out",
            "legal in braces",
        ),
        (
            "--to 64 --accuracy 1% --more 8 --measure 'nosuch {output}' -o out",
            "nosuch: No such file",
        ),
    ],
)
def test_loops_that_cannot_be_are_refused(tasksim, recorded, words, said):
    called = tasksim(f"report scaling r1 r2 r4 {ENOUGH} {words}")
    assert called.code == 2, called.err
    assert said in called.errors[0]


def test_a_command_that_fails_ends_the_loop_with_its_words(tasksim, recorded):
    line = f"report scaling r1 r2 r4 {ENOUGH} --to 64 --accuracy 1% --more 8 -o out --measure"
    called = tasksim(f"{line} 'tasksim simulate nosuch -o {{output}}'")
    assert called.code == 3
    assert "nosuch" in called.errors[0]


def test_a_program_that_only_a_run_names_is_not_imported(tmp_path):
    """Settings make its graph anew; that of a file of Python would be imported for it."""
    builder = GraphBuilder(f"{tmp_path / 'theirs.py'}")
    builder.insert("relax", n=4)
    graph = builder.build()
    (tmp_path / "theirs.py").write_text("raise SystemExit('imported')")
    run = tasksim.simulate(graph, workers=1, durations={"relax": 1.0})
    with pytest.raises(tasksim.InputError, match=r"runs/4: .*theirs\.py"):
        bulk_report._case("4:n=2", RecordedRun(Path("runs/4"), run, graph), {})
