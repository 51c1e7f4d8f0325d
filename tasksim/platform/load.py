"""Read and write platform files.

A file may extend another, settings may change it; the result is checked as a whole and all that
is wrong is told at once, each with the file, line and column, or the setting, that it comes from.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from tasksim.base import library as libraries
from tasksim.base.errors import InputError, unknown
from tasksim.base.files import write_text
from tasksim.platform import references, schema
from tasksim.platform.build import build
from tasksim.platform.document import Document, Place, Problem
from tasksim.platform.schema import PlatformFile, schema_json
from tasksim.platform.settings import Settings, fit_cores

if TYPE_CHECKING:
    from tasksim.platform.description import Platform

__all__ = ["dump", "load", "schema_json"]


def load(
    name_or_path: str | Path, library: Path | None = None, settings: Sequence[str] = ()
) -> Platform:
    """Return the platform of a file.

    Parameters
    ----------
    name_or_path
        The name of a platform in one of the libraries, or the path of a file.
    library
        A folder whose ``platforms/`` is searched first.
    settings
        Changes to the file: ``"platform.workers.cpu.count=24"``; ``"platform.arch.cpu.speed=x1.5"``
        multiplies what is there; ``"platform.links.*.bandwidth=x2"`` changes several.

    Raises
    ------
    InputError
        No such platform, or anything wrong with the file or the settings: all of it at once, one
        line each.
    """
    path = _path_of(str(name_or_path), library)
    return _resolve(Document.read(path), library, settings)


def dump(
    description: Mapping[str, Any],
    path: Path,
    *,
    comment: str = "Written by tasksim.",
    library: Path | None = None,
) -> Platform:
    """Write a platform file, all or nothing, and return the platform it describes.

    *description* has the fields of the file, quantities as text with units
    (:func:`tasksim.base.units.exact_quantity` writes them so that they read back to the same
    float); ``version`` may be left out. *comment* becomes the first line: what wrote it and when.

    Raises :exc:`InputError`, and writes nothing, if the description is not valid.
    """
    text = _text(description, comment)
    platform = _resolve(Document.parse(text, path), library, ())
    write_text(path, text)
    return platform


def _text(description: Mapping[str, Any], comment: str) -> str:
    """Return the YAML of a description: a line per named thing."""
    data = _without_numpy({"version": schema.VERSION, **description})
    head = "".join(f"# {line}".rstrip() + "\n" for line in comment.splitlines())
    try:
        body = _yaml(data, escaped=False)
        if yaml.safe_load(body) != data:
            # A rare line break, which PyYAML writes as it is and reads back as a space.
            body = _yaml(data, escaped=True)
    except yaml.representer.RepresenterError as error:
        value = error.args[-1]
        raise InputError(f"cannot write {value!r} to a platform file: not a plain value") from None
    return head + body


def _yaml(data: Mapping[str, Any], *, escaped: bool) -> str:
    return yaml.safe_dump(
        data, sort_keys=False, default_flow_style=None, width=100, allow_unicode=not escaped
    )


def _without_numpy(value: Any) -> Any:
    """Return *value* with plain containers, and plain numbers for NumPy's."""
    if isinstance(value, Mapping):
        return {str(key): _without_numpy(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_numpy(item) for item in value]
    return value.item() if hasattr(value, "item") else value


def _path_of(name: str, library: Path | None) -> Path:
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


@dataclass
class _Chain:
    """A platform file and those it extends, the file itself first."""

    documents: list[Document]
    errors: list[_Error] = field(default_factory=list)
    settings: Settings | None = None

    def add(self, problems: Iterable[Problem], documents: Sequence[Document] = ()) -> None:
        """Note problems, each where its value stands in the *documents* (default: all)."""
        for problem in problems:
            field_name = ".".join(map(str, problem.location))
            what = f"{field_name}: {problem.what}" if field_name else problem.what
            self.note(self._where(problem, documents or self.documents), what)

    def note(self, where: Place | str, what: str) -> None:
        """Note one error."""
        rank, line, column = len(self.documents), 0, 0
        if isinstance(where, Place):
            rank = [document.path for document in self.documents].index(where.path)
            line, column = where.line, where.column
        self.errors.append(_Error(rank, line, column, f"{where}: {what}"))

    def _where(self, problem: Problem, documents: Sequence[Document]) -> Place | str:
        """Return what a value comes from: a setting or a place in a file."""
        for end in range(len(problem.location), -1, -1):
            location = problem.location[:end]
            if self.settings is not None and location in self.settings.sources:
                return f"--set {self.settings.sources[location]}"
            # Of a section that lacks something, its name is shown.
            at_key = problem.at_key or end < len(problem.location)
            for document in documents:
                if (place := document.place(location, at_key=at_key)) is not None:
                    return place
        return Place(documents[0].path, 1, 1)

    def refuse(self) -> None:
        """Raise :exc:`InputError` with all that was noted, if anything was."""
        if self.errors:
            ordered = sorted(self.errors, key=lambda error: error[:3])
            raise InputError("\n".join(error.text for error in ordered))


def _resolve(document: Document, library: Path | None, settings: Sequence[str]) -> Platform:
    """Return the platform of a document: extended, set, checked, built."""
    chain = _Chain([document])
    _check_document(chain, document)
    _follow(chain, library)
    data = {**_merged(chain.documents), "version": schema.VERSION}
    references.fill_defaults(data)
    chain.settings = Settings(data)
    chain.settings.apply(settings)
    for text, what in chain.settings.errors:
        chain.note(f"--set {text}", what)
    chain.add(schema.problems(data))
    chain.add(references.problems(data))
    chain.refuse()
    return build(PlatformFile.model_validate(data), document.path)


def _check_document(chain: _Chain, document: Document) -> None:
    """Note the problems of one file alone; raise at once if its version is not known."""
    chain.add(document.problems, [document])
    version = document.data.get("version")
    if version is None:
        what = f"missing: a platform file begins `version: {schema.VERSION}`"
        chain.add([Problem(("version",), what)], [document])
    elif type(version) is not int or version != schema.VERSION:
        newer = isinstance(version, int) and version > schema.VERSION
        hint = ": written by a newer tasksim? update tasksim" if newer else ""
        what = f"unknown version (got {version!r}, legal {schema.VERSION}){hint}"
        place = document.place(("version",))
        raise InputError(f"{place}: version: {what}")


def _follow(chain: _Chain, library: Path | None) -> None:
    """Read the files that the first one extends, one after the other."""
    while True:
        document = chain.documents[-1]
        name = document.data.get("extends")
        if not isinstance(name, str):
            if name is not None and len(chain.documents) > 1:
                what = f"must be text (got {name!r})"
                chain.add([Problem(("extends",), what)], [document])
            return
        try:
            path = _extended(document.path, name, library)
            _refuse_cycle(chain.documents, path)
            base = Document.read(path)
        except InputError as error:
            place = document.place(("extends",))
            chain.note(place or Place(document.path, 1, 1), f"extends: {error}")
            chain.refuse()
            return
        chain.documents.append(base)
        _check_document(chain, base)


def _extended(path: Path, name: str, library: Path | None) -> Path:
    """Return the file that *path* extends: beside it, or in the libraries."""
    beside = [path.parent / name, path.parent / f"{name}.yaml"]
    for candidate in beside:
        if candidate.is_file() and candidate.resolve() != path.resolve():
            return candidate
    return beside[0] if _looks_like_path(name) else _path_of(name, library)


def _refuse_cycle(documents: Sequence[Document], path: Path) -> None:
    seen = [document.path for document in documents]
    if path.resolve() in [other.resolve() for other in seen]:
        names = " -> ".join(other.name for other in [*seen, path])
        raise InputError(f"a cycle: {names}")


def _merged(documents: Sequence[Document]) -> dict[str, Any]:
    """Return the data of the first document over those of the ones it extends.

    Sections are merged name by name; lists and values are replaced; null removes.
    """
    data: dict[str, Any] = {}
    for document in reversed(documents):
        is_base = document is not documents[0]
        changes = _own(document, documents[0].path) if is_base else document.data
        data = _over(data, changes)
        _fit_cores(data, changes)
    return {key: value for key, value in data.items() if value is not None}


def _own(document: Document, extending: Path) -> dict[str, Any]:
    """Return what a document passes on to the file *extending* it."""
    data = {key: value for key, value in document.data.items() if key not in ("version", "name")}
    models = data.get("models")
    if isinstance(models, str):
        folder = document.path.parent / models
        if folder.is_dir() and document.path.parent.resolve() != extending.parent.resolve():
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


def _fit_cores(data: dict[str, Any], changes: Mapping[str, Any]) -> None:
    """Fit inherited cores to the counts that *changes* give."""
    groups = changes.get("workers")
    for name, group in groups.items() if isinstance(groups, Mapping) else ():
        if isinstance(group, Mapping) and "count" in group and "cores" not in group:
            fit_cores(data["workers"][name])
