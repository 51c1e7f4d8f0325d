"""Does anything grow? Memory, open files, threads and processes of one process that does it all.

    python benchmarks/soak.py --minutes 20
    python benchmarks/soak.py --minutes 2 --only study page

Each round does each activity once: many simulations with noise, a run written and read, a study in
processes, a native run, a recording, pages, figures, a fit. After it the process is measured.

Printed are the growths per hour and per round, as the median of the slopes between all pairs of
rounds (Theil and Sen) after the first quarter, which fills caches; and per activity, how much
memory it added per round. Allocators take and return memory in pieces, so single rounds say
nothing.

Exit code 1 if files, threads, processes or temporary files grow, or memory by more than
--most-mib an hour.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

import tasksim

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

DURATIONS_S: Final = {"potrf": 1e-3, "trsm": 3e-3, "syrk": 3e-3, "gemm": 6e-3}
STUDY_TEXT: Final = """\
version: 1
graphs: [{graph: cholesky, set: {tiles: [6, 10]}}]
platforms: [xeon-24c]
schedulers: [eager, lws, dmdas]
seeds: 5
noise: model
"""


class Measured(NamedTuple):
    """Resources of this process after a round."""

    at_s: float
    memory_kib: int
    files: int
    threads: int
    processes: int
    temporary: int
    """Number of entries of the folder for temporary files, which only this process uses."""


def resident_kib() -> int:
    """Return the memory of this process that is its own, without files that it maps."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1])
    raise RuntimeError("/proc/self/status has no line RssAnon")


def measure(begun: float, temporary: Path) -> Measured:
    """Return what this process has now."""
    gc.collect()
    threads = list(Path("/proc/self/task").iterdir())
    children = sum(
        len((thread / "children").read_text(encoding="utf-8").split()) for thread in threads
    )
    return Measured(
        time.monotonic() - begun,
        resident_kib(),
        len(list(Path("/proc/self/fd").iterdir())),
        len(threads),
        children,
        len(list(temporary.iterdir())),
    )


def simulate_many(folder: Path) -> None:  # noqa: ARG001
    """Simulate scenarios with noise on all cores, and one with SimPy."""
    base = tasksim.Scenario("cholesky tiles=12", platform="xeon-24c", noise="model")
    tasksim.simulate_many([base.vary(seed=seed) for seed in range(100)]).critical_counts()
    tasksim.simulate("cholesky tiles=8", workers=4, durations=DURATIONS_S, engine="simpy")


def run_folder(folder: Path) -> None:
    """Write a run, read it, compare it with itself."""
    run = tasksim.simulate("qr tiles=12", platform="xeon-24c", check=True)
    tasksim.save_run(run, folder / "run")
    tasksim.compare(tasksim.load_run(folder / "run"), run)


def study(folder: Path) -> None:
    """Compute a study, in this process and in others."""
    from tasksim.study.sweep.studies import run_study

    (folder / "study.yaml").write_text(STUDY_TEXT, encoding="utf-8")
    for executor in ("serial", "threads", "processes"):
        run_study(folder / "study.yaml", folder / executor, executor=executor, jobs=2)


def native(folder: Path) -> None:  # noqa: ARG001
    """Execute a factorisation on both runtimes."""
    tasksim.execute("cholesky tiles=6 tile_size=64", workers=2, check=True)
    tasksim.execute("cholesky tiles=6 tile_size=64", workers=2, runtime="python")


def recording(folder: Path) -> None:
    """Record a pool of threads, replay the recording, write it."""
    with tasksim.record("soak") as recorded, ThreadPoolExecutor(2) as pool:
        for _ in range(40):
            pool.submit(pow, 3, 1000, 1009)
    recorded.simulate(4)
    recorded.save(folder / "recorded")


def page(folder: Path) -> None:
    """Write a page of runs, and a live page."""
    run = tasksim.simulate("cholesky tiles=10", workers=4, durations=DURATIONS_S)
    tasksim.save_page(run, folder / "page.html")
    tasksim.explore(run, folder / "live.html")


