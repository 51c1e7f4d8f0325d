"""The benchmark of kernel models, as its users run it."""

import json
import subprocess
import sys
from pathlib import Path
from runpy import run_path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _run(*arguments):
    command = [sys.executable, "benchmarks/models.py", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


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
def test_bad_input_is_an_error_in_words(arguments, message, monkeypatch, capsys):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    monkeypatch.setattr(sys, "argv", ["models.py", *arguments])
    with pytest.raises(SystemExit) as ended:
        run_path(str(ROOT / "benchmarks" / "models.py"), run_name="__main__")
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_small_prints_all_tables_and_keeps_results(tmp_path):
    kept, figure = tmp_path / "results.json", tmp_path / "errors.svg"
    asked = ("all", "--small", "--suites", "fft", "--kinds", "mlr", "--json", kept)
    found = _run(*asked, "--figure", figure)
    assert found.returncode == 0, found.stderr
    for title in (
        "Error inside the domain, 64 samples",
        "Error beyond the samples",
        "Error of mlr",
        "Shares in 95 % intervals of mlr, 64 samples",
    ):
        assert title in found.stdout
    results = json.loads(kept.read_text())
    assert [(row["suite"], row["count"]) for row in results["inside"]] == [
        ("fft", 64),
        ("fft", 128),
    ]
    assert all(row["mlogq"] < row["mlogq_measured"] + 0.1 < 1 for row in results["inside"])
    assert {row["kind"] for row in results["beyond"]} == {"law", "mlr"}
    assert {row["parameter"] for row in results["beyond"]} == {"length", "batch", "all"}
    assert "Errors of mlr by the number of samples" in figure.read_text()

    again = _run("monotony", *asked[1:])
    assert again.stdout
    assert again.stdout in found.stdout
    assert f"{len(results['inside']) + len(results['beyond'])} results" in again.stderr


@pytest.mark.slow
def test_peers_come_from_their_folder(tmp_path):
    peers = tmp_path / "peers"
    command = [
        sys.executable, "benchmarks/model_peers.py", str(peers), "--suites", "qr",
        "--counts", "64", "--peers", "nearest neighbours,boosting",
    ]  # fmt: skip
    pytest.importorskip("sklearn")
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    found = _run(
        "inside", "--suites", "qr", "--counts", "64", "--kinds", "mlr", "--peers", peers
    )  # fmt: skip
    by_peer = json.loads((peers / "qr-64-0.json").read_text())["peers"]
    best = min(by_peer, key=lambda peer: by_peer[peer]["mlogq"])
    assert found.returncode == 0, found.stderr
    assert best in found.stdout
    assert "mlr by the best peer: geometric mean" in found.stdout


@pytest.mark.slow
def test_measured_samples_may_have_categories_and_constants(tmp_path):
    sizes = [16 * 2 ** (i / 20) for i in range(120)]
    lines = [
        f"{n:.0f},{layout},7,{n * factor * 1e-6!r}"
        for n in sizes for layout, factor in (("row", 1), ("column", 3))
    ]  # fmt: skip
    (tmp_path / "walk.csv").write_text("n,layout,depth,duration_s\n" + "\n".join(lines) + "\n")
    found = _run("inside", "--measured", tmp_path, "--counts", "64", "--kinds", "mlr")
    assert found.returncode == 0, found.stderr
    row = next(line for line in found.stdout.splitlines() if line.startswith("walk"))
    assert float(row.split()[1]) < 0.01  # a straight line, three times as steep for one layout
