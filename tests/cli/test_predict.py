"""`tasksim predict`: a duration, its interval, and how far outside it was asked."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import tasksim as public
from tasksim.formats.samples import read_samples
from tasksim.models.conformance import example_samples
from tasksim.models.files.coefficients import Entry, Machine, Measured
from tasksim.models.files.store import save_kernel, save_models
from tasksim.models.kinds.counted import CounterModel
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.kinds.linear import LinearModel
from tasksim.models.samples import Samples, with_clock
from tasksim.models.uncertainty.conformal import calibrate


@pytest.fixture
def model(tasksim, tmp_path):
    """Write a linear model of gemm, with its uncertainty, to models/here/gemm.json."""
    samples = example_samples()
    model = LinearModel("m*n*k").fit(samples)
    calibrate(model, samples)
    save(tmp_path, {"cpu": model})
    return model


def save(folder, models):
    entries = {name: Entry(m, Measured("2025-01-31", "generated")) for name, m in models.items()}
    save_kernel(folder / "models/here", "gemm", entries, machine=Machine("here"))


def test_what_the_model_says(tasksim, model):
    called = tasksim("predict models/here/gemm.json k=128 m=64 n=96 --json")
    assert called.code == 0, called.err
    row = np.array([[64.0, 96.0, 128.0]])
    low, high = model.interval(row, 0.9)
    assert called.json == {
        "schema_version": 1,
        "kernel": "gemm",
        "architecture": "cpu",
        "kind": "mlr",
        "parameters": {"m": 64.0, "n": 96.0, "k": 128.0},
        "duration_s": model.predict(row)[0],
        "low_s": low[0],
        "high_s": high[0],
        "level": 0.9,
        "inside": True,
        "outside": {},
    }
    wider = tasksim("predict models/here/gemm.json k=128 m=64 n=96 --level 99% --json").json
    assert wider["low_s"] < called.json["low_s"] < called.json["high_s"] < wider["high_s"]


def test_by_how_much_it_is_outside(tasksim, model):
    called = tasksim("predict models/here/gemm.json m=768 n=96 k=16 --json")
    assert called.json["inside"] is False
    assert called.json["outside"] == {
        "m": {"value": 768.0, "low": 64.0, "high": 192.0, "factor": 4.0},
        "k": {"value": 16.0, "low": 64.0, "high": 192.0, "factor": 4.0},
    }
    text = tasksim("predict models/here/gemm.json m=768 n=96 k=16").out
    assert (
        "domain    outside: m=768 is above the largest measured, 192, by a factor of 4; "
        "k=16 is below the least measured, 64, by a factor of 4"
    ) in text


def test_for_people(tasksim, model):
    lines = tasksim("predict models/here/gemm.json m=64 n=64 k=64").out.splitlines()
    assert [line.split()[0] for line in lines] == ["duration", "interval", "domain"]
    assert lines[1].endswith("(90 % of measurements)")
    assert lines[2] == "domain    inside the measured domain: m 64 to 192, n 64 to 192, k 64 to 192"


def test_models_without_uncertainty_have_no_interval(tasksim, tmp_path):
    save(tmp_path, {"cpu": LinearModel("m*n*k").fit(example_samples())})
    called = tasksim("predict models/here/gemm.json m=64 n=64 k=64 --json")
    assert called.json["low_s"] is called.json["high_s"] is None
    text = tasksim("predict models/here/gemm.json m=64 n=64 k=64").out
    assert "interval  not known" in text


def test_the_architecture_if_there_are_several(tasksim, tmp_path):
    samples = example_samples()
    save(tmp_path, {"cpu": HistoryModel().fit(samples), "cuda": LinearModel("m").fit(samples)})
    line = "predict models/here/gemm.json m=64 n=64 k=64"
    called = tasksim(line)
    assert called.code == 2
    assert "has models for cpu, cuda; choose one with --architecture NAME" in called.err
    assert tasksim(f"{line} --architecture cuda --json").json["kind"] == "mlr"
    assert "unknown architecture 'cda', did you mean 'cuda'" in tasksim(
        f"{line} --architecture cda"
    ).err  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("m=1 n=2", "gemm on cpu: k missing; give k=VALUE as well"),
        ("m=1 n=2 kk=3", "gemm on cpu: unknown parameter 'kk', did you mean 'k'? (known: m, n, k)"),
        ("m=1 n=2 k", "got 'k'; legal: PARAMETER=VALUE"),
        ("m=1 m=2 n=2 k=3", "gemm on cpu: m is given twice"),
        ("m=x n=2 k=3", "m: got 'x'; legal: a finite number, not negative"),
        ("m=-1 n=2 k=3", "m: got '-1'; legal: a finite number, not negative"),
        ("m=1 n=2 k=3 --level 0%", "--level: got 0; legal: between 0% and 100%"),
    ],
)
def test_mistakes(tasksim, model, settings, message):
    called = tasksim(f"predict models/here/gemm.json {settings}")
    assert (called.code, called.out) == (2, "")
    assert called.errors == [f"Error: {message}"]


def test_a_history_says_what_it_knows(tasksim, tmp_path):
    save(tmp_path, {"cpu": HistoryModel().fit(example_samples())})
    called = tasksim("predict models/here/gemm.json m=65 n=64 k=64")
    assert called.code == 2
    assert "no samples with (m=65, n=64, k=64)" in called.err
    assert "the nearest is (m=64, n=64, k=64)" in called.err


def test_no_such_model(tasksim, tmp_path):
    assert tasksim("predict none.json m=1").code == 2
    (tmp_path / "x.json").write_text(json.dumps({"schema_version": 1}))
    called = tasksim("predict x.json m=1")
    assert called.code == 2
    assert "'machine' is missing" in called.err


def test_the_kernel_of_a_model_file(tasksim, model, tmp_path):
    entries = {"cpu": Entry(model, Measured("2025-01-31", "generated"))}
    machine = Machine("here")
    save_models(tmp_path / "one.json", {"gemm": entries}, machine=machine)
    save_models(tmp_path / "two.json", {"trsm": entries, "gemm": entries}, machine=machine)
    alone = tasksim("predict models/here/gemm.json m=64 n=64 k=64 --json").json
    assert tasksim("predict one.json m=64 n=64 k=64 --json").json == alone
    assert tasksim("predict two.json --kernel gemm m=64 n=64 k=64 --json").json == alone
    trsm = tasksim("predict two.json --kernel trsm m=64 n=64 k=64 --json").json
    assert trsm == {**alone, "kernel": "trsm"}
    for line, message in (
        ("two.json", "two.json has models of gemm, trsm; choose one with --kernel NAME"),
        ("two.json --kernel gem", "two.json: unknown kernel 'gem', did you mean 'gemm'?"),
        ("models/here/gemm.json --kernel trsm", "gemm.json: unknown kernel 'trsm' (known: gemm)"),
    ):
        called = tasksim(f"predict {line} m=64 n=64 k=64")
        assert called.code == 2
        assert message in called.err


# Categories, and files of configurations


@pytest.fixture
def layouts(tasksim, tmp_path):
    """Write a model of a parameter with categories to models/here/gemm.json."""
    n = np.tile(np.arange(100.0, 500.0, 10.0), 2)
    layout = np.repeat(["row", "col"], 40)
    seconds = 1e-6 * n * np.repeat([2.0, 1.0], 40) * np.exp(0.02 * np.sin(n))
    samples = Samples.from_columns({"layout": layout, "n": n, "duration_s": seconds})
    model = LinearModel("0 + n*is(layout, row) + n*is(layout, col)").fit(samples)
    calibrate(model, samples)
    save(tmp_path, {"cpu": model})
    return model


def test_categories_by_name(tasksim, layouts):
    line = "predict models/here/gemm.json n=200"
    called = tasksim(f"{line} layout=row --json")
    assert called.code == 0, called.err
    assert called.json["parameters"] == {"layout": "row", "n": 200.0}
    assert called.json["duration_s"] == layouts.predict([["row", 200]])[0]
    assert called.json["inside"] is True
    text = tasksim(f"{line} layout=row").out
    assert "domain    inside the measured domain: layout col, row, n 100 to 490\n" in text
    wrong = tasksim(f"{line} layout=rwo")
    assert wrong.errors == [
        "Error: gemm on cpu: layout=rwo: no such category was measured, did you mean 'row'? "
        "(measured: col, row); --unseen pooled predicts from all of them"
    ]
    pooled = tasksim(f"{line} layout=rwo --unseen pooled --json").json
    assert pooled["duration_s"] == layouts.predict([["rwo", 200]], unseen="pooled")[0]
    assert pooled["inside"] is False
    assert list(pooled["outside"]) == ["layout"]
    said = tasksim(f"{line} layout=rwo --unseen pooled").out
    assert "domain    outside: layout=rwo was not measured\n" in said


def test_a_file_of_configurations(tasksim, layouts, tmp_path):
    (tmp_path / "some.csv").write_text("who;n;layout\nme;200;row\n;5e3;col\n")
    called = tasksim("predict models/here/gemm.json --file some.csv")
    assert called.code == 0, called.err
    low, high = layouts.interval([["row", 200], ["col", 5e3]])
    first, second = layouts.predict([["row", 200], ["col", 5e3]]).tolist()
    assert called.out.splitlines() == [
        "who,n,layout,predicted_s,low_s,high_s,inside",
        f"me,200,row,{first},{low[0]},{high[0]},yes",
        f",5000,col,{second},{low[1]},{high[1]},no",
    ]
    written = tasksim("predict models/here/gemm.json --file some.csv -o out.csv --json")
    assert written.err == "Wrote out.csv\n"
    assert (tmp_path / "out.csv").read_text() == called.out
    assert [row["predicted_s"] for row in written.json["rows"]] == [first, second]
    again = tasksim("predict models/here/gemm.json --file some.csv -o out.csv")
    assert again.errors == ["Error: out.csv exists; give --force to replace it"]
    given = tasksim("predict models/here/gemm.json --file some.csv n=200 --json").json
    assert [row["n"] for row in given["rows"]] == [200, 200]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("n,layout\n1,row\n2,raw\n", "", "some.csv:3:3: layout=raw: no such category was measured"),
        ("n,layout\n1,row\n,row\n", "", "some.csv:3:1: n: got nothing; legal: a number"),
        ("n,layout\n1,row\nx,row\n", "", "some.csv:3:1: n: got 'x'; legal: a number"),
        ("n,layout\n1,row\n-1,row\n", "", "some.csv:3:1: n: got '-1'; legal: a finite number, not"),
        (
            "n,layuot\n1,row\n",
            "",
            "no column 'layout', a parameter of the model, did you mean 'lay",
        ),
        ("n\n1\n", "layout=raw", "layout=raw: no such category was measured"),
        ("n,layout\n1,row\n", "-o x.json", "x.json: predictions are .csv files"),
        ("n,layout\n1,row\n", "m=3", "unknown parameter 'm'"),
    ],
)
def test_mistakes_in_a_file_of_configurations(tasksim, layouts, tmp_path, text, options, message):
    (tmp_path / "some.csv").write_text(text)
    called = tasksim(f"predict models/here/gemm.json --file some.csv {options}")
    assert called.code == 2
    assert called.out == ""
    assert message in called.err


def test_output_needs_a_file(tasksim, layouts):
    called = tasksim("predict models/here/gemm.json n=1 layout=row -o x.csv")
    assert called.errors == ["Error: --output is for the predictions of a --file"]


def test_a_file_for_a_history_names_the_line_that_it_does_not_know(tasksim, tmp_path):
    samples = example_samples()
    save(tmp_path, {"cpu": HistoryModel().fit(samples)})
    m, n, k = (int(value) for value in samples.parameters[0])
    (tmp_path / "some.csv").write_text(f"m,n,k\n{m},{n},{k}\n1,2,3\n")
    called = tasksim("predict models/here/gemm.json --file some.csv")
    assert called.err.startswith(
        "Error: some.csv:3:1: gemm on cpu: no samples with (m=1, n=2, k=3)"
    )


def _counted(path, clocks_hz):
    """Write samples of half a cycle per instruction, and a quarter of memory's time."""
    rows = ["n,frequency_hz,instructions,l1_hits,memory_accesses,duration_s"]
    for n in (64, 128, 256, 512):
        for hertz in clocks_hz:
            for run in range(3):
                seconds = 0.5 * 9 * n * n / hertz + 0.25 * (n * 100 * 5e-9)
                rows.append(f"{n},{hertz:g},{9 * n * n},0,{100 * n},{seconds * (1 + 1e-6 * run)}")
    Path(path).write_text("\n".join(rows) + "\n")


