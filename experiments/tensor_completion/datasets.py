"""Durations of an application, part of which no model learns from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from tasksim import InputError, Samples

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = [
    "DURATION",
    "Dataset",
    "encoded",
    "metrics",
    "mlogq",
    "read_dataset",
    "samples_of",
    "write_means",
]

DURATION: Final = "duration_s"
TEST_SHARE: Final = 0.2
"""Share of the configurations that models are judged by."""
MIN_TESTS: Final = 8
"""Smallest number of those: fewer say nothing."""


@dataclass(frozen=True)
class Dataset:
    """Configurations of an application with their durations, in two parts."""

    train: pd.DataFrame
    test: pd.DataFrame

    def samples(self, count: int) -> Samples:
        """Return the first *count* configurations to learn from."""
        return samples_of(self.train.head(count))

    def numbers(self, table: pd.DataFrame) -> Floats:
        """Return the parameters of *table*, categories as numbers of those to learn from."""
        return encoded(table, samples_of(self.train))

    @property
    def measured_s(self) -> Floats:
        """Durations that models are judged by."""
        return self.test[DURATION].to_numpy(dtype=np.float64)


def samples_of(table: pd.DataFrame) -> Samples:
    """Return a table as samples."""
    columns: dict[str, Any] = {
        name: table[name].tolist()
        if table[name].dtype.kind not in "iuf"
        else table[name].to_numpy()
        for name in table.columns
    }
    return Samples.from_columns(columns)


def encoded(table: pd.DataFrame, samples: Samples) -> Floats:
    """Return the parameters of *table* as numbers, categories as *samples* number them."""
    columns = []
    for name in samples.names:
        known = samples.categories.get(name)
        column = (
            table[name] if known is None else table[name].map({c: i for i, c in enumerate(known)})
        )
        columns.append(column.to_numpy(dtype=np.float64))
    return np.column_stack(columns)


def mlogq(predicted_s: Floats, measured_s: Floats) -> float:
    """Return the mean of the absolute logarithm of predicted / measured, the paper's error.

    >>> round(mlogq(np.array([2.0, 0.5]), np.array([1.0, 1.0])), 4)
    0.6931
    """
    return float(np.abs(np.log(np.maximum(predicted_s, 1e-16) / measured_s)).mean())


def metrics(predicted_s: Floats, measured_s: Floats) -> dict[str, float]:
    """Return the seven metrics of the paper's table 1, each a mean; MAE and MSE in s and s^2.

    >>> found = metrics(np.array([2.0]), np.array([1.0]))
    >>> found["MAPE"], found["SMAPE"].__round__(4), found["LGMAPE"]
    (1.0, 0.6667, 0.0)
    """
    off, quotient = np.abs(predicted_s - measured_s), np.log(predicted_s / measured_s)
    # A prediction that is right to the last bit has no logarithm of its error.
    relative = np.maximum(off / measured_s, 1e-16)
    return {
        "MAPE": float(relative.mean()),
        "MAE": float(off.mean()),
        "MSE": float((off**2).mean()),
        "SMAPE": float((2 * off / (predicted_s + measured_s)).mean()),
        "LGMAPE": float(np.log(relative).mean()),
        "MLogQ": float(np.abs(quotient).mean()),
        "MLogQ2": float((quotient**2).mean()),
    }


def write_means(table: pd.DataFrame, path: Path, parameters: Mapping[str, Any]) -> int:
    """Write the mean duration of each configuration in random order; return how many there are."""
    means = table.groupby(list(parameters), as_index=False, sort=True)[DURATION].mean()
    means = means.sample(frac=1.0, random_state=0)
    means.to_csv(path, index=False)
    return len(means)


def read_dataset(path: Path, tests: int) -> Dataset:
    """Return the configurations of a file; the last of them, at most *tests*, are for judging.

    Raises
    ------
    InputError
        If there are too few.
    """
    table = pd.read_csv(path)
    count = min(tests, int(TEST_SHARE * len(table)))
    if count < MIN_TESTS:
        raise InputError(
            f"{path.name}: {len(table)} configurations are too few to judge models by; legal: "
            f"{int(MIN_TESTS / TEST_SHARE)} or more: measure longer (--seconds), or draw more"
        )
    return Dataset(table.iloc[:-count], table.iloc[-count:])
