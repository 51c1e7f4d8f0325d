"""Paraver's traces, by BSC's Extrae, OmpSs-2 and ovni, as tasks and their dependencies."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.formats.traces.paraver.dialects import CREATION_TAG, DIALECTS
from tasksim.formats.traces.paraver.events import Events, stretches_of_events
from tasksim.formats.traces.paraver.header import Header, parse_header
from tasksim.formats.traces.paraver.labels import Labels, read_labels, read_thread_names
from tasksim.formats.traces.records import Records
from tasksim.formats.traces.stretches import LONGEST_NS, NO_STRETCH, Stretches
from tasksim.formats.traces.textlines import lines

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tasksim.formats.traces.paraver.dialects import Dialect
    from tasksim.formats.traces.recorded_trace import RecordedTrace

__all__ = ["read_paraver"]

STATE, EVENT, COMMUNICATION = "1", "2", "3"
STATE_FIELDS: Final = 8
EVENT_FIELDS: Final = 8
"""Smallest number of fields of a record of events: one type and its value."""
COMMUNICATION_FIELDS: Final = 15
TIME_PLACES: Final = {STATE: (5, 6), EVENT: (5,), COMMUNICATION: (5, 6, 11, 12)}
"""Positions of the times among the fields of each type of record."""
THREAD_PLACES: Final = {STATE: (2, 3, 4), EVENT: (2, 3, 4), COMMUNICATION: (2, 3, 4, 8, 9, 10)}
"""Positions of the numbers of applications, processes and threads."""
RUNNING_STATE: Final = 1
"""Number of the state of a thread in the program's own code, in all tools of BSC."""
IGNORED_PREFIXES: Final = ("#", "c:", "i:", "d:")
"""Prefixes of lines that are no records: comments, communicators, rare ones."""
COLLECTIVE_RECORD: Final = "4"
"""Record of a collective call among processes, in traces of tools before 2005."""
MIN_VALUE, MAX_VALUE = -(2**63), 2**63 - 1
"""Bounds of the stored values; larger ones, of unsigned 64 bits, wrap around."""
_ACCELERATORS: Final = ("cuda", "opencl", "hip", "gpu")
"""First words of the names of threads that stand for accelerators."""


def read_paraver(path: Path, skip_bad: bool = False) -> RecordedTrace:
    """Return the run in a Paraver trace, with the labels in the ``.pcf`` and ``.row`` beside it.

    Tasks come from the first of these that the trace has: events of ovni, of Nanos6, of OmpSs, of
    OpenMP tasks, of OpenMP's parallel functions, of user functions; or the state Running.
    Communications from an ended task to the beginning of another are dependencies.

    Parameters
    ----------
    path : Path
        A ``.prv`` file, compressed or not.
    skip_bad : bool, default False
        Whether malformed records are skipped and counted.

    Raises
    ------
    InputError
        ``file:line:column: what is wrong``.
    """
    from tasksim.formats.traces.recorded_trace import assembled

    found = Records(path, skip_bad=skip_bad)
    labels = read_labels(found)
    possible = [
        each
        for each in DIALECTS
        if not each.label or labels.types.get(each.task or 0, "").startswith(each.label)
    ]
    content = _Content(found, possible)
    content.read()
    workers = content.name_workers(read_thread_names(found))
    stretches = _stretches(found, content, labels, workers)
    stretches.sort()
    _add_communications(found, content, stretches)
    stretches.add_to(found)
    return assembled(found)


