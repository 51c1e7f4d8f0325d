"""Instances of an adversary: a graph with weights and volumes, and processors if none are given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.files import write_text
from tasksim.graph.apps.shapes import below

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

    from tasksim.base.documents.json_document import JsonNode

__all__ = ["CHANGES", "Instance", "Space"]

MAX_STEP: Final = 0.1
"""Largest small change of a value; all values are at most 1 (PISA, section VI)."""
DECIMALS: Final = 4
"""Decimals of all values, so that files have the very numbers that were searched with."""
MAX_TRIES: Final = 30
"""Number of tries to find a change that is possible; edges cannot be added to a complete graph."""


@dataclass(frozen=True)
class Space:
    """The space of the instances of a search.

    Attributes
    ----------
    tasks
        Number of tasks.
    processors
        Number of processors with a speed each; 0 if the platform is given.
    architectures
        Names of the architectures on which each task has a weight; one name if they are related,
        that is, differ by their speeds alone.
    slowest
        Least speed and bandwidth; the largest is 1.
    vary
        Names of :data:`CHANGES` that the search makes.
    extremes
        Share of the changes of a value that make it the least or the largest; others are small.
    """

    tasks: int
    processors: int
    architectures: tuple[str, ...]
    slowest: float
    vary: tuple[str, ...]
    extremes: float = 0.0

    def first(self, rng: random.Random) -> Instance:
        """Return a random chain on random processors, as PISA begins with."""
        numbers = range(self.processors)
        return Instance(
            tuple(tuple(_drawn(rng, 0.0) for _ in self.architectures) for _ in range(self.tasks)),
            tuple((task, task + 1, _drawn(rng, 0.0)) for task in range(self.tasks - 1)),
            tuple(_drawn(rng, self.slowest) for _ in numbers),
            tuple((a, b, _drawn(rng, self.slowest)) for b in numbers for a in range(b)),
        )

    def neighbour(self, instance: Instance, rng: random.Random) -> Instance:
        """Return *instance* with one random change."""
        for _ in range(MAX_TRIES):
            name = self.vary[below(rng, len(self.vary))]
            changed = CHANGES[name](self, instance, rng)
            if changed is not None:
                return changed
        return instance

    def moved(self, rng: random.Random, value: float, low: float) -> float:
        """Return *value* changed by at most :data:`MAX_STEP`, or *low* or 1 at random."""
        if self.extremes and rng.random() < self.extremes:
            return 1.0 if rng.random() < 0.5 else low
        return min(1.0, max(low, round(value + MAX_STEP * (2 * rng.random() - 1), DECIMALS)))


@dataclass(frozen=True)
class Instance:
    """One instance. Tasks are numbered so that each comes after those that it depends on.

    Attributes
    ----------
    weights
        Per task, its weight on each architecture.
    volumes
        Source, target and volume of each dependency, in order.
    speeds
        Speed of each processor; empty if the platform is given.
    bandwidths
        First and second processor, and bandwidth, of each pair.
    """

    weights: tuple[tuple[float, ...], ...]
    volumes: tuple[tuple[int, int, float], ...]
    speeds: tuple[float, ...] = ()
    bandwidths: tuple[tuple[int, int, float], ...] = ()

    @classmethod
    def from_json(cls, node: JsonNode, space: Space) -> Instance:
        """Return the instance in a file; raise ``FormatError`` if it is not one of *space*."""
        weights = tuple(
            tuple(float(x) for x in row.vector(len(space.architectures))) for row in node["weights"]
        )
        speeds = tuple(float(x) for x in node["speeds"].vector(space.processors))
        if len(weights) != space.tasks:
            raise node["weights"].error(f"expected {space.tasks} tasks, got {len(weights)}")
        return cls(
            weights,
            _pairs(node["volumes"], space.tasks),
            speeds,
            _pairs(node["bandwidths"], space.processors),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the instance as plain data."""
        return {
            "weights": [list(row) for row in self.weights],
            "volumes": [list(row) for row in self.volumes],
            "speeds": list(self.speeds),
            "bandwidths": [list(row) for row in self.bandwidths],
        }

    def costs(self, space: Space) -> tuple[tuple[str, ...], list[list[float]]]:
        """Return the names of the processors or architectures, and the costs of each task there."""
        if not self.speeds:
            return space.architectures, [list(row) for row in self.weights]
        names = tuple(f"P{number}" for number in range(len(self.speeds)))
        return names, [[row[0] / speed for speed in self.speeds] for row in self.weights]

    def write(self, folder: Path, space: Space, duration_s: float, size_bytes: float) -> None:
        """Write ``costs.csv``, ``edges.csv`` and, for processors of its own, ``links.csv``."""
        names, costs = self.costs(space)
        rows = [
            ",".join((f"T{task}", *(repr(cost * duration_s) for cost in row)))
            for task, row in enumerate(costs)
        ]
        edges = [f"T{a},T{b},{volume * size_bytes:.{DECIMALS}f}" for a, b, volume in self.volumes]
        links = [f"P{a},P{b},{speed!r}" for a, b, speed in self.bandwidths]
        tables = {"costs": [",".join(("task", *names)), *rows], "edges": ["from,to,volume", *edges]}
        if self.speeds:
            tables["links"] = ["from,to,bandwidth", *links]
        for name, lines in tables.items():
            write_text(folder / f"{name}.csv", "\n".join(lines) + "\n")


