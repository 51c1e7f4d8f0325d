"""Warnings of a study's simulations: printed once, not per cell, and not lost."""

from __future__ import annotations

import json
import shlex
import warnings

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from tasksim.cli.main import cli
from tasksim.study.sweep.store import read_table
from tasksim.study.sweep.studies import run_study, warning_summary

STUDY = """\
version: 1
name: tight
graphs:
  - {graph: cholesky, set: {tiles: [6, 8]}}
  - {graph: fmm, set: {particles: 1000, height: 3, group_size: 8}}
platforms:
  - {platform: xeon-24c, set: {memories.ram.size: [1MiB, 1GiB]}}
schedulers: [lws, dm]
"""
ROOM_WARNING = (
    "memory ram has 1 MiB, and data of 10.5 MiB are at home in it: simulated as if they had room, "
    "and 1 more like it (4 of 12 cells)"
)
EXTRAPOLATION_WARNING = (
    "P2M on cpu: extrapolated to NbCells 8 (measured 31 to 1024), NbParticles 112 to 133 "
    "(measured 1019 to 68394) in 6 of 6 configurations (4 of 12 cells)"
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.yaml").write_text(STUDY)
    return tmp_path


def called(line):
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # as in a process of its own
        found = CliRunner().invoke(cli, shlex.split(f"study {line}"), prog_name="tasksim")
    assert found.exit_code == 0, found.stderr
    return found


def warned(found):
    """Return the warnings of a command, without its lines of progress."""
    lines = found.stderr.splitlines()
    return [line.removeprefix("Warning: ") for line in lines if line.startswith("Warning: ")]


@pytest.mark.slow
@pytest.mark.parametrize("executor", ["serial", "processes"])
def test_a_study_warns_once_of_all_its_cells(folder, executor):
    said = warned(called(f"run study.yaml -o out --executor {executor}"))
    assert said[0] == ROOM_WARNING
    assert EXTRAPOLATION_WARNING in said
    assert len(said) == len(set(said)) == 1 + 4  # of the room; of P2P_in, P2M, M2L_in, L2P


def test_json_has_them_and_who_resumes_hears_them_again(folder):
    first, again = (called("run study.yaml -o out --executor serial --json") for _ in range(2))
    found = json.loads(again.stdout)
    assert (found["computed"], found["warnings"][0]) == (0, ROOM_WARNING)
    assert EXTRAPOLATION_WARNING in found["warnings"]
    assert found["warnings"] == json.loads(first.stdout)["warnings"]
    assert warned(first) == found["warnings"]


def test_python_is_warned_too(folder):
    with pytest.warns(UserWarning, match=r" cells\)$") as said:
        outcome = run_study("study.yaml", "out")
    assert tuple(str(one.message) for one in said) == outcome.warnings
    assert outcome.warnings[0] == ROOM_WARNING
    assert "warnings" not in read_table("out").columns


def test_a_study_of_whole_runs_warns_as_well(folder):
    """Metrics are read off runs, which other code makes."""
    (folder / "study.yaml").write_text(f"{STUDY}metrics: [copies]\n")
    with pytest.warns(UserWarning, match=r" cells\)$"):
        assert run_study("study.yaml", "out").warnings[0] == ROOM_WARNING


def test_noise_without_distributions_is_told_where_it_is_asked_for(folder):
    text = (
        "version: 1\nname: noisy\ngraphs: [chain length=2]\nplatforms: [{workers: 1}]\n"
        "schedulers: [lws]\nseeds: 2\n"
    )
    (folder / "study.yaml").write_text(text)
    assert run_study("study.yaml", "calm").warnings == ()
    (folder / "study.yaml").write_text(f"{text}noise: model\n")
    with pytest.warns(UserWarning, match=r"noise: no kernel of chain .* \(2 of 2 cells\)"):
        run_study("study.yaml", "noisy")


def test_only_what_is_asked_now_counts(folder):
    called("run study.yaml -o out --executor serial")
    (folder / "study.yaml").write_text(STUDY.replace("[1MiB, 1GiB]", "1GiB"))
    said = called("run study.yaml -o out --executor serial --extend").stderr
    assert "at home in it" not in said
    assert EXTRAPOLATION_WARNING.replace("4 of 12", "2 of 6") in said


def test_a_store_of_an_earlier_version_warns_of_nothing(folder):
    called("run study.yaml -o out --executor serial")
    (part,) = (folder / "out" / "cells").glob("*.parquet")
    pq.write_table(pq.read_table(part).drop_columns("warnings"), part)
    assert "Warning" not in called("run study.yaml -o out --executor serial").stderr
    assert len(read_table("out")) == 12


def test_a_cell_that_is_shown_warns_as_a_simulation_does(folder):
    called("run study.yaml -o out --executor serial")
    cell = read_table("out").cell[0]
    assert warned(called(f"show out {cell}")) == [ROOM_WARNING.partition(", and 1 more")[0]]


def test_numbers_alone_make_no_other_warning():
    texts = [
        "syrk on cpu: beyond to n 64 (measured 128 to 512)\nmemory gpu0 has 1.5 GiB",
        None,
        "syrk on cpu: beyond to n 32 to 64 (measured 128 to 512)\nmemory gpu1 has 900 MiB",
        "M2L on cpu: extrapolated to n 64 (measured 128 to 512)",
    ]
    assert warning_summary(texts, 4) == [
        "syrk on cpu: beyond to n 64 (measured 128 to 512), and 1 more like it (2 of 4 cells)",
        "memory gpu0 has 1.5 GiB (1 of 4 cells)",
        "memory gpu1 has 900 MiB (1 of 4 cells)",
        "M2L on cpu: extrapolated to n 64 (measured 128 to 512) (1 of 4 cells)",
    ]
