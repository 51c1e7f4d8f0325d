"""``tasksim doctor --report``: a text for an issue, which does not tell who the user is."""

import pytest

from tasksim.cli.doctor_report import anonymous


@pytest.fixture
def report(tasksim, monkeypatch):
    """Return a function that prints the report; it skips the measurement, which takes a second."""
    monkeypatch.setattr("tasksim.cli.doctor._machine", dict)
    return lambda: tasksim("doctor --report").out


def test_it_is_a_block_to_paste_with_what_an_issue_needs(report):
    lines = report().splitlines()
    assert (lines[0], lines[-1]) == ("```text", "```")
    names = [line.split()[0] for line in lines[1:-1]]
    assert names[:5] == ["tasksim", "python", "system", "packages", "c++"]
    assert {"caches", "core", "openmp", "wasm", "libraries", "variables"} <= set(names)


def test_only_variables_that_matter_are_in_it(report, monkeypatch):
    monkeypatch.setenv("OMP_PROC_BIND", "close")
    monkeypatch.setenv("AN_API_TOKEN", "secret")
    text = report()
    assert "OMP_PROC_BIND=close" in text
    assert "secret" not in text


def test_neither_the_home_folder_nor_the_user_nor_the_host_is_in_it(report, monkeypatch, tmp_path):
    home = tmp_path / "margherita"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USER", "margherita")
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    monkeypatch.setenv("PYTHONPATH", "/mnt/margherita/lib:/home/other/lib")
    monkeypatch.setattr("platform.node", lambda: "secret-host")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "secret-host")
    text = report()
    assert "margherita" not in text
    assert "other" not in text.partition("variables")[2]
    assert "secret-host" not in text
    assert "XDG_DATA_HOME=~/data" in text
    assert "PYTHONPATH=/mnt/USER/lib:~/lib" in text
    assert "SLURM_JOB_NODELIST=HOST" in text


def test_words_that_contain_a_name_stay(monkeypatch):
    monkeypatch.setenv("USER", "core")
    monkeypatch.setenv("HOME", "/home/core")
    assert anonymous("4 cores of /home/core/x, multicore") == "4 cores of ~/x, multicore"


@pytest.mark.parametrize("words", ["--json", "chain"])
def test_it_goes_with_nothing_else(tasksim, words):
    done = tasksim(f"doctor --report {words}")
    assert done.code == 2
    assert "--report is a text by itself" in done.err
