"""Task graphs in files."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from tasksim.base.errors import GraphError, InputError, OutputError
from tasksim.graph import graph_file
from tasksim.graph.apps.registry import generate
from tasksim.graph.builder import GraphBuilder
from tasksim.graph.graph_file import load, save


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("cholesky", {"tiles": 6}), ("qr", {"rows": 3, "columns": 2}), ("chain", {"length": 1}),
     ("collective", {"operation": "bcast", "ranks": 4})],
)  # fmt: skip
def test_there_and_back(tmp_path, name, arguments):
    graph = generate(name, **arguments)
    save(graph, tmp_path / "graph.npz")
    copy = load(tmp_path / "graph.npz")
    assert copy.same_as(graph)
    assert copy.by_rank == graph.by_rank == (name == "collective")
    assert copy.handle_name(0) == graph.handle_name(0)
    assert not copy.priority.flags.writeable


def test_pieces_of_tasks_are_kept_there_and_back(tmp_path):
    graph = replace(
        generate("chain", length=3), continues=[-1, 0, -1], creator=[-1, -1, 0], binding=[2, 3, 1]
    )
    save(graph, tmp_path / "graph.npz")
    assert load(tmp_path / "graph.npz").same_as(graph)


def test_files_of_other_graphs_have_no_columns_of_pieces(tmp_path):
    save(generate("lu", tiles=3), tmp_path / "graph.npz")
    with np.load(tmp_path / "graph.npz") as data:
        assert not {"continues", "creator", "binding"} & set(data)


def test_files_from_before_there_were_hints(tmp_path):
    graph = generate("lu", tiles=3)
    save(graph, tmp_path / "graph.npz")
    with np.load(tmp_path / "graph.npz") as data:
        arrays = {name: data[name] for name in data if not name.startswith("hint_")}
    np.savez(tmp_path / "old.npz", **arrays)
    old = load(tmp_path / "old.npz")
    assert (graph.hints, old.hints) == (9, 0)
    assert old.same_as(replace(graph, hint_handle=[], hint_after=[]))


def test_an_empty_graph(tmp_path):
    graph = GraphBuilder("empty").build()
    save(graph, tmp_path / "graph.npz")
    assert load(tmp_path / "graph.npz").same_as(graph)


def test_the_same_graph_gives_the_same_bytes(tmp_path, monkeypatch):
    save(generate("lu", tiles=4), tmp_path / "one.npz")
    monkeypatch.setattr("time.time", lambda: 1e9)
    save(generate("lu", tiles=4), str(tmp_path / "two.npz"))
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()


def test_existing_files_are_kept_without_force(tmp_path):
    path = tmp_path / "graph.npz"
    save(generate("lu", tiles=2), path)
    with pytest.raises(InputError, match="exists; give force=True"):
        save(generate("lu", tiles=3), path)
    assert len(load(path)) == 5
    save(generate("lu", tiles=3), path, force=True)
    assert len(load(path)) == 14


def test_a_write_that_fails_changes_nothing(tmp_path, monkeypatch):
    path = tmp_path / "graph.npz"
    save(generate("lu", tiles=2), path)

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OutputError, match="No space left on device"):
        save(generate("lu", tiles=3), path, force=True)
    assert len(load(path)) == 5
    assert [file.name for file in tmp_path.iterdir()] == ["graph.npz"]


def test_the_name_says_what_it_is(tmp_path):
    with pytest.raises(InputError, match=r"graph\.json: the name of a task graph file ends in"):
        save(generate("lu", tiles=2), tmp_path / "graph.json")


@pytest.mark.parametrize("content", [b"", b"tiles=20\n", b"PK\x03\x04", b"\x93NUMPY\x01\x00"])
def test_foreign_files(tmp_path, content):
    path = tmp_path / "graph.npz"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"graph\.npz: not a task graph file, or damaged"):
        load(path)


@pytest.mark.parametrize(
    "arrays",
    [
        {"a": np.zeros(3)},
        {"header": np.zeros(3)},
        {"header": np.frombuffer(b'{"format": "other"}', dtype=np.uint8)},
        {"header": np.frombuffer(b'["format"]', dtype=np.uint8)},
    ],
)
def test_other_npz_files(tmp_path, arrays):
    path = tmp_path / "graph.npz"
    np.savez(path, **arrays)
    with pytest.raises(InputError, match=r"graph\.npz: not a task graph file, or damaged"):
        load(path)


def test_a_single_array_is_no_task_graph(tmp_path):
    path = tmp_path / "graph.npz"
    with path.open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(InputError, match="not a task graph file, or damaged"):
        load(path)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("kernel", np.zeros(5, dtype=np.int64), "kernel: int64 of shape"),
        ("parameters_0", np.zeros((10**6, 0)), "more rows than there are tasks"),
        ("access_mode", np.zeros(3, dtype=complex), "access_mode: complex128 of shape"),
    ],
)
def test_columns_of_other_types(tmp_path, name, value, message):
    path = tmp_path / "graph.npz"
    save(generate("lu", tiles=2), path)
    with np.load(path) as data:
        arrays = {**data, name: value}
    np.savez(path, **arrays)
    with pytest.raises(InputError, match=message):
        load(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("name", 3),
        ("arguments", {"tiles": [1]}),
        ("kernels", ["gemm", "gemm"]),
        ("model_names", "gemm"),
        ("parameter_names", [["m"], "n"]),
        ("handle_blocks", [["A", 2, 2, 1.5]]),
        ("version", None),
        ("by_rank", 1),
    ],
)
def test_headers_of_other_types(tmp_path, name, value):
    path = tmp_path / "graph.npz"
    save(generate("lu", tiles=2), path)
    with np.load(path) as data:
        arrays = dict(data)
    header = {**json.loads(arrays["header"].tobytes()), name: value}
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(path, **arrays)
    with pytest.raises(InputError, match=f"damaged: {name}: "):
        load(path)


def test_devices_are_no_files():
    with pytest.raises(InputError, match="/dev/zero: is a device, not a file"):
        load("/dev/zero")


def test_missing_files(tmp_path):
    with pytest.raises(InputError, match=r"none\.npz: no such task graph file"):
        load(tmp_path / "none.npz")


def test_truncated_files_are_refused_wherever_they_end(tmp_path):
    path = tmp_path / "graph.npz"
    save(generate("cholesky", tiles=3), path)
    content = path.read_bytes()
    for length in range(0, len(content), max(1, len(content) // 60)):
        path.write_bytes(content[:length])
        with pytest.raises(InputError, match="not a task graph file, or damaged"):
            load(path)


def test_altered_files_are_refused_or_harmless(tmp_path):
    path = tmp_path / "graph.npz"
    graph = generate("cholesky", tiles=3)
    save(graph, path)
    content = path.read_bytes()
    refused = 0
    for place in range(0, len(content), 29):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :])
        try:
            assert load(path).same_as(graph)
        except InputError:
            refused += 1
    assert refused > len(content) / 29 / 3


def test_newer_versions_are_named(tmp_path, monkeypatch):
    path = tmp_path / "graph.npz"
    monkeypatch.setattr(graph_file, "_WITHOUT_CATEGORIES", 3)
    save(generate("lu", tiles=2), path)
    monkeypatch.undo()
    with pytest.raises(InputError, match="version 3 is newer than 2"):
        load(path)


def test_malformed_graphs_are_named_by_their_task(tmp_path):
    path = tmp_path / "graph.npz"
    graph = generate("lu", tiles=2)
    save(graph, path)
    with np.load(path) as data:
        arrays = dict(data)
    arrays["kernel"] = np.array([0, 1, 9, 3, 0], dtype=np.int32)
    assert json.loads(arrays["header"].tobytes())["name"] == "lu"
    np.savez(path, **arrays)
    with pytest.raises(GraphError, match="task #2: no kernel 9"):
        load(path)
