"""Seeds of networks: texts, YAML files, clusters, platform files of SimGrid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .readers import TEXT

if TYPE_CHECKING:
    from pathlib import Path

    from .inputs import Input

NETWORK_TEXTS = (
    "switch:bandwidth=4GB/s,latency=1us,model=smpi",
    "torus:dimensions=[4,4],bandwidth=10GB/s,latency=1us",
    "switch:bandwidth=1GB/s,latency=2us,model=loggp",
    "backbone:bandwidth=1GB/s,latency=5us,backbone_bandwidth=7GB/s,backbone_shared=false",
    "fat-tree:children=[2,3,2],parents=[1,2,3],cables=[1,1,2],bandwidth=1GB/s,latency=1us",
    "dragonfly:groups=3,chassis=2,routers=3,hosts=2,blue=4,bandwidth=1GB/s,latency=1us",
    "here.yaml",
    "here.yaml:latency=3us",
)
SWITCH = "{topology: switch, bandwidth: 12.5 GB/s, latency: 1 us}"
PLATFORM_WITH_NETWORK = f"version: 1\nnetwork: {SWITCH}\n"
MODEL = """\
model:
    name: hockney
    pieces: [{above: 0, latency: 2, bandwidth: 0.9}, {above: 1 MB}]
    envelope: 16 B
    shared: true
    window: 0
    send: [{above: 0, fixed: 1 us, per_kilobyte: 10 ns}, {above: 1 kB, fixed: 2 us}]
    receive: [{above: 0, fixed: 1 us}]
"""
CHANGED_PLATFORM = (
    f"version: 1\nnetwork:\n  topology: switch\n  bandwidth: 12.5 GB/s\n  latency: 1 us\n  {MODEL}"
)
PLATFORM_WITH_MODEL = PLATFORM_WITH_NETWORK.replace(
    "}", ", model: smpi, eager: 64 kB, cross_traffic: 0.05}"
)
CLUSTER = f"nodes: {{count: 4, like: identical-8, cores: 2}}\nnetwork: {SWITCH}\n"

HEAD = "<?xml version='1.0'?>\n<platform version='4.1'>\n"
XML_CLUSTER = (
    '<cluster id="c" prefix="n-" suffix="" radical="0-15" speed="1Gf" bw="4GBps" lat="1us"{}/>\n'
)
XML_ZONE = """<zone id="z" routing="Full">
<host id="a" speed="1f"/><host id="b" speed="1f"/><host id="c" speed="1f"/>
<link id="l:1" bandwidth="1GBps" latency="1us" sharing_policy="SPLITDUPLEX"/>
<link id="l2" bandwidth="2GBps" latency="3us"/>
<route src="a" dst="b"><link_ctn id="l:1" direction="UP"/></route>
<route src="b" dst="c"><link_ctn id="l2"/></route>
<route src="a" dst="c"><link_ctn id="l:1" direction="UP"/><link_ctn id="l2"/></route>
</zone>
"""
XML_ZONES = """<zone id="grid" routing="Floyd">
<cluster id="den" prefix="d" suffix="" radical="0-1" speed="1f" bw="1Gbps" lat="1us" bb_bw="8GBps"/>
<zone id="hut" routing="Cluster"><router id="door"/><host id="h" speed="1f"/>
<link id="cable" bandwidth="1GBps" latency="4us" sharing_policy="SPLITDUPLEX"/>
<host_link id="h" up="cable_UP" down="cable_DOWN"/>
<cabinet id="shelf" prefix="s" suffix="" radical="0-1" speed="1f" bw="1GBps" lat="5us"/>
<backbone id="beam" bandwidth="2GBps" latency="6us"/></zone>
<link id="wan" bandwidth="1MBps" latency="1ms"/>
<zoneRoute src="den" dst="hut" gw_src="dden_router" gw_dst="door"><link_ctn id="wan"/></zoneRoute>
</zone>
"""
XML = {
    "switch": XML_CLUSTER.format(""),
    "backbone": XML_CLUSTER.format(' bb_bw="288GBps" bb_lat="1us" limiter_link="5GBps"'),
    "fat-tree": XML_CLUSTER.format(' topology="FAT_TREE" topo_parameters="2;4,4;1,2;1,2"'),
    "torus": XML_CLUSTER.format(' topology="TORUS" topo_parameters="4,2,2"'),
    "dragonfly": XML_CLUSTER.format(' topology="DRAGONFLY" topo_parameters="2,1;2,1;2,1;2"'),
    "zone": XML_ZONE,
    "zones": XML_ZONES,
}


def network_texts(_: Path) -> dict[str, Input]:
    return {
        text: {"here.yaml": PLATFORM_WITH_NETWORK.encode(), TEXT: text.encode()}
        for text in NETWORK_TEXTS
    }


def networks(folder: Path) -> dict[str, Input]:
    """Return files as tasksim writes them, of what SimGrid's describe, and one by hand."""
    from tasksim.formats.simgrid import import_network

    hand = {
        "hand": PLATFORM_WITH_NETWORK,
        "changed": CHANGED_PLATFORM,
        "beside": PLATFORM_WITH_MODEL,
    }
    found: dict[str, Input] = {name: {"net.yaml": text.encode()} for name, text in hand.items()}
    for name, text in XML.items():
        (folder / "net.xml").write_text(f"{HEAD}{text}</platform>\n")
        import_network(folder / "net.xml", folder / name)
        found[name] = {"net.yaml": (folder / name / "networks" / "net.yaml").read_bytes()}
    return found


def network_xml(_: Path) -> dict[str, Input]:
    return {name: {"net.xml": f"{HEAD}{text}</platform>\n".encode()} for name, text in XML.items()}


def clusters(_: Path) -> dict[str, Input]:
    changed = CLUSTER.partition("network:")[0] + CHANGED_PLATFORM.partition("\n")[2]
    return {
        "like": {"cluster.yaml": CLUSTER.encode()},
        "changed": {"cluster.yaml": changed.encode()},
    }


def hwloc(_: Path) -> dict[str, Input]:
    from tests.hwloc_files import OLD, WITH_GPU

    return {name: {"machine.xml": text.encode()} for name, text in (("2", WITH_GPU), ("1", OLD))}
