"""Account of the threads' time, and costs of the runtime, of recordings written by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tasksim.recording.openmp.account import account_of, costs_of
from tasksim.recording.openmp.data_map import data_map
from tasksim.recording.openmp.pieces import Phase, Pieces, Role
from tasksim.recording.openmp.tables import graph_of_pieces, run_of_pieces
from tasksim.recording.openmp.trace import ThreadRecords
from tasksim.recording.replayable import Replayable
from tasksim.run.crowding import crowding

US = 1e-6


def recorded(*rows, order, records=()):
    """Return pieces and their run; rows: (thread, start, end, clock at the start), in us."""
    thread, start, end, clock = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    before, after = (np.array(column, np.int64) for column in zip(*order, strict=True))
    count = len(rows)
    zeros, none, nothing = np.zeros(count, np.int64), np.full(count, -1), np.zeros(0, np.int64)
    pieces = Pieces(
        task=np.arange(count), role=zeros + Role.TASK, phase=zeros + Phase.FIRST, site=zeros,
        creates=zeros > 0, created_ns=zeros, start_ns=1000 * start, end_ns=1000 * end,
        cpu_ns=1000 * (end - start), thread=thread, clock_ns=1000 * clock,
        continues=none, creator=none, binding=zeros, before=before, after=after,
        access_piece=nothing, access_datum=nothing, access_mode=nothing,
        address=np.zeros(0, np.uint64),
    )  # fmt: skip
    described = data_map(None).describe(pieces.address, (), None, ())
    graph = graph_of_pieces(pieces, {}, "by hand", described)
    return pieces, run_of_pieces(pieces, graph, {}, 1e-6 * end.max(), records)


INTERRUPTED_PIECES = [
    (1, 0, 100, 0),
    (0, 0, 1000, 0),
    (1, 1001, 1101, 1001),  # noticed after 1 us
    (0, 1000, 2000, 1000),
    (1, 7000, 7100, 2000),  # ready at 2000, when another program had the core for 5 ms
]


def test_a_time_slice_of_another_program_is_no_cost_of_the_runtime():
    """The thread searched until it lost its core: with one, it would have noticed the task."""
    pieces, run = recorded(*INTERRUPTED_PIECES, order=[(1, 2), (1, 3), (3, 4)])
    costs, account = costs_of(run, pieces), account_of(run, pieces)
    assert costs.wakeup_s == pytest.approx(1 * US)
    assert costs.task_s == pytest.approx(0, abs=1e-12)
    parts = account.busy_s, account.runtime_s, account.waiting_s, account.idle_s
    assert parts == pytest.approx([2300 * US, 1 * US, 5000 * US, 6899 * US])
    # A replay wakes both threads at its start, too, and then one for each task that is released.
    replay = Replayable(run, costs).simulate()
    assert replay.makespan_s == pytest.approx(2102 * US)


def test_a_runtime_whose_every_search_was_interrupted_has_no_known_cost():
    rows = [*INTERRUPTED_PIECES[:2], (1, 4000, 4100, 1000)]
    pieces, run = recorded(*rows, order=[(1, 2)])
    assert costs_of(run, pieces).wakeup_s == 0
    assert account_of(run, pieces).runtime_s == pytest.approx(0, abs=1e-12)


def test_a_fetch_costs_the_processor_time_between_two_tasks():
    """The next task was ready; 3 us of the 1003 us until it began were on a core."""
    pieces, run = recorded((0, 0, 100, 0), (0, 1103, 1200, 103), order=[(0, 1)])
    account = account_of(run, pieces)
    assert costs_of(run, pieces).task_s == pytest.approx(1.5 * US)
    assert (account.runtime_s, account.waiting_s) == pytest.approx((3 * US, 1000 * US))


def test_a_fetch_in_which_the_core_was_lost_counts_as_the_others():
    """One fetch takes 2 us; in the other the thread spun for 4 ms, and had no core for 5 ms."""
    rows = [(0, 0, 100, 0), (0, 102, 200, 102), (0, 9200, 9300, 4200)]
    pieces, run = recorded(*rows, order=[(0, 1), (1, 2)])
    assert costs_of(run, pieces).task_s == pytest.approx(2 * 2 / 3 * US)
    assert account_of(run, pieces).runtime_s == pytest.approx(4002 * US)


def records_of(thread, *pulses):
    """Return records of a thread with only pulses: (time in us, pulse, beat)."""
    nothing = np.zeros(0, np.int64)
    times, *found = (np.array(column) for column in zip(*pulses, strict=True))
    return ThreadRecords(
        thread, nothing, nothing, nothing, nothing, nothing, 1000 * times, np.stack(found, axis=1)
    )


def test_pieces_have_the_means_of_the_pulses_and_beats_before_and_after_them():
    records = [
        records_of(0, (0, 1.0, 0.9), (1000, 2.0, 1.2), (2500, 3.0, 1.0)),
        records_of(1, (500, 1.0, 1.0), (4000, 1.4, np.nan)),
    ]
    rows = [(0, 0, 400, 0), (0, 400, 1000, 0), (0, 1000, 2600, 0), (1, 0, 400, 0), (1, 600, 700, 0)]
    _, run = recorded(*rows, (2, 0, 400, 0), order=[(0, 1), (1, 2)], records=records)
    nan = np.nan
    assert run.tasks.pulse == pytest.approx([1.5, 1.5, 2.5, 1.0, 1.2, nan], nan_ok=True)
    assert run.tasks.beat == pytest.approx([1.1, 1.1, 1.1, 1.0, nan, nan], nan_ok=True)
    assert (crowding(run)[[0, 1, 2, 4]] > 1.0).all()
    assert crowding(run)[[3, 5]].tolist() == [1.0, 1.0]
