"""Native StarPU against tasksim, and against StarPU-SimGrid where it is at hand.

    python benchmarks/starpu_native.py                     # 24 cases, three rounds: a quarter hour
    python benchmarks/starpu_native.py --simgrid PREFIX    # with StarPU-SimGrid, installed there
    python benchmarks/starpu_native.py --rounds 1 --tiles 6 8 --tile-size 128 --patience 0s

StarPU's own examples, Cholesky in float32 and LU in float64, run on this machine's cores, as Debian
packages them (starpu-tools, starpu-examples). First they are calibrated with CALIBRATED tiles in a
row, which no case has. What StarPU then knows of the machine is imported, and every case simulated
with it; StarPU-SimGrid gets the same files. Nothing is fitted.

Native runs are interleaved: every case once, then every case again. Calibrations and runs count if
other programs used hardly any processor time meanwhile (/proc/stat), and are done again otherwise,
--patience in all. A star marks cases with a run that was disturbed all the same, the last line
counts them: errors are then the machine's as much as the prediction's. StarPU has a worker on each
core; its main thread, which submits the tasks, shares a core with one of them, and idle workers
poll.

PREFIX has lib/starpu/examples of a StarPU of the same version that was configured with
--enable-simgrid, and with --enable-maxcpus at least the number of cores here.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import tasksim
from tasksim.base.units import parse_quantity
from tasksim.formats.starpu.examples import EXAMPLES, Example
from tasksim.formats.starpu.machine_import import import_machine
from tasksim.graph.apps.registry import generate
from tasksim.models.files.store import ModelLibrary
from tasksim.native.calm_moments import MeasuredGate, measure_calmly
from tasksim.native.this_machine import usable_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.native.calm_moments import Calmness, CalmValues

MACHINE_NAME = "here"
PROGRAMS = {"cholesky": "cholesky_implicit", "lu": "lu_implicit_example_double"}
"""StarPU's examples, by the generator of their graphs."""
DTYPES = {"cholesky": "float32", "lu": "float64"}
SCHEDULERS = ("eager", "lws", "ws", "prio", "dmda", "dmdas")
CALIBRATED, CALIBRATIONS = 10, 4
"""Tiles in a row of calibrations, and how many there are of each example."""

Case = tuple[str, int, str]
"""Generator, tiles in a row, scheduler."""

MAX_SHARE_OF_OTHERS = 0.1
"""Largest share of the cores that others use during a calm run. The shortest take .06 s, of which
the unit of /proc/stat, a hundredth of a second, is .08 of two cores; a neighbour takes .3 to .5."""


class Timed(NamedTuple):
    """Duration of a program in seconds, and the share of the cores that others used meanwhile."""

    seconds: float
    others_share: float


def busy_s() -> float:
    """Return for how long the cores have been busy, or the host had them, together."""
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(
        int, Path("/proc/stat").read_text().split()[1:9]
    )
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def own_s() -> float:
    """Return the processor time of this process and of its children that have ended."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def timed(run: Callable[[], float]) -> Timed:
    """Return what *run* returns, and what others used while it ran."""
    before, begun = busy_s() - own_s(), time.monotonic()
    seconds = run()
    cores_s = (time.monotonic() - begun) * (os.cpu_count() or 1)
    return Timed(seconds, max(busy_s() - own_s() - before, 0.0) / cores_s)


def others_share(value: Timed) -> float:
    """Return the share of the cores that others used."""
    return value.others_share


def debian_examples() -> Path | None:
    """Return the folder of Debian's examples of StarPU; None where they are not installed."""
    found = sorted(Path("/usr/lib").glob(f"*/starpu/examples/{PROGRAMS['cholesky']}"))
    return found[0].parent if found else None


