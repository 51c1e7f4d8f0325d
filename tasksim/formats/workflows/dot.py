"""Task graphs in DOT of SimGrid and daggen, with nodes in flop and edges in bytes."""

from __future__ import annotations

import html
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from tasksim.base.files import read_text, refuse_existing, write_text
from tasksim.base.progress import follow_text, watched
from tasksim.formats.registry import Format
from tasksim.formats.workflows.jobs import DURATION_PARAMETER, FLOP_PARAMETER, Jobs
from tasksim.graph.csr import owner_of_each

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
    |(?P<html><)
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
DEFAULT_STATEMENTS: Final = ("node", "edge", "graph")
DURATION_ATTRIBUTES: Final = (DURATION_PARAMETER, "duration")
"""Attributes that are a node's duration in seconds."""
STATEMENT_ENDS: Final = ("]", ";", "{")
"""Marks behind which a node or an edge may begin."""
FLOP_PER_GFLOP: Final = 1e9
MAX_SUBGRAPH_EDGES: Final = 10_000_000
"""Most edges to and from subgraphs: ``{a b} -> {c d}`` has four, so a short file can have more than
fit the memory."""
MAX_SINGLE_KERNELS: Final = 100
"""Most kernels of a graph without sizes and durations for which labels of single tasks are kept:
more durations than that nobody types, and labels are then names of tasks."""
_ESCAPE: Final = re.compile(r'\\(["\n\\])')
_ESCAPED: Final = {'"': '"', "\n": ""}
_LINE_ENDS: Final = re.compile(r"(?:\\[nlr]|\n)+")
_ANGLES: Final = re.compile(r"[<>]")
_TAG: Final = re.compile(r"<[^>]*>")
_BREAK: Final = re.compile(r"<br\b[^>]*>|</t[dr]>", re.IGNORECASE)
_LAUNCH: Final = re.compile(r"([^\s|{}<>]+)<<<")
"""Pattern of a kernel with its launch configuration, as in a dump of a CUDA graph."""
_PLACE: Final = re.compile(r"<\d+/\d+>\s*")
"""Pattern of thread and virtual process, before the name of a task of PaRSEC."""
_CALL: Final = re.compile(r"([^\s()<>{}\[\],]+)\s*[({].*")
"""Pattern of a name with arguments: ``POTRF(0)<0>{0}``."""
_ADDRESS: Final = re.compile(r"p?0x[0-9a-fA-F]+")
"""Pattern of a pointer, which Taskflow takes for the name of a task without one."""
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


@dataclass
class _Open:
    """A subgraph that is being read."""

    defaults: dict[str, str]
    """Defaults of nodes outside of it."""
    begin: int
    """Number of the mentions of nodes before it."""
    before: list[list[str]] = field(default_factory=list)
    """Ends of edges that lead to it: ``a -> {``."""


