"""hwloc's files as platforms: what becomes of cores, memories, caches and GPUs; what is refused."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from hwloc_files import GPU, HEAD, OLD, TWO_PACKAGES, WITH_GPU, package, topology
from hypothesis import given
from hypothesis import strategies as st

from tasksim.base.errors import InputError
from tasksim.formats.hwloc.machine_import import import_hwloc, read_platform_xml
from tasksim.formats.hwloc.topology import read_topology
from tasksim.formats.platforms import load_platform
from tasksim.scenario.public import simulate

GIB = 2**30
PROGRAM = shutil.which("lstopo-no-graphics") or shutil.which("lstopo")


@pytest.fixture
def imported(tmp_path):
    def file(text, stem="machine", **options):
        (tmp_path / f"{stem}.xml").write_text(text)
        return import_hwloc(tmp_path / f"{stem}.xml", tmp_path / "lib", **options)

    return file


def error_of(tmp_path, text) -> str:
    (tmp_path / "m.xml").write_text(text)
    with pytest.raises(InputError) as error:
        import_hwloc(tmp_path / "m.xml", tmp_path / "lib")
    assert not (tmp_path / "lib" / "platforms").exists()
    return str(error.value).replace(f"{tmp_path}/", "")


def test_cores_are_workers_bound_to_their_first_hyper_thread(imported):
    found = imported(TWO_PACKAGES)
    assert found.summary == (
        "2 packages, 2 NUMA nodes, 4 cores (8 hyper-threads): Some Processor 2.0"
    )
    workers = found.platform.workers
    assert [(it.name, it.core) for it in workers] == [
        ("cpu0", 0), ("cpu1", 2), ("cpu2", 4), ("cpu3", 6)
    ]  # fmt: skip


def test_hyper_threads_are_workers_if_asked_for(imported):
    found = imported(TWO_PACKAGES, hyper_threads=True)
    assert [it.core for it in found.platform.workers] == list(range(8))
    assert [len(it.workers) for it in found.platform.memory_domains] == [4, 4]


def test_numa_nodes_are_memory_domains_of_one_main_memory(imported):
    found = imported(TWO_PACKAGES)
    assert [(it.name, it.workers) for it in found.platform.memory_domains] == [
        ("numa0", (0, 1)), ("numa1", (2, 3))
    ]  # fmt: skip
    (ram,) = found.platform.memories
    assert (ram.name, ram.size_bytes) == ("ram", 64 * GIB)
    assert any(text.startswith("2 NUMA nodes: they are one main memory") for text in found.notes)


def distances(values, indexing="os", indexes="0 1"):
    return (
        f'<distances2 type="NUMANode" nbobjs="2" name="NUMALatency" indexing="{indexing}">'
        f'<indexes length="4">{indexes}</indexes><u64values length="12">{values}</u64values>'
        "</distances2>"
    )


def test_distances_between_numa_nodes_are_those_of_the_domains(imported):
    found = imported(topology(package(0), package(1), beside=distances("10 21 31 11")))
    numa = found.platform.numa
    assert (numa.distances, numa.cache_bytes) == (((10.0, 21.0), (31.0, 11.0)), 20 * 2.0**20)
    assert [it.size_bytes for it in found.platform.memory_domains] == [32 * GIB] * 2
    assert any("the distances between NUMA nodes count for kernels" in it for it in found.notes)
    turned = imported(
        topology(package(0), package(1), beside=distances("11 31 21 10", indexes="1 0")), "turned"
    )
    assert turned.platform.numa == numa
    # A file as a platform by itself says the same.
    assert load_platform(found.path.parents[2] / "machine.xml").numa == numa


def test_distances_of_version_1_are_inside_the_machine(imported):
    def latencies(*values):
        return "".join(f'<latency value="{value}"/>' for value in values)

    def with_distances(count, depth, inside):
        head = OLD.index('  <object type="NUMANode"')
        told = f'<distances nbobjs="{count}" relative_depth="{depth}" latency_base="10.000000">'
        return f"{OLD[:head]}{told}{inside}</distances>{OLD[head:]}"

    told = latencies("1.000000", "2.100000", "2.100000", "1.000000")
    numa = imported(with_distances(2, 1, told), "two").platform.numa
    assert numa.distances == ((10.0, 21.0), (21.0, 10.0))
    # Where the second node is nearer to the first than to itself, they say nothing.
    wrong = latencies("1.000000", "2.100000", "1.000000", "2.100000")
    assert imported(with_distances(2, 1, wrong), "wrong").platform.numa is None
    # Those of other objects are none of NUMA nodes.
    assert imported(with_distances(2, 2, told), "sockets").platform.numa is None
    with pytest.raises(InputError, match="expected 9 latencies between 3 objects, found 4"):
        imported(with_distances(3, 1, told), "three")


def test_a_node_whose_cores_all_drive_devices_is_none_of_the_distances(imported):
    one = imported(topology(package(0, 1), package(1, 1, GPU), beside=distances("10 21 21 10")))
    assert (len(one.platform.memory_domains), one.platform.numa) == (1, None)


@pytest.mark.parametrize(
    ("beside", "said"),
    [
        ("", "the distances between NUMA nodes are unknown: set numa.distances"),
        (distances("10 9 21 10"), "the distances between NUMA nodes (9, 10, 21) are not simulated"),
        (distances("0 0 0 0"), "the distances between NUMA nodes (0) are not simulated"),
        (distances("10 21 21 10", indexes="0 7"), "(10, 21) are not simulated: set numa.distanc"),
    ],
)
def test_distances_that_say_nothing_are_none(imported, beside, said):
    found = imported(topology(package(0), package(1), beside=beside))
    assert found.platform.numa is None
    assert any(said in text for text in found.notes)


def test_caches_are_levels_with_the_cores_that_share_them(imported):
    levels = imported(TWO_PACKAGES).platform.memory_hierarchy
    assert [(it.name, it.size_bytes, it.latency_s, it.cores) for it in levels] == [
        ("l1", 2**15, None, 1), ("l2", 2**18, None, 1), ("l3", 20 * 2**20, None, 2),
        ("memory", None, None, 2),
    ]  # fmt: skip


def test_a_gpu_has_a_memory_a_link_and_a_core_near_it(imported):
    found = imported(WITH_GPU)
    platform = found.platform
    gpu = platform.workers[0]
    assert (gpu.architecture, gpu.core) == ("cuda", 6)  # the last core of its package
    memory = platform.memories[gpu.memory]
    assert (memory.name, memory.size_bytes) == ("gpu0", 16 * GIB)
    (link,) = platform.links
    assert (link.between, link.bandwidth_bytes_per_s) == ((0, 1), 15753846000.0)
    assert platform.device("cuda").pipeline == 2
    assert [it.core for it in platform.workers[1:]] == [0, 2, 4]
    assert "1 Tesla V100" in found.summary
    assert any("1 device of the system, such as disks" in text for text in found.notes)


def test_numa_nodes_with_different_numbers_of_workers_have_groups_of_their_own(imported):
    platform = imported(WITH_GPU).platform
    assert [it.name for it in platform.workers] == [
        "cuda-numa1-0", "cpu-numa0-0", "cpu-numa0-1", "cpu-numa1-0"
    ]  # fmt: skip
    assert [(it.name, it.workers) for it in platform.memory_domains] == [
        ("numa0", (1, 2)), ("numa1", (3,))
    ]  # fmt: skip


def test_a_gpu_that_is_removed_gives_its_core_back(imported):
    path = imported(WITH_GPU).path
    without = load_platform(path, settings=["platform.workers.cuda-numa1.count=0"])
    assert [it.name for it in without.workers][-2:] == ["cpu-numa1-0", "cpu-numa1-1"]


def test_pci_alone_tells_of_a_gpu_without_a_size(imported):
    software = re.compile(r'<object type="OSDev" gp_index="92".*?gp_index="93"[^>]*/>', re.DOTALL)
    found = imported(topology(package(0, devices=software.sub("", GPU))))
    assert found.platform.architectures == ("cuda", "cpu")
    assert found.platform.memories[1].size_bytes is None
    assert any("known by their PCI class alone" in text for text in found.notes)


def test_a_link_without_a_speed_has_one_that_is_assumed_and_said(imported):
    text = topology(package(0, devices=GPU.replace("15.753846", "0.000000")))
    found = imported(text)
    assert found.platform.links[0].bandwidth_bytes_per_s == 12e9
    assert any("12 GB/s is assumed" in text for text in found.notes)


def test_a_link_that_sleeps_is_told(imported):
    found = imported(topology(package(0, devices=GPU.replace("15.753846", "0.250000"))))
    assert found.platform.links[0].bandwidth_bytes_per_s == 0.25e9
    assert any("PCI slows down the links of idle devices" in text for text in found.notes)


def test_gpus_behind_one_switch_share_its_link(imported):
    gpus = "".join(
        f'<object type="PCIDev" pci_busid="0000:0{n}:00.0" pci_type="0302 [10de:1db4]" '
        'pci_link_speed="8.0"/>'
        for n in (1, 2)
    )
    switch = f'<object type="Bridge" bridge_type="1-1" pci_link_speed="10.0">{gpus}</object>'
    platform = imported(topology(package(0, cores=4, devices=switch))).platform
    names = [link.name for link in platform.links]
    assert names == ["ram-gpu0", "pci-switch0", "ram-gpu1"]
    assert [platform.route(0, gpu) for gpu in (1, 2)] == [(1, 0), (1, 2)]
    assert platform.links[1].bandwidth_bytes_per_s == 10e9


def test_nvlinks_between_gpus_are_links(imported):
    two = GPU + GPU.replace('gp_index="9', 'gp_index="8').replace("cuda0", "cuda1")
    beside = (
        '<distances2 type="OSDev" nbobjs="2" kind="25" name="NVLinkBandwidth" indexing="gp">'
        '<indexes length="6">92 82 </indexes><u64values length="20">1000000 50000 50000 1000000 '
        "</u64values></distances2>"
    )
    platform = imported(topology(package(0, cores=4, devices=two), beside=beside)).platform
    peer = platform.links[-1]
    assert (peer.name, peer.between, peer.bandwidth_bytes_per_s) == ("gpu0-gpu1", (1, 2), 50e9)


def test_kinds_of_cores_are_architectures_with_frequencies(imported):
    beside = (
        '<cpukind cpuset="0x0f" forced_efficiency="0"><info name="CoreType" value="IntelAtom"/>'
        '<info name="FrequencyMaxMHz" value="1500"/></cpukind>'
        '<cpukind cpuset="0xf0" forced_efficiency="1"><info name="CoreType" value="IntelCore"/>'
        '<info name="FrequencyMaxMHz" value="3000"/></cpukind>'
    )
    platform = imported(topology(package(0, cores=4), beside=beside)).platform
    assert [it.architecture for it in platform.workers] == ["cpu", "cpu", *["cpu-intelatom"] * 2]
    assert platform.model_architecture["cpu-intelatom"] == "cpu"
    assert platform.slower("cpu-intelatom") == 2.0
    (domain,) = platform.memory_domains
    assert (domain.name, len(domain.workers)) == ("ram", 4)


def test_memory_attributes_are_bandwidths_and_latencies(imported):
    beside = "".join(
        f'<memattr name="{name}"><memattr_value target_obj_type="NUMANode" '
        f'target_obj_gp_index="20" value="{value}" initiator_cpuset="0xf"/></memattr>'
        for name, value in (("Bandwidth", 2000), ("Latency", 90))
    )
    platform = imported(topology(package(0), beside=beside)).platform
    assert platform.memory_domains[0].bandwidths_bytes_per_s == (2000 * 2.0**20,)
    assert platform.memory_hierarchy[-1].latency_s == pytest.approx(90e-9)


def test_special_memory_is_left_out_with_a_note(imported):
    hbm = f'<object type="NUMANode" subtype="HBM" cpuset="0xf" local_memory="{GIB}"/>'
    found = imported(topology(package(0, devices=hbm)))
    assert found.platform.memories[0].size_bytes == 32 * GIB
    assert any("1 HBM of 1 GiB" in text for text in found.notes)


def test_cores_that_programs_may_not_use_are_left_out(imported):
    text = TWO_PACKAGES.replace('cpuset="0xffffffff"', 'cpuset="0xff" allowed_cpuset="0x0f"')
    found = imported(text)
    assert [it.core for it in found.platform.workers] == [0, 2]
    assert "left out: 4 processing units that programs may not use" in found.notes


def test_version_1_is_read_as_version_2(imported):
    found = imported(OLD)
    platform = found.platform
    assert found.summary == "2 packages, 2 NUMA nodes, 4 cores, 1 cuda device"
    assert [it.architecture for it in platform.workers] == ["cuda", "cpu", "cpu", "cpu"]
    assert platform.memories[1].size_bytes == 11796480 * 1024
    level = platform.memory_hierarchy[0]
    assert (level.name, level.size_bytes, level.cores) == ("l2", 4 * 2**20, 2)


def test_a_file_is_a_platform_by_itself(tmp_path):
    (tmp_path / "m.xml").write_text(TWO_PACKAGES)
    platform = load_platform(tmp_path / "m.xml")
    assert platform.summary() == "m: 4 cpu; 1 memory: ram 64 GiB; no overheads"
    seconds = dict.fromkeys(("potrf", "trsm", "syrk", "gemm"), 1.0)
    run = simulate("cholesky tiles=3", tmp_path / "m.xml", durations=seconds)
    assert run.makespan_s == 7.0  # the critical path of Cholesky of 3 by 3 tiles: 3 (3 - 1) + 1


def test_names_that_no_file_may_have_are_replaced_or_refused(imported):
    assert imported(TWO_PACKAGES, "two+more (old)").name == "two-more-old"
    with pytest.raises(InputError, match=r"name: got '../x'; legal"):
        imported(TWO_PACKAGES, name="../x")


def test_nothing_is_replaced_unless_asked_for(imported):
    imported(TWO_PACKAGES)
    with pytest.raises(InputError, match=r"machine\.yaml"):
        imported(TWO_PACKAGES)
    assert imported(WITH_GPU, force=True).platform.architectures == ("cuda", "cpu")


PU = 'os_index="1" cpuset="0x00000002"'
NO_END = "expected XML, found what is not: no element found"
DISTANCES = '<distances2 type="NUMANode" nbobjs="2"><indexes>0</indexes></distances2>'
ENTITY = HEAD.replace('"hwloc2.dtd"', '"hwloc2.dtd" [<!ENTITY a "aaaa">]')
DEEP_GROUPS = "<object type='Group'>" * 200 + "</object>" * 200
PLACES_OF_ERRORS = [
    ("", f"m.xml:1:1: {NO_END}"),
    (TWO_PACKAGES[: TWO_PACKAGES.index("</topology>")], NO_END),
    (f"{HEAD}<topology/>", "m.xml:3:1: expected <topology> with an <object type='Machine'>"),
    (f"{HEAD}<platform/>", "m.xml:3:1: expected <topology> with an <object type='Machine'>"),
    (
        TWO_PACKAGES.replace('type="Machine"', 'type="Package"'),
        "m.xml:4:2: expected type='Machine'",
    ),
    (
        TWO_PACKAGES.replace(PU, 'os_index="0" cpuset="0x00000001"'),
        "m.xml:15:1: expected each PU once, found os_index 0 again, as that at line 14",
    ),
    (
        TWO_PACKAGES.replace(PU, 'os_index="9" cpuset="0x00000002"'),
        "m.xml:15:1: expected cpuset: the set of the processing unit 9, found '0x00000002'",
    ),
    (
        TWO_PACKAGES.replace(PU, 'os_index="many" cpuset="0x00000002"'),
        "m.xml:15:1: expected os_index: a whole number, found 'many'",
    ),
    (
        TWO_PACKAGES.replace(PU, 'os_index="1" cpuset="two"'),
        "m.xml:15:1: expected cpuset: a set such as 0x0000ffff,0xffffffff, found 'two'",
    ),
    (
        TWO_PACKAGES.replace(f'"{32 * GIB}"', '"-1"'),
        "expected local_memory: a whole number, found '-1'",
    ),
    (TWO_PACKAGES.replace("<info name", "<info nome"), "expected <info name='...'>"),
    (
        TWO_PACKAGES.replace('cpuset="0xffffffff"', 'cpuset="0x0"'),
        "m.xml:4:2: expected a PU that programs",
    ),
    (topology(package(0), beside=DISTANCES), "expected 2 indexes and 4 values of distances"),
    (f"{ENTITY}<topology>&a;</topology>", "expected no entities, found the entity 'a'"),
    (
        f"{HEAD}<topology>{DEEP_GROUPS}</topology>",
        "expected at most 100 elements inside each other",
    ),
]


@pytest.mark.parametrize(("text", "message"), PLACES_OF_ERRORS, ids=range(len(PLACES_OF_ERRORS)))
def test_what_is_wrong_is_told_with_its_place(tmp_path, text, message):
    assert message in error_of(tmp_path, text)


@given(st.integers(1, 4), st.integers(1, 6), st.booleans())
def test_each_core_is_one_worker_and_in_one_domain(tmp_path_factory, packages, cores, with_gpu):
    """Of all packages and cores: workers and drivers are the cores, domains part the workers."""
    folder = tmp_path_factory.mktemp("hwloc")
    devices = [GPU if with_gpu and number == 0 else "" for number in range(packages)]
    texts = [package(number, cores, devices[number]) for number in range(packages)]
    (folder / "m.xml").write_text(topology(*texts, units=64))
    platform = read_platform_xml(folder / "m.xml")
    has_driver = with_gpu and packages * cores > 1
    on_cores = [it for it in platform.workers if it.architecture == "cpu"]
    assert len(on_cores) == packages * cores - has_driver
    bound = [it.core for it in platform.workers if it.core is not None]
    assert sorted(bound) == list(range(0, 2 * packages * cores, 2))
    members = [worker for domain in platform.memory_domains for worker in domain.workers]
    assert sorted(members) == [it.id for it in on_cores]


@pytest.mark.skipif(PROGRAM is None, reason="hwloc is not installed: no lstopo")
@pytest.mark.parametrize(
    ("synthetic", "version", "workers", "domains"),
    [
        ("package:2 numa:4 l3:2 core:8 pu:2", "2", 128, 8),
        ("package:2 numa:4 l3:2 core:8 pu:2", "1", 128, 8),
        ("numa:3 core:5 pu:1", "2", 15, 3),
        ("package:1 core:3 pu:4", "1", 3, 1),
        ("pu:6", "2", 6, 1),
    ],
)
def test_machines_that_lstopo_makes_up(tmp_path, synthetic, version, workers, domains):
    flags = ["--export-xml-flags", "v1"] if version == "1" else []
    command = [PROGRAM, "--input", synthetic, "--of", "xml", *flags, tmp_path / "m.xml"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    topology = read_topology(tmp_path / "m.xml")
    assert topology.version.startswith(version)
    platform = load_platform(tmp_path / "m.xml")
    assert len(platform.workers) == workers
    assert len(platform.memory_domains) == domains
    assert platform.memories[0].size_bytes == domains * GIB


@pytest.mark.skipif(PROGRAM is None, reason="hwloc is not installed: no lstopo")
def test_this_machine():
    from tasksim.formats.hwloc.machine_fields import machine_fields
    from tasksim.formats.hwloc.topology import topology_here

    found = topology_here()
    assert found is not None
    fields = machine_fields(found)
    assert 1 <= fields.cores <= fields.units <= len(list(found.all_of("PU")))


def test_hwloc_that_is_not_installed_is_none(monkeypatch, tmp_path):
    from tasksim.formats.hwloc.topology import topology_here

    monkeypatch.setenv("PATH", str(tmp_path))
    assert topology_here() is None


def test_hwloc_that_fails_is_told(monkeypatch, tmp_path):
    from tasksim.formats.hwloc.topology import topology_here

    program = tmp_path / "lstopo"
    program.write_text("#!/bin/sh\necho no such bus >&2\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="lstopo --of xml: no such bus"):
        topology_here()
