"""`tasksim fit --update`: a model learns further samples."""

import json
import subprocess
import sys

import numpy as np
import pytest

from tasksim.models.files.store import load_kernel

TERMS = "--terms 'm*n*k + m*n'"


def measured(configurations, repetitions, seed=0):
    rng = np.random.default_rng(seed)
    table = np.exp(rng.uniform(np.log(32), np.log(1024), (configurations, 3))).round()
    table = np.repeat(table, repetitions, axis=0)
    mean_s = 2e-6 + 4e-11 * table.prod(axis=1) + 1e-9 * table[:, 0] * table[:, 1]
    rows = zip(
        table.tolist(), (mean_s * rng.lognormal(0.0, 0.05, len(table))).tolist(), strict=True
    )
    return ["m,n,k,runtime_s", *(",".join(map(repr, [*row, t])) for row, t in rows)]


@pytest.fixture
def files(tasksim, tmp_path):
    """Write gemm.csv and more.csv to the working directory."""
    (tmp_path / "gemm.csv").write_text("\n".join([*measured(60, 2), ""]))
    (tmp_path / "more.csv").write_text("\n".join([*measured(20, 1, seed=1), ""]))
    return tmp_path


@pytest.mark.parametrize("kind", [f"--kind mlr {TERMS}", "--kind cp --rank 1 --cells 4"])
def test_a_model_learns_samples_and_replaces_its_file(tasksim, files, kind):
    fitted = tasksim(f"fit gemm.csv {kind} --updatable -o here/gemm.json --json").json
    # Edges of the grid are at the samples: one beyond them is refused.
    lines = (files / "more.csv").read_text().splitlines()
    low, high = zip(*fitted["domain"].values(), strict=True)
    inside = [
        line
        for line in lines[1:]
        if all(a <= float(x) <= b for a, x, b in zip(low, line.split(",")[:3], high, strict=True))
    ]
    (files / "more.csv").write_text("\n".join([lines[0], *inside, ""]))
    done = tasksim("fit more.csv --update here/gemm.json --json").json
    assert done["samples"] == fitted["samples"] + len(inside)
    assert done["update"]["samples"] == len(inside)
    assert done["update"]["mlogq_after"] <= done["update"]["mlogq_before"]
    assert done["output"] == "here/gemm.json"
    entry = load_kernel(files / "here/gemm.json").architectures["cpu"]
    assert entry.model.report()["updated"] == len(inside)
    assert entry.measured.how == "samples of gemm.csv; updated by more.csv"
    assert tasksim("predict here/gemm.json m=100 n=100 k=100").code == 0
    assert tasksim("validate here/gemm.json").code == 0


def test_a_single_sample_into_another_file(tasksim, files):
    tasksim(f"fit gemm.csv {TERMS} --updatable -o here/gemm.json")
    before = (files / "here/gemm.json").read_bytes()
    (files / "one.csv").write_text("m,n,k,runtime_s\n100,100,100,5e-5\n")
    done = tasksim("fit one.csv --update here/gemm.json -o here/other.json")
    assert done.code == 0, done.err
    assert done.out.startswith("updated   mlr model, 1 sample more\n")
    assert (files / "here/gemm.json").read_bytes() == before
    assert json.loads((files / "here/other.json").read_text())["kernel"] == "other"
    again = tasksim("fit one.csv --update here/gemm.json -o here/other.json")
    assert again.code == 2
    assert "here/other.json exists" in again.err


def test_only_kinds_that_can_be_updated_are_tried(tasksim, files):
    found = tasksim("fit gemm.csv --updatable --budget 1s -o here/gemm.json --json").json
    assert [row["kind"] for row in found["candidates"]] == ["history", "mlr", "cp"]
    assert load_kernel(files / "here/gemm.json").architectures["cpu"].model.updatable


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--update gemm.json --kind cp", "keeps the model's kind, options and grid: leave --kind"),
        ("--update gemm.json --architecture gpu", "no model for architecture 'gpu'"),
        ("--update gemm.json", "no normal equations, which an update needs"),
        ("--update nothing.json", "nothing.json"),
        ("--kind mlr --terms m*n*k --weights huber --updatable", "'huber' cannot be updated"),
        ("--kind hybrid --rank 0 --updatable", "models of kind hybrid cannot be updated"),
    ],
)
def test_refusals(tasksim, files, words, said):
    tasksim(f"fit gemm.csv {TERMS} -o gemm.json")
    called = tasksim(f"fit more.csv {words}")
    assert called.code == 2
    assert said in called.err


def test_updates_at_the_same_time_all_count(tasksim, files, monkeypatch):
    fitted = tasksim(f"fit gemm.csv {TERMS} --updatable -o gemm.json --json").json
    (files / "one.csv").write_text("m,n,k,runtime_s\n100,100,100,5e-5\n")
    words = [sys.executable, "-m", "tasksim", "fit", "one.csv", "--update", "gemm.json"]
    others = []

    def meanwhile(path):
        # Another process begins when this one has read the file, and has to wait.
        found = load_kernel(path)
        if not others:
            others.append(subprocess.Popen(words, cwd=files, stdout=subprocess.DEVNULL))
            with pytest.raises(subprocess.TimeoutExpired):
                others[0].wait(timeout=1.0)
        return found

    monkeypatch.setattr("tasksim.cli.fit_update.load_kernel", meanwhile)
    assert tasksim("fit one.csv --update gemm.json").code == 0
    assert others[0].wait() == 0
    one = tasksim("fit one.csv --update gemm.json --json").json
    assert one["samples"] == fitted["samples"] + 3