@dataclass(frozen=True)
class StarPU:
    """An installation of StarPU, and the folder where it keeps what it measures of ``here``."""

    examples: Path
    home: Path
    libraries: Path | None = None

    @property
    def sampling(self) -> Path:
        """The sampling directory."""
        return self.home / ".starpu" / "sampling"

    def environment(self, **more: str) -> dict[str, str]:
        """Return the environment of its programs."""
        own = {
            "STARPU_HOME": str(self.home),
            "STARPU_HOSTNAME": MACHINE_NAME,
            "OPENBLAS_NUM_THREADS": "1",
        }
        if self.libraries is not None:
            own["LD_LIBRARY_PATH"] = str(self.libraries)
        others = {name: value for name, value in os.environ.items() if "STARPU" not in name}
        return {**others, **own, **more}

    def run(self, case: Case, tile_size: int, **more: str) -> float:
        """Return the makespan that the example of a *case* prints, in seconds."""
        graph, tiles, scheduler = case
        program = self.examples / PROGRAMS[graph]
        command = [str(program), "-size", str(tiles * tile_size), "-nblocks", str(tiles)]
        environment = self.environment(STARPU_SCHED=scheduler, **more)
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=600
        )
        if done.returncode:
            sys.exit(f"{program} failed ({done.returncode}): {done.stderr[-500:]}")
        _, milliseconds, _ = done.stdout.split("\n")[1].split("\t")  # size, ms, GFlop/s
        return float(milliseconds) / 1e3

    def calibrate(self, graph: str, tile_size: int, tiles: int = CALIBRATED) -> float:
        """Let StarPU measure the kernels of an example; return the makespan, in seconds."""
        return self.run((graph, tiles, "dmdas"), tile_size, STARPU_CALIBRATE="1")


def example_of(graph: str, models: ModelLibrary) -> Example:
    """Return the example with all its performance models among *models*."""
    fitting = [e for e in EXAMPLES if e.graph == graph and e.dtype == DTYPES[graph]]
    return next(e for e in fitting if any(e.model_names(models.kernels())))


