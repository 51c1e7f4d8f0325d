"""Repeated draws of durations equal those of the model, also of a derived one."""

from __future__ import annotations

import numpy as np

from tasksim.models.kinds.history import HistoryModel
from tasksim.models.samples import Samples

SAMPLES = Samples(("n",), [[64], [64], [128], [128]], [1.0, 1.5, 8.0, 9.0])
ROWS = [[128], [64], [128]]


class Twice(HistoryModel):
    """Another way to draw."""

    kind = "twice"

    def _sample(self, table, rng):
        return 2 * super()._sample(table, rng)


class AsBefore(Twice):
    """No other way than that."""

    kind = "as-before"


def test_draws_go_on_as_the_model_does():
    model = HistoryModel().fit(SAMPLES)
    draw, one, other = model.sampler(ROWS), np.random.default_rng(3), np.random.default_rng(3)
    for _ in range(4):
        assert draw(one).tolist() == model.sample(ROWS, other).tolist()


def test_a_derived_kind_draws_by_itself():
    plain = HistoryModel().fit(SAMPLES).sample(ROWS, np.random.default_rng(3))
    for kind in (Twice, AsBefore):
        model = kind().fit(SAMPLES)
        assert model.sample(ROWS, np.random.default_rng(3)).tolist() == (2 * plain).tolist()