@pytest.fixture
def counter_model(tasksim):
    def fit(*clocks_hz):
        _counted("counted.csv", clocks_hz)
        samples = read_samples(Path("counted.csv"))
        model = CounterModel(latencies_s={"l1": 1e-9, "memory": 5e-9}).fit(samples)
        calibrate(model, with_clock(samples))
        public.save_models("model.json", {"kernel": {"cpu": model}}, machine="made")
        return model

    return fit


def test_at_another_clock_computing_takes_longer_and_memory_does_not(tasksim, counter_model):
    counter_model(2e9)
    fast, slow = (
        tasksim(f"predict model.json n=256 {more} --json").json for more in ("", "--frequency 1GHz")
    )
    assert fast["parts"]["computing_s"] == pytest.approx(0.5 * 9 * 256**2 / 2e9, rel=1e-3)
    assert slow["parts"]["computing_s"] == pytest.approx(2 * fast["parts"]["computing_s"])
    assert slow["parts"]["memory_s"] == pytest.approx(fast["parts"]["memory_s"])
    assert slow["duration_s"] == pytest.approx(sum(slow["parts"].values()))
    ratio = slow["duration_s"] / fast["duration_s"]
    assert slow["high_s"] == pytest.approx(ratio * fast["high_s"])
    assert "parts     computing" in tasksim("predict model.json n=256").out


