"""Task graphs on unrelated processors, in hand-typed CSV files of costs and edges.

::

    costs.csv               edges.csv               links.csv (if wanted)
    task,P0,P1,P2           from,to,volume          from,to,bandwidth,latency
    T1,14,16,9              T1,T2,18                P0,P1,2,0.5
    T2,13,19,18             ...                     ...

A cost is the duration of a task on a processor; an empty field means that it cannot run there.
Sending a volume from one processor to another takes ``latency + volume / bandwidth``; without a
file of links, every bandwidth is 1 and every latency 0. Edges and links may also be square
matrices, with names in the first line and the first column (0 or nothing is then no edge). Copies
do not slow each other down, and processors compute meanwhile: the model of most papers on static
scheduling.

Inside, a cost of 1 is a second, a volume of 1 a byte, a bandwidth of 1 a byte per second.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from tasksim.base.documents.csv_table import CsvRow, CsvTable, read_csv_table
from tasksim.base.errors import CycleError, InputError, nearest
from tasksim.base.files import is_file
from tasksim.formats.registry import Format, GraphInput
from tasksim.graph.builder import GraphBuilder, R, W
from tasksim.graph.csr import cycle_text, find_cycle, topological_order
from tasksim.models.kinds.given import GivenCosts, parameter
from tasksim.platform.costs import Copying
from tasksim.platform.description import Link, Memory, Platform, Route, Worker

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["COSTS", "CostFiles", "beside", "processors", "read_costs"]

MAX_TASKS: Final = 32767
"""Largest number of tasks: each is a kernel of its own, and records of runs number kernels with 16
bits."""
UNLIMITED_COPIES: Final = 2**31 - 1
"""Number of concurrent copies: papers on static scheduling have no limit."""
MAX_DECIMALS: Final = 9
"""Maximum number of decimals of a volume: volumes become whole numbers of bytes, which with more
decimals would not fit into 64 bits."""


class CostFiles(NamedTuple):
    """Contents of the files: the graph, its platform, and the durations."""

    graph: TaskGraph
    platform: Platform
    models: GivenCosts


def read_costs(
    path: str | Path, edges: str | Path | None = None, links: str | Path | None = None
) -> CostFiles:
    """Return the task graph, the platform and the models that the files describe.

    Parameters
    ----------
    path
        The file of costs, whose name contains ``costs``.
    edges, links
        The files of edges and links; by default those beside it of the same name with ``edges`` or
        ``links`` instead of ``costs``, of which the second need not exist.

    Returns
    -------
    CostFiles
        Tasks in the order of the file as far as dependencies allow; each has a kernel of its own
        name. Processors are workers, and architectures, each with a memory of its own.

    Raises
    ------
    InputError
        ``file:line: what is wrong, what was got, what is legal, the nearest``.
    CycleError
        If tasks depend on each other in a cycle; with their names.
    """
    path = Path(path)
    costs = read_csv_table(path)
    columns = _processors(costs)
    tasks = _tasks(costs)
    edge_path = Path(edges) if edges is not None else beside(path, "edges")
    volumes = _pairs(read_csv_table(edge_path), tasks, "volume")
    link_path = Path(links) if links is not None else beside(path, "links")
    scale = _scale(text for _, text in volumes.values())
    graph = _graph(path, costs, columns, volumes, scale)
    has_links = links is not None or is_file(link_path)
    speeds = _speeds(read_csv_table(link_path), columns) if has_links else None
    platform = processors(_title(path), [*columns], speeds, scale)
    return CostFiles(graph, platform, GivenCosts(graph))


def _title(path: Path) -> str:
    """Return the title of a file: ``paper`` for paper.costs.csv and for paper/costs.csv."""
    return path.stem.replace("costs", "").strip(" .-_") or path.resolve().parent.name or "costs"


def beside(path: Path, what: str) -> Path:
    """Return the file beside *path* of costs that has *what* (edges, links).

    Raises :exc:`InputError` if the name of the file of costs does not contain ``costs``.
    """
    before, found, after = path.name.rpartition("costs")
    if not found:
        raise InputError(
            f"{path}: the name does not contain 'costs', so that the file of {what} beside it"
            f" cannot be found; legal: costs.csv, with a row per task and a column per processor,"
            f" and {what}.csv beside it (docs/formats.md)"
        )
    return path.with_name(f"{before}{what}{after}")


def _processors(costs: CsvTable) -> dict[str, int]:
    """Return the processors, numbered."""
    first, *names = costs.header.fields
    if first != "task" or not names:
        raise costs.header.error(
            f"header: got '{','.join(costs.header.fields)[:60]}'; legal: task,PROCESSOR,..., "
            "such as task,P0,P1,P2"
        )
    found: dict[str, int] = {}
    for name in names:
        if not name or name in found:
            raise costs.header.error(f"processor '{name}': legal: a name of its own")
        found[name] = len(found)
    return found


def _tasks(costs: CsvTable) -> dict[str, int]:
    """Return the tasks, numbered."""
    found: dict[str, int] = {}
    for row in costs.body:
        name = row.fields[0]
        if not name or name in found:
            raise row.error(f"task: got '{name}'; legal: a name of its own for each task")
        found[name] = len(found)
    if len(found) > MAX_TASKS:
        raise costs.header.error(f"{len(found)} tasks; legal: at most {MAX_TASKS}")
    return found


def _pairs(
    rows: CsvTable, known: Mapping[str, int], what: str
) -> dict[tuple[int, int], tuple[CsvRow, str]]:
    """Return (from, to) -> its row and its text, from a list or a matrix."""
    kind = "task" if what == "volume" else "processor"
    head = rows.header.fields
    found: dict[tuple[int, int], tuple[CsvRow, str]] = {}
    entries = _listed(rows, what) if head[:2] == ("from", "to") else _matrix(rows, known, kind)
    for row, source, target, text in entries:
        pair = (_known(row, source, known, kind), _known(row, target, known, kind))
        if pair in found:
            raise row.error(f"{source} to {target} is already in line {found[pair][0].line}")
        if source == target:
            raise row.error(f"{kind} '{source}' to itself; legal: two different ones")
        row.number(text, what)
        found[pair] = row, text
    return found


def _listed(rows: CsvTable, what: str) -> Iterator[tuple[CsvRow, str, str, str]]:
    """Yield row, from, to and text of the entries of a list."""
    head = rows.header.fields
    legal = [("from", "to", what), *([("from", "to", what, "latency")] * (what != "volume"))]
    if head not in legal:
        texts = " or ".join(f"'{','.join(names)}'" for names in legal)
        raise rows.header.error(f"header: got '{','.join(head)}'; legal: {texts}")
    for row in rows.body:
        yield row, row.fields[0], row.fields[1], row.fields[2]


def _matrix(
    rows: CsvTable, known: Mapping[str, int], kind: str
) -> Iterator[tuple[CsvRow, str, str, str]]:
    """Yield row, from, to and text of the entries of a matrix that are not 0 or empty."""
    names = rows.header.fields[1:]
    if len(names) != len(known) or len(rows.body) != len(known):
        raise rows.header.error(
            f"got '{','.join(rows.header.fields)[:60]}' and {len(rows.body)} rows; legal: a list "
            f"with the header from,to,..., or a matrix of all {len(known)} {kind}s"
        )
    for name in names:
        _known(rows.header, name, known, kind)
    for row in rows.body:
        for name, text in zip(names, row.fields[1:], strict=True):
            if text and row.number(text, f"{row.fields[0]} to {name}") > 0:
                yield row, row.fields[0], name, text


def _known(row: CsvRow, name: str, known: Mapping[str, int], kind: str) -> int:
    """Return the number of a *known* task or processor."""
    if name not in known:
        some = ", ".join([*known][:8]) + (", ..." if len(known) > 8 else "")
        raise row.error(f"unknown {kind} '{name}'{nearest(name, known)} (known: {some})")
    return known[name]


def _scale(texts: Iterable[str]) -> int:
    """Return the power of ten that turns the volumes into whole numbers of bytes."""
    decimals = 0
    for text in texts:
        exponent = Decimal(text).normalize().as_tuple().exponent
        decimals = max(decimals, -exponent if isinstance(exponent, int) else 0)
    return int(10 ** min(decimals, MAX_DECIMALS))


def _graph(
    path: Path,
    costs: CsvTable,
    processors: Mapping[str, int],
    volumes: Mapping[tuple[int, int], tuple[CsvRow, str]],
    scale: int,
) -> TaskGraph:
    """Return the graph: a datum per edge that sends anything, dependencies for the others."""
    names = [row.fields[0] for row in costs.body]
    g = GraphBuilder(_title(path))
    order, waiting = topological_order(len(names), volumes)
    if len(order) < len(names):
        cycle = cycle_text([names[task] for task in find_cycle(volumes, waiting)])
        raise CycleError(f"tasks depend on each other in a cycle: {cycle}")
    accesses: list[list[int]] = [[] for _ in names]
    waits: list[list[int]] = [[] for _ in names]
    for (source, target), (row, text) in volumes.items():
        scaled = float(text) * scale  # infinity is no whole number
        if not scaled < 2**63:
            raise row.error(f"volume: got '{text}'; legal: less than {2**63 // scale}")
        size = round(scaled)
        waits[target].append(source)
        if size:
            handle = g.handle(f"{names[source]}->{names[target]}", size_bytes=size)
            accesses[source].append(W(handle))
            accesses[target].append(R(handle))
    number: dict[int, int] = {}
    g.announce(len(order))
    for task in order:
        durations = _durations(costs.body[task], processors)
        after = [number[source] for source in waits[task]]
        number[task] = g.insert(names[task], *accesses[task], priority=0, after=after, **durations)
    return g.build()


def _durations(row: CsvRow, processors: Mapping[str, int]) -> dict[str, float]:
    """Return the parameters of a task: its duration on each processor that can run it."""
    texts = zip(processors, row.fields[1:], strict=True)
    found = {parameter(name): row.number(text, f"cost on {name}") for name, text in texts if text}
    if not found:
        raise row.error(
            f"task '{row.fields[0]}' has no cost; legal: a cost on at least one processor"
        )
    return found


def _speeds(
    rows: CsvTable, processors: Mapping[str, int]
) -> dict[tuple[int, int], tuple[float, float]]:
    """Return (from, to) -> bandwidth and latency; a missing direction equals the opposite one."""
    found = {}
    head = rows.header.fields
    has_latency = head[:2] == ("from", "to") and len(head) > 3
    for pair, (row, text) in _pairs(rows, processors, "bandwidth").items():
        latency = row.number(row.fields[3], "latency") if has_latency else 0.0
        found[pair] = row.number(text, "bandwidth", positive=True), latency
    for (source, target), speed in list(found.items()):
        found.setdefault((target, source), speed)
    names = list(processors)
    for source in range(len(names)):
        for target in range(source):
            if (source, target) not in found:
                raise rows.header.error(
                    f"no link between {names[target]} and {names[source]}; legal: a link between"
                    " every two processors"
                )
    return found


def processors(
    title: str,
    names: Sequence[str],
    speeds: Mapping[tuple[int, int], tuple[float, float]] | None,
    scale: int,
) -> Platform:
    """Return the platform of unrelated processors, each with its memory, and their links.

    Parameters
    ----------
    title
        The name of the platform.
    names
        The names of the processors, which are their architectures, too.
    speeds
        Bandwidth and latency from each processor to each other; None: bandwidth 1, latency 0.
    scale
        Bytes of a volume of 1.
    """
    pairs = [(a, b) for a in range(len(names)) for b in range(len(names)) if a != b]
    if speeds is None:
        links = [Link(0, "network", None, float(scale), shared=False)] if pairs else []
        routes = [Route(a, b, (0,)) for a, b in pairs]
    else:
        links = [
            Link(k, f"{names[a]}-{names[b]}", None, speeds[a, b][0] * scale, speeds[a, b][1],
                 shared=False)
            for k, (a, b) in enumerate(pairs)
        ]  # fmt: skip
        routes = [Route(a, b, (k,)) for k, (a, b) in enumerate(pairs)]
    return Platform(
        name=title,
        workers=tuple(Worker(k, name, name, k) for k, name in enumerate(names)),
        memories=tuple(Memory(k, name) for k, name in enumerate(names)),
        links=tuple(links),
        routes=tuple(routes),
        copying=Copying(
            fetches=UNLIMITED_COPIES, prefetches=UNLIMITED_COPIES, idle=UNLIMITED_COPIES
        ),
    )


def _is_costs(path: Path, head: bytes) -> bool:  # noqa: ARG001
    """Return whether a file begins ``task,PROCESSOR``; ``task,worker`` is a schedule."""
    fields = head.decode("utf-8-sig", errors="replace").partition("\n")[0].split(",")
    first, second = (field.strip() for field in (*fields, "", "")[:2])
    return first == "task" and second not in ("", "worker")


COSTS = Format(
    summary="A task graph on unrelated processors: a file of costs, edges.csv beside it.",
    suffixes=(".csv",),
    recognises=_is_costs,
    reads_graph=lambda path: GraphInput(*read_costs(path)),
    brings_platform=True,
    files_of=lambda path: [path, beside(path, "edges"), beside(path, "links")],
    reads_platform=lambda path: read_costs(path).platform,
)
