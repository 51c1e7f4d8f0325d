"""Changes to a platform for one run, such as ``--set platform.workers.cpu.count=24``.

A setting is a path and a value. Each part of the path may have the wildcards ``*`` and ``?``. A
value ``xFACTOR`` multiplies the current value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import yaml

from tasksim.base.documents.yaml_document import plain_value
from tasksim.base.errors import InputError, nearest
from tasksim.base.units import Dimension, exact_quantity, parse_quantity
from tasksim.platform.costs import Allocation, Copying
from tasksim.platform.cross_references import entries
from tasksim.platform.dependent_values import (
    MEASURED,
    fit_cores,
    frequencies,
    is_count,
    keep_model_frequency,
)
from tasksim.platform.parts import FIRST_TOUCH
from tasksim.platform.power import EXPONENT

if TYPE_CHECKING:
    from tasksim.base.documents import Location

__all__ = ["MULTIPLY", "TREE", "Leaf", "Settings"]


class Leaf(NamedTuple):
    """A settable value, with its kind and its default."""

    kind: str
    """A dimension of :mod:`tasksim.base.units`, or ``count``, ``text``, ``names``, ``list``,
    ``flag``."""
    default: float | str | None = None


Tree = Mapping[str, "Leaf | Tree"]

TREE: Final[Tree] = {
    "name": Leaf("text"),
    "description": Leaf("text"),
    "models": Leaf("text"),
    "nodes": Leaf("count", 1),
    "memories": {"*": {"size": Leaf("size")}},
    "arch": {
        "*": {
            "speed": Leaf("factor", 1.0),
            "models": Leaf("text"),
            "pipeline": Leaf("count", 0),
            "synchronous": Leaf("list"),
            "frequency": Leaf("frequency"),
            "model_frequency": Leaf("frequency"),
        }
    },
    "workers": {
        "*": {
            "count": Leaf("count"),
            "arch": Leaf("text"),
            "memory": Leaf("names"),
            "models": Leaf("names"),
            "drivers": Leaf("text"),
            "cores": Leaf("list"),
        }
    },
    "overheads": {
        "submission": Leaf("time", 0.0),
        "task": Leaf("time", 0.0),
        "wakeup": Leaf("time", 0.0),
        "push": Leaf("time", 0.0),
        "fetch": Leaf("time", 0.0),
        "progress": Leaf("time", 0.0),
        "kernel": Leaf("time", 0.0),
        "copy": Leaf("time", 0.0),
        "start": Leaf("time", 0.0),
        "creation": Leaf("time", 0.0),
        "dependence": Leaf("time", 0.0),
    },
    "links": {
        "*": {
            "bandwidth": Leaf("bandwidth"),
            "latency": Leaf("time", 0.0),
            "measured_bandwidth": Leaf("bandwidth"),
            "measured_latency": Leaf("time"),
            "shared": Leaf("flag"),
            "power": Leaf("power", 0.0),
            "between": Leaf("list"),
        }
    },
    "routes": Leaf("list"),
    "allocation": {
        "allocate": Leaf("time", 0.0),
        "free": Leaf("time", 0.0),
        "pin": Leaf("time", 0.0),
        "chunk": Leaf("size", exact_quantity(Allocation().chunk_bytes, "size")),
        "unit": Leaf("size", exact_quantity(Allocation().unit_bytes, "size")),
        "largest": Leaf("size", exact_quantity(Allocation().largest_bytes, "size")),
        "usable": Leaf("factor", Allocation().usable),
    },
    "copying": {
        "fetches": Leaf("count", Copying().fetches),
        "prefetches": Leaf("count", Copying().prefetches),
        "idle": Leaf("count", Copying().idle),
        "serialised": Leaf("flag"),
        "contention": Leaf("factor", Copying().contention),
    },
    "memory_domains": {
        "*": {
            "workers": Leaf("names"),
            "each": Leaf("count"),
            "bandwidth": Leaf("list"),
            "known": Leaf("flag"),
            "size": Leaf("size"),
            "cache": Leaf("size"),
        }
    },
    "memory_hierarchy": {
        "*": {
            "size": Leaf("size"),
            "latency": Leaf("time"),
            "bandwidth": Leaf("list"),
            "cores": Leaf("count"),
        }
    },
    "numa": {
        "distances": Leaf("factor"),
        "bandwidth": Leaf("bandwidth"),
        "placement": Leaf("text", FIRST_TOUCH),
        "cache": Leaf("size", 0.0),
        "kernels": {"*": {"memory_share": Leaf("factor"), "demand": Leaf("bandwidth")}},
    },
    "power": {
        "static": Leaf("power", 0.0),
        "arch": {
            "*": {
                "idle": Leaf("power"),
                "busy": Leaf("power"),
                "kernels": {"*": Leaf("power")},
                "exponent": Leaf("factor", EXPONENT),
            }
        },
    },
}
"""Paths that can be set; ``*`` stands for the names of the platform."""

LONGEST_PART: Final = 200
"""Longest name or pattern in a path, in characters: names in platform files have some twenty, and
the time of matching grows with characters times stars."""

MULTIPLY: Final = re.compile(r"[x×]\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
"""Pattern of a factor of the present value, such as ``x1.5``."""


@dataclass
class Settings:
    """Settings applied to the data of a platform file."""

    data: dict[str, Any]
    """The data, changed in place."""
    sources: dict[Location, str] = field(default_factory=dict)
    """Location of each set value -> text of its setting."""
    errors: list[tuple[str, str]] = field(default_factory=list)
    """Settings that cannot be applied, with the reasons."""

    def apply(self, texts: Sequence[str]) -> None:
        """Apply the settings in order; their problems go to ``errors``."""
        before, clocked = _counts(self.data), frequencies(self.data)
        for text in texts:
            try:
                self._apply(text)
            except InputError as error:
                self.errors.append((text, str(error)))
        self._fit_drivers(before)
        for name, section in entries(self.data, "arch"):
            setting = self.sources.get(("arch", name, "frequency"))
            if setting is None:
                continue
            try:
                if parse_quantity(section["frequency"], "frequency") <= 0:
                    continue
            except InputError:
                continue  # the check of the platform reports this, and frequencies of 0 or less
            if not keep_model_frequency(section, clocked.get(name)):
                what = (
                    "the frequency of the models' measurements is unknown; "
                    f"set platform.arch.{name}.model_frequency, too"
                )
                self.errors.append((setting, what))

    def _apply(self, text: str) -> None:
        path, equals, value = text.partition("=")
        if not equals:
            raise InputError("must be PATH=VALUE, e.g. platform.workers.cpu.count=24")
        root, *pattern = path.strip().split(".")
        if root != "platform" or not pattern:
            raise InputError(f"unknown path (got {path!r}, legal platform.FIELD)")
        matches = _matches(self.data, pattern)
        value = value.strip()
        multiplies = MULTIPLY.fullmatch(value)
        if multiplies:
            # Of several, only those that have a value: twice unlimited is unlimited.
            matches = [
                (location, leaf)
                for location, leaf in matches
                if leaf.default is not None or _get(self.data, location) is not None
            ] or matches
        named = {location for location, _ in matches}
        for location, leaf in matches:
            self._set(location, leaf, value, text)
            *section, field_name = location
            if location[0] == "workers" and field_name == "count":
                fit_cores(_get(self.data, location[:-1]))
            if location[0] == "links" and field_name in MEASURED:
                measured = (*section, MEASURED[str(field_name)])
                if measured in named or _get(self.data, measured) is None:
                    continue
                if multiplies:
                    self._set(measured, leaf, value, text)
                else:  # the new value replaces the measured one, too
                    _get(self.data, measured[:-1]).pop(measured[-1])

    def _set(self, location: Location, leaf: Leaf, value: str, text: str) -> None:
        _put(self.data, location, _value(_get(self.data, location), leaf, value))
        self.sources[location] = text

    def _fit_drivers(self, before: Mapping[str, int]) -> None:
        """Return the cores of unneeded drivers to their group, or take more cores of it.

        *before* has the counts of the groups in the file; set counts do not change.
        """
        now = _counts(self.data)
        held = {name for name in before if ("workers", name, "count") in self.sources}
        groups = dict(entries(self.data, "workers"))
        for cores in [name for name in now if name not in held]:
            driven = [name for name in now if groups[name].get("drivers") == cores != name]
            changed = [name for name in driven if now[name] != before.get(name, now[name])]
            if not changed:
                continue
            setting = self.sources["workers", changed[-1], "count"]
            drivers = sum(before.get(name, now[name]) for name in driven)
            needed = sum(now[name] for name in driven)
            left = now[cores] + drivers - needed
            if left < 0:
                what = (
                    f"{needed} workers of {' and '.join(driven)} need {needed} cores of {cores} for"
                    f" their drivers, but there are {now[cores] + drivers} ({now[cores]} workers of"
                    f" {cores}, {drivers} drivers)"
                )
                self.errors.append((setting, what))
                continue
            groups[cores]["count"] = left
            fit_cores(groups[cores])
            self.sources["workers", cores, "count"] = setting


def _counts(data: Mapping[str, Any]) -> dict[str, int]:
    """Return group -> its number of workers, if given."""
    groups = entries(data, "workers")
    return {name: group["count"] for name, group in groups if is_count(group.get("count"))}


def _matches(data: Mapping[str, Any], pattern: list[str]) -> list[tuple[Location, Leaf]]:
    """Return the values that match the *pattern*; raise :exc:`InputError` if there are none."""
    frontier: list[tuple[Location, Leaf | Tree]] = [((), TREE)]
    for depth, part in enumerate(pattern):
        if len(part) > LONGEST_PART:
            raise InputError(f"unknown field (got {part[:20]!r}... of {len(part)} characters)")
        if all(isinstance(tree, Leaf) for _, tree in frontier):
            whole = ".".join(["platform", *pattern[:depth]])
            raise InputError(
                f"{whole} can be set only as a whole (got {'.'.join(pattern[depth:])!r} in it)"
            )
        children = [child for at, tree in frontier for child in _children(data, at, tree)]
        frontier = [child for child in children if fnmatchcase(str(child[0][-1]), part)]
        if not frontier:
            raise _no_match(pattern[:depth], part, [str(child[0][-1]) for child in children])
    leaves = [(at, tree) for at, tree in frontier if isinstance(tree, Leaf)]
    if not leaves:
        values = [at for branch in frontier for at in _values_below(data, *branch)]
        legal = [".".join(["platform", *map(str, at)]) for at in values[:8]]
        more = ", ..." if len(values) > 8 else ""
        raise InputError(f"is a section, not a value (legal {', '.join(legal) or 'none'}{more})")
    return leaves


def _children(
    data: Mapping[str, Any], location: Location, tree: Leaf | Tree
) -> list[tuple[Location, Leaf | Tree]]:
    """Return the entries one level below *location*."""
    if isinstance(tree, Leaf):
        return []
    entries = _get(data, location)
    if entries is not None and not isinstance(entries, dict):
        return []
    if "*" not in tree:
        return [((*location, key), below) for key, below in tree.items()]
    return [((*location, name), tree["*"]) for name in entries or ()]


def _no_match(above: list[str], part: str, candidates: list[str]) -> InputError:
    where = ".".join(["platform", *above])
    legal = list(dict.fromkeys(candidates))
    if not legal:
        return InputError(f"{where} has nothing in it (got {part!r})")
    what = "matches nothing" if any(c in part for c in "*?[") else "unknown field"
    if above == ["workers"] and what == "unknown field":
        return InputError(
            f"the platform has no workers {part!r} (legal {', '.join(legal)}); a platform file "
            "that 'extends:' it can add workers, memories and links"
        )
    return InputError(
        f"{what} in {where} (got {part!r}, legal {', '.join(legal)}){nearest(part, legal)}"
    )


def _values_below(
    data: Mapping[str, Any], location: Location, tree: Leaf | Tree
) -> Iterator[Location]:
    if isinstance(tree, Leaf):
        yield location
    for child in _children(data, location, tree):
        yield from _values_below(data, *child)


def _value(present: object, leaf: Leaf, text: str) -> object:
    """Return the new value of a *leaf* set to *text*."""
    if leaf.kind in ("text", "names") and text == "null":
        return None
    if leaf.kind == "text":
        return text
    if leaf.kind == "names" and not text.startswith("["):
        return text
    match = MULTIPLY.fullmatch(text)
    if match is not None:
        return _multiplied(present, leaf, match[1] + (match[2] or ""))
    try:
        return plain_value(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        return text


def _multiplied(present: object, leaf: Leaf, factor: str) -> object:
    """Return *present* times *factor*, in the notation of the file."""
    if present is None:
        present = leaf.default
    if present is None:
        raise InputError("there is no value to multiply; give one")
    if leaf.kind in ("list", "flag"):
        kind = "list" if isinstance(present, list) else "value like this"
        raise InputError(f"a {kind} cannot be multiplied (got {present!r})")
    if leaf.kind == "count":
        if isinstance(present, bool) or not isinstance(present, int):
            raise InputError(f"there is no whole number to multiply (got {present!r})")
        if (product := present * Fraction(factor)).denominator != 1:
            raise InputError(f"{present} times {float(factor):g} is not a whole number")
        return int(product)
    dimension = cast("Dimension", leaf.kind)
    value = parse_quantity(present, dimension) * parse_quantity(factor, "factor")
    return value if dimension == "factor" else exact_quantity(value, dimension)


def _get(data: Mapping[str, Any], location: Location) -> Any:
    """Return the value at *location*, or None."""
    value: Any = data
    for step in location:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _put(data: dict[str, Any], location: Location, value: object) -> None:
    """Set the value at *location*, making the sections above it."""
    section = data
    for step in location[:-1]:
        if section.get(str(step)) is None:
            section[str(step)] = {}
        section = section[str(step)]
    section[str(location[-1])] = value
