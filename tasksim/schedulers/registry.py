"""Schedulers by name: the built-in ones, those of other packages, and a user's own class."""

from __future__ import annotations

import importlib
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasksim.base.errors import InputError, unknown

if TYPE_CHECKING:
    from tasksim.schedulers.base import Scheduler

__all__ = ["create", "describe", "names"]

BUILT_IN = {
    "eager": "tasksim.schedulers.eager:Eager",
    "prio": "tasksim.schedulers.prio:Prio",
    "random": "tasksim.schedulers.rand:Random",
    "ws": "tasksim.schedulers.ws:WorkStealing",
    "lws": "tasksim.schedulers.ws:LocalityWorkStealing",
    "dm": "tasksim.schedulers.dm:DequeModel",
    "dmda": "tasksim.schedulers.dmda:DataAware",
    "dmdap": "tasksim.schedulers.dmda:DataAwarePriority",
    "dmdar": "tasksim.schedulers.dmda:DataAwareReady",
    "dmdas": "tasksim.schedulers.dmda:DataAwareSorted",
    "dmdasd": "tasksim.schedulers.dmda:DataAwareSortedDecision",
    "heteroprio": "tasksim.schedulers.heteroprio:Heteroprio",
    "graph_test": "tasksim.schedulers.graph_test:GraphTest",
    "modular-eager": "tasksim.schedulers.modular_eager:ModularEager",
    "modular-prio": "tasksim.schedulers.modular_eager:ModularPrio",
    "modular-dmda": "tasksim.schedulers.modular_dmda:ModularDmda",
    "modular-dmdap": "tasksim.schedulers.modular_dmda:ModularDmdap",
    "modular-dmdar": "tasksim.schedulers.modular_dmda:ModularDmdar",
    "modular-dmdas": "tasksim.schedulers.modular_dmda:ModularDmdas",
    "modular-heft": "tasksim.schedulers.modular_heft:ModularHeft",
    "heft": "tasksim.schedulers.static.heft:Heft",
    "cpop": "tasksim.schedulers.static.cpop:Cpop",
    "peft": "tasksim.schedulers.static.peft:Peft",
    "min-min": "tasksim.schedulers.static.batch:MinMin",
    "max-min": "tasksim.schedulers.static.batch:MaxMin",
    "static": "tasksim.schedulers.static.given:Given",
}

NEED_OPTIONS = ("static",)

GROUP = "tasksim.schedulers"


def names(*, bare: bool = False) -> list[str]:
    """Return the names of all schedulers that are installed; *bare*: that need no options."""
    found = [*BUILT_IN, *sorted({e.name for e in entry_points(group=GROUP)} - set(BUILT_IN))]
    return [name for name in found if not (bare and name in NEED_OPTIONS)]


def create(text: str) -> Scheduler:
    """Return a new scheduler for *text*: ``NAME``, ``NAME:OPTION=VALUE,...`` or ``MODULE:CLASS``.

    Options are passed to the class as keyword arguments, as numbers where they are numbers.
    Raises :exc:`InputError` for names, classes and options that do not exist.

    >>> create("lws").name
    'lws'
    """
    target, options = _split(text)
    scheduler_class = _load(target)
    try:
        scheduler: Scheduler = scheduler_class(**options)
    except TypeError as error:
        raise InputError(f"scheduler '{text}': {error}") from None
    if not (
        callable(getattr(scheduler, "push", None)) and callable(getattr(scheduler, "pop", None))
    ):
        raise InputError(
            f"scheduler '{text}': {target} is not a scheduler: it has no push(task) and pop(worker)"
        )
    if not getattr(scheduler, "name", ""):
        vars(scheduler)["name"] = target.rpartition(":")[2]
    return scheduler


def describe() -> dict[str, str]:
    """Return the first line of each scheduler's docstring, by name."""
    return {name: (_load(name).__doc__ or "").strip().partition("\n")[0] for name in names()}


def _split(text: str) -> tuple[str, dict[str, Any]]:
    head, colon, tail = text.rpartition(":")
    if not colon or "=" not in tail:
        return text, {}
    options = {}
    for item in tail.split(","):
        key, equals, value = item.partition("=")
        if not (key and equals and value):
            raise InputError(f"scheduler '{text}': '{item}' is not OPTION=VALUE")
        options[key.strip()] = _value(value.strip())
    return head, options


def _value(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _load(target: str) -> Any:
    path = BUILT_IN.get(target)
    if path is None:
        for entry in entry_points(group=GROUP):
            if entry.name == target:
                return entry.load()
        if ":" not in target:
            raise unknown("scheduler", target, names())
        path = target
    module_name, _, class_name = path.partition(":")
    return _attribute(_module(module_name, target), class_name, target)


def _module(name: str, target: str) -> Any:
    """Import module *name*; the working directory counts, as for ``python -m``."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except (ImportError, SyntaxError) as error:
        raise InputError(f"scheduler '{target}': cannot import '{name}': {error}") from error


def _attribute(module: Any, name: str, target: str) -> Any:
    try:
        return getattr(module, name)
    except AttributeError:
        raise unknown("class", name, _classes(module), f"scheduler '{target}'") from None


def _classes(module: Any) -> list[str]:
    return [name for name, value in vars(module).items() if isinstance(value, type)]
