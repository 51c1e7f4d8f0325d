"""Logs of Charm++ for Projections: the executions of entry methods and the messages to them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from tasksim.base.errors import InputError, listed
from tasksim.base.files import exists, is_folder, read_text, reading
from tasksim.base.units import counted
from tasksim.formats.registry import HEAD_BYTES, Format
from tasksim.formats.traces.records import LARGEST_SIZE, Records
from tasksim.formats.traces.textlines import head_text, lines

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tasksim.formats.traces.recorded_trace import RecordedTrace

__all__ = ["PROJECTIONS", "read_projections"]

MICROSECOND_S: Final = 1e-6
TABLE_BEGINNING: Final = "PROJECTIONS_ID"
"""First word of a symbol table."""
LOG_BEGINNING: Final = "PROJECTIONS-RECORD"
"""First word of a log in text."""
OLDEST_VERSION: Final = 7.0
"""Oldest version of the logs that is read: earlier ones have other columns."""
MAX_DIGITS: Final = 15
"""Maximum number of digits: of times in us, thirty years."""
MAX_PES: Final = 100_000
"""Maximum number of PEs: each has a file, and a symbol table of few bytes could claim many."""

CREATION: Final = "1"
BEGIN_EXECUTION: Final = "2"
END_EXECUTION: Final = "3"
BEGIN_COMPUTATION: Final = "6"
END_COMPUTATION: Final = "7"
BROADCAST: Final = "20"
MULTICAST: Final = "21"
SENDS: Final = (CREATION, BROADCAST, MULTICAST)
"""Types of events that send a message."""
PE_STATES: Final = {
    "8": "writing the log", "14": "idle", "16": "packing messages", "18": "unpacking messages",
}  # fmt: skip
"""States of a PE by the type of the event that begins them; the next type ends them."""
BEGIN_OF_STATE: Final = {str(int(begin) + 1): begin for begin in PE_STATES}
"""Type of the event that ends a state -> type of the one that begins it."""
OTHERS_WITH_TIME: Final = {BEGIN_COMPUTATION, END_COMPUTATION, *PE_STATES, *BEGIN_OF_STATE}
"""Types of events that have only their time, and the PE."""
IGNORED: Final = {
    "4": "queued messages", "5": "messages taken from a queue", "10": "received messages",
    "11": "begins of tracing", "12": "ends of tracing", "13": "events of the user",
    "24": "allocations of memory", "25": "releases of memory", "26": "values of the user",
    "27": "readings of memory", "28": "notes of the user", "29": "notes of the user",
    "30": "ends of phases", "31": "left-out stretches", "32": "statistics of the user",
    "98": "events of the user", "99": "events of the user", "100": "events of the user",
}  # fmt: skip
"""Types of events that are counted only."""
WITHOUT_END: Final = "without an end: the begin of the next one counts"
WITHOUT_BEGINNING: Final = "without a beginning: left out"
WRONG_SENDER: Final = "with a wrong sender: their messages tell the right one"
NO_MESSAGE: Final = "without a message in the logs: they wait for their chare only"
LOCAL_EVENT: Final = -1
"""Number of the message of an execution that no message began: a block of SDAG, a local call."""
MAX_NESTED: Final = 16
"""Depth of local calls up to which an interrupted execution is found again."""
TO_GROUP: Final = (3, 5)
"""Types of messages to a group, which has one member per PE: its creation, and any other."""
RUNTIME_ENTRY: Final = "SDAG_RTS"
"""Entry of the runtime between the blocks of an entry method in SDAG."""
REDUCTION_MESSAGE: Final = "CkReductionMsg"
"""Type of the messages that carry what the chares of a PE contributed to a reduction."""

NUMERIC_SETTINGS: Final = ("VERSION", "PROCESSORS", "SMPMODE", "TOTAL_PAPI_EVENTS")
"""First words of the lines of a symbol table with the numbers that are used."""
NUMBER: Final = re.compile(r"-?\d{1,9}(\.\d{1,9})?", re.ASCII)
"""A number in a symbol table."""
_LOG: Final = re.compile(r"(.+)\.\d+\.log(\.gz)?")
"""Name of a log; its beginning is that of the symbol table."""


class _Entry(NamedTuple):
    """Entry method of a chare."""

    kernel: str
    chare: int
    is_array: bool
    is_reduction: bool


class _Symbols(NamedTuple):
    """Contents of a symbol table (``.sts``)."""

    pes: int
    pes_per_node: int
    nodes: int
    counters: int
    """Number of hardware counters at the end of each begin of an execution."""
    entries: dict[int, _Entry]


@dataclass(eq=False)
class _Message:
    """Message, by the event that sent it."""

    name: str
    pe: int
    sender: _Execution | None
    time_us: int
    size: int
    contributors: list[_Execution] | None = None
    """Executions whose contributions it may carry, if it is one of a reduction."""

    def sending_task(self) -> str:
        """Return the task that sent it: its reduction, or the piece that ends then."""
        if self.contributors is not None:
            return f"reduction-{self.name}"
        assert self.sender is not None  # else nobody asks
        return self.sender.name(bisect_left(self.sender.cuts_us, self.time_us))


@dataclass(eq=False)
class _Execution:
    """Execution of an entry method on a PE, from one time to another."""

    pe: int
    line: int
    number: int
    """Number of its entry method."""
    entry: _Entry
    start_us: int
    source: int
    """PE that sent the message that began it, which is wrong for some forwarded messages."""
    event: int
    """Number of that message."""
    size: int
    chare: tuple[object, ...] | None
    """Chare whose method it is; None if the log does not tell chares of its class apart."""
    end_us: int = -1
    message: _Message | None = None
    """Message that it waits for."""
    after: list[_Execution] = field(default_factory=list)
    """Executions that it waits for, besides the sender of its message."""
    cuts_us: list[int] = field(default_factory=list)
    """Times within it when it sent messages that were executed before its end."""

    def began_with(self) -> tuple[object, ...]:
        """Return the message, the entry method and the chare."""
        return self.source, self.event, self.number, self.chare

    def name(self, piece: int = -1) -> str:
        """Return the name of one of its tasks, one more than cuts: PE and line of the log."""
        number = piece % (len(self.cuts_us) + 1)
        return f"{self.pe}.{self.line}" + (f"/{number + 1}" if number else "")


@dataclass(eq=False)
class _Pe:
    """Log of a PE while it is read."""

    number: int
    path: Path
    done: list[_Execution] = field(default_factory=list)
    """Executions, without those of the runtime between blocks."""
    running: _Execution | None = None
    reduced: dict[int, int] = field(default_factory=dict)
    """Entry method of a reduction's message -> executions before the last such message."""
    states_us: Counter[str] = field(default_factory=Counter)
    since_us: dict[str, int] = field(default_factory=dict)
    begin_us: int = 0
    end_us: int | None = None


