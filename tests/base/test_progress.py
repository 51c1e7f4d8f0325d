"""Work that can be watched from above."""

from __future__ import annotations

import pytest

from tasksim import generate
from tasksim.base.documents.json_document import parse_json
from tasksim.base.progress import follow, noting, part, reached, watched, watching

ANNOUNCED_GRAPHS = {
    "summa": {"tiles": 5},
    "summa over nodes": {"tiles": 4, "rows": 2, "columns": 2},
    "bulk-cholesky": {"tiles": 6},
    "bulk-cholesky over nodes": {"tiles": 6, "rows": 2, "columns": 3},
    "jacobi": {"block_rows": 3, "block_columns": 4, "iterations": 2},
    "cg": {"block_rows": 3, "block_columns": 5, "iterations": 2},
    "fork-join": {"width": 7, "stages": 3},
    "random-layered": {"layers": 4, "width": 9},
    "random-graph": {"shape": "layered", "tasks": 40},
    "mg": {"block_rows": 2, "block_columns": 3, "block_size": 64, "iterations": 2},
    "ft": {"slabs": 4, "slab_rows": 4, "iterations": 2},
    "ssor": {"block_rows": 2, "block_columns": 3, "planes": 3, "iterations": 2},
    "adi": {"block_rows": 2, "block_columns": 3, "iterations": 2},
    "ep": {"block_rows": 3, "block_columns": 3},
    "loop": {"operation": "daxpy", "iterations": 3},
}


@pytest.mark.parametrize("name", ANNOUNCED_GRAPHS)
def test_generators_announce_as_many_tasks_as_they_make(name, monkeypatch):
    announced = []
    monkeypatch.setattr(
        "tasksim.graph.builder.GraphBuilder.announce", lambda _, tasks: announced.append(tasks)
    )
    graph = generate(name.partition(" ")[0], **ANNOUNCED_GRAPHS[name])
    assert announced[-1] == len(graph)


def test_nothing_is_kept_where_nobody_watches():
    items = [1, 2]
    follow(lambda: 1, 2)
    reached(0.5)
    assert watched(items) is items
    assert noting("tasks") is None


def test_the_latest_work_is_seen_until_it_is_over():
    with watching() as watcher:
        follow(lambda: 30, 40, "tasks", until=0.8)
        assert watcher.amount.share() == pytest.approx(0.6)
        assert watcher.amount.text() == "30/40 tasks"
        reached(0.8)
        assert (watcher.amount, watcher.reached) == (None, 0.8)
        follow(lambda: 7, None, "tasks")
        assert (watcher.amount.share(), watcher.amount.text()) == (None, "7 tasks")
        noting("tasks")(3, 4)
        assert watcher.amount.share() == pytest.approx(0.95)  # three quarters of the rest


def test_a_graph_that_is_made_to_write_a_file_is_a_part_of_writing_it():
    with watching() as watcher:
        with part(0.2):
            follow(lambda: 1, 2, until=0.5)
            assert watcher.amount.share() == pytest.approx(0.05)
            reached(0.5)
            assert watcher.reached == pytest.approx(0.1)
        assert watcher.reached == 0.2
        with part(0.2):  # made again
            reached(0.9)
        assert watcher.reached == 0.2
        follow(lambda: 1, 2, until=1.0)
        assert watcher.amount.share() == pytest.approx(0.6)


def test_a_file_that_was_closed_meanwhile_is_no_error(tmp_path):
    path = tmp_path / "text"
    path.write_text("x")
    with watching() as watcher:
        with path.open("rb") as file:
            follow(file.tell, 1, "bytes")
        assert (watcher.amount.share(), watcher.amount.text()) == (None, "")


def test_the_objects_of_a_long_json_text_are_counted():
    text = "[" + ",".join('{"a": [1, 2, 3]}' for _ in range(100_000)) + "]"
    with watching() as watcher:
        assert parse_json("[{}]") == [{}]
        assert watcher.amount is None  # too short to be worth a look
        assert len(parse_json(text)) == 100_000
        assert watcher.amount.share() == 0.5  # its text is parsed
