"""Layers of a platform file: the files that it extends, its own data, defaults, and settings.

A layer changes the data of those below it, and dependent values follow: cores after a change of
counts, measured values after a change of links. A setting, such as
``--set platform.workers.cpu.count=24``, is the last layer, for one run: a path and a value. Each
part of the path may have the wildcards ``*`` and ``?``. A value ``xFACTOR`` multiplies the current
value.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import yaml

from tasksim.base import library as libraries
from tasksim.base.documents import FileProblem, Place
from tasksim.base.documents.sections import (
    NAME_PATTERN,
    NAMES,
    REQUIRED,
    Amount,
    ListOf,
    MappingOf,
    Maybe,
    PairsOf,
    SectionOf,
    Text,
    Whole,
)
from tasksim.base.documents.yaml_document import ProblemReport, YamlDocument, plain_value
from tasksim.base.errors import InputError, nearest, unknown
from tasksim.base.files import is_file, is_folder
from tasksim.base.units import Dimension, exact_quantity, parse_quantity
from tasksim.base.versions import newer
from tasksim.platform import schema

if TYPE_CHECKING:
    from tasksim.base.documents import Location
    from tasksim.base.documents.sections import Kind, Section

__all__ = [
    "MULTIPLY", "SETTABLE_PATHS", "SettableValue", "Settings", "entries", "layered", "merged",
    "names", "read_layered", "read_layers",
]  # fmt: skip


class SettableValue(NamedTuple):
    """A settable value, with its kind and its default."""

    kind: str
    """A dimension of :mod:`tasksim.base.units`, or ``count``, ``text``, ``names``, ``list``,
    ``flag``."""
    default: float | str | None = None


SettingTree = Mapping[str, "SettableValue | SettingTree"]


def _tree(section: type[Section]) -> SettingTree:
    """Return the settable values of a *section*, by the names of its fields in files."""
    return {
        field.alias or name: _branch(
            field.kind, None if field.default is REQUIRED else field.default
        )
        for name, field in section.fields.items()
    }


def _branch(kind: Kind, default: Any) -> SettableValue | SettingTree:
    """Return the settable values of a field."""
    match kind:
        case Maybe() | PairsOf():
            return _branch(kind.kind, default)
        case SectionOf():
            return _tree(kind.section)
        case MappingOf():
            return {"*": _branch(kind.kind, None)}
        case Amount():
            return SettableValue(kind.dimension, default)
        case Whole():
            return SettableValue("count", default)
        case Text():
            return SettableValue("text", default or None)
        case ListOf():
            return SettableValue("list")
    return SettableValue("names" if kind is NAMES else "flag")


_FIXED_FIELDS: Final = ("version", "extends", "fingerprint")
"""Fields of a platform file that settings cannot change."""

SETTABLE_PATHS: Final[SettingTree] = {
    name: below for name, below in _tree(schema.PlatformFile).items() if name not in _FIXED_FIELDS
}
"""Paths that can be set; ``*`` stands for the names of the platform."""

LONGEST_PART: Final = 200
"""Longest name or pattern in a path, in characters: names in platform files have some twenty, and
the time of matching grows with characters times stars."""

MULTIPLY: Final = re.compile(r"[x×]\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
"""Pattern of a factor of the present value, such as ``x1.5``."""

MEASURED_FIELDS: Final = {"bandwidth": "measured_bandwidth", "latency": "measured_latency"}
"""Field of a link -> field with the value measured on a route that begins with the link."""


def read_layered(
    name: str, library: Path | None, settings: Sequence[str]
) -> tuple[ProblemReport, dict[str, Any]]:
    """Return the result of :func:`layered` for the platform of a *name* or a path."""
    return layered(YamlDocument.read(_platform_path(name, library)), library, settings)


def layered(
    document: YamlDocument, library: Path | None, settings: Sequence[str] = ()
) -> tuple[ProblemReport, dict[str, Any]]:
    """Return the data of a platform *document* with all layers, and the report on its problems."""
    report = read_layers(document, library)
    data = merged(report.documents)
    _fill_defaults(data)
    if settings:
        changes = Settings(data)
        changes.apply(settings)
        report.settings = changes.sources
        for setting, what in changes.errors:
            report.note(f"--set {setting}", what)
    return report, data


def _platform_path(name: str, library: Path | None) -> Path:
    """Return the path of a platform given by name or by path."""
    if _looks_like_path(name):
        return Path(name)
    known = libraries.names("platforms", ".yaml", library)
    if name not in known:
        raise InputError(
            f"{unknown('platform', name, known)}; 'tasksim calibrate' measures this machine, "
            "'tasksim import' reads those of StarPU and hwloc"
        )
    return known[name]


def _looks_like_path(name: str) -> bool:
    return os.sep in name or name.endswith((".yaml", ".yml"))


def read_layers(document: YamlDocument, library: Path | None) -> ProblemReport:
    """Return the report on a platform *document* and the chain of those that it extends.

    It has the problems of each file by itself.
    """
    report = ProblemReport([document])
    _check(report, document)
    while (base := _base(report, library)) is not None:
        report.documents = [*report.documents, base]
        _check(report, base)
    return report


def merged(documents: Sequence[YamlDocument]) -> dict[str, Any]:
    """Return the data of *documents*, each over those of the next one, which it extends.

    Sections are merged name by name; lists and values are replaced; null removes.
    """
    data: dict[str, Any] = {}
    for document in reversed(documents):
        is_base = document is not documents[0]
        changes = _own(document, documents[0].path) if is_base else document.data
        clocked = frequencies(data)
        data = _over(data, changes)
        _follow(data, changes, clocked)
    # The version is checked per file.
    data["version"] = schema.VERSION
    return {key: value for key, value in data.items() if value is not None}


def _check(report: ProblemReport, document: YamlDocument) -> None:
    """Note the problems of one file by itself; raise at once for an unknown version."""
    report.add(document.problems, [document])
    version = document.data.get("version")
    if version is None:
        what = f"missing: a platform file begins `version: {schema.VERSION}`"
        report.add([FileProblem(("version",), what)], [document])
    elif type(version) is not int or version != schema.VERSION:
        place = document.place(("version",))
        unknown = f"unknown version (got {version!r}, legal {schema.VERSION})"
        what = newer(version, schema.VERSION) or unknown
        raise InputError(f"{place}: version: {what}")


def _base(report: ProblemReport, library: Path | None) -> YamlDocument | None:
    """Return the file that the last one of *report* extends: beside it or in the libraries."""
    document = report.documents[-1]
    name = document.data.get("extends")
    if not isinstance(name, str):
        # In the first document, the schema reports this with all other problems.
        if name is not None and document is not report.documents[0]:
            report.note(_place_of_base(document), f"extends: must be text (got {name!r})")
        return None
    path = document.path
    beside = [path.parent / name, path.parent / f"{name}.yaml"]
    found = [file for file in beside if is_file(file) and file.resolve() != path.resolve()]
    try:
        if found:
            base = found[0]
        else:
            base = beside[0] if _looks_like_path(name) else _platform_path(name, library)
        chain = [*(other.path for other in report.documents), base]
        if base.resolve() in [other.resolve() for other in chain[:-1]]:
            raise InputError(f"a cycle: {' -> '.join(other.name for other in chain)}")
        return YamlDocument.read(base)
    except InputError as error:
        report.note(_place_of_base(document), f"extends: {error}")
        raise report.error() from None


def _place_of_base(document: YamlDocument) -> Place:
    """Return the place of ``extends`` in a file; only for errors, as this takes 10 ms."""
    return document.place(("extends",)) or Place(document.path, 1, 1)


def _own(document: YamlDocument, extending: Path) -> dict[str, Any]:
    """Return the part of a document that the file *extending* it inherits."""
    data = {key: value for key, value in document.data.items() if key not in ("version", "name")}
    models = data.get("models")
    if isinstance(models, str):
        folder = document.path.parent / models
        if is_folder(folder) and document.path.parent.resolve() != extending.parent.resolve():
            data["models"] = str(folder.resolve())
    return data


def _over(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return *base* with *changes*, as by a JSON merge patch (RFC 7386)."""
    merged = dict(base)
    for key, value in changes.items():
        if value is None and key in merged:
            del merged[key]
        elif isinstance(value, Mapping):
            below = merged.get(key)
            merged[key] = _over(below if isinstance(below, Mapping) else {}, value)
        else:
            merged[key] = value
    return merged