def test_a_model_of_two_clocks_predicts_at_those_that_were_measured(tasksim, counter_model):
    counter_model(2e9, 3e9)
    told = {
        more: tasksim(f"predict model.json n=256 {more} --json").json
        for more in ("", "--frequency 2GHz", "frequency_hz=2e9")
    }
    assert told[""]["parameters"]["frequency_hz"] == 3e9
    assert told["--frequency 2GHz"]["duration_s"] == told["frequency_hz=2e9"]["duration_s"]
    truth = {hertz: 0.5 * 9 * 256**2 / hertz + 0.25 * 256 * 100 * 5e-9 for hertz in (2e9, 3e9)}
    assert told[""]["duration_s"] == pytest.approx(truth[3e9], rel=1e-3)
    assert told["--frequency 2GHz"]["duration_s"] == pytest.approx(truth[2e9], rel=1e-3)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--frequency 0GHz", "must be more than 0"),
        ("--frequency fast", "write e.g. '2.6 GHz'"),
        ("--frequency 2GHz frequency_hz=2e9", "--frequency and frequency_hz: give only one"),
        ("--frequency 2GHz --file counted.csv", "a column frequency_hz"),
    ],
)
def test_a_clock_that_is_none_is_refused(tasksim, counter_model, words, said):
    counter_model(2e9, 3e9)
    called = tasksim(f"predict model.json n=256 {words}")
    assert called.code == 2
    assert said in called.err


def test_models_without_counters_do_not_know_what_a_clock_changes(tasksim):
    model = public.PowerLaw().fit(
        Samples(("n",), np.array([[1.0], [2.0], [4.0]] * 3), np.array([1.0, 2.0, 4.0] * 3))
    )
    public.save_models("power.json", {"kernel": {"cpu": model}}, machine="made")
    called = tasksim("predict power.json n=2 --frequency 1GHz")
    assert called.code == 2
    assert "is a model of kind power; legal: models of counters" in called.err
