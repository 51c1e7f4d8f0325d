from __future__ import annotations

import pytest

from tasksim.base.errors import InputError
from tasksim.models import registry
from tasksim.models.kernelmodel import KernelModel
from tasksim.models.kinds.constant import ConstantModel
from tasksim.models.kinds.history import HistoryModel


def test_kinds_are_those_of_their_classes():
    assert {"history", "mlr", "constant"} <= set(registry.kinds())
    for kind in registry.kinds():
        found = registry.model_class(kind)
        assert issubclass(found, KernelModel)
        assert found.kind == kind
    assert registry.describe()["constant"] == "The same duration for any parameters. " + (
        "It needs no samples, and no fit."
    )


def test_unknown_kinds_get_the_nearest():
    with pytest.raises(InputError, match="unknown kind of model 'histry', did you mean 'history'"):
        registry.model_class("histry")
    with pytest.raises(InputError, match=r"^kind: unknown kind of model 'mrl', did you mean 'mlr'"):
        registry.from_json({"kind": "mrl"})
    with pytest.raises(InputError, match=r"'kind' is missing \(keys: none\)"):
        registry.from_json({})


class Entry:
    """What an installed package declares."""

    name = "other"

    def __init__(self, found):
        self.found = found

    def load(self):
        return self.found


def test_kinds_of_other_packages(monkeypatch):
    other = type("Other", (ConstantModel,), {"kind": "other"})
    monkeypatch.setattr(registry, "entry_points", lambda group: [Entry(other)])
    assert registry.kinds()[-1] == "other"
    data = {"kind": "other", "options": {"duration_s": 2.0}}
    assert type(registry.from_json(data)) is other


@pytest.mark.parametrize("found", [HistoryModel, int, "text"])
def test_what_is_no_model_is_refused(monkeypatch, found):
    monkeypatch.setattr(registry, "entry_points", lambda group: [Entry(found)])
    with pytest.raises(
        InputError, match=r"which is no subclass of .*KernelModel with kind = 'other'"
    ):
        registry.model_class("other")
