from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from tasksim.base.errors import InputError
from tasksim.base.registry import PluginWarning
from tasksim.models import registry
from tasksim.models.kernelmodel import KernelModel
from tasksim.models.kinds.given import ConstantModel
from tasksim.models.kinds.history import HistoryModel


def test_kinds_are_those_of_their_classes():
    assert {"history", "mlr", "constant"} <= set(registry.kinds())
    for kind in registry.kinds():
        found = registry.model_class(kind)
        assert issubclass(found, KernelModel)
        assert found.kind == kind
    expected = "A model with the same duration for any parameters."
    assert registry.KINDS.summaries()["constant"] == expected


def test_unknown_kinds_get_the_nearest():
    with pytest.raises(InputError, match="unknown kind of model 'histry', did you mean 'history'"):
        registry.model_class("histry")
    with pytest.raises(InputError, match=r"^kind: unknown kind of model 'mrl', did you mean 'mlr'"):
        registry.from_json({"kind": "mrl"})
    with pytest.raises(InputError, match=r"'kind' is missing \(keys: none\)"):
        registry.from_json({})


class Other(ConstantModel):
    """A kind that another package has."""

    kind = "other"


@pytest.fixture
def declared(package, monkeypatch):
    """Return what lets a package declare an object as the kind of models 'other'."""

    def declare(found):
        monkeypatch.setitem(sys.modules, "theirs", SimpleNamespace(found=found))
        package("theirs", {"tasksim.models": {"other": "theirs:found"}})

    return declare


def test_kinds_of_other_packages(declared):
    declared(Other)
    assert registry.kinds()[-1] == "other"
    data = {"kind": "other", "options": {"duration_s": 2.0}}
    assert type(registry.from_json(data)) is Other


@pytest.mark.parametrize("found", [HistoryModel, int, "text"])
def test_what_is_no_model_is_refused(declared, found):
    declared(found)
    with pytest.raises(
        InputError,
        match=r"package 'theirs'.* is not a subclass of .*KernelModel with kind = 'other",
    ):
        registry.model_class("other")
    with pytest.warns(PluginWarning, match="package 'theirs'"):
        assert "other" not in registry.KINDS.summaries()
