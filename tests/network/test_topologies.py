"""Topologies: routes that lead where they should, as SimGrid's do."""

from __future__ import annotations

from collections import Counter

import pytest
from growth import nearly_linear

from tasksim.base.errors import InputError
from tasksim.network.load import network_of_fields, read_network

TREE = "fat-tree:children=[4,4],parents=[1,2],cables=[1,2],bandwidth=1.25GB/s,latency=5us"
DRAGONFLY = "dragonfly:groups=3,chassis=2,routers=3,hosts=2,blue=4,bandwidth=1GB/s,latency=1us"


def names(network, source, target):
    """Return the names of the links of a route."""
    topology = network.topology
    return [topology.link_name(link) for link in topology.route(source, target)]


def test_a_fat_tree_has_as_many_hosts_as_its_children_make():
    network = read_network(f"{TREE},model=smpi")
    assert network.nodes == 16
    # 8 bytes: measured in SimGrid, 20.2 and 40.3 us.
    assert network.alone_s(0, 1, 8) == pytest.approx(20.2e-6, abs=5e-8)
    assert network.alone_s(0, 15, 8) == pytest.approx(40.3e-6, abs=5e-8)


def test_a_fat_tree_spreads_targets_over_parents_and_cables():
    network = read_network(TREE)
    assert names(network, 0, 5)[1] == "level1/0/port1/up"
    ups = Counter(names(network, 0, target)[1] for target in range(4, 16))
    assert set(ups.values()) == {3}
    assert len(ups) == 4


def test_a_fat_tree_leads_down_to_its_target_only():
    network = read_network(TREE)
    for target in range(1, 16):
        assert names(network, 0, target)[-1] == f"level0/{target}/port0/down"
    assert len(network.topology.route(0, 3)) == 2
    assert len(network.topology.route(0, 4)) == 4


def test_three_levels_reach_each_other():
    network = read_network(
        "fat-tree:children=[2,3,2],parents=[1,2,3],cables=[1,1,2],bandwidth=1GB/s"
    )
    lengths = Counter(len(network.topology.route(0, target)) for target in range(1, 12))
    assert lengths == {2: 1, 4: 4, 6: 6}
    used = {k for s in range(12) for t in range(12) for k in network.topology.route(s, t)}
    assert max(used) < network.topology.link_count == len(network.topology.links)


def test_a_torus_goes_dimension_by_dimension_the_shorter_way():
    network = read_network("torus:dimensions=[4,3],bandwidth=1GB/s,latency=1us")
    assert names(network, 0, 1) == ["node0/dimension0/up"]
    assert names(network, 0, 3) == ["node3/dimension0/down"]
    assert names(network, 0, 4 + 1) == ["node0/dimension0/up", "node1/dimension1/up"]
    assert names(network, 1, 8) == ["node0/dimension0/down", "node8/dimension1/down"]
    assert len(network.topology.route(0, 2)) == 2


def test_every_way_there_is_as_long_as_the_way_back():
    for text in (TREE, DRAGONFLY, "torus:dimensions=[5,3,2],bandwidth=1GB/s,latency=1us"):
        network = read_network(text)
        for source in range(network.nodes):
            for target in range(network.nodes):
                there = network.topology.route(source, target)
                back = network.topology.route(target, source)
                assert len(there) == len(back)
                assert len(set(there)) == len(there)
                assert max(there) < network.topology.link_count


def test_a_dragonfly_has_minimal_routes():
    network = read_network(DRAGONFLY)
    assert network.nodes == 36
    sorts = [name.rstrip("0123456789/updown") for name in names(network, 0, 1)]
    assert len(sorts) == 2
    # Same chassis; same group, other chassis; other groups.
    assert [name[:5] for name in names(network, 0, 2)] == ["node0", "green", "node2"]
    assert [name[:5] for name in names(network, 0, 8)] == ["node0", "green", "black", "node8"]
    # Router 0 of group 0 leads to group 0, router 1 to group 1.
    assert [name[:5] for name in names(network, 0, 12)] == ["node0", "green", "blue0", "node1"]
    assert [name[:5] for name in names(network, 2, 12)] == ["node2", "blue0", "node1"]


