"""Platform files that are right: what they mean."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tasksim.base.errors import InputError
from tasksim.platform.description import (
    Link,
    Memory,
    MemoryDomain,
    Overheads,
    Platform,
    Worker,
    check_platform,
)
from tasksim.platform.load import load
from tasksim.platform.schema import PlatformFile, schema_json

ROOT = Path(__file__).resolve().parents[2]

MACHINE = """
    version: 1
    name: haswell4
    description: two sockets of two cores
    models: haswell
    memories: {ram: {size: 128 GiB}}
    arch: {cpu: {speed: 1.0}, little: {speed: 0.5, models: cpu}}
    workers:
      cpu: {count: 2, cores: [0, 2]}
      little: {count: 2, arch: little, memory: ram}
    overheads: {submission: 2 us, task: 12 us, wakeup: 60 us}
    fingerprint: {cpu: Haswell, threads: 4, when: 2026-11-20, "on": yes}
"""


def test_a_whole_file(write):
    path = write(MACHINE)
    platform = load(path)
    assert platform == Platform(
        name="haswell4",
        workers=(
            Worker(0, "cpu0", "cpu", 0, 0, 0),
            Worker(1, "cpu1", "cpu", 0, 0, 2),
            Worker(2, "little0", "little", 0, 0, None),
            Worker(3, "little1", "little", 0, 0, None),
        ),
        memories=(Memory(0, "ram", 0, 128 * 2.0**30),),
        overheads=Overheads(2e-6, 12e-6, 60e-6),
        speeds={"cpu": 1.0, "little": 0.5},
        models="haswell",
        fingerprint={"cpu": "Haswell", "threads": 4, "when": "2026-11-20", "on": True},
        path=path,
        model_architecture={"cpu": "cpu", "little": "cpu"},
        description="two sockets of two cores",
    )
    check_platform(platform)


def test_the_least_file(write):
    platform = load(write("version: 1\nworkers: {gpu: {count: 1}}\n", "tiny.yaml"))
    assert platform.name == "tiny"
    assert platform.workers == (Worker(0, "gpu0", "gpu", 0),)
    assert platform.memories == (Memory(0, "ram"),)
    assert platform.overheads == Overheads()
    assert platform.links == ()


def test_nodes_replicate_all_there_is(write):
    platform = load(
        write("""
        version: 1
        nodes: 2
        memories: {ram: {}, gpu: {size: 16 GiB}}
        workers: {cpu: {count: 2, memory: ram, cores: [0, 1]}, cuda: {count: 1, memory: gpu}}
        links:
          pcie: {bandwidth: 12.5 GB/s, latency: 10 us, between: [ram, gpu]}
          network: {bandwidth: 10 GB/s, between: [node0/ram, node1/ram]}
        """)
    )
    assert [(w.id, w.name, w.memory, w.node, w.core) for w in platform.workers] == [
        (0, "node0/cpu0", 0, 0, 0),
        (1, "node0/cpu1", 0, 0, 1),
        (2, "node0/cuda0", 1, 0, None),
        (3, "node1/cpu0", 2, 1, 0),
        (4, "node1/cpu1", 2, 1, 1),
        (5, "node1/cuda0", 3, 1, None),
    ]
    assert [memory.name for memory in platform.memories] == [
        "node0/ram",
        "node0/gpu",
        "node1/ram",
        "node1/gpu",
    ]
    assert platform.links == (
        Link(0, "node0/pcie", (0, 1), 12.5e9, 1e-5),
        Link(1, "node1/pcie", (2, 3), 12.5e9, 1e-5),
        Link(2, "network", (0, 2), 10e9, 0.0),
    )
    assert platform.nodes == 2
    assert len(platform.classes) == 4
    assert platform.summary() == (
        "p: 2 nodes, 4 cpu + 2 cuda; 2 memories per node: ram, gpu 16 GiB; no overheads"
    )
    check_platform(platform)


def test_names_of_workers_never_collide(write):
    platform = load(write("version: 1\nworkers: {a: {count: 12}, a1: {count: 2}}\n"))
    assert [w.name for w in platform.workers][9:] == ["a9", "a10", "a11", "a1-0", "a1-1"]


def test_anchors_and_merges_are_yaml_as_usual(write):
    platform = load(
        write("""
        version: 1
        workers:
          big: &group {count: 2, arch: cpu}
          small: {<<: *group, count: 1}
        arch: {cpu: {}}
        """)
    )
    assert [w.name for w in platform.workers] == ["big0", "big1", "small0"]
    assert platform.architectures == ("cpu",)


def test_a_group_may_name_its_own_architecture(write):
    platform = load(write("version: 1\nworkers: {cpu: {count: 1, arch: cpu}}\n"))
    assert platform.speeds == {"cpu": 1.0}


def test_empty_sections_are_absent(write):
    assert load(write("version: 1\nworkers: {cpu: {count: 1}}\nlinks:\nmodels:\n")).models is None


def test_found_by_name(write, here):
    write("version: 1\nworkers: {cpu: {count: 3}}\n", "lib/platforms/mine.yaml")
    assert len(load("mine", library=Path("lib")).workers) == 3
    assert load("mine", library=Path("lib")).path == here / "lib/platforms/mine.yaml"


def test_a_folder_of_that_name_is_not_the_platform(here):
    (here / "identical-8").mkdir()
    assert len(load("identical-8").workers) == 8


def test_presets(here):
    identical = load("identical-8")
    assert identical.workers == Platform.identical(8).workers
    two_nodes = load("two-nodes")
    assert (two_nodes.name, two_nodes.nodes, len(two_nodes.workers)) == ("two-nodes", 2, 16)
    for platform in (identical, two_nodes):
        check_platform(platform)


def test_extends_lays_one_file_over_another(write):
    write(MACHINE, "base.yaml")
    platform = load(
        write("""
        version: 1
        extends: base
        workers: {little: null, cpu: {count: 3}}
        overheads: {task: 1 ms}
        """)
    )
    assert platform.name == "p"
    assert platform.overheads == Overheads(2e-6, 1e-3, 60e-6)
    assert platform.models == "haswell"
    assert platform.memories[0].size_bytes == 128 * 2.0**30
    # The third worker is beyond the machine of the file: it is bound to no core.
    assert [(w.name, w.core) for w in platform.workers] == [
        ("cpu0", 0),
        ("cpu1", 2),
        ("cpu2", None),
    ]


def test_extends_by_name_and_across_three_files(write):
    write("version: 1\nworkers: {cpu: {count: 3}}\n", "platforms/a.yaml")
    write("version: 1\nextends: a\noverheads: {task: 1 us}\n", "other/b.yaml")
    platform = load(write("version: 1\nextends: other/b.yaml\nnodes: 2\n"))
    assert len(platform.workers) == 6
    assert platform.overheads.task_s == 1e-6


def test_extends_its_namesake_in_another_library(write):
    path = write("version: 1\nextends: identical-8\nnodes: 2\n", "platforms/identical-8.yaml")
    with pytest.raises(InputError, match=r"extends: a cycle: identical-8.yaml -> identical-8.yaml"):
        load(path)


def test_models_folder_is_beside_the_file_or_in_a_library(write, here):
    path = write("version: 1\nmodels: mine\nworkers: {cpu: {count: 1}}\n", "lib/platforms/p.yaml")
    platform = load(path)
    with pytest.raises(InputError, match="unknown model 'mine'"):
        platform.models_folder()
    (here / "models/mine").mkdir(parents=True)
    assert platform.models_folder() == here / "models/mine"
    (here / "lib/models/mine").mkdir(parents=True)
    assert platform.models_folder() == Path("lib/models/mine")
    (here / "lib/platforms/mine").mkdir(parents=True)
    assert platform.models_folder() == Path("lib/platforms/mine")


def test_models_folder_is_told_without_detours(write, here):
    (here / "lib/models/mine").mkdir(parents=True)
    text = "version: 1\nmodels: ../models/mine\nworkers: {cpu: {count: 1}}\n"
    path = write(text, "lib/platforms/p.yaml")
    assert load(path).models_folder() == Path("lib/models/mine")


def test_models_folder_of_another_library(write, here):
    (here / "lib/models/mine").mkdir(parents=True)
    platform = load(write("version: 1\nmodels: mine\nworkers: {cpu: {count: 1}}\n"))
    assert platform.models_folder(Path("lib")) == here / "lib/models/mine"


def test_models_folder_is_not_what_the_working_folder_calls_so(write, here):
    """Only a library has names, such as the working folder's models/."""
    (here / "mine").mkdir()
    platform = load(write("version: 1\nmodels: mine\nworkers: {cpu: {count: 1}}\n", "there/p.yaml"))
    with pytest.raises(InputError, match="unknown model 'mine'"):
        platform.models_folder()
    (here / "there/mine").mkdir()
    assert platform.models_folder() == Path("there/mine")
    (here / "near").mkdir()
    path = "version: 1\nmodels: ./near\nworkers: {cpu: {count: 1}}\n"
    platform = load(write(path, "there/q.yaml"))
    with pytest.raises(InputError, match=r"models: no folder \./near beside this file; legal"):
        platform.models_folder()
    (here / "there/near").mkdir()
    assert platform.models_folder() == Path("there/near")


