"""Messages of two runs beside each other."""

import dataclasses

import pytest

import tasksim
from tasksim.run.first_difference import first_difference
from tasksim.view.texttables import comparison_table

DURATIONS_S = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}


def run(network="switch:bandwidth=1MB/s,latency=1ms", **options):
    graph = tasksim.generate("cholesky", tiles=5, tile_size=512)
    return tasksim.simulate(graph, workers=1, durations=DURATIONS_S, network=network, **options)


def test_the_messages_of_two_networks_are_compared_by_pairs():
    a, b = run(grid="2x2"), run("switch:bandwidth=500kB/s,latency=1ms", grid="2x2")
    found = tasksim.compare(a, b).messages
    assert found.first_difference is None
    assert found.a.count == found.b.count == len(a.messages)
    assert found.a.bytes == int(a.messages.size_bytes.sum())
    assert sum(pair.a.count for pair in found.pairs) == found.a.count
    assert sum(pair.b.moving_s for pair in found.pairs) == pytest.approx(found.b.moving_s)
    assert found.b.moving_s > 1.9 * found.a.moving_s
    text = comparison_table(tasksim.compare(a, b))
    lines = {line.split("  ")[0]: line.split() for line in text.splitlines()}
    assert lines["messages"][1:] == [str(len(a.messages))] * 2 + ["+0.0", "%"]
    assert "0 -> 1" in text


def test_other_messages_are_told():
    a, b = run(grid="1x4"), run(grid="2x2")
    found = tasksim.compare(a, b)
    assert found.messages.first_difference.startswith("message ")
    assert "first difference of messages" in comparison_table(found)
    assert found.to_json()["messages"]["pairs"][0]["source"] == 0


def test_runs_without_messages_have_none_to_compare():
    graph = tasksim.generate("cholesky", tiles=3)
    alone = tasksim.simulate(graph, workers=1, durations=DURATIONS_S)
    assert tasksim.compare(alone, alone).messages is None
    assert "messages" not in tasksim.compare(alone, alone).to_json()


def test_the_first_event_that_differs_may_be_of_a_message():
    a = run(grid="2x2")
    start_s = a.messages.start_s.copy()
    start_s[0] += 1e-6
    b = dataclasses.replace(a, messages=dataclasses.replace(a.messages, start_s=start_s))
    assert "message 0 with datum" in first_difference(a, b)
    assert first_difference(a, run(grid="2x2")) is None
