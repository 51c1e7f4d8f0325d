"""Reader of study files, YAML with the graphs, platforms, schedulers and seeds of a study.

All problems of a file are reported at once, each with its line and column and the nearest match.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.documents import FileProblem
from tasksim.base.documents.sections import (
    ILLEGAL,
    TEXT,
    Amount,
    FileProblems,
    ListOf,
    Maybe,
    Plain,
    Section,
    SectionOf,
    Whole,
    given,
    refused,
)
from tasksim.base.documents.yaml_document import ProblemReport, YamlDocument
from tasksim.base.errors import InputError, nearest
from tasksim.base.versions import newer
from tasksim.scenario.setup import CLOCKS, NODE_FIELDS, NOISES
from tasksim.study.sweep.axes import VALUES, SettingsOf
from tasksim.study.sweep.metrics import METRIC_NAMES
from tasksim.study.sweep.study import Limits, Study, StudyEntry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.base.documents import Location

__all__ = ["read_study"]

VERSION: Final = 1
"""Version of the format of study files."""
MAX_SEEDS: Final = 10**18
"""Largest number of seeds in a file; the grid limits the number of cells that they make."""


class _OneOf:
    """Type of a key whose value is one of a few words."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)

    def read(self, value: Any, location: Location, found: FileProblems) -> Any:
        """Return the word."""
        if value in self.words:
            return value
        close = nearest(value, self.words) if isinstance(value, str) else ""
        return refused(found, location, f"must be one of {', '.join(self.words)}{close}", value)

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the word."""
        return {"enum": list(self.words)}


class _Seeds:
    """Type of the seeds, either their number, counted from 0, or a list."""

    def read(self, value: Any, location: Location, found: FileProblems) -> Any:
        """Return the seeds."""
        if isinstance(value, list):
            return ListOf(Whole(0, 2**63 - 1), least=1).read(value, location, found)
        count = Whole(1, MAX_SEEDS).read(value, location, found)
        return ILLEGAL if count is ILLEGAL else range(count)

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the seeds."""
        return {"anyOf": [Whole(1).json_schema(), ListOf(Whole(0), least=1).json_schema()]}


class _Texts:
    """Type of a key with one text or a list of texts."""

    def read(self, value: Any, location: Location, found: FileProblems) -> Any:
        """Return the texts as a list."""
        if isinstance(value, list):
            return ListOf(TEXT).read(value, location, found)
        read = TEXT.read(value, location, found)
        return ILLEGAL if read is ILLEGAL else [read]

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the texts."""
        return {"anyOf": [TEXT.json_schema(), ListOf(TEXT).json_schema()]}


class _PerKernel:
    """Type of a key with one value per kernel, as a text or a mapping."""

    def read(self, value: Any, location: Location, found: FileProblems) -> Any:
        """Return the values in the form of a scenario's parameter."""
        return (Plain() if isinstance(value, dict) else TEXT).read(value, location, found)

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the values."""
        return {"type": ["string", "object"]}


class _EntryOf:
    """Type of an entry, either a name or a mapping with a name and axes."""

    def __init__(self, section: type[Section], key: str) -> None:
        self.section, self.key = section, key

    def read(self, value: Any, location: Location, found: FileProblems) -> Any:
        """Return the entry."""
        if isinstance(value, str):
            return StudyEntry(value, {}, location)
        read = self.section.read(value, location, found)
        if read is ILLEGAL:
            return ILLEGAL
        name, workers = getattr(read, self.key), getattr(read, "workers", None)
        if self.key == "platform" and (name is None) == (workers is None):
            return refused(found, location, "must have either platform or workers", value)
        own = {word: getattr(read, word, None) for word in ("workers", *NODE_FIELDS)}
        said = {word: values for word, values in own.items() if values is not None}
        return StudyEntry(name, {**said, **read.changes}, location)

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the entry."""
        return {"anyOf": [TEXT.json_schema(), SectionOf(self.section).json_schema()]}


class _Graph(Section):
    graph = given(TEXT)
    changes = given(SettingsOf("graph."), {}, alias="set")


class _Platform(Section):
    platform = given(Maybe(TEXT), None)
    workers = given(Maybe(VALUES), None)
    network = given(Maybe(VALUES), None)
    nodes = given(Maybe(VALUES), None)
    grid = given(Maybe(VALUES), None)
    owner = given(Maybe(VALUES), None)
    changes = given(SettingsOf("platform."), {}, alias="set")


