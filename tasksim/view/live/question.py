"""The question of a live page as data: graph, durations, machines and schedulers.

Numbers of tasks travel as columns, each distinct one once. A task's duration depends on its *kind*:
tasks of one kernel with the same durations on all machines. What depends on the workers, such as
the routes of copies, is settled here once per *machine*, a combination of worker counts; what
depends on other sliders is computed in the page, by the same operations in the same order
(``script/livequestion.js``), so that the page asks the core exactly what the command asks.
"""

from __future__ import annotations

import itertools
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.engine.choice import as_data
from tasksim.engine.compiled.view import KnownView
from tasksim.engine.data.network import paths_of
from tasksim.engine.data.ways import device_memories
from tasksim.engine.durations import Demands
from tasksim.engine.locality import MIN_NEAR_SHARE, caches_of
from tasksim.engine.question import Question, needs_machine
from tasksim.engine.simulation import Settled
from tasksim.graph.flop import task_flop
from tasksim.graph.iterations import iterations
from tasksim.graph.reuse import read_and_written_bytes
from tasksim.run.power import power_info
from tasksim.runtime.flat import Refused, ported
from tasksim.schedulers.registry import create
from tasksim.view.live.axes import MOST_MACHINES, LiveAxis, PartNames, PartsByName, axes_of, data_of
from tasksim.view.live.nodes import Cuts, network_axes, node_axes, on_nodes
from tasksim.view.live.parameters import MAX_GRAPH_TASKS, usual_axes
from tasksim.view.live.schedulers import (
    GRAPH_TABLE_SCHEDULERS,
    PLANNED_POLICY,
    RANDOM_PLANNERS,
    OfferedScheduler,
    offered_schedulers,
)
from tasksim.view.page.columns import PackedColumns
from tasksim.view.page.tables import data_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tasksim.engine.durations import Demand
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.models.locality import Locality
    from tasksim.run.measured import Creations
    from tasksim.scenario.resolved import Resolved, Resolver
    from tasksim.scenario.setup import Setup

__all__ = ["LiveQuestion", "Unanswerable", "live_question"]

_MOST_SEEDS: Final = 8
"""Maximum number of seeds whose drawn durations a page has: their spread shows what noise does."""
_MOST_DRAWN: Final = 200_000
"""Maximum number of drawn durations per machine, of all seeds: two megabytes in a page."""
_MAX_DRAWN_ELSEWHERE: Final = 100_000
"""The same for all graphs with other parameters together: one megabyte."""
_MAX_SETTLED_PAIRS: Final = 640
"""Maximum number of pairs of a graph and a machine, each of which takes some 15 ms to settle."""
MOST_DURATIONS: Final = 40_000_000
"""Maximum number of durations, of tasks on classes of workers of all machines, that are settled: in
some ten seconds."""


class Unanswerable(Exception):
    """A scenario that a live page can show, but not replay, with the reason."""


@dataclass
class LiveQuestion:
    """The data of a live page.

    Attributes
    ----------
    data : dict
        The scenario and its variations, for its own graph. Each entry of ``graphs`` has the number
        of another graph in *graphs* and its tasks, or why there is none.
    graphs : list of dict
        Per graph with other parameters what it changes in *data*.
    shelves : list of PackedColumns
        The columns of *data*, then those of each of the *graphs* that no earlier one has.
    settings : dict of str -> tuple of str
        By its name in the page, the settings of each graph.
    parameters : sequence of LiveAxis
        The axes of the graph's parameters.
    left_out : list of str
        The values of parameters without a graph in the page, and why.
    """

    data: dict[str, Any]
    graphs: list[dict[str, Any]]
    shelves: list[PackedColumns]
    settings: dict[str, tuple[str, ...]]
    parameters: Sequence[LiveAxis]
    left_out: list[str]

    @property
    def kernels(self) -> list[str]:
        """Names of the kernels of all graphs."""
        found = [self.data["kernels"], *(graph["kernels"] for graph in self.graphs)]
        return list(dict.fromkeys(itertools.chain(*found)))


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
    """Cost of far data in models, by class and kernel."""
    draws: list[list[NDArray[np.float64]]]
    """Per seed from 0, durations drawn in the place of *raw*; none without noise."""
    estimates: list[NDArray[np.float64]] | None
    """Per class what schedulers believe, if it is not *raw*."""
    creations: Creations | None
    """Creations that are not in *raw* and *estimates*; None: all is in them."""


