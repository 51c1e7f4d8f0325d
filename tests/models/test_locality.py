"""Cost of far data of a kernel in coefficient files."""

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
    with pytest.raises(InputError, match=r"mean_far_share must be at most 1 \(got 1.5\)"):
        Locality(1.0, 1.0, 1.5)


@pytest.mark.parametrize("change", [{"reach": 1.0}, {"mean_far_share": None}])
def test_keys_are_those_that_it_has(change):
    data = {**Locality(1.0, 1.0, 1.0).to_json(), **change}
    with pytest.raises(InputError, match=r"locality: .*(reach|mean_far_share)"):
        Locality.from_json({k: v for k, v in data.items() if v is not None})


def test_older_files_know_one_cost_and_a_threshold():
    old = Locality.from_json(
        {"reach_bytes": 100.0, "seconds_per_far_byte": 2.0, "mean_far_share": 0.5}
    )
    assert old == Locality(100.0, 2.0, 0.5, 100.0, 2.0, 0.5, None)
    assert not Locality(100.0, 0.0, 0.5).costs
    assert Locality(100.0, 0.0, 0.5, seconds_per_far_written_byte=1.0).costs


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"near_bytes": 3.0}, r"near_bytes is at most reach_bytes, 2.0 \(got 3.0\)"),
        ({"mean_far_written_share": 2.0}, r"mean_far_written_share must be at most 1 \(got 2.0\)"),
        ({"seconds_per_far_written_byte": -1.0}, "seconds_per_far_written_byte must be a number"),
        ({"cache_bytes": 0.0}, r"cache_bytes must be above 0 \(got 0\)"),
    ],
)
def test_what_is_optional_is_checked_too(more, message):
    with pytest.raises(InputError, match=message):
        Locality(2.0, 1.0, 1.0, **more)


def test_a_reach_goes_with_the_cache():
    known = Locality(100.0, 2.0, 0.5, near_bytes=50.0, cache_bytes=200.0)
    assert known.on_cache(400) == Locality(200.0, 2.0, 0.5, near_bytes=100.0, cache_bytes=400.0)
    unknown = Locality(100.0, 2.0, 0.5)
    assert (unknown.on_cache(400).reach_bytes, unknown.on_cache(400).near_bytes) == (400.0, 400.0)
