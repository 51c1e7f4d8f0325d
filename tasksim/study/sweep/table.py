"""Table of a study's results: a pandas table with one row per cell."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tasksim.study.sweep.columns import HIDDEN
from tasksim.study.sweep.store import read_cells

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["axes_of", "read_table"]


def read_table(folder: str | Path) -> pd.DataFrame:
    """Return the table of the study in *folder*: its computed cells, in their order.

    Parameters
    ----------
    folder : str or Path
        Output folder of ``tasksim study run``.

    Returns
    -------
    DataFrame
        Columns ``cell, graph, platform, scheduler, seed``, then one per setting, by its path, then
        ``status, error, makespan_s, lower_bound_s, critical_path_s, tasks, busy_share,
        moved_bytes, engine, seconds, draw_seed`` and the metrics. Columns of whole numbers with
        missing values have the type ``Int64``.

    Raises
    ------
    InputError
        If there is no study, or one of a newer version.

    See Also
    --------
    tasksim.study.sweep.studies.run_study : Run a study.
    """
    import pandas as pd
    import pyarrow as pa

    found = read_cells(Path(folder)).drop_columns(list(HIDDEN))
    table: pd.DataFrame = found.to_pandas(
        types_mapper={pa.int64(): pd.Int64Dtype()}.get, use_threads=False
    )
    for name in table.columns:
        if table[name].dtype == pd.Int64Dtype() and not table[name].isna().any():
            table[name] = table[name].astype("int64")
    return table


def axes_of(table: pd.DataFrame) -> list[str]:
    """Return the axes of a study's *table*: the columns of labels with several values."""
    names = list(table.columns)
    before = names[1 : names.index("status")]
    return [name for name in before if table[name].nunique(dropna=False) > 1]
