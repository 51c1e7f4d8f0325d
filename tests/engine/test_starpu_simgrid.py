"""Replays of StarPU's machines against the makespans of StarPU-SimGrid, by groups of rows.

The peer's makespans hang on the order of events inside one simulated microsecond, so what is asked
of all but a few rows is asked of medians.
"""

from __future__ import annotations

import statistics

import makespans
import pytest
from makespans import Questions, needs_table

from tasksim.core.library import status
from tasksim.engine.choice import replayed

LARGEST = {"0": 24, "1": 16, "3": 16}
"""The most tiles looked at, by the number of GPUs."""

pytestmark = needs_table

EXACT_CASES = [
    # application, tiles, scheduler, GPUs, CPUs: rows without ties that matter
    ("cholesky_s", 8, "dmdas", 3, ""),
    ("lu_s", 8, "dmdas", 3, ""),
    ("lu_s", 8, "dmdar", 3, ""),
    ("cholesky_s", 16, "dmdas", 3, "0"),
    ("cholesky_s", 8, "dmda", 1, ""),
    ("lu_s", 16, "eager", 0, ""),
    # under these, threads that take turns
    ("cholesky_s", 8, "eager", 1, ""),
    ("cholesky_s", 8, "ws", 1, ""),
    ("cholesky_s", 8, "prio", 3, ""),
]


@pytest.fixture(scope="module")
def errors(tmp_path_factory):
    """Return a function that replays a row: the errors of makespan and of bytes, in percent.

    Rows that several tests look at are replayed once.
    """
    questions, known = Questions(tmp_path_factory.mktemp("library")), {}

    def known_of(row):
        key = tuple(row.values())
        if key not in known:
            known[key] = run(row)
        return known[key]

    def run(row):
        asked = questions.of(row)
        if asked.needs_threads and not status().available:
            pytest.skip(f"threads are the core's alone, and it is {status().why}")
        found = replayed(asked, seed=0).replay.records()
        ms = 1e3 * found["tasks"].end_s.max()
        moved = found["transfers"].size_bytes.sum() / 2**30 if "transfers" in found else 0
        peer = float(row["transfers_gb"])
        return 100 * (ms / float(row["makespan_ms"]) - 1), peer and 100 * (moved / peer - 1)

    return known_of


def rows(*schedulers):
    return [
        row for row in makespans.rows(*schedulers) if int(row["nblocks"]) <= LARGEST[row["ncuda"]]
    ]


@pytest.mark.parametrize(("application", "tiles", "scheduler", "gpus", "cpus"), EXACT_CASES)
def test_where_no_tie_matters_the_makespan_is_the_peers(
    errors, application, tiles, scheduler, gpus, cpus
):
    wanted = (application, "mirage", str(tiles), str(gpus), cpus)
    keys = ("app", "machine", "nblocks", "ncuda", "ncpu")
    (row,) = [r for r in rows(scheduler) if tuple(r[key] for key in keys) == wanted]
    makespan, moved = errors(row)
    assert abs(makespan) < 0.01
    assert abs(moved) < 0.1


@pytest.mark.parametrize(
    ("schedulers", "gpus", "median", "mean"),
    [
        (["prio"], "0", 0.1, 0.1),
        (["eager", "dm", "dmda", "dmdar", "dmdas"], "0", 0.5, 1),
        (["dm", "dmda", "dmdar", "dmdas"], "1", 1, 1.5),
        (["dmda", "dmdar", "dmdas"], "3", 0.5, 1),
        pytest.param(
            ["eager", "prio", "lws", "dm", "dmdasd", "modular-heft"],
            "13",
            4,
            3,
            marks=pytest.mark.slow,
        ),
        (["heteroprio", "graph_test"], "13", 8, 5),
    ],
)
def test_medians_by_group_of_rows(errors, schedulers, gpus, median, mean):
    found = [errors(row)[0] for row in rows(*schedulers) if row["ncuda"] in gpus]
    assert statistics.median(map(abs, found)) < median
    assert abs(statistics.mean(found)) < mean


@pytest.mark.slow
def test_as_many_bytes_are_moved(errors):
    found = [
        abs(errors(row)[1])
        for row in rows("eager", "lws", "dm", "dmda", "dmdas")
        if row["ncuda"] != "0"
    ]
    assert statistics.median(found) < 3