def read_projections(path: Path, skip_bad: bool = False) -> RecordedTrace:
    """Return the run in the logs of Charm++ for Projections, with times in microseconds.

    A task is an execution of an entry method or of one of its blocks (SDAG), a worker is a PE. A
    task waits for the one that sent its message, and for the one before it on its chare, or of its
    entry method. One that sent a message which was executed before its end is cut there. Reductions
    are tasks without duration, after what their PE executed since the last one.

    Parameters
    ----------
    path : Path
        The symbol table (``NAME.sts``), with the logs (``NAME.0.log``, compressed or not) beside
        it; one of these logs; or the folder of a single symbol table.
    skip_bad : bool, default False
        Whether malformed events are skipped and counted.

    Raises
    ------
    InputError
        ``file:line:column: what is wrong``; or if a log is missing, or is a binary one.
    """
    from tasksim.formats.traces.recorded_trace import assembled

    table = _table_of(path)
    symbols = _symbols(table)
    found = Records(table, skip_bad=skip_bad)
    found.place = "{path}"  # lines are those of logs: names of tasks have them
    reader = _Reader(found, symbols)
    for pe in range(symbols.pes):
        reader.read(pe, _log_of(table, pe))
    reader.add_tasks()
    return assembled(found)


class _Reader:
    """Events of the logs, as they become records of *found*."""

    def __init__(self, found: Records, symbols: _Symbols) -> None:
        self._found, self._symbols = found, symbols
        self._pes: list[_Pe] = []
        self._messages: dict[tuple[int, int], list[_Message]] = {}
        """Number and entry method -> messages, of any PE."""
        self._counts: Counter[str] = Counter()
        self._unused: Counter[str] = Counter()
        self._reductions = 0

    def read(self, number: int, path: Path) -> None:
        """Read the log of a PE."""
        pe = _Pe(number, path)
        self._pes.append(pe)
        for line, text in lines(path):
            kind, _, rest = text.partition(" ")
            if line == 1 or not rest:
                continue  # the header
            if kind in SENDS:
                self._send(pe, text, line)
            elif kind == BEGIN_EXECUTION:
                self._begin(pe, text, line)
            elif kind == END_EXECUTION:
                self._end(pe, text, line)
            elif kind in OTHERS_WITH_TIME:
                numbers = self._numbers(text, 1, path, line)
                if numbers is not None:
                    self._state(pe, kind, numbers[0])
            elif kind in IGNORED:
                self._unused[IGNORED[kind]] += 1
            else:
                legal = "an event of Projections, such as 2 (begin of an execution)"
                self._found.bad(f"got type '{kind:.20}'; legal: {legal}", line, path, 1)
        last = pe.running
        if last is not None:
            last.end_us = max(last.start_us, pe.end_us or 0)
        if pe.end_us is None:
            self._found.note(f"{path.name} has no end: the program did not exit, or the log is cut")

    def _state(self, pe: _Pe, kind: str, time_us: int) -> None:
        if kind == BEGIN_COMPUTATION:
            pe.begin_us = time_us
        elif kind == END_COMPUTATION:
            pe.end_us = time_us
        elif kind in PE_STATES:
            pe.since_us[kind] = time_us
        else:
            begin = BEGIN_OF_STATE[kind]
            pe.states_us[PE_STATES[begin]] += max(0, time_us - pe.since_us.pop(begin, time_us))

    def _send(self, pe: _Pe, text: str, line: int) -> None:
        numbers = self._numbers(text, 6, pe.path, line)
        if numbers is None:
            return
        _, entry, time_us, event, _, size = numbers
        # Between two executions, the runtime sends on behalf of the one before.
        sender = pe.done[-1] if pe.done else None
        size = min(max(size, 0), LARGEST_SIZE - 1)
        message = _Message(f"{pe.number}.{event}", pe.number, sender, time_us, size)
        self._messages.setdefault((event, entry), []).append(message)
        known = self._symbols.entries.get(entry)
        if sender is not None and known is not None and known.is_reduction:
            message.contributors = pe.done[pe.reduced.get(entry, 0) :]
            pe.reduced[entry] = len(pe.done)

    def _begin(self, pe: _Pe, text: str, line: int) -> None:
        numbers = self._numbers(text, 7, pe.path, line)
        if numbers is None:
            return
        kind, number, start_us, event, source, size, _ = numbers
        entry = self._symbols.entries.get(number)
        if entry is None:
            wrong = f"entry method {number} is not in {self._found.path.name}"
            self._found.bad(wrong, line, pe.path, _column(text, 2))
            return
        if pe.running is not None:
            pe.running.end_us = max(pe.running.start_us, start_us)
            self._counts[WITHOUT_END] += 1
        index = text.split()[8 : -1 - self._symbols.counters]
        chare: tuple[object, ...] | None = None
        if entry.is_array or any(word != "0" for word in index):
            chare = entry.chare, *index
        elif kind in TO_GROUP:
            chare = entry.chare, pe.number
        begun = _Execution(
            pe.number, line, number, entry, start_us, source, event, max(size, 0), chare
        )
        pe.running = begun
        if entry.kernel != RUNTIME_ENTRY:
            _continue(pe.done, begun)
            pe.done.append(begun)

    def _end(self, pe: _Pe, text: str, line: int) -> None:
        numbers = self._numbers(text, 3, pe.path, line)
        if numbers is None:
            return
        if pe.running is None:
            self._counts[WITHOUT_BEGINNING] += 1
            return
        start_us, end_us = pe.running.start_us, numbers[2]
        if end_us < start_us:
            wrong = f"an execution ends ({end_us} us) before it begins ({start_us} us)"
            self._found.bad(wrong, line, pe.path, _column(text, 3))
        pe.running.end_us, pe.running = max(start_us, end_us), None

    def add_tasks(self) -> None:
        """Add the executions to the records, with what they wait for."""
        found = self._found
        everything = [each for pe in self._pes for each in pe.done]
        everything.sort(key=lambda each: (each.start_us, each.end_us))
        last: dict[tuple[object, ...], _Execution] = {}
        unknown = 0
        for each in everything:
            each.message = self._message_of(each)
            if each.chare is None:
                unknown += each.event != LOCAL_EVENT
                continue
            if each.chare in last:
                each.after.append(last[each.chare])
            last[each.chare] = each
        received = dict.fromkeys(each.message for each in everything if each.message)
        for each in everything:
            message = each.message
            if message and message.sender and each.start_us < message.sender.end_us:
                message.sender.cuts_us.append(message.time_us)
        cut = [each for each in everything if each.cuts_us]
        for each in cut:
            each.cuts_us = sorted(set(each.cuts_us))
        sent: dict[str, list[_Message]] = {}
        for message in received:
            if message.sender is not None:
                piece = bisect_left(message.sender.cuts_us, message.time_us)
                sent.setdefault(message.sender.name(piece), []).append(message)
        workers = self._workers()
        for each in everything:
            self._add(each, workers[each.pe], sent)
        found.worker_states = {
            workers[pe.number]: {name: us * MICROSECOND_S for name, us in pe.states_us.items()}
            for pe in self._pes
            if pe.states_us
        }
        if cut:
            found.note(
                f"{counted(len(cut), 'execution')} sent messages that were executed before their"
                " end: they are cut there, and what follows is of kernel 'KERNEL (resumed)'"
            )
        if unknown:
            found.note(
                f"{unknown} of {counted(len(everything), 'execution')} are of chares without an"
                " index, which the logs do not tell apart: they wait for their message, not for"
                " what their chare did before"
            )
        self._note_counts()

    def _message_of(self, each: _Execution) -> _Message | None:
        """Return the message that began an execution; count those that the logs do not have."""
        if each.event == LOCAL_EVENT:
            return None
        some = [
            message
            for message in self._messages.get((each.event, each.number), ())
            if message.time_us <= each.start_us
        ]
        own = [message for message in some if message.pe == each.source]
        if some and not own:
            self._counts[WRONG_SENDER] += 1
        elif not some:
            self._counts[NO_MESSAGE] += 1
        return max(own or some, key=lambda message: message.time_us, default=None)

    def _workers(self) -> list[str]:
        per_node, nodes = self._symbols.pes_per_node, self._symbols.nodes
        places = []
        for pe in range(self._symbols.pes):
            # Threads that only communicate, one per node, have the numbers after all PEs.
            communicates = pe >= per_node * nodes
            node = pe - per_node * nodes if communicates else pe // per_node
            places.append(("comm" if communicates else "cpu", node, f"PE {pe}"))
        names = self._found.named_workers(places, nodes=nodes > 1)
        self._found.known_workers.update(names)
        return names

    def _add(self, each: _Execution, worker: str, sent: dict[str, list[_Message]]) -> None:
        """Add the tasks of an execution, and the reductions that it ends."""
        found, message = self._found, each.message
        before = {one.name() for one in each.after if one.end_us <= each.start_us}
        submitted_us = self._pes[each.pe].begin_us
        read = []
        if message is not None and message.sender is None:
            submitted_us = message.time_us
        elif message is not None:
            before.add(message.sending_task())
            read = [message]
        times = [each.start_us, *each.cuts_us, each.end_us]
        for piece in range(len(times) - 1):
            name = each.name(piece)
            found.add(
                name,
                each.entry.kernel + (" (resumed)" if piece else ""),
                worker,
                times[piece] * MICROSECOND_S,
                times[piece + 1] * MICROSECOND_S,
                line=each.line,
                submitted_s=submitted_us * MICROSECOND_S,
                before=" ".join(sorted(before)),
                parameters={} if piece or each.event == LOCAL_EVENT else {"bytes": each.size},
            )
            written = sent.get(name, [])
            self._access(read, [one for one in written if one.contributors is None])
            before, read = {name}, []
            for one in written:
                if one.contributors is not None:
                    self._add_reduction(one, one.contributors, name, worker, times[piece + 1])

    def _access(self, read: list[_Message], written: list[_Message]) -> None:
        """Let the task added last receive and send messages."""
        both = [*read, *written]
        self._found.accesses(
            [f"message {message.name}" for message in both],
            ["R"] * len(read) + ["W"] * len(written),
            [str(message.size) for message in both],
        )

    def _add_reduction(
        self,
        message: _Message,
        contributors: list[_Execution],
        sender: str,
        worker: str,
        time_us: int,
    ) -> None:
        """Add the end of a reduction on a PE, after the last execution of each of its chares."""
        last = {each.chare: each for each in contributors if each.end_us <= time_us}
        last.pop(None, None)
        before = {each.name() for each in last.values()} | {sender}
        time_s = time_us * MICROSECOND_S
        self._found.add(
            message.sending_task(), "reduction", worker, time_s, time_s, line=0,
            submitted_s=self._pes[message.pe].begin_us * MICROSECOND_S,
            before=" ".join(sorted(before)),
        )  # fmt: skip
        self._access([], [message])
        self._reductions += 1

    def _note_counts(self) -> None:
        found = self._found
        if self._reductions:
            found.note(
                f"{counted(self._reductions, 'reduction')} on a PE: tasks without duration, after"
                " all that it executed since the last one, as the logs do not tell who contributed"
            )
        for text, count in self._counts.items():
            found.note(f"{counted(count, 'execution')} {text}")
        if self._unused:
            some = [f"{count} {name}" for name, count in self._unused.items()]
            found.note(f"not used: {listed(some, len(some))}")
        found.note("messages have their sizes, chares have none: to move one costs nothing")

    def _numbers(self, text: str, count: int, path: Path, line: int) -> list[int] | None:
        """Return the first numbers after the type of an event; None if they are malformed."""
        words = text.split(None, count + 1)[1 : count + 1]
        for place, word in enumerate(words, 1):
            digits = word.removeprefix("-")
            if not (digits.isascii() and digits.isdecimal() and len(digits) <= MAX_DIGITS):
                wrong = f"got '{word:.20}'; legal: a whole number of up to {MAX_DIGITS} digits"
                self._found.bad(wrong, line, path, _column(text, place))
                return None
        if len(words) < count:
            wrong = f"got {len(words)} numbers after the type; legal: {count} or more"
            self._found.bad(wrong, line, path, len(text) + 1)
            return None
        return [int(word) for word in words]


