"""How close to StarPU-SimGrid, and how much faster: every run of a table of its makespans.

    python benchmarks/starpu_simgrid.py SHARED/data                 # against the peer
    python benchmarks/starpu_simgrid.py SHARED/data --serial --engine simpy  # minutes; same rows
    python benchmarks/starpu_simgrid.py SHARED/data --serial        # as tasksim simulates by itself
    python benchmarks/starpu_simgrid.py SHARED/data --rows          # every row
    python benchmarks/starpu_simgrid.py SHARED/data --speed         # whole commands on large graphs

SHARED/data holds StarPU's sampling directory (starpu/sampling: bus files and codelet models of the
machines) and the table (starpu-simgrid/makespans.csv: StarPU 1.4.99, SimGrid 3.32). The machines
are imported with `tasksim import starpu`; nothing is fitted to the table.

The peer decides many schedules by the order of events at one simulated microsecond: without one
of its 1 us constants its own makespans change by up to 16 %. So errors are given by groups of
rows. By default, the order within an instant is the peer's (engine.simultaneous_pushes=blind):
pushes do not see each other under the dm family, and threads take turns under eager, prio and ws;
with --serial it is tasksim's own.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tasksim.engine.choice import ENGINES, Engine, replayed
from tasksim.engine.durations import durations
from tasksim.engine.question import Question
from tasksim.formats.starpu.machine_import import import_machine
from tasksim.graph.apps.registry import generate
from tasksim.models.files.store import ModelLibrary
from tasksim.platform.load import load
from tasksim.schedulers.registry import create

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from tasksim.engine.machine.instant import SimultaneousPushes
    from tasksim.graph.taskgraph import TaskGraph

APPLICATIONS = {
    "cholesky_s": ("cholesky", "chol_model_{kernel}"),
    "lu_s": ("lu", "starpu_slu_lu_model_{kernel}"),
}
DM_DATA = ("dmda", "dmdar", "dmdas")
LIST_SCHEDULERS = ("eager", "prio", "ws", "lws", "dm", "dmdasd", "modular-heft")

GROUPS: list[tuple[str, tuple[str, ...], Callable[[int], bool], float, float, float | None]] = [
    # rows, schedulers, number of GPUs, targets: median, 95th percentile, mean signed (percent)
    ("no GPU", ("prio",), lambda n: n == 0, 0.1, 0.3, None),
    ("no GPU", ("eager", "dm", *DM_DATA), lambda n: n == 0, 0.3, 4, 1),
    ("1 GPU", ("dm", *DM_DATA), lambda n: n == 1, 1, 5, 1.5),
    ("several GPUs", DM_DATA, lambda n: n > 1, 0.5, 5, 1),
    ("with GPUs", LIST_SCHEDULERS, lambda n: n > 0, 4, 15, 3),
    ("with GPUs", ("heteroprio", "graph_test"), lambda n: n > 0, 8, 20, 5),
]

SPEED_CASES = [
    # scheduler, settings, seconds of the peer's whole process
    ("dmdas", [], 14.2),
    ("eager", [], 20.2),
    ("dmdas", ["platform.workers.cuda.count=0"], 6.0),
    ("eager", ["platform.workers.cuda.count=0"], 6.8),
]


@dataclass(frozen=True)
class Row:
    """A row of the table, and what tasksim says."""

    application: str
    machine: str
    tiles: int
    scheduler: str
    gpus: int
    cpus: str
    peer_ms: float
    peer_gib: float
    peer_wall_s: float
    ms: float
    gib: float
    wall_s: float

    @property
    def configuration(self) -> tuple[str, str, int, int, str]:
        """All but the scheduler."""
        return self.application, self.machine, self.tiles, self.gpus, self.cpus

    @property
    def error(self) -> float:
        """The error of the makespan in percent, too long counted positive."""
        return 100 * (self.ms / self.peer_ms - 1)

    @property
    def error_of_bytes(self) -> float:
        """The error of the bytes moved in percent."""
        return 100 * (self.gib / self.peer_gib - 1)


class Machines:
    """The imported machines, and the graphs that run on them."""

    def __init__(self, data: Path, library: Path) -> None:
        self.data, self.library = data, library
        self._graphs: dict[tuple[str, int, int], TaskGraph] = {}
        self._imported: set[str] = set()

    def run(self, row: dict[str, str], pushes: SimultaneousPushes, engine: Engine) -> Row:
        """Replay a row of the table."""
        self._import(row["machine"])
        graph = self._graph(row["app"], int(row["nblocks"]), int(row["tile"]))
        settings = [f"platform.workers.cuda.count={row['ncuda']}"]
        if row["ncpu"]:
            settings.append(f"platform.workers.cpu.count={row['ncpu']}")
        platform = load(row["machine"], self.library, settings)
        models = ModelLibrary(self.library / "models" / row["machine"])
        begun = time.perf_counter()
        costs = durations(graph, platform, models)
        question = Question(graph, platform, create(row["scheduler"]), costs, costs, None, pushes)
        found = replayed(question, 0, engine).replay.records()
        wall_s = time.perf_counter() - begun
        makespan_s = float(found["tasks"].end_s.max())
        moved = int(found["transfers"].size_bytes.sum()) if "transfers" in found else 0
        return Row(
            row["app"], row["machine"], int(row["nblocks"]), row["scheduler"], int(row["ncuda"]),
            row["ncpu"], float(row["makespan_ms"]), float(row["transfers_gb"]),
            float(row["wall_s"]), 1e3 * makespan_s, moved / 2**30, wall_s,
        )  # fmt: skip

    def _import(self, host: str) -> None:
        if host not in self._imported:
            import_machine(self.data / "starpu" / "sampling", host, self.library)
            self._imported.add(host)

    def _graph(self, application: str, tiles: int, tile: int) -> TaskGraph:
        key = (application, tiles, tile)
        if key not in self._graphs:
            name, models = APPLICATIONS[application]
            graph = generate(name, tiles=tiles, tile_size=tile, dtype="float32")
            names = tuple(models.format(kernel=kernel) for kernel in graph.kernels)
            graph = replace(graph, model_names=names)
            self._graphs[key] = by_columns(graph, tiles) if name == "lu" else graph
        return self._graphs[key]


def by_columns(graph: TaskGraph, tiles: int) -> TaskGraph:
    """Return *graph* with its tiles numbered by columns, as in the peer's LU.

    Of what a task reads, both simulators bring the datum of the lowest number first.
    """

    def turned(handles: NDArray[np.int32]) -> NDArray[np.int32]:
        return (handles % tiles * tiles + handles // tiles).astype(np.int32)

    return replace(
        graph, access_handle=turned(graph.access_handle), hint_handle=turned(graph.hint_handle)
    )


def percentile(values: list[float], share: float) -> float:
    """Return the nearest-rank percentile."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))]


