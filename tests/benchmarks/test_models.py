"""The benchmark of kernel models, as its users run it."""

import json
import subprocess
import sys
import warnings
from pathlib import Path
from runpy import run_path

import pytest
from tiers import LONG

from tasksim.models import selection

ROOT = Path(__file__).resolve().parents[2]
MOST_TERMS = {} if LONG else {"mlr": {"most_terms": 2}}
"""Options of models: a search for longer sums takes most of the time, and is tested with them."""


@pytest.fixture
def judge(monkeypatch, capsys):
    """Return a function that runs the benchmark in this process and returns what it printed."""
    select = selection.select
    monkeypatch.setattr(
        selection, "select", lambda *asked, **more: select(*asked, options=MOST_TERMS, **more)
    )
    monkeypatch.syspath_prepend(ROOT / "benchmarks")

    def executed(*arguments):
        monkeypatch.setattr(sys, "argv", ["models.py", *map(str, arguments)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run_path(str(ROOT / "benchmarks" / "models.py"), run_name="__main__")
        return capsys.readouterr()

    return executed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["inside", "--suites", "qrr"], "argument --suites: unknown name 'qrr' (known: matmul, qr"),
        (["inside", "--kinds", "gp"], "argument --kinds: unknown name 'gp' (known: default"),
        (["inside", "--counts", "1e3"], "argument --counts: '1e3' is not a number"),
        (["inside", "--budget", "0"], "argument --budget: 0 s; legal: more than 0"),
        (["inside", "--peers", "nowhere"], "argument --peers: no folder 'nowhere'"),
        (["inside", "--measured", "nowhere"], "nowhere: no samples; fill it with"),
    ],
)
def test_bad_input_is_an_error_in_words(arguments, message, judge, capsys):
    with pytest.raises(SystemExit) as ended:
        judge(*arguments)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_small_prints_all_tables_and_keeps_results(tmp_path, judge):
    kept, figure = tmp_path / "results.json", tmp_path / "errors.svg"
    asked = ("all", "--small", "--suites", "fft", "--kinds", "mlr", "--json", kept)
    found = judge(*asked, "--figure", figure)
    for title in (
        "Error inside the domain, 64 samples",
        "Error beyond the samples",
        "Error of mlr",
        "Shares in 95 % intervals of mlr, 64 samples",
    ):
        assert title in found.out
    results = json.loads(kept.read_text())
    assert [(row["suite"], row["count"]) for row in results["inside"]] == [
        ("fft", 64),
        ("fft", 128),
    ]
    assert all(row["mlogq"] < row["mlogq_measured"] + 0.1 < 1 for row in results["inside"])
    assert {row["kind"] for row in results["beyond"]} == {"law", "mlr"}
    assert {row["parameter"] for row in results["beyond"]} == {"length", "batch", "all"}
    assert "Errors of mlr by the number of samples" in figure.read_text()

    again = judge("monotony", *asked[1:])
    assert again.out
    assert again.out in found.out
    assert f"{len(results['inside']) + len(results['beyond'])} results" in again.err


@pytest.mark.slow
def test_peers_come_from_their_folder(tmp_path, judge):
    peers = tmp_path / "peers"
    command = [
        sys.executable, "benchmarks/model_peers.py", str(peers), "--suites", "qr",
        "--counts", "64", "--peers", "nearest neighbours,support vectors",
    ]  # fmt: skip
    pytest.importorskip("sklearn")
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    found = judge("inside", "--suites", "qr", "--counts", "64", "--kinds", "mlr", "--peers", peers)
    by_peer = json.loads((peers / "qr-64-0.json").read_text())["peers"]
    best = min(by_peer, key=lambda peer: by_peer[peer]["mlogq"])
    assert best in found.out
    assert "mlr by the best peer: geometric mean" in found.out


@pytest.mark.slow
def test_measured_samples_may_have_categories_and_constants(tmp_path, judge):
    sizes = [16 * 2 ** (i / 20) for i in range(120)]
    lines = [
        f"{n:.0f},{layout},7,{n * factor * 1e-6!r}"
        for n in sizes for layout, factor in (("row", 1), ("column", 3))
    ]  # fmt: skip
    (tmp_path / "walk.csv").write_text("n,layout,depth,duration_s\n" + "\n".join(lines) + "\n")
    found = judge("inside", "--measured", tmp_path, "--counts", "64", "--kinds", "mlr")
    row = next(line for line in found.out.splitlines() if line.startswith("walk"))
    assert float(row.split()[1]) < 0.01  # a straight line, three times as steep for one layout
