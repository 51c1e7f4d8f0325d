"""Processor time of tasks: what their threads had of a core, whoever else wanted it."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from time import perf_counter
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from compiled_core import needs_core

import tasksim
from tasksim import RW
from tasksim.applications.application import Application
from tasksim.base import threadclock
from tasksim.base.threadclock import has_thread_clock
from tasksim.core.interface import functions
from tasksim.graph.apps.registry import generate
from tasksim.native import compiled, execution
from tasksim.native.execute import execute
from tasksim.native.isolation import BoardedProgram, new_board
from tasksim.native.machine_account import pressure_s, throttled_s
from tasksim.native.processor_time import ProcessorTime, ProcessorUses
from tasksim.native.pulse import Idle
from tasksim.native.this_machine import usable_cores
from tasksim.platform.description import Platform
from tasksim.run.disturbance import blocking_kernels
from tasksim.run.undisturbed import undisturbed_s

if TYPE_CHECKING:
    from collections.abc import Iterable

RUNTIMES = ["python", needs_core("compiled")]
needs_clock = pytest.mark.skipif(not has_thread_clock(), reason="no clock of threads here")


class Thread:
    """A thread whose clocks are set by hand."""

    def __init__(self, tasks: int, pulses: Iterable[tuple[float, float]] | None = None) -> None:
        self.now_s = self.cpu_s = 0.0
        self.preemptions = 0
        self.looks = 0
        self.uses = ProcessorUses(tasks)
        pulse = None if pulses is None else partial(next, iter(pulses))
        self.account = ProcessorTime(self.uses, self._clock, lambda: self.preemptions, pulse)
        self.account.begin(0.0)

    def _clock(self) -> float:
        self.looks += 1
        return self.cpu_s

    def execute(self, task: int, own_s: float, lost_s: float = 0.0) -> None:
        self.account.look_after_pause(self.now_s)
        self.execute_at_once(task, own_s, lost_s)

    def execute_at_once(self, task: int, own_s: float, lost_s: float = 0.0) -> None:
        begun = self.now_s
        self.now_s += own_s + lost_s
        self.cpu_s += own_s
        self.preemptions += lost_s > 0
        self.account.ended(task, begun, self.now_s)

    def pause(self, seconds: float) -> None:
        self.now_s += seconds


def test_a_task_that_is_interrupted_has_its_own_time():
    thread = Thread(3)
    for task, lost_s in enumerate([0.0, 5e-3, 0.0]):
        thread.execute(task, 1e-3, lost_s)
    assert thread.uses.cpu_s == pytest.approx([1e-3, 1e-3, 1e-3])
    assert thread.uses.preemptions.tolist() == [0, 1, 0]


def test_what_a_reading_of_the_clocks_lost_is_no_tasks():
    thread = Thread(2)
    thread.pause(1.0)
    for task in range(2):
        thread.account.look_after_pause(thread.now_s)
        thread.pause(4e-3)  # between the wall clock and that of the thread
        thread.execute_at_once(task, 1e-3)
    assert thread.uses.cpu_s == pytest.approx([1e-3, 1e-3])
    assert thread.uses.preemptions.tolist() == [0, 0]


def test_of_short_tasks_the_longest_was_interrupted():
    thread = Thread(10)
    for task in range(10):
        thread.execute(task, 1e-6, 3e-3 if task == 4 else 0.0)
    thread.account.finish(thread.now_s)
    assert thread.uses.cpu_s == pytest.approx([1e-6] * 10)
    assert thread.uses.preemptions.tolist() == [0, 0, 0, 0, 1, 0, 0, 0, 0, 0]


def test_tasks_have_the_means_of_the_pulses_and_beats_before_and_after_them():
    thread = Thread(5, [(1.0, 1.1), (2.0, 1.1), (1.5, 1.3), (1.2, 1.0)])
    for task, own_s in enumerate([0.4e-3, 0.8e-3, 0.5e-3, 0.6e-3, 1e-6]):
        thread.execute(task, own_s)
    thread.account.finish(thread.now_s)
    assert thread.uses.pulse == pytest.approx([1.5, 1.5, 1.75, 1.75, 1.35])
    assert thread.uses.beat == pytest.approx([1.1, 1.1, 1.2, 1.2, 1.15])


def test_a_pulse_is_taken_before_a_task_after_a_pause():
    thread = Thread(2, [(1.0, 1.0), (1.0, 1.0), (2.0, 1.0), (2.0, 1.0)])
    thread.execute(0, 2e-3)
    thread.pause(1.0)
    thread.execute(1, 2e-3)
    assert thread.uses.pulse == pytest.approx([1.0, 2.0])


def test_no_pulse_or_beat_is_less_than_that_of_an_idle_core():
    thread = Thread(1, [(0.9, 0.7), (0.8, 0.9)])
    thread.execute(0, 2e-3)
    assert thread.uses.pulse.tolist() == thread.uses.beat.tolist() == [1.0]


def test_an_unknown_beat_leaves_the_pulse_known():
    thread = Thread(1, [(1.0, np.nan), (2.0, np.nan)])
    thread.execute(0, 2e-3)
    assert thread.uses.pulse.tolist() == [1.5]
    assert np.isnan(thread.uses.beat).all()


def test_without_pulses_none_is_known():
    thread = Thread(1)
    thread.execute(0, 2e-3)
    thread.account.finish(thread.now_s)
    assert np.isnan(thread.uses.pulse).all()


@needs_clock
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_pinned_workers_take_pulses(runtime, monkeypatch):
    graph = generate("cholesky", tiles=4, tile_size=64)
    if functions() is None:  # the core measures them, for both runtimes
        run = execute(graph, Platform.identical(1), "eager", runtime=runtime)
        assert np.isnan(run.tasks.pulse).all()
        return
    for kept in (execution, compiled):
        monkeypatch.setattr(kept, "idle_cores", lambda workers: [Idle(1e-3, 1e-12)] * workers)
    run = execute(graph, Platform.identical(1), "eager", runtime=runtime)
    assert (run.tasks.pulse > 100).all()
    assert (run.tasks.beat > 100).all()
    assert undisturbed_s(run).sum() < run.tasks.duration_s.sum()
    for without in ({"pin": False}, {"processor_time": False}):
        run = execute(graph, Platform.identical(1), "eager", runtime=runtime, **without)
        assert np.isnan(run.tasks.pulse).all()


@needs_clock
@pytest.mark.skipif(functions() is None, reason="the core measures pulses, for both runtimes")
@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("boarded", [False, True])
def test_tasks_that_end_by_the_clock_are_not_slowed(runtime, boarded, monkeypatch):
    @tasksim.kernel(by_clock=True)
    def until(x: RW):
        end_s = perf_counter() + x[0]
        while perf_counter() < end_s:
            pass

    @tasksim.kernel
    def work(x: RW):
        x.sort()

    def inserts(g):
        x = g.array("x", (4,), initial=1e-3)
        for kernel in (work, until, until, work):
            g.insert(kernel, x)

    for kept in (execution, compiled):
        monkeypatch.setattr(kept, "idle_cores", lambda workers: [Idle(1e-3, 1e-12)] * workers)
    app = Application("by-clock", inserts)
    program = app.program(app(), 1)
    if boarded:
        program = BoardedProgram(program, new_board(1))
    run = execute(program.graph, Platform.identical(1), "eager", program=program, runtime=runtime)
    assert np.isnan(run.tasks.beat).tolist() == [
        functions() is None,
        True,
        True,
        functions() is None,
    ]
    assert np.isnan(run.tasks.pulse).tolist() == np.isnan(run.tasks.beat).tolist()
    waiting = generate("chain", length=2, duration=1e-3)
    assert np.isnan(execute(waiting, Platform.identical(1), "eager").tasks.pulse).all()


def test_short_tasks_share_a_look_at_the_clock():
    thread = Thread(1000)
    for task in range(1000):
        thread.execute(task, 1e-6)
    thread.account.finish(thread.now_s)
    assert thread.looks <= 1000 // 19 + 3
    assert thread.uses.cpu_s == pytest.approx([1e-6] * 1000)


def test_a_pause_is_no_tasks():
    thread = Thread(2)
    thread.execute(0, 1e-5)
    thread.pause(0.5)
    thread.execute(1, 1e-5)
    thread.account.finish(thread.now_s)
    assert thread.uses.cpu_s == pytest.approx([1e-5, 1e-5])
    assert thread.uses.preemptions.tolist() == [0, 0]


def test_a_clock_that_goes_backwards_makes_no_negative_time():
    thread = Thread(2)
    thread.execute(0, 1e-3)
    thread.cpu_s -= 1.0
    thread.execute(1, 1e-3)
    assert (thread.uses.cpu_s >= 0).all()
    assert (thread.uses.cpu_s <= 1e-3 + 1e-12).all()


@needs_clock
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_each_task_has_at_most_its_duration(runtime):
    run = execute(
        generate("cholesky", tiles=6, tile_size=64), Platform.identical(2), runtime=runtime
    )
    tasks = run.tasks
    assert np.isfinite(tasks.cpu_s).all()
    assert (tasks.cpu_s >= 0).all()
    assert (tasks.cpu_s <= tasks.duration_s + 1e-9).all()
    assert (tasks.preemptions >= 0).all()
    assert len(run.disturbance.preemptions) == 2


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_nothing_is_kept_where_it_is_left_out(runtime):
    run = execute(
        generate("cholesky", tiles=3, tile_size=16),
        Platform.identical(1),
        runtime=runtime,
        processor_time=False,
    )
    assert np.isnan(run.tasks.cpu_s).all()
    assert (run.tasks.preemptions == -1).all()
    assert run.disturbance is None


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_without_a_clock_it_is_as_before(runtime, monkeypatch):
    coarse = SimpleNamespace(resolution=0.016)
    monkeypatch.setattr(threadclock.time, "get_clock_info", lambda _: coarse)
    run = execute(
        generate("cholesky", tiles=3, tile_size=16), Platform.identical(1), runtime=runtime
    )
    assert np.isnan(run.tasks.cpu_s).all()
    assert run.disturbance is None
    assert undisturbed_s(run).tolist() == run.tasks.duration_s.tolist()


@needs_clock
def test_an_account_that_cannot_begin_ends_the_run(monkeypatch):
    def begin(_account, _now_s):
        raise OSError("no such clock")

    monkeypatch.setattr(execution.ProcessorTime, "begin", begin)
    with pytest.raises(OSError, match="no such clock"):
        execute(generate("chain", length=3), Platform.identical(2), runtime="python")


@needs_clock
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_kernel_that_sleeps_is_not_preempted(runtime):
    run = execute(
        generate("fork-join", width=4, duration=0.01), Platform.identical(2), runtime=runtime
    )
    assert blocking_kernels(run) == list(run.kernel_names)
    asleep = run.tasks.preemptions == 0
    assert asleep.any()
    assert undisturbed_s(run)[asleep].tolist() == run.tasks.duration_s[asleep].tolist()


COMPETING_PROGRAM = """
import os
os.sched_setaffinity(0, {%d})
print("competing", flush=True)
while True:
    pass