def line(label: str, rows: list[Row]) -> str:
    """Return errors of makespan and bytes, and times, of some rows."""
    errors = [row.error for row in rows]
    sizes = [abs(error) for error in errors]
    text = (
        f"{label:24} {len(rows):4} rows  |error| median {statistics.median(sizes):6.2f} %"
        f"  95th {percentile(sizes, 0.95):6.2f} %  worst {max(sizes):6.2f} %"
        f"  signed {statistics.mean(errors):+6.2f} %"
    )
    moved = [abs(row.error_of_bytes) for row in rows if row.peer_gib]
    if moved:
        text += f"  bytes {statistics.median(moved):5.2f} %"
    ours, peer = sum(row.wall_s for row in rows), sum(row.peer_wall_s for row in rows)
    return text + f"  time {ours:6.2f} s, peer {peer:6.2f} s"


def report(rows: list[Row]) -> None:
    """Print errors by scheduler, by group against its targets, and the order of schedulers."""
    by_scheduler: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_scheduler[row.scheduler].append(row)
    for scheduler, some in by_scheduler.items():
        print(line(scheduler, some))
    print(line("all", rows))
    print()
    for name, schedulers, has, median, high, signed in GROUPS:
        some = [row for row in rows if row.scheduler in schedulers and has(row.gpus)]
        if not some:  # --only left this group out
            continue
        print(line(f"{name}: {schedulers[0]}{'...' * (len(schedulers) > 1)}", some))
        mean = "" if signed is None else f", mean signed within {signed} %"
        print(f"{'':24}   targets: median {median} %, 95th percentile {high} %{mean}")
    moved = [abs(row.error_of_bytes) for row in rows if row.peer_gib]
    print(f"bytes moved, all rows with GPUs: median |error| {statistics.median(moved):.2f} % (3 %)")
    taus = list(map(kendall, by_configuration(rows)))
    print(
        f"order of schedulers per configuration: Kendall's tau median {statistics.median(taus):.3f}"
        f" (0.85), worst {min(taus):.3f}"
    )


