"""Formats of files by name, with their abilities and the recognition of their files.

A format is a :class:`Format`; another package declares one by an entry point of the group
``tasksim.formats``. The content of a file determines its format, or else its suffix.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from tasksim.base.errors import InputError
from tasksim.base.files import exists, is_file, reading
from tasksim.base.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.formats.traces.recorded_trace import RecordedTrace
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.models.files.store import ModelLibrary
    from tasksim.models.samples import Samples
    from tasksim.platform.description import Platform
    from tasksim.run.record import Run

    SampleReader = Callable[..., Samples]

__all__ = [
    "FORMATS",
    "HEAD_BYTES",
    "Format",
    "GraphInput",
    "Verb",
    "first_line",
    "format_of",
    "formats_that",
]

Verb: TypeAlias = Literal[
    "reads_graph", "reads_run", "reads_trace", "reads_platform", "reads_samples", "writes_run",
    "writes_models",
]  # fmt: skip
"""Abilities of a format; fields of :class:`Format` have these names."""

# Enough to recognise any format here: Parquet by 4 bytes, Extra-P and StarPU by their first line
# that is no comment; and still a single block of a disk.
HEAD_BYTES = 4096


class GraphInput(NamedTuple):
    """A task graph with the optional contents of its file."""

    graph: TaskGraph
    platform: Platform | None = None
    models: Any = None
    """Models of durations: an object with ``model(kernel, architecture)``; None: unknown."""
    notes: tuple[str, ...] = ()
    """Notes on missing or duplicate statements of the file."""


def _never(path: Path, head: bytes) -> bool:  # noqa: ARG001
    return False


def _itself(path: Path) -> list[Path]:
    return [path]


@dataclass(frozen=True)
class Format:
    """A format of files or folders.

    Parameters
    ----------
    summary : str
        Summary in one line, for ``tasksim list formats``.
    suffixes : tuple of str, default ()
        Suffixes that decide if no format recognises the content: ``(".csv",)``.
    recognises : callable, optional
        ``recognises(path, head)``: whether a file is one, by its first 4096 bytes; for folders
        *head* is empty. Default: never.
    reads_graph : callable, optional
        ``reads_graph(path)`` returns a :class:`GraphInput`.
    brings_platform : bool, default False
        Whether the graph comes with a platform and models.
    files_of : callable, optional
        ``files_of(path)``: all files that are read; default: the path itself.
    reads_run : callable, optional
        ``reads_run(path)`` returns a :class:`~tasksim.run.record.Run`; default: the run of
        *reads_trace*, if given.
    reads_trace : callable, optional
        ``reads_trace(path, skip_bad)`` returns a
        :class:`~tasksim.formats.traces.recorded_trace.RecordedTrace`: a run, with notes; *skip_bad*
        skips and counts malformed records.
    reads_platform : callable, optional
        ``reads_platform(path)`` returns a :class:`~tasksim.platform.description.Platform`.
    reads_samples : callable, optional
        ``reads_samples(path, duration, parameters, part)`` returns
        :class:`~tasksim.models.samples.Samples`; the arguments are those of
        :func:`tasksim.formats.samples.read_samples`.
    takes_categorical : bool, default=False
        Whether *reads_samples* takes a fifth argument, the numeric columns whose values are names
        of categories; if not, categories are made of the numbers that it returns.
    writes_run : callable, optional
        ``writes_run(run, path, force)`` writes a run, all or nothing.
    writes_models : callable, optional
        ``writes_models(models, path, force)`` writes the models of a
        :class:`~tasksim.models.files.store.ModelLibrary`, all or nothing, and returns notes on what
        is lost.

    See Also
    --------
    format_of : The format of a file.

    Examples
    --------
    >>> Format(summary="A run as a table of events.", suffixes=(".events",)).verbs()
    ()
    """

    summary: str
    suffixes: tuple[str, ...] = ()
    recognises: Callable[[Path, bytes], bool] = _never
    reads_graph: Callable[[Path], GraphInput] | None = None
    brings_platform: bool = False
    files_of: Callable[[Path], list[Path]] = _itself
    reads_run: Callable[[Path], Run] | None = None
    reads_trace: Callable[[Path, bool], RecordedTrace] | None = None
    reads_platform: Callable[[Path], Platform] | None = None
    reads_samples: SampleReader | None = None
    takes_categorical: bool = False
    writes_run: Callable[[Run, Path, bool], object] | None = None
    writes_models: Callable[[ModelLibrary, Path, bool], list[str]] | None = None

    def __post_init__(self) -> None:
        if self.reads_run is None and (reads_trace := self.reads_trace) is not None:
            # The dataclass is frozen, but this is part of its construction.
            object.__setattr__(self, "reads_run", lambda path: reads_trace(path, False).run)

    def verbs(self) -> tuple[Verb, ...]:
        """Return the abilities of the format."""
        return tuple(verb for verb in _ABILITIES if getattr(self, verb) is not None)

    def describe(self) -> str:
        """Return the summary, the suffixes and the abilities, in words."""
        suffixes = f" ({', '.join(self.suffixes)})" if self.suffixes else ""
        words = [_ABILITIES[verb] for verb in self.verbs()]
        return f"{self.summary}{suffixes}\n{', '.join(words)}"


_ABILITIES: dict[Verb, str] = {
    "reads_graph": "reads graphs",
    "reads_run": "reads runs",
    "reads_trace": "imports runs",
    "reads_platform": "reads platforms",
    "reads_samples": "reads samples",
    "writes_run": "writes runs",
    "writes_models": "writes models",
}


def _adopt(name: str, found: Any) -> Format:
    if not isinstance(found, Format):
        raise InputError(f"format '{name}': {found!r} is not a tasksim.formats.registry.Format")
    return found


FORMATS: Registry[Format] = Registry(
    "format",
    "tasksim.formats",
    {
        "graph": "tasksim.formats.tasksim_files:GRAPH",
        "starvz": "tasksim.formats.traces.starvz:STARVZ",
        "tasks.rec": "tasksim.formats.traces.tasks_rec:TASKS_REC",
        "perfetto": "tasksim.formats.traces.chrome:CHROME",
        "paje": "tasksim.formats.traces.paje:PAJE",
        "pj_dump": "tasksim.formats.traces.paje:PJ_DUMP",
        "otf2": "tasksim.formats.traces.otf2:OTF2",
        "paraver": "tasksim.formats.traces.paraver:PARAVER",
        "tfprof": "tasksim.formats.traces.tfprof:TFPROF",
        "projections": "tasksim.formats.traces.projections:PROJECTIONS",
        "joblog": "tasksim.formats.traces.joblogs:JOBLOG",
        "ninja": "tasksim.formats.traces.joblogs:NINJA",
        "nextflow": "tasksim.formats.traces.joblogs:NEXTFLOW",
        "cargo": "tasksim.formats.traces.cargo:CARGO",
        "snakemake": "tasksim.formats.traces.snakemake:SNAKEMAKE",
        "ci-jobs": "tasksim.formats.traces.cijobs:CI_JOBS",
        "spark": "tasksim.formats.traces.sparklog:SPARK",
        "task-table": "tasksim.formats.traces.tablecsv:TASK_TABLE",
        "run": "tasksim.formats.tasksim_files:RUN",
        "platform": "tasksim.formats.tasksim_files:PLATFORM",
        "models": "tasksim.formats.tasksim_files:MODELS",
        "hwloc": "tasksim.formats.hwloc.machine_import:HWLOC",
        "wfformat": "tasksim.formats.workflows.wfformat:WFFORMAT",
        "pegasus": "tasksim.formats.workflows.pegasus:PEGASUS",
        "dax": "tasksim.formats.workflows.dax:DAX",
        "dot": "tasksim.formats.workflows.dot:DOT",
        "stg": "tasksim.formats.workflows.stg:STG",
        "ogra": "tasksim.formats.workflows.stg:OGRA",
        "estee": "tasksim.formats.workflows.estee:ESTEE",
        "junit": "tasksim.formats.workflows.junit:JUNIT",
        "costs": "tasksim.formats.costs_csv:COSTS",
        "parquet": "tasksim.formats.samples.parquet:PARQUET",
        "json": "tasksim.formats.samples.jsonfile:JSON",
        "extra-p": "tasksim.formats.samples.extrap:EXTRA_P",
        "starpu-codelet": "tasksim.formats.samples.starpufiles:CODELET",
        "starpu-samples": "tasksim.formats.samples.starpufiles:SAMPLES",
        "csv": "tasksim.formats.samples.csvfile:CSV",
    },
    _adopt,
)
"""All formats, in the order in which they are tried on a file."""


def formats_that(verb: Verb) -> dict[str, Format]:
    """Return the formats with an ability, by name.

    >>> list(formats_that("reads_graph"))
    ['graph', 'run', 'wfformat', 'pegasus', 'dax', 'dot', 'stg', 'ogra', 'estee', 'junit', 'costs']
    """
    return {name: it for name, it in FORMATS.items().items() if getattr(it, verb) is not None}


def format_of(path: Path, verb: Verb) -> Format | None:
    """Return the format of the file or folder at *path*, among those with an ability.

    Parameters
    ----------
    path : Path
        The content of a file decides, or else its suffix; for a path without a file, the suffix.
    verb : str
        The ability: ``"reads_graph"``.

    Returns
    -------
    Format or None
        None if neither content nor suffix decides.

    Raises
    ------
    InputError
        If the file cannot be read, or it is empty and its suffix does not decide either.

    See Also
    --------
    formats_that : All formats with an ability.

    Examples
    --------
    >>> from pathlib import Path
    >>> format_of(Path("costs.csv"), "reads_graph").brings_platform
    True
    """
    known = formats_that(verb)
    head = b""
    if is_file(path):
        with reading(path) as file:
            head = file.read(HEAD_BYTES)
    if exists(path):
        for each in known.values():
            if each.recognises(path, head):
                return each
    found = next((each for each in known.values() if path.suffix in each.suffixes), None)
    if found is None and not head and is_file(path) and not verb.startswith("writes"):
        raise InputError(f"{path}: the file is empty")
    return found


def looks_like_file(text: str) -> bool:
    """Return whether *text* can only name a file: in a folder, or with a format's suffix.

    >>> looks_like_file("graph.json"), looks_like_file("runs/graph"), looks_like_file("cholesky")
    (True, True, False)
    """
    path = Path(text)
    return len(path.parts) > 1 or any(
        path.suffix in each.suffixes for each in FORMATS.items().values()
    )


def refuse_missing(text: str) -> None:
    """Raise :exc:`InputError` if *text* names a file that does not exist."""
    if looks_like_file(text) and not exists(Path(text)):
        raise InputError(f"{text}: no such file")


def first_line(head: bytes) -> str:
    """Return the first line that is neither empty nor a comment (``#``), without spaces around."""
    lines = (line.strip() for line in head.decode("utf-8-sig", errors="replace").splitlines())
    return next((line for line in lines if line and not line.startswith("#")), "")
