"""Progress: a bar on a terminal, lines in the log."""

from __future__ import annotations

import itertools
import logging
import os
import re
import subprocess
import sys
import time
from functools import partial

import pytest

from tasksim.base.progress import WorkAmount, watched
from tasksim.cli import progress


@pytest.fixture
def clock(monkeypatch):
    """A clock that advances by a second whenever it is read."""
    seconds = itertools.count(100)
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(seconds)))


def be_a_terminal(monkeypatch):
    """Make of the stream that is captured now a terminal that knows bars."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")


def shown(steps, capsys):
    with progress.counting("running") as show:
        for done in steps:
            show(done, 40)
    return capsys.readouterr()


def test_a_line_of_the_log_for_each_ten_percent_with_the_time_that_is_left(clock, capsys, caplog):
    caplog.set_level(logging.INFO, "tasksim")
    captured = shown([0, 3, 4, 5, 20, 40, 40], capsys)
    assert (captured.out, captured.err) == ("", "")
    assert caplog.messages == [
        "running: 10 %, 4/40, 18 s left",  # two seconds for four of forty
        "running: 50 %, 20/40, 4 s left",
        "running: 100 %, 40/40",
    ]


def test_resumed_work_is_judged_by_its_own_pace(clock, caplog):
    caplog.set_level(logging.INFO, "tasksim")
    with progress.showing("study") as show:
        show("", 0.5)
        show("", 0.501)
    assert caplog.messages == ["study: 50 %, "]
    with progress.showing("study") as show:
        show("half", 0.5)
        show("more", 0.6)
    assert caplog.messages[-1] == "study: 60 %, more, 4 s left"


def test_nothing_where_there_is_neither_a_terminal_nor_a_log(clock, capsys):
    captured = shown([10, 40], capsys)
    assert (captured.out, captured.err) == ("", "")


def test_a_bar_on_a_terminal(clock, monkeypatch, capsys):
    be_a_terminal(monkeypatch)
    captured = shown([10, 20], capsys)
    assert captured.out == ""
    assert "running" in captured.err
    assert re.search(r"20/40, \d+ s left", captured.err)  # the bar reads the clock, too


def test_no_bar_for_short_work(monkeypatch, capsys):
    be_a_terminal(monkeypatch)
    monkeypatch.setattr(progress, "SHOWN_AFTER_S", 60.0)
    assert shown([10, 40], capsys).err == ""


def test_a_long_stage_is_shown(monkeypatch, capsys):
    be_a_terminal(monkeypatch)
    monkeypatch.setattr(progress, "SHOWN_AFTER_S", 0.01)
    with progress.stages("view", [1]) as begin:
        begin("reading")
        time.sleep(0.3)
    assert "reading" in capsys.readouterr().err


def test_work_far_below_a_stage_is_shown_with_the_time_that_is_left(monkeypatch, capsys):
    be_a_terminal(monkeypatch)
    for name in ("SHOWN_AFTER_S", "LEFT_AFTER_S"):
        monkeypatch.setattr(progress, name, 0.01)
    with progress.stages("view", [1]) as begin:
        begin("reading")
        for _ in watched(range(3), "lines"):
            time.sleep(0.1)
    assert re.search(r"reading, [12]/3 lines, 0 s left", capsys.readouterr().err)


def test_what_is_prepared_before_the_first_item_is_shown(monkeypatch, capsys):
    be_a_terminal(monkeypatch)
    for name in ("SHOWN_AFTER_S", "LEFT_AFTER_S"):
        monkeypatch.setattr(progress, name, 0.01)
    with progress.counting("simulating", ticking=True) as show:
        for _ in watched(range(3), "nodes", until=0.5):
            time.sleep(0.1)
        show(0, 10)
    assert re.search(r"preparing, [12]/3 nodes, \d s left", capsys.readouterr().err)


def test_a_stage_that_tells_nothing_goes_at_the_pace_of_those_before_it(monkeypatch):
    seconds = iter([0.0, 0.0, 10.0, 15.0, 40.0])  # made, begun, begun, looked at twice
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(seconds))
    plan = progress.Stages("view", [2, 2])
    plan.begin("reading")
    plan.begin("drawing")
    assert plan.now(None, 0.0) == ("drawing, 5 s left", 0.75)
    message, share = plan.now(None, 0.0)  # it takes three times as long as was thought
    assert (message, round(share, 3)) == ("drawing", 0.975)


def test_stages_begin_where_work_below_them_is(monkeypatch):
    seconds = iter([0.0, 0.0, 6.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(seconds))
    plan = progress.Stages("simulating", [1, 1])
    plan.begin("the graph")
    amount = WorkAmount(lambda: 50, 100, "tasks", until=0.5)
    assert plan.now(amount, 0.0) == ("the graph, 50/100 tasks, 42 s left", 0.125)


def test_lines_where_a_bar_would_be_torn(monkeypatch, capsys):
    progress.say("running ./solver under perf")
    assert capsys.readouterr().err == ""
    be_a_terminal(monkeypatch)
    progress.say("running ./solver under perf")
    assert capsys.readouterr().err == "running ./solver under perf\n"


@pytest.mark.slow
def test_a_long_simulation_is_shown_on_a_terminal_alone(tmp_path):
    # SimPy's engine takes seconds for so many tasks, on any machine.
    words = [sys.executable, "-m", "tasksim", "simulate", "cholesky", "tiles=80"]
    words += ["--engine", "simpy", "--platform", "xeon-24c", "-o", str(tmp_path / "run")]
    assert re.search(rb"/88560, \d+ s left", _on_a_terminal(words))
    done = subprocess.run([*words, "--force"], capture_output=True, check=True, env=ENVIRONMENT)
    assert done.stderr.decode() == f"Wrote {tmp_path / 'run'}\n"


SLOW_GENERATOR = """
import time
from tasksim import GraphBuilder, TaskGraph

def slow(tasks: int) -> TaskGraph:
    g = GraphBuilder("slow")
    g.announce(tasks)
    for _ in range(tasks):
        time.sleep(0.4)
        g.insert("task", duration_s=1.0)
    return g.build()
"""


@pytest.mark.slow
def test_the_tasks_of_a_graph_that_is_made_are_shown_on_a_terminal(tmp_path):
    (tmp_path / "mine.py").write_text(SLOW_GENERATOR)
    words = [
        sys.executable,
        "-m",
        "tasksim",
        "simulate",
        f"{tmp_path / 'mine.py'}",
        "--workers",
        "1",
    ]
    assert re.search(rb"the graph, \d+/10 tasks, \d+ s left", _on_a_terminal([*words, "tasks=10"]))


ENVIRONMENT = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}


def _on_a_terminal(words):
    """Return the standard error stream of a command that succeeds, on a terminal."""
    ours, theirs = os.openpty()
    with subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=theirs, env=ENVIRONMENT
    ) as command:
        os.close(theirs)
        seen = b"".join(iter(partial(_read, ours), b""))
    os.close(ours)
    assert command.returncode == 0
    return seen


def _read(terminal):
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other end is closed
        return b""


def test_stages_have_no_time_left(clock, caplog):
    caplog.set_level(logging.INFO, "tasksim")
    with progress.stages("view", [1, 1]) as begin:
        begin("reading")
        begin("drawing")
    assert caplog.messages == ["view: 50 %, drawing"]