def by_configuration(rows: Iterable[Row]) -> Iterable[list[Row]]:
    """Return the rows of each configuration."""
    found: dict[tuple[object, ...], list[Row]] = defaultdict(list)
    for row in rows:
        found[row.configuration].append(row)
    return found.values()


def kendall(rows: list[Row]) -> float:
    """Return Kendall's tau-b between the peer's order of schedulers and ours.

    Makespans within a thousandth are a tie: no difference that anybody would act on.
    """
    both = ties = pairs = ties_ours = 0
    for one, other in itertools.combinations(rows, 2):
        peer, ours = sign(one.peer_ms, other.peer_ms), sign(one.ms, other.ms)
        pairs += 1
        both += peer * ours
        ties += not peer
        ties_ours += not ours
    return both / float((pairs - ties) * (pairs - ties_ours)) ** 0.5 if both else 0.0


def sign(one: float, other: float) -> int:
    """Return which of two makespans is longer."""
    return 0 if abs(one / other - 1) < 1e-3 else (1 if one > other else -1)


def speed(library: Path, repetitions: int) -> None:
    """Print the times of whole commands on 64,824 tasks, and the peer's."""
    for scheduler, settings, peer_s in SPEED_CASES:
        command = [
            sys.executable, "-m", "tasksim", "simulate", "cholesky", "tiles=72", "tile_size=960",
            "dtype=float32", "--library", str(library), "--platform", "mirage", "--model-names",
            "chol_model_{kernel}", "--scheduler", scheduler, "--json",
            *(part for setting in settings for part in ("--set", setting)),
        ]  # fmt: skip
        walls, rates, answer = [], [], {}
        for _ in range(repetitions):
            begun = time.perf_counter()
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            walls.append(time.perf_counter() - begun)
            answer = json.loads(done.stdout)
            rates.append(answer["tasks_per_s"])
        copies = answer.get("transfers", {}).get("count", 0) / answer["graph"]["tasks"]
        wall = statistics.median(walls)
        print(
            f"{scheduler:6} {' '.join(settings) or '9 CPUs + 3 GPUs':30}"
            f" whole command {wall:5.2f} s ({min(walls):.2f} to {max(walls):.2f}),"
            f" engine {statistics.median(rates):7,.0f} tasks/s, {copies:.2f} copies per task;"
            f" the peer {peer_s} s: {peer_s / wall:.1f} times faster"
        )


def main() -> None:
    """Replay the table and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", type=Path, help="the folder with starpu/ and starpu-simgrid/")
    parser.add_argument("--serial", action="store_true", help="pushes see each other")
    parser.add_argument("--engine", choices=ENGINES, default="auto", help="default: %(default)s")
    parser.add_argument("--rows", action="store_true", help="print every row")
    parser.add_argument("--speed", action="store_true", help="time whole commands instead")
    parser.add_argument("--only", default="", help="schedulers, separated by commas")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        machines = Machines(asked.data, Path(folder))
        if asked.speed:
            import_machine(asked.data / "starpu" / "sampling", "mirage", Path(folder))
            speed(Path(folder), 5)
            return
        rows = []
        with (asked.data / "starpu-simgrid" / "makespans.csv").open() as table:
            for entry in csv.DictReader(table):
                if asked.only and entry["scheduler"] not in asked.only.split(","):
                    continue
                row = machines.run(entry, "serial" if asked.serial else "blind", asked.engine)
                rows.append(row)
                if asked.rows:
                    print(
                        f"{row.scheduler:14} {row.application:10} {row.machine:7} {row.tiles:3}"
                        f" GPUs {row.gpus} CPUs {row.cpus or 'rest':4} peer {row.peer_ms:12.3f} ms"
                        f" ours {row.ms:12.3f} ms {row.error:+7.3f} %"
                        f"  peer {row.peer_gib:7.3f} GiB ours {row.gib:7.3f} GiB"
                    )
        report(rows)


if __name__ == "__main__":
    main()
