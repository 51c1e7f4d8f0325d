"""A platform file and those it extends, as one; and where in them each value stands."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tasksim.base import library as libraries
from tasksim.base.errors import InputError, unknown
from tasksim.base.files import is_file, is_folder
from tasksim.platform import schema
from tasksim.platform.dependent_values import (
    fit_cores,
    forget_measured,
    frequencies,
    keep_model_frequency,
)
from tasksim.platform.yaml_document import FileProblem, Location, Place, YamlDocument

__all__ = ["LayeredFile", "platform_path"]


def platform_path(name: str, library: Path | None) -> Path:
    """Return the path of a platform given by name or by path."""
    if _looks_like_path(name):
        return Path(name)
    known = libraries.names("platforms", ".yaml", library)
    if name not in known:
        raise unknown("platform", name, known)
    return known[name]


def _looks_like_path(name: str) -> bool:
    return os.sep in name or name.endswith((".yaml", ".yml"))


class _Error(NamedTuple):
    """A line of the report, and where it comes: by file, line, column; settings last."""

    rank: int
    line: int
    column: int
    text: str


def _printable(text: str) -> str:
    """Return *text* on one line, control characters as escapes."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


@dataclass
class LayeredFile:
    """A platform file and those it extends, and all that is wrong with them."""

    documents: list[YamlDocument]
    """The file itself first."""
    errors: list[_Error] = field(default_factory=list)
    """Problems found so far."""
    settings: dict[Location, str] = field(default_factory=dict)
    """Per value that a setting changed, the text of the setting."""

    @classmethod
    def of(cls, document: YamlDocument, library: Path | None) -> LayeredFile:
        """Read the files that a document extends, each the next."""
        chain = cls([document])
        _check(chain, document)
        while (base := _base(chain, library)) is not None:
            chain.documents.append(base)
            _check(chain, base)
        return chain

    def merged(self) -> dict[str, Any]:
        """Return the data of the first document over those of the ones it extends.

        Sections are merged name by name; lists and values are replaced; null removes.
        """
        data: dict[str, Any] = {}
        for document in reversed(self.documents):
            is_base = document is not self.documents[0]
            changes = _own(document, self.documents[0].path) if is_base else document.data
            clocked = frequencies(data)
            data = _over(data, changes)
            _follow(data, changes, clocked)
        # The version was checked file by file.
        data["version"] = schema.VERSION
        return {key: value for key, value in data.items() if value is not None}

    def add(self, problems: Iterable[FileProblem], documents: Sequence[YamlDocument] = ()) -> None:
        """Note problems, each where its value stands in the *documents* (default: all).

        What one setting has done to many values is one problem.
        """
        alike: dict[tuple[Place | str, str], list[str]] = {}
        for problem in problems:
            field_name = ".".join(map(str, problem.location))
            where = self._where(problem, documents or self.documents)
            if isinstance(where, Place):
                self.note(where, f"{field_name}: {problem.what}" if field_name else problem.what)
            else:
                alike.setdefault((where, problem.what), []).append(field_name)
        for (where, what), names in alike.items():
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            self.note(where, f"{names[0]}{more}: {what}")

    def note(self, where: Place | str, what: str) -> None:
        """Note one error."""
        rank, line, column = len(self.documents), 0, 0
        if isinstance(where, Place):
            rank = [document.path for document in self.documents].index(where.path)
            line, column = where.line, where.column
        self.errors.append(_Error(rank, line, column, _printable(f"{where}: {what}")))

    def _where(self, problem: FileProblem, documents: Sequence[YamlDocument]) -> Place | str:
        """Return what a value comes from: a setting or a place in a file."""
        location = problem.location
        prefixes = [location[:end] for end in range(len(location), -1, -1)]
        for prefix in prefixes:
            if prefix in self.settings:
                return f"--set {self.settings[prefix]}"
        for prefix in prefixes:
            # Of a section that lacks something, its name is shown.
            at_key = problem.at_key or prefix != location
            for document in documents:
                if (place := document.place(prefix, at_key=at_key)) is not None:
                    return place
        return Place(documents[0].path, 1, 1)

    def error(self) -> InputError:
        """Return the error with all that was noted, in the order of the files."""
        ordered = sorted(self.errors, key=lambda error: error[:3])
        return InputError("\n".join(error.text for error in ordered))


