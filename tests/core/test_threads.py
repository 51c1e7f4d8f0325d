"""Threads of StarPU-SimGrid, which the core alone has: the same bytes as ever."""

from __future__ import annotations

import pytest
from compiled_core import only_with_core
from equal import answer
from thread_digests import SEEDS, digest, digests
from threaded import SCHEDULERS, drawn_question

from tasksim.engine.choice import replayed

FAST_SEEDS = 25


def checked(seeds, scheduler):
    known = digests()["machines"][scheduler]
    for seed in seeds:
        question = drawn_question(seed, scheduler)
        assert question.needs_threads
        assert digest(answer(question, "compiled")) == known[seed], f"seed {seed}"


@only_with_core
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_drawn_machines_end_as_they_did(scheduler):
    checked(range(FAST_SEEDS), scheduler)


@only_with_core
@pytest.mark.slow
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_many_drawn_machines_end_as_they_did(scheduler):
    checked(range(FAST_SEEDS, SEEDS), scheduler)


@only_with_core
def test_a_changed_scheduler_runs_without_threads():
    """Threads lock what built-in schedulers lock, and do not call a scheduler back."""
    question = drawn_question(0, "eager")
    question.scheduler.note = "changed"
    assert question.needs_threads
    question.scheduler.pop = question.scheduler.pop
    assert not question.needs_threads
    assert replayed(question, 0).why == "scheduler eager is called"
