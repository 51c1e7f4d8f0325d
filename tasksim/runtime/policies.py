"""Schedulers that the compiled core has too, with the options and tables that it needs.

A new one is a file in ``core/schedulers/`` and a line in :data:`PORTED`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    import random

    from tasksim.graph.csr import Int64
    from tasksim.schedulers.base import Scheduler, View

__all__ = ["PORTED", "Policy", "Ported", "ported"]

Tables = Callable[[Any, "View", "random.Random"], "dict[str, Int64]"]
"""A function that makes the tables of a scheduler at the start of a run."""

MOST_TASKS: Final = 2**31
"""Limit of the number of tasks of a graph in the core: no counter of tasks needs more."""
HOOKS: Final = (
    "attach", "push", "choose", "chosen", "commit", "pop", "started", "finished",
)  # fmt: skip
"""The methods of a scheduler that engines call."""


def _nothing(scheduler: Scheduler, view: View, rng: random.Random) -> dict[str, Int64]:  # noqa: ARG001
    return {}


def _architectures(scheduler: Any, view: View, rng: random.Random) -> dict[str, Int64]:
    """Return whether each worker is a CPU, its architecture, and the buckets of heteroprio."""
    from tasksim.schedulers.heteroprio import architectures_of
    from tasksim.schedulers.heteroprio_buckets import model_numbers

    names = architectures_of(view.workers)
    architecture = [names.index(worker.architecture) for worker in view.workers]
    tables = _hosts(scheduler, view, rng)
    tables["architecture"] = np.array(architecture, dtype=np.int64)
    if scheduler.orders:
        tables |= _given_buckets(view, names, scheduler.orders)
    else:
        tables["model"] = model_numbers(view.graph)
    return tables


def _given_buckets(view: View, names: list[str], given: Mapping[str, str]) -> dict[str, Int64]:
    from tasksim.schedulers.heteroprio_buckets import given_orders
    from tasksim.schedulers.static.follower import rows

    orders = given_orders(view, names, given)
    of_kernel = [orders.bucket_of.get(kernel, -1) for kernel in view.graph.kernels]
    return {
        "bucket_of_kernel": np.array(of_kernel, dtype=np.int64),
        **rows("order", orders.orders),
        "fastest": np.array(orders.fastest, dtype=np.int64),
        "slow": np.array(orders.slow, dtype=np.float64).ravel().view(np.int64),  # bit by bit
    }


def _hosts(scheduler: Any, view: View, rng: random.Random) -> dict[str, Int64]:  # noqa: ARG001
    from tasksim.schedulers.heteroprio import HOST_ARCHITECTURE

    hosts = [worker.architecture == HOST_ARCHITECTURE for worker in view.workers]
    return {"host": np.array(hosts, dtype=np.int64)}


def _energy(scheduler: Any, view: View, rng: random.Random) -> dict[str, Int64]:  # noqa: ARG001
    """Return the cost of energy in decisions of the dm family."""
    return {"energy": scheduler.energy_weights(view).as_table()}


def _plan(scheduler: Any, view: View, rng: random.Random) -> dict[str, Int64]:
    scheduler.attach(view, rng)
    tables: dict[str, Int64] = scheduler.as_tables()
    return tables


@dataclass(frozen=True)
class Policy:
    """A policy of the core: its name there, its numeric options, and its tables.

    *numbers* maps the name of an option to a function that reads it from the scheduler.
    """

    name: str
    numbers: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    tables: Tables = _nothing


DM_OPTIONS: Final = {"prefetch": attrgetter("prefetch")}
WEIGHTS: Final = {"alpha": attrgetter("alpha"), "beta": attrgetter("beta")}
DMDA_OPTIONS: Final = {**DM_OPTIONS, **WEIGHTS}
HEFT_OPTIONS: Final = {
    **WEIGHTS,
    "tasks": attrgetter("tasks"),
    "seconds": attrgetter("seconds"),
}
BUCKET_OPTIONS: Final[Mapping[str, Callable[[Any], Any]]] = {
    # A graph has fewer tasks than this: a longer interval has the same effect.
    "interval": lambda scheduler: min(scheduler.interval, MOST_TASKS),
    "learned": attrgetter("learned"),
    "given": lambda scheduler: bool(scheduler.orders),
}
GRAPH_TEST_OPTIONS: Final = {"descendants": attrgetter("descendants")}
STATIC_POLICY: Final = Policy(
    "static", {"strict": lambda scheduler: scheduler.order == "strict"}, _plan
)

PORTED: Final[Mapping[str, Policy]] = {
    "tasksim.schedulers.eager:Eager": Policy("eager"),
    "tasksim.schedulers.prio:Prio": Policy("prio"),
    "tasksim.schedulers.dask:Dask": Policy("dask"),
    "tasksim.schedulers.weighted_random:Random": Policy("random"),
    "tasksim.schedulers.ws:WorkStealing": Policy("ws"),
    "tasksim.schedulers.ws:LocalityWorkStealing": Policy("lws"),
    "tasksim.schedulers.dm:DequeModel": Policy("dm", DM_OPTIONS),
    "tasksim.schedulers.dmda:DataAware": Policy("dmda", DMDA_OPTIONS, _energy),
    "tasksim.schedulers.dmda:DataAwarePriority": Policy("dmdap", DMDA_OPTIONS, _energy),
    "tasksim.schedulers.dmda:DataAwareReady": Policy("dmdar", DMDA_OPTIONS, _energy),
    "tasksim.schedulers.dmda:DataAwareSorted": Policy("dmdas", DMDA_OPTIONS, _energy),
    "tasksim.schedulers.dmda:DataAwareSortedDecision": Policy("dmdasd", DMDA_OPTIONS, _energy),
    "tasksim.schedulers.heteroprio:Heteroprio": Policy(
        "heteroprio", BUCKET_OPTIONS, _architectures
    ),
    "tasksim.schedulers.graph_test:GraphTest": Policy("graph_test", GRAPH_TEST_OPTIONS, _hosts),
    "tasksim.schedulers.modular_eager:ModularEager": Policy("modular-eager"),
    "tasksim.schedulers.modular_eager:ModularPrio": Policy("modular-prio"),
    "tasksim.schedulers.modular_dmda:ModularDmda": Policy("modular-dmda", WEIGHTS, _energy),
    "tasksim.schedulers.modular_dmda:ModularDmdap": Policy("modular-dmdap", WEIGHTS, _energy),
    "tasksim.schedulers.modular_dmda:ModularDmdar": Policy("modular-dmdar", WEIGHTS, _energy),
    "tasksim.schedulers.modular_dmda:ModularDmdas": Policy("modular-dmdas", WEIGHTS, _energy),
    "tasksim.schedulers.modular_heft:ModularHeft": Policy("modular-heft", HEFT_OPTIONS, _energy),
    "tasksim.schedulers.static.heft:Heft": STATIC_POLICY,
    "tasksim.schedulers.static.cpop:Cpop": STATIC_POLICY,
    "tasksim.schedulers.static.peft:Peft": STATIC_POLICY,
    "tasksim.schedulers.static.batch:MinMin": STATIC_POLICY,
    "tasksim.schedulers.static.batch:MaxMin": STATIC_POLICY,
    "tasksim.schedulers.static.plan_from_file:Given": STATIC_POLICY,
}
"""The policy of each ported scheduler, by module and class as in the registry."""


@dataclass(frozen=True)
class Ported:
    """A scheduler that the core can run.

    Attributes
    ----------
    scheduler : Scheduler
        The Python scheduler.
    name : str
        The name of its policy in the core.
    numbers : dict of str to float
        Its numeric options.
    """

    scheduler: Scheduler
    name: str
    numbers: dict[str, float]
    _tables: Tables

    @property
    def asks(self) -> bool:
        """Whether it has tables, which are made from a view."""
        return self._tables is not _nothing

    def tables(self, view: View | None, rng: random.Random) -> dict[str, Int64]:
        """Return its tables for the run that begins; a static scheduler plans the run now.

        Tables use only those parts of *view* that are known before the clock starts: the graph,
        the workers, their classes, the tasks that each can run, and estimates of tasks and copies.
        *view* may be None if there are no tables. Errors of the scheduler's ``attach`` pass
        through.
        """
        return {} if view is None else self._tables(self.scheduler, view, rng)


def ported(scheduler: Scheduler) -> Ported | None:
    """Return *scheduler* for the core; None if the core would not behave in the same way.

    The core has policies for the built-in classes, not for classes derived from them, nor for
    objects or classes with a replaced method or class attribute.
    """
    kind = type(scheduler)
    policy = PORTED.get(f"{kind.__module__}:{kind.__qualname__}")
    if policy is None or any(hasattr(kind, name) for name in vars(scheduler)):
        return None
    if not all(_is_own(getattr(kind, hook)) for hook in HOOKS):
        return None
    numbers = {name: read(scheduler) for name, read in policy.numbers.items()}
    if not all(isinstance(number, int | float) and isfinite(number) for number in numbers.values()):
        return None
    options = {name: float(number) for name, number in numbers.items()}
    return Ported(scheduler, policy.name, options, policy.tables)


def _is_own(method: Any) -> bool:
    """Return whether *method* is defined in a built-in scheduler, and not a replacement."""
    return getattr(method, "__module__", "").startswith("tasksim.schedulers.")
