"""Files beside a Paraver trace: labels of its values (.pcf), names of its threads (.row)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tasksim.base.files import is_file
from tasksim.formats.traces.textlines import lines

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.formats.traces.records import Records

__all__ = ["Labels", "beside", "read_labels", "read_thread_names"]

_VALUE: Final = re.compile(r"(-?\d{1,20})\s+(.*)")
_TYPE: Final = re.compile(r"\d{1,20}\s+(\d{1,20})\s+(.*)")
_LEVEL: Final = re.compile(r"LEVEL\s+(\S+)\s+SIZE\s+(\d{1,9})", re.IGNORECASE)


class Labels:
    """Labels of a trace.

    Attributes
    ----------
    types : dict of int -> str
        Names of types of events.
    values : dict of int -> dict of int -> str
        Per type of events, names of its values.
    states : dict of int -> str
        Names of states.
    """

    def __init__(self) -> None:
        self.types: dict[int, str] = {}
        self.values: dict[int, dict[int, str]] = {}
        self.states: dict[int, str] = {}

    def of(self, kind: int, value: int, otherwise: str) -> str:
        """Return the name of a value of a type of events, or *otherwise* and the value."""
        return self.values.get(kind, {}).get(value) or f"{otherwise} {value}"


def beside(path: Path, suffix: str) -> Path:
    """Return the path of the file that belongs to a trace.

    >>> from pathlib import Path
    >>> beside(Path("runs/chol.prv.gz"), ".pcf").name
    'chol.pcf'
    """
    plain = path.with_suffix("") if path.suffix == ".gz" else path
    return plain.with_suffix(suffix)


def read_labels(found: Records) -> Labels:
    """Return the labels in the ``.pcf`` beside a trace; note in *found* if there is none."""
    path = beside(found.path, ".pcf")
    labels = Labels()
    if not is_file(path):
        found.note(f"no {path.name}: kernels have numbers instead of names")
        return labels
    section, types = "", list[int]()
    for _, line in lines(path):
        text = line.strip()
        word = text.partition(" ")[0]
        if not text or word == "STATES" or (word.isupper() and "_" in word):
            section, types = word, []
        elif text == "VALUES":
            section = "VALUES" if types else ""
        elif section == "EVENT_TYPE" and (one := _TYPE.fullmatch(text)):
            types.append(int(one[1]))
            labels.types[int(one[1])] = one[2].strip()
        elif section in ("VALUES", "STATES") and (one := _VALUE.fullmatch(text)):
            tables = [labels.values.setdefault(kind, {}) for kind in types]
            for table in tables if section == "VALUES" else [labels.states]:
                table[int(one[1])] = one[2].strip()
    return labels


def read_thread_names(found: Records) -> list[str]:
    """Return the names of all threads in the ``.row`` beside a trace, if there are any."""
    path = beside(found.path, ".row")
    if not is_file(path):
        return []
    names, left = [], 0
    for _, line in lines(path):
        level = _LEVEL.match(line.strip())
        if level is not None:
            left = int(level[2]) if level[1].upper() == "THREAD" else 0
        elif left:
            left -= 1
            names.append(line.strip())
    return names
