"""Task graphs in DOT of SimGrid and daggen, with nodes in flop and edges in bytes."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tasksim.base.files import read_text, refuse_existing, write_text
from tasksim.base.progress import follow_text, watched
from tasksim.formats.registry import Format
from tasksim.formats.workflows.jobs import DURATION, FLOP, Jobs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tasksim.formats.registry import GraphInput
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run

__all__ = ["DOT", "read_dot", "write_dot"]

_TOKEN: Final = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/|^\#[^\n]*)
    |(?P<quoted>"(?:[^"\\]|\\.)*")
    |(?P<arrow>->|--)
    |(?P<mark>[{}\[\];,=:])
    |(?P<word>(?:[A-Za-z0-9_.+\x80-\U0010ffff]++|-(?![->]))+)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_NAME: Final = r"""(?:"[^"\\\n]*+"|[A-Za-z0-9_.]++)"""
_PAIR: Final = rf"[A-Za-z0-9_]++[ ]*+=[ ]*+{_NAME}"
_LIST: Final = rf"\[[ ]*+((?:{_PAIR}[ ]*+,?[ ]*+)*+)\]"
_STATEMENT: Final = re.compile(
    rf"(\s*+)(?!\"?subgraph\b)({_NAME})[ ]*+"
    rf"(?:->[ ]*+({_NAME})[ ]*+(?:{_LIST}[ ]*+|(?=[;}}\n]))|{_LIST}[ ]*+)"
    rf"(?:;|(?=\s*+[}}\w\"]))"
)
"""Pattern of a node or an edge on one line as programs write it: a node with a list of attributes,
or an edge with at most one, and its semicolon, if any. The rest is read token by token."""
_ATTRIBUTE: Final = re.compile(r"""([A-Za-z0-9_]++) *+= *+(?:"([^"]*+)"|([A-Za-z0-9_.]++))""")
BEGIN: Final = re.compile(
    rb"(?:\s|//[^\n]*\n|/\*.*?\*/|#[^\n]*\n)*(?:strict\s+)?digraph\b", re.DOTALL
)
"""Pattern of the beginning of a file: comments, then a directed graph."""
DEFAULTS: Final = ("node", "edge", "graph")
STATEMENT_ENDS: Final = ("]", ";", "{")
"""Marks behind which a node or an edge may begin."""
GFLOP: Final = 1e9
_NEGATIVE: Final = re.compile(r"-\d+(\.\d*)?")


class Token(NamedTuple):
    """A word, a quoted text without its quotes, or a mark, with its position."""

    text: str
    line: int
    is_name: bool


class Statement(NamedTuple):
    """A node, or an edge to *other*, that was recognised as a whole."""

    text: str
    line: int
    is_name: bool
    first: Token
    other: Token | None
    attributes: dict[str, str]


def read_dot(path: Path) -> GraphInput:
    """Return the task graph in a DOT file.

    ``size`` of a node is its flop, and that of an edge its bytes; an edge of 0, negative or no
    bytes is a mere dependency, and a node without a size among others with one has 0 flop.
    ``duration_s`` of a node, which tasksim writes, is its duration in seconds, ``label`` its kernel
    if several nodes share it. Of several edges between two nodes, the first counts.

    Parameters
    ----------
    path : Path
        A text file.

    Raises
    ------
    InputError
        ``file:line: what is wrong``.
    """
    jobs = Jobs(path)
    found = _Parser(jobs, read_text(path)).parse()
    labels = Counter(attributes.get("label", "") for attributes in found.nodes.values())
    shared = {label for label, count in labels.items() if label and count > 1}
    silent = sizeless = 0
    has_sizes = any("size" in attributes for attributes in found.nodes.values())
    for name, attributes in found.nodes.items():
        line = found.line[name]
        values: dict[str, float] = {}
        if "size" in attributes:
            values[FLOP] = jobs.number(attributes["size"], f"size of {name}", line)
        named = next((word for word in (DURATION, "duration") if word in attributes), None)
        if named is not None:  # as from_networkx has it
            values[DURATION] = jobs.number(attributes[named], f"{named} of {name}", line)
        silent += DURATION not in values
        kernel = attributes.get("kernel") or attributes.get("label", "")
        kernel = kernel if kernel in shared or "kernel" in attributes else "task"
        if has_sizes and not values and kernel == "task":  # SimGrid's root and end
            values[FLOP] = 0.0
            sizeless += 1
        priority = attributes.get("priority", "0")
        number = int(priority) if re.fullmatch(r"-?\d{1,9}", priority) else 0
        jobs.add(name, kernel, values, line, number)
    twice = 0
    for one, other, attributes, line in found.edges:
        text = attributes.get("size", "0")
        if _NEGATIVE.fullmatch(text):  # SimGrid's word for an edge without data
            text = "0"
        size = jobs.number(text, f"size of {one} -> {other}", line)
        twice += not jobs.edge(one, other, line, size)
    if twice:
        jobs.notes.append(f"{twice} edges are repeated: the first of each counts")
    if sizeless:
        jobs.notes.append(f"nodes without a size count as 0 flop, as in SimGrid: {sizeless}")
    if silent:
        jobs.notes.append(
            "sizes are in flop, as in SimGrid: durations need a speed (--flop-rate) or models"
        )
    return jobs.build()


