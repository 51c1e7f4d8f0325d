"""Turns: tasks of workers that share a memory do not wait for each other for ever."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tasksim.engine.data.pool import Pool
from tasksim.engine.data.turns import Turns
from tasksim.platform.costs import Allocation

SIZES = [3, 3, 3, 3]


def turns(limit):
    return Turns(Pool(limit, Allocation(chunk_bytes=1, unit_bytes=1, largest_bytes=0)), SIZES)


def test_what_fits_together_is_brought_together():
    begun = []
    waiting = turns(12)
    waiting.ask([0, 1], lambda: begun.append("a") or True)
    waiting.ask([2, 3], lambda: begun.append("b") or True)
    assert begun == ["a", "b"]


def test_what_does_not_fit_waits_until_the_other_has_all_its_data():
    begun = []
    waiting = turns(9)
    waiting.ask([0, 1], lambda: begun.append("a") or True)
    waiting.ask([2, 3], lambda: begun.append("b") or True)
    assert begun == ["a"]
    waiting.completed()
    assert begun == ["a", "b"]


def test_common_data_count_once():
    begun = []
    waiting = turns(9)
    waiting.ask([0, 1], lambda: begun.append("a") or True)
    waiting.ask([1, 2], lambda: begun.append("b") or True)
    assert begun == ["a", "b"]


def test_nobody_overtakes():
    begun = []
    waiting = turns(9)
    waiting.ask([0, 1], lambda: begun.append("a") or True)
    waiting.ask([2, 3], lambda: begun.append("b") or True)
    waiting.ask([0], lambda: begun.append("c") or True)
    assert begun == ["a"]
    waiting.completed()
    waiting.leave([0, 1])
    assert begun == ["a", "b", "c"]


@given(
    st.integers(6, 12),
    st.lists(st.lists(st.integers(0, 3), unique=True, max_size=2), max_size=8),
    st.lists(st.booleans(), min_size=8, max_size=8),
)
def test_every_task_has_its_turn_and_at_most_one_waits_in_vain(limit, needs, waits):
    """Of the tasks that wait for data, all but one at most fit in the memory together."""
    waiting, begun = turns(limit), []
    for number, handles in enumerate(needs):

        def bring(number=number):
            begun.append(number)
            return waits[number]

        waiting.ask(handles, bring)
        incomplete = [n for n in begun if waits[n]]
        assert len({h for n in begun for h in needs[n]}) * 3 <= limit or len(incomplete) <= 1
    done = 0
    while done < len(begun):
        number = begun[done]
        done += 1
        if waits[number]:
            waiting.completed()
        waiting.leave(needs[number])
    assert begun == list(range(len(needs)))
