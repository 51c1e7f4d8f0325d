"""Use of memories, and rates of copies, over time."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from matplotlib.collections import LineCollection

from tasksim.run.record import MemoryInfo, MemoryTable
from tasksim.view.memorypanels import panel_bandwidth, panel_memory


def entries(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def filled(make, used, size, **changes):
    run = make.hybrid(2, 2)
    memories = (MemoryInfo("ram"), *(MemoryInfo(f"gpu{i}", size_bytes=size) for i in range(2)))
    memory = MemoryTable([0.1, 0.2, 0.3], [1, 2, 1], [used, used // 2, used // 4])
    return dataclasses.replace(run, memories=memories, memory=memory, **changes)


def test_a_curve_per_limited_memory_and_a_line_for_their_size(make):
    axes = panel_memory(filled(make, 2**30, 2**30))
    gpu0, gpu1, size = axes.lines
    assert gpu0.get_ydata().tolist() == [0, 2**30, 2**28, 2**28]
    assert gpu1.get_ydata().tolist() == [0, 2**29, 2**29]
    assert set(size.get_ydata()) == {2**30}
    assert axes.get_ylabel() == "used (GiB)"
    assert entries(axes) == ["gpu0", "gpu1", "size 1 GiB", "made room"]
    assert axes.get_ylim()[1] > 2**30


def test_a_size_far_above_what_was_used_is_only_named(make):
    axes = panel_memory(filled(make, 2**20, 2**34, transfers=None))
    assert len(axes.lines) == 2
    assert axes.get_ylim()[1] < 2**21
    assert entries(axes) == ["gpu0 (of 16 GiB)", "gpu1 (of 16 GiB)"]


def test_sizes_that_differ_have_a_line_each(make):
    run = filled(make, 2**30, 2**30)
    memories = (*run.memories[:2], MemoryInfo("gpu1", size_bytes=2**31))
    axes = panel_memory(dataclasses.replace(run, memories=memories))
    assert [e for e in entries(axes) if e.startswith("size")] == ["size 1 GiB", "size 2 GiB"]


def test_memories_without_limit_are_shown_if_there_are_no_others(make):
    run = filled(make, 2**30, None)
    assert entries(panel_memory(run))[:2] == ["gpu0", "gpu1"]


def test_a_tick_per_datum_written_back_to_make_room(make):
    run = make.hybrid(2, 2, copies=60)
    axes = panel_memory(run)
    ticks = [c for c in axes.collections if isinstance(c, LineCollection)]
    evicted = run.transfers.reason == 3
    assert [len(c.get_segments()) for c in ticks] == [
        int((evicted & (run.transfers.source == memory)).sum()) for memory in (1, 2)
    ]
    times = ticks[0].get_segments()[0][:, 0]
    assert times[0] == times[1] == run.transfers.start_s[evicted & (run.transfers.source == 1)][0]
    heights = np.concatenate([s[:, 1] for c in ticks for s in c.get_segments()])
    curve = max(line.get_ydata()[:].max() for line in axes.lines[:2])
    assert heights.min() > curve / axes.get_ylim()[1]


def test_bandwidths_are_stacked_by_the_memory_that_data_come_to(make):
    run = make.hybrid(2, 2)
    axes = panel_bandwidth(run, until_s=2 * run.makespan_s)
    assert entries(axes) == ["to ram", "to gpu0", "to gpu1"]
    steps = [patch.get_data() for patch in axes.patches]
    for below, above in itertools.pairwise(steps):
        assert above.baseline == pytest.approx(below.values)
    moved = (steps[-1].values * np.diff(steps[-1].edges)).sum()
    assert moved == pytest.approx(run.transfers.size_bytes.sum())


def test_runs_that_know_nothing_of_memories_are_empty_panels(make):
    for panel in (panel_memory, panel_bandwidth):
        panel(make.run()).figure.canvas.draw()


@pytest.mark.parametrize(("size", "unit"), [(2**20, "MB/s"), (2**31, "GB/s"), (2**44, "TB/s")])
def test_units_fit_the_values(make, size, unit):
    axes = panel_bandwidth(make.hybrid(size=size))
    assert axes.get_ylabel() == f"copied ({unit})"
    assert all(0 < float(tick.get_text()) < 10_000 for tick in axes.get_yticklabels()[1:])
