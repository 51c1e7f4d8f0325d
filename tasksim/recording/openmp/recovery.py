"""Recovery of recordings of OpenMP programs that were cut short, from their raw traces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tasksim.base.arguments import path_of
from tasksim.recording.openmp.data_map import data_map
from tasksim.recording.openmp.names import renaming
from tasksim.recording.openmp.openmp_recording import OpenMPRecording
from tasksim.recording.openmp.raw_trace import TRACE_FOLDER, RawTrace
from tasksim.recording.openmp.trace import read_trace

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["recover_openmp"]


def recover_openmp(folder: str | Path, *, kernels: Any = None, data: Any = None) -> OpenMPRecording:
    """Return the recording of an OpenMP program that was cut short, from its raw trace.

    Parameters
    ----------
    folder : str or Path
        Folder of the raw trace, ``.tasksim-openmp-*``; it is not changed.
    kernels : mapping of str to str, or path, optional
        New names of kernels, as for :func:`record_openmp`.
    data : mapping of str to mapping, or path, optional
        Description of its data, as for :func:`record_openmp`.

    Returns
    -------
    OpenMPRecording
        Its ``ended`` is None, as the end of the program is unknown.

    Raises
    ------
    InputError
        If there is no raw trace in *folder*, or it is damaged.

    See Also
    --------
    record_openmp : Record a program.

    Examples
    --------
    >>> recover_openmp("missing")
    Traceback (most recent call last):
    tasksim.base.errors.InputError: missing: no such folder; legal: a folder .tasksim-openmp-* \
that 'tasksim record' has left
    """
    names, described = renaming(kernels), data_map(data)
    raw = RawTrace.read(path_of(folder, "folder"))
    running = raw.is_running()
    recording = OpenMPRecording(
        raw.program, read_trace(raw.folder / TRACE_FOLDER), None, names, described
    )
    if running:
        recording.add_note(
            f"{raw.program.name} still runs (process {raw.process}): the recording ends now"
        )
    return recording
