"""Histories by size: exact where measured, power laws between and beyond."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasksim.base.errors import InputError, OutOfDomainError
from tasksim.models.kinds.bysize import SizeEntry, SizeHistory
from tasksim.models.registry import from_json
from tasksim.models.samples import Samples


def history(*pairs, count=50, deviation=0.0):
    return SizeHistory.from_entries(SizeEntry(s, t, deviation, count) for s, t in pairs)


def test_measured_sizes_are_exact_and_others_follow_a_power_law():
    model = history((100, 1e-3), (400, 8e-3), (1600, 16e-3))
    assert model.predict([[1600], [100], [400]]).tolist() == [16e-3, 1e-3, 8e-3]
    # Between, the law through both neighbours: exponents 1.5 and 0.5.
    assert model.predict([[200], [800]]) == pytest.approx([2**1.5 * 1e-3, 2**0.5 * 8e-3])
    # Beyond, from the nearest size, by the law of all: exponent 1.
    assert model.exponent_ == pytest.approx(1.0)
    assert model.predict([[25], [6400]]) == pytest.approx([0.25e-3, 64e-3])


def test_only_measured_sizes_are_inside():
    model = history((100, 1e-3), (400, 8e-3))
    assert model.inside([[100], [101], [250], [400], [401]]).tolist() == [
        True, False, False, True, False,
    ]  # fmt: skip
    assert model.domain_ == {"size_bytes": (100.0, 400.0)}


@settings(max_examples=60)
@given(
    b=st.floats(0, 3),
    sizes=st.lists(st.integers(1, 10**8), min_size=2, max_size=6, unique=True),
    asked=st.integers(1, 10**9),
)
def test_a_kernel_that_follows_a_power_law_is_predicted_by_it_everywhere(b, sizes, asked):
    model = history(*((size, 1e-6 * size**b) for size in sizes))
    assert model.predict([[asked]])[0] == pytest.approx(1e-6 * asked**b, rel=1e-4)


@settings(max_examples=60)
@given(
    absurd=st.tuples(st.integers(1, 10**9), st.floats(1e-12, 1e3)),
    b=st.floats(0.5, 2),
)
def test_one_absurd_entry_does_not_spoil_the_exponent(absurd, b):
    good = [(10**power, 1e-9 * 10.0 ** (b * power)) for power in range(3, 8)]
    if absurd[0] in dict(good):
        return
    assert history(*good, absurd).exponent_ == pytest.approx(b, rel=1e-6)


def test_more_data_never_take_less_beyond_what_was_measured():
    model = history((100, 2e-3), (400, 1e-3))
    assert model.exponent_ == 0.0
    assert model.predict([[10], [4000]]) == pytest.approx([2e-3, 1e-3])


def test_of_one_size_proportional_to_it():
    model = history((100, 1e-3))
    assert model.predict([[50], [300]]) == pytest.approx([0.5e-3, 3e-3])


def test_tasks_without_data():
    assert history((0, 1e-3)).predict([[0], [8]]).tolist() == [1e-3, 1e-3]
    both = history((0, 1e-3), (100, 2e-3), (400, 4e-3))
    assert both.predict([[0], [25]]) == pytest.approx([1e-3, 1e-3])
    assert history((100, 2e-3), (400, 4e-3)).predict([[0]]) == pytest.approx([0.2e-3])


def test_sizes_too_far_away_are_refused():
    with pytest.raises(OutOfDomainError, match=r"too far from what was measured \(size_bytes 1, 4"):
        history((1, 1e-3), (4, 1e3)).predict([[1e300]])


def test_the_entry_with_most_samples_counts_and_is_reported():
    entries = [
        SizeEntry(100, 1e-3, 0.0, 9, footprint=7, flops=5.0),
        SizeEntry(100, 3e-3, 0.0, 40, footprint=8),
        SizeEntry(200, 4e-3, 0.0, 3),
    ]
    model = SizeHistory.from_entries(entries)
    assert model.predict([[100], [200]]).tolist() == [3e-3, 4e-3]
    assert len(model.entries_) == 3
    report = model.report()
    assert (report["samples"], report["configurations"]) == (52, 2)
    assert (report["few"], report["ambiguous"]) == ([100, 200], [100])
    assert report["worst"]["parameters"] == {"size_bytes": 100}


def test_draws_have_the_deviation_that_was_measured():
    model = SizeHistory.from_entries([SizeEntry(100, 1e-3, 1e-4, 50), SizeEntry(400, 8e-3, 0, 50)])
    draws = model.sample(np.full((20_000, 1), 100.0), np.random.default_rng(0))
    assert draws.mean() == pytest.approx(1e-3, rel=0.003)
    assert draws.std() == pytest.approx(1e-4, rel=0.03)
    assert draws.min() > 0
    assert model.sample([[400]], np.random.default_rng(0))[0] == 8e-3


def test_it_fits_samples_as_a_history_does():
    sizes = np.repeat([[100.0], [400.0]], 20, axis=0)
    times = np.where(sizes[:, 0] == 100, 1e-3, 8e-3) * np.tile([0.9, 1.1], 20)
    times[0] = 5.0  # an outlier
    model = SizeHistory().fit(Samples(("bytes",), sizes, times))
    assert model.predict([[100], [400]]) == pytest.approx([1e-3, 8e-3], rel=0.05)
    assert model.names_ == ("bytes",)
    assert (model.report()["samples"], model.report()["dropped"]) == (40, 1)
    with pytest.raises(InputError, match=r"bysize models need samples with 1 par.*got 2"):
        model.fit(Samples(("m", "n"), [[1, 2]], [1.0]))


def test_json_keeps_every_entry():
    entries = [
        SizeEntry(100, 1e-3, 1e-4, 9, footprint=0xFF, flops=5.0),
        SizeEntry(100, 3e-3, 0.0, 40),
        SizeEntry(12.5, 1e-4, 0.0, 1),
    ]
    model = SizeHistory.from_entries(entries)
    again = from_json(json.loads(json.dumps(model.to_json())))
    assert again.entries_ == model.entries_
    assert again.report() == model.report()
    assert again.predict([[7], [55], [1e6]]).tolist() == model.predict([[7], [55], [1e6]]).tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"footprint": "xyz"}, r"entries\[0\]\.footprint: expected a footprint: eight hex.*'?xyz"),
        ({"deviation_s": -1.0}, r"entries\[0\]\.deviation_s: expected a number, not negative"),
        ({"mean_s": 0.0}, r"entries\[0\]\.mean_s: expected a number larger than 0"),
    ],
)
def test_malformed_entries_are_refused(change, message):
    data = history((100, 1e-3)).to_json()
    data["entries"][0].update(change)
    with pytest.raises(InputError, match=message):
        from_json(data)


def test_entries_that_are_none_are_refused():
    with pytest.raises(InputError, match="no entries"):
        SizeHistory.from_entries([])
    for wrong in (
        SizeEntry(-1, 1.0, 0.0, 1),
        SizeEntry(1, 0.0, 0.0, 1),
        SizeEntry(1, 1, np.nan, 1),
    ):
        with pytest.raises(InputError, match="the mean must be positive, and nothing negative"):
            SizeHistory.from_entries([wrong])


def test_many_sizes_are_told_in_short():
    assert history((8, 1.0), (16, 2.0)).measured() == "size_bytes 8, 16"
    many = history(*((8 * i, 1.0 * i) for i in range(1, 11)))
    assert many.measured() == "size_bytes 8, 16, 24, 32, 40, ... (4 more), 80"