def _pairs(node: JsonNode, count: int) -> tuple[tuple[int, int, float], ...]:
    found = []
    for row in node:
        a, b, value = row.vector(3).tolist()
        if not (0 <= a < b < count and a.is_integer() and b.is_integer()):
            raise row.expected(f"two numbers below {count}, the smaller one first, and a value")
        found.append((int(a), int(b), value))
    return tuple(found)


def _drawn(rng: random.Random, low: float) -> float:
    return max(low, round(low + (1 - low) * rng.random(), DECIMALS))


def _weight(space: Space, instance: Instance, rng: random.Random) -> Instance | None:
    task, kind = below(rng, space.tasks), below(rng, len(space.architectures))
    rows = [list(row) for row in instance.weights]
    rows[task][kind] = space.moved(rng, rows[task][kind], 0.0)
    return replace(instance, weights=tuple(map(tuple, rows)))


def _pair(name: str, space: Space, instance: Instance, rng: random.Random) -> Instance | None:
    """Move one of the volumes or bandwidths, if there are any."""
    pairs = list(getattr(instance, name))
    if not pairs:
        return None
    place = below(rng, len(pairs))
    a, b, value = pairs[place]
    pairs[place] = (a, b, space.moved(rng, value, 0.0 if name == "volumes" else space.slowest))
    return replace(instance, **{name: tuple(pairs)})


def _edge(space: Space, instance: Instance, rng: random.Random) -> Instance | None:
    """Add a dependency or remove one, with the same probability."""
    rows = list(instance.volumes)
    if rng.random() < 0.5:
        if not rows:
            return None
        rows.pop(below(rng, len(rows)))
        return replace(instance, volumes=tuple(rows))
    if space.tasks < 2:
        return None
    b = 1 + below(rng, space.tasks - 1)
    a = below(rng, b)
    if any(row[:2] == (a, b) for row in rows):
        return None
    return replace(instance, volumes=tuple(sorted([*rows, (a, b, _drawn(rng, 0.0))])))


def _speed(space: Space, instance: Instance, rng: random.Random) -> Instance | None:
    speeds = list(instance.speeds)
    place = below(rng, len(speeds))
    speeds[place] = space.moved(rng, speeds[place], space.slowest)
    return replace(instance, speeds=tuple(speeds))


CHANGES: Final[dict[str, Callable[[Space, Instance, random.Random], Instance | None]]] = {
    "weights": _weight,
    "volumes": partial(_pair, "volumes"),
    "edges": _edge,
    "speeds": _speed,
    "bandwidths": partial(_pair, "bandwidths"),
}
"""Changes of an instance by name: each returns a changed one, or None where it is impossible."""