"""


@needs_clock
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="threads cannot be pinned here")
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_what_a_competitor_takes_is_found(runtime):
    core = usable_cores()[0]
    competitor = subprocess.Popen(
        [sys.executable, "-c", COMPETING_PROGRAM % core], stdout=subprocess.PIPE
    )
    try:
        assert competitor.stdout.readline() == b"competing\n"
        graph = generate("cholesky", tiles=16, tile_size=192)
        run = execute(graph, Platform.identical(1), runtime=runtime)
    finally:
        competitor.kill()
        competitor.communicate()
    (waited,) = run.disturbance.waited_s
    assert waited > 0.1 * run.makespan_s  # a competitor takes half, several take more
    # One worker waits for nothing but its core. Of a gap between tasks, the runtime has a part, the
    # competitor the rest.
    gaps_s = (np.sort(run.tasks.start_s)[1:] - np.sort(run.tasks.end_s)[:-1]).sum()
    # The worker does not wait while others on the same processor slow it.
    beside_s = run.makespan_s - run.tasks.cpu_s.sum()
    assert 0.95 * (beside_s - gaps_s) <= waited <= 1.05 * beside_s
    assert sum(run.disturbance.preemptions) > 0


def test_a_limit_of_the_group_is_read(tmp_path):
    groups = tmp_path / "cgroup"
    (tmp_path / "box").mkdir()
    for line, name, value in (
        ("0::/box", "box/cpu.stat", "usage_usec 9\nthrottled_usec 1500000\n"),
        ("1:cpu,cpuacct:/box", "cpu,cpuacct/box/cpu.stat", "throttled_time 1500000000\n"),
        ("0::/", "cpu.stat", "throttled_usec 1500000\n"),
    ):
        groups.write_text(line + "\n")
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(value)
        assert throttled_s(groups, tmp_path) == 1.5
        (tmp_path / name).unlink()
        assert throttled_s(groups, tmp_path) is None
    assert throttled_s(tmp_path / "none", tmp_path) is None


def test_the_pressure_on_the_cores_is_read(tmp_path):
    file = tmp_path / "cpu"
    assert pressure_s(file) is None
    for text, expected in (
        ("some avg10=2.57 avg60=1.38 total=5027008\nfull avg10=0.00 total=7\n", 5.027008),
        ("no such lines\n", None),
    ):
        file.write_text(text)
        assert pressure_s(file) == expected