class _Found(NamedTuple):
    nodes: dict[str, dict[str, str]]
    line: dict[str, int]
    edges: list[tuple[str, str, dict[str, str], int]]


class _Parser:
    """Parser of a DOT file, token by token, with a lookahead of one."""

    def __init__(self, jobs: Jobs, text: str) -> None:
        self._jobs = jobs
        self._tokens = self._split(text)
        self._token: Token | Statement | None = next(self._tokens, None)
        self._found = _Found({}, {}, [])
        self._defaults: dict[str, str] = {}

    def parse(self) -> _Found:
        """Return nodes and edges."""
        if self._peek("strict"):
            self._pass()
        kind = self._next("digraph")
        if kind.text != "digraph":
            raise self._error(f"got '{kind.text[:40]}'; legal: digraph", kind)
        if self._token is not None and self._token.is_name:
            self._jobs.name = self._token.text or self._jobs.name
            self._pass()
        self._mark("{")
        outer: list[dict[str, str]] = []  # the outer defaults of each open subgraph
        while True:
            # Most statements of a large file come as a whole: they pass none of the checks below.
            while isinstance(whole := self._token, Statement):
                names = [whole.first] if whole.other is None else [whole.first, whole.other]
                self._insert(names, whole.attributes)
                self._pass()
            if not outer and self._peek("}"):
                break
            if self._peek("}"):
                self._pass()
                self._defaults = outer.pop()
                if self._peek("->") or self._peek("--"):
                    message = "got an edge of a subgraph; legal: edges of nodes"
                    raise self._error(message, self._next("->"))
            elif self._opens_subgraph():
                outer.append(dict(self._defaults))
            else:
                self._statement()
        self._mark("}")
        if self._token is not None:
            got = self._token.text[:40]
            raise self._error(f"got '{got}' after the graph; legal: one graph", self._token)
        return self._found

    def _opens_subgraph(self) -> bool:
        """Skip ``subgraph NAME {`` or ``{``; nodes of a subgraph count."""
        if self._peek("subgraph"):
            self._pass()
            if self._token is not None and self._token.is_name:
                self._pass()
            self._mark("{")
            return True
        if self._peek("{"):
            self._pass()
            return True
        return False

    def _statement(self) -> None:
        if self._peek(";") or self._peek(","):
            self._pass()
            return
        first = self._next("a node")
        if not first.is_name:
            raise self._error(f"got '{first.text}'; legal: a node, or an edge", first)
        if self._peek("="):  # an attribute of the whole graph
            self._pass()
            self._next("a value")
            return
        names = [first]
        while self._peek("->") or self._peek("--"):
            arrow = self._next("->")
            if arrow.text == "--":
                raise self._error("got '--'; legal: '->', as tasks depend in one direction", arrow)
            names.append(self._name())
        self._insert(names, self._attributes())

    def _insert(self, names: list[Token], attributes: dict[str, str]) -> None:
        """Keep a node, or the edges between the nodes of these *names*."""
        first = names[0]
        if len(names) == 1 and first.text.lower() in DEFAULTS:
            if first.text.lower() == "node":
                self._defaults.update(attributes)
            return
        for name in names:
            if name.text not in self._found.nodes:
                self._found.nodes[name.text] = dict(self._defaults)
                self._found.line[name.text] = name.line
        if len(names) == 1:
            self._found.nodes[first.text].update(attributes)
        for one, other in pairwise(names):
            self._found.edges.append((one.text, other.text, attributes, one.line))

    def _attributes(self) -> dict[str, str]:
        found: dict[str, str] = {}
        while self._peek("["):
            self._pass()
            while not self._peek("]"):
                key = self._name().text
                found[key] = "true"
                if self._peek("="):
                    self._pass()
                    found[key] = self._name().text
                if self._peek(",") or self._peek(";"):
                    self._pass()
            self._mark("]")
        return found

    def _split(self, text: str) -> Iterator[Token | Statement]:
        at, line, last = 0, 1, ""
        follow_text(lambda: at, len(text))
        while at < len(text):
            # A statement begins behind these marks alone. Most of a large file is statements:
            # one match of each is several times faster than one of each token.
            whole = _STATEMENT.match(text, at) if last in STATEMENT_ENDS else None
            if whole is not None:
                space, first, other, *lists = whole.groups()
                line += space.count("\n")
                pairs = _ATTRIBUTE.findall(lists[0] or lists[1] or "")
                yield Statement(
                    text[whole.start(2) : whole.end()], line, False,
                    Token(first.strip('"'), line, True),
                    None if other is None else Token(other.strip('"'), line, True),
                    {key: quoted or word for key, quoted, word in pairs},
                )  # fmt: skip
                at, last = whole.end(), "]"
                continue
            match = _TOKEN.match(text, at)
            if match is None:
                raise self._jobs.error(f"got '{text[at : at + 20].splitlines()[0]}'", line)
            word = match[0]
            if match.lastgroup == "quoted":
                last = '"'
                yield Token(re.sub(r"\\(.)", r"\1", word[1:-1]), line, True)
            elif match.lastgroup != "space":
                last = word
                yield Token(word, line, match.lastgroup == "word")
            line += word.count("\n")
            at = match.end()

    def _peek(self, text: str) -> bool:
        token = self._token
        if token is None:
            raise self._jobs.error("the file ends before the graph does: a '}' is missing")
        return token.text == text and (not token.is_name or text.isalpha())

    def _next(self, legal: str) -> Token:
        token = self._token
        if isinstance(token, Statement):
            token = Token(token.text, token.line, False)
        if token is None:
            raise self._jobs.error(f"the file ends; expected {legal}")
        self._pass()
        return token

    def _pass(self) -> None:
        self._token = next(self._tokens, None)

    def _name(self) -> Token:
        token = self._next("a name")
        if not token.is_name:
            raise self._error(f"got '{token.text}'; legal: a name or a text in quotes", token)
        return token

    def _mark(self, text: str) -> None:
        token = self._next(f"'{text}'")
        if token.text != text:
            raise self._error(f"got '{token.text[:40]}'; legal: '{text}'", token)

    def _error(self, message: str, token: Token | Statement) -> Exception:
        return self._jobs.error(message, token.line)


