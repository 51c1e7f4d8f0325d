"""How well does a recording of a Dask graph of 10,000 tasks explain its own run, and others?

    python benchmarks/recording.py                       # some minutes
    python benchmarks/recording.py --rounds 1 --tasks 2000 --patience 5 -o what-if.png

Two graphs: a QR factorisation of a tall matrix in blocks of rows, and reductions of a matrix in
tiles. Each is recorded on two workers and on one, in turn, in moments that are calm by a probe
before and after them, or the calmest that there were. Printed, as medians of the rounds with the
worst in brackets:

- *itself*: the replay of a run on its own workers, with the costs found in it, over its makespan.
  The costs are the time that its workers lost, so this says whether dependencies, priorities and
  accounts are complete;
- *other costs*: the same with the mean costs of the other rounds, which it does not know;
- *no costs*: the same with none;
- *1 for 2*: what the recording on one worker predicts for two, over what two took: right only
  where the second worker has a core of its own. Where others use the machine (the load is printed)
  it has not, and runs differ by more than what is asked here: see the spread of the real ones.

Then what-ifs: the last recording on more workers. Whether such answers are right can be seen on
any machine with tasks that only wait: a tree of additions of a millisecond or five each, recorded
on two threads, predicted for up to 32, and computed by as many.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import tasksim
from tasksim.kernels.threads import single_threaded_blas
from tasksim.native.calm_moments import Probe, ProbedGate, measure_calmly
from tasksim.platform.description import Overheads

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.recording.recording import Recording

MAX_REPLAY_ERROR = 0.10
"""Of the replay on the workers that were recorded, relative to the real makespan."""
WHAT_IF = (1, 2, 4, 8, 16, 32)


class Case(NamedTuple):
    """A graph, and what was recorded of it."""

    name: str
    two: list[Recording]
    one: list[Recording]


def qr(tasks: int) -> Any:
    """Return a QR factorisation by blocks of rows, and what is asked of its factors."""
    import dask.array as da

    blocks = max(2, round(tasks / 7.7))
    x = da.random.default_rng(1).random((blocks * 800, 48), chunks=(800, 48))
    q, r = da.linalg.qr(x)
    return (q * 2).sum(axis=1).std() + r.sum()


def reductions(tasks: int) -> Any:
    """Return the spread of the sums of a symmetric matrix in square tiles."""
    import dask.array as da

    tiles = max(2, round((tasks / 2.35) ** 0.5))
    x = da.random.default_rng(2).random((tiles * 200, tiles * 200), chunks=(200, 200))
    return da.exp(x + x.T).sum(axis=0).std()


def waits(tasks: int, seconds: float) -> Any:
    """Return a sum of numbers in pairs, of tasks that wait."""
    import dask

    def wait(*numbers: int) -> int:
        time.sleep(seconds)
        return sum(numbers)

    parts = [dask.delayed(wait, pure=False)(n) for n in range(tasks // 2)]
    while len(parts) > 1:
        pairs = [parts[n : n + 2] for n in range(0, len(parts), 2)]
        parts = [dask.delayed(wait, pure=False)(*pair) for pair in pairs]
    return parts[0]


def recorded(collection: Any, workers: int) -> Recording:
    """Return a recording of a collection that is computed by so many threads."""
    with tasksim.record(f"{workers} workers") as recording, single_threaded_blas():
        collection.compute(scheduler="threads", num_workers=workers)
    return recording


def measured(
    rounds: int, patience_s: float, graphs: dict[str, Callable[[], Any]]
) -> tuple[list[Case], str]:
    """Return the recordings of each graph, and how calm it was."""
    made = {name: make() for name, make in graphs.items()}
    actions = [partial(recorded, made[name], workers) for name in made for workers in (2, 1)]
    actions[0]()  # what is imported or compiled by the first computation
    gate: ProbedGate[Recording] = ProbedGate(Probe(2))
    found = measure_calmly(actions, gate, repetitions=rounds, patience_s=patience_s)
    calm = found.calm
    cases = [Case(n, found.values[2 * i], found.values[2 * i + 1]) for i, n in enumerate(made)]
    return cases, f"{calm.kept - calm.disturbed} of {calm.kept} runs in calm moments"


def others(recordings: list[Recording], but: int) -> Overheads:
    """Return the mean costs of the recordings, but for one; its own if there are no others."""
    known = [r.platform().overheads for n, r in enumerate(recordings) if n != but]
    known = known or [recordings[but].platform().overheads]
    return Overheads(
        submission_s=statistics.mean(each.submission_s for each in known),
        task_s=statistics.mean(each.task_s for each in known),
    )


def replayed(recording: Recording, overheads: Overheads) -> float:
    """Return the makespan of a replay with other costs."""
    from dataclasses import replace

    platform = replace(recording.platform(), overheads=overheads)
    return tasksim.simulate(
        recording.run, platform, scheduler="dask", durations="measured"
    ).makespan_s


def told(ratios: list[float]) -> str:
    """Return the median of ratios as a percentage, the worst in brackets."""
    errors = [100 * (ratio - 1) for ratio in ratios]
    return f"{statistics.median(errors):+6.1f} ({max(errors, key=abs):+.1f})"


def report(case: Case) -> float:
    """Print how well the recordings of a graph explain it; return their replays' median error."""
    two, real = case.two, [recording.run.makespan_s for recording in case.two]
    graph, run, cost = two[-1].graph, two[-1].run, two[-1].platform().overheads
    own = [r.simulate().makespan_s / s for r, s in zip(two, real, strict=True)]
    other = [replayed(r, others(two, n)) / real[n] for n, r in enumerate(two)]
    none = [replayed(r, Overheads()) / real[n] for n, r in enumerate(two)]
    ahead = [r.simulate(2).makespan_s / s for r, s in zip(case.one, real, strict=True)]
    spread = 100 * (max(real) / min(real) - 1)
    print(
        f"{case.name}: {len(graph)} tasks of {1e6 * run.tasks.duration_s.mean():.0f} us in the "
        f"mean, {graph.edges} dependencies; between tasks {1e6 * cost.task_s:.0f} us per task, "
        f"{1e6 * cost.submission_s:.0f} us of Dask's loop\n"
        f"  real, 2 workers  {statistics.median(real):.2f} s, spread {spread:.0f} %\n"
        f"  itself           {told(own)} %\n"
        f"  other costs      {told(other)} %\n"
        f"  no costs         {told(none)} %\n"
        f"  1 for 2          {told(ahead)} %"
    )
    made = {workers: two[-1].simulate(workers).makespan_s for workers in WHAT_IF}
    print("  what if          " + ", ".join(f"{n}: {s:.2f} s" for n, s in made.items()))
    for note in two[-1].notes:
        print(f"  note             {note}")
    return abs(statistics.median(own) - 1)


