"""A study of 100,000 cells on Dask, whose workers are killed meanwhile: is each cell there once?

    python benchmarks/killed_workers.py                     # some minutes
    python benchmarks/killed_workers.py --seeds 500 --period 5

The study is a Cholesky factorisation of 10 tiles (220 tasks) with noise, under five schedulers on
four platforms: 20 cells per seed. Dask has a process per core. Every --period seconds (half to one
and a half times as much) one of them is killed by SIGKILL, and another starts. Then the same study
is computed in this process, and both tables are compared.

Exit code 1 if a cell is missing, failed, is there twice, or differs, or if no worker was killed.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import psutil

from tasksim.study.sweep.store import read_table
from tasksim.study.sweep.studies import cores_to_use, run_study

if TYPE_CHECKING:
    import pandas as pd

    from tasksim.study.sweep.running import Progress

STUDY_TEXT = """\
version: 1
graphs: [cholesky tiles=10]
platforms:
  - {{platform: xeon-24c, set: {{workers.cpu.count: [2, 4, 8, 16]}}}}
schedulers: [eager, prio, lws, dm, dmdas]
seeds: {seeds}
noise: model
"""
ANSWER_COLUMNS = ["cell", "status", "makespan_s"]
"""The columns that must not depend on where a cell was computed."""


class Killer(threading.Thread):
    """A thread that kills a worker of Dask every few seconds, and notes the workers' memory."""

    def __init__(self, period_s: float) -> None:
        super().__init__(daemon=True)
        self.killed = 0
        self.peak_bytes = 0
        """Peak memory of the largest worker."""
        self._period_s = period_s
        self._over = threading.Event()

    def run(self) -> None:
        """Kill workers until :meth:`stop`."""
        rng = random.Random(0)
        while not self._over.wait(self._period_s * rng.uniform(0.5, 1.5)):
            workers = [
                child
                for child in psutil.Process().children(recursive=True)
                if "resource_tracker" not in " ".join(child.cmdline())  # Dask renames the workers
            ]
            self.peak_bytes = max([self.peak_bytes, *map(_peak_bytes, workers)])
            if workers:
                rng.choice(workers).kill()
                self.killed += 1

    def stop(self) -> None:
        """End the thread."""
        self._over.set()
        self.join()


def _peak_bytes(process: psutil.Process) -> int:
    """Return the peak memory of a process; 0 if it has just ended.

    ``ru_maxrss`` would count the memory of this process, which a worker has before its ``exec``.
    """
    try:
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    except OSError:
        return 0
    return next((int(x.split()[1]) * 1024 for x in status.splitlines() if "VmHWM" in x), 0)


def computed(
    file: Path, folder: Path, executor: str, killer: Killer | None = None
) -> tuple[pd.DataFrame, float]:
    """Return the table of the study, ordered by cell, and the wall time in seconds.

    The killer starts when the first cells are done: all workers are there then.
    """

    def tell(progress: Progress) -> None:
        print(f"\r{progress!s:60}", end="", file=sys.stderr, flush=True)
        if killer is not None and progress.done and not killer.is_alive():
            killer.start()

    begun = time.perf_counter()
    run_study(file, folder, executor=executor, jobs=cores_to_use(), tell=tell)
    seconds = time.perf_counter() - begun
    print(file=sys.stderr)
    return read_table(folder).sort_values("cell", ignore_index=True), seconds


def main() -> int:
    """Compute the study twice; return 1 if the tables differ."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5000, help="20 cells each")
    parser.add_argument("--period", type=float, default=15.0, help="seconds between two kills")
    given = parser.parse_args()
    with TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "study.yaml"
        file.write_text(STUDY_TEXT.format(seeds=given.seeds), encoding="utf-8")
        killer = Killer(given.period)
        found, dask_s = computed(file, folder / "dask", "dask", killer)
        killer.stop()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        here, here_s = computed(file, folder / "here", "serial")
    twice, failed = int(found["cell"].duplicated().sum()), int((found["status"] != "done").sum())
    lost = len(set(here["cell"]) - set(found["cell"]))
    equal = found[ANSWER_COLUMNS].equals(here[ANSWER_COLUMNS])
    print(
        f"{len(found):,} cells on Dask in {dask_s:.1f} s, {killer.killed} workers killed;"
        f" {lost} lost, {twice} twice, {failed} failed; peak {peak:.2f} GiB with the scheduler,"
        f" {killer.peak_bytes / 2**30:.2f} GiB a worker\n"
        f"in one process {here_s:.1f} s; answers {'equal' if equal else 'DIFFER'}"
    )
    return int(not equal or len(found) != 20 * given.seeds or not killer.killed)


if __name__ == "__main__":
    sys.exit(main())
