"""Progress on stderr."""

from __future__ import annotations

from tasksim.cli import progress


def shown(monkeypatch, capsys, quiet_s, steps):
    monkeypatch.setattr(progress, "QUIET_S", quiet_s)
    with progress.counting("running") as show:
        for done in steps:
            show(done, 40)
    return capsys.readouterr()


def test_a_line_for_each_ten_percent(monkeypatch, capsys):
    captured = shown(monkeypatch, capsys, -1.0, [0, 3, 4, 5, 20, 40, 40])
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "running: 10 %, 4/40",
        "running: 50 %, 20/40",
        "running: 100 %, 40/40",
    ]


def test_nothing_for_what_is_over_at_once(monkeypatch, capsys):
    assert shown(monkeypatch, capsys, 60.0, [10, 40]).err == ""


def test_a_bar_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    captured = shown(monkeypatch, capsys, 60.0, [10, 40])
    assert captured.out == ""
    assert "running" in captured.err
