"""Comparison of both engines on the questions of this folder (both_engines.py)."""

from __future__ import annotations

import numpy as np
import pytest
from compiled_core import needs_core

from tasksim import InputError, Platform, generate, simulate
from tasksim.engine.compiled.replay import CompiledReplay

GRAPH = generate("fork-join", width=3, duration=1.0)
ONE_CORE = Platform.identical(1)


@pytest.fixture(params=[needs_core("core")])
def spoil(monkeypatch):
    """Return what lets the core do something else when a replay is to run."""
    run = CompiledReplay.run

    def spoilt(change):
        def otherwise(self, seed):
            found = run(self, seed)
            change(self)
            return found

        monkeypatch.setattr(CompiledReplay, "run", otherwise)

    return spoilt


def test_what_differs_is_found(spoil):
    def later(replay):
        replay._columns["end_s"] = replay._columns["end_s"] + np.eye(len(GRAPH))[1]

    spoil(later)
    with pytest.raises(AssertionError, match=r"differ in tasks\.end_s: at 2 s: task #1 ends"):
        simulate(GRAPH, ONE_CORE)


def test_an_error_of_one_engine_alone_is_found(spoil):
    def fail(replay):
        raise InputError("the core's own")

    spoil(fail)
    with pytest.raises(AssertionError, match="the core fails"):
        simulate(GRAPH, ONE_CORE)


@pytest.mark.one_engine("that one may differ is what is tested")
def test_a_test_may_ask_one_engine_alone(spoil):
    spoil(pytest.fail)
    assert simulate(GRAPH, ONE_CORE, engine="simpy").makespan_s == 5.0