class Shelves:
    """Columns of a page on shelves, each distinct one once; its name begins with its shelf."""

    def __init__(self) -> None:
        self.shelves = [PackedColumns()]
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
            self._names[key] = f"{len(self.shelves) - 1}.{len(self._names)}"
            self._add(self._names[key], value.ravel())
        large = value.dtype.kind == "i" and not _is_small(value)
        return {"$": self._names[key], **({"of": "BigInt64Array"} if large else {})}

    def drop_shelf(self) -> None:
        """Remove the last shelf with its columns."""
        prefix = f"{len(self.shelves) - 1}."
        self.shelves.pop()
        kept = self._names.items()
        self._names = {key: name for key, name in kept if not name.startswith(prefix)}

    def _add(self, name: str, values: NDArray[Any]) -> None:
        columns = self.shelves[-1]
        if values.dtype.kind == "f" or not _is_small(values):
            columns.exact(name, values)
        else:
            ascends = values.size > 1 and (np.diff(values.astype(np.int64)) >= 0).all()
            columns.whole(name, values, differences=bool(ascends))


def _is_small(values: NDArray[Any]) -> bool:
    """Return whether a double holds each of the whole *values*."""
    return not values.size or int(np.abs(values.astype(np.float64)).max()) < 2**53


def live_question(
    resolved: Resolved, resolver: Resolver, asked: Sequence[LiveAxis] | None = None
) -> LiveQuestion:
    """Return the data with which a page replays a scenario and its variations.

    Parameters
    ----------
    resolved : Resolved
    resolver : Resolver
        That which resolved it.
    asked : sequence of LiveAxis or None, default None
        The axes of the graph's parameters; None: usual ones.

    Raises
    ------
    Unanswerable
        If the compiled core, or a page, cannot replay the scenario.
    InputError
        If the graphs that are asked for have too many tasks.
    """
    if resolved.engine.get("simultaneous_pushes", "serial") != "serial":
        raise Unanswerable("its pushes are blind, which a live page does not replay yet")
    if not isinstance(resolved.scenario.scheduler, str):
        raise Unanswerable("its scheduler was made in Python")
    scenario, changes = resolved.scenario, resolved.scenario.platform_changes
    library = None if scenario.library is None else Path(scenario.library)
    base, store = _machine(resolved), Shelves()
    if scenario.noise != "none" and scenario.seed >= len(base.draws):
        raise Unanswerable(
            f"its durations are drawn with seed {scenario.seed}, and a page of this"
            f" size has {len(base.draws)} seeds from 0"
        )
    given, left_out = list(asked or ()), list[str]()
    if asked is None:
        count = partial(_count_tasks, resolver)
        given, left_out = usual_axes(scenario, len(resolved.graph), count, nodes=resolved.nodes)
    variants, tasks = _variants(resolver, scenario, given)
    durations = (len(resolved.graph) + tasks) * len(resolved.platform.classes)
    data = data_of(resolved.platform, library, changes)
    parts = PartsByName(library, data)
    most_machines = min(
        MOST_MACHINES,
        _MAX_SETTLED_PAIRS // (1 + len(variants)),
        MOST_DURATIONS // max(durations, 1),
    )
    nodes = node_axes(resolved, resolver, len(resolved.graph) + tasks, most_machines)
    of_node = axes_of(
        resolved,
        data,
        parts(resolved),
        scalable=base.scaled,
        kernels=_even_kernels(base),
        creations=hasattr(resolved.models, "creations"),
        most_machines=most_machines // max(sum(len(axis.values) for axis in nodes), 1),
    )
    axes = [*nodes, *of_node, *network_axes(resolved)]
    settling = _Settling(
        resolver, axes, parts, store, offered_schedulers(base.question, str(scenario.scheduler))
    )
    own = settling.settled(base, _MOST_DRAWN)
    graphs: list[dict[str, Any]] = []
    index: dict[str, dict[str, Any]] = {}
    settings = {"": scenario.settings}
    for name, variant in variants.items():
        store.shelves.append(PackedColumns())
        try:
            found = settling.variant(variant, base, _MAX_DRAWN_ELSEWHERE // len(variants))
        except (InputError, Refused, Unanswerable) as error:
            store.drop_shelf()
            index[name] = {"refused": str(error)}
            left_out.append(f"{name.replace(',', ' ')} is left out: {error}")
            continue
        found["machines"] = _differences(found["machines"], own["machines"])
        graphs.append(found)
        index[name] = {"number": len(graphs), "tasks": found["tasks"]}
        settings[name] = variant.settings
    question = {
        **own,
        "graphs": index,
        "axes": [axis.to_json() for axis in [*given, *axes]],
        "schedulers": [entry.described for entry in settling.schedulers],
        "scheduler": settling.schedulers[0].described["text"],
        "seed": scenario.seed,
        "noise": scenario.noise,
        # Since Python 3.12, sum() adds the digits that were lost; the page does as this Python.
        "compensated": sum([1.0, 1e100, 1.0, -1e100]) == 2.0,
    }
    return LiveQuestion(question, graphs, store.shelves, settings, given, left_out)


def _count_tasks(resolver: Resolver, scenario: Setup) -> int:
    """Return the number of tasks of a variant; raise :exc:`InputError` if it has no durations."""
    try:
        return len(_machine(resolver.resolve(scenario), most_drawn=0).resolved.graph)
    except (Refused, Unanswerable) as error:
        raise InputError(str(error)) from error


def _variants(
    resolver: Resolver, scenario: Setup, axes: Sequence[LiveAxis]
) -> tuple[dict[str, Setup], int]:
    """Return the scenario with each other combination of parameters, and all their tasks.

    The key is the name of the graph in the page. Raises :exc:`InputError` if there are too many
    tasks.
    """
    found: dict[str, Setup] = {}
    tasks = 0
    for values in itertools.product(*(axis.values for axis in axes)):
        pairs = [(a.name, v) for a, v in zip(axes, values, strict=True) if v != a.base]
        if not pairs:
            continue
        name = ",".join(f"{parameter}={value}" for parameter, value in pairs)
        found[name] = scenario.vary({f"graph.{parameter}": value for parameter, value in pairs})
        with suppress(InputError):  # the page says why there is no such graph
            tasks += len(resolver.resolve(found[name]).graph)
        if tasks > MAX_GRAPH_TASKS:
            raise InputError(
                f"{scenario.graph_label}: the graphs up to {name} have {tasks} tasks; legal in a "
                f"live page: at most {MAX_GRAPH_TASKS}"
            )
    return found, tasks


@dataclass(frozen=True)
class _Settling:
    """Values that the graphs of a page share while they are settled."""

    resolver: Resolver
    axes: list[LiveAxis]
    parts: PartsByName
    store: Shelves
    schedulers: list[OfferedScheduler]

    def variant(self, scenario: Setup, base: _Machine, most_drawn: int) -> dict[str, Any]:
        """Return the data of the graph of a variant of the scenario of *base*."""
        machine = _machine(self.resolver.resolve(scenario), most_drawn)
        if machine.scaled != base.scaled:
            raise Unanswerable("its durations do not follow the sliders of speeds")
        return {**self.settled(machine, most_drawn), **self.shown(machine.question.graph)}

    def settled(self, base: _Machine, most_drawn: int) -> dict[str, Any]:
        """Return the data of a graph, on the machine *base* and on all others."""
        resolved, store, rows = base.resolved, self.store, _Rows(base.resolved)
        schedulers = [entry.of_another_graph() for entry in self.schedulers]
        cuts = Cuts(store, GRAPH_TABLE_SCHEDULERS)
        machines = {"": _described(base, self.parts(resolved), rows, store, schedulers, cuts)}
        for name, changed in _with_counts(resolved, self.axes):
            try:
                machine = _machine(self.resolver.resolve(changed), most_drawn)
            except (InputError, Refused, Unanswerable) as error:
                machines[name] = {"refused": str(error)}
                continue
            own = self.parts(machine.resolved)
            machines[name] = _described(machine, own, rows, store, schedulers, cuts)
            if machine.scaled != base.scaled:
                machines[name] = {"refused": "its durations do not follow the sliders of speeds"}
        graph = base.question.graph
        asked = replace(base.question, scheduler=create("eager"))
        columns = store(as_data(asked, resolved.scenario.seed)["graph"])
        rows.keep(store)
        return {
            "graph": columns,
            "tasks": len(graph),
            "kernels": list(graph.kernels),
            "even": _even_kernels(base),
            "machines": machines,
            "cuts": cuts.described,
            "kinds": rows.described,
            "flop": float(np.nansum(task_flop(graph))),
        }

    def shown(self, graph: TaskGraph) -> dict[str, Any]:
        """Return the columns of a graph other than the recorded one that the page shows."""
        flop, iteration = task_flop(graph), iterations(graph)
        return {
            "iteration": None if iteration is None else self.store(iteration),
            "task_flop": self.store(flop) if np.isfinite(flop).any() else None,
            "data": data_names(graph),
        }


def _differences(machines: dict[str, Any], base: dict[str, Any]) -> dict[str, Any]:
    """Return what *machines* have that those of the page's own graph have not."""
    found = {}
    for name, machine in machines.items():
        known = base[name]
        if "refused" in known:
            found[name] = machine
        else:
            found[name] = {
                key: own for key, own in machine.items() if key not in known or own != known[key]
            }
    return found


def _machine(resolved: Resolved, most_drawn: int = _MOST_DRAWN) -> _Machine:
    """Return a scenario's machine, with at *most* so many drawn durations.

    Raises :exc:`Unanswerable` if the core does not replay it.
    """
    simulation, settled = resolved.simulation(), Settled()
    policy = create(str(simulation.scheduler))
    known = ported(policy)
    if known is None:
        raise Unanswerable(f"its scheduler {policy.name} is not one of the compiled core")
    if policy.name in RANDOM_PLANNERS:
        raise Unanswerable(f"its scheduler {policy.name} makes another plan for each seed")
    if known.name == PLANNED_POLICY and resolved.cluster is not None:
        raise Unanswerable(f"its scheduler {policy.name} makes a plan for each node")
    question = settled.question(simulation._replace(scheduler=policy))
    prices, platform = settled.prices(simulation), resolved.platform
    demands = Demands(resolved.graph, platform, resolved.known_models())
    raw = np.array(question.estimates)
    scaled = demands.asked is not None and question.slowing is None
    for demand in demands.asked or () if scaled else ():
        raw[demand.group, demand.tasks] = demand.model.predict(demand.table)[demand.rows]
    speeds = np.array([[platform.speeds[group.architecture]] for group in platform.classes])
    scaled = scaled and np.array_equal(raw / speeds, question.estimates)
    estimates: list[NDArray[np.float64]] | None = None
    creations: Creations | None = None
    if not scaled:
        raw, believed = np.array(question.costs), np.array(question.estimates)
        models: Any = resolved.models
        if hasattr(models, "creations") and not platform.memory_domains:
            creations = models.creations(resolved.graph, platform)
        if creations is not None:  # durations are measured, and the platform adds their costs
            free = replace(platform.overheads, creation_s=0.0, dependence_s=0.0)
            raw = believed = models.seconds(resolved.graph, replace(platform, overheads=free))
        estimates = list(believed)
    asked = demands.asked if scaled and demands.asked is not None else []
    draws = _draws(asked, raw, most_drawn) if asked else []
    localities = prices.localities
    return _Machine(resolved, question, list(raw), scaled, localities, draws, estimates, creations)


def _draws(
    demands: Sequence[Demand], raw: NDArray[np.float64], most: int
) -> list[list[NDArray[np.float64]]]:
    """Return durations as a scenario with noise draws them, for the first seeds.

    There are none if the models have no distributions.
    """
    samplers = [demand.model.sampler(demand.table[demand.rows]) for demand in demands]
    seeds = min(_MOST_SEEDS, most // max(raw.size, 1))
    found = []
    for seed in range(seeds):
        rng = np.random.default_rng([seed, 1])  # as Prices.costs
        drawn = np.full_like(raw, np.inf)
        for demand, draw in zip(demands, samplers, strict=True):
            drawn[demand.group, demand.tasks] = draw(rng)
        found.append(list(drawn))
    return [] if found and np.array_equal(found[0], raw) else found


def _even_kernels(machine: _Machine) -> list[str]:
    """Return the kernels whose speed can change: their tasks take the same time on each class."""
    if not machine.scaled or machine.localities:
        return []  # a given duration would know nothing of far data
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


def _with_counts(resolved: Resolved, axes: list[LiveAxis]) -> Iterator[tuple[str, Setup]]:
    """Yield the scenario with each combination of node and worker counts, and its name."""
    scenario: Any = resolved.scenario
    groups = [axis for axis in axes if axis.section in ("nodes", "workers")]
    combinations: Any = itertools.product(*((None, *axis.values) for axis in groups))
    for counts in itertools.islice(combinations, 1, None):
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

    def keep(self, store: Shelves) -> None:
        """Find the kinds, and put their durations into columns."""
        table = np.array([self._kernel, *self._rows])
        first, of_task = np.unique(table, axis=1, return_index=True, return_inverse=True)[1:]
        kinds = table[:, first]
        self.described = {
            "of_task": store(of_task.ravel().astype(np.int64)),
            "kernel": store(kinds[0].astype(np.int64)),
            "rows": [store(np.ascontiguousarray(row)) for row in kinds[1:]],
        }


def _described(
    machine: _Machine,
    parts: PartNames,
    rows: _Rows,
    store: Shelves,
    schedulers: list[OfferedScheduler],
    cuts: Cuts,
) -> dict[str, Any]:
    """Return a machine as data, the links and memories of which are these *parts* of a file."""
    question, platform = machine.question, machine.question.platform
    # Under a scheduler without tables: those of each are made below.
    found = as_data(replace(question, scheduler=create("eager")), 0)
    optional = ("alone", "submitted", "far", "contention")
    own = {name: found["question"][name] for name in optional if name in found["question"]}
    estimates, creations = machine.estimates, machine.creations
    view = KnownView(question.graph, platform, question.costs, question.estimates)
    return {
        "workers": [[w.name, w.architecture, w.node, w.memory] for w in platform.workers],
        "memories": [[m.name, m.node, m.size_bytes] for m in platform.memories],
        "classes": [[c.architecture, c.models, len(c.workers)] for c in platform.classes],
        "costs": [rows(row) for row in machine.raw],
        "estimates": None if estimates is None else [rows(row) for row in estimates],
        "creations": None if creations is None else store(creations._asdict()),
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


def _far(machine: _Machine, store: Shelves) -> dict[str, Any]:
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


def _power(machine: _Machine, store: Shelves) -> dict[str, Any] | None:
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


def _network(machine: _Machine, parts: PartNames) -> dict[str, Any]:
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