class _Content:
    """Records of a trace that may concern tasks, in columns of numbers.

    Rows are its threads, in the order of their first records.
    """

    def __init__(self, found: Records, possible: list[Dialect]) -> None:
        self._found = found
        self.possible = possible
        self._known = {str(kind): kind for each in possible for kind in each.types()}
        self._telling = {kind for each in possible for kind in (*each.kernels, each.task)}
        self._has_tasks = False
        """Whether events concern tasks, so that states do not count."""
        self.header = Header(0, 1)
        self.rows: dict[str, int] = {}
        self.last_ns = 0
        self.other_events = self.other_states = self.collectives = 0
        self.events = tuple(array("q") for _ in range(5))
        self.states = tuple(array("q") for _ in range(5))
        self.communications = tuple(array("q") for _ in range(6))

    def read(self) -> None:
        """Read the file."""
        readers = {STATE: self._state, EVENT: self._event, COMMUNICATION: self._communication}
        for number, line in lines(self._found.path):
            if number == 1:
                self.header = parse_header(self._found, line)
                continue
            fields = line.split(":")
            reader = readers.get(fields[0])
            if reader is not None:
                reader(fields, number)
            elif fields[0] == COLLECTIVE_RECORD:
                self.collectives += 1
            elif line and not line.startswith(IGNORED_PREFIXES):
                legal = "1 (state), 2 (events), 3 (communication), c (communicator), # (comment)"
                self._found.bad(f"record: got '{line[:40]}'; legal: {legal}", number, column=1)

    def _event(self, fields: list[str], number: int) -> None:
        count = len(fields)
        if count < EVENT_FIELDS or count % 2:
            legal = "2:CPU:APPLICATION:PROCESS:THREAD:TIME:TYPE:VALUE[:TYPE:VALUE]..."
            self._found.bad(f"events of {count} fields; legal: {legal}", number, column=1)
            return
        for at in range(6, count, 2):
            kind = self._known.get(fields[at])
            if kind is None:
                self.other_events += 1
                continue
            try:
                row, time_ns = self._row(fields, 2), self._time(fields[5])
                value = int(fields[at + 1])
            except ValueError:
                self._no_number(fields, number)
                return
            if value > MAX_VALUE:
                value -= 2**64
            if not MIN_VALUE <= value <= MAX_VALUE:
                self._found.bad(
                    f"value: got '{fields[at + 1][:40]}'; legal: 64 bits", number,
                    column=_column(fields, at + 1),
                )  # fmt: skip
                return
            self._has_tasks = self._has_tasks or (value != 0 and kind in self._telling)
            self._add(self.events, (row, time_ns, kind, value, number))

    def _state(self, fields: list[str], number: int) -> None:
        if len(fields) != STATE_FIELDS:
            legal = "1:CPU:APPLICATION:PROCESS:THREAD:BEGIN:END:STATE"
            self._found.bad(f"a state of {len(fields)} fields; legal: {legal}", number, column=1)
            return
        if self._has_tasks:
            self.other_states += 1
            return
        try:
            row, state = self._row(fields, 2), int(fields[7])
            begin_ns, end_ns = self._time(fields[5]), self._time(fields[6])
        except ValueError:
            self._no_number(fields, number)
            return
        if end_ns < begin_ns:
            self._found.bad(
                f"a state ends ({fields[6]}) before it begins ({fields[5]})", number,
                column=_column(fields, 6),
            )  # fmt: skip
        elif state != RUNNING_STATE:
            self.other_states += 1
        else:
            self._add(self.states, (row, begin_ns, end_ns, state, number))

    def _communication(self, fields: list[str], number: int) -> None:
        if len(fields) != COMMUNICATION_FIELDS:
            legal = (
                "3:CPU:APPLICATION:PROCESS:THREAD:SEND:SEND:CPU:APPLICATION:PROCESS:THREAD:RECEIVE:"
                "RECEIVE:SIZE:TAG"
            )
            self._found.bad(
                f"a communication of {len(fields)} fields; legal: {legal}", number, column=1
            )
            return
        try:
            sent_ns, received_ns = self._time(fields[5]), self._time(fields[11])
            source, target = self._row(fields, 2), self._row(fields, 8)
            tag = int(fields[14]) & 0xFFFFFFFF
        except ValueError:
            self._no_number(fields, number)
            return
        is_within = fields[2:4] == fields[8:10]  # one process
        self._add(self.communications, (source, sent_ns, target, received_ns, tag, is_within))

    def _time(self, text: str) -> int:
        """Return a time in ns; raise ValueError for anything else."""
        time_ns = int(text) * self.header.scale
        if not 0 <= time_ns <= LONGEST_NS:
            raise ValueError
        self.last_ns = max(self.last_ns, time_ns)
        return time_ns

    def _row(self, fields: list[str], first: int) -> int:
        """Return the row of a thread; raise ValueError for malformed numbers."""
        text = ":".join(fields[first : first + 3])
        row = self.rows.get(text)
        if row is None:
            if not all(_is_number(word) for word in fields[first : first + 3]):
                raise ValueError
            row = self.rows[text] = len(self.rows)
        return row

    @staticmethod
    def _add(columns: tuple[array[int], ...], values: Sequence[int]) -> None:
        for column, value in zip(columns, values, strict=True):
            column.append(value)

    def _no_number(self, fields: list[str], line: int) -> None:
        """Report the first illegal field."""
        latest = LONGEST_NS // self.header.scale
        for at, text in enumerate(fields):
            if at in TIME_PLACES[fields[0]]:
                legal = f"a time, 0 to {latest}"
                right = _is_whole(text) and 0 <= int(text) <= latest
            elif at in THREAD_PLACES[fields[0]]:
                legal, right = "a number from 0", _is_number(text)
            else:
                legal, right = "a whole number", _is_whole(text)
            if not right:
                self._found.bad(
                    f"got '{text[:40]}'; legal: {legal}", line, column=_column(fields, at)
                )
                return

    def name_workers(self, names: list[str]) -> list[str]:
        """Return a name for each row, like those of workers of a platform: cpu0, node1/cuda0.

        *names* are those of all threads, and decide between processors and accelerators. The
        records get architectures and nodes, and a note on the rows.
        """
        found, header = self._found, self.header
        several = header.nodes > 1
        known = []
        by_number = sorted(
            (tuple(map(int, row.split(":"))), place) for row, place in self.rows.items()
        )
        for (application, process, thread), _ in by_number:
            number = header.number(application, process, thread)
            own = names[number] if number is not None and number < len(names) else ""
            own = own or f"THREAD {application}.{process}.{thread}"
            kind = next((word for word in _ACCELERATORS if own.lower().startswith(word)), "cpu")
            node = max(header.node(application, process) - 1, 0) if several else 0
            known.append((kind, node, own))
        workers = [""] * len(self.rows)
        for (_, place), name in zip(
            by_number, found.named_workers(known, nodes=several), strict=True
        ):
            workers[place] = name
        return workers