def figure(folder: Path) -> None:
    """Draw a run."""
    run = tasksim.simulate("cholesky tiles=10", workers=4, durations=DURATIONS_S)
    tasksim.save_figure(tasksim.figure(run), folder / "run.png")


def fit(folder: Path) -> None:  # noqa: ARG001
    """Fit a kernel model."""
    rng = np.random.default_rng(0)
    table = rng.integers(16, 512, (64, 2)).astype(float)
    seconds = 1e-9 * table.prod(axis=1) * rng.lognormal(0, 0.05, len(table))
    tasksim.select(tasksim.Samples(("m", "n"), table, seconds), ["mlr"])


ACTIVITIES: Final[dict[str, Callable[[Path], None]]] = {
    each.__name__: each
    for each in (simulate_many, run_folder, study, native, recording, page, figure, fit)
}


def slope(times: Sequence[float], values: Sequence[float]) -> float:
    """Return the median of the slopes between all pairs of points.

    >>> slope([0, 1, 2, 3, 4], [5, 7, 9, 11, 100])
    2.0
    """
    pairs = [
        (values[j] - values[i]) / (times[j] - times[i])
        for i in range(len(times))
        for j in range(i + 1, len(times))
    ]
    return statistics.median(pairs) if pairs else 0.0


def soak(minutes: float, names: Sequence[str]) -> tuple[list[Measured], dict[str, list[int]]]:
    """Do rounds for some minutes; return a measurement per round, and the growth by activity."""
    rows: list[Measured] = []
    grown: dict[str, list[int]] = defaultdict(list)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        tempfile.tempdir = name  # where all that this process leaves behind shows
        while time.monotonic() - begun < 60 * minutes:
            for activity in names:
                before = resident_kib()
                with tempfile.TemporaryDirectory() as folder:
                    ACTIVITIES[activity](Path(folder))
                gc.collect()
                grown[activity].append(resident_kib() - before)
            rows.append(measure(begun, Path(name)))
            last = rows[-1]
            print(
                f"\rround {len(rows)}, {last.at_s / 60:.1f} min: {last.memory_kib / 1024:.0f} MiB,"
                f" {last.files} files, {last.threads} threads, {last.processes} processes ",
                end="", file=sys.stderr, flush=True,
            )  # fmt: skip
        tempfile.tempdir = None
    print(file=sys.stderr)
    return rows, grown


def report(rows: list[Measured], grown: dict[str, list[int]], most_mib: float) -> bool:
    """Print the slopes; return whether nothing grows."""
    first = len(rows) // 4
    settled = rows[first:]
    times, good = [row.at_s / 3600 for row in settled], True
    print(
        f"{len(rows)} rounds in {rows[-1].at_s / 60:.1f} minutes; slopes without the first {first}"
    )
    print("                    after warm-up       end        per hour       per round")
    for name in Measured._fields[1:]:
        values = [float(getattr(row, name)) for row in settled]
        hourly, each = slope(times, values), slope(range(len(values)), values)
        print(f"{name:12} {values[0]:20,.0f} {values[-1]:9,.0f} {hourly:15,.1f} {each:15,.2f}")
        good = good and hourly <= (1024 * most_mib if name == "memory_kib" else 0.0)
    print("memory by activity, KiB per round: mean, median")
    for name, growths in grown.items():
        later = growths[first:]
        print(f"  {name:16} {statistics.mean(later):10.1f} {statistics.median(later):10.1f}")
    return good


def main() -> int:
    """Do rounds; return 1 if something grows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--only", nargs="+", choices=ACTIVITIES, default=list(ACTIVITIES))
    parser.add_argument("--most-mib", type=float, default=10.0, help="legal growth per hour")
    given = parser.parse_args()
    rows, grown = soak(given.minutes, given.only)
    return int(not report(rows, grown, given.most_mib))


if __name__ == "__main__":
    sys.exit(main())
