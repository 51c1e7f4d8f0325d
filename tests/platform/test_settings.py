"""``--set platform...``: changes to a platform for one run."""

from __future__ import annotations

import pytest

from tasksim.platform.layers import SETTABLE_PATHS
from tasksim.platform.load import load
from tasksim.platform.schema import (
    PlatformFile,
)

PLATFORM_FILE = """
    version: 1
    name: machine
    memories: {ram: {size: 64 GiB}, gpu0: {size: 16 GiB}, gpu1: {}}
    workers:
      cpu: {count: 2, memory: ram, cores: [4, 5]}
      cuda: {count: 1, memory: gpu0}
    overheads: {submission: 2 us, task: 12 us}
    links:
      up: {bandwidth: 12 GB/s, between: [ram, gpu0]}
      down: {bandwidth: 10 GB/s, latency: 8 us, between: [gpu0, ram]}
"""


def changed(write, *settings):
    return load(write(PLATFORM_FILE), settings=settings)


def test_what_can_be_set_is_what_the_format_has():
    assert SETTABLE_PATHS["links"]["*"] == {
        "bandwidth": ("bandwidth", None),
        "latency": ("time", 0.0),
        "measured_bandwidth": ("bandwidth", None),
        "measured_latency": ("time", None),
        "shared": ("flag", None),
        "power": ("power", 0.0),
        "between": ("list", None),
    }
    assert SETTABLE_PATHS["workers"]["*"]["memory"] == ("names", None)
    assert SETTABLE_PATHS["overheads"]["copy"] == ("time", 0.0)
    assert SETTABLE_PATHS["copying"]["fetches"] == ("count", 5)
    assert SETTABLE_PATHS["allocation"]["chunk"] == ("size", "32 MiB")
    assert SETTABLE_PATHS["numa"]["placement"] == ("text", "first_touch")
    assert SETTABLE_PATHS["numa"]["kernels"]["*"]["demand"] == ("bandwidth", None)
    assert SETTABLE_PATHS["power"]["arch"]["*"]["kernels"] == {"*": ("power", None)}
    unset = {"version", "extends", "fingerprint"}
    assert SETTABLE_PATHS.keys() == PlatformFile.fields.keys() - unset


def test_a_count_keeps_the_cores_there_are(write):
    more = changed(write, "platform.workers.cpu.count=4")
    assert [w.core for w in more.workers] == [4, 5, None, None, None]
    fewer = changed(write, "platform.workers.cpu.count=1")
    assert [w.core for w in fewer.workers] == [4, None]


def test_cores_can_be_set_with_the_count(write):
    both = "platform.workers.cpu.count=3", "platform.workers.cpu.cores=[0, 1, 2]"
    assert [w.core for w in changed(write, *both).workers] == [0, 1, 2, None]


def test_no_worker_of_a_group(write):
    platform = changed(write, "platform.workers.cuda.count=0")
    assert platform.architectures == ("cpu",)
    assert platform.speeds == {"cpu": 1.0, "cuda": 1.0}


def test_factors_multiply_what_is_there(write):
    platform = changed(
        write,
        "platform.arch.cpu.speed=x1.5",
        "platform.workers.*.count=x2",
        "platform.overheads.*=x0.5",
        "platform.links.*.bandwidth=x2",
        "platform.memories.ram.size=×2",
    )
    assert platform.speeds == {"cpu": 1.5, "cuda": 1.0}
    assert [c.workers for c in platform.classes] == [(0, 1, 2, 3), (4, 5)]
    assert platform.overheads.submission_s == 1e-6
    assert platform.overheads.task_s == 6e-6
    assert platform.overheads.wakeup_s == 0.0
    assert [link.bandwidth_bytes_per_s for link in platform.links] == [24e9, 20e9]
    assert platform.memories[0].size_bytes == 128 * 2.0**30


def test_settings_apply_in_order(write):
    platform = changed(write, "platform.overheads.wakeup=10 us", "platform.overheads.wakeup=x2")
    assert platform.overheads.wakeup_s == 20e-6


def test_wildcards_within_a_name(write):
    platform = changed(write, "platform.memories.gpu*.size=2GiB")
    assert [m.size_bytes for m in platform.memories] == [64 * 2.0**30, 2.0**31, 2.0**31]


def test_wildcards_skip_what_has_no_such_field(write):
    assert changed(write, "platform.*.cpu.speed=2").speeds["cpu"] == 2.0


def test_text_and_nothing(write):
    platform = changed(
        write,
        "platform.models=yes",
        "platform.arch.cuda.models=cpu",
        "platform.workers.cuda.memory=ram",
        "platform.memories.gpu0.size=null",
        "platform.nodes=2",
    )
    assert platform.models == "yes"
    assert platform.model_architecture == {"cpu": "cpu", "cuda": "cpu"}
    assert platform.memories[1].size_bytes is None
    assert platform.workers[2].memory == 0
    assert len(platform.workers) == 6


def test_settings_apply_to_what_is_inherited(write):
    write(PLATFORM_FILE, "base.yaml")
    path = write("version: 1\nextends: base.yaml\n")
    assert load(path, settings=["platform.overheads.task=x2"]).overheads.task_s == 24e-6


