"""The schedulers against StarPU's own, in StarPU-SimGrid (StarPU 1.4.99, SimGrid 3.32).

Mean kernel durations in seconds of the machines *mirage* and *attila* on one CPU core, tiles of
960, float32 (StarPU's shipped calibration), 12 CPU workers; its makespans in milliseconds. The peer
charges 1 us for a submission and 3 us from push to start. Its order of simultaneous events
moves all but prio's schedules by some percent, so they are compared within that.
"""

from __future__ import annotations

import statistics

import pytest
from makespans import simulated_makespan_s

PEER_MS = {
    # machine, application, tiles: eager, prio, lws
    ("mirage", "cholesky", 8): [1078.40699, 1057.79264, 1059.56230],
    ("mirage", "cholesky", 16): [5432.55619, 5411.98184, 5604.66727],
    ("mirage", "cholesky", 24): [17308.22743, 17311.78175, 17753.06458],
    ("mirage", "lu", 8): [2525.85259, 2000.50349, 2096.81336],
    ("mirage", "lu", 16): [12064.74955, 10758.79004, 10976.66965],
    ("attila", "cholesky", 8): [1333.26110, 1207.14071, 1257.32440],
    ("attila", "cholesky", 16): [5701.82210, 5357.85786, 5597.22993],
}
MEDIAN = {"eager": 0.003, "prio": 0.0005, "lws": 0.01}
MAX_ERRORS = {"eager": 0.03, "prio": 0.005, "lws": 0.04}


@pytest.mark.parametrize(("position", "scheduler"), list(enumerate(["eager", "prio", "lws"])))
def test_makespans_are_those_of_the_peer(position, scheduler):
    errors = []
    for (machine, application, tiles), peer_ms in PEER_MS.items():
        ours_s = simulated_makespan_s(machine, application, tiles, scheduler)
        errors.append(1e3 * ours_s / peer_ms[position] - 1)
    sizes = [abs(error) for error in errors]
    assert statistics.median(sizes) < MEDIAN[scheduler]
    assert max(sizes) < MAX_ERRORS[scheduler]
    assert abs(statistics.mean(errors)) < 0.01
