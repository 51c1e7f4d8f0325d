from __future__ import annotations

from tasksim.models.conformance import parametrize_with_checks
from tasksim.models.learned.model import LearnedModel


@parametrize_with_checks(
    [
        LearnedModel,
        lambda: LearnedModel(law="power", trees=0),
        lambda: LearnedModel(law="products", trees=20, folds=2, fence=None),
    ]
)
def test_every_kind_of_learned_model(model, check):
    check(model)
