"""Updates that commute under threads: turns at data, empty tasks, who runs the next one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from compiled_core import only_with_core
from scripted import machine

from tasksim.engine.choice import replayed_by_core
from tasksim.engine.question import Question
from tasksim.graph.builder import RW, Commute, GraphBuilder, W
from tasksim.platform.costs import Overheads
from tasksim.schedulers.registry import create

US = 1e-6
STARPU = Overheads(US, 0.0, 0.0, US, US, US, 10 * US, 10 * US)


def replayed(graph, devices=0):
    """Replay *graph* on a core, and devices, for which kernel ``first`` is nothing."""
    platform = replace(machine(devices=devices, cores=1), overheads=STARPU)
    costs = np.full((len(platform.classes), len(graph)), 1e-3)
    for number, group in enumerate(platform.classes):
        if group.architecture != "cpu":
            costs[number, [graph.kernel_of(task) == "first" for task in range(len(graph))]] = np.inf
    question = Question(graph, platform, create("eager"), costs, costs, simultaneous_pushes="blind")
    assert question.needs_threads
    return replayed_by_core(question, 0).replay.records()["tasks"]


@only_with_core
def test_what_follows_several_updates_hears_of_them_by_an_empty_task():
    """It costs a push; what follows one update needs none."""
    lags = []
    for updates in (1, 2):
        builder = GraphBuilder("followed")
        x = builder.handle("x", size_bytes=8)
        for _ in range(updates):
            builder.insert("update", Commute(x))
        builder.insert("follow", RW(x))
        found = replayed(builder.build())
        lags.append(found.ready_s[-1] - found.end_s[-2])
    assert round((lags[1] - lags[0]) / US) == 1


@only_with_core
def test_an_update_that_waited_is_pushed_before_hints_are_followed():
    """The worker that ended the update before is not back in time: a device takes it."""
    by_itself = []
    for hinted in (False, True):
        builder = GraphBuilder("hinted")
        x, y = (builder.handle(name, size_bytes=8) for name in "xy")
        builder.insert("first", Commute(x), W(y))
        if hinted:
            builder.wont_use(y)
        builder.insert("second", Commute(x))
        found = replayed(builder.build(), devices=1)
        by_itself.append(bool(found.worker[0] == found.worker[1]))
    assert by_itself == [True, False]
