"""Way table: the same numbers as those of the ways one by one, for every topology and model."""

from __future__ import annotations

import numpy as np
import pytest

from tasksim.engine.cluster.ways import Ways, way_table
from tasksim.network.load import read_network

NETWORKS = (
    "switch:bandwidth=4GB/s,latency=1us",
    "switch:bandwidth=3GB/s,latency=1.3us,full_duplex=false",
    "switch:bandwidth=3GB/s,latency=0,limiter=4GB/s,loopback_bandwidth=9GB/s",
    "backbone:bandwidth=1GB/s,latency=5us,backbone_bandwidth=7GB/s,backbone_latency=1us",
    "backbone:bandwidth=1GB/s,latency=5us,backbone_bandwidth=7GB/s,backbone_shared=false",
    "torus:dimensions=[3,2,2],bandwidth=1.1GB/s,latency=0.7us",
    "fat-tree:children=[4,3],parents=[1,2],cables=[1,2],bandwidth=1.1GB/s,latency=0.7us",
)


@pytest.mark.parametrize("text", NETWORKS)
@pytest.mark.parametrize("model", ["ideal", "hockney", "cm02", "lv08", "smpi"])
def test_a_table_has_what_ways_have(text: str, model: str) -> None:
    network = read_network(f"{text},model={model}").sized(12)
    source, target = (hosts.ravel() for hosts in np.indices((12, 12)))
    source, target = source[source != target], target[source != target]
    table, ways = way_table(network, source, target), Ways(network)
    pairs = list(zip(source.tolist(), target.tolist(), strict=True))
    expected = [ways.between(*pair) for pair in pairs]
    assert table.latency_s.tolist() == [way.latency_s for way in expected]
    assert table.limit.tolist() == [way.limit for way in expected]
    assert table.weight.tolist() == [way.weight for way in expected]
    uses = list(zip(table.link.tolist(), table.of_byte.tolist(), strict=True))
    begin = table.pointers.tolist()
    found = [tuple(uses[begin[k] : begin[k + 1]]) for k in range(len(pairs))]
    assert found == [way.uses for way in expected]


def test_no_pairs_no_ways() -> None:
    none = np.empty(0, np.int64)
    assert len(way_table(read_network(NETWORKS[0]).sized(2), none, none)) == 0
