"""Networks in SimGrid's XML: clusters, hosts with routes, what is said of bad files."""

from __future__ import annotations

from pathlib import Path

import pytest
from growth import nearly_linear

from tasksim.base.errors import InputError
from tasksim.formats.platforms import load_network
from tasksim.formats.simgrid import import_network

SHIPPED = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "starpu-mpi"
HEAD = "<?xml version='1.0'?>\n<platform version='4.1'>\n"
CLUSTER = (
    '<cluster id="c" prefix="n-" suffix="" radical="0-15" speed="1Gf" bw="4GBps" lat="1us"{}/>\n'
)
ZONE = """<zone id="z" routing="{}">
<host id="a" speed="1f"/><host id="b" speed="1f"/><router id="r"/>
<link id="l:1" bandwidth="1GBps" latency="1us" sharing_policy="SPLITDUPLEX"/>
<link id="l2" bandwidth="2GBps" latency="3us"/>
<route src="a" dst="r"><link_ctn id="l:1" direction="UP"/></route>
<route src="r" dst="b"><link_ctn id="l2"/></route>
</zone>
"""

GRID = """<zone id="grid" routing="Full"><prop/>
<cluster id="den" prefix="d" suffix="" radical="0-1" speed="1f" bw="1Gbps" lat="1us"
  bb_bw="8GBps" bb_lat="2us" limiter_link="2GBps" loopback_bw="9GBps" router_id="router"/>
<zone id="hut" routing="Cluster"><router id="door"/><host id="h" speed="1f"/>
<host_link id="h" up='cable_UP' down='cable_DOWN'/>
<link id="cable" bandwidth="1GBps" latency="4us" sharing_policy="SPLITDUPLEX"/>
<cabinet id="shelf" prefix="s" suffix="" radical="0-1" speed="1f" bw="1GBps" lat="5us"/>
<backbone id="beam" bandwidth="2GBps" latency="6us"/></zone>
<link id="wan" bandwidth="1MBps" latency="1ms"/>
<zoneRoute src="den" dst='hut' gw_src='router' gw_dst="door"><link_ctn id="wan"/></zoneRoute>
</zone>
"""


def written(tmp_path, body, name="net.xml"):
    path = tmp_path / name
    path.write_text(f"{HEAD}{body}</platform>\n")
    return path


@pytest.mark.parametrize(
    ("more", "topology", "links", "latency_s"),
    [
        ("", "switch", 32, 2e-6),
        (' bb_bw="288GBps" bb_lat="1us"', "backbone", 33, 3e-6),
        (' sharing_policy="SHARED"', "switch", 16, 2e-6),
        (' loopback_bw="10GBps" loopback_lat="0.1us"', "switch", 48, 2e-6),
        (' limiter_link="5GBps"', "switch", 48, 2e-6),
        (' topology="FAT_TREE" topo_parameters="2;4,4;1,2;1,2"', "fat tree of 2 levels", 65, 4e-6),
        (' topology="TORUS" topo_parameters="4,2,2"', "torus 4x2x2", 97, 3e-6),
        (
            ' topology="DRAGONFLY" topo_parameters="2,1;2,1;2,1;2"',
            "dragonfly of 2 groups",
            51,
            6e-6,
        ),
    ],
)
def test_clusters_of_all_shapes_are_read(tmp_path, more, topology, links, latency_s):
    network = load_network(written(tmp_path, CLUSTER.format(more)))
    assert (str(network.topology), network.nodes) == (topology, 16)
    assert (network.model.name, network.topology.link_count) == ("smpi", links)
    assert network.latency_s(0, 15) == pytest.approx(latency_s)


def test_another_model_is_named_beside_the_file(tmp_path):
    path = written(tmp_path, CLUSTER.format(""))
    assert load_network(f"{path}:model=lv08,cross_traffic=0").model.cross_traffic == 0
    with pytest.raises(InputError, match="did you mean 'lv08'"):
        load_network(f"{path}:model=lv8")


@pytest.mark.parametrize("routing", ["Floyd", "Dijkstra"])
def test_ways_over_routers_are_found(tmp_path, routing):
    network = load_network(written(tmp_path, ZONE.format(routing)))
    names = [network.topology.link_name(link) for link in network.topology.route(0, 1)]
    assert names == ["link-l_3a_1-UP", "link-l2-0"]
    names = [network.topology.link_name(link) for link in network.topology.route(1, 0)]
    assert names == ["link-l2-0", "link-l_3a_1-DOWN"]
    assert network.latency_s(0, 1) == pytest.approx(4e-6)


def test_full_routing_has_the_routes_that_are_listed(tmp_path):
    network = load_network(written(tmp_path, ZONE.format("Full")))
    with pytest.raises(InputError, match="no route from a to b"):
        network.topology.route(0, 1)


@pytest.mark.parametrize(
    ("ends", "links"),
    [
        (("d0", "d1"), "den_5f_link_5f_0_5f_limiter-0 den_5f_link_5f_0-UP den_5f_backbone-0 "
         "den_5f_link_5f_1-DOWN den_5f_link_5f_1_5f_limiter-0"),
        (("d0", "d0"), "den_5f_link_5f_0_5f_loopback-0"),
        (("h", "s1"), "cable-UP beam-0 link_5f_s1-DOWN"),
        (("s0", "d1"), "link_5f_s0-UP beam-0 wan-0 den_5f_backbone-0 den_5f_link_5f_1-DOWN "
         "den_5f_link_5f_1_5f_limiter-0"),
    ],
)  # fmt: skip
def test_clusters_and_cabinets_in_zones_are_read(tmp_path, ends, links):
    path = written(tmp_path, GRID)
    import_network(path, tmp_path / "lib", "grid")
    for network in (load_network(path), load_network("grid", tmp_path / "lib")):
        topology = network.topology
        assert (str(topology), topology.hosts) == ("3 zones", ("d0", "d1", "h", "s0", "s1"))
        way = topology.route(*map(topology.hosts.index, ends))
        assert [topology.link_name(link) for link in way] == [f"link-{n}" for n in links.split()]
        assert network.links.bandwidth_bytes_per_s[way[-2:][0]] > 0
    cable = network.topology.kinds["link-den_5f_link_5f_0-UP"]
    assert network.links.bandwidth_bytes_per_s[cable] == 125e6  # a gigabit


