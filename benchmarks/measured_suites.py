r"""Measured samples as suites: like those of model_suites.py, for models.py --measured FOLDER.

A folder is filled by `tasksim measure`, for example

    tasksim measure gemm m=32..2048:log n=32..2048:log k=32..2048:log \
        --repetitions 2 --rounds 7 --samples 5096 -o FOLDER/gemm.csv
    tasksim measure fmm particles=1000..60000:log height=3..5 group_size=4..64:log order=3..8 \
        --samples 60 --budget 20min -o FOLDER/fmm

Each file of samples in it, or in folders of it, is a suite. A configuration counts once, with the
median of its durations. A quarter of the configurations, 1000 at most, are kept for testing. Files
with fewer than 40 configurations are left out, with a message.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import InputError, unknown
from tasksim.formats.samples import read_samples
from tasksim.models.samples import Samples

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]

__all__ = ["MeasuredSuite", "measured_suites"]

TEST_SHARE, TEST_MOST = 4, 1000
"""A fourth of the configurations is for testing, and no more than this."""
EXTRAPOLATION_FACTOR: Final = 8
"""Samples below have values up to an eighth of the largest, as in made-up suites."""
SPLIT_SEED: Final = 1
"""Seed of the split: a configuration for testing is never learnt from, whatever the seed."""
MIN_CONFIGURATIONS: Final = 20
"""Number of configurations below which a file is no suite, and a range not extrapolated from."""


@dataclass(frozen=True, eq=False)
class MeasuredSuite:
    """Measured configurations of a kernel, one duration each.

    Parameters
    ----------
    name : str
        The name of its file.
    all : Samples
        The configurations.
    train, test_rows : ndarray
        Positions of configurations to learn from, and to test with.
    """

    name: str
    all: Samples
    train: Indices
    test_rows: Indices

    @classmethod
    def read(cls, path: Path) -> MeasuredSuite:
        """Return the suite in *path*."""
        samples = read_samples(path).with_constants_apart()
        rows, group = samples.configurations()
        if len(rows) < 2 * MIN_CONFIGURATIONS:
            raise InputError(
                f"{path}: {len(rows)} configurations; a suite needs {2 * MIN_CONFIGURATIONS}"
            )
        medians = [np.median(samples.durations_s[group == i]) for i in range(len(rows))]
        # Not `replace`: runs and counters belong to samples, not to configurations.
        order = np.random.default_rng(SPLIT_SEED).permutation(len(rows))
        tested = min(len(rows) // TEST_SHARE, TEST_MOST)
        merged = Samples(
            samples.names, rows, np.array(medians),
            constants=samples.constants, categories=samples.categories,
        )  # fmt: skip
        return cls(
            path.name.removesuffix(".csv").removesuffix(".samples"),
            merged,
            order[tested:],
            order[:tested],
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return self.all.names

    @property
    def categories(self) -> dict[str, tuple[str, ...]]:
        """The names of the categories of each categorical parameter."""
        return {name: of for name, of in self.all.categories.items() if name in self.names}

    @property
    def positive(self) -> tuple[str, ...]:
        """The names of the parameters that have logarithms: categories and zeros have none."""
        least = dict(zip(self.names, self.all.parameters.min(axis=0), strict=True))
        return tuple(n for n in self.names if n not in self.categories and least[n] > 0)

    @property
    def extrapolable(self) -> tuple[str, ...]:
        """The parameters of which enough was measured up to an eighth of the largest value."""
        return tuple(
            name
            for name in self.names
            if name not in self.categories and self._below((name,)).sum() >= MIN_CONFIGURATIONS
        )

    @property
    def extrapolations(self) -> tuple[str | None, ...]:
        """The parameters that :meth:`below` takes; the last is None, if enough have all small."""
        names = self.extrapolable
        every = (None,) if names and self._below(names).sum() >= MIN_CONFIGURATIONS else ()
        return (*names, *every)

    def samples(self, count: int, seed: int = 0) -> Samples:
        """Return *count* configurations to learn from."""
        return self._drawn(self.train, count, seed)

    def test(
        self,
        seed: int = 0,  # noqa: ARG002
        count: int = 0,  # noqa: ARG002
        *,
        noisy: bool = False,  # noqa: ARG002
    ) -> tuple[Floats, Floats]:
        """Return the configurations for testing, the same for all seeds and counts."""
        return self.all.parameters[self.test_rows], self.all.durations_s[self.test_rows]

    def below(self, count: int, parameter: str | None, seed: int = 0) -> Samples:
        """Return configurations with values of *parameter* up to an eighth of the largest.

        There may be fewer than *count*.
        """
        where = np.flatnonzero(self._below(self._open(parameter)))
        return self._drawn(where, min(count, len(where)), seed)

    def beyond(
        self, parameter: str | None, factor: float, seed: int = 0  # noqa: ARG002
    ) -> tuple[Floats, Floats]:  # fmt: skip
        """Return configurations up to *factor* times above those of :meth:`below`, an octave."""
        kept = np.ones(len(self.all), dtype=bool)
        for name in self._open(parameter):
            column = self.all.parameters[:, self.names.index(name)]
            top = factor * column.max() / EXTRAPOLATION_FACTOR
            kept &= (column > top / 2) & (column <= top)
        return self.all.parameters[kept], self.all.durations_s[kept]

    def _open(self, parameter: str | None) -> tuple[str, ...]:
        if parameter is None:
            return self.extrapolable
        if parameter not in self.extrapolable:
            raise unknown("extrapolable parameter", parameter, self.extrapolable, self.name)
        return (parameter,)

    def _below(self, names: tuple[str, ...]) -> NDArray[np.bool_]:
        kept = np.ones(len(self.all), dtype=bool)
        for name in names:
            column = self.all.parameters[:, self.names.index(name)]
            kept &= column <= column.max() / EXTRAPOLATION_FACTOR
        return kept

    def _drawn(self, where: Indices, count: int, seed: int) -> Samples:
        if count > len(where):
            raise InputError(f"{self.name}: {len(where)} configurations to learn from, not {count}")
        order = np.random.default_rng(seed).permutation(len(where))[:count]
        return self.all.select(where[order])


def measured_suites(folder: Path) -> dict[str, MeasuredSuite]:
    """Return the suites in *folder*, by name."""
    found, paths = {}, sorted(folder.rglob("*.csv"))
    for path in paths:
        try:
            suite = MeasuredSuite.read(path)
        except InputError as error:
            print(f"left out: {error}", file=sys.stderr)
            continue
        if suite.name in found:
            raise InputError(f"{path}: there is another file of {suite.name}; rename one of them")
        found[suite.name] = suite
    if not paths:
        raise InputError(f"{folder}: no samples; fill it with: tasksim measure ... -o FOLDER/x.csv")
    if not found:
        raise InputError(
            f"{folder}: no file has {2 * MIN_CONFIGURATIONS} configurations; measure more"
        )
    return found
