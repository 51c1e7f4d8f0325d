"""The battery for applications: the shipped ones and the examples pass, what is wrong is found."""

from __future__ import annotations

import itertools
import random
import signal
from dataclasses import replace
from pathlib import Path
from shutil import which

import numpy as np
import pytest
from tiers import LONG

import tasksim
from tasksim import RW, R, W
from tasksim.applications.application import Application
from tasksim.base.errors import CheckFailed
from tasksim.graph.apps.registry import find
from tasksim.kernels.program import bind
from tasksim.native.conformance import (
    Subject,
    check_application,
    checks,
    parametrize_with_checks,
)

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SHIPPED = [
    "cholesky tiles=4 tile_size=16", "lu tiles=3 tile_size=16", "qr tiles=3 tile_size=16",
    "fmm particles=300 height=3 group_size=10",
    "fmm particles=300 height=4 group_size=20 dimension=2",
    "chain length=4 duration=0", "fork-join width=3 duration=0",
    "random-layered layers=3 width=3 duration=0",
    "cg block_rows=2 block_columns=3 block_size=16 iterations=3",
    "jacobi block_rows=2 block_columns=2 block_size=16 iterations=3",
    "summa tiles=3 tile_size=16 rows=1 columns=2",
]  # fmt: skip
OWN_EXAMPLES = [
    f"{EXAMPLES}/{text}"
    for text in (
        "stencil.py n=96 steps=3 blocks=4 language=numpy",
        *(["stencil.py n=96 steps=3 blocks=4 language=c"] if which("cc") else []),
        "image_pipeline.py images=4 width=160",
    )
]


IN_NUMBA = [
    f"{EXAMPLES}/{text}"
    for text in (
        "conjugate_gradient.py n=48 iterations=2 blocks=4",
        "stencil.py n=96 steps=3 blocks=4 language=numba",
        "sparse_cholesky.py n=12 leaf=8",
    )
]
"""Examples that are compiled anew in each process, for up to 10 seconds."""


@parametrize_with_checks([*SHIPPED, *OWN_EXAMPLES])
def test_shipped_applications_and_examples(application, check):
    check(application)


@pytest.mark.slow
@parametrize_with_checks(IN_NUMBA if LONG else IN_NUMBA[:1])
def test_examples_in_numba(application, check):
    check(application)


def test_there_are_ten_checks_each_with_a_sentence():
    assert len(list(checks())) >= 10
    assert all(check.__doc__ for check in checks())


# What is wrong, each in one way


@tasksim.kernel
def add(total: RW, part: R):
    total += part


@tasksim.kernel
def take(total: RW, part: R):
    total += part
    part[...] = 0.0


@tasksim.kernel
def count(total: RW, part: R):
    total += part + next(COUNTER)


@tasksim.kernel
def keep(part: R, total: W):
    KEPT_GRAPHS.append(part.sum())
    total[...] = 0.0


@tasksim.kernel
def fetch(total: RW):
    total += KEPT_GRAPHS.pop() if KEPT_GRAPHS else 0.0


@tasksim.kernel
def interruptible(total: RW, part: R):
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    total += part


@tasksim.kernel
def gamble(total: RW, part: R):
    random.random()
    total += part


COUNTER = itertools.count()
KEPT_GRAPHS: list[float] = []


def adding(kernel=add, initial=lambda rng, i: rng.random(2000), before=lambda g, x: None):
    """Return an application that adds with the *kernel* what *initial* makes."""

    def insert(g, parts: int = 3):
        x = g.arrays("x", [2000] * parts, initial=initial)
        total = g.array("total", 2000)
        before(g, x)
        for part in x:
            g.insert(kernel, total, part)

        def error(results):
            return np.abs(results[total] - sum(results.initial(x))).max()

        g.check(error, tolerance=1e-9)

    return Application("adding", insert)


def more_each_time(g, x):
    for _ in range(next(COUNTER)):
        g.insert(add, x[0], x[1])


def made_at_once():
    def insert(g, n: int = 2000):
        values = np.ones(n)
        x, total = g.array("x", n, initial=values), g.array("total", n)
        g.insert(add, total, x)

    return Application("at-once", insert)


def through_a_back_door():
    def insert(g):
        x, y = g.array("x", initial=5.0), g.array("y")
        z = g.array("z")
        g.insert(keep, x, z)
        g.insert(fetch, y)
        g.check(lambda results: abs(results[y] - 5.0), tolerance=0)

    return Application("back-door", insert)


def cholesky_that_runs(change):
    """Return the factorisation with a program whose graph is changed."""

    def executor(graph, workers, seed):
        program = bind(graph, workers, seed)
        program.graph = change(graph)
        return program

    return replace(find("cholesky"), executor=executor)


SMALL_SETTINGS = {"tiles": 3, "tile_size": 8}
BROKEN_APPLICATIONS = {
    "other tasks each time": (
        adding(before=more_each_time), {}, "same_settings_same_graph", "gave two different graphs",
    ),
    "data made at once": (
        made_at_once(), {}, "describing_takes_no_data", "as large as its data, 16000 bytes",
    ),
    "kernel called to describe": (
        adding(before=lambda g, x: add(np.zeros(1), np.zeros(1))), {},
        "describing_takes_no_data", "its description calls kernel add",
    ),
    "other priorities": (
        cholesky_that_runs(lambda graph: replace(graph, priority=1 + graph.priority)),
        SMALL_SETTINGS,
        "keeps_priorities_and_order", "its program has other priorities",
    ),
    "other kernels": (
        cholesky_that_runs(lambda graph: replace(graph, kernels=graph.kernels[::-1])),
        SMALL_SETTINGS,
        "program_has_the_kernels_of_the_graph", "other kernels than its graph names",
    ),
    "data of no seed": (
        adding(initial=lambda rng, i: np.random.default_rng().random(2000)), {},
        "same_seed_same_data", r"the same seed gives other data: x\[0\], x\[1\]",
    ),
    "an undeclared write": (
        adding(take), {}, "accesses_are_honest",
        r"it wrote x\[0\], which it only declared to read",
    ),
    "a kernel that remembers": (
        adding(count), {}, "data_begin_anew_at_reset",
        "a second run in the same order changes total",
    ),
    "an undeclared dependency": (
        through_a_back_door(), {}, "any_order_of_the_graph_is_right", "its result is wrong in an",
    ),
    "only in the main thread": (
        adding(interruptible), {}, "runs_right_under_schedulers",
        "signal only works in main thread",
    ),
    "a global generator": (
        adding(gamble), {}, "keeps_the_global_random_state", "a global random state",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("application", "settings", "check", "message"),
    BROKEN_APPLICATIONS.values(),
    ids=BROKEN_APPLICATIONS,
)
def test_what_is_wrong_is_found_by_the_check_that_is_meant(application, settings, check, message):
    KEPT_GRAPHS.clear()
    with pytest.raises(CheckFailed, match=rf"^application .*, {check}: .*{message}"):
        check_application(application, **settings)


def test_each_check_but_none_twice_has_something_that_it_finds():
    assert {check for _, _, check, _ in BROKEN_APPLICATIONS.values()} == {
        check.__name__ for check in checks()
    }


def test_one_that_is_right_passes():
    check_application(adding(), parts=5)
    assert Subject(adding(), parts=5).graph().arguments["parts"] == 5
