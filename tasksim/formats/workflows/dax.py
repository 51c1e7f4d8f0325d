"""Workflows in DAX, the XML of Pegasus, with jobs, their files and dependencies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn
from xml.parsers import expat

from tasksim.base.errors import InputError
from tasksim.base.files import MAX_TEXT_BYTES, reading
from tasksim.formats.registry import Format
from tasksim.formats.workflows.jobs import DURATION_PARAMETER, Jobs

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.formats.registry import GraphInput

__all__ = ["DAX", "read_dax"]

BUFFER_BYTES: Final = 2**16
SUBWORKFLOW_ELEMENTS: Final = ("dax", "dag")
"""Elements of jobs that are workflows of their own, planned when they start."""
FILE_USES: Final = ("input", "output", "inout", "none", "checkpoint")
"""Uses of a file by a job; of the last two nothing follows for other jobs."""


def read_dax(path: Path) -> GraphInput:
    """Return the task graph of an abstract workflow (``adag``), version 2 or 3.

    Jobs have a ``runtime`` in seconds; sizes are bytes. Nothing is expanded or fetched: a document
    type with entities is refused.

    Parameters
    ----------
    path : Path
        An XML file.

    Raises
    ------
    InputError
        ``file:line: what is wrong``.
    """
    reader = _Reader(path)
    parser = expat.ParserCreate()
    reader.parser = parser
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.EntityDeclHandler = reader.entity
    parser.ExternalEntityRefHandler = reader.entity
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    try:
        with reading(path, MAX_TEXT_BYTES) as file:
            while block := file.read(BUFFER_BYTES):
                parser.Parse(block, False)
            parser.Parse(b"", True)
    except expat.ExpatError as error:
        what = expat.ErrorString(error.code)
        raise InputError(f"{path}:{error.lineno}:{error.offset + 1}: not XML: {what}") from None
    except InputError:
        raise
    except (UnicodeError, ValueError) as error:
        raise InputError(f"{path}: not XML: {error}") from None
    return reader.done()


class _Reader:
    """State of the reader between elements."""

    parser: expat.XMLParserType

    def __init__(self, path: Path) -> None:
        self._jobs = Jobs(path)
        self._job = self._child = ""
        self._sizes: dict[str, float] = {}
        self._resized = self._silent = self._subworkflows = 0
        self._edges: list[tuple[str, str, int]] = []
        self._root = ""

    def entity(self, *declared: object) -> NoReturn:
        """Refuse an entity: it can expand kilobytes to a terabyte, or fetch another file."""
        raise self._jobs.error(f"entities are refused, got {str(declared[0])[:40]}", self._line())

    def start(self, element: str, given: dict[str, str]) -> None:
        """Enter an element."""
        name = element.rpartition(":")[2]
        if not self._root:
            self._root = name
            if name != "adag":
                raise self._jobs.error(f"got <{name[:40]}>; legal: <adag>", self._line())
            self._jobs.name = given.get("name") or self._jobs.name
        elif name == "job":
            self._begin_job(given, given.get("name", "job"))
        elif name in SUBWORKFLOW_ELEMENTS:
            self._subworkflows += 1
            self._begin_job(given, name)
        elif name == "uses" and self._job:
            self._use(given)
        elif name == "child":
            self._child = self._needed(given, "ref", name)
        elif name == "parent" and self._child:
            self._edges.append((self._needed(given, "ref", name), self._child, self._line()))

    def end(self, element: str) -> None:
        """Leave an element."""
        name = element.rpartition(":")[2]
        if name in ("job", *SUBWORKFLOW_ELEMENTS):
            self._job = ""
        elif name == "child":
            self._child = ""

    def done(self) -> GraphInput:
        """Return the graph at the end of the document."""
        for before, after, line in self._edges:
            self._jobs.edge(before, after, line)
        for name, size in self._sizes.items():
            self._jobs.file(name, size)
        if self._resized:
            self._jobs.notes.append(
                f"{self._resized} sizes of files differ from earlier ones, which count"
            )
        if self._silent:
            self._jobs.notes.append(f"{self._silent} jobs have no runtime, and so no duration")
        if self._subworkflows:
            self._jobs.notes.append(
                f"{self._subworkflows} jobs are workflows of their own, each a single task here"
            )
        return self._jobs.build()

    def _begin_job(self, given: dict[str, str], kernel: str) -> None:
        self._job = self._needed(given, "id", "job")
        values = {}
        if "runtime" in given:
            values[DURATION_PARAMETER] = self._jobs.number(
                given["runtime"], "runtime", self._line()
            )
        else:
            self._silent += 1
        self._jobs.add(self._job, kernel, values, self._line())

    def _use(self, given: dict[str, str]) -> None:
        name = given.get("file") or given.get("name")
        if not name:
            raise self._jobs.error("<uses> without file", self._line())
        link = given.get("link", "")
        if link in ("input", "inout"):
            self._jobs.reads(self._job, name)
        if link in ("output", "inout"):
            self._jobs.writes(self._job, name)
        if link not in FILE_USES:
            legal = ", ".join(FILE_USES)
            raise self._jobs.error(f"link: got '{link[:40]}'; legal: {legal}", self._line())
        if "size" in given:
            size = self._jobs.number(given["size"], "size", self._line())
            self._resized += self._sizes.get(name, size) != size
            self._sizes[name] = size

    def _needed(self, given: dict[str, str], key: str, element: str) -> str:
        if not given.get(key):
            raise self._jobs.error(f"<{element}> without {key}", self._line())
        return given[key]

    def _line(self) -> int:
        return int(self.parser.CurrentLineNumber)


DAX = Format(
    summary="A workflow in DAX, the XML of Pegasus.",
    suffixes=(".dax",),
    recognises=lambda path, head: b"<adag" in head,  # noqa: ARG005
    reads_graph=read_dax,
)
