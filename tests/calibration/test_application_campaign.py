"""Campaigns over settings of applications: what is drawn, run, sampled and written."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

import tasksim
from tasksim.base.errors import InputError
from tasksim.calibration import application_campaign
from tasksim.calibration.application_campaign import measure_application, parse_settings_domain
from tasksim.calibration.domain_campaign import MeasureOptions
from tasksim.cli.main import cli
from tasksim.models.files.store import read_samples

QUICK_OPTIONS = MeasureOptions(samples=5, repetitions=2)


def test_each_task_of_each_run_is_a_sample_of_its_kernel(tmp_path):
    domain = parse_settings_domain("cholesky", ["tiles=3", "tile_size=8..32"])
    summary = measure_application(domain, tmp_path / "samples", QUICK_OPTIONS)
    assert (summary.wanted, summary.measured, summary.interrupted) == (5, 5, False)
    assert {k: row[:2] for k, row in summary.kernels.items()} == {
        "potrf": (5, 5 * 2 * 3), "trsm": (5, 5 * 2 * 3), "syrk": (5, 5 * 2 * 3), "gemm": (5, 10),
    }  # fmt: skip
    samples = read_samples(tmp_path / "samples" / "potrf.samples.csv")["cpu"]
    assert len(samples) == 30
    assert len(set(samples.runs.tolist())) == 10
    assert set(samples.parameters[:, 0]) <= set(range(8, 33))
    assert (samples.durations_s > 0).all()


def test_same_seed_same_settings():
    domain = parse_settings_domain("qr", ["rows=2..6", "columns=rows", "tile_size=8,16", "ib=4"])
    drawn = domain.settings(QUICK_OPTIONS)
    assert (
        drawn
        == domain.settings(QUICK_OPTIONS)
        != domain.settings(MeasureOptions(samples=5, seed=1))
    )
    assert all(row["columns"] == row["rows"] and row["ib"] == "4" for row in drawn)


def test_nothing_drawn_is_one_setting(tmp_path):
    domain = parse_settings_domain("chain", ["length=3", "duration=0"])
    assert measure_application(domain, tmp_path, QUICK_OPTIONS).kernels["task"][:2] == (1, 6)


def test_what_is_there_is_replaced_on_request_only(tmp_path):
    domain = parse_settings_domain("chain", ["length=3", "duration=0"])
    measure_application(domain, tmp_path, QUICK_OPTIONS)
    with pytest.raises(InputError, match=r"task\.samples\.csv"):
        measure_application(domain, tmp_path, QUICK_OPTIONS)
    assert measure_application(domain, tmp_path, QUICK_OPTIONS, force=True).measured == 1


def test_an_interruption_keeps_what_was_measured(tmp_path, monkeypatch):
    execute, runs = application_campaign.execute, iter(range(4))

    def interrupted(*arguments, **named):
        if next(runs, None) is None:
            raise KeyboardInterrupt
        return execute(*arguments, **named)

    monkeypatch.setattr(application_campaign, "execute", interrupted)
    domain = parse_settings_domain("chain", ["length=3,4,5", "duration=0"])
    summary = measure_application(domain, tmp_path, QUICK_OPTIONS)
    assert (summary.interrupted, summary.measured, summary.wanted) == (True, 1, 3)
    kept = len(read_samples(tmp_path / "task.samples.csv")["cpu"])
    assert kept == summary.kernels["task"][1]
    assert kept in {2 * length for length in (3, 4, 5)}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["tile=3"], r"unknown setting 'tile', did you mean 'tiles'\?"),
        (["tiles=3", "tiles=4"], "cholesky: tiles is given twice"),
        (["tiles=3..x"], "cholesky: tiles: got '3..x'; legal: a size 64"),
        (["tiles=3", "tile_size=tiles"], "cholesky: tile_size=tiles: tiles is not drawn"),
    ],
)
def test_what_is_wrong_is_said(settings, message):
    with pytest.raises(InputError, match=message):
        parse_settings_domain("cholesky", settings)


def test_the_command_takes_kernels_and_applications(tmp_path):
    line = ["measure", "chain", "length=3,4", "duration=0", "--repetitions", "2", "-o"]
    result = CliRunner().invoke(cli, [*line, str(tmp_path / "samples")])
    assert result.exit_code == 0, result.output
    assert "2 of 2 settings" in result.output
    result = CliRunner().invoke(cli, [*line, str(tmp_path / "other"), "--resume"])
    assert result.exit_code == 2
    assert "--resume, --dtype and --until are for kernels that come with tasksim" in result.output


def test_an_application_without_tasks_is_refused_and_nothing_is_written(tmp_path, monkeypatch):
    empty = tasksim.GraphBuilder("nothing").build()
    monkeypatch.setattr(application_campaign, "generate", lambda *_, **__: empty)
    domain = parse_settings_domain("cholesky", ["tiles=1,2"])
    with pytest.raises(InputError, match="cholesky: no task ran in 2 of 2 settings"):
        measure_application(domain, tmp_path / "samples", QUICK_OPTIONS)
    assert not (tmp_path / "samples").exists()