class _Scheduler(Section):
    scheduler = given(TEXT)
    changes = given(SettingsOf("scheduler."), {}, alias="set")


class _Limits(Section):
    time = given(Maybe(Amount("time", above=0)), None)
    memory = given(Maybe(Amount("size", above=0)), None)


class _File(Section):
    version = given(Whole(VERSION, VERSION))
    name = given(Maybe(TEXT), None)
    description = given(Maybe(TEXT), None)
    graphs = given(ListOf(_EntryOf(_Graph, "graph"), least=1))
    platforms = given(ListOf(_EntryOf(_Platform, "platform"), least=1))
    schedulers = given(ListOf(_EntryOf(_Scheduler, "scheduler"), least=1), ["lws"])
    settings = given(SettingsOf(""), {})
    seeds = given(Maybe(_Seeds()), None)
    repeat = given(Maybe(Whole(1, MAX_SEEDS)), None)
    noise = given(_OneOf(NOISES), "none")
    clock = given(_OneOf(CLOCKS), "simulated")
    models = given(Maybe(TEXT), None)
    durations = given(Maybe(_PerKernel()), None)
    model_names = given(Maybe(_PerKernel()), None)
    library = given(Maybe(TEXT), None)
    metrics = given(ListOf(_OneOf(METRIC_NAMES)), [])
    where = given(_Texts(), [])
    limits = given(SectionOf(_Limits), {})


def read_study(path: Path, text: str | None = None, *, trust: bool = False) -> Study:
    """Return the study in a file.

    Parameters
    ----------
    path : Path
        The study file; the files that it names are found from its folder.
    text : str, optional
        Text of the file, if it is known already.
    trust : bool, default False
        Whether to import generators and schedulers that the file names as ``MODULE:NAME``.

    Raises
    ------
    InputError
        If the file has problems. The message lists all of them, one per line, with file, line and
        column.
    """
    document = YamlDocument.read(path) if text is None else YamlDocument.parse(text, path)
    found: FileProblems = []
    if (why := newer(document.data.get("version"), VERSION)) is not None:
        found.append(FileProblem(("version",), why))
        document.data["version"] = VERSION  # reported once, not again as an illegal number
    file = _File.read(document.data, (), found)
    if file is not ILLEGAL:
        study = _study(file, document, found)
        if not found:
            from tasksim.study.sweep.checks import problems

            found += problems(study, trust=trust)
    report = ProblemReport([document])
    report.add([*document.problems, *found])
    if report.errors:
        raise report.error()
    return study


def _study(file: Any, document: YamlDocument, found: FileProblems) -> Study:
    if file.seeds is not None and file.repeat is not None:
        found.append(FileProblem(("repeat",), "seeds and repeat say the same: give one of them"))
    folder = document.path.absolute().parent
    base = {
        "noise": file.noise,
        "clock": file.clock,
        "models": _beside(folder, file.models),
        "durations": file.durations,
        "model_names": _model_names(file.model_names, folder, found),
        "library": _beside(folder, file.library),
    }
    seeds = file.seeds if file.seeds is not None else range(file.repeat or 1)
    return Study(
        name=file.name or document.path.stem,
        text=document.text,
        path=document.path,
        graphs=tuple(entry._replace(path=_beside(folder, entry.name)) for entry in file.graphs),
        platforms=tuple(
            entry._replace(path=_beside(folder, entry.name)) for entry in file.platforms
        ),
        schedulers=tuple(file.schedulers),
        settings=file.settings,
        seeds=tuple(seeds) if isinstance(seeds, list) else seeds,
        base={name: value for name, value in base.items() if value is not None},
        where=tuple(file.where),
        metrics=tuple(dict.fromkeys(file.metrics)),
        limits=Limits(file.limits.time, file.limits.memory),
    )


def _model_names(given: Any, folder: Path, found: FileProblems) -> str | dict[str, str] | None:
    """Return the names of models as data; a file of names is found beside the study file."""
    from tasksim.models.modelnames import model_names_of

    try:
        names = model_names_of(_beside(folder, given) if isinstance(given, str) else given)
    except InputError as error:
        found.append(FileProblem(("model_names",), str(error)))
        return None
    return dict(names) if isinstance(names, tuple) else names


def _beside(folder: Path, name: str | None) -> str | None:
    """Return the path of *name* if it is a file or folder beside the study file; else *name*."""
    if name is None or not (os.sep in name or Path(name).suffix):
        return name
    try:
        path = folder / name
        return str(path) if path.exists() else name
    except (OSError, ValueError):
        return name
