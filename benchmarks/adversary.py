"""The adversary beside PISA's annealing in SAGA: HEFT against each other algorithm, both ways.

    python benchmarks/adversary.py ours ours.json --runs 5
    pip install anrg-saga                             # in an environment of its own
    python benchmarks/adversary.py saga saga.json --runs 5           # where SAGA is installed
    python benchmarks/adversary.py compare ours.json saga.json
    python benchmarks/adversary.py until until.json --runs 5

With ``until``, each run anneals again and again, with new seeds, until the ratio that PISA's
authors found in 10 runs of 460 instances is reached, and its processor time is kept. It is compared
with the time of their 4,600 instances, at the time of one that SAGA took here, in the mean of all
pairs.

Each run anneals over instances of 5 tasks on 4 processors, with speeds and bandwidths from 0.1 to 1
and weights up to 1: 1,000 instances here. PISA's defaults end after 689. Where SAGA's algorithm
wants equal speeds or bandwidths (ETF, FCP, FLB, BIL, GDL), SAGA's runs keep them equal, as PISA's
do; here they differ.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

TASKS, PROCESSORS = 5, 4
SAGA_NAMES = {
    "cpop": "CPoP", "fastest-node": "FastestNode", "min-min": "MinMin", "max-min": "MaxMin",
    "duplex": "Duplex", "mct": "MCT", "met": "MET", "olb": "OLB", "wba": "WBA", "etf": "ETF",
    "bil": "BIL", "gdl": "GDL", "fcp": "FCP", "flb": "FLB",
}  # fmt: skip
"""The algorithms that PISA compares with HEFT, here and there."""
PUBLISHED_RATIOS = {
    "cpop": (1.50, 1.8e8), "fastest-node": (4.20, 4.02), "min-min": (4.23, None),
    "max-min": (2.32, 2.72), "duplex": (4.73, 1.89), "mct": (1.55, 2.74), "met": (9.02, 3.43),
    "olb": (1.67, None), "wba": (1.74, None), "etf": (2.02, 4.15), "bil": (1.64, 6.18),
    "gdl": (0.65, 17.70), "fcp": (1.65, 1.88), "flb": (1.94, 1.53),
}  # fmt: skip
"""Worst ratios of PISA's authors: of HEFT by each algorithm, and of it by HEFT; None: not there."""
OUT_OF_REACH = {("cpop", "heft"), ("gdl", "heft")}
"""Pairs whose published ratio needs a bandwidth of nothing, or SAGA's variant of the algorithm."""
PUBLISHED_INSTANCES = 4600
SAGA_INSTANCE_S = 3.3e-3
"""Processor time of an instance in SAGA 2.0.2 in seconds, the mean of all pairs, measured here."""
EQUAL_SPEEDS = ("ETF", "FCP", "FLB")
EQUAL_BANDWIDTHS = ("BIL", "GDL", "FCP", "FLB")


def pairs() -> list[tuple[str, str]]:
    """Return HEFT against each other algorithm, then each of them against HEFT."""
    return [("heft", name) for name in SAGA_NAMES] + [(name, "heft") for name in SAGA_NAMES]


def ours(runs: int, steps: int) -> list[dict[str, Any]]:
    """Search with tasksim."""
    from tasksim.study.adversary.question import AdversaryQuestion
    from tasksim.study.adversary.search import anneal

    found = []
    for first, second in pairs():
        question = AdversaryQuestion(first, second, TASKS, PROCESSORS, steps=steps)
        judge, begun = question.judge(), time.process_time()
        ratios = [anneal(question, judge, run).ratio for run in range(runs)]
        seconds = (time.process_time() - begun) / (runs * steps)
        found.append({"first": first, "second": second, "ratios": ratios, "seconds": seconds})
        print(first, second, f"{max(ratios):.2f}", f"{seconds * 1e3:.2f} ms", flush=True)
    return found


class Reached(Exception):
    """The ratio that was asked for was found."""


class Watched:
    """A judge that counts instances and stops at a ratio."""

    def __init__(self, judge: Any, ratio: float) -> None:
        self.space, self._judge, self._ratio, self.count = judge.space, judge, ratio, 0

    def makespans_s(self, *given: Any) -> list[float]:
        """Return the makespans of the judge, or raise :exc:`Reached`."""
        self.count += 1
        found: list[float] = self._judge.makespans_s(*given)
        if found[1] > 0 and found[0] / found[1] >= self._ratio:
            raise Reached
        return found