def report_waits(seconds: float, tasks: int) -> None:
    """Print what a recording on two threads predicts for more, and what these take."""
    collection = waits(tasks, seconds)
    made = {workers: recorded(collection, workers) for workers in (2, 1, 4, 8, 16, 32)}
    print(f"waits: {len(made[2].run)} tasks of {1e3 * seconds:g} ms; predicted from 2 threads")
    for workers, recording in sorted(made.items()):
        real, own = recording.run.makespan_s, recording.simulate().makespan_s
        ahead = made[2].simulate(workers).makespan_s
        print(
            f"  {workers:2} threads: {real:.3f} s, itself {100 * (own / real - 1):+.1f} %, "
            f"predicted {ahead:.3f} s, {100 * (ahead / real - 1):+.1f} %"
        )


def main() -> int:
    """Measure and print; 1 if a recording's replay is further from its run than wanted."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--patience", type=float, default=60.0, help="seconds for calm moments")
    parser.add_argument("-o", "--output", help="draw the real run, its replay and 8 workers")
    options = parser.parse_args()
    graphs = {
        "QR": partial(qr, options.tasks),
        "reductions": partial(reductions, options.tasks),
    }
    cases, calm = measured(options.rounds, options.patience, graphs)
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"{calm}; load {load} on {os.cpu_count()} cores")
    errors = [report(case) for case in cases]
    for seconds in (0.005, 0.001):
        report_waits(seconds, min(options.tasks, 2000) // (5 if seconds > 0.001 else 1))
    if options.output:
        last = cases[0].two[-1]
        runs = [last.run, last.simulate(), last.simulate(8)]
        tasksim.save_figure(tasksim.figure(runs), options.output, force=True)
    return int(max(errors) > MAX_REPLAY_ERROR)


if __name__ == "__main__":
    sys.exit(main())
