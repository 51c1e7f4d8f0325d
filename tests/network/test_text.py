"""Networks by text and from YAML: what they are, what is said of bad ones."""

from __future__ import annotations

import pytest

from tasksim.base.errors import InputError
from tasksim.network.load import read_network


def test_a_switch_gives_each_host_a_way_up_and_a_way_down():
    network = read_network("switch:bandwidth=4GB/s,latency=1us").sized(3)
    assert network.topology.route(0, 2) == (0, 5)
    assert len(network.topology.links) == 6
    assert network.topology.link_name(5) == "node2/down"
    assert network.alone_s(0, 2, 4000) == pytest.approx(3e-6)


def test_a_backbone_is_crossed_by_all():
    text = "backbone:bandwidth=4GB/s,latency=1us,backbone_bandwidth=288GB/s,backbone_latency=1us"
    network = read_network(f"{text},model=smpi").sized(16)
    assert network.topology.route(3, 1) == (7, 0, 4)
    assert network.latency_s(3, 1) == pytest.approx(3e-6)
    # A tile of 960 x 960 single precision numbers, and the envelope before it.
    assert network.alone_s(3, 1, 3686400) == pytest.approx(1.0147e-3, rel=1e-4)
    assert network.alone_s(3, 1, 32) == pytest.approx(6.06e-6, rel=1e-3)


def test_models_are_changed_word_by_word():
    text = "switch:bandwidth=1GB/s,model=smpi,cross_traffic=0,window=0 B,eager=64 KiB"
    model = read_network(text).model
    assert (model.cross_traffic, model.eager_bytes, model.window_rate(1.0)) == (
        0.0,
        65536.0,
        float("inf"),
    )


def test_a_file_says_the_same(tmp_path):
    path = tmp_path / "net.yaml"
    path.write_text(
        "version: 1\nnetwork:\n  topology: switch\n  bandwidth: 1 GB/s\n  latency: 5 us\n"
        "  model: {name: hockney,"
        " pieces: [{above: 0 B, latency: 2}, {above: 8 KiB, bandwidth: 0.5}]}\n"
    )
    network = read_network(path).sized(2)
    assert network.name == "net"
    assert network.alone_s(0, 1, 1000) == pytest.approx(21e-6)
    assert network.alone_s(0, 1, 1e6) == pytest.approx(2.01e-3)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("switch:bandwith=4GB/s", "did you mean 'bandwidth'?"),
        ("switch:latency=1us", "bandwidth: missing"),
        ("switch:bandwidth=4GB/s,model=smpy", "did you mean 'smpi'?"),
        ("swich:bandwidth=4GB/s", "did you mean 'switch'?"),
        ("switch:bandwidth=4 GB", "legal units"),
        ("switch:bandwidth=1GB/s,bandwidth=2GB/s", "given twice"),
        ("switch:4GB/s", "expected FIELD=VALUE"),
        ("switch:bandwidth=4GB/s,nodes=1000000", "at most 100000"),
        ("missing.yaml", "no such file"),
    ],
)
def test_bad_texts_are_refused_in_one_line(text, said):
    with pytest.raises(InputError) as error:
        read_network(text)
    assert said in str(error.value)


def test_a_million_nodes_are_refused():
    with pytest.raises(InputError, match="got 1000000 nodes; legal: at most 100000"):
        read_network("switch:bandwidth=1GB/s").sized(1_000_000)


def test_problems_of_a_file_are_told_by_line_and_column(tmp_path):
    path = tmp_path / "net.yaml"
    path.write_text("network:\n  topology: backbone\n  bandwidth: 1 GB/s\n  latncy: 5 us\n")
    with pytest.raises(InputError) as error:
        read_network(path)
    assert f"{path}:4:3: network.latncy: unknown field" in str(error.value)
    assert f"{path}:1:1: network.backbone_bandwidth: missing" in str(error.value)
