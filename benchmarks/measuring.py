"""Steered measuring of a kernel over a domain against its design: errors after the same seconds.

    python benchmarks/measuring.py                       # made-up kernels, exact truth
    python benchmarks/measuring.py --real trsm --seconds 10

Steered: what makes the model surest per second is next (``tasksim measure --until``). By design: as
a Latin hypercube has them. Made-up kernels take m n k, with a step where data leave a cache or
without one, five durations with noise each, and 8 durations of time with what is dropped; fits take
no time there. Real ones are measured in turn, each way until its seconds are over, and both models
are judged on configurations that neither has seen.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.calibration.domain import parse_domain
from tasksim.calibration.domain_steering import DomainSteering, fits_of
from tasksim.kernels.standalone import standalone
from tasksim.kernels.threads import single_threaded_blas

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Times = Callable[[NDArray[np.int64]], NDArray[np.float64]]

JUDGED, POOL, NEVER, EXECUTIONS = 40, 2048, 1e-9, 5


def smooth(rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return what a kernel without steps takes."""
    m, n, k = rows.T.astype(float)
    return np.asarray(2e-6 + 2 * m * n * k / 3e10 + 4e-9 * m * n)


def stepped(rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return what one takes that is slower where an operand leaves the cache, or is thin."""
    m, n, k = rows.T.astype(float)
    slower = (1 + 0.6 * (8 * m * k > 2**18)) * (1 + 16 / np.minimum(m, n))
    return np.asarray(2e-6 + 2 * m * n * k / 3e10 * slower)


class MadeUp:
    """Measures a made-up kernel."""

    def __init__(self, times: Times, seed: int) -> None:
        self._times, self._rng = times, np.random.default_rng(seed)

    def __call__(self, row: NDArray[np.int64]) -> tuple[list[float], float]:
        """Return durations, and how long measuring took."""
        mean = float(self._times(row[None])[0])
        return (mean * self._rng.lognormal(0, 0.03, EXECUTIONS)).tolist(), 1e-4 + 8 * mean


class Real:
    """Measures a kernel of this machine."""

    def __init__(self, kernel: str, names: Sequence[str]) -> None:
        self._kernel, self._names = kernel, names

    def __call__(self, row: NDArray[np.int64]) -> tuple[list[float], float]:
        """Return durations, and how long measuring took."""
        begun, durations = time.monotonic(), []
        body = standalone(self._kernel, dict(zip(self._names, row.tolist(), strict=True)))
        for _ in range(EXECUTIONS + 2):
            body.reset()
            start = time.perf_counter_ns()
            body.run()
            durations.append((time.perf_counter_ns() - start) / 1e9)
        return durations[2:], time.monotonic() - begun


def errors(domain: Any, measure: Any, kind: str, seconds: float, seed: int) -> list[Any]:
    """Return count and error of each way."""
    ways = [
        DomainSteering(domain.names, domain.draw(POOL, seed), NEVER, fits_of(kind, 0), seed)
        for _ in range(2)
    ]
    going = {0, 1}
    while going:
        for index in sorted(going):
            steering = ways[index]
            place = steering.prefix if index else steering.next()
            steering.add(place, *measure(steering.table[place].astype(np.int64)))
            if steering.seconds >= seconds:
                going.discard(index)
    fit, asked = fits_of(kind, 0), domain.draw(JUDGED, seed + 1000)
    if isinstance(measure, MadeUp):
        asked = domain.draw(POOL, seed + 1000)
        true = measure._times(asked)
    else:
        true = np.array([np.median(measure(row)[0]) for row in asked])
    found = [fit(steering.samples()).model.predict(asked) for steering in ways]
    return [
        (steering.count, float(np.abs(np.log(one / true)).mean()))
        for steering, one in zip(ways, found, strict=True)
    ]


def main(given: Sequence[str] | None = None) -> None:
    """Print a row per kernel, kind and seed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--real", help="a kernel of this machine; its sizes are 16 to 256")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--kind", nargs="+", default=["mlr", "hybrid"])
    asked = parser.parse_args(given)
    print(f"{'kernel':10} {'kind':8} seed   steered            by design")
    cases: dict[str, Any] = {"smooth": smooth, "stepped": stepped}
    for name in [asked.real] if asked.real else cases:
        kernel = asked.real or "gemm"
        high = 256 if asked.real else 2048
        names = parameters_of(kernel)
        domain = parse_domain(kernel, [f"{one}=16..{high}:log" for one in names])
        for kind in asked.kind:
            for seed in range(asked.seeds):
                measure = Real(kernel, names) if asked.real else MadeUp(cases[name], seed)
                with single_threaded_blas():
                    rows = errors(domain, measure, kind, asked.seconds, seed)
                text = "  ".join(f"{count:5d}: {100 * error:6.2f} %" for count, error in rows)
                print(f"{name:10} {kind:8} {seed:4d}   {text}", flush=True)


def parameters_of(kernel: str) -> tuple[str, ...]:
    """Return the parameters of a kernel."""
    from tasksim.kernels.dense import dense_kernel

    return dense_kernel(kernel)[0].parameters


if __name__ == "__main__":
    main()