def test_strands_multiply_the_bandwidth():
    network = read_network(DRAGONFLY)
    links = network.topology.links
    blue = network.topology.route(2, 12)[1]
    assert links.bandwidth_bytes_per_s[blue] == 4e9


EXPLICIT = """network:
  topology: explicit
  hosts: [a, b, c]
  links:
    left: {bandwidth: 1 GB/s, latency: 1 us}
    right: {bandwidth: 2 GB/s, latency: 3 us, shared: false}
  routes:
    - {from: a, to: b, links: [left]}
    - {from: b, to: c, links: [left, right], one_way: true}
"""


def test_explicit_routes_of_many_hosts_are_read_in_linear_time():
    def read(count):
        hosts = [f"h{number}" for number in range(count)]
        routes = [{"from": "h0", "to": host, "links": ["l"]} for host in hosts[1:]]
        links = {"l": {"bandwidth": "1 GB/s"}}
        fields = {"topology": "explicit", "hosts": hosts, "links": links, "routes": routes}
        assert network_of_fields(fields, "net", "net").nodes == count

    assert nearly_linear(read, 2000, 16_000, times=1)


def test_explicit_routes_lead_back_unless_they_are_one_way(tmp_path):
    path = tmp_path / "net.yaml"
    path.write_text(EXPLICIT)
    network = read_network(path)
    assert (names(network, 1, 0), names(network, 1, 2)) == (["left"], ["left", "right"])
    assert network.latency_s(1, 2) == pytest.approx(4e-6)
    with pytest.raises(InputError, match="no route from c to b, which must communicate"):
        network.topology.route(2, 1)
    with pytest.raises(InputError, match="has 3 hosts, got 4 nodes"):
        network.sized(4)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("to: b,", "to: bb,", ":8:21: network.routes.0.to: no such host 'bb', did you mean 'b'?"),
        ("[left]", "[lft]", "no such link 'lft', did you mean 'left'?"),
        ("[a, b, c]", "[a, b, a]", ":3:17: network.hosts.2: 'a' again"),
        ("from: b, to: c", "from: b, to: a", "another route from b to a"),
        ("shared: false", "sharde: false", "did you mean 'shared'?"),
        ("bandwidth: 1 GB/s", "bandwidth: 0 B/s", "must be greater than 0"),
    ],
)
def test_what_is_wrong_with_explicit_links_is_told_by_line_and_column(tmp_path, old, new, said):
    path = tmp_path / "net.yaml"
    path.write_text(EXPLICIT.replace(old, new))
    with pytest.raises(InputError) as error:
        read_network(path)
    assert said in str(error.value)


ZONES_FILE = """network:
  topology: zones
  links:
    a-up: {bandwidth: 1 GB/s, latency: 1 us}
    a-down: {bandwidth: 1 GB/s, latency: 1 us}
    b: {bandwidth: 1 GB/s, latency: 2 us}
    middle: {bandwidth: 4 GB/s, latency: 3 us}
    wan: {bandwidth: 0.1 GB/s, latency: 1 ms}
    tail: {bandwidth: 1 GB/s, latency: 5 us}
    far: {bandwidth: 1 GB/s, latency: 7 us}
    self: {bandwidth: 9 GB/s}
  zones:
    grid:
      combines: true
      routes:
        - {from: star, to: line, links: [wan], leaves: gate, enters: c}
        - {from: line, to: star, links: [wan], leaves: c, enters: gate}
        - {from: line, to: alone, links: [far], leaves: d, enters: e}
    star:
      within: grid
      hosts: [a, b]
      routers: [gate]
      routes:
        - {from: a, links: [a-up, middle]}
        - {to: a, links: [middle, a-down]}
        - {from: b, links: [b, middle]}
        - {to: b, links: [middle, b]}
        - {from: b, to: b, links: [self]}
        - {from: gate, links: []}
        - {to: gate, links: []}
    line:
      within: grid
      hosts: [c, d]
      routes:
        - {from: c, to: d, links: [tail]}
        - {from: d, to: c, links: [tail]}
    alone:
      within: grid
      hosts: [e]
"""


