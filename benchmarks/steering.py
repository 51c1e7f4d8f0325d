"""Steered measuring against uniform: seconds until a makespan is known, and how far off it is.

    python benchmarks/steering.py                          # some minutes
    python benchmarks/steering.py --until 2% --limit 20 --json steering.json
    python benchmarks/steering.py --made-up 5%             # no kernels, bursts that differ by it

Cholesky, LU and QR of three sizes, real kernels of this machine, measured by themselves in bursts.
Three take turns, burst by burst, so that all see the same machine:

- *steered*: what the makespan needs next (``tasksim calibrate GRAPH --until makespan:2%``);
- *uniform*: every kernel to the same precision as is asked of the makespan, the one known worst
  next: where nobody looks at the graph, that is how the makespan gets there;
- *reference*: all kernels in turn, as long as the others measure. Its makespan is what those of
  the other two are compared with.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tasksim.calibration.kernels_under_load import BURST_S, Bursts, KernelCall
from tasksim.calibration.steering import MIN_BURSTS, Configuration, Steering
from tasksim.calibration.timed_executions import ExecutionTimes
from tasksim.cli.options import SHARE
from tasksim.graph.apps.registry import generate
from tasksim.kernels.threads import single_threaded_blas
from tasksim.native.this_machine import usable_cores
from tasksim.platform.description import Platform

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.calibration.steering import Burst
    from tasksim.graph.taskgraph import TaskGraph

SIZES = ((8, 256), (12, 192), (16, 128))
"""Tiles and their size."""
GRAPHS = [(name, *size) for size in SIZES for name in ("cholesky", "lu", "qr")]


FLOP_FACTORS = {
    "potrf": 1 / 3, "getrf": 2 / 3, "geqrt": 4 / 3, "trsm": 1, "trsm_ll": 1, "trsm_ru": 1,
    "syrk": 1, "gemm": 2, "gemm_nn": 2, "gemqrt": 2, "tpqrt": 2, "tpmqrt": 4,
}  # fmt: skip
"""Of a kernel over the cube of the tile size: what made-up ones take."""
FLOP_PER_S = 5e10
BURST_EXECUTIONS = 8
"""Of a made-up burst."""


class MadeUp:
    """Measures kernels that are made up: bursts differ by a factor, executions hardly."""

    def __init__(self, noise: float, seed: int) -> None:
        self._noise, self._rng = noise, np.random.default_rng(seed)

    def __call__(self, kernel: KernelCall) -> tuple[ExecutionTimes, float]:
        """Return what executions took, and the burst."""
        mean_s = FLOP_FACTORS[kernel.name] * max(kernel.parameters.values()) ** 3 / FLOP_PER_S
        factors = np.exp(
            self._noise * self._rng.standard_normal()
            + self._noise / 4 * self._rng.standard_normal(BURST_EXECUTIONS)
        )
        durations = mean_s * factors
        return ExecutionTimes(durations, durations), max(float(durations.sum()), BURST_S)


class Row(NamedTuple):
    """Result for a graph."""

    graph: str
    steered_s: float
    uniform_s: float
    steered_error: float
    uniform_error: float
    steered_known: float
    uniform_known: float
    """Precision of the makespan in the end, by the same formula."""
    uniform_ended: bool


class Uniform:
    """Every configuration to the same precision, the one known worst next."""

    def __init__(self, steering: Steering) -> None:
        self.steering = steering

    def next(self) -> Configuration | None:
        """Return what to measure next; None if all is known."""
        counts = np.array(self.steering.counts)
        if counts.min() < MIN_BURSTS:
            return self.steering.configurations[int(counts.argmin())]
        widths = self._widths(counts)
        if widths.max() <= self.steering.until:
            return None
        return self.steering.configurations[int(widths.argmax())]

    def _widths(self, counts: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        from scipy.special import stdtrit

        deviation = self.steering.known().deviation / np.sqrt(counts)
        return np.asarray(stdtrit(counts - 1, 0.975) * deviation)


class Turns:
    """Every configuration in turn."""

    def __init__(self, steering: Steering) -> None:
        self.steering = steering

    def next(self) -> Configuration:
        """Return the one that was measured least often."""
        return self.steering.configurations[int(np.argmin(self.steering.counts))]


def row_of(graph: TaskGraph, name: str, until: float, limit_s: float, made_up: float | None) -> Row:
    """Measure for *graph* in both manners until it is known, at most *limit_s* each."""
    workers = len(usable_cores())
    measure: Burst = Bursts(workers) if made_up is None else MadeUp(made_up, len(graph))
    platform = Platform.identical(workers)
    steered, *others = (Steering(graph, platform, until, seed=seed) for seed in range(3))
    ways: list[Any] = [steered, Uniform(others[0]), Turns(others[1])]
    notes = [steered, *others]
    going, ended = {0, 1}, set()
    while going:
        for index in (*sorted(going), 2):
            one = ways[index].next()
            if one is None or notes[index].seconds >= limit_s:
                going.discard(index)
                ended |= {index} if one is None else set()
                continue
            times, seconds = measure(KernelCall(one.kernel, one.parameters))
            notes[index].add(one, times.own_s, seconds)
    spans = [_predicted_s(steering) for steering in notes]
    return Row(
        name,
        notes[0].seconds,
        notes[1].seconds,
        spans[0] / spans[2] - 1,
        spans[1] / spans[2] - 1,
        notes[0].half_width,
        notes[1].half_width,
        1 in ended,
    )


def _predicted_s(steering: Steering) -> float:
    """Return the makespan with what is known in the end; all by the same luck."""
    steering.judge()
    return steering.makespan_s


def main(given: Sequence[str] | None = None) -> None:
    """Print a row per graph, and medians."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--until", default="2%")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds of measuring, each way")
    parser.add_argument("--made-up", help="measure no kernels, but bursts that differ by so much")
    parser.add_argument("--graphs", type=int, default=len(GRAPHS), help="only the first so many")
    parser.add_argument("--json", dest="path", type=Path)
    asked = parser.parse_args(given)
    until = float(SHARE.convert(asked.until, None, None))
    made_up = None if asked.made_up is None else float(SHARE.convert(asked.made_up, None, None))
    print(f"{'graph':34} {'steered':>9} {'uniform':>9} {'ratio':>6}   errors        known to")
    rows = []
    with single_threaded_blas():
        for name, tiles, size in GRAPHS[: asked.graphs]:
            graph = generate(name, tiles=tiles, tile_size=size)
            text = f"{name} tiles={tiles} tile_size={size}"
            row = row_of(graph, text, until, asked.limit, made_up)
            rows.append(row)
            print(
                f"{row.graph:34} {row.steered_s:7.2f} s {row.uniform_s:7.2f} s "
                f"{row.steered_s / row.uniform_s:5.2f}   {100 * row.steered_error:+.1f}, "
                f"{100 * row.uniform_error:+.1f} %  {100 * row.steered_known:.1f}, "
                f"{100 * row.uniform_known:.1f} %"
                + ("" if row.uniform_ended else "  (uniform: the limit)"),
                flush=True,
            )
    ratio = statistics.median(row.steered_s / row.uniform_s for row in rows)
    errors = [
        statistics.median(abs(row.steered_error) for row in rows),
        statistics.median(abs(row.uniform_error) for row in rows),
    ]
    print(
        f"steered measuring takes {ratio:.2f} of the time of uniform in the median; errors "
        f"{100 * errors[0]:.1f} and {100 * errors[1]:.1f} % (medians)"
    )
    if asked.path:
        asked.path.write_text(json.dumps([row._asdict() for row in rows], indent=1) + "\n")


if __name__ == "__main__":
    main()