def read_dot(path: Path) -> GraphInput:
    """Return the task graph in a DOT file.

    ``size`` of a node is its flop, and that of an edge its bytes; an edge of 0, negative or no
    bytes is a mere dependency, and a node without a size among others with one has 0 flop.
    ``duration_s`` of a node, which tasksim writes, is its duration in seconds. Its kernel is
    ``kernel``, or the first line of its ``label``, without arguments in parentheses: if several
    nodes share it, or no node has a size or a duration and there are at most 100 of them. Of
    several edges between two nodes, the first counts; invisible ones do not.

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
    kernels = _kernels(found.nodes)
    silent = sizeless = 0
    has_sizes = any("size" in attributes for attributes in found.nodes.values())
    for name, attributes in found.nodes.items():
        line = found.line[name]
        values: dict[str, float] = {}
        if "size" in attributes:
            values[FLOP_PARAMETER] = jobs.number(attributes["size"], f"size of {name}", line)
        named = next((word for word in DURATION_ATTRIBUTES if word in attributes), None)
        if named is not None:  # as from_networkx has it
            values[DURATION_PARAMETER] = jobs.number(attributes[named], f"{named} of {name}", line)
        silent += DURATION_PARAMETER not in values
        kernel = kernels[name]
        if has_sizes and not values and kernel == "task":  # SimGrid's root and end
            values[FLOP_PARAMETER] = 0.0
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
    if found.invisible:
        jobs.notes.append(f"{found.invisible} edges are invisible (style=invis): left out")
    if silent and not has_sizes:
        jobs.notes.append(
            f"{silent} nodes have neither a duration nor a size: durations need models, or "
            f"--durations KERNEL=SECONDS"
        )
    elif silent:
        jobs.notes.append(
            "sizes are in flop, as in SimGrid: durations need a speed (--flop-rate) or models"
        )
    return jobs.build()


def _kernels(nodes: dict[str, dict[str, str]]) -> dict[str, str]:
    """Return the kernel of each node, by its ``kernel`` or its label."""
    title_of = cache(_title)
    titles = {
        name: title_of(attributes.get("label", ""), "record" in attributes.get("shape", ""))
        for name, attributes in nodes.items()
    }
    shared = Counter(titles.values())
    single = len(shared) <= MAX_SINGLE_KERNELS and not any(
        word in attributes
        for attributes in nodes.values()
        for word in ("size", *DURATION_ATTRIBUTES)
    )
    return {
        name: _escaped(nodes[name].get("kernel", ""))
        or (title if single or shared[title] > 1 else "")
        or "task"
        for name, title in titles.items()
    }


def _title(label: str, is_record: bool) -> str:
    """Return the first line of a label, without arguments; empty if it names no kind of task."""
    if not label or label == "\\N":
        return ""
    lines = [_escaped(line).strip() for line in _LINE_ENDS.split(label)]
    if is_record:
        launched = _LAUNCH.search("\n".join(lines))
        fields = "\n".join(lines).translate({ord(mark): "\n" for mark in "{}|"}).splitlines()
        lines = [launched[1]] if launched else [each.strip() for each in fields]
    # CUDA numbers the nodes of a graph in the first line.
    words = [line for line in lines if line]
    title = next((line for line in words if not line.isdecimal()), words[0] if words else "")
    title = _PLACE.sub("", title, count=1) if title.startswith("<") else title
    call = _CALL.fullmatch(title)
    return call[1] if call else "" if _ADDRESS.fullmatch(title) else title


def _escaped(text: str) -> str:
    """Return *text* with its escapes replaced by what they stand for."""
    return re.sub(r"\\(.)", r"\1", text) if "\\" in text else text


class _Found(NamedTuple):
    nodes: dict[str, dict[str, str]]
    line: dict[str, int]
    edges: list[tuple[str, str, dict[str, str], int]]
    invisible: int


class _Parser:
    """Parser of a DOT file, token by token, with a lookahead of one."""

    def __init__(self, jobs: Jobs, text: str) -> None:
        self._jobs = jobs
        self._tokens = self._split(text)
        self._token: Token | Statement | None = next(self._tokens, None)
        self._nodes: dict[str, dict[str, str]] = {}
        self._line: dict[str, int] = {}
        self._edges: list[tuple[str, str, dict[str, str], int]] = []
        self._invisible = self._of_subgraphs = 0
        self._defaults: dict[str, str] = {}
        self._mentions: list[str] = []
        self._open: list[_Open] = []

    def parse(self) -> _Found:
        """Return nodes and edges."""
        begin = self._token
        if begin is None:
            raise self._jobs.error("the file has no graph; legal: digraph { a -> b }")
        if self._peek("strict"):
            self._pass()
        kind = self._next("digraph")
        if kind.text != "digraph":
            why = ", as tasks depend in one direction" if kind.text == "graph" else ""
            raise self._error(f"got '{kind.text[:40]}'; legal: digraph{why}", kind)
        if self._token is not None and self._token.is_name:
            self._jobs.name = self._token.text or self._jobs.name
            self._pass()
        self._mark("{")
        while True:
            # Most statements of a large file come as a whole: they pass none of the checks below.
            while isinstance(whole := self._token, Statement):
                if whole.other is None:
                    self._insert_node(whole.first, whole.attributes)
                else:
                    names = [[self._mention(whole.first)], [self._mention(whole.other)]]
                    self._insert_edges(names, whole.attributes, whole.line)
                self._pass()
            if not self._open and self._peek("}"):
                break
            if self._peek("}"):
                self._close_subgraph()
            elif not self._opens_subgraph([]):
                self._statement()
        self._mark("}")
        if self._token is not None:
            got = self._token.text[:40]
            raise self._error(f"got '{got}' after the graph; legal: one graph", self._token)
        return _Found(self._nodes, self._line, self._edges, self._invisible)

    def _opens_subgraph(self, before: list[list[str]]) -> bool:
        """Skip ``subgraph NAME {`` or ``{``, to which the nodes *before* have edges."""
        if self._peek("subgraph"):
            self._pass()
            if self._token is not None and self._token.is_name:
                self._pass()
            self._mark("{")
        elif self._peek("{"):
            self._pass()
        else:
            return False
        self._open.append(_Open(dict(self._defaults), len(self._mentions), before))
        return True

    def _close_subgraph(self) -> None:
        """Skip ``}``; the nodes of the subgraph are an end of the edges around it."""
        self._pass()
        closed = self._open.pop()
        self._defaults = closed.defaults
        if closed.before or self._peek("->") or self._peek("--"):
            inside = self._mentions[closed.begin :]
            self._count_edges(len(inside))
            self._chain([*closed.before, list(dict.fromkeys(inside))])

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
        self._port()
        if self._peek("->") or self._peek("--"):
            self._chain([[self._mention(first)]])
        else:
            self._insert_node(first, self._attributes())

    def _chain(self, ends: list[list[str]]) -> None:
        """Read the rest of an edge, behind these *ends*, up to a subgraph."""
        line = 0 if self._token is None else self._token.line
        while self._peek("->") or self._peek("--"):
            arrow = self._next("->")
            if arrow.text == "--":
                raise self._error("got '--'; legal: '->', as tasks depend in one direction", arrow)
            if self._opens_subgraph(ends):
                return
            ends.append([self._mention(self._name())])
            self._port()
        self._insert_edges(ends, self._attributes(), line)

    def _port(self) -> None:
        """Skip the port of a node, where its edge is drawn: ``:f1:sw``."""
        while self._peek(":"):
            self._pass()
            self._name()

    def _insert_node(self, name: Token, attributes: dict[str, str]) -> None:
        """Keep a node, or the defaults of nodes."""
        if name.text.lower() in DEFAULT_STATEMENTS:
            if name.text.lower() == "node":
                self._defaults.update(attributes)
        else:
            self._nodes[self._mention(name)].update(attributes)

    def _mention(self, name: Token) -> str:
        """Return the node of this *name*, which is there from its first mention on."""
        if name.text not in self._nodes:
            self._nodes[name.text] = dict(self._defaults)
            self._line[name.text] = name.line
        if self._open:
            self._mentions.append(name.text)
        return name.text

    def _insert_edges(self, ends: list[list[str]], attributes: dict[str, str], line: int) -> None:
        """Keep the edges from all nodes of each of the *ends* to all of the next."""
        for some, others in pairwise(ends):
            if len(some) != 1 or len(others) != 1:
                self._count_edges(len(some) * len(others))
            if "invis" in attributes.get("style", ""):
                self._invisible += len(some) * len(others)
                continue
            self._edges.extend(
                (one, other, attributes, line) for one, other in product(some, others)
            )

    def _count_edges(self, count: int) -> None:
        """Refuse more edges of subgraphs than fit the memory."""
        self._of_subgraphs += count
        if self._of_subgraphs > MAX_SUBGRAPH_EDGES:
            raise self._jobs.error(
                f"edges of subgraphs: got more than {MAX_SUBGRAPH_EDGES:,}; legal: fewer"
            )

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
            if match.lastgroup == "html":
                word = self._html(text, at, line)
                last = '"'
                yield Token(_plain(word), line, True)
                line += word.count("\n")
                at += len(word)
                continue
            if match.lastgroup == "quoted":
                last = '"'
                yield Token(_unquoted(word), line, True)
            elif match.lastgroup != "space":
                last = word
                yield Token(word, line, match.lastgroup == "word")
            line += word.count("\n")
            at = match.end()

    def _html(self, text: str, begin: int, line: int) -> str:
        """Return the text in angles that begins there, with those inside of it."""
        depth = 0
        for angle in _ANGLES.finditer(text, begin):
            depth += 1 if angle[0] == "<" else -1
            if not depth:
                return text[begin : angle.end()]
        got = text[begin : begin + 20].splitlines()[0]
        raise self._jobs.error(f"got '{got}', a text in angles without its end", line)

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


def _unquoted(text: str) -> str:
    """Return a text in quotes without them; other escapes than that of a quote are a label's."""
    return _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[0]), text[1:-1])


def _plain(markup: str) -> str:
    """Return the lines of a text in angles, without its tags."""
    return html.unescape(_TAG.sub("", _BREAK.sub("\n", markup[1:-1]))).strip()


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
        flop = graph.parameters_of(task).get(FLOP_PARAMETER, seconds * FLOP_PER_GFLOP)
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
    owner = owner_of_each(graph.successor_ptr).tolist()
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