def _continue(done: list[_Execution], begun: _Execution) -> None:
    """Let an execution that goes on with what ran before it on its PE wait for that."""
    if not done:
        return
    if begun.event == LOCAL_EVENT:
        begun.after.append(done[-1])
        return
    # An execution that a local call interrupted is logged again after it, with the same message.
    for earlier in done[-MAX_NESTED:]:
        if earlier.began_with() == begun.began_with():
            begun.after += [earlier, done[-1]]
            begun.event = LOCAL_EVENT
            return


def _column(text: str, place: int) -> int:
    """Return the column, from 1, of a word of a line, by its place from 0."""
    return (
        next(word.start() for at, word in enumerate(re.finditer(r"\S+", text)) if at == place) + 1
    )


def _table_of(path: Path) -> Path:
    """Return the symbol table in a folder, or beside a log."""
    if is_folder(path):
        tables = sorted(path.glob("*.sts"))
        if len(tables) != 1:
            names = ", ".join(each.name for each in tables[:4])
            raise InputError(f"{path}: {len(tables)} symbol tables ({names}); name one of them")
        return tables[0]
    log = _LOG.fullmatch(path.name)
    if log is None:
        return path
    for folder in (path.parent, path.parent.parent):
        if exists(folder / f"{log[1]}.sts"):
            return folder / f"{log[1]}.sts"
    raise InputError(f"{path}: no symbol table {log[1]}.sts beside it")


