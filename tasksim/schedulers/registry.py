"""Registry of schedulers, built-in, from other packages, or the user's own."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from tasksim.base.errors import InputError, TasksimError, expect, unknown
from tasksim.base.numerals import decimal_number, whole_number
from tasksim.base.registry import Registry, raised_text

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.schedulers.base import Scheduler

__all__ = ["SCHEDULERS", "create", "is_known", "names", "refuse_foreign"]

SCHEDULERS_WITH_REQUIRED_OPTIONS = ("static",)
"""Schedulers that need options besides their name."""


def _adopt(name: str, found: Any) -> type[Scheduler]:
    """Return *found* if it is a class with the methods of a scheduler; do not call it."""
    where = f"scheduler '{name}'"
    if not isinstance(found, type):
        raise InputError(f"{where}: {found!r} is not a class with push(task) and pop(worker)")
    if missing := _missing(found):
        raise InputError(
            f"{where}: {found.__qualname__} is not a scheduler: it has no {' and '.join(missing)}"
        )
    return found


def _missing(found: type) -> list[str]:
    """Return the missing methods of *found*: push (or its two halves) and pop are required."""
    from tasksim.schedulers.base import Scheduler

    def has(method: str) -> bool:
        own = getattr(found, method, None)
        return callable(own) and own is not getattr(Scheduler, method)

    halves = issubclass(found, Scheduler) and has("choose") and has("commit")
    return ["push(task)"] * (not (has("push") or halves)) + ["pop(worker)"] * (not has("pop"))


SCHEDULERS: Registry[type[Scheduler]] = Registry(
    "scheduler",
    "tasksim.schedulers",
    {
        "eager": "tasksim.schedulers.central:Eager",
        "prio": "tasksim.schedulers.central:Prio",
        "dask": "tasksim.schedulers.dask:Dask",
        "random": "tasksim.schedulers.weighted_random:Random",
        "ws": "tasksim.schedulers.ws:WorkStealing",
        "lws": "tasksim.schedulers.ws:LocalityWorkStealing",
        "numa-lws": "tasksim.schedulers.numa_lws:NumaWorkStealing",
        "libomp": "tasksim.schedulers.libomp:LibOmp",
        "libgomp": "tasksim.schedulers.libgomp:LibGomp",
        "dm": "tasksim.schedulers.dm:DequeModel",
        "dmda": "tasksim.schedulers.dm:DataAware",
        "dmdap": "tasksim.schedulers.dm:DataAwarePriority",
        "dmdar": "tasksim.schedulers.dm:DataAwareReady",
        "dmdas": "tasksim.schedulers.dm:DataAwareSorted",
        "dmdasd": "tasksim.schedulers.dmdasd:DataAwareSortedDecision",
        "heteroprio": "tasksim.schedulers.heteroprio:Heteroprio",
        "multiprio": "tasksim.schedulers.multiprio:MultiPrio",
        "darts": "tasksim.schedulers.darts:Darts",
        "graph_test": "tasksim.schedulers.graph_test:GraphTest",
        "modular-eager": "tasksim.schedulers.modular:ModularEager",
        "modular-prio": "tasksim.schedulers.modular:ModularPrio",
        "modular-dmda": "tasksim.schedulers.modular:ModularDmda",
        "modular-dmdap": "tasksim.schedulers.modular:ModularDmdap",
        "modular-dmdar": "tasksim.schedulers.modular:ModularDmdar",
        "modular-dmdas": "tasksim.schedulers.modular:ModularDmdas",
        "modular-heft": "tasksim.schedulers.modular:ModularHeft",
        "heft": "tasksim.schedulers.static.ranked:Heft",
        "cpop": "tasksim.schedulers.static.ranked:Cpop",
        "peft": "tasksim.schedulers.static.peft:Peft",
        "min-min": "tasksim.schedulers.static.batch:MinMin",
        "max-min": "tasksim.schedulers.static.batch:MaxMin",
        "duplex": "tasksim.schedulers.static.batch:Duplex",
        "sufferage": "tasksim.schedulers.static.pairs:Sufferage",
        "mct": "tasksim.schedulers.static.immediate:Mct",
        "met": "tasksim.schedulers.static.immediate:Met",
        "olb": "tasksim.schedulers.static.immediate:Olb",
        "fastest-node": "tasksim.schedulers.static.immediate:FastestNode",
        "etf": "tasksim.schedulers.static.pairs:Etf",
        "dls": "tasksim.schedulers.static.pairs:Dls",
        "gdl": "tasksim.schedulers.static.pairs:Gdl",
        "bil": "tasksim.schedulers.static.pairs:Bil",
        "dps": "tasksim.schedulers.static.dps:Dps",
        "msbc": "tasksim.schedulers.static.dps:Msbc",
        "fcp": "tasksim.schedulers.static.balanced:Fcp",
        "flb": "tasksim.schedulers.static.balanced:Flb",
        "hbmct": "tasksim.schedulers.static.hbmct:Hbmct",
        "wba": "tasksim.schedulers.static.pairs:Wba",
        "lookahead": "tasksim.schedulers.static.ranked:Lookahead",
        "ipeft": "tasksim.schedulers.static.peft:Ipeft",
        "ippts": "tasksim.schedulers.static.peft:Ippts",
        "heteroprio-static": "tasksim.schedulers.static.spoliation:HeteroprioStatic",
        "static": "tasksim.schedulers.static.plan_from_file:PlanFromFile",
    },
    _adopt,
)
"""All schedulers. A new one is a file, and a line here or an entry point of its package."""


def names(*, bare: bool = False) -> list[str]:
    """Return the names of all installed schedulers; with *bare*, those that need no options."""
    return [
        name
        for name in SCHEDULERS.names()
        if not (bare and name in SCHEDULERS_WITH_REQUIRED_OPTIONS)
    ]


def create(text: str) -> Scheduler:
    """Return a new scheduler for *text*: ``NAME``, ``NAME:OPTION=VALUE,...`` or ``MODULE:CLASS``.

    *text* may import any module, so it must come from the user; pass text from a file to
    :func:`refuse_foreign` first.

    Parameters
    ----------
    text : str
        The name of a scheduler or a class, with its options. Options become keyword arguments of
        the class; the values of numeric ones become numbers.

    Raises
    ------
    InputError
        If a name, class or option does not exist (the message has the nearest one), an option is
        given twice, or the class has no push and pop; such a class is not called.

    Examples
    --------
    >>> create("lws").name
    'lws'
    >>> create("dmda:alpha=2").alpha
    2.0
    """
    expect(text, str, "scheduler")
    target, options = _split(text)
    known, _, option = target.partition(":")
    if option and known in SCHEDULERS:
        raise InputError(f"scheduler '{text}': '{option}' is not OPTION=VALUE")
    if target not in SCHEDULERS:
        from tasksim.formats.registry import looks_like_file

        if "," in target and all(name.strip() in SCHEDULERS for name in target.split(",")):
            raise InputError(
                f"scheduler '{target}': give one; 'tasksim simulate --uncertainty both --against "
                "NAME' compares two, 'tasksim study' many"
            )
        if ":" not in target and not target.endswith(".py") and looks_like_file(target):
            raise InputError(
                f"scheduler '{target}' is a file, not a name; to follow the schedule of a run or a"
                f" table, give static:file={target}"
            )
    scheduler_class = SCHEDULERS.resolve(target)
    _check_options(text, scheduler_class, options)
    scheduler = _made(text, scheduler_class, options)
    if not getattr(scheduler, "name", ""):
        vars(scheduler)["name"] = target.rpartition(":")[2]
    return scheduler


def is_known(text: str) -> bool:
    """Return whether :func:`create` can make *text* without the import of a new module.

    This holds for registered schedulers and for classes that the user has had imported before.
    """
    try:
        return SCHEDULERS.known(_split(text)[0]) is not None
    except InputError:  # malformed options, or a broken package
        return False


def refuse_foreign(text: str, where: str | Path) -> None:
    """Raise :exc:`InputError` if *text* in the file *where* names an unregistered scheduler.

    *text* has the syntax of :func:`create`; its options are not checked.
    """
    SCHEDULERS.refuse_foreign(_split(text)[0], where)


def _split(text: str) -> tuple[str, dict[str, Any]]:
    """Return the text before the options, and the options."""
    before, equals, _ = text.partition("=")
    head, colon, _ = before.rpartition(":")
    if not (equals and colon):
        return text, {}
    options: dict[str, Any] = {}
    for item in text[len(head) + 1 :].split(","):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not (key and equals and value):
            raise InputError(f"scheduler '{text}': '{item}' is not OPTION=VALUE")
        if key in options:
            raise InputError(
                f"scheduler '{text}': {key} is given twice: {options[key]} and {value}"
            )
        options[key] = _value(value)
    return head, options


def _value(text: str) -> int | float | str:
    """Return *text* as a number, or *text* itself if it is not a legal number."""
    for read in (whole_number, decimal_number):
        number = read(text)
        if number is not None:
            return number
    return text


def _check_options(text: str, scheduler_class: type[Scheduler], options: dict[str, Any]) -> None:
    """Raise :exc:`InputError` for missing options and for options that the class lacks."""
    parameters = inspect.signature(scheduler_class).parameters.values()
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    for parameter in named:
        if parameter.default is parameter.empty and parameter.name not in options:
            raise InputError(f"scheduler '{text}': option {parameter.name} is missing")
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return
    known = [parameter.name for parameter in named]
    for key in options:
        if key not in known:
            raise unknown("option", key, known, f"scheduler '{text}'")


def _made(text: str, scheduler_class: type[Scheduler], options: dict[str, Any]) -> Scheduler:
    """Return a new scheduler; add the file and line to an error of its class."""
    try:
        return scheduler_class(**options)
    except (TasksimError, KeyboardInterrupt):
        raise
    except BaseException as error:  # a SystemExit of the class must not end the program
        raise InputError(
            f"scheduler '{text}': {scheduler_class.__qualname__}() raised {raised_text(error)}"
        ) from error
