"""The workers that sleep, against a plain list of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tasksim.engine.machine.view import Sleepers
from tasksim.platform.description import WorkerClass

CLASS_OF = [0, 0, 1, 1, 0, 2]
CLASSES = [
    WorkerClass(str(c), 0, tuple(w for w, own in enumerate(CLASS_OF) if own == c)) for c in range(3)
]


def woken(sleepers, *workers):
    for worker in workers:
        sleepers.asleep[worker] = False


def test_at_first_all_sleep():
    sleepers = Sleepers(CLASSES, CLASS_OF)
    assert sleepers.all(0b111) == [0, 1, 2, 3, 4, 5]
    assert sleepers.first(0b111) == 0


def test_only_workers_of_the_classes_that_can_run_the_task_count():
    sleepers = Sleepers(CLASSES, CLASS_OF)
    assert sleepers.first(0b010) == 2
    assert sleepers.all(0b110) == [2, 3, 5]
    assert sleepers.first(0) is None


def test_who_is_awake_does_not_count_until_it_sleeps_again():
    sleepers = Sleepers(CLASSES, CLASS_OF)
    woken(sleepers, 0, 2, 4)
    assert sleepers.first(0b001) == 1
    assert sleepers.all(0b011) == [1, 3]
    sleepers.sleep(4)
    sleepers.sleep(0)
    assert sleepers.first(0b001) == 0
    assert sleepers.all(0b001) == [0, 1, 4]


STEPS = st.lists(
    st.tuples(st.sampled_from(["sleep", "wake", "first", "all"]), st.integers(0, 7)), max_size=60
)


@given(STEPS)
def test_it_says_what_a_plain_list_would(steps):
    sleepers, asleep = Sleepers(CLASSES, CLASS_OF), set(range(6))
    for step, number in steps:
        able = [w for w in sorted(asleep) if number >> CLASS_OF[w] & 1]
        if step == "sleep":
            sleepers.sleep(number % 6)
            asleep.add(number % 6)
        elif step == "wake":
            woken(sleepers, number % 6)
            asleep.discard(number % 6)
        elif step == "first":
            assert sleepers.first(number) == (able[0] if able else None)
        else:
            assert sleepers.all(number) == able
