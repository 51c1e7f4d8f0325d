"""Table of a study: its cells in a pandas table, a row each, for whoever asks what they say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tasksim.study.sweep.columns import HIDDEN
from tasksim.study.sweep.store import read_cells

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["axes_of", "read_table"]


def read_table(folder: str | Path) -> pd.DataFrame:
    """Return the table of the study in *folder*, in the order of its cells, as far as it is done.

    Parameters
    ----------
    folder : str or Path
        Where ``tasksim study run`` has put it.

    Returns
    -------
    DataFrame
        Columns ``cell, graph, platform, scheduler, seed``, then one per setting, by its path, then
        ``status, error, makespan_s, lower_bound_s, critical_path_s, tasks, busy_share,
        moved_bytes, engine, seconds, draw_seed`` and the metrics. Whole numbers that may be
        missing are of the type ``Int64``.

    Raises
    ------
    InputError
        If there is no study, or one of a newer version.

    See Also
    --------
    tasksim.study.sweep.running.run_study : fills it.
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
    """Return the columns of a *table* along which its study goes: those with several values."""
    names = list(table.columns)
    before = names[1 : names.index("status")]
    return [name for name in before if table[name].nunique(dropna=False) > 1]