def test_an_imported_network_is_found_by_its_name(tmp_path):
    path = written(tmp_path, ZONE.format("Floyd"))
    target, _ = import_network(path, tmp_path / "lib", "campus")
    assert target == tmp_path / "lib" / "networks" / "campus.yaml"
    network = load_network("campus", tmp_path / "lib")
    assert (network.name, network.model.name) == ("campus", "smpi")
    assert network.alone_s(0, 1, 100) == load_network(path).alone_s(0, 1, 100)
    with pytest.raises(InputError, match="did you mean 'campus'"):
        load_network("campsu", tmp_path / "lib")


def test_zones_of_many_hosts_are_read_in_linear_time(tmp_path):
    def read(hosts):
        body = GRID.replace('radical="0-1"', f'radical="0-{hosts - 1}"')
        assert load_network(written(tmp_path, body)).nodes == 2 * hosts + 1

    assert nearly_linear(read, 100, 800)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (CLUSTER.format("").replace("4GBps", "4GPps"), ":3:1: expected bw: a number and one of"),
        (CLUSTER.format("").replace("4GBps", "0GBps"), "bw: a number above 0"),
        (CLUSTER.format("").replace(' lat="1us"', ""), "<cluster lat='...'>"),
        (CLUSTER.format("").replace("0-15", "15-0"), "radical: numbers and ranges"),
        (CLUSTER.format("").replace("0-15", "0-999999999"), "at most 100000"),
        (CLUSTER.format(' topology="FATTREE"'), "did you mean 'FAT_TREE'"),
        (CLUSTER.format(' topology="TORUS" topo_parameters="4,4,4"'), "a radical of 64 hosts"),
        (CLUSTER.format(' topology="TORUS" topo_parameters="4,x"'), "counts such as 4,4,4"),
        (CLUSTER.format(' topology="FAT_TREE"'), "topo_parameters"),
        (
            CLUSTER.format(' topology="TORUS" topo_parameters="4,2,2" limiter_link="5GBps"'),
            "expected no limiter_link on a TORUS: without it, hosts send and receive at full speed",
        ),
        (CLUSTER.format(' sharing_policy="FATPIPE"'), "sharing_policy: SPLITDUPLEX"),
        (CLUSTER.format("") * 2, "expected one zone around all others, found 2"),
        (GRID.replace("gw_src='router'", "gw_src='ruter'"), "did you mean 'router'?"),
        (GRID.replace("dst='hut'", "dst='hat'"), "expected a member of the file, found 'hat'"),
        (
            GRID.replace("up='cable_UP'", "up='cable'"),
            "up: a link of the file, or NAME_UP of a split",
        ),
        (GRID.replace('routing="Cluster"', 'routing="Cluttered"'), "routing: Full, Floyd"),
        (GRID.replace('routing="Full"', 'routing="Vivaldi"'), "whose latencies follow from coord"),
        (GRID.replace("<prop/>", "<peer id='p'/>"), "expected no <peer>: its latencies follow"),
        (GRID.replace("<prop/>", "<bypassRoute/>"), "expected no <bypassRoute>: routes follow"),
        ("<actor host='a' function='f'/>", "found a deployment of actors"),
        ("", "a <cluster>, or a <host> or more"),
        (ZONE.format("Full").replace('dst="b"', 'dst="bb"'), "did you mean 'b'"),
        (ZONE.format("Full").replace('ctn id="l2"', 'ctn id="l3"'), "did you mean 'l2'"),
        (ZONE.format("Full").replace(' direction="UP"', ""), "direction='UP' or 'DOWN'"),
        (ZONE.format("Full").replace('<link_ctn id="l2"/>', ""), "a route of one link or more"),
        ("<cluster", "expected XML"),
    ],
)
def test_what_is_wrong_is_told_by_line_and_column(tmp_path, body, said):
    path = written(tmp_path, body)
    with pytest.raises(InputError) as error:
        load_network(path)
    lines = str(error.value).splitlines()
    assert said in str(error.value), str(error.value)
    assert len(set(lines)) == len(lines)


@pytest.mark.skipif(not SHIPPED.is_dir(), reason="the peer's platforms are not beside the checkout")
@pytest.mark.parametrize(
    ("name", "topology", "alone_s"),
    [
        ("A_4G_1us_bb288G", "backbone", 6.051e-6),
        ("B_1.25G_10us", "switch", 40.317e-6),
        ("C_12.5G_1us", "switch", 4.0317e-6),
        ("D_125M_50us", "switch", 201.703e-6),
        ("E_1.25G_10us_bb2.5G", "backbone", 50.39e-6),
        ("F_fattree_1.25G_5us", "fat tree of 2 levels", 40.317e-6),
        ("merged_A_2nodes_mirage", "backbone", 6.051e-6),
    ],
)
def test_the_platforms_of_the_peer_are_read(name, topology, alone_s):
    network = load_network(SHIPPED / "platforms" / f"{name}.xml")
    assert (str(network.topology), network.nodes) == (topology, 16)
    assert network.alone_s(0, 15, 8) == pytest.approx(alone_s, rel=1e-3)