@pytest.fixture
def zones(tmp_path):
    path = tmp_path / "net.yaml"
    path.write_text(ZONES_FILE)
    return read_network(path)


@pytest.mark.parametrize(
    ("ends", "links"),
    [
        ("ab", "a-up middle b"),  # the middle is crossed once
        ("ba", "b middle a-down"),
        ("bb", "self"),
        ("ac", "a-up middle wan"),
        ("ad", "a-up middle wan tail"),
        ("da", "tail wan middle a-down"),
        ("ae", "a-up middle wan tail far"),  # two routes between zones, and the way inside between
        ("ce", "tail far"),
    ],
)
def test_routes_in_zones_are_composed(zones, ends, links):
    assert (str(zones.topology), zones.nodes) == ("4 zones", 5)
    assert names(zones, *map("abcde".index, ends)) == links.split()


def test_zones_without_a_way_back_say_so(zones):
    with pytest.raises(InputError, match="no route from e to a, which must communicate"):
        zones.topology.route(4, 0)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "to: line, links",
            "to: lien, links",
            "'lien' is no member of zone grid, did you mean 'line'?",
        ),
        ("from: a, links", "from: c, links", "'c' is no member of zone star"),
        ("leaves: gate", "leaves: gat", "leaves: 'gat' is no host or router in zone star"),
        (", enters: c}", "}", "say where it enters zone line: a host or router in it"),
        (
            "to: d, links: [tail]",
            "to: d, enters: d, links: [tail]",
            "enters: its end 'd' is no zone",
        ),
        ("[c, d]", "[c, a]", "zones.line.hosts.1: 'a' again"),
        ("within: grid\n      hosts: [e]", "hosts: [e]", "within: zone grid is the outermost"),
        (
            "within: grid\n      hosts: [e]",
            "within: gird\n      hosts: [e]",
            "did you mean 'grid'?",
        ),
        ("[self]", "[slef]", "no such link 'slef', did you mean 'self'?"),
        ("{to: b, links", "{to: a, links", "another route between the same members"),
        ("{from: gate, links", "{links", "a route from a member, to one, or both"),
    ],
)
def test_what_is_wrong_with_zones_is_told_by_its_place(tmp_path, old, new, said):
    path = tmp_path / "net.yaml"
    assert old in ZONES_FILE
    path.write_text(ZONES_FILE.replace(old, new, 1))
    with pytest.raises(InputError) as error:
        read_network(path)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TREE.replace("[1,2],c", "[1],c"), "parents: must have 2 entries"),
        (TREE.replace("[4,4]", "[1000,1000]"), "children: are 1000000 hosts"),
        (TREE.replace("[1,2],b", "[1,90000000],b"), "at most 100000"),
        (TREE.replace("[1,2],cables=[1,2]", "[1,9],cables=[1,90000]"), "has 6480033 links"),
        (DRAGONFLY.replace("routers=3", "routers=2"), "routers: must be at least groups"),
        (DRAGONFLY.replace("hosts=2", "hosts=100000"), "hosts: are 1800000 in all"),
        (DRAGONFLY.replace("routers=3", "routers=5000"), "links, must be at most"),
        ("torus:dimensions=[1000,1000],bandwidth=1GB/s", "are 1000000 hosts"),
        ("torus:dimensions=4,bandwidth=1GB/s", "dimensions: must be a list"),
        ("torus:dimensions=[4,bandwidth=1GB/s", "not a value"),
    ],
)
def test_shapes_that_are_none_are_refused(text, said):
    with pytest.raises(InputError) as error:
        read_network(text)
    assert said in str(error.value), str(error.value)
    assert "\n" not in str(error.value)