def _is_whole(text: str) -> bool:
    """Return whether *text* is a whole number, perhaps with a sign."""
    try:
        int(text)
    except ValueError:
        return False
    return True


def _is_number(text: str) -> bool:
    """Return whether *text* is the number of a thread: digits, nine at most."""
    return text.isascii() and text.isdigit() and len(text) < 10


def _column(fields: list[str], at: int) -> int:
    """Return the column, from 1, at which a field begins."""
    return sum(len(field) + 1 for field in fields[:at]) + 1


def _stretches(found: Records, content: _Content, labels: Labels, workers: list[str]) -> Stretches:
    """Return the stretches of tasks, and note what counts as a task."""
    events = Events(*(np.array(column, np.int64) for column in content.events))
    present = set(np.unique(events.kind[events.value != 0]).tolist())
    dialect = next(
        (each for each in content.possible if present & {*each.kernels, each.task}), None
    )
    stretches = Stretches(workers)
    others, states = content.other_events, content.other_states
    if dialect is None:
        others += len(events.kind)
        label = labels.states.get(RUNNING_STATE, "Running")
        found.note(
            f"the trace has no events of tasks: each stretch of state '{label}' counts as a task"
        )
        for number, (row, begin, end, _, line) in enumerate(zip(*content.states, strict=True)):
            stretches.add(f"state{number}", label, row, (begin, end), line, 0)
        why = "in these states threads run nothing of the program"
    else:
        others += int((~np.isin(events.kind, list(dialect.types()))).sum())
        states += len(content.states[0])
        found.note(f"tasks are the {dialect.name}")
        end_ns = max(content.last_ns, content.header.end_ns)
        stretches_of_events(found, events, dialect, labels, stretches, end_ns)
        why = "events of tasks count instead"
    if others:
        found.note(f"{others} events of other types are not about tasks, and are not used")
    if states:
        found.note(f"{states} states are not used: {why}")
    if content.collectives:
        found.note(f"{content.collectives} records of collective calls (type 4) are not used")
    return stretches


def _add_communications(found: Records, content: _Content, stretches: Stretches) -> None:
    """Turn communications between stretches into dependencies and creations."""
    messages = unknown = 0
    rows = zip(*content.communications, strict=True)
    for source, sent_ns, target, received_ns, tag, is_within in rows:
        after = stretches.begun(target, received_ns)
        # A message sent at the moment when its receiver begins belongs to the stretch before.
        at_once = after != NO_STRETCH and sent_ns == received_ns
        before = stretches.last(source, sent_ns, earlier=at_once)
        if not is_within:
            messages += 1
        elif after == NO_STRETCH or (tag != CREATION_TAG and before in (NO_STRETCH, after)):
            unknown += 1
        elif tag != CREATION_TAG and stretches.ended_before(before, after):
            stretches.depends(before, after)
        else:
            stretches.submitted(stretches.task_of(after), sent_ns)
    if messages:
        found.note(
            f"{messages} messages between processes are not used: the tasks that waited for them"
            " are unknown"
        )
    if unknown:
        found.note(
            f"{unknown} communications do not lead to the beginning of a task, and are not used"
        )
