"""Schedulers that a live page offers, with their options and tables."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.engine.choice import as_data
from tasksim.runtime.flat import Refused, ported
from tasksim.schedulers.registry import SCHEDULERS, SCHEDULERS_WITH_REQUIRED_OPTIONS, create

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.engine.compiled.view import KnownView
    from tasksim.engine.question import Question
    from tasksim.runtime.flat import Ported

__all__ = [
    "GRAPH_TABLE_SCHEDULERS",
    "PLANNED_POLICY",
    "RANDOM_PLANNERS",
    "OfferedScheduler",
    "offered_schedulers",
]

_POLICY_FIELDS: Final = (
    "uses_priorities", "looks_at_data", "chooses_apart", "hears_started", "hears_finished",
)  # fmt: skip
"""Fields of a question that belong to its scheduler."""
_SLIDER_OPTIONS: Final[dict[str, tuple[str, float]]] = {
    "alpha": ("number", 8.0), "beta": ("number", 8.0), "prefetch": ("flag", 1.0),
    "learned": ("flag", 1.0), "descendants": ("flag", 1.0), "interval": ("count", 256.0),
}  # fmt: skip
"""Options of schedulers that a page changes, with their kind and the end of their slider."""
_NOT_OFFERED: Final = ("libomp", "libgomp", "numa-lws")
"""Schedulers for OpenMP's tasks and memory domains, offered only where a scenario has them."""
GRAPH_TABLE_SCHEDULERS: Final = ("darts", "libomp", "libgomp")
"""Schedulers whose tables depend on the graph alone; those of a large one take a while."""
PLANNED_POLICY: Final = "static"
"""The policy of the core that follows a plan, which Python makes before the run begins."""
_PLAN_SECTIONS: Final = ("speed", "kernel", "bandwidth", "latency", "memory")
"""Sections of sliders on which a plan depends: durations, copies, and where data fit. A page has
plans for the scenario's own."""
RANDOM_PLANNERS: Final = ("wba",)
"""Schedulers whose plans depend on random numbers."""
_MAX_PLANNED_TASKS: Final = 200_000
"""Maximum number of tasks in the plans of a page, beside that of the scenario itself. To plan ten
thousand takes HEFT a second."""


@dataclass(frozen=True)
class OfferedScheduler:
    """A scheduler that a page offers, with its description and its tables."""

    policy: Ported
    described: dict[str, Any]
    planned: list[int] = field(default_factory=list)
    """Tasks of each plan that was made, of all graphs; 0 of the first."""
    _of_graph: dict[str, NDArray[Any]] = field(default_factory=dict)

    def of_another_graph(self) -> OfferedScheduler:
        """Return the same scheduler, without the tables of a graph."""
        return replace(self, _of_graph={})

    def tables(self, view: KnownView) -> dict[str, Any]:
        """Return the tables of its policy on a machine; those of the graph are made once.

        Where there is no plan, they are ``refused``, with the reason.
        """
        if self._of_graph:
            return self._of_graph
        if self.policy.name == PLANNED_POLICY:
            tasks = len(view.graph)
            if self.planned and sum(self.planned) + tasks > _MAX_PLANNED_TASKS:
                return {"refused": f"this page has no plan of {self.described['text']} for these"}
            self.planned.append(tasks if self.planned else 0)  # the first one in any case
        try:
            # Random numbers are for the run: no tables of offered policies depend on them.
            made = self.policy.tables(view, random.Random(0))
        except InputError as error:  # a plan from a file is for the workers that it names
            return {"refused": str(error)}
        tables = {name: np.asarray(table) for name, table in made.items()}
        if self.policy.name in GRAPH_TABLE_SCHEDULERS:
            self._of_graph.update(tables)
        return tables


def offered_schedulers(question: Question, own: str) -> list[OfferedScheduler]:
    """Return the schedulers that a page offers, the scenario's *own* first."""
    special = [name for name in _NOT_OFFERED if name != question.scheduler.name]
    names = [
        name
        for name in SCHEDULERS.built_in
        if name not in (*special, *SCHEDULERS_WITH_REQUIRED_OPTIONS)
    ]
    found: dict[str, OfferedScheduler] = {}
    for text in (own, *names):
        offered = _offered(text, question, plans=text == own)
        if offered is not None:
            found.setdefault(offered.described["text"], offered)
    return list(found.values())


def _offered(text: str, question: Question, *, plans: bool) -> OfferedScheduler | None:
    """Return a scheduler for a page; None if the core cannot replay it without Python.

    One that plans is offered only with *plans*: they take long to make.
    """
    name, _, given = text.partition(":")
    policy = ported(create(text))
    if policy is None or (policy.name == PLANNED_POLICY and not plans):
        return None
    is_planned = policy.name == PLANNED_POLICY
    default = policy if is_planned else ported(create(name))
    if default is None:
        return None
    options = [option for option in _SLIDER_OPTIONS if option in policy.numbers]
    words = [word.strip() for word in given.split(",") if word]
    # Options that have no slider stay in the name.
    kept = [word for word in words if word.partition("=")[0].strip() not in options]
    try:
        asked = as_data(replace(question, scheduler=policy.scheduler), 0)["question"]
    except (Refused, InputError):
        return None
    sections: tuple[str, ...] = _PLAN_SECTIONS if is_planned else ()
    if is_planned and name == "static":  # the file is the plan: only who can run what matters
        sections = ("memory",)
    described = {
        "text": f"{name}:{','.join(kept)}" if kept else name,
        "name": policy.name,
        "numbers": policy.numbers,
        "flags": {flag: int(asked[flag]) for flag in _POLICY_FIELDS},
        "plan_sections": list(sections),
        "options": [
            {
                "name": option,
                "kind": _SLIDER_OPTIONS[option][0],
                "most": _SLIDER_OPTIONS[option][1],
                "base": policy.numbers[option],
                "default": default.numbers[option],
            }
            for option in options
        ],
    }
    return OfferedScheduler(policy, described)
