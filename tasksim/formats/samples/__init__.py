"""Readers of samples, measured durations of a kernel, in files of many tools.

:func:`read_samples` finds out the format.
"""

from __future__ import annotations

from tasksim.formats.samples.read import read_samples, samples_in

__all__ = ["read_samples", "samples_in"]