def _follow(
    data: dict[str, Any], changes: Mapping[str, Any], clocked: Mapping[str, object]
) -> None:
    """Fit inherited values to *changes*: cores to counts, measured values to links, clocks."""
    for name, group in entries(changes, "workers"):
        if "count" in group and "cores" not in group:
            fit_cores(data["workers"][name])
    for name, link in entries(changes, "links"):
        for number, measured in MEASURED_FIELDS.items():
            if number in link and measured not in link:
                data["links"][name].pop(measured, None)
    for name, architecture in entries(changes, "arch"):
        if architecture.get("frequency") is not None:
            keep_model_frequency(data["arch"][name], clocked.get(name))


def entries(data: Mapping[str, Any], section: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the well-formed entries of one section."""
    found = data.get(section)
    if not isinstance(found, dict):
        return []
    return [(name, entry) for name, entry in found.items() if isinstance(entry, dict)]


def names(data: Mapping[str, Any], section: str) -> list[str]:
    """Return the names that one section declares."""
    found = data.get(section)
    return list(found) if isinstance(found, dict) else []


def _fill_defaults(data: dict[str, Any]) -> None:
    """Add the default memory and architectures to *data*, in place."""
    data.setdefault("memories", {"ram": {}})
    if data["memories"] == {}:
        data["memories"] = {"ram": {}}
    architectures = data.setdefault("arch", {})
    if isinstance(architectures, dict):
        for name, group in entries(data, "workers"):
            if group.get("arch") in (None, name) and re.fullmatch(NAME_PATTERN, name):
                architectures.setdefault(name, {})


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
            if location[0] == "links" and field_name in MEASURED_FIELDS:
                measured = (*section, MEASURED_FIELDS[str(field_name)])
                if measured in named or _get(self.data, measured) is None:
                    continue
                if multiplies:
                    self._set(measured, leaf, value, text)
                else:  # the new value replaces the measured one, too
                    _get(self.data, measured[:-1]).pop(measured[-1])

    def _set(self, location: Location, leaf: SettableValue, value: str, text: str) -> None:
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


def _matches(data: Mapping[str, Any], pattern: list[str]) -> list[tuple[Location, SettableValue]]:
    """Return the values that match the *pattern*; raise :exc:`InputError` if there are none."""
    frontier: list[tuple[Location, SettableValue | SettingTree]] = [((), SETTABLE_PATHS)]
    for depth, part in enumerate(pattern):
        if len(part) > LONGEST_PART:
            raise InputError(f"unknown field (got {part[:20]!r}... of {len(part)} characters)")
        if all(isinstance(tree, SettableValue) for _, tree in frontier):
            whole = ".".join(["platform", *pattern[:depth]])
            raise InputError(
                f"{whole} can be set only as a whole (got {'.'.join(pattern[depth:])!r} in it)"
            )
        children = [child for at, tree in frontier for child in _children(data, at, tree)]
        frontier = [child for child in children if fnmatchcase(str(child[0][-1]), part)]
        if not frontier:
            raise _no_match(pattern[:depth], part, [str(child[0][-1]) for child in children])
    leaves = [(at, tree) for at, tree in frontier if isinstance(tree, SettableValue)]
    if not leaves:
        values = [at for branch in frontier for at in _values_below(data, *branch)]
        legal = [".".join(["platform", *map(str, at)]) for at in values[:8]]
        more = ", ..." if len(values) > 8 else ""
        raise InputError(f"is a section, not a value (legal {', '.join(legal) or 'none'}{more})")
    return leaves


def _children(
    data: Mapping[str, Any], location: Location, tree: SettableValue | SettingTree
) -> list[tuple[Location, SettableValue | SettingTree]]:
    """Return the entries one level below *location*."""
    if isinstance(tree, SettableValue):
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
    if above == ["workers"] and part == "count":
        paths = " or ".join(f"{where}.{name}.count" for name in legal)
        return InputError(f"{where} has a count for each kind of worker: {paths}")
    if above == ["workers"] and what == "unknown field":
        return InputError(
            f"the platform has no workers {part!r} (legal {', '.join(legal)}); a platform file "
            "that 'extends:' it can add workers, memories and links"
        )
    return InputError(
        f"{what} in {where} (got {part!r}, legal {', '.join(legal)}){nearest(part, legal)}"
    )


def _values_below(
    data: Mapping[str, Any], location: Location, tree: SettableValue | SettingTree
) -> Iterator[Location]:
    if isinstance(tree, SettableValue):
        yield location
    for child in _children(data, location, tree):
        yield from _values_below(data, *child)


def _value(present: object, leaf: SettableValue, text: str) -> object:
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


def _multiplied(present: object, leaf: SettableValue, factor: str) -> object:
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


def frequencies(data: Mapping[str, Any]) -> dict[str, object]:
    """Return architecture -> its frequency as written, or None."""
    return {name: section.get("frequency") for name, section in entries(data, "arch")}


def is_count(value: object) -> bool:
    """Return whether *value* is a number of workers that a platform may have."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 10**6


def fit_cores(group: dict[str, Any]) -> None:
    """Fit the cores of a *group* of workers to its changed count.

    Workers beyond those of the file are not bound to cores.
    """
    cores, count = group.get("cores"), group.get("count")
    if isinstance(cores, list) and isinstance(count, int) and is_count(count):
        group["cores"] = cores[:count] + [None] * (count - len(cores))


def keep_model_frequency(architecture: dict[str, Any], before: object) -> bool:
    """Keep the old frequency as that of the models' measurements, once it changes.

    *before* is the old frequency. Return whether it is known.
    """
    if architecture.get("model_frequency") is None and before is not None:
        architecture["model_frequency"] = before
    return architecture.get("model_frequency") is not None
