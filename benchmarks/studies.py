"""What does a study take beyond the replays of its cells?

    python benchmarks/studies.py                          # two minutes
    python benchmarks/studies.py --jobs 2 --rounds 5

Two studies, with noise: 1,000 cells of Cholesky and QR factorisations of 8 to 20 tiles under five
schedulers on four platforms, and 20,000 cells of a Cholesky factorisation of 10 tiles (220 tasks).
For each, in turn, as medians of the rounds:

- *loop*: the same scenarios by :func:`tasksim.simulate_many` in one thread, which makes no lower
  bounds and keeps nothing: the reference;
- each executor: cells per minute from the first cell sent to the last one kept, processes ready;
  *ratio*, that time times the workers over what the workers took to compute the cells (`seconds` of
  the table): 1 is a study that costs nothing beside its cells; *over*, how much more that is per
  cell; and *whole*, the ratio with planning, starting processes and the first imports, as a user
  waits for a command, less Python's own start. All count the processes that there were in the end:
  `auto`, the default, starts none for a study that is over before they would be ready.

Exit code 1 if `auto` takes more than 1.3 times, as a whole, for the first study, or computes fewer
than 2,000 cells of the second a minute.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tasksim.scenario.many import simulate_many
from tasksim.study.sweep.plan import plan
from tasksim.study.sweep.studies import cores_to_use, run_study
from tasksim.study.sweep.study_file import read_study

STUDIES = {
    "factorisations": """\
version: 1
graphs:
  - {graph: cholesky, set: {tiles: "8..20:3"}}
  - {graph: qr, set: {tiles: "8..20:3"}}
platforms:
  - xeon-2c
  - {platform: xeon-24c, set: {workers.cpu.count: [6, 12, 24]}}
schedulers: [eager, prio, lws, dm, dmdas]
seeds: 5
noise: model
""",
    "small": """\
version: 1
graphs: [cholesky tiles=10]
platforms:
  - {platform: xeon-24c, set: {workers.cpu.count: [2, 4, 8, 16]}}
schedulers: [eager, prio, lws, dm, dmdas]
seeds: 1000
noise: model
""",
}


MAX_WHOLE, LEAST_RATE = 1.3, 2000.0


class Timed(NamedTuple):
    """Cost of a study."""

    cells: int
    sweep_s: float
    whole_s: float
    engine_s: float
    workers: int


def timed(file: Path, executor: str, jobs: int) -> Timed:
    """Run a study into a new folder."""
    with TemporaryDirectory() as folder:
        begun = time.perf_counter()
        done = run_study(file, Path(folder) / "study", executor=executor, jobs=jobs)
        whole_s = time.perf_counter() - begun
    return Timed(done.cells, done.seconds, whole_s, done.engine_s, done.workers)


def loop_s(file: Path) -> float:
    """Replay the cells of a study in a loop; return how long that takes."""
    scenarios = [cell.scenario for cell in plan(read_study(file))]
    begun = time.perf_counter()
    simulate_many(scenarios, threads=1)
    return time.perf_counter() - begun


def report(name: str, loops: list[float], found: dict[str, list[Timed]]) -> bool:
    """Print the medians of a study; return whether `auto` is as good as wanted."""
    cells = next(iter(found.values()))[0].cells
    print(f"{name}: {cells} cells; loop {statistics.median(loops):.2f} s")
    print("  executor   at a time    cells/min     sweep  cells take  ratio    over  whole   wall")
    good = True
    for executor, rounds in found.items():
        sweep_s = statistics.median(one.sweep_s for one in rounds)
        engine_s = statistics.median(one.engine_s for one in rounds)
        ratio = statistics.median(one.sweep_s * one.workers / one.engine_s for one in rounds)
        over_s = statistics.median(
            (one.sweep_s * one.workers - one.engine_s) / one.cells for one in rounds
        )
        whole = statistics.median(one.whole_s * one.workers / one.engine_s for one in rounds)
        wall_s = statistics.median(one.whole_s for one in rounds)
        workers = max(one.workers for one in rounds)
        rate = 60 * cells / sweep_s
        numbers = f"{rate:10,.0f}  {sweep_s:6.2f} s    {engine_s:6.2f} s {ratio:6.3f}"
        numbers = f"{numbers} {1e6 * over_s:5.1f} us {whole:6.2f} {wall_s:5.2f} s"
        print(f"  {executor:10} {workers:9}   {numbers}")
        if executor == "auto":
            good = whole <= MAX_WHOLE if name == "factorisations" else rate >= LEAST_RATE
    return good


def main() -> int:
    """Time the studies; 1 if `auto` is not as good as wanted."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=cores_to_use())
    parser.add_argument("--executors", default="serial,auto,processes,threads")
    arguments = parser.parse_args()
    executors, good = arguments.executors.split(","), True
    with TemporaryDirectory() as folder:
        for name, text in STUDIES.items():
            file = Path(folder) / f"{name}.yaml"
            file.write_text(text)
            loops: list[float] = []
            found: dict[str, list[Timed]] = {executor: [] for executor in executors}
            for _ in range(arguments.rounds):
                loops.append(loop_s(file))
                for executor in executors:
                    found[executor].append(timed(file, executor, arguments.jobs))
            good = report(name, loops, found) and good
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
