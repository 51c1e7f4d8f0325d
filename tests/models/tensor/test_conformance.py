from __future__ import annotations

from tasksim.models.conformance import parametrize_with_checks
from tasksim.models.tensor.hybrid import HybridModel
from tasksim.models.tensor.model import TensorModel


@parametrize_with_checks(
    [
        lambda: TensorModel(rank=2, cells=3, ridge=1e-4, fence=None),
        lambda: TensorModel("positive", rank=1, cells=4, ridge=1e-5),
        lambda: TensorModel(rank=2, ridge=1e-5, cells={"m": 2}, spacing={"k": "uniform"}),
        lambda: TensorModel(rank=3, ridge=1e-5, cells=4, spacing="ordinal"),
        lambda: HybridModel(ridge=1e-4),
        lambda: HybridModel(rank=2, cells=3, ridge=1e-3, extrapolation="spline"),
        lambda: HybridModel(rank=1, cells=3, ridge=1e-3, law="products"),
        lambda: HybridModel(folds=2),
    ]
)
def test_every_kind_of_tensor_model(model, check):
    check(model)
