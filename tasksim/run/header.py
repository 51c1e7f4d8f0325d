"""Description of a run in ``run.json``, beside its task records.

:func:`check_header` compares its numbers with the records.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from tasksim.base.documents.json_document import JsonNode, parse_json, position, read_document
from tasksim.base.errors import CheckFailed, InputError, unknown
from tasksim.base.files import read_text
from tasksim.base.versions import newer
from tasksim.run.metrics import summary
from tasksim.run.record import Disturbance, FarData, MemoryInfo, Run, RunKind, TaskTable, WorkerInfo

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tasksim.run.numa import NumaUse
    from tasksim.run.power import PowerInfo

    Place = tuple[str | int, ...]

__all__ = ["SCHEMA_VERSION", "Rows", "check_header", "encode", "read_header"]

SCHEMA_VERSION = 1
"""Version of ``run.json``; it grows when readers of older versions would misread the file."""

_RUN_KINDS = ("simulated", "native")
_WORKER_FIELDS = ("name", "architecture", "node", "memory")
_MEMORY_FIELDS = ("name", "node", "size_bytes")


class Rows(NamedTuple):
    """Number of rows of each table of a run; None if there is no such table."""

    tasks: int
    transfers: int | None
    memory: int | None
    messages: int | None
    decisions: int | None


def encode(run: Run) -> str:
    """Return the text of ``run.json``.

    Raise :exc:`InputError` if the configuration is not plain JSON data.
    """
    header = {
        "schema_version": SCHEMA_VERSION,
        "kind": run.kind,
        "graph": {"name": run.graph_name, "arguments": run.graph_arguments},
        "platform": run.platform,
        "scheduler": run.scheduler,
        "seed": run.seed,
        "tasks": len(run),
        "makespan_s": run.makespan_s,
        "bounds": run.bounds,
        "metrics": summary(run),
        "wall_s": run.wall_s,
        **{name: text for name in ("engine", "engine_why") if (text := getattr(run, name))},
        "kernels": run.kernel_names,
        # The first memory, the usual one, is left out.
        "workers": [
            {
                name: getattr(worker, name)
                for name in (_WORKER_FIELDS if worker.memory else _WORKER_FIELDS[:-1])
            }
            for worker in run.workers
        ],
        **_memories_json(run),
        **({} if run.messages is None else {"messages": len(run.messages)}),
        **({} if run.decisions is None else {"decisions": len(run.decisions)}),
        **({} if run.uncertainty is None else {"uncertainty": run.uncertainty}),
        **({} if run.power is None else {"power": run.power.to_json()}),
        **({} if run.numa is None else {"numa": run.numa.to_json()}),
        **({} if run.far_data is None else {"far_data": run.far_data._asdict()}),
        **({} if run.counted_j is None else {"counted_j": run.counted_j}),
        **({} if run.disturbance is None else {"disturbance": run.disturbance.to_json()}),
        "config": run.config,
        "versions": run.versions,
    }
    try:
        return json.dumps(header, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    except (TypeError, ValueError) as error:
        raise InputError(f"the run cannot be written as JSON: {error}") from error


def _memories_json(run: Run) -> dict[str, Any]:
    """Return the additional fields of a run with several memories."""
    if not run.memories and run.transfers is None and run.memory is None:
        return {}
    return {
        "memories": [
            {name: getattr(memory, name) for name in _MEMORY_FIELDS} for memory in run.memories
        ],
        "transfers": None if run.transfers is None else len(run.transfers),
        "memory_changes": None if run.memory is None else len(run.memory),
        "evictions": run.evictions,
    }


def read_header(path: Path) -> tuple[Run, Rows]:
    """Return the run that the file *path* describes, without its tables, and their lengths.

    Raise :exc:`InputError` with ``file:line:column``, the value and the legal values.
    """
    text = read_text(path)
    if not text.strip():
        raise InputError(f"{path}: the file is empty")

    def read(root: JsonNode) -> tuple[Run, Rows]:
        if not isinstance(root.value, dict) or "schema_version" not in root.value:
            raise InputError(f"{path} was not written by tasksim: it has no schema_version")
        version = root["schema_version"]
        if (why := newer(version.value, SCHEMA_VERSION)) is not None:
            raise version.error(why)
        version.exactly(SCHEMA_VERSION)
        run = _run(root)
        counts = (
            root.get(name, None).maybe(JsonNode.integer)
            for name in ("transfers", "memory_changes", "messages", "decisions")
        )
        return run, Rows(root["tasks"].integer(), *counts)

    return read_document(text, str(path), read)


def _run(root: JsonNode) -> Run:
    graph, workers = root["graph"], tuple(_worker(node) for node in root["workers"])

    # Late: few runs have them.
    def power(node: JsonNode) -> PowerInfo:
        from tasksim.run.power import PowerInfo

        return PowerInfo.from_json(node, len(workers))

    def numa(node: JsonNode) -> NumaUse:
        from tasksim.run.numa import NumaUse

        return NumaUse.from_json(node)

    return Run(
        kind=cast("RunKind", root["kind"].one_of(_RUN_KINDS)),
        graph_name=_text(graph["name"]),
        graph_arguments={name: _argument(node) for name, node in graph["arguments"].items()},
        kernel_names=tuple(_text(node) for node in root["kernels"]),
        workers=workers,
        platform=_text(root["platform"]),
        scheduler=_text(root["scheduler"]),
        seed=root["seed"].maybe(JsonNode.integer),
        tasks=TaskTable.empty(),
        config=dict(root["config"].mapping()),
        versions={name: _text(node) for name, node in root["versions"].items()},
        wall_s=root["wall_s"].number(),
        engine=_text(root.get("engine", "")),
        engine_why=_text(root.get("engine_why", "")),
        bounds=root["bounds"].maybe(
            lambda node: {name: value.number() for name, value in node.items()}
        ),
        memories=tuple(_memory(node) for node in root.get("memories", [])),
        evictions=root.get("evictions", 0).integer(),
        uncertainty=root.get("uncertainty", None).maybe(lambda node: dict(node.mapping())),
        power=root.get("power", None).maybe(power),
        numa=root.get("numa", None).maybe(numa),
        far_data=root.get("far_data", None).maybe(
            lambda node: FarData(*(node[name].number() for name in FarData._fields)),
        ),
        counted_j=root.get("counted_j", None).maybe(JsonNode.number),
        disturbance=root.get("disturbance", None).maybe(
            lambda node: Disturbance.from_json(node, len(workers)),
        ),
    )


def _text(node: JsonNode) -> str:
    if not isinstance(node.value, str):
        raise node.expected("a text")
    return node.value


def _argument(node: JsonNode) -> str | int | float:
    if isinstance(node.value, bool) or not isinstance(node.value, str | int | float):
        raise node.expected("a text or a number")
    return node.value


def _worker(node: JsonNode) -> WorkerInfo:
    _known_fields(node, _WORKER_FIELDS)
    name, architecture = _text(node["name"]), _text(node["architecture"])
    return WorkerInfo(
        name, architecture, node.get("node", 0).integer(), node.get("memory", 0).integer()
    )


def _memory(node: JsonNode) -> MemoryInfo:
    _known_fields(node, _MEMORY_FIELDS)
    return MemoryInfo(
        _text(node["name"]),
        node.get("node", 0).integer(),
        node.get("size_bytes", None).maybe(JsonNode.positive),
    )


def _known_fields(node: JsonNode, legal: tuple[str, ...]) -> None:
    for name in node.mapping():
        if name not in legal:
            raise node.error(str(unknown("field", name, legal)))


_SUM_TOLERANCE: Final = 1e-9
"""Relative tolerance: other versions of NumPy add in another order, which changes the last digits;
numbers edited by hand differ in the first ones."""
_EARLIER_KEYS: Final = {"parallel_efficiency": "efficiency"}
"""Names of metrics in files of earlier versions."""


def check_header(run: Run, path: Path) -> None:
    """Raise :exc:`CheckFailed` if the file *path* contradicts the records of *run*.

    Parameters
    ----------
    run : Run
        The run as read, with its tables.
    path : Path
        Its ``run.json``. Only the makespan and the metrics are checked: all else is read from the
        file and cannot differ.
    """
    text = read_text(path)
    said = parse_json(text)
    computed = {"makespan_s": run.makespan_s, "metrics": summary(run)}
    for place, here, there in _differences(said, computed, (), _SUM_TOLERANCE * run.makespan_s):
        line, column = position(text, place)
        name = ".".join(map(str, place))
        raise CheckFailed(
            f"{path}:{line}:{column}: {name} is {here!r}, the records of the run say {there!r}"
        )


def _differences(
    said: Any, computed: Any, place: Place, tolerance: float
) -> Iterator[tuple[Place, Any, Any]]:
    """Yield differences between values that both have."""
    if isinstance(said, dict) and isinstance(computed, dict):
        for key in (key for key in said if _EARLIER_KEYS.get(key, key) in computed):
            there = computed[_EARLIER_KEYS.get(key, key)]
            yield from _differences(said[key], there, (*place, key), tolerance)
    elif isinstance(said, list) and isinstance(computed, list) and len(said) == len(computed):
        for number, pair in enumerate(zip(said, computed, strict=True)):
            yield from _differences(*pair, (*place, number), tolerance)
    else:
        # Earlier versions wrote 0 for a wait that is unknown.
        same = said == computed or (computed is None and said == 0)
        if not same and isinstance(said, int | float) and not isinstance(said, bool):
            same = isinstance(computed, int | float) and math.isclose(
                said, computed, rel_tol=_SUM_TOLERANCE, abs_tol=tolerance
            )
        if not same:
            yield place, said, computed
