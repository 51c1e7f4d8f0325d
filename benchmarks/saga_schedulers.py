"""Static schedulers beside those of SAGA, on random instances.

    pip install anrg-saga                             # in an environment of its own
    python benchmarks/saga_schedulers.py instances made.json --count 60
    python benchmarks/saga_schedulers.py saga made.json saga.json          # where SAGA is installed
    python benchmarks/saga_schedulers.py compare made.json saga.json

SAGA (J. Coleman, B. Krishnamachari) gathers algorithms of the literature. Instances have related
speeds and symmetric bandwidths, since SAGA knows no others. Weights are integers or fifths, so that
both compute the same sums, and continuous for half of the instances, which have no ties.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from pathlib import Path
from typing import Any

SAGA_CLASSES = {
    "heft": "heft.HeftScheduler", "cpop": "cpop.CpopScheduler", "min-min": "minmin.MinMinScheduler",
    "max-min": "maxmin.MaxMinScheduler", "duplex": "duplex.DuplexScheduler",
    "sufferage": "sufferage.SufferageScheduler", "mct": "mct.MCTScheduler",
    "met": "met.METScheduler", "olb": "olb.OLBScheduler",
    "fastest-node": "fastest_node.FastestNodeScheduler", "etf": "etf.ETFScheduler",
    "gdl": "gdl.GDLScheduler", "bil": "bil.BILScheduler", "dps": "dps.DPSScheduler",
    "msbc": "msbc.MsbcScheduler", "fcp": "fcp.FCPScheduler", "flb": "flb.FLBScheduler",
    "hbmct": "hbmct.HbmctScheduler",
}  # fmt: skip
"""Names here, and modules and classes there. WBA draws at random, and is left out."""


def instances(count: int, seed: int) -> list[dict[str, Any]]:
    """Draw instances of 8 to 24 tasks on 2 to 5 processors; every other one has no ties."""
    rng = random.Random(seed)
    found = []
    for number in range(count):
        ties = number % 2 == 0
        tasks, nodes = rng.randint(8, 24), rng.randint(2, 5)

        def weight(ties: bool = ties) -> float:
            return float(rng.randint(1, 9)) if ties else rng.uniform(1, 10)

        edges = [
            (a, b, weight())
            for b in range(1, tasks)
            for a in sorted(rng.sample(range(b), min(b, rng.randint(1, 3))))
        ]
        links = [(a, b, rng.uniform(0.5, 2)) for b in range(nodes) for a in range(b)]
        if ties:
            links = [(a, b, 1.0) for a, b, _ in links]
        found.append(
            {
                "tasks": [weight() for _ in range(tasks)],
                "speeds": [rng.choice((1.0, 2.0, 4.0)) if ties else rng.uniform(0.5, 4)
                           for _ in range(nodes)],
                "edges": edges,
                "links": links,
            }
        )  # fmt: skip
    return found


def by_saga(found: list[dict[str, Any]]) -> dict[str, list[float | str]]:
    """Return the makespans of SAGA's schedulers; the text of an error where there is none."""
    from importlib import import_module

    from saga import Network, TaskGraph  # type: ignore[import-not-found]

    makespans: dict[str, list[float | str]] = {name: [] for name in SAGA_CLASSES}
    for made in found:
        nodes = [(f"P{k}", speed) for k, speed in enumerate(made["speeds"])]
        links = [(f"P{a}", f"P{b}", speed) for a, b, speed in made["links"]]
        tasks = [(f"t{k:02}", weight) for k, weight in enumerate(made["tasks"])]
        edges = [(f"t{a:02}", f"t{b:02}", size) for a, b, size in made["edges"]]
        network, graph = Network.create(nodes, links), TaskGraph.create(tasks, edges)
        for name, place in SAGA_CLASSES.items():
            module, _, which = place.partition(".")
            scheduler = getattr(import_module(f"saga.schedulers.{module}"), which)()
            try:
                makespans[name].append(scheduler.schedule(network, graph).makespan)
            except Exception as error:
                makespans[name].append(f"{type(error).__name__}: {error}"[:80])
    return makespans


