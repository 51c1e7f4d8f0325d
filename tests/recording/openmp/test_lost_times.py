"""Losses of a core between two readings of a thread's processor clock."""

import numpy as np
import pytest

from tasksim.recording.openmp.history import Ending, place_lost_times

CREATE, END = Ending.CREATE, Ending.END
LOST_NS = 1_000_000


def steps(*rows):
    """Rows: (thread, start, duration, processor time, clock at the start, ending), in ns."""
    thread, start, duration, cpu, clock, ending = (
        np.array(column, np.int64) for column in zip(*rows, strict=True)
    )
    nothing = np.zeros(len(rows), np.int64)
    return [nothing, start, start + duration, cpu, thread, ending, nothing, clock]


@pytest.mark.parametrize("held", range(3))
def test_what_was_lost_is_taken_from_the_longest_step(held):
    """Three steps of 300 ns, of which one was interrupted for a millisecond."""
    durations = [300 + (LOST_NS if step == held else 0) for step in range(3)]
    starts = [0, durations[0], durations[0] + durations[1]]
    # The clock was read at 0 and at the end, where the thread had run for 900 ns.
    rows = [(0, starts[k], durations[k], durations[k], starts[k], CREATE) for k in range(2)]
    rows.append((0, starts[2], durations[2], 900 - starts[2], starts[2], END))
    columns = steps(*rows)
    place_lost_times(columns)
    assert columns[3].tolist() == [300, 300, 300]
    assert columns[7].tolist() == [0, 300, 600]


def test_a_longer_loss_is_taken_from_several_steps():
    """A sleep over two creations: the thread ran for 100 us of the 2.1 ms."""
    rows = [
        (0, 0, LOST_NS, LOST_NS, 0, CREATE),
        (0, LOST_NS, 1000, 1000, LOST_NS, CREATE),
        (0, LOST_NS + 1000, LOST_NS + 99_000, 100_000 - LOST_NS - 1000, LOST_NS + 1000, END),
    ]
    columns = steps(*rows)
    place_lost_times(columns)
    assert columns[3].tolist() == [99_000, 1000, 0]


def test_other_steps_stay():
    """A loss in a step of its own, small ones, steps of another thread, and a chain cut short."""
    rows = [
        (0, 0, LOST_NS, 500, 0, END),
        (0, LOST_NS, 300, 300, 500, CREATE),
        (0, LOST_NS + 300, 400, 380, 800, END),
        (1, 0, 300, 300, 0, CREATE),
        (2, 300, LOST_NS, -300, 300, END),
    ]
    columns = steps(*rows)
    before = [column.copy() for column in columns]
    place_lost_times(columns)
    assert all((one == other).all() for one, other in zip(columns, before, strict=True))
    place_lost_times(steps((0, 0, 1, 1, 0, END)))
