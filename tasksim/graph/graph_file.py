"""Files of task graphs, as NumPy's ``.npz`` with the columns and a header in JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from tasksim.base.arguments import flag, path_of
from tasksim.base.documents.json_document import parse_json
from tasksim.base.errors import InputError, expect
from tasksim.base.files import exists, is_folder, reading, refuse_existing, writing
from tasksim.base.npzarrays import NpzArrays
from tasksim.base.versions import newer
from tasksim.graph.taskgraph import COLUMNS, HandleBlock, TaskGraph

__all__ = ["GRAPH_SUFFIX", "load", "save"]

GRAPH_SUFFIX = ".npz"
_FORMAT, _VERSION = "tasksim task graph", 2
_WITHOUT_CATEGORIES = 1
"""Version of files without categories, which older programs can read."""
_LATER_COLUMNS = ("hint_handle", "hint_after", "continues", "creator", "binding")
"""Columns that older files lack."""
_OPTIONAL_COLUMNS = ("continues", "creator", "binding")
"""Columns that files lack if they are empty."""


def save(graph: TaskGraph, path: str | Path, *, force: bool = False) -> None:
    """Write *graph* to *path*, all or nothing; the same graph gives the same bytes.

    Parameters
    ----------
    graph : TaskGraph
        The task graph.
    path : str or Path
        The file, whose name ends in ``.npz``.
    force : bool, default False
        Whether to replace an existing file.

    Raises
    ------
    InputError
        If the name has another ending, or the file exists without *force*.
    OutputError
        If the operating system refuses.

    See Also
    --------
    load : Read the file, as :func:`tasksim.load_graph` does.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from tasksim.graph.apps.registry import generate
    >>> with TemporaryDirectory() as folder:
    ...     save(generate("cholesky", tiles=4), f"{folder}/graph.npz")
    ...     load(f"{folder}/graph.npz")
    <TaskGraph cholesky: 20 tasks, 30 edges>
    """
    expect(graph, TaskGraph, "graph")
    path = path_of(path, "path")
    flag(force, "force")
    if path.suffix != GRAPH_SUFFIX:
        raise InputError(f"{path}: the name of a task graph file ends in {GRAPH_SUFFIX}")
    refuse_existing(path, force=force)
    arrays: dict[str, Any] = {
        name: getattr(graph, name)
        for name in COLUMNS
        if name not in _OPTIONAL_COLUMNS or len(getattr(graph, name))
    }
    arrays |= {f"parameters_{kernel}": table for kernel, table in enumerate(graph.parameters)}
    header = {
        "format": _FORMAT,
        "version": _VERSION if graph.categories else _WITHOUT_CATEGORIES,
        "name": graph.name,
        "arguments": graph.arguments,
        "kernels": graph.kernels,
        "parameter_names": graph.parameter_names,
        "model_names": graph.model_names,
        "handle_blocks": graph.handle_blocks,
        **({"by_rank": True} if graph.by_rank else {}),
        **({"categories": graph.categories} if graph.categories else {}),
    }
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with writing(path, force=force) as temporary:
        np.savez(temporary, header=text, **arrays)


def load(path: str | Path) -> TaskGraph:
    """Return the task graph in the file *path*, validated.

    Parameters
    ----------
    path : str or Path
        A file of :func:`save`, perhaps of an earlier version.

    Raises
    ------
    InputError
        If the file is missing, damaged, not a task graph, or of a newer version.
    GraphError
        If the graph in it is malformed.

    See Also
    --------
    save : Write the file.
    """
    path = Path(path)
    if is_folder(path):
        raise InputError(f"{path}: is a folder, not a task graph file")
    if not exists(path):
        raise InputError(f"{path}: no such task graph file")
    try:
        with reading(path) as file:
            graph = _read(NpzArrays(file), path)
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"{path}: not a task graph file, or damaged: {error}") from error
    graph.validate()
    return graph


def _read(arrays: NpzArrays, path: Path) -> TaskGraph:
    header = _checked_header(parse_json(arrays.read("header", np.uint8).tobytes().decode()), path)
    kernels = tuple(header["kernels"])
    columns = {
        name: arrays.read(name, dtype)
        for name, dtype in COLUMNS.items()
        if name not in _LATER_COLUMNS or name in arrays
    }
    tables = [arrays.read(f"parameters_{k}", np.float64, 2) for k in range(len(kernels))]
    if any(len(table) > max(1, len(columns["kernel"])) for table in tables):
        raise ValueError("a table of parameters has more rows than there are tasks")
    return TaskGraph(
        name=header["name"],
        arguments=header["arguments"],
        kernels=kernels,
        parameter_names=tuple(map(tuple, header["parameter_names"])),
        parameters=tuple(tables),
        model_names=tuple(header["model_names"]),
        handle_blocks=tuple(HandleBlock(*block) for block in header["handle_blocks"]),
        by_rank=header.get("by_rank", False),
        categories={
            kernel: {name: tuple(names) for name, names in of.items()}
            for kernel, of in header.get("categories", {}).items()
        },
        **columns,
    )


def _checked_header(header: Any, path: Path) -> dict[str, Any]:
    """Return the header after a check.

    Raises :exc:`ValueError` for a malformed one, and :exc:`InputError` for a newer version.
    """
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        raise ValueError("its header does not say that it is one")
    version = header.get("version")
    if (why := newer(version, _VERSION)) is not None:
        raise InputError(f"{path}: {why}")
    legal = {
        "version": version in (_WITHOUT_CATEGORIES, _VERSION),
        "name": isinstance(header.get("name"), str),
        "arguments": _is_arguments(header.get("arguments")),
        "kernels": _is_names(header.get("kernels"))
        and len(set(header["kernels"])) == len(header["kernels"]),
        "model_names": _is_names(header.get("model_names")),
        "parameter_names": isinstance(header.get("parameter_names"), list)
        and all(map(_is_names, header["parameter_names"])),
        "handle_blocks": isinstance(header.get("handle_blocks"), list)
        and all(map(_is_block, header["handle_blocks"])),
        "by_rank": isinstance(header.get("by_rank", False), bool),
        "categories": _is_categories(header.get("categories", {})),
    }
    for name, fine in legal.items():
        if not fine:
            raise ValueError(f"{name}: {json.dumps(header.get(name))[:60]}")
    return header


def _is_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _is_categories(value: object) -> bool:
    return isinstance(value, dict) and all(
        isinstance(of, dict) and all(map(_is_names, of.values())) for of in value.values()
    )


def _is_arguments(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    return all(isinstance(v, str | int | float) and type(v) is not bool for v in value.values())


def _is_block(value: object) -> bool:
    if not (isinstance(value, list) and len(value) == 4 and isinstance(value[0], str)):
        return False
    return all(type(number) is int and 0 <= number < 2**31 for number in value[1:])
