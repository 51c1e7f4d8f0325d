"""Task graphs in files: NumPy's ``.npz``, the columns as they are and a header in JSON."""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from tasksim.base.errors import InputError, expect
from tasksim.base.files import refuse_existing, writing
from tasksim.graph.taskgraph import HandleBlock, TaskGraph

__all__ = ["SUFFIX", "load", "save"]

SUFFIX = ".npz"
_FORMAT, _VERSION = "tasksim task graph", 1
_COLUMNS = (
    "kernel",
    "row",
    "priority",
    "access_ptr",
    "access_handle",
    "access_mode",
    "successor_ptr",
    "successors",
    "handle_size",
    "handle_home",
)
_ADDED = ("hint_handle", "hint_after")  # files written before there were hints lack them
# All that NumPy and zipfile raise for files that are foreign, cut short or altered.
_UNREADABLE = (
    EOFError,
    KeyError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)


def save(graph: TaskGraph, path: str | Path, *, force: bool = False) -> None:
    """Write *graph* to *path*, all or nothing; the same graph gives the same bytes.

    Parameters
    ----------
    graph
        The task graph.
    path
        Where to; the name ends in ``.npz``.
    force
        Whether to replace an existing file.

    Raises
    ------
    InputError
        If the name has another ending, or the file exists and *force* is not given.
    OutputError
        If the operating system refuses.
    """
    expect(graph, TaskGraph, "graph")
    path = Path(path)
    if path.suffix != SUFFIX:
        raise InputError(f"{path}: the name of a task graph file ends in {SUFFIX}")
    refuse_existing(path, force=force)
    arrays: dict[str, Any] = {name: getattr(graph, name) for name in (*_COLUMNS, *_ADDED)}
    arrays |= {f"parameters_{kernel}": table for kernel, table in enumerate(graph.parameters)}
    header = np.frombuffer(json.dumps(_header(graph)).encode(), dtype=np.uint8)
    with writing(path) as temporary:
        np.savez(temporary, header=header, **arrays)


def load(path: str | Path) -> TaskGraph:
    """Return the task graph in the file *path*, validated.

    Raises
    ------
    InputError
        If there is no such file, it is not a task graph, damaged, or of a newer version.
    GraphError
        If the graph in it is malformed.
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path}: is a folder, not a task graph file")
    if not path.is_file():
        raise InputError(f"{path}: no such task graph file")
    try:
        graph = _read(path)
    except _UNREADABLE as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: not a task graph file, or damaged: {error}") from error
    graph.validate()
    return graph


def _header(graph: TaskGraph) -> dict[str, Any]:
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "name": graph.name,
        "arguments": graph.arguments,
        "kernels": graph.kernels,
        "parameter_names": graph.parameter_names,
        "model_names": graph.model_names,
        "handle_blocks": graph.handle_blocks,
    }


def _read(path: Path) -> TaskGraph:
    # The file is opened here: np.load leaves it open when it cannot read it.
    with path.open("rb") as file, np.load(file, allow_pickle=False) as data:
        header = json.loads(data["header"].tobytes())
        if header["format"] != _FORMAT:
            raise ValueError(f"format {header['format']!r}")
        if header["version"] > _VERSION:
            raise InputError(
                f"{path}: version {header['version']} of the format; "
                f"this tasksim reads up to {_VERSION}"
            )
        kernels = tuple(header["kernels"])
        return TaskGraph(
            name=header["name"],
            arguments=header["arguments"],
            kernels=kernels,
            parameter_names=tuple(map(tuple, header["parameter_names"])),
            parameters=tuple(data[f"parameters_{index}"] for index in range(len(kernels))),
            model_names=tuple(header["model_names"]),
            handle_blocks=tuple(HandleBlock(*block) for block in header["handle_blocks"]),
            **{name: data[name] for name in _COLUMNS},
            **{name: data[name] for name in _ADDED if name in data},
        )
