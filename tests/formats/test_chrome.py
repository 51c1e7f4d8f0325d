"""Chrome's JSON as Perfetto's importer asks for it.

Perfetto's own trace processor is not asked: its package on PyPI is Python alone, which fetches the
program over the network when it is first used.
"""

import json
import re
from itertools import pairwise

import pytest

import tasksim
from tasksim.formats.traces.chrome import write_chrome

DURATIONS_S = {"potrf": 0.001, "trsm": 0.003, "syrk": 0.003, "gemm": 0.006}


@pytest.fixture(scope="module")
def runs():
    """One on cores, with noise, and one with copies between memories."""
    one = tasksim.simulate("cholesky tiles=6", "xeon-2c", noise="model")
    other = tasksim.simulate("cholesky tiles=6", "two-nodes", durations=DURATIONS_S, scheduler="dm")
    assert len(other.transfers)
    return [one, other]


@pytest.fixture(params=["critical", "all"])
def events(request, runs, tmp_path):
    write_chrome(runs, tmp_path / "run.json", arrows=request.param)
    assert "displayTimeUnit" not in (tmp_path / "run.json").read_text()
    return json.loads((tmp_path / "run.json").read_text())["traceEvents"]


def ns(us):
    return round(us * 1e3)


def slices(events):
    """Per process and thread the beginnings and ends, in nanoseconds, in order."""
    found = {}
    for event in events:
        if event["ph"] == "X":
            span = ns(event["ts"]), ns(event["ts"]) + ns(event["dur"])
            found.setdefault((event["pid"], event["tid"]), []).append(span)
    return {thread: sorted(spans) for thread, spans in found.items()}


def test_all_events_are_of_kinds_that_are_shown(events):
    assert {event["ph"] for event in events} == {"M", "X", "C", "s", "f"}
    assert {event["pid"] for event in events} == {1, 2}
    timed = [event for event in events if event["ph"] != "M"]
    assert min(event["ts"] for event in timed) == 0
    assert all(event["dur"] >= 0 for event in timed if event["ph"] == "X")
    assert all(event["name"] for event in events)


def test_slices_of_a_thread_do_not_overlap(events):
    """Workers have a thread each, and copies as many threads as overlap."""
    for spans in slices(events).values():
        assert all(one[1] <= other[0] for one, other in pairwise(spans))


def test_all_threads_and_processes_have_names_and_places(events, runs):
    named = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert slices(events).keys() <= named.keys()
    for pid, run in enumerate(runs, 1):
        workers = [named[pid, number + 1] for number in range(len(run.workers))]
        plain = [re.sub(r"(?<=[a-z])0+(?=\d+$)", "", name) for name in workers]
        assert plain == [worker.name for worker in run.workers]
        assert len({len(name) for name in workers if "cpu" in name}) <= 1, "zeros, to be sorted"
        places = [
            e["args"]["sort_index"]
            for e in events
            if e["name"] == "thread_sort_index" and e["pid"] == pid
        ]
        assert places == list(range(len(run.workers)))
    assert len([e for e in events if e["name"] == "process_name"]) == 2


def test_arrows_begin_and_end_inside_of_slices(events):
    """A beginning of an arrow is bound to the slice that is open then: its end is too late."""
    spans = slices(events)
    begun = [event for event in events if event["ph"] == "s"]
    ended = {event["id"]: event for event in events if event["ph"] == "f"}
    assert begun
    assert len({event["id"] for event in begun}) == len(begun) == len(ended)
    for event in begun:
        at = ns(event["ts"])
        inside = [it for it in spans[event["pid"], event["tid"]] if it[0] < at < it[1]]
        assert [end - at for _, end in inside] == [1]
        other = ended[event["id"]]
        assert other["bp"] == "e"
        assert (other["cat"], other["name"]) == (event["cat"], event["name"])
        assert other["ts"] > event["ts"]
        at = ns(other["ts"])
        assert any(it[0] <= at < it[1] for it in spans[other["pid"], other["tid"]])


def test_counters_are_numbers_of_a_process(events):
    counters = [event for event in events if event["ph"] == "C"]
    assert {event["pid"] for event in counters} == {1, 2}
    assert all(isinstance(event["args"]["tasks"], int) for event in counters)
