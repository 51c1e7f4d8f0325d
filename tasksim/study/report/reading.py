"""Reader of a report's input, the folder of a study or a table as CSV."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from typing import TYPE_CHECKING

from tasksim.base.errors import InputError
from tasksim.base.files import is_folder, read_text
from tasksim.study.report.table import REQUIRED_COLUMNS, StudyTable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd

    from tasksim.base.progress import ShareProgress

__all__ = ["read_study_table"]

_TEXT_COLUMNS = ("cell", "graph", "platform", "scheduler", "status", "error", "engine")


def read_study_table(
    path: Path,
    *,
    tight: bool = False,
    best: Sequence[Path] = (),
    progress: ShareProgress = lambda _what, _share: None,
    trust: bool = False,
) -> StudyTable:
    """Return the table of a study: its computed cells.

    Parameters
    ----------
    path : Path
        The output folder of ``tasksim study run``, which may still be running; or a CSV file with
        the same columns.
    tight : bool, default False
        Whether bounds become the mixed bound of areas, paths, windows and copies.
    best : sequence of Path, default ()
        Folders of results of :func:`tasksim.optimize`, for the distance to the best known.
    progress : callable, optional
        Called with a message and the share of bounds and plans that is done.
    trust : bool, default False
        Whether to import what cells name as ``MODULE:NAME`` if they are simulated again.

    Returns
    -------
    StudyTable

    Raises
    ------
    InputError
        If *path* is neither, if columns are missing, or if there are no rows; if *tight* or
        *best* is given for a CSV file, which does not say what its cells ask, or a plan of *best*
        fits no cell.

    See Also
    --------
    tasksim.study.report.findings.examine : Analyse the table.
    """
    if not is_folder(path):
        try:
            found = StudyTable.of(_csv(path), name=path.stem)
        except InputError as error:
            message = str(error)
            placed = message if message.startswith(str(path)) else f"{path}: {message}"
            raise InputError(placed) from error
        if tight or best:
            raise InputError(f"{path} is a table; legal with --tight and --best: a study's folder")
        return found
    from tasksim.study.sweep.store import read_header, read_table

    header = read_header(path)
    frame = read_table(path)
    if tight or best:
        from tasksim.study.report.known import with_known

        frame = with_known(frame, path, tight=tight, best=best, progress=progress, trust=trust)
    table = StudyTable.of(frame, planned=header.cells, name=header.name, folder=str(path))
    return replace(table, trust=trust)


def _csv(path: Path) -> pd.DataFrame:
    """Return the table in a CSV file, with text columns unchanged even if they look numeric."""
    import pandas as pd

    text = read_text(path)
    try:
        # Only empty fields are missing values: a scheduler may well be called "NA".
        return pd.read_csv(
            StringIO(text),
            dtype=dict.fromkeys(_TEXT_COLUMNS, str),
            low_memory=False,
            keep_default_na=False,
            na_values={
                name: ["", "nan", "NaN", "inf", "-inf"] if name == "makespan_s" else [""]
                for name in (text.partition("\n")[0].strip().split(",") or REQUIRED_COLUMNS)
            },
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError) as error:
        raise InputError(f"is not a table as CSV: {str(error).strip()}") from None
