"""Drawings of machines: each part is in a box, boxes are in boxes and hold their text."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import pytest
from contended import sockets
from hwloc_files import GPU, OLD, TWO_PACKAGES, package, topology
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.patches import Rectangle
from tiers import few

from tasksim import InputError, Platform, machine_figure
from tasksim.view.machine import drawn, read_machine
from tasksim.view.machineboxes import Box, facts_of, folded


def texts_of(figure):
    return [text.get_text() for text in figure.axes[0].texts]


@pytest.fixture
def machine(tmp_path):
    def file(text):
        (tmp_path / "m.xml").write_text(text)
        return tmp_path / "m.xml"

    return file


def test_all_parts_are_there_with_their_sizes(machine):
    texts = texts_of(machine_figure(machine(topology(package(0, devices=GPU)))))
    assert texts == [
        "Machine tall", "32 GiB in all",
        "Package 0", "Some Processor 2.0",
        "NUMA node 0", "32 GiB",
        "L3 20 MiB",
        "Core 0", "L2 256 KiB", "L1 32 KiB", "L1i 32 KiB", "PU 0, 1",
        "Core 1", "L2 256 KiB", "L1 32 KiB", "L1i 32 KiB", "PU 2, 3",
        "cuda", "cuda0, opencl0d0", "Tesla V100", "16 GiB", "PCI 15.8 GB/s",
        "devices", "eth0",
    ]  # fmt: skip


def test_nodes_around_packages_as_in_version_1_are_boxes(machine):
    texts = texts_of(machine_figure(machine(OLD)))
    assert texts.index("NUMA node 0") < texts.index("Package 0") < texts.index("NUMA node 1")
    assert texts.count("L2 4 MiB") == 2
    assert "Core 1" in texts


def test_many_alike_are_folded(machine):
    texts = texts_of(machine_figure(machine(topology(package(0, cores=9)))))
    assert [text for text in texts if "Core" in text or "more" in text] == [
        "Core 0", "Core 1", "6 more", "Core 8"
    ]  # fmt: skip


def test_a_platform_has_domains_caches_and_links(machine):
    from tasksim.formats.platforms import load_platform

    platform = load_platform(machine(topology(package(0), package(1, devices=GPU))))
    texts = texts_of(machine_figure(platform))
    assert texts[:6] == ["m", "ram", "64 GiB", "numa0", "32 GiB", "L3 20 MiB"]
    assert texts[-3:] == ["cuda-numa1-0", "gpu0 16 GiB", "from ram 15.8 GB/s"]


def test_domains_have_distances_and_what_goes_between_them():
    near = sockets(2, 1, 8e9, distance=21.0, sizes=(2.0**30, None), cache_bytes=2.0**20)
    assert texts_of(machine_figure(near))[:9] == [
        "identical-2", "remote access 2.1 times local", "1 MiB of caches per domain", "ram",
        "no limit", "numa0", "1 GiB", "8 GB/s together", "cpu0",
    ]  # fmt: skip
    numa = replace(
        near.numa,
        distances=((10.0, 15.0), (20.0, 10.0)),
        bandwidths_bytes_per_s=((inf, 5e9), (inf, inf)),
        cache_bytes=0.0,
    )
    assert texts_of(machine_figure(replace(near, numa=numa)))[1:3] == [
        "remote access 1.5 to 2 times local", "5 GB/s to no limit between two"
    ]  # fmt: skip
    alone = sockets(1, 2)
    assert texts_of(machine_figure(alone))[:2] == ["identical-2", "ram"]


def test_nodes_are_boxes():
    texts = texts_of(machine_figure("two-nodes"))
    assert texts[:3] == ["two-nodes", "2 nodes", "node 0"]
    assert texts.count("ram") == 2


def inside(inner, outer):
    return (
        outer.get_x() <= inner.get_x()
        and outer.get_y() <= inner.get_y()
        and inner.get_x() + inner.get_width() <= outer.get_x() + outer.get_width() + 1e-6
        and inner.get_y() + inner.get_height() <= outer.get_y() + outer.get_height() + 1e-6
    )


def apart(one, other):
    def before(a, b):
        return a.get_x() + a.get_width() <= b.get_x() or a.get_y() + a.get_height() <= b.get_y()

    return before(one, other) or before(other, one)


@settings(max_examples=few(25))
@given(st.integers(1, 5), st.integers(1, 7), st.booleans())
def test_boxes_are_inside_each_other_or_apart(tmp_path_factory, packages, cores, with_gpu):
    path = tmp_path_factory.mktemp("drawn") / "m.xml"
    devices = GPU if with_gpu else ""
    texts = [package(number, cores, devices) for number in range(packages)]
    path.write_text(topology(*texts, units=128))
    figure = machine_figure(path)
    boxes = [patch for patch in figure.axes[0].patches if isinstance(patch, Rectangle)]
    for number, one in enumerate(boxes):
        for other in boxes[:number]:
            assert inside(one, other) or apart(one, other)


def test_text_stays_in_its_box(machine):
    figure = machine_figure(machine(topology(package(0), package(1, devices=GPU))))
    axes = figure.axes[0]
    figure.draw_without_rendering()
    shown = [patch.get_window_extent() for patch in axes.patches]
    for text in axes.texts:
        place = text.get_window_extent()
        around = [box for box in shown if box.x0 <= place.x0 and box.y0 <= place.y0 <= box.y1]
        assert any(place.x1 <= box.x1 and place.y1 <= box.y1 for box in around), text.get_text()
        nearest = max((box for box in around if box.x1 >= place.x0), key=lambda box: box.x0)
        assert place.x1 <= nearest.x1, text.get_text()


def test_a_very_large_machine_is_made_smaller():
    boxes = [Box("package", f"{'long ' * 300}{n}", (str(n) * n,)) for n in range(4)]
    from tasksim.view.machine import DrawnMachine

    figure = drawn(DrawnMachine("large", Box("machine", "large", (), boxes), ""))
    assert max(figure.get_size_inches()) <= 60.0


def test_only_neighbours_that_are_alike_are_folded():
    boxes = [Box("core", f"Core {n}", (f"PU {n}",)) for n in range(5)]
    assert [box.label for box in folded(boxes)] == ["Core 0", "Core 1", "2 more", "Core 4"]
    boxes[2] = Box("core", "Core 2", ("L2 1 MiB",))
    assert folded(boxes) == boxes


def test_numbers_of_parts():
    box = read_machine(Platform.identical(3)).box
    assert facts_of(box) == [(("memory", "memories"), 1), (("core", "cores"), 3)]


def test_wrong_arguments_are_refused(machine):
    with pytest.raises(InputError, match="machine: got 3"):
        machine_figure(3)
    with pytest.raises(InputError, match="expected XML"):
        machine_figure(machine(TWO_PACKAGES[:100]))
