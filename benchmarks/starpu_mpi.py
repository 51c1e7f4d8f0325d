"""How close to StarPU-MPI on simulated clusters: every run of a table of its makespans.

    python benchmarks/starpu_mpi.py SHARED/data           # errors by groups of rows
    python benchmarks/starpu_mpi.py SHARED/data --rows    # every row
    python benchmarks/starpu_mpi.py SHARED/data --only lu # the rows of an application, or scheduler

SHARED/data holds StarPU's sampling directory (starpu/sampling) and the table (starpu-mpi:
makespans.csv, StarPU 1.4.99 over SimGrid 3.32's SMPI, and the platforms of SimGrid beside it).
Nothing is fitted to the table. Within an instant the order is the peer's, as far as nodes know it
(engine.simultaneous_pushes=blind).

Single rows with GPUs under eager say little: with one of its 1 us constants at zero, the peer's own
1,201 ms on four nodes are 1,116 to 2,137, its 1,351 on two 1,297 to 1,728. Under dmdas they move
by 0 to 5 %. A sample of variants says more (docs/fidelity.md).

`chol` is the peer's Cholesky, which flushes diagonal tiles from its cache after each trsm (the
generator's flush=peer), `cholnf` one that does so once, `cholcol` on a grid by columns, and `lu`.
The Cholesky's updates commute.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from starpu_simgrid import percentile

from tasksim.engine.choice import replayed
from tasksim.engine.cluster.cluster import ClusterReplay
from tasksim.engine.durations import durations
from tasksim.engine.question import ClusterQuestion, NodeQuestion, Question
from tasksim.formats.platforms import load_network
from tasksim.formats.starpu.machine_import import import_machine
from tasksim.graph.apps.registry import generate
from tasksim.graph.distribution.owners import NodeGrid, owners_of
from tasksim.graph.distribution.parts import distribute
from tasksim.graph.taskgraph import TaskGraph
from tasksim.models.files.store import ModelLibrary
from tasksim.platform.load import load
from tasksim.schedulers.registry import create

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.engine.machine.instant import SimultaneousPushes
    from tasksim.network.description import Network

COMMUTING_UPDATES = {"updates": "commute"}
"""As the peer's Cholesky does, and its LU does not."""

APPLICATIONS = {
    # generator, settings, names of models, order of the nodes of a grid
    "chol": ("cholesky", {"flush": "peer", **COMMUTING_UPDATES}, "chol_model_{kernel}", "row"),
    "cholnf": ("cholesky", COMMUTING_UPDATES, "chol_model_{kernel}", "row"),
    "cholcol": (
        "cholesky",
        {"flush": "peer", **COMMUTING_UPDATES},
        "chol_model_{kernel}",
        "column",
    ),
    "lu": ("lu", {}, "starpu_slu_lu_model_{kernel}", "column"),
}

PCI_FACTORS = ["platform.links.*.bandwidth=x0.940694", "platform.links.*.latency=x11.6436"]
"""The peer's copies inside of a node are subject to the factors of SMPI where there are several
nodes, or MPI is used at all: those of large messages. tasksim keeps them off, but to compare."""

GROUPS: list[tuple[str, Callable[[Row], bool], float, float]] = [
    # rows, which; targets: median, 95th percentile (percent)
    ("CPUs, eager", lambda row: row.gpus == 0 and row.scheduler == "eager", 0.3, 2),
    ("CPUs, prio", lambda row: row.gpus == 0 and row.scheduler == "prio", 0.3, 2),
    ("CPUs, lws", lambda row: row.gpus == 0 and row.scheduler == "lws", 2, 8),
    ("CPUs, dmdas", lambda row: row.gpus == 0 and row.scheduler == "dmdas", 2, 8),
    ("GPUs", lambda row: row.gpus > 0, 2, 8),
    ("lws, dmdas, GPUs", lambda row: row.gpus > 0 or row.scheduler in ("lws", "dmdas"), 2, 8),
]


@dataclass(frozen=True)
class Row:
    """A row of the table, and what tasksim says."""

    label: str
    application: str
    nodes: int
    gpus: int
    scheduler: str
    peer_ms: float
    peer_messages: int
    peer_bytes: int
    peer_wall_s: float
    ms: float
    messages: int
    bytes: int
    wall_s: float

    @property
    def error(self) -> float:
        """The error of the makespan in percent, too long counted positive."""
        return 100 * (self.ms / self.peer_ms - 1)

    @property
    def exact(self) -> bool:
        """Whether messages and bytes are the peer's."""
        return (self.messages, self.bytes) == (self.peer_messages, self.peer_bytes)


