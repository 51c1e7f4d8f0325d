"""Changes to a scenario: settings of a generator, ``--set`` texts, paths and their values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.arguments import short
from tasksim.base.errors import InputError, option, unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.scenario.replayed import Replayed
    from tasksim.scenario.scenario import Scenario

__all__ = [
    "ENGINE_OPTIONS",
    "changed",
    "engine_arguments",
    "engine_options",
    "setting_texts",
    "with_texts",
]

ENGINE_OPTIONS: Final = {
    "simultaneous_pushes": ("serial", "blind"), "submission": ("costs", "recorded"),
}  # fmt: skip
"""Options of ``--set engine.OPTION=VALUE``, and their legal values."""

PATHS: Final = ("graph.", "platform.", "engine.")
"""Beginnings of paths that do not name a parameter of the scenario."""


def setting_texts(given: Any, what: str) -> tuple[str, ...]:
    """Return ``KEY=VALUE`` texts for a mapping, or for texts; *what* they are called in messages.

    Examples
    --------
    >>> setting_texts({"tiles": 20, "priorities": "none"}, "settings")
    ('tiles=20', 'priorities=none')
    """
    if isinstance(given, Mapping):
        return tuple(f"{key}={value}" for key, value in given.items())
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError(f"{what}: got {short(given)}; legal: a list of texts KEY=VALUE")
    texts = tuple(given)
    for text in texts:
        if not isinstance(text, str):
            raise InputError(f"{what}: got {short(text)}; legal: texts KEY=VALUE")
    return tuple(text.strip() for text in texts) if what == "changes" else texts


def engine_options(changes: Iterable[str]) -> dict[str, Any]:
    """Return the options of the engine among ``--set`` texts.

    Raises :exc:`InputError` for options and values that do not exist.
    """
    found: dict[str, Any] = {}
    for text in changes:
        if not text.startswith("engine."):
            continue
        name, equals, value = text.removeprefix("engine.").partition("=")
        where = f"{option('set')} {text}"
        if name not in ENGINE_OPTIONS or not equals:
            raise unknown("option of the engine", name, ENGINE_OPTIONS, where)
        if value.strip() not in ENGINE_OPTIONS[name]:
            raise unknown(name, value.strip(), ENGINE_OPTIONS[name], where)
        found[name] = value.strip()
    return found


def engine_arguments(scenario: Scenario, replayed: Replayed | None) -> dict[str, Any]:
    """Return further arguments of the engine: options of *scenario*, times of its recorded run.

    Raises :exc:`InputError` if times of submission are asked of what is no recorded run.
    """
    options = dict(scenario.engine)
    if options.pop("submission", "costs") != "recorded":
        return options
    if replayed is None or scenario.clock == "native":
        what = "a native run" if scenario.clock == "native" else scenario.graph_label
        raise InputError(
            f"{option('set')} engine.submission=recorded: legal in simulations of a recorded run; "
            f"got {what}"
        )
    return {**options, "submitted_s": replayed.submitted_s}


def changed(scenario: Scenario, known: Sequence[str], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of *scenario*, of those *known*, that *changes* give other values."""
    values: dict[str, Any] = {}
    for path, value in changes.items():
        if path.startswith(PATHS):
            field = "settings" if path.startswith("graph.") else "changes"
            before = values.get(field, getattr(scenario, field))
            values[field] = with_texts(before, [(path.removeprefix("graph."), "=", value)])
        elif path in known:
            values[path] = value
        else:
            legal = [*known, *(f"{prefix}NAME" for prefix in PATHS)]
            raise unknown("parameter of a scenario", path, legal)
    if "workers" in values and "platform" not in values and values["workers"] is not None:
        values["platform"] = None
    if "platform" in values and "workers" not in values and values["platform"] is not None:
        values["workers"] = None
    return values


def with_texts(texts: tuple[str, ...], new: Iterable[tuple[str, str, str]]) -> tuple[str, ...]:
    """Return *texts* with *new* ones, in parts, in the place of what they say of the same path."""
    for key, equals, value in new:
        keys = [text.partition("=")[0].strip() for text in texts]
        text = f"{key}{equals}{value}"
        if key.strip() in keys:
            place = keys.index(key.strip())
            texts = (*texts[:place], text, *texts[place + 1 :])
        else:
            texts = (*texts, text)
    return texts
