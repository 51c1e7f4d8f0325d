"""Schedulers against StarPU's own, in StarPU-SimGrid (StarPU 1.4.99, SimGrid 3.32), on cores.

Mean kernel durations in seconds of the machines *mirage* and *attila* on one core, tiles of 960,
float32 (StarPU's shipped calibration), 12 workers; its makespans in milliseconds. The order of
simultaneous events is its own, and heteroprio there starts from what earlier runs learned.
"""

from __future__ import annotations

import statistics

import pytest
from makespans import simulated_makespan_s

NAMES = ["graph_test", "heteroprio", "modular-eager", "modular-heft", "modular-dmdas"]
PEER_MS = {
    ("mirage", "cholesky", 8): [1029.39991, 1122.29709, 1078.41399, 1059.57530, 1059.57430],
    ("mirage", "cholesky", 16): [5480.96861, 5996.64442, 5433.45311, 5413.75950, 5412.00484],
    ("mirage", "cholesky", 24): [17367.41915, 17512.34856, 17325.33946, 17343.37423, 17364.88650],
    ("mirage", "lu", 8): [2000.77349, 2309.64764, 2525.85259, 2181.02604, 2350.75689],
    ("mirage", "lu", 16): [10788.81707, 11774.14148, 12064.74955, 10786.39944, 10807.59972],
    ("attila", "cholesky", 8): [1207.30071, 1299.35419, 1333.26110, 1333.29210, 1334.88425],
    ("attila", "cholesky", 16): [5420.53989, 5729.41907, 5798.57023, 5369.17302, 5383.87568],
}
MEDIAN = {"graph_test": 0.0005, "heteroprio": 0.04, "modular-eager": 0.002}
# A tie in LU of 16 tiles goes the other way: 0.35 % there, hundredths of a percent elsewhere.
MAX_ERRORS = {"graph_test": 0.004, "modular-eager": 0.03}


@pytest.mark.parametrize(("position", "name"), list(enumerate(NAMES)))
def test_makespans_are_those_of_the_peer(position, name):
    errors = [
        1e3 * simulated_makespan_s(*case, name) / peer_ms[position] - 1
        for case, peer_ms in PEER_MS.items()
    ]
    sizes = [abs(error) for error in errors]
    assert statistics.median(sizes) < MEDIAN.get(name, 0.005)
    assert max(sizes) < MAX_ERRORS.get(name, 0.08)
    assert abs(statistics.mean(errors)) < 0.03