def by_tasksim(found: list[dict[str, Any]]) -> dict[str, list[float]]:
    """Return the makespans of the plans of tasksim."""
    from tasksim.schedulers.static import plan

    problems = [_problem(made) for made in found]
    return {name: [plan(name, each).makespan_s for each in problems] for name in SAGA_CLASSES}


def _problem(made: dict[str, Any]) -> Any:
    import numpy as np

    from tasksim.graph.builder import GraphBuilder, R, W
    from tasksim.schedulers.static import Problem

    scale = 10**6  # data have whole numbers of bytes
    g = GraphBuilder("instance")
    handles = {(a, b): g.handle(f"{a}-{b}", round(size * scale)) for a, b, size in made["edges"]}
    for task in range(len(made["tasks"])):
        accesses = [W(h) for (a, _), h in handles.items() if a == task]
        g.insert("task", *accesses, *(R(h) for (_, b), h in handles.items() if b == task))
    nodes = len(made["speeds"])
    inverse = np.zeros((nodes, nodes))
    for a, b, speed in made["links"]:
        inverse[a, b] = inverse[b, a] = 1 / (speed * scale)
    numbers = np.arange(nodes)
    costs = np.divide.outer(np.array(made["tasks"]), np.array(made["speeds"]))
    return Problem(g.build(), costs, numbers, numbers, np.zeros_like(inverse), inverse)


def by_definitions_of_saga(found: list[dict[str, Any]]) -> dict[str, list[float]]:
    """Return the makespans of those that differ in a definition, with SAGA's instead of ours.

    Its mean of communication counts each link once, and a processor with itself as another one; its
    batches are rounds; its HBMCT begins with earliest ends.
    """
    from tasksim.schedulers.static.batch import duplex, max_min, min_min
    from tasksim.schedulers.static.hbmct import hbmct
    from tasksim.schedulers.static.problem import Problem
    from tasksim.schedulers.static.ranked import heft

    class Mean(Problem):
        def mean_communication_s(self, *, apart: bool = False) -> Any:
            shares = 1.0 if apart else (self.workers - 1) / (self.workers + 1)
            return super().mean_communication_s(apart=apart) * shares

    problems = [Mean(**vars(_problem(made))) for made in found]
    return {
        "heft": [heft(each).makespan_s for each in problems],
        "min-min": [min_min(each, rounds=True).makespan_s for each in problems],
        "max-min": [max_min(each, rounds=True).makespan_s for each in problems],
        "duplex": [duplex(each, rounds=True).makespan_s for each in problems],
        "hbmct": [hbmct(each, begin="completion").makespan_s for each in problems],
    }


def compare(ours: dict[str, list[float]], theirs: dict[str, list[float | str]]) -> None:
    """Print how many makespans are equal, with and without ties, and the mean ratio."""
    columns = ("equal", "untied", "shorter", "longer", "failed", "ratio")
    print(f"{'scheduler':14}" + "".join(f"{column:>9}" for column in columns))
    for name, here in ours.items():
        pairs = [(a, b) for a, b in zip(here, theirs[name], strict=True) if not isinstance(b, str)]
        untied = sum(
            not isinstance(b, str) and abs(a - b) <= 1e-5 * b
            for a, b in zip(here[1::2], theirs[name][1::2], strict=True)
        )
        equal = sum(abs(a - b) <= 1e-5 * b for a, b in pairs)
        shorter = sum(a < b - 1e-5 * b for a, b in pairs)
        ratio = sum(a / b for a, b in pairs) / max(1, len(pairs))
        print(
            f"{name:14}{equal:9}{untied:9}{shorter:9}{len(pairs) - equal - shorter:9}"
            f"{len(here) - len(pairs):9}{ratio:9.3f}"
        )


def main() -> None:
    """Run the step that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("step", choices=("instances", "saga", "compare"))
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if given.step == "instances":
        given.files[0].write_text(json.dumps(instances(given.count, given.seed)))
        return
    found = json.loads(given.files[0].read_text())
    if given.step == "saga":
        given.files[1].write_text(json.dumps(by_saga(found)))
    else:
        theirs = json.loads(given.files[1].read_text())
        compare(by_tasksim(found), theirs)
        print("with SAGA's definitions:")
        compare(by_definitions_of_saga(found), theirs)


if __name__ == "__main__":
    sys.exit(main())