def submitted(example: Example, tiles: int, tile_size: int) -> TaskGraph:
    """Return the graph as the example submits it: before StarPU 1.4, other tasks were urgent."""
    graph = generate(example.graph, tiles=tiles, tile_size=tile_size, dtype=example.dtype)
    if example.parts == example.kernels:
        return graph
    written = graph.access_handle[graph.access_ptr[1:] - 1]  # the last datum of each task
    row, column = np.divmod(written, tiles)
    if example.graph == "cholesky":  # an update of tile (m, n) in step k: 2N - 2k - m - n
        is_syrk = graph.kernel == graph.kernels.index("syrk")
        return replace(graph, priority=np.where(is_syrk, graph.priority - row, graph.priority))
    # LU: the first task of each kind in step k, the most urgent; all others alike.
    first = graph.access_handle[graph.access_ptr[:-1]]
    step = np.minimum(first // tiles, first % tiles)
    urgent = np.maximum(row, column) <= step + 1
    return replace(graph, priority=urgent.astype(np.int32))


class Simulated:
    """tasksim with what StarPU measured, imported."""

    def __init__(self, sampling: Path, library: Path) -> None:
        found = import_machine(sampling, MACHINE_NAME, library)
        self.platform, self.models = found.platform_path, ModelLibrary(found.models_folder)

    def run(self, case: Case, tile_size: int) -> tasksim.Run:
        """Return the simulated run of a *case*."""
        name, tiles, scheduler = case
        example = example_of(name, self.models)
        graph = submitted(example, tiles, tile_size)
        names = next(example.model_names(self.models.kernels()))
        return tasksim.simulate(graph, self.platform, self.models, scheduler, model_names=names)


def calibrate_calmly(starpu: StarPU, tile_size: int, patience_s: float) -> int:
    """Let StarPU measure both examples in calm moments; return how many runs were disturbed.

    What a disturbed run added to StarPU's files is taken back, and it is done again, while patience
    lasts.
    """
    gate, until = MeasuredGate(others_share, MAX_SHARE_OF_OTHERS), time.monotonic() + patience_s
    before, disturbed = starpu.home.with_name("before"), 0
    for graph in list(PROGRAMS) * CALIBRATIONS:
        shutil.copytree(starpu.home, before)
        calibrate = partial(timed, partial(starpu.calibrate, graph, tile_size))
        _, taken = gate.during(calibrate, until)
        while not (calm := gate.is_calm(taken)) and time.monotonic() < until:
            shutil.rmtree(starpu.home)
            shutil.copytree(before, starpu.home)
            _, taken = gate.during(calibrate, until)
        disturbed += not calm
        shutil.rmtree(before)
    return disturbed


def peer(native: StarPU, prefix: Path, home: Path) -> StarPU:
    """Return StarPU-SimGrid, installed at *prefix*, with a copy of what StarPU measured."""
    shutil.copytree(native.home / ".starpu", home / ".starpu")
    return StarPU(prefix / "lib" / "starpu" / "examples", home, prefix / "lib")


def table(
    cases: Sequence[Case],
    measured: CalmValues[Timed],
    ours: Sequence[float],
    theirs: Sequence[float | None],
) -> Iterator[str]:
    """Yield the table in Markdown: medians, errors in percent of the native one."""
    yield "| graph | tiles | scheduler | native | spread | tasksim | error | SimGrid | error |"
    yield "|---|---|---|---|---|---|---|---|---|"
    values = zip(cases, measured.values, measured.disturbed, ours, theirs, strict=True)
    for (graph, tiles, scheduler), runs, disturbed, our, their in values:
        native = [run.seconds for run in runs]
        median = statistics.median(native)
        spread = 100 * (max(native) - min(native)) / median
        cells = [
            graph, tiles, scheduler, f"{1e3 * median:.0f} ms{'*' * any(disturbed)}",
            f"{spread:.0f} %", f"{1e3 * our:.1f} ms", f"{100 * (our / median - 1):+.1f} %",
            "" if their is None else f"{1e3 * their:.0f} ms",
            "" if their is None else f"{100 * (their / median - 1):+.1f} %",
        ]  # fmt: skip
        yield f"| {' | '.join(map(str, cells))} |"
    if measured.calm.disturbed:
        yield "\n\\* with a disturbed run among them"


def errors(what: str, found: Sequence[float], of: Sequence[float]) -> str:
    """Return a line: median and worst error of *found* against *of*."""
    several = sorted(100 * abs(a / b - 1) for a, b in zip(found, of, strict=True))
    return f"{what}: median {statistics.median(several):.1f} %, worst {several[-1]:.1f} %"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--simgrid", type=Path, metavar="PREFIX", help="StarPU-SimGrid's prefix")
    parser.add_argument("--examples", type=Path, default=debian_examples(), help="their folder")
    parser.add_argument("--rounds", type=int, default=3, help="native runs of each case")
    parser.add_argument("--tiles", type=int, nargs="+", default=[8, 16], help="in a row")
    parser.add_argument("--tile-size", type=int, default=256)
    parser.add_argument("--patience", default="20min", help="to wait for calm moments, in all")
    given = parser.parse_args()
    if given.examples is None:
        sys.exit("no examples of StarPU: apt-get install starpu-tools starpu-examples")
    patience_s = parse_quantity(given.patience, "time")
    cases = [(g, t, s) for g in PROGRAMS for t in given.tiles for s in SCHEDULERS]
    print(f"{len(usable_cores())} cores, load {os.getloadavg()[0]:.2f} before")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        native = StarPU(given.examples, folder / "native")
        native.home.mkdir()
        disturbed = calibrate_calmly(native, given.tile_size, patience_s / 2)
        measured = measure_calmly(
            [
                partial(timed, partial(native.run, case, given.tile_size, STARPU_CALIBRATE="0"))
                for case in cases
            ],
            MeasuredGate(others_share, MAX_SHARE_OF_OTHERS),
            repetitions=given.rounds,
            patience_s=patience_s / 2,
            progress=lambda done, of: print(f"\r{done}/{of}", end="", file=sys.stderr, flush=True),
        )
        print(f"\r{' ' * 20}\r", end="", file=sys.stderr)
        print(f"load {os.getloadavg()[0]:.2f} after, with these runs in it\n")
        simulated = Simulated(native.sampling, folder / "library")
        ours = [simulated.run(case, given.tile_size).makespan_s for case in cases]
        theirs: list[float | None] = [None] * len(cases)
        if given.simgrid is not None:
            simgrid = peer(native, given.simgrid, folder / "simgrid")
            workers = str(len(usable_cores()))
            theirs = [simgrid.run(case, given.tile_size, STARPU_NCPU=workers) for case in cases]
    print("\n".join(table(cases, measured, ours, theirs)), end="\n\n")
    medians = [statistics.median(run.seconds for run in runs) for runs in measured.values]
    print(errors("tasksim against native StarPU", ours, medians))
    known = [value for value in theirs if value is not None]
    if known:
        print(errors("StarPU-SimGrid against native StarPU", known, medians))
        print(errors("tasksim against StarPU-SimGrid", ours, known))
    print(calmness(disturbed, measured.calm))


def calmness(calibrations: int, calm: Calmness) -> str:
    """Return a line about how calm the machine was; *calibrations* that were disturbed."""
    if not (calibrations or calm.disturbed):
        return f"calm: all {calm.kept} runs and their calibrations had the cores to themselves"
    return (
        f"NOT CALM: {calm.disturbed} of {calm.kept} runs and {calibrations} of "
        f"{CALIBRATIONS * len(PROGRAMS)} calibrations were made while others used the cores"
    )


if __name__ == "__main__":
    main()
