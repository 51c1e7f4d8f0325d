"""Readers of counters that other tools have counted: perf, LIKWID, PAPI.

:func:`~tasksim.formats.counters.read.read_counts` finds out the format.
"""
