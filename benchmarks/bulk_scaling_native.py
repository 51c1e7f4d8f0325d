"""Bulk-synchronous programs for real: sizes that were not measured, from counters and smaller ones.

    python benchmarks/bulk_scaling_native.py [--repetitions 3] [--ranks 1 2 4] [--folder counted]

Conjugate gradients, Jacobi's iteration and SUMMA run on 1, 2 and 4 ranks of this machine with two
sizes, and with a third one that is predicted on each: from counters of their kernels by Valgrind
(kept in --folder), with the costs of messages calibrated between the ranks. Methods as in
bulk_scaling.py; Worley's law is told runs of that very size on the fewer ranks, and asked for the
most. More ranks than cores take turns. Wants a machine at rest.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from bulk_scaling import text_of

from tasksim.base.errors import InputError
from tasksim.formats.platforms import load_network
from tasksim.formats.runs import load_run
from tasksim.graph.distribution.owners import nearly_square
from tasksim.reports.bulk.prediction import BulkModel, MessageCosts
from tasksim.reports.bulk.profile import counts_in, profile_of_run
from tasksim.reports.bulk.report import MeanModels, simulated_s
from tasksim.reports.bulk.tables import SCALING_METHODS, median_errors, scaling_table
from tasksim.reports.scaling_laws import worley_law, worley_undetermined
from tasksim.scenario.recorded import recorded_runs

if TYPE_CHECKING:
    from tasksim.network.description import Network
    from tasksim.run.samples import RecordedRun

TASKSIM_COMMAND = [sys.executable, "-m", "tasksim"]
COUNTED_SETTINGS = {
    "cg": "block_rows=2 block_columns=2 block_size=256 iterations=1",
    "jacobi": "block_rows=2 block_columns=2 block_size=256 iterations=1",
    "summa": "tiles=2 tile_size=128",
}
KNOWN_SETTINGS = {
    "cg": ("block_rows=4 block_columns=4", "block_rows=4 block_columns=8"),
    "jacobi": ("block_rows=4 block_columns=4", "block_rows=4 block_columns=8"),
    "summa": ("tiles=4 tile_size=128", "tiles=6 tile_size=128"),
}
PREDICTED_SETTINGS = {
    "cg": "block_rows=8 block_columns=8",
    "jacobi": "block_rows=8 block_columns=8",
    "summa": "tiles=8 tile_size=128",
}


def counted(folder: Path, name: str) -> Path:
    """Return the folder with the counters of a program; counted now if they are not there."""
    path = folder / name
    if not path.exists():
        _called(
            [
                *TASKSIM_COMMAND,
                "counters",
                name,
                *COUNTED_SETTINGS[name].split(),
                "--samples",
                "1",
                "-o",
                path,
            ]
        )
    return path


def _called(words: list[object]) -> None:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}:\n{done.stdout}{done.stderr}")


def mpiexec(ranks: int) -> list[str]:
    """Return the words that start so many ranks."""
    found = which("mpiexec", path=Path(sys.executable).parent) or "mpiexec"
    return [found, "-n", str(ranks), *TASKSIM_COMMAND]


def real_run(name: str, settings: str, ranks: int, folder: Path) -> RecordedRun:
    """Run a program on so many ranks, a worker each; return what was recorded."""
    grid = nearly_square(ranks)
    words = [*name.split(), *settings.split(), "--workers", "1", "-o", folder, "--no-check"]
    if ranks > 1:
        words += ["--grid", f"{grid.rows}x{grid.columns}"]
    _called([*(mpiexec(ranks) if ranks > 1 else TASKSIM_COMMAND), "run", *words])
    return recorded_runs([(folder, load_run(folder))])[0]


def judged(
    name: str, ranks: list[int], repetitions: int, folder: Path, counters: Path, network: Network
) -> pd.DataFrame:
    """Return the table of a program, its larger size predicted on each number of ranks."""
    counts, cores = counts_in(counters), len(os.sched_getaffinity(0))
    few: list[RecordedRun] = []
    asked: list[RecordedRun] = []
    for repetition in range(repetitions):
        for count in ranks:
            for number, settings in enumerate((*KNOWN_SETTINGS[name], PREDICTED_SETTINGS[name])):
                path = folder / f"{name}-{repetition}-{count}-{number}"
                run = real_run(name, settings, count, path)
                (few if number < len(KNOWN_SETTINGS[name]) else asked).append(run)
    known, wanted = ([profile_of_run(run, counts) for run in runs] for runs in (few, asked))
    model = BulkModel(known, MessageCosts(network), cores=cores)
    means, told = MeanModels(few), {}
    for run, profile in zip(asked[: len(ranks)], wanted, strict=False):
        try:
            told[profile.ranks, profile.size] = simulated_s(
                run.graph, nearly_square(profile.ranks), "row", network, means, cores=cores
            )
        except InputError as error:
            print(f"{name} on {profile.ranks} ranks is not simulated: {error}")
    times = [told.get((profile.ranks, profile.size), math.nan) for profile in wanted]
    table = scaling_table(model, known, wanted, times).groupby("ranks").median().reset_index()
    most = table["ranks"].max()
    fewer = table[table["ranks"] < most]
    if not worley_undetermined(fewer["ranks"].tolist()):
        law = worley_law(fewer["ranks"].tolist(), fewer["measured_s"].tolist())
        last = table["ranks"] == most
        table.loc[last, "worley_s"] = float(law.seconds(most))
        error = 100.0 * (table["worley_s"] / table["measured_s"] - 1.0)
        table["worley_error_percent"] = np.where(last, error, np.nan)
    print(f"\n{name} {PREDICTED_SETTINGS[name]}; BF_comm {model.bf_comm:.2f}")
    print(text_of(table), flush=True)
    return table


def main() -> None:
    """Print a table per program, and the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--programs", nargs="+", default=list(PREDICTED_SETTINGS))
    parser.add_argument("--folder", type=Path, help="of counters; kept")
    options = parser.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        kept = options.folder or folder
        counters = {name: counted(kept, name) for name in options.programs}
        print(f"counters after {time.monotonic() - begun:.0f} s", flush=True)
        words = ["calibrate", "network", "--quick", "--library", folder / "lib", "--name", "here"]
        # More ranks than cores would wait for each other's, and that would count as messages' time.
        _called([*mpiexec(max(2, min(max(options.ranks), len(os.sched_getaffinity(0))))), *words])
        network = load_network("here", folder / "lib")
        tables = [
            judged(name, options.ranks, options.repetitions, folder, counters[name], network)
            for name in options.programs
        ]
    every = pd.concat(tables)
    print("\nmedian |error|, worst:")
    for name, error in median_errors(every).items():
        worst = every[f"{name}_error_percent"].abs().max()
        print(f"  {SCALING_METHODS[name]:52} {error:6.1f} %  {worst:7.1f} %")
    print(f"{time.monotonic() - begun:.0f} s; load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
