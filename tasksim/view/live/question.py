"""The question of a live page as data: graph, durations, machines and schedulers.

Numbers of tasks travel as columns, each distinct one once. A task's duration depends on its *kind*:
tasks of one kernel with the same durations on all machines. What depends on the workers, such as
the routes of copies, is settled here once per *machine*, a combination of worker counts; what
depends on other sliders is computed in the page, by the same operations in the same order
(``script/livequestion.js``), so that the page asks the core exactly what the command asks.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.engine.choice import Question, as_data, needs_machine
from tasksim.engine.compiled.view import KnownView
from tasksim.engine.data.network import paths_of
from tasksim.engine.data.ways import device_memories
from tasksim.engine.durations import Demands
from tasksim.engine.locality import MIN_NEAR_SHARE, caches_of
from tasksim.engine.simulation import Settled
from tasksim.graph.reuse import read_and_written_bytes
from tasksim.run.power import power_info
from tasksim.runtime.flat import Refused
from tasksim.runtime.policies import ported
from tasksim.schedulers.registry import SCHEDULERS, create
from tasksim.view.live.axes import MOST_MACHINES, Axis, Parts, PartsByName, axes_of, data_of
from tasksim.view.live.nodes import Cuts, network_axes, node_axes, on_nodes
from tasksim.view.page.columns import Columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tasksim.engine.durations import Demand
    from tasksim.models.locality import Locality
    from tasksim.runtime.policies import Ported
    from tasksim.scenario.resolved import Resolved, Resolver
    from tasksim.scenario.setup import Setup

__all__ = ["Unanswerable", "live_question"]

_FLAGS: Final = (
    "uses_priorities", "looks_at_data", "chooses_apart", "hears_started", "hears_finished",
)  # fmt: skip
"""Fields of a question that belong to its scheduler."""
_OPTIONS: Final[dict[str, tuple[str, float]]] = {
    "alpha": ("number", 8.0), "beta": ("number", 8.0), "prefetch": ("flag", 1.0),
    "learned": ("flag", 1.0), "descendants": ("flag", 1.0), "interval": ("count", 256.0),
}  # fmt: skip
"""Options of schedulers that a page changes, with their kind and the end of their slider."""
_NOT_OFFERED: Final = ("libomp", "libgomp", "numa-lws")
"""Schedulers for OpenMP's tasks and memory domains, offered only where a scenario has them."""
_OF_THE_GRAPH: Final = ("darts", "libomp", "libgomp")
"""Schedulers whose tables depend on the graph alone; those of a large one take a while."""
_MOST_SEEDS: Final = 8
"""Maximum number of seeds whose drawn durations a page has: their spread shows what noise does."""
_MOST_DRAWN: Final = 200_000
"""Maximum number of drawn durations per machine, of all seeds: two megabytes in a page."""
MOST_DURATIONS: Final = 40_000_000
"""Maximum number of durations, of tasks on classes of workers of all machines, that are settled: in
some ten seconds."""


class Unanswerable(Exception):
    """A scenario that a live page can show, but not replay, with the reason."""


@dataclass
class _Machine:
    """The scenario with some worker counts, and its costs by class."""

    resolved: Resolved
    question: Question
    raw: list[NDArray[np.float64]]
    """Per class the durations before they are divided by the architecture's speed."""
    scaled: bool
    """Whether estimates are those, divided, and costs follow."""
    localities: dict[tuple[int, int], Locality]
    """What models know of far data, by class and kernel."""
    draws: list[list[NDArray[np.float64]]]
    """Per seed from 0, durations drawn in the place of *raw*; none without noise."""