def test_models_that_are_inherited_stay_where_they_are(write, here):
    write("version: 1\nmodels: mine\nworkers: {cpu: {count: 1}}\n", "there/base.yaml")
    (here / "there/mine").mkdir()
    platform = load(write("version: 1\nextends: there/base.yaml\n"))
    assert platform.models_folder() == here / "there/mine"


def test_schema_for_editors_is_the_one_shipped():
    shipped = json.loads((ROOT / "platforms/platform.schema.json").read_text(encoding="utf-8"))
    made = json.loads(schema_json())
    assert shipped["properties"].keys() == made["properties"].keys()
    assert made["properties"].keys() == PlatformFile.fields.keys()
    assert shipped["additionalProperties"] is False
    for name, definition in made["$defs"].items():
        assert shipped["$defs"][name]["properties"].keys() == definition["properties"].keys()


def test_memory_domains(write):
    file = """
        version: 1
        workers: {cpu: {count: 4}, big: {count: 3}}
        memory_domains:
          ram: {workers: cpu, bandwidth: [9 GB/s, 12.5 GB/s]}
          numa: {workers: [big], each: 2, known: true}
    """
    path = write(file)
    assert load(path).memory_domains == (
        MemoryDomain("ram", (0, 1, 2, 3), (9e9, 12.5e9)),
        MemoryDomain("numa0", (4, 5), (), known=True),
        MemoryDomain("numa1", (6,), (), known=True),
    )
    wider = load(
        path,
        settings=[
            "platform.workers.cpu.count=6",
            "platform.memory_domains.ram.each=3",
            "platform.memory_domains.ram.bandwidth=[8 GB/s]",
            "platform.memory_domains.*.known=false",
        ],
    )
    assert [domain.workers for domain in wider.memory_domains] == [
        (0, 1, 2), (3, 4, 5), (6, 7), (8,)
    ]  # fmt: skip
    assert wider.memory_domains[1] == MemoryDomain("ram1", (3, 4, 5), (8e9,))
    both = write(file.replace("version: 1", "version: 1\n        nodes: 2"), "two.yaml")
    assert [d.name for d in load(both).memory_domains] == [
        "node0/ram", "node0/numa0", "node0/numa1", "node1/ram", "node1/numa0", "node1/numa1"
    ]  # fmt: skip
    assert load(both).memory_domains[3].workers == (7, 8, 9, 10)


