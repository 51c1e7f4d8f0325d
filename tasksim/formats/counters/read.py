"""Reader of counters whatever the tool that has counted them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tasksim.base.errors import InputError
from tasksim.base.files import read_text
from tasksim.formats.counters.events import unused_events
from tasksim.formats.counters.likwid import is_likwid, read_likwid
from tasksim.formats.counters.papi import is_papi, read_papi
from tasksim.formats.counters.perfstat import is_perf_stat, read_perf_stat

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.formats.counters.events import Counted

__all__ = ["read_counts"]

READERS = ((is_papi, read_papi), (is_likwid, read_likwid), (is_perf_stat, read_perf_stat))
"""Test for a tool's output, and its reader; the most specific first."""


def read_counts(path: Path) -> Counted:
    r"""Return what ``perf stat -x,``, likwid-perfctr or PAPI has counted, from the file at *path*.

    A note names the events that make no counter.

    Raises
    ------
    InputError
        If it is of none of them, or ``file:line`` of what is wrong in it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "perf.csv")
    ...     _ = path.write_text("8250000,,instructions:u,3100000,100.00,2.1,insn per cycle\n")
    ...     counted = read_counts(path)
    >>> counted.events
    {'instructions:u': 8250000.0}
    """
    text = read_text(path)
    for recognises, read in READERS:
        if recognises(text):
            counted = read(text, path)
            unused = unused_events(counted.events)
            told = (f"not used: {', '.join(unused)}",) if unused else ()
            return replace(counted, notes=(*counted.notes, *told))
    raise InputError(
        f"{path}: no counters were found; legal: the output of 'perf stat -x,' or likwid-perfctr, "
        "or lines 'PAPI_TOT_INS: 8250000'"
    )
