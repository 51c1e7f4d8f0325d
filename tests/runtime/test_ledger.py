"""The ledger: which moves of a task are legal, what a pop may give."""

from __future__ import annotations

import numpy as np
import pytest

from tasksim.base.errors import SchedulerError
from tasksim.graph.apps.registry import generate
from tasksim.platform.description import Platform
from tasksim.runtime.ledger import Ledger
from tasksim.runtime.rules import DONE, READY, TAKEN, WAITING
from tasksim.schedulers.central import Eager

GRAPH = generate("chain", length=3)
STATES_OF_MOVE = {"release": (WAITING, READY), "take": (READY, TAKEN), "finish": (TAKEN, DONE)}
"""The states before and after each move."""


class Mine(Eager):
    pass


@pytest.fixture
def ledger():
    return Ledger(GRAPH, Platform.identical(2), [1, 1, 0])


def move(ledger, name, task):
    if name == "release":
        ledger.release(task, 2.0, -1)
    elif name == "take":
        assert ledger.take(task, 1, Mine()) == task
    else:
        ledger.finish(task)


def reach(ledger, state):
    for name, (_, after) in STATES_OF_MOVE.items():
        if after <= state:
            move(ledger, name, 0)


@pytest.mark.parametrize("name", STATES_OF_MOVE)
@pytest.mark.parametrize("state", [WAITING, READY, TAKEN, DONE])
def test_the_table_says_which_moves_are_legal(ledger, name, state):
    reach(ledger, state)
    assert ledger.state[0] == state
    before, after = STATES_OF_MOVE[name]
    if state == before:
        move(ledger, name, 0)
        assert ledger.state[0] == after
    else:
        with pytest.raises((SchedulerError, RuntimeError), match=r"task #0"):
            move(ledger, name, 0)
        assert ledger.state[0] == state


@pytest.mark.parametrize("number", [0, np.int64(0), np.uint8(0), np.int32(0)])
def test_any_integer_is_a_task(ledger, number):
    ledger.release(0, 0.0, -1)
    task = ledger.take(number, 0, Mine())
    assert (task, type(task)) == (0, int)


@pytest.mark.parametrize("nothing", [True, False, np.True_, 0.0, "0", 3, -1, [0], np.float64(0)])
def test_what_is_no_task_is_refused_by_the_name_of_the_class(ledger, nothing):
    ledger.release(0, 0.0, -1)
    ledger.release(1, 0.0, -1)
    with pytest.raises(SchedulerError, match=r"scheduler Mine gave worker cpu1 .*not a task"):
        ledger.take(nothing, 1, Mine())


def test_a_worker_must_be_able_to_run_the_task(ledger):
    ledger.release(2, 0.0, 1)
    with pytest.raises(SchedulerError, match=r"which that worker cannot run"):
        ledger.take(2, 0, Mine())


def test_times_of_a_clock_that_counts_ticks_are_seconds_in_the_end(ledger):
    ledger.release(0, 1000, -1)
    ledger.take(0, 1, Mine())
    ledger.start[0], ledger.end[0] = 3000, 10**9 + 1
    ledger.finish(0)
    ledger.close(1e9)
    table = ledger.table()
    assert table.ready_s[0] == 1e-6
    assert (table.start_s[0], table.end_s[0]) == (3e-6, 1.000000001)
    assert np.isnan(table.popped_s[0])
    assert table.worker.tolist() == [1, -1, -1]
    assert ledger.makespan_s() == 1.000000001
