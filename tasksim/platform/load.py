"""Reader and writer of platform files.

A file may extend another, and settings may change it. The result is checked as a whole, and all
problems are reported at once, each with its file, line and column, or with its setting.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from tasksim.base import library as libraries
from tasksim.base.documents import FileProblem, Place
from tasksim.base.documents.yaml_document import ProblemReport, YamlDocument
from tasksim.base.errors import InputError, unknown
from tasksim.base.files import is_file, is_folder, write_text
from tasksim.base.versions import newer
from tasksim.platform import cross_references, schema
from tasksim.platform.build import build
from tasksim.platform.cross_references import entries
from tasksim.platform.dependent_values import (
    MEASURED,
    fit_cores,
    frequencies,
    keep_model_frequency,
)
from tasksim.platform.schema import PlatformFile

if TYPE_CHECKING:
    from tasksim.base.documents.sections import Found
    from tasksim.platform.description import Platform

__all__ = ["described", "dump", "load", "settable"]


def load(
    name_or_path: str | Path, library: Path | None = None, settings: Sequence[str] = ()
) -> Platform:
    """Return the platform of a file.

    Parameters
    ----------
    name_or_path : str or Path
        The name of a platform in one of the libraries, or the path of a file.
    library : Path, optional
        A folder whose ``platforms/`` is searched first.
    settings : sequence of str, default ()
        Changes to the file: ``"platform.workers.cpu.count=24"``; ``"platform.arch.cpu.speed=x1.5"``
        multiplies the value; ``"platform.links.*.bandwidth=x2"`` changes several.

    Raises
    ------
    InputError
        If there is no such platform, or the file or the settings are wrong: all problems at once, a
        line each.

    See Also
    --------
    dump : Write a platform file.
    tasksim.load_platform : Read platforms of other formats, too.

    Examples
    --------
    >>> load("identical-8", settings=["platform.workers.cpu.count=2"]).summary()
    'identical-8: 2 cpu; 1 memory: ram; no overheads'
    """
    if isinstance(settings, str):
        raise InputError(f"settings: expected a list of texts, got the text {settings!r}")
    path = platform_path(str(name_or_path), library)
    return _resolve(YamlDocument.read(path), library, settings)


def settable(
    name_or_path: str | Path, library: Path | None = None, settings: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the data of a platform file, in which :func:`load` applies *settings*.

    Its sections have the names that paths of settings have: ``data["workers"]["cpu"]`` is
    ``platform.workers.cpu``. Parameters and errors are those of :func:`load`.
    """
    path = platform_path(str(name_or_path), library)
    report = read_layers(YamlDocument.read(path), library)
    data = merged(report.documents)
    cross_references.fill_defaults(data)
    if settings:
        _change(report, data, settings)
    if report.errors:
        raise report.error()
    return data


def dump(
    description: Mapping[str, Any],
    path: Path,
    *,
    comment: str = "Written by tasksim.",
    library: Path | None = None,
) -> Platform:
    """Write a platform file, all or nothing, and return the platform it describes.

    Parameters
    ----------
    description : mapping
        The fields of the file, quantities as text with units
        (:func:`tasksim.base.units.exact_quantity` writes them so that they read back to the same
        float); ``version`` may be left out.
    path : Path
        File to write or replace.
    comment : str, default "Written by tasksim."
        The first line: the origin and the date of the file.
    library : Path, optional
        A folder whose ``platforms/`` is searched first for the file that this one extends.

    Raises
    ------
    InputError
        If the description is not valid; nothing is written.

    See Also
    --------
    load : Read the file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     platform = dump({"workers": {"cpu": {"count": 2}}}, Path(folder, "two.yaml"))
    >>> platform.summary()
    'two: 2 cpu; 1 memory: ram; no overheads'
    """
    text = _text(description, comment)
    platform = _resolve(YamlDocument.parse(text, path), library, ())
    write_text(path, text)
    return platform


def described(description: Mapping[str, Any], path: Path) -> Platform:
    """Return the platform of a description as for :func:`dump`, without a file.

    *path* is the origin of the description, a file of another format.
    """
    return _resolve(YamlDocument.parse(_text(description, "From"), path), None, ())


def _resolve(document: YamlDocument, library: Path | None, settings: Sequence[str]) -> Platform:
    """Return the platform of a document, after extension, settings and checks."""
    report = read_layers(document, library)
    data = merged(report.documents)
    cross_references.fill_defaults(data)
    if settings:
        _change(report, data, settings)
    found: Found = []
    file = PlatformFile.read(data, (), found)
    report.add(found)
    report.add(cross_references.problems(data))
    if report.errors:
        raise report.error()
    return build(file, document.path)


def _change(report: ProblemReport, data: dict[str, Any], settings: Sequence[str]) -> None:
    """Apply *settings* to *data*, and note their problems."""
    from tasksim.platform.settings import Settings

    changes = Settings(data)
    changes.apply(settings)
    report.settings = changes.sources
    for setting, what in changes.errors:
        report.note(f"--set {setting}", what)


def _text(description: Mapping[str, Any], comment: str) -> str:
    """Return the YAML of a description, a line per named part."""
    data = _without_numpy({"version": schema.VERSION, **description})
    head = "".join(f"# {line}".rstrip() + "\n" for line in comment.splitlines())
    try:
        body = _yaml(data, allow_unicode=True)
        if yaml.safe_load(body) != data:
            # PyYAML writes rare line breaks as they are, but reads them as spaces.
            body = _yaml(data, allow_unicode=False)
    except yaml.representer.RepresenterError as error:
        value = error.args[-1]
        raise InputError(f"cannot write {value!r} to a platform file: not a plain value") from None
    return head + body


def _yaml(data: Mapping[str, Any], *, allow_unicode: bool) -> str:
    return yaml.safe_dump(
        data, sort_keys=False, default_flow_style=None, width=100, allow_unicode=allow_unicode
    )


def _without_numpy(value: Any) -> Any:
    """Return *value* with plain containers, and plain numbers for NumPy's."""
    if isinstance(value, Mapping):
        return {str(key): _without_numpy(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_numpy(item) for item in value]
    return value.item() if hasattr(value, "item") else value


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
        unknown = f"unknown version (got {version!r}, legal {schema.VERSION})"
        what = newer(version, schema.VERSION) or unknown
        place = document.place(("version",))
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
            base = beside[0] if _looks_like_path(name) else platform_path(name, library)
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
        for number, measured in MEASURED.items():
            if number in link and measured not in link:
                data["links"][name].pop(measured, None)
    for name, architecture in entries(changes, "arch"):
        if architecture.get("frequency") is not None:
            keep_model_frequency(data["arch"][name], clocked.get(name))
