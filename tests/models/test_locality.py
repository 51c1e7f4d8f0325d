"""What far data cost a kernel, as coefficient files keep it."""

from __future__ import annotations

import json

import pytest

from tasksim.base.errors import InputError
from tasksim.models.locality import Locality


def test_json_and_back():
    known = Locality(2.0**24, 1.25e-10, 0.375)
    assert Locality.from_json(json.loads(json.dumps(known.to_json()))) == known


@pytest.mark.parametrize("name", ["reach_bytes", "seconds_per_far_byte", "mean_far_share"])
@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf"), "1", None])
def test_each_is_a_number_from_zero(name, value):
    values = {"reach_bytes": 1.0, "seconds_per_far_byte": 1.0, "mean_far_share": 1.0, name: value}
    with pytest.raises(InputError, match=f"locality: {name} must be a number of at least 0"):
        Locality(**values)


def test_a_share_is_at_most_one():
    with pytest.raises(InputError, match=r"mean_far_share is at most 1 \(got 1.5\)"):
        Locality(1.0, 1.0, 1.5)


@pytest.mark.parametrize("change", [{"reach": 1.0}, {"mean_far_share": None}])
def test_keys_are_those_that_it_has(change):
    data = {**Locality(1.0, 1.0, 1.0).to_json(), **change}
    with pytest.raises(InputError, match=r"locality: .*(reach|mean_far_share)"):
        Locality.from_json({k: v for k, v in data.items() if v is not None})