def until(runs: int, steps: int, most: int = 50) -> list[dict[str, Any]]:
    """Search with tasksim until the published ratios are reached; *most* annealings each."""
    from tasksim.study.adversary.question import AdversaryQuestion
    from tasksim.study.adversary.search import anneal

    found, factors = [], []
    for first, second in pairs():
        ratio = PUBLISHED_RATIOS[second if first == "heft" else first][first != "heft"]
        if ratio is None or (first, second) in OUT_OF_REACH:
            continue
        rows = []
        for seed in range(runs):
            question = AdversaryQuestion(first, second, TASKS, PROCESSORS, steps=steps, seed=seed)
            watched = Watched(question.judge(), ratio)
            begun, reached = time.process_time(), False
            try:
                for run in range(most):
                    anneal(question, watched, run)  # type: ignore[arg-type]
            except Reached:
                reached = True
            rows.append((time.process_time() - begun, watched.count, reached))
        seconds, count = (statistics.median(column) for column in list(zip(*rows, strict=True))[:2])
        factor = PUBLISHED_INSTANCES * SAGA_INSTANCE_S / seconds
        factors.append(factor)
        found.append({"first": first, "second": second, "ratio": ratio, "runs": rows})
        print(
            f"{first:12} by {second:12} {ratio:6.2f} after {count:6.0f} instances, "
            f"{seconds:7.3f} s, 1/{factor:.0f} of the time; reached in "
            f"{sum(row[2] for row in rows)} of {runs}",
            flush=True,
        )
    print(f"in the median of {len(factors)} pairs 1/{statistics.median(factors):.0f} of the time")
    return found


def saga(runs: int, steps: int) -> list[dict[str, Any]]:
    """Search with SAGA's annealing and PISA's settings, in a temporary folder."""
    from saga import Network, TaskGraph  # type: ignore[import-not-found]
    from saga.pisa import (  # type: ignore[import-not-found]
        SimulatedAnnealing,
        SimulatedAnnealingConfig,
    )

    random.seed(0)
    drawn = random.uniform
    found = []
    for first, second in pairs():
        names = [SAGA_NAMES.get(name, "HEFT") for name in (first, second)]
        changes = [
            "TaskGraphAddDependency", "TaskGraphDeleteDependency",
            "TaskGraphChangeDependencyWeight", "TaskGraphChangeTaskWeight",
        ]  # fmt: skip
        equal_speeds = any(name in EQUAL_SPEEDS for name in names)
        equal_bandwidths = any(name in EQUAL_BANDWIDTHS for name in names)
        changes += [] if equal_speeds else ["NetworkChangeNodeWeight"]
        changes += [] if equal_bandwidths else ["NetworkChangeEdgeWeight"]
        config = SimulatedAnnealingConfig(
            max_iterations=steps, max_temp=10.0, min_temp=0.1, cooling_rate=0.99,
            change_types=changes,
        )  # fmt: skip
        ratios, seconds, count = [], 0.0, 0
        for run in range(runs):
            nodes = [(f"P{k}", 1.0 if equal_speeds else drawn(0.1, 1)) for k in range(PROCESSORS)]
            links = [
                (f"P{a}", f"P{b}", 1.0 if equal_bandwidths else drawn(0.1, 1))
                for b in range(PROCESSORS)
                for a in range(b)
            ]
            chain = [(f"t{k}", drawn(0.1, 1)) for k in range(TASKS)]
            edges = [(f"t{k}", f"t{k + 1}", drawn(0.1, 1)) for k in range(TASKS - 1)]
            with tempfile.TemporaryDirectory() as folder:
                search = SimulatedAnnealing(
                    name=f"run-{run}",
                    scheduler=names[0],
                    base_scheduler=names[1],
                    config=config,
                    initial_network=Network.create(nodes, links),
                    initial_task_graph=TaskGraph.create(chain, edges),
                    data_dir=Path(folder),
                )
                begun = time.process_time()
                energies = [step.current_energy for step in search.run_iter()]
                seconds += time.process_time() - begun
            count += len(energies)
            ratios.append(max(energies))
        found.append(
            {"first": first, "second": second, "ratios": ratios, "seconds": seconds / count}
        )
        print(*names, f"{max(ratios):.2f}", f"{seconds / count * 1e3:.2f} ms", flush=True)
    return found


def compare(mine: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> None:
    """Print the worst ratio of each pair and the time of an instance, here and there."""
    other = {(row["first"], row["second"]): row for row in theirs}
    print("| | HEFT by it, here | SAGA | it by HEFT, here | SAGA |\n|---|---|---|---|---|")
    found = {(row["first"], row["second"]): max(row["ratios"]) for row in mine}
    for name in SAGA_NAMES:
        cells = [name]
        for pair in (("heft", name), (name, "heft")):
            cells.append(f"{found[pair]:.2f}")
            cells.append(f"{max(other[pair]['ratios']):.2f}" if pair in other else "")
        print("| " + " | ".join(cells) + " |")
    for name, rows in (("here", mine), ("SAGA", theirs)):
        if rows:
            seconds = sorted(row["seconds"] for row in rows)
            print(
                f"{name}: {seconds[0] * 1e3:.2f} to {seconds[-1] * 1e3:.2f} ms an instance, "
                f"{60 / (sum(seconds) / len(seconds)):,.0f} a minute in the mean"
            )


def main() -> None:
    """Search with either, or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("ours", "until", "saga", "compare"))
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--steps", type=int, default=1000)
    given = parser.parse_args()
    if given.what == "compare":
        compare(*(json.loads(path.read_text()) for path in given.files))
        return
    made = {"ours": ours, "until": until, "saga": saga}[given.what](given.runs, given.steps)
    given.files[0].write_text(json.dumps(made))


if __name__ == "__main__":
    main()