def _symbols(table: Path) -> _Symbols:
    """Return the contents of a symbol table."""
    settings: dict[str, tuple[float, int, int]] = {}
    chares: dict[int, tuple[str, bool]] = {}
    entries: dict[int, _Entry] = {}
    for line, text in enumerate(read_text(table).splitlines(), 1):
        words = text.split()
        if len(words) > 1 and words[0] in NUMERIC_SETTINGS:
            numbers = _numbers_of(table, line, words[1:3])
            settings[words[0]] = numbers[0], int(numbers[-1]), line
        elif words[:2] == ["ENTRY", "CHARE"] and len(words) > 5:
            number, chare, _ = map(int, _numbers_of(table, line, [words[2], *words[-2:]]))
            entries[number] = _entry(" ".join(words[3:-2]).strip('"'), chare, chares)
        elif words[:1] == ["CHARE"] and len(words) > 2:
            # Before version 8, dimensions were not told.
            has_dimensions = len(words) > 3 and NUMBER.fullmatch(words[-1]) is not None
            numbers = _numbers_of(table, line, [words[1], words[-1] if has_dimensions else "-1"])
            name = " ".join(words[2:-1] if has_dimensions else words[2:])
            chares[int(numbers[0])] = name.strip('"').removeprefix("::"), numbers[1] >= 1
    if "VERSION" not in settings:
        raise InputError(f"{table}:1: no line VERSION; legal: a symbol table for Projections")
    version, _, line = settings["VERSION"]
    if version < OLDEST_VERSION:
        raise InputError(
            f"{table}:{line}: version {version:g} of the logs; legal: {OLDEST_VERSION:g} and newer"
            " (Charm++ since 6.6)"
        )
    pes, _, line = settings.get("PROCESSORS", (0.0, 0, 1))
    if not 1 <= pes <= MAX_PES:
        raise InputError(f"{table}:{line}: PROCESSORS: got {pes:g}; legal: 1 to {MAX_PES}")
    # Without threads, each PE is a process, and the table does not tell which share a node.
    per_node, nodes, _ = settings.get("SMPMODE", (pes, 1, 0))
    if not 1 <= per_node * nodes <= pes:
        per_node, nodes = pes, 1
    counters = int(settings.get("TOTAL_PAPI_EVENTS", (0.0, 0, 0))[0])
    return _Symbols(int(pes), int(per_node), nodes, counters, entries)