def write_dot(run: Run, path: Path, force: bool = False) -> None:
    """Write the graph of *run* as DOT: flop, or seconds at 1 Gflop/s, and bytes of edges.

    Parameters
    ----------
    run : Run
        Its graph is made again if it does not have one.
    path : Path
        A ``.dot`` file.
    force : bool, default False
        Whether to replace an existing file.
    """
    from tasksim.formats.graphs import graph_of

    refuse_existing(path, force=force)
    graph = graph_of(run, Path(run.graph_name))
    passed = _edge_bytes(graph)
    took = dict(zip(run.tasks.task.tolist(), run.tasks.duration_s.tolist(), strict=True))
    lines = [f"digraph {_quoted(run.graph_name)} {{"]
    for task in watched(range(len(graph)), "tasks", until=0.75):
        seconds = took[task]
        flop = graph.parameters_of(task).get(FLOP, seconds * GFLOP)
        kernel = _quoted(graph.kernel_of(task))
        lines.append(
            f'  {task} [size="{flop!r}", kernel={kernel}, label={kernel}, '
            f'duration_s="{seconds!r}", priority="{graph.priority[task]}"];'
        )
    for task in watched(range(len(graph)), "tasks", until=0.95):
        for other in graph.successors_of(task):
            size = passed.get((task, other), 0)
            lines.append(f'  {task} -> {other} [size="{size}"];')
    write_text(path, "\n".join([*lines, "}", ""]), force=force)


def _edge_bytes(graph: TaskGraph) -> dict[tuple[int, int], int]:
    """Return the bytes of each dependency: of data that one task writes and the other reads."""
    size = graph.handle_size.tolist()
    passed: dict[tuple[int, int], int] = {}
    last: dict[int, int] = {}
    owner = np.repeat(np.arange(len(graph)), np.diff(graph.successor_ptr)).tolist()
    edges = set(zip(owner, graph.successors.tolist(), strict=True))
    for task in watched(range(len(graph)), "tasks", until=0.4):
        accesses = graph.accesses_of(task)
        for handle, mode in accesses:
            before = last.get(handle)
            if mode in (1, 3, 4) and before is not None and (before, task) in edges:
                passed[before, task] = passed.get((before, task), 0) + size[handle]
        for handle, mode in accesses:
            if mode in (2, 3, 4, 5):
                last[handle] = task
    return passed


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'


DOT = Format(
    summary="A task graph in DOT, as SimGrid and daggen have it.",
    suffixes=(".dot", ".gv"),
    recognises=lambda path, head: BEGIN.match(head) is not None,  # noqa: ARG005
    reads_graph=read_dot,
    writes_run=write_dot,
)