class Clusters:
    """The imported node, the networks, and the graphs that run on them."""

    def __init__(self, data: Path, library: Path) -> None:
        self.data, self.library = data, library
        import_machine(data / "starpu" / "sampling", "mirage", library)
        self._graphs: dict[tuple[str, int, int], TaskGraph] = {}

    def run(self, row: dict[str, str], pushes: SimultaneousPushes) -> Row:
        """Replay a row of the table."""
        rows, columns = map(int, row["grid_pxq"].split("x"))
        grid, gpus = NodeGrid(rows, columns), int(row["ncuda_per_node"])
        graph = self._graph(row["app"], int(row["nblocks"]), int(row["tile"]))
        workers = {"cpu": row["workers_cpu_per_node"], "cuda": str(gpus)}
        settings = [f"platform.workers.{kind}.count={count}" for kind, count in workers.items()]
        settings += PCI_FACTORS if gpus else []
        platform = load("mirage", self.library, settings)
        costs = durations(graph, platform, ModelLibrary(self.library / "models" / "mirage"))
        begun = time.perf_counter()
        if grid.nodes == 1:
            question = Question(
                by_themselves(graph), platform, create(row["scheduler"]), costs, costs, None, pushes
            )
            found = replayed(question, 0, "auto").replay.records()
            return self._row(
                row, float(found["tasks"].end_s.max()), 0, 0, time.perf_counter() - begun
            )
        cut = distribute(graph, owners_of(graph, grid, APPLICATIONS[row["app"]][3]), grid.nodes)
        nodes = [
            NodeQuestion(platform, create(row["scheduler"]), costs, costs)
            for _ in range(grid.nodes)
        ]
        replay = ClusterReplay(ClusterQuestion(cut, nodes, self._network(row), pushes))
        makespan_s = replay.run(0)
        wall_s = time.perf_counter() - begun
        return self._row(row, makespan_s, len(cut.messages), cut.messages.bytes, wall_s)

    def _row(
        self, row: dict[str, str], makespan_s: float, messages: int, size: int, wall_s: float
    ) -> Row:
        label = " ".join(row[key] for key in LABEL_COLUMNS)
        return Row(
            label, row["app"], int(row["nodes"]), int(row["ncuda_per_node"]), row["scheduler"],
            float(row["makespan_ms"]), int(row["messages"]), int(row["bytes"]),
            float(row["wall_s"]), 1e3 * makespan_s, messages, size, wall_s,
        )  # fmt: skip

    def _graph(self, application: str, tiles: int, tile: int) -> TaskGraph:
        key = (application, tiles, tile)
        if key not in self._graphs:
            name, settings, models, _ = APPLICATIONS[application]
            graph = generate(name, tiles=tiles, tile_size=tile, dtype="float32", **settings)
            names = tuple(models.format(kernel=kernel) for kernel in graph.kernels)
            self._graphs[key] = replace(graph, model_names=names)
        return self._graphs[key]

    def _network(self, row: dict[str, str]) -> Network:
        path = self.data / "starpu-mpi" / "platforms" / row["platform_xml"]
        model = row["network_model"].lower()
        return load_network(f"{path}:model={model}").sized(int(row["nodes"]))


class Apart(TaskGraph):
    """A graph whose data are each by themselves, as the peer's are also on one node."""

    apart: ClassVar[bool] = True


def by_themselves(graph: TaskGraph) -> Apart:
    """Return *graph* with data of which none are parts of a matrix."""
    return Apart(**{field.name: getattr(graph, field.name) for field in fields(graph)})


LABEL_COLUMNS = (
    "app",
    "nblocks",
    "grid_pxq",
    "ncuda_per_node",
    "scheduler",
    "network_model",
    "platform_xml",
)


def line(label: str, rows: list[Row]) -> str:
    """Return errors and times of some rows."""
    sizes = [abs(row.error) for row in rows]
    exact = sum(row.exact for row in rows)
    ours, peer = sum(row.wall_s for row in rows), sum(row.peer_wall_s for row in rows)
    return (
        f"{label:16} {len(rows):4} rows  |error| median {statistics.median(sizes):6.3f} %"
        f"  95th {percentile(sizes, 0.95):6.2f} %  worst {max(sizes):6.2f} %"
        f"  signed {statistics.mean(row.error for row in rows):+6.2f} %"
        f"  messages and bytes exact in {exact}  time {ours:6.2f} s, peer {peer:6.1f} s"
    )


def main() -> None:
    """Replay the table and print errors."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--rows", action="store_true", help="print every row")
    parser.add_argument("--serial", action="store_true", help="pushes see those before them")
    parser.add_argument("--only", help="rows that have this word")
    arguments = parser.parse_args()
    table = arguments.data / "starpu-mpi" / "makespans.csv"
    given = list(csv.DictReader(table.open()))
    if arguments.only:
        given = [row for row in given if arguments.only in row.values()]
        if not given:
            parser.error(f"no row has the word {arguments.only}")
    rows = []
    with tempfile.TemporaryDirectory() as library:
        clusters = Clusters(arguments.data, Path(library))
        for row in given:
            rows.append(clusters.run(row, "serial" if arguments.serial else "blind"))
            if arguments.rows:
                found = rows[-1]
                print(
                    f"{found.label:60} {found.peer_ms:9.2f} {found.ms:9.2f} {found.error:+7.3f} %"
                )
                sys.stdout.flush()
    for name, chosen, median, high in GROUPS:
        some = [row for row in rows if chosen(row)]
        if some:
            print(line(name, some), f"(targets {median} %, {high} %)")
    print(line("all", rows))
    several = [row for row in rows if row.nodes > 1]
    if several:
        print(line("several nodes", several))


if __name__ == "__main__":
    main()