def _entry(signature: str, chare: int, chares: Mapping[int, tuple[str, bool]]) -> _Entry:
    """Return an entry method; blocks of SDAG have the name of their chare already."""
    owner, is_array = chares.get(chare, ("", False))
    name = signature.partition("(")[0]
    is_own = not owner or name.startswith((f"{owner}_", f"{owner}::")) or name == RUNTIME_ENTRY
    return _Entry(
        name if is_own else f"{owner}::{name}", chare, is_array, REDUCTION_MESSAGE in signature
    )


def _numbers_of(table: Path, line: int, words: list[str]) -> list[float]:
    for word in words:
        if NUMBER.fullmatch(word) is None:
            raise InputError(f"{table}:{line}: got '{word:.20}'; legal: a number")
    return [float(word) for word in words]


def _log_of(table: Path, pe: int) -> Path:
    """Return the log of a PE, beside the symbol table or in one of the folders for logs."""
    name = table.name.removesuffix(".sts")
    folders = [table.parent, *sorted(table.parent.glob(f"{name}.projdir.*"))]
    for folder in folders:
        for log in (folder / f"{name}.{pe}.log", folder / f"{name}.{pe}.log.gz"):
            if not exists(log):
                continue
            with reading(log) as file:
                head = file.read(HEAD_BYTES)
            if not head_text(head).startswith(LOG_BEGINNING):
                raise InputError(
                    f"{log}:1: does not begin with {LOG_BEGINNING}; legal: a log in text,"
                    " compressed or not, which the program writes without +binary-trace"
                )
            return log
    raise InputError(
        f"{table}: no log of PE {pe} beside it; legal: {name}.{pe}.log or {name}.{pe}.log.gz, which"
        " a program linked with -tracemode projections writes"
    )


def _is_projections(path: Path, head: bytes) -> bool:
    if not head and is_folder(path):
        return any(path.glob("*.sts"))
    return head_text(head).startswith((TABLE_BEGINNING, LOG_BEGINNING))


PROJECTIONS: Final = Format(
    summary="Logs of Charm++ for Projections: NAME.sts with NAME.0.log and so on.",
    suffixes=(".sts",),
    recognises=_is_projections,
    reads_trace=read_projections,
)
