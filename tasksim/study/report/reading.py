"""Reading of what is to be reported: the folder of a study, or a table as CSV."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

from tasksim.base.errors import InputError
from tasksim.base.files import is_folder, read_text
from tasksim.study.report.table import NEEDED, StudyTable

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

__all__ = ["read_study_table"]

_TEXTS = ("cell", "graph", "platform", "scheduler", "status", "error", "engine")


def read_study_table(path: Path) -> StudyTable:
    """Return the table of a study, as far as it is done.

    Parameters
    ----------
    path : Path
        The folder that ``tasksim study run`` has filled, or is filling; or a CSV file with the
        same columns.

    Returns
    -------
    StudyTable

    Raises
    ------
    InputError
        If there is nothing of the kind, columns lack, or there are no rows.

    See Also
    --------
    tasksim.study.report.findings.examine : what it says.
    """
    if not is_folder(path):
        try:
            return StudyTable.of(_csv(path), name=path.stem)
        except InputError as error:
            raise InputError(_with_place(path, str(error))) from error
    from tasksim.study.sweep.store import read_header
    from tasksim.study.sweep.table import read_table

    header = read_header(path)
    return StudyTable.of(read_table(path), planned=header.cells, name=header.name, folder=str(path))


def _csv(path: Path) -> pd.DataFrame:
    """Return the table in a CSV file: texts as they stand, also where they look like numbers."""
    import pandas as pd

    text = read_text(path)
    try:
        # What is empty is missing; a scheduler may well be called "NA".
        return pd.read_csv(
            StringIO(text),
            dtype=dict.fromkeys(_TEXTS, str),
            low_memory=False,
            keep_default_na=False,
            na_values={
                name: ["", "nan", "NaN", "inf", "-inf"] if name == "makespan_s" else [""]
                for name in (text.partition("\n")[0].strip().split(",") or NEEDED)
            },
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError) as error:
        raise InputError(f"is not a table as CSV: {str(error).strip()}") from None


def _with_place(path: Path, message: str) -> str:
    return message if message.startswith(str(path)) else f"{path}: {message}"
