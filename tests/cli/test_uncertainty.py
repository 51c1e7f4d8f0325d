"""``tasksim simulate --uncertainty``: how sure a makespan is, on the command line."""

import json

import pytest
from click.testing import CliRunner

from tasksim.cli.main import cli

GRAPH = ["simulate", "cholesky", "tiles=5", "--platform", "xeon-2c"]


def _run(*arguments):
    return CliRunner().invoke(cli, [*GRAPH, *arguments])


def test_json():
    found = json.loads(_run("--uncertainty", "both", "--replications", "60", "--json").stdout)
    said = found["uncertainty"]
    assert said["run_low_s"] < said["mean_low_s"] < said["mean_s"] < said["run_high_s"]
    assert set(said["shares"]) == {"models", "tasks"}
    assert said["level"] == 0.95
    assert said["replications"] == 60
    assert "uncertainty" not in json.loads(_run("--json").stdout)


def test_text_and_what_is_not_known():
    result = _run("--uncertainty", "all", "--replications", "60", "--level", "80%")
    assert result.exit_code == 0
    assert "mean of runs: " in result.stdout
    assert "(80 %)" in result.stdout
    assert "run to run: unknown for potrf on cpu" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--until", "1%"], "--until is for --uncertainty"),
        (["--against", "eager"], "--against is for --uncertainty"),
        (["--now"], "--now is for --uncertainty"),
        (["--uncertainty", "both", "--now"], "--now is for models of this machine"),
        (["--uncertainty", "tasks", "--against", "nobody"], "nobody"),
        (["--replications", "50"], "--replications is for --uncertainty"),
        (["--uncertainty", "tasks", "--noise", "model"], "leave --noise out"),
        (["--uncertainty", "tasks", "--until", "0%"], "until: got 0.0; legal: above 0"),
        (["--uncertainty", "tasks", "--level", "120%"], "level: got 1.2"),
        (["--uncertainty", "tasks", "--replications", "1"], "replications: got 1"),
        (["--uncertainty", "runs"], "calibrate again"),
        (["--uncertainty", "some"], "some"),
    ],
)
def test_what_does_not_go_is_told(arguments, said, monkeypatch):
    monkeypatch.setattr("tasksim.cli.simulate._is_of_this_machine", lambda _: False)
    result = _run(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr


def test_two_schedulers_meet_the_same_luck():
    asked = ["--uncertainty", "tasks", "--replications", "60", "--scheduler", "lws"]
    result = _run(*asked, "--against", "lws", "--against", "eager")
    assert "lws is faster than lws in 50 % of runs with the same luck" in result.stdout
    assert "lws is faster than eager in " in result.stdout
    said = json.loads(_run(*asked, "--against", "eager", "--json").stdout)["uncertainty"]
    (rival,) = said["against"]
    assert rival["scheduler"] == "eager"
    assert rival["mean_low_s"] <= rival["mean_s"] <= rival["mean_high_s"]
    assert 0 <= rival["first_wins"] <= 1


def test_compare_says_whether_a_run_is_inside(tmp_path):
    said, run = tmp_path / "said", tmp_path / "run"
    asked = ["--uncertainty", "tasks", "--replications", "60", "-o", str(said)]
    assert _run(*asked).exit_code == 0
    assert _run("-o", str(run)).exit_code == 0
    compared = CliRunner().invoke(cli, ["compare", str(run), str(said)])
    assert "is inside the interval of one run" in compared.stdout
    data = CliRunner().invoke(cli, ["compare", str(run), str(said), "--json"]).stdout
    assert json.loads(data)["inside"]["inside"] is True


def test_what_is_done_when_interrupted_is_kept(monkeypatch, tmp_path):
    from tasksim.engine.replications import Replicator

    drawn, draw = [], Replicator.draw

    def until_then(self, which):
        drawn.append(which)
        if len(drawn) >= 300:
            raise KeyboardInterrupt
        return draw(self, which)

    monkeypatch.setattr(Replicator, "draw", until_then)
    monkeypatch.setattr("tasksim.native.this_machine.usable_cores", lambda: [0])
    result = _run("--uncertainty", "both", "-o", str(tmp_path / "run"))
    assert result.exit_code == 130
    assert "mean of runs: " in result.stdout
    assert "interrupted after 298 replications" in result.stderr
    assert (tmp_path / "run" / "run.json").is_file()