def test_domains_have_caches(write):
    path = write("""
        version: 1
        workers: {cpu: {count: 4}}
        memory_domains: {ccx: {workers: cpu, each: 2, cache: 32 MiB}}
        """)
    assert [domain.cache_bytes for domain in load(path).memory_domains] == [2.0**25, 2.0**25]
    larger = load(path, settings=["platform.memory_domains.ccx.cache=x2"])
    assert {domain.cache_bytes for domain in larger.memory_domains} == {2.0**26}
    with pytest.raises(InputError, match="memory domain a has cache 0, must be positive"):
        replace(Platform.identical(1), memory_domains=(MemoryDomain("a", (0,), cache_bytes=0),))


def test_memory_domains_that_are_wrong(write, errors):
    path = write("""
        version: 1
        arch: {cuda: {pipeline: 2}}
        workers: {cpu: {count: 4}, cuda: {count: 1}}
        memory_domains:
          ram: {workers: cpus, bandwidth: [9 GB/s, 0 GB/s], each: 0}
          gpu: {workers: [cuda, cpu]}
          numa: {workers: cpu, badnwidth: [1 GB/s]}
          none: {bandwidth: [3]}
    """)
    assert [line.partition(" ")[0] for line in errors(path)] == [
        "p.yaml:5:18:", "p.yaml:5:44:", "p.yaml:5:59:", "p.yaml:6:19:", "p.yaml:7:19:",
        "p.yaml:7:24:", "p.yaml:8:3:", "p.yaml:8:22:",
    ]  # fmt: skip
    found = "\n".join(errors(path))
    for what in (
        "unknown group (got 'cpus', legal cpu, cuda), did you mean 'cpu'?",
        "bandwidth.1: must be greater than 0 (got '0 GB/s')",
        "workers of cuda drive devices, must be cores",
        "group cpu is in gpu too",
        "unknown field (got 'badnwidth', legal workers, each, bandwidth, known, size, cache),",
        "3 has no unit",
    ):
        assert what in found


def test_memory_domains_of_platforms_made_by_hand():
    workers = (Worker(0, "cpu0", "cpu", 0), Worker(1, "cpu1", "cpu", 0))
    domains = (MemoryDomain("a", (0, 5), (0.0,)), MemoryDomain("b", (0,)))
    with pytest.raises(InputError) as refused:
        Platform("mine", workers, (Memory(0, "ram"),), memory_domains=domains)
    assert str(refused.value).splitlines() == [
        "platform mine: memory domain a has worker 5, which does not exist",
        "platform mine: memory domain a has bandwidth 0.0, must be positive",
        "platform mine: worker 0 is in memory domain b, and in a too",
    ]
