"""Calibration of memory: corrections known from construction, what is written, what is said."""

import pytest

from tasksim.base.errors import InputError, TasksimError
from tasksim.calibration.memory import Level, corrected, working_sets, write_memory
from tasksim.core.compiler import NotBuilt, find_compiler
from tasksim.native.caches import Cache, data_caches
from tasksim.platform.load import load

LEVELS = [
    Level("l1", 49152, 1.3e-9, (60e9, 120e9), 1, 1.0),
    Level("l2", 2097152, 4.7e-9, (40e9, 79e9), 1, 1.1),
    Level("memory", None, 9.1234567e-8, (9e9, 12e9), 2, 1.0),
]


def has_compiler():
    try:
        find_compiler()
    except NotBuilt:
        return False
    return True


def test_latencies_are_freed_of_what_nearer_levels_answer():
    nearer = [(100, 1e-9), (1000, 4e-9)]
    size = 4000
    seen = (100 * 1e-9 + 900 * 4e-9 + 3000 * 80e-9) / size
    assert corrected(seen, size, nearer) == (pytest.approx(80e-9), True)
    assert corrected(4e-9, 1010, nearer)[1] is False


def test_working_sets_lie_well_inside_their_level():
    caches = [Cache(1, 49152, 12, 64), Cache(2, 2 << 20, 16, 64), Cache(3, 480 << 20, 16, 64)]
    sizes = dict(working_sets(caches, 1 << 35))
    assert sizes == {"l1": 24576, "l2": 393216, "l3": 16 << 20, "memory": 1 << 30}
    assert dict(working_sets(caches, 1 << 30))["memory"] == 256 << 20


def test_what_is_measured_is_added_to_the_platform_file(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("# by hand\nname: mine\nworkers: {cpu: {count: 3}}\nmodels: there\n")
    write_memory(path, LEVELS)
    platform = load(str(path))
    assert (platform.name, len(platform.workers), platform.models) == ("mine", 3, "there")
    assert path.read_text().startswith("# by hand\n")
    l1, _, memory = platform.memory_hierarchy
    assert (l1.name, l1.size_bytes, l1.latency_s) == ("l1", 49152, 1.3e-9)
    assert memory.size_bytes is None
    assert memory.latency_s == 9.123e-8
    assert memory.bandwidths_bytes_per_s == (9e9, 12e9)
    write_memory(path, LEVELS[:1])
    assert len(load(str(path)).memory_hierarchy) == 1


def test_calibrations_of_kernels_keep_it(tmp_path):
    from tasksim.calibration.write_library import Destination, write_platform

    destination = Destination(tmp_path, "mine", 1)
    destination.platform_path.parent.mkdir()
    write_memory(destination.platform_path, LEVELS)
    write_platform(destination, None)
    assert len(load(str(destination.platform_path)).memory_hierarchy) == 3


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{l1: {latency: 1}}", "has no unit"),
        ("{l1: {latency: -1 ns}}", "latency"),
        ("{l1: {latency: 1 ns, bandwidth: [0 GB/s]}}", "bandwidth"),
    ],
)
def test_mistakes_in_the_file(tmp_path, line, message):
    path = tmp_path / "mine.yaml"
    path.write_text(f"version: 1\nworkers: {{cpu: {{count: 1}}}}\nmemory_hierarchy: {line}\n")
    with pytest.raises(InputError, match=message):
        load(str(path))


def test_values_can_be_set(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(
        "version: 1\nworkers: {cpu: {count: 1}}\nmemory_hierarchy: {memory: {latency: 90 ns}}\n"
    )
    setting = "platform.memory_hierarchy.memory.latency=x2"
    (memory,) = load(str(path), settings=[setting]).memory_hierarchy
    assert memory.latency_s == pytest.approx(180e-9)


def test_without_caches_it_says_so(monkeypatch):
    from tasksim.calibration import memory

    monkeypatch.setattr(memory, "data_caches", list)
    with pytest.raises(TasksimError, match="the system does not report the sizes of the caches"):
        memory.measure_memory()


@pytest.mark.slow
@pytest.mark.skipif(not (has_compiler() and data_caches()), reason="no compiler, or no caches told")
def test_this_machine(monkeypatch):
    from tasksim.calibration import memory

    # No value is judged here, and none has to be right: a gigabyte and all patience take 15 s.
    monkeypatch.setattr(memory, "MAX_BYTES", 64 << 20)
    monkeypatch.setattr(memory, "PATIENCE_S", 0.5)
    levels = memory.measure_memory(cores=1).levels
    assert [level.name for level in levels][-1] == "memory"
    assert [level.size_bytes for level in levels[:-1]] == [c.size_bytes for c in data_caches()]
    for level in levels:
        assert level.latency_s > 0
        assert level.bandwidth_bytes_per_s[0] > 0