def _check(chain: LayeredFile, document: YamlDocument) -> None:
    """Note the problems of one file alone; raise at once if its version is not known."""
    chain.add(document.problems, [document])
    version = document.data.get("version")
    if version is None:
        what = f"missing: a platform file begins `version: {schema.VERSION}`"
        chain.add([FileProblem(("version",), what)], [document])
    elif type(version) is not int or version != schema.VERSION:
        newer = isinstance(version, int) and version > schema.VERSION
        hint = ": written by a newer tasksim? update tasksim" if newer else ""
        what = f"unknown version (got {version!r}, legal {schema.VERSION}){hint}"
        place = document.place(("version",))
        raise InputError(f"{place}: version: {what}")


def _base(chain: LayeredFile, library: Path | None) -> YamlDocument | None:
    """Return the file that the last one of *chain* extends."""
    document = chain.documents[-1]
    name = document.data.get("extends")
    if not isinstance(name, str):
        # Of the first document, the schema says so, with all else that is wrong.
        if name is not None and document is not chain.documents[0]:
            chain.note(_place_of_base(document), f"extends: must be text (got {name!r})")
        return None
    try:
        path = _extended(document.path, name, library)
        _refuse_cycle(chain.documents, path)
        return YamlDocument.read(path)
    except InputError as error:
        chain.note(_place_of_base(document), f"extends: {error}")
        raise chain.error() from None


def _place_of_base(document: YamlDocument) -> Place:
    """Return where a file says what it extends; only of errors, as to know it takes 10 ms."""
    return document.place(("extends",)) or Place(document.path, 1, 1)


def _extended(path: Path, name: str, library: Path | None) -> Path:
    """Return the file that *path* extends: beside it, or in the libraries."""
    beside = [path.parent / name, path.parent / f"{name}.yaml"]
    for candidate in beside:
        if is_file(candidate) and candidate.resolve() != path.resolve():
            return candidate
    return beside[0] if _looks_like_path(name) else platform_path(name, library)


def _refuse_cycle(documents: Sequence[YamlDocument], path: Path) -> None:
    seen = [document.path for document in documents]
    if path.resolve() in [other.resolve() for other in seen]:
        names = " -> ".join(other.name for other in [*seen, path])
        raise InputError(f"a cycle: {names}")


def _own(document: YamlDocument, extending: Path) -> dict[str, Any]:
    """Return what a document passes on to the file *extending* it."""
    data = {key: value for key, value in document.data.items() if key not in ("version", "name")}
    models = data.get("models")
    if isinstance(models, str):
        folder = document.path.parent / models
        if is_folder(folder) and document.path.parent.resolve() != extending.parent.resolve():
            data["models"] = str(folder.resolve())
    return data


def _over(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return *base* changed by *changes*, as JSON merge patches do (RFC 7386)."""
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
    """Fit what is inherited to what *changes* say: cores to counts, measures to links, clocks."""
    for name, group in _sections(changes, "workers"):
        if "count" in group and "cores" not in group:
            fit_cores(data["workers"][name])
    for name, link in _sections(changes, "links"):
        forget_measured(data["links"][name], link)
    for name, architecture in _sections(changes, "arch"):
        if architecture.get("frequency") is not None:
            keep_model_frequency(data["arch"][name], clocked.get(name))


def _sections(data: Mapping[str, Any], kind: str) -> list[tuple[str, Mapping[str, Any]]]:
    sections = data.get(kind)
    entries = sections.items() if isinstance(sections, Mapping) else ()
    return [(name, entry) for name, entry in entries if isinstance(entry, Mapping)]