@pytest.mark.parametrize(
    ("setting", "what"),
    [
        (
            "platform.workers.cpu.cout=24",
            "unknown field in platform.workers.cpu (got 'cout', legal count, arch, memory, models, "
            "drivers, cores), did you mean 'count'?",
        ),
        (
            "platform.workers.cpus.count=24",
            "the platform has no workers 'cpus' (legal cpu, cuda); a platform "
            "file that 'extends:' it can add workers, memories and links",
        ),
        (
            "platform.link.up.latency=0",
            "unknown field in platform (got 'link', legal name, description, models, nodes, "
            "memories, arch, workers, overheads, links, routes, allocation, copying, "
            "memory_domains, memory_hierarchy, numa, power), did you mean 'links'?",
        ),
        (
            "platform.memories.hbm*.size=2GiB",
            "matches nothing in platform.memories (got 'hbm*', legal ram, gpu0, gpu1)",
        ),
        ("platform.nodes.count=2", "platform.nodes can be set only as a whole (got 'count' in it)"),
        (
            "platform.overheads=2 us",
            "is a section, not a value (legal platform.overheads.submission, "
            "platform.overheads.task, platform.overheads.wakeup, platform.overheads.push, "
            "platform.overheads.fetch, platform.overheads.progress, platform.overheads.kernel, "
            "platform.overheads.copy, ...)",
        ),
        ("workers.cpu.count=2", "unknown path (got 'workers.cpu.count', legal platform.FIELD)"),
        ("platform", "must be PATH=VALUE, e.g. platform.workers.cpu.count=24"),
        ("platform.memories.gpu1.size=x2", "there is no value to multiply; give one"),
        ("platform.workers.cuda.count=x1.5", "1 times 1.5 is not a whole number"),
        ("platform.workers.cpu.cores=x2", "a list cannot be multiplied (got [4, 5])"),
        ("platform.workers.cpu.count=-1", "workers.cpu.count: must be at least 0 (got -1)"),
        (
            "platform.workers.cpu.count=many",
            "workers.cpu.count: must be a whole number (got 'many')",
        ),
        (
            "platform.links.up.between=[ram, hbm]",
            "links.up.between.1: unknown memory (got 'hbm', legal ram, gpu0, gpu1)",
        ),
        (
            "platform.workers.cpu.memory=rom",
            "workers.cpu.memory: unknown memory (got 'rom', legal ram, gpu0, gpu1), "
            "did you mean 'ram'?",
        ),
        (
            "platform.overheads.task=12",
            "overheads.task: 12 has no unit and could be any of ns, us, ms, s, min, h: write e.g. "
            "'10 us' (only 0 needs none, it is the same in all of them)",
        ),
    ],
)
def test_wrong_settings(write, errors, setting, what):
    assert errors(write(PLATFORM_FILE), settings=[setting]) == [f"--set {setting}: {what}"]


def test_a_wildcard_for_an_empty_section(write, errors):
    path = write("version: 1\nworkers: {cpu: {count: 1}}\n")
    setting = "platform.links.*.bandwidth=x2"
    assert errors(path, settings=[setting]) == [
        f"--set {setting}: platform.links has nothing in it (got '*')"
    ]


def test_wrong_settings_and_a_wrong_file_at_once(write, errors):
    path = write("version: 1\nworkers: {cpu: {count: 1, core: 3}}\noverheads: 3\n")
    settings = ["platform.z.a=1", "platform.a=1", "platform.overheads.task=x2"]
    assert [line.split(": ")[0] for line in errors(path, settings=settings)] == [
        "p.yaml:2:27",
        "p.yaml:3:12",
        "--set platform.z.a=1",
        "--set platform.a=1",
        "--set platform.overheads.task=x2",
    ]


BOX = """
version: 1
memories: {ram: {}, gpu0: {size: 2 GiB}, gpu1: {size: 3 GiB}}
workers: {cpu: {count: 1, memory: ram}, cuda: {count: 2, memory: [gpu0, gpu1]}}
links:
  a: {bandwidth: 1 GB/s, between: [ram, gpu0]}
  b: {bandwidth: 1 GB/s, between: [ram, gpu1]}
  c: {bandwidth: 1 GB/s, between: [gpu0, gpu1]}
"""


def test_what_one_setting_does_wrong_to_many_values_is_one_line(write, errors):
    settings = ["platform.links.*.bandwidth=0", "platform.memories.gpu1.size=0"]
    assert errors(write(BOX), settings=settings) == [
        f"--set {settings[1]}: memories.gpu1.size: must be greater than 0 (got 0)",
        f"--set {settings[0]}: links.a.bandwidth and 2 more: must be greater than 0 (got 0)",
    ]


def test_twice_no_limit_is_no_limit(write):
    platform = load(write(BOX), settings=["platform.memories.*.size=x2"])
    assert [memory.size_bytes for memory in platform.memories] == [None, 4 * 2**30, 6 * 2**30]


def test_what_has_no_value_is_not_multiplied_by_its_name(write, errors):
    (error,) = errors(write(BOX), settings=["platform.memories.ram.size=x2"])
    assert error.endswith("there is no value to multiply; give one")


def test_null_takes_a_text_away(write):
    driven = BOX.replace("cuda: {", "cuda: {drivers: cpu, ")
    settings = ["platform.workers.cuda.drivers=null", "platform.workers.cuda.count=4"]
    platform = load(write(driven), settings=settings)
    assert [worker.architecture for worker in platform.workers] == ["cpu"] + 4 * ["cuda"]
