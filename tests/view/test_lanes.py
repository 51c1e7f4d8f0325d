"""Copies in the Gantt chart."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from matplotlib.quiver import Quiver

from tasksim.run.recordtables import TransferTable
from tasksim.view.bands import Bands
from tasksim.view.colours import IDLE_COLOURS
from tasksim.view.gantt import panel_gantt

FETCH, PREFETCH, IDLE, EVICTION = "#c91214", "#f9816c", "#f1cfbf", "#5d0d0a"


def moving(make, *rows):
    """Workers gpu0, gpu1, cpu0, cpu1 (memories 1, 2, 0, 0), task i on worker i from 10 to 11.

    Rows: (source, target, start, end, reason, task).
    """
    run = make.hybrid(2, 2, 4)
    source, target, start, end, reason, task = zip(*rows, strict=True)
    moved = TransferTable(
        range(len(rows)), source, target, [2**20] * len(rows), start, start, end, reason, task
    )
    tasks = dataclasses.replace(
        run.tasks, worker=range(4), ready_s=[0] * 4, start_s=[10] * 4, end_s=[11] * 4
    )
    return dataclasses.replace(run, tasks=tasks, transfers=moved)


def drawn(axes, colour):
    """The extents of the rectangles of one colour."""
    found = []
    for boxes in (a.boxes for a in axes.get_children() if isinstance(a, Bands)):
        for i in range(len(boxes)):
            if boxes.colours[boxes.state[i]] == colour:
                found.append((boxes.start[i], boxes.end[i], *boxes.edges[boxes.band[i]]))
    return found


def every(axes):
    """The extents of all rectangles."""
    return [box for colour in set(colours(axes)) for box in drawn(axes, colour)]


def colours(axes):
    return [c for a in axes.get_children() if isinstance(a, Bands) for c in a.boxes.colours]


def labels(axes):
    return [label.get_text().replace("\N{FIGURE SPACE}", "") for label in axes.get_yticklabels()]


def test_a_row_per_pair_of_memories_below_the_workers(make):
    run = moving(make, (0, 1, 0, 1, 0, 0), (1, 0, 1, 2, 3, -1), (0, 2, 0, 5, 1, 1))
    axes = panel_gantt(run)
    assert labels(axes)[4:] == ["ram → gpu0  1 MiB", "gpu0 → ram  1 MiB", "ram → gpu1  1 MiB"]
    (fetch,), (prefetch,), (back,) = (drawn(axes, c) for c in (FETCH, PREFETCH, EVICTION))
    assert [box[:2] for box in (fetch, back, prefetch)] == [(0, 1), (1, 2), (0, 5)]
    tops = [box[2] for box in (fetch, back, prefetch)]
    assert 3.5 < tops[0] < tops[1] < tops[2] < axes.get_ylim()[0]


def test_copies_at_the_same_time_share_the_height_of_their_row(make):
    run = moving(make, (0, 1, 0, 2, 0, 0), (0, 1, 1, 3, 0, 0), (0, 1, 4, 5, 0, 0))
    first, second, alone = sorted(drawn(panel_gantt(run), FETCH))
    assert first[3] == pytest.approx(second[2])
    assert alone[3] - alone[2] == pytest.approx(2 * (first[3] - first[2]))
    assert (alone[2], alone[3]) == (pytest.approx(first[2]), pytest.approx(second[3]))


def test_runs_without_copies_look_as_ever(make):
    plain = make.run(workers=4)
    empty = dataclasses.replace(make.hybrid(2, 2), transfers=TransferTable.empty())
    for run in (plain, empty):
        axes = panel_gantt(run)
        assert axes.get_ylim() == (3.5, -0.5)
        names = [text.get_text() for text in axes.get_legend().get_texts()]
        assert names == ["potrf", "trsm", "syrk", "gemm"]


def test_the_legend_names_what_is_there(make):
    run = moving(make, (0, 1, 0, 9, 0, 0), (1, 0, 1, 2, 2, -1))
    names = [text.get_text() for text in panel_gantt(run).get_legend().get_texts()]
    assert names[-4:] == [
        "idle for the runtime", "idle for data", "copy, a task waits", "copy back, idle",
    ]  # fmt: skip


def test_idle_workers_are_coloured_by_what_they_waited_for(make):
    run = moving(make, (0, 1, 2, 9, 0, 0))
    tasks = dataclasses.replace(run.tasks, ready_s=[3] * 4, popped_s=[4, 10, 10, 10])
    axes = panel_gantt(dataclasses.replace(run, tasks=tasks))
    assert {box[:2] for box in drawn(axes, IDLE_COLOURS["dependency"][1])} == {(0, 3)}
    assert {box[:2] for box in drawn(axes, IDLE_COLOURS["queue"][1])} == {(3, 4), (9, 10), (3, 10)}
    assert [box[:2] for box in drawn(axes, IDLE_COLOURS["transfer"][1])] == [(4, 9)]
    rows = [
        sorted(box[:2] for box in every(axes) if round(sum(box[2:]) / 2) == row) for row in (0, 1)
    ]
    for spans in rows:  # nothing is drawn over another thing
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans))


def arrows(run):
    (found,) = (c for c in panel_gantt(run, arrows=True).collections if isinstance(c, Quiver))
    ends = zip(found.X, found.Y, found.X + found.U, found.Y + found.V, strict=True)
    return [tuple(map(float, end)) for end in ends]


def test_arrows_lead_to_the_worker_of_the_task(make):
    run = moving(
        make,
        (0, 1, 0, 1, 0, 0),  # from the edge of the cpus' rows to gpu0's
        (2, 1, 0, 2, 0, 0),  # between GPUs
        (1, 0, 3, 4, 0, 3),  # to the cpu that waits
        (1, 0, 5, 6, 3, -1),  # to nobody: the edge of the cpus' rows
        (0, 2, 7, 8, 0, 0),  # its task ran elsewhere in the end
    )
    assert arrows(run) == [
        (0, 1.5, 1, 0), (0, 1, 2, 0), (3, 0, 4, 3), (5, 0, 6, 1.5), (7, 1.5, 8, 1),
    ]  # fmt: skip


def test_arrows_are_drawn_on_demand_and_where_there_are_copies(make):
    run = moving(make, (0, 1, 0, 1, 0, 0))
    assert not [c for c in panel_gantt(run).collections if isinstance(c, Quiver)]
    assert not [
        c for c in panel_gantt(make.run(), arrows=True).collections if isinstance(c, Quiver)
    ]


def test_of_many_copies_the_longest_of_each_part_of_the_time_have_arrows(make):
    run = make.hybrid(2, 2, 400, copies=1500)
    axes = panel_gantt(run, arrows=True)
    (found,) = (c for c in axes.collections if isinstance(c, Quiver))
    assert 60 <= len(found.X) <= 80
    copies, until = run.transfers, run.transfers.end_s.max()
    part = (copies.start_s / until * 80).astype(int)
    longest = [copies.duration_s[part == p].max() for p in np.unique(part)]
    assert np.sort(found.U) == pytest.approx(np.sort(longest))
    said = f"arrows: {len(found.X)} of 1,500 copies, the longest of each 1/80 of the time"
    assert axes.get_title(loc="left").endswith(said)
    assert "arrows" not in panel_gantt(make.hybrid(copies=40), arrows=True).get_title(loc="left")


def test_memories_without_workers_have_a_place_too(make):
    run = moving(make, (0, 3, 0, 1, 0, -1))
    memories = (*run.memories, dataclasses.replace(run.memories[0], name="disk"))
    ends = arrows(dataclasses.replace(run, memories=memories))
    assert ends == [(0, 3.5, 1, 3.5)]


def test_workers_are_named_with_their_architecture_where_names_do_not_say_it(make):
    run = make.hybrid(1, 1)
    named = (dataclasses.replace(run.workers[0], name="w0"), run.workers[1])
    axes = panel_gantt(dataclasses.replace(run, workers=named))
    assert [label.split(" ")[:-2] for label in labels(axes)[:2]] == [["w0", "(gpu)"], ["cpu0"]]
    same = tuple(dataclasses.replace(w, architecture="gpu") for w in named)
    axes = panel_gantt(dataclasses.replace(run, workers=same))
    assert labels(axes)[0].startswith("w0 ")
    assert "(" not in labels(axes)[0]


def test_many_lanes_are_labelled_where_there_is_room(make):
    run = make.hybrid(40, 40, tasks=800, copies=3000)
    axes = panel_gantt(run)
    places = axes.transData.transform([(0, y) for y in axes.get_yticks()])[:, 1]
    assert np.diff(np.sort(places)).min() > 6
