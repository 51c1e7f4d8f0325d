"""`tasksim measure`: from the command line to a model's samples."""

from __future__ import annotations

import pytest

from tasksim.formats.samples import read_samples


def test_measure_then_go_on(tasksim, tmp_path):
    line = "measure syrk n=16..64:log k=n --samples 6 --repetitions 5 -o out/s.csv"
    called = tasksim(line)
    assert called.code == 0, called.err
    assert called.out.splitlines()[0] == "kernel          syrk"
    assert called.out.splitlines()[1].startswith("configurations  6 of 6 (")
    assert called.err.endswith("Wrote out/s.csv\n")
    samples = read_samples(tmp_path / "out" / "s.csv")
    assert samples.names == ("n", "k")
    assert len(samples) == 30
    again = tasksim(line)
    assert again.code == 2
    assert again.err == "Error: out/s.csv exists; give --force to replace it\n"
    resumed = tasksim(f"{line} --resume --json")
    assert (resumed.json["measured"], resumed.json["samples"]) == (6, 30)
    assert resumed.json["kernel"] == "syrk"


def test_single_precision_has_its_own_name(tasksim):
    called = tasksim("measure potrf n=24 --dtype float32 --repetitions 2 -o p.csv --json")
    assert called.json["kernel"] == "potrf_float32"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("measure potr n=8 -o p.csv", "unknown kernel 'potr', did you mean 'potrf'"),
        ("measure potrf -o p.csv", "no sizes of n; give e.g. n=32..2048:log"),
        ("measure potrf n=8 -o p.csv --budget 5", "5 has no unit"),
        ("measure potrf n=8", "Missing option '-o'"),
    ],
)
def test_mistakes(tasksim, line, message):
    called = tasksim(line)
    assert called.code == 2
    assert message in called.err


def test_interruptions_keep_what_was_measured(tasksim, tmp_path, monkeypatch):
    from tasksim.kernels.standalone import Standalone

    reset, calls = Standalone.reset, []

    def stopping(self):
        calls.append(1)
        if len(calls) == 20:
            raise KeyboardInterrupt
        reset(self)

    monkeypatch.setattr(Standalone, "reset", stopping)
    called = tasksim("measure potrf n=8..64 --repetitions 5 -o p.csv --json")
    assert called.code == 130
    assert called.json["interrupted"] is True
    assert called.err.endswith("Interrupted: the samples so far are kept; --resume goes on.\n")
    # Of three configurations 5, 5 and, after 3 to warm up, 0 to 5: 20 calls end in the third.
    assert len(read_samples(tmp_path / "p.csv")) == called.json["samples"] == 10


def test_conditions_and_names(tasksim, tmp_path):
    line = "measure gemm m=8..64 n=8..64 k=8 --samples 4 --tolerance 90% --repetitions 1"
    called = tasksim(f"{line} --where '64 <= m*n <= 128' --where 'm < n' -o g.csv")
    assert called.code == 0, called.err
    rows = [line.split(",") for line in (tmp_path / "g.csv").read_text().splitlines()[1:]]
    sizes = {(int(row[2]), int(row[3])) for row in rows}
    assert len(sizes) == 4
    assert all(64 <= m * n <= 128 and m < n for m, n in sizes)
    meta = (tmp_path / "g.meta.json").read_text()
    assert '"64 <= m*n <= 128"' in meta
    wrong = tasksim(f"{line} --where 'm*q < 3' -o h.csv")
    assert wrong.errors == [
        "Error: condition 'm*q < 3': column 3: unknown parameter 'q' (known: m, n, k)"
    ]
    assert not (tmp_path / "h.csv").exists()
