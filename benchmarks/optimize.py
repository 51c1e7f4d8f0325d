"""Optimised schedules against heuristics and bounds, on machines that StarPU calibrated.

Tiled Cholesky and LU (StarPU's applications, tiles of 960 x 960, float32) on mirage (9 cores, 3
GPUs) and sirocco (20 cores, 4 GPUs), with copies; each makespan is a replay. The machines are
imported from StarPU's sampling files. With ``--random`` instead: graphs of 1,000 tasks on the two
kinds of workers, annealing against all heuristics.

    python benchmarks/optimize.py DATA --time 60
    python benchmarks/optimize.py --random 10 --time 60
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

import numpy as np

import tasksim
from tasksim.graph.builder import GraphBuilder, R, W
from tasksim.platform.description import Memory, Platform, Worker

APPLICATIONS = {"cholesky": "chol_model_{kernel}", "lu": "starpu_slu_lu_model_{kernel}"}
SHOWN = ("dmdas", "dmdar", "heteroprio", "heft")


def table(sampling: Path, tiles: list[int], time_s: float, seed: int, method: str) -> None:
    """Print a row per application, machine and number of tiles."""
    head = [f"{name:>10}" for name in (*SHOWN, "best", "optimised", "shorter", "bound", "gap")]
    print(f"{'application':11} {'machine':8} {'tiles':>5} {'tasks':>5}", *head, " replays/s")
    gains = []
    with tempfile.TemporaryDirectory() as folder:
        for machine in ("mirage", "sirocco"):
            tasksim.import_machine(sampling, machine, Path(folder))
            for app, names in APPLICATIONS.items():
                for count in tiles:
                    asked = tasksim.Scenario(
                        f"{app} tiles={count} tile_size=960 dtype=float32",
                        platform=machine,
                        library=folder,
                        model_names=names,
                    )
                    found = tasksim.optimize(asked, time_s=time_s, seed=seed, method=method)
                    best_s = min(found.heuristics.values())
                    gains.append(1 - found.makespan_s / best_s)
                    times = [
                        *(found.heuristics.get(name, np.nan) for name in SHOWN),
                        best_s,
                        found.makespan_s,
                    ]
                    print(
                        f"{app:11} {machine:8} {count:5} {len(found.plan):5}",
                        *(f"{1e3 * value:7.1f} ms" for value in times),
                        f"{100 * gains[-1]:8.1f} %",
                        f"{1e3 * found.bound_s:7.1f} ms",
                        f"{100 * found.gap:8.1f} %",
                        f"{found.replays_per_s:10.0f}",
                        flush=True,
                    )
    print(f"median: {100 * statistics.median(gains):.1f} % shorter than the best heuristic")


def random_graph(tasks: int, seed: int) -> tasksim.TaskGraph:
    """Return a graph in which each task reads data of up to three of the 50 before it."""
    rng = np.random.default_rng(seed)
    builder = GraphBuilder(f"random-{seed}")
    data = [builder.handle(f"x{task}", size_bytes=8) for task in range(tasks)]
    for task in range(tasks):
        first = max(0, task - 50)
        count = min(task - first, int(rng.integers(0, 4)))
        before = rng.choice(np.arange(first, task), count, replace=False) if count else []
        builder.insert(f"k{rng.integers(8)}", *(R(data[k]) for k in before), W(data[task]))
    return builder.build()


def random_graphs(count: int, time_s: float, seed: int) -> None:
    """Print on how many random graphs annealing is better than every heuristic."""
    cores = [Worker(k, f"cpu{k}", "cpu", 0) for k in range(6)]
    fast = [Worker(6 + k, f"gpu{k}", "cuda", 0) for k in range(2)]
    platform = Platform("two kinds", (*cores, *fast), (Memory(0, "ram"),))
    better, gains = 0, []
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        seconds = {f"k{k}": float(rng.uniform(0.5, 2.0)) for k in range(8)}
        seconds |= {f"cuda:k{k}": seconds[f"k{k}"] / float(rng.uniform(0.5, 8)) for k in range(8)}
        graph = random_graph(1000, seed * 1000 + number)
        found = tasksim.optimize(
            graph, platform, durations=seconds, time_s=time_s, seed=seed, method="annealing"
        )
        best_s = min(found.heuristics.values())
        better += found.makespan_s < best_s
        gains.append(1 - found.makespan_s / best_s)
        print(
            f"{number:3} {found.best_heuristic:10} {best_s:8.3f} s, optimised "
            f"{found.makespan_s:8.3f} s, {100 * gains[-1]:5.2f} % shorter, gap "
            f"{100 * found.gap:5.2f} %, {found.replays_per_s:.0f} replays/s",
            flush=True,
        )
    print(
        f"better than every heuristic on {better} of {count}, "
        f"{100 * statistics.median(gains):.2f} % in the median"
    )


def main() -> None:
    """Print the table, or what comes of random graphs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, nargs="?", help="the folder with sampling/")
    parser.add_argument("--tiles", type=int, nargs="+", default=[6, 8, 10, 12])
    parser.add_argument("--time", type=float, default=60.0, help="seconds per search")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--method", default="auto", choices=["auto", "annealing", "solver"])
    parser.add_argument("--random", type=int, default=0, metavar="N", help="random graphs")
    asked = parser.parse_args()
    if asked.random:
        random_graphs(asked.random, asked.time, asked.seed)
    elif asked.data is None:
        parser.error("give the folder with StarPU's sampling/, or --random N")
    else:
        table(asked.data / "sampling", asked.tiles, asked.time, asked.seed, asked.method)


if __name__ == "__main__":
    main()
