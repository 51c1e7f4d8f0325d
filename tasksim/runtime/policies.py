"""Policies of the core: which schedulers are ported to it, and what it is told of their options.

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
"""What makes the tables of a scheduler, when the run that a view shows begins."""

MOST_TASKS: Final = 2**31
"""A graph in the core has fewer, so that what counts tasks need not count further."""
HOOKS: Final = (
    "attach", "push", "choose", "chosen", "commit", "pop", "started", "finished",
)  # fmt: skip
"""The methods of a scheduler that engines call."""


def _nothing(scheduler: Scheduler, view: View, rng: random.Random) -> dict[str, Int64]:  # noqa: ARG001
    return {}


def _architectures(scheduler: Any, view: View, rng: random.Random) -> dict[str, Int64]:
    """Return which workers are CPUs, the architecture of each, and the buckets of heteroprio."""
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
    from tasksim.schedulers.heteroprio import HOST

    hosts = [worker.architecture == HOST for worker in view.workers]
    return {"host": np.array(hosts, dtype=np.int64)}


def _energy(scheduler: Any, view: View, rng: random.Random) -> dict[str, Int64]:  # noqa: ARG001
    """Return what energy costs in decisions of the dm family."""
    return {"energy": scheduler.energy_weights(view).as_table()}


def _plan(scheduler: Any, view: View, rng: random.Random) -> dict[str, Int64]:
    scheduler.attach(view, rng)
    tables: dict[str, Int64] = scheduler.as_tables()
    return tables


@dataclass(frozen=True)
class Policy:
    """A policy of the core: its name there, its numbers, and what makes its tables.

    *numbers* says per name how to read it off the scheduler.
    """

    name: str
    numbers: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    tables: Tables = _nothing


PUSHED: Final = {"prefetch": attrgetter("prefetch")}
WEIGHTS: Final = {"alpha": attrgetter("alpha"), "beta": attrgetter("beta")}
MODEL: Final = {**PUSHED, **WEIGHTS}
HEFT: Final = {**WEIGHTS, "tasks": attrgetter("tasks"), "seconds": attrgetter("seconds")}
BUCKETS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "interval": lambda scheduler: min(scheduler.interval, MOST_TASKS),
    "learned": attrgetter("learned"),
    "given": lambda scheduler: bool(scheduler.orders),
}
DEPTHS: Final = {"descendants": attrgetter("descendants")}
FOLLOWER: Final = Policy("static", {"strict": lambda scheduler: scheduler.order == "strict"}, _plan)

PORTED: Final[Mapping[str, Policy]] = {
    "tasksim.schedulers.eager:Eager": Policy("eager"),
    "tasksim.schedulers.prio:Prio": Policy("prio"),
    "tasksim.schedulers.dask:Dask": Policy("dask"),
    "tasksim.schedulers.weighted_random:Random": Policy("random"),
    "tasksim.schedulers.ws:WorkStealing": Policy("ws"),
    "tasksim.schedulers.ws:LocalityWorkStealing": Policy("lws"),
    "tasksim.schedulers.dm:DequeModel": Policy("dm", PUSHED),
    "tasksim.schedulers.dmda:DataAware": Policy("dmda", MODEL, _energy),
    "tasksim.schedulers.dmda:DataAwarePriority": Policy("dmdap", MODEL, _energy),
    "tasksim.schedulers.dmda:DataAwareReady": Policy("dmdar", MODEL, _energy),
    "tasksim.schedulers.dmda:DataAwareSorted": Policy("dmdas", MODEL, _energy),
    "tasksim.schedulers.dmda:DataAwareSortedDecision": Policy("dmdasd", MODEL, _energy),
    "tasksim.schedulers.heteroprio:Heteroprio": Policy("heteroprio", BUCKETS, _architectures),
    "tasksim.schedulers.graph_test:GraphTest": Policy("graph_test", DEPTHS, _hosts),
    "tasksim.schedulers.modular_eager:ModularEager": Policy("modular-eager"),
    "tasksim.schedulers.modular_eager:ModularPrio": Policy("modular-prio"),
    "tasksim.schedulers.modular_dmda:ModularDmda": Policy("modular-dmda", WEIGHTS, _energy),
    "tasksim.schedulers.modular_dmda:ModularDmdap": Policy("modular-dmdap", WEIGHTS, _energy),
    "tasksim.schedulers.modular_dmda:ModularDmdar": Policy("modular-dmdar", WEIGHTS, _energy),
    "tasksim.schedulers.modular_dmda:ModularDmdas": Policy("modular-dmdas", WEIGHTS, _energy),
    "tasksim.schedulers.modular_heft:ModularHeft": Policy("modular-heft", HEFT, _energy),
    "tasksim.schedulers.static.heft:Heft": FOLLOWER,
    "tasksim.schedulers.static.cpop:Cpop": FOLLOWER,
    "tasksim.schedulers.static.peft:Peft": FOLLOWER,
    "tasksim.schedulers.static.batch:MinMin": FOLLOWER,
    "tasksim.schedulers.static.batch:MaxMin": FOLLOWER,
    "tasksim.schedulers.static.plan_from_file:Given": FOLLOWER,
}
"""The schedulers that are ported, by module and class, as the registry has them."""


@dataclass(frozen=True)
class Ported:
    """A scheduler as the core takes it.

    Attributes
    ----------
    scheduler : Scheduler
        The object itself.
    name : str
        Its policy's name in the core.
    numbers : dict of str to float
        Its options.
    """

    scheduler: Scheduler
    name: str
    numbers: dict[str, float]
    _tables: Tables

    @property
    def asks(self) -> bool:
        """Whether it has tables, made of what a view shows."""
        return self._tables is not _nothing

    def tables(self, view: View | None, rng: random.Random) -> dict[str, Int64]:
        """Return its tables for the run that begins; static schedulers plan it now.

        Of *view*, only what is known before the clock starts is asked: the graph, the workers,
        their classes, who can run what, and estimates, of tasks and of copies; where it asks for
        nothing, there may be none. What a scheduler's ``attach`` raises, this raises.
        """
        return {} if view is None else self._tables(self.scheduler, view, rng)


def ported(scheduler: Scheduler) -> Ported | None:
    """Return *scheduler* as the core takes it; None if it is not, in every detail, ported.

    Ported are objects of exactly a built-in class, none of whose methods, nor what else they
    have from their class, was replaced.
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
    """Return whether *method* is one of the built-in schedulers', and not put in its place."""
    return getattr(method, "__module__", "").startswith("tasksim.schedulers.")