class Store:
    """Columns of a page, each distinct one once."""

    def __init__(self) -> None:
        self.columns = Columns()
        self._names: dict[tuple[str, bytes], str] = {}

    def __call__(self, value: Any) -> Any:
        """Return plain data for *value*, in which arrays are names of columns."""
        if isinstance(value, dict):
            return {key: self(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self(item) for item in value]
        if not isinstance(value, np.ndarray):
            return value.item() if hasattr(value, "item") else value
        key = value.dtype.str, value.tobytes()
        if key not in self._names:
            self._names[key] = f"c{len(self._names)}"
            self._add(self._names[key], value.ravel())
        large = value.dtype.kind == "i" and not _is_small(value)
        return {"$": self._names[key], **({"of": "BigInt64Array"} if large else {})}

    def _add(self, name: str, values: NDArray[Any]) -> None:
        if values.dtype.kind == "f" or not _is_small(values):
            self.columns.exact(name, values)
        else:
            self.columns.whole(name, values, differences=_ascends(values))


def _is_small(values: NDArray[Any]) -> bool:
    """Return whether a double holds each of the whole *values*."""
    return not values.size or int(np.abs(values.astype(np.float64)).max()) < 2**53


def _ascends(values: NDArray[Any]) -> bool:
    return bool(values.size > 1 and (np.diff(values.astype(np.int64)) >= 0).all())


def live_question(resolved: Resolved, resolver: Resolver) -> tuple[dict[str, Any], Columns]:
    """Return the data with which a page replays a scenario and its variations, and its columns.

    Raises
    ------
    Unanswerable
        If the compiled core, or a page, cannot replay the scenario.
    """
    _refuse(resolved)
    scenario, changes = resolved.scenario, resolved.scenario.platform_changes
    library = None if scenario.library is None else Path(scenario.library)
    base, store, rows = _machine(resolved), Store(), _Rows(resolved)
    if scenario.noise != "none" and scenario.seed >= len(base.draws):
        raise Unanswerable(
            f"its durations are drawn with seed {scenario.seed}, and a page of this"
            f" size has {len(base.draws)} seeds from 0"
        )
    data = data_of(resolved.platform, library, changes)
    parts = PartsByName(library, data)
    nodes = node_axes(resolved, resolver)
    of_node = axes_of(
        resolved,
        data,
        parts(resolved),
        scalable=base.scaled,
        # A given duration would know nothing of far data.
        kernels=_even_kernels(base) if base.scaled and not base.localities else [],
        most_machines=MOST_MACHINES // max(sum(len(axis.values) for axis in nodes), 1),
    )
    axes = [*nodes, *of_node, *network_axes(resolved)]
    schedulers, cuts = _schedulers(base), Cuts(store, _OF_THE_GRAPH)
    machines = {"": _described(base, parts(resolved), rows, store, schedulers, cuts)}
    for name, changed in _with_counts(resolved, axes):
        try:
            machine = _machine(resolver.resolve(changed))
        except (InputError, Refused, Unanswerable) as error:
            machines[name] = {"refused": str(error)}
            continue
        own = parts(machine.resolved)
        machines[name] = _described(machine, own, rows, store, schedulers, cuts)
        if machine.scaled != base.scaled:
            machines[name] = {"refused": "its durations do not follow the sliders of speeds"}
    graph = store(as_data(base.question, scenario.seed)["graph"])
    rows.keep(store)
    question = {
        "graph": graph,
        "axes": [axis.to_json() for axis in axes],
        "kernels": list(base.question.graph.kernels),
        "machines": machines,
        "cuts": cuts.described,
        "kinds": rows.described,
        "schedulers": [entry.described for entry in schedulers],
        "scheduler": schedulers[0].described["text"],
        "seed": scenario.seed,
        "noise": scenario.noise,
        # Since Python 3.12, sum() adds the digits that were lost; the page does as this Python.
        "compensated": sum([1.0, 1e100, 1.0, -1e100]) == 2.0,
    }
    return question, store.columns


def _refuse(resolved: Resolved) -> None:
    """Raise :exc:`Unanswerable` for scenarios beyond a page."""
    if resolved.engine.get("simultaneous_pushes", "serial") != "serial":
        raise Unanswerable("its pushes are blind, which a live page does not replay yet")
    if not isinstance(resolved.scenario.scheduler, str):
        raise Unanswerable("its scheduler was made in Python")


def _machine(resolved: Resolved) -> _Machine:
    """Return a scenario's machine; raise :exc:`Unanswerable` if the core does not replay it."""
    simulation, settled = resolved.simulation(), Settled()
    policy = create(str(simulation.scheduler))
    known = ported(policy)
    if known is None or known.name == "static":
        what = "is not one of the compiled core" if known is None else "plans before the run begins"
        raise Unanswerable(f"its scheduler {policy.name} {what}")
    question = settled.question(simulation, policy)
    prices, platform = settled.prices(simulation), resolved.platform
    demands = Demands(resolved.graph, platform, resolved.known_models())
    raw = np.array(question.estimates)
    scaled = demands.asked is not None and question.slowing is None
    for demand in demands.asked or () if scaled else ():
        raw[demand.group, demand.tasks] = demand.model.predict(demand.table)[demand.rows]
    speeds = np.array([[platform.speeds[group.architecture]] for group in platform.classes])
    scaled = scaled and np.array_equal(raw / speeds, question.estimates)
    if not scaled:
        raw = np.array(question.costs)
    draws = _draws(demands.asked, raw) if scaled and demands.asked is not None else []
    return _Machine(resolved, question, list(raw), scaled, prices.localities, draws)


def _draws(demands: Sequence[Demand], raw: NDArray[np.float64]) -> list[list[NDArray[np.float64]]]:
    """Return durations as a scenario with noise draws them, for the first seeds.

    There are none if the models have no distributions.
    """
    samplers = [demand.model.sampler(demand.table[demand.rows]) for demand in demands]
    seeds = min(_MOST_SEEDS, _MOST_DRAWN // max(raw.size, 1))
    found = []
    for seed in range(seeds):
        rng = np.random.default_rng([seed, 1])  # as Prices.costs
        drawn = np.full_like(raw, np.inf)
        for demand, draw in zip(demands, samplers, strict=True):
            drawn[demand.group, demand.tasks] = draw(rng)
        found.append(list(drawn))
    return [] if found and np.array_equal(found[0], raw) else found


def _even_kernels(machine: _Machine) -> list[str]:
    """Return the kernels whose tasks all take the same time on each class of workers."""
    graph, names = machine.question.graph, machine.resolved.graph.model_names
    groups = machine.question.platform.classes
    plain = all(not set(group.models) & set(",=:") for group in groups)
    found = []
    for kernel, name in enumerate(graph.kernels):
        tasks = np.flatnonzero(graph.kernel == kernel)
        even = all((row[tasks] == row[tasks[0]]).all() for row in machine.raw if len(tasks))
        alone = names.count(names[kernel]) == 1 and not set(name) & set(",=:")
        if plain and len(tasks) and even and alone:
            found.append(name)
    return found


def _with_counts(resolved: Resolved, axes: list[Axis]) -> Iterator[tuple[str, Setup]]:
    """Yield the scenario with each combination of node and worker counts, and its name."""
    scenario: Any = resolved.scenario
    groups = [axis for axis in axes if axis.section in ("nodes", "workers")]
    durations = len(resolved.graph) * len(resolved.platform.classes)
    combinations = itertools.product(*((None, *axis.values) for axis in groups))
    for counts in itertools.islice(combinations, 1, 1 + MOST_DURATIONS // max(durations, 1)):
        given = [(a, n) for a, n in zip(groups, counts, strict=True) if n is not None]
        changed, words = scenario, []
        for axis, count in given:
            if axis.section == "nodes":
                changed = changed if count == axis.base else on_nodes(changed, count)
                words.append(f"nodes {count}")
                continue
            words.append(f"{axis.name}={count}")
            if scenario.workers is not None:
                changed = replace(changed, workers=count)
            else:
                text = f"platform.workers.{axis.name}.count={count}"
                changed = replace(changed, changes=(*changed.changes, text))
        yield ",".join(words), changed


class _Rows:
    """Durations of the kinds of tasks, a row per class of workers, each distinct one once."""

    def __init__(self, resolved: Resolved) -> None:
        self._kernel = resolved.graph.kernel.astype(np.float64)
        self._numbers: dict[bytes, int] = {}
        self._rows: list[NDArray[np.float64]] = []
        self.described: dict[str, Any] = {}

    def __call__(self, row: NDArray[np.float64]) -> int:
        """Return the number of a row of durations of the tasks."""
        key = row.tobytes()
        if key not in self._numbers:
            self._numbers[key] = len(self._rows)
            self._rows.append(np.array(row))
        return self._numbers[key]

    def keep(self, store: Store) -> None:
        """Find the kinds, and put their durations into columns."""
        table = np.array([self._kernel, *self._rows])
        first, of_task = np.unique(table, axis=1, return_index=True, return_inverse=True)[1:]
        kinds = table[:, first]
        self.described = {
            "of_task": store(of_task.ravel().astype(np.int64)),
            "kernel": store(kinds[0].astype(np.int64)),
            "rows": [store(np.ascontiguousarray(row)) for row in kinds[1:]],
        }


@dataclass(frozen=True)
class _Offered:
    """A scheduler that a page offers, and what the page knows of it."""

    policy: Ported
    described: dict[str, Any]
    _of_graph: dict[str, NDArray[Any]] = field(default_factory=dict)

    def tables(self, view: KnownView) -> dict[str, NDArray[Any]]:
        """Return the tables of its policy on a machine; those of the graph are made once."""
        if self._of_graph:
            return self._of_graph
        # No tables of built-in policies depend on random numbers.
        made = self.policy.tables(view, random.Random(0))
        tables = {name: np.asarray(table) for name, table in made.items()}
        if self.policy.name in _OF_THE_GRAPH:
            self._of_graph.update(tables)
        return tables


def _schedulers(base: _Machine) -> list[_Offered]:
    """Return the schedulers that a page offers, that of the scenario first."""
    special = [name for name in _NOT_OFFERED if name != base.question.scheduler.name]
    names = [name for name in SCHEDULERS.built_in if name not in (*special, "static")]
    found: dict[str, _Offered] = {}
    for text in (str(base.resolved.scenario.scheduler), *names):
        offered = _scheduler(text, base)
        if offered is not None:
            found.setdefault(offered.described["text"], offered)
    return list(found.values())


def _scheduler(text: str, base: _Machine) -> _Offered | None:
    """Return a scheduler for a page; None if the core cannot replay it without Python."""
    name, _, given = text.partition(":")
    policy, default = ported(create(text)), ported(create(name))
    if policy is None or default is None or policy.name == "static":
        return None
    options = [option for option in _OPTIONS if option in policy.numbers]
    words = [word.strip() for word in given.split(",") if word]
    # Options that have no slider stay in the name.
    kept = [word for word in words if word.partition("=")[0].strip() not in options]
    try:
        asked = as_data(replace(base.question, scheduler=policy.scheduler), 0)["question"]
    except (Refused, InputError):
        return None
    described = {
        "text": f"{name}:{','.join(kept)}" if kept else name,
        "name": policy.name,
        "numbers": policy.numbers,
        "flags": {flag: int(asked[flag]) for flag in _FLAGS},
        "options": [
            {
                "name": option,
                "kind": _OPTIONS[option][0],
                "most": _OPTIONS[option][1],
                "base": policy.numbers[option],
                "default": default.numbers[option],
            }
            for option in options
        ],
    }
    return _Offered(policy, described)


def _described(
    machine: _Machine,
    parts: Parts,
    rows: _Rows,
    store: Store,
    schedulers: list[_Offered],
    cuts: Cuts,
) -> dict[str, Any]:
    """Return a machine as data, the links and memories of which are these *parts* of a file."""
    question, platform = machine.question, machine.question.platform
    found = as_data(question, 0)
    optional = ("alone", "submitted", "far", "contention")
    own = {name: found["question"][name] for name in optional if name in found["question"]}
    estimates = None
    if not machine.scaled:
        estimates = [rows(row) for row in np.asarray(question.estimates)]
    view = KnownView(question.graph, platform, question.costs, question.estimates)
    return {
        "workers": [[w.name, w.architecture, w.node, w.memory] for w in platform.workers],
        "memories": [[m.name, m.node, m.size_bytes] for m in platform.memories],
        "classes": [[c.architecture, c.models, len(c.workers)] for c in platform.classes],
        "costs": [rows(row) for row in machine.raw],
        "estimates": estimates,
        "speeds": dict(platform.speeds) if machine.scaled else None,
        "draws": [[store(row) for row in drawn] for drawn in machine.draws],
        "far": _far(machine, store) if machine.scaled and machine.localities else None,
        "platform": store(found["platform"]),
        "question": store(own),
        "machine": needs_machine(replace(platform, overheads=type(platform.overheads)()))
        or question.slowing is not None,
        "overheads": {
            name.removesuffix("_s"): getattr(platform.overheads, name)
            for name in type(platform.overheads).__slots__
        },
        **_network(machine, parts),
        "cluster": cuts(machine.resolved, question, [offered.policy for offered in schedulers]),
        "power": _power(machine, store),
        "tables": [
            store(offered.tables(view)) if offered.policy.asks else None for offered in schedulers
        ],
    }


def _far(machine: _Machine, store: Store) -> dict[str, Any]:
    """Return what far data cost at speed 1, which ``FarPart`` of the page divides by the speeds."""
    graph, platform = machine.question.graph, machine.question.platform
    read_bytes, written_bytes = read_and_written_bytes(graph)
    size_of = caches_of(platform)[1]
    known = []
    for (index, kernel), locality in machine.localities.items():
        size_bytes = size_of[platform.classes[index].workers[0]]
        here = locality if size_bytes is None else locality.on_cache(size_bytes)
        costs = here.seconds_per_far_byte, here.seconds_per_far_written_byte
        known.append([index, kernel, *costs, here.mean_far_share, here.mean_far_written_share])
    return {
        "known": known,
        "read_bytes": store(np.asarray(read_bytes, np.float64)),
        "written_bytes": store(np.asarray(written_bytes, np.float64)),
        "least_near": MIN_NEAR_SHARE,
    }


def _power(machine: _Machine, store: Store) -> dict[str, Any] | None:
    """Return the power of a node in watts: static, of its workers, of copies; None if unknown."""
    info = power_info([machine.question.platform])
    if info is None:
        return None
    names = machine.question.graph.kernels
    return {
        "static": info.static_w,
        "kind_of": list(info.kind_of),
        "idle": [kind.idle_w for kind in info.kinds],
        "busy": [store(np.array([kind.of(name) for name in names])) for kind in info.kinds],
        "copies": [[*ends, watts] for ends, watts in info.copies.items()],
    }


def _network(machine: _Machine, parts: Parts) -> dict[str, Any]:
    """Return the links and routes of a machine, by which copies are made."""
    platform = machine.question.platform
    return {
        "links": [
            {
                "entry": entry,
                "bandwidth": link.bandwidth_bytes_per_s,
                "latency": link.latency_s,
                "measured_bandwidth": link.measured_bandwidth_bytes_per_s,
                "measured_latency": link.measured_latency_s,
                "shared": link.shared,
            }
            for entry, link in zip(parts.links, platform.links, strict=True)
        ],
        "memory_entries": parts.memories,
        "routes": [[*ends, list(platform.route(*ends) or ())] for ends in paths_of(platform)],
        "devices": sum(device_memories(platform)),
        "contention": platform.copying.contention,
    }
