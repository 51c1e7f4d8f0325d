"""Tables of scaling, and the laws beside them."""

from __future__ import annotations

import numpy as np
import pytest

from tasksim.base.errors import InputError
from tasksim.reports.scaling_laws import nan_law, scaling_strong, scaling_weak, worley_law


def test_a_law_finds_what_made_the_data():
    nodes = [1, 2, 4, 8, 16]
    law = worley_law(nodes, [10.0 / P + 0.2 * P**0.5 + 1.0 for P in nodes])
    assert law.coefficients == pytest.approx({"a": 10.0, "b": 0.2, "c": 0.5, "d": 1.0}, rel=1e-3)
    assert float(law.seconds(64)) == pytest.approx(10 / 64 + 0.2 * 8 + 1)


def test_the_law_of_sizes_finds_what_made_the_data():
    law = nan_law([1, 2, 4, 2], [8, 8, 8, 64], [8.5, 4.5, 2.5, 32.5])
    assert law.coefficients == pytest.approx({"a": 1.0, "b": 0.5})


def test_coefficients_are_never_negative():
    # Faster than linear: no law of this form says so, and none gets a negative cost.
    law = worley_law([1, 2, 4, 8], [8.0, 3.0, 1.0, 0.3])
    assert min(law.coefficients.values()) >= 0.0
    assert (law.seconds([1, 64, 1024]) > 0).all()


def test_a_law_of_four_coefficients_needs_four_numbers_of_nodes():
    with pytest.raises(InputError, match=r"needs times on 4 numbers of nodes.*got 3 \(1, 2, 4\)"):
        worley_law([1, 2, 4, 4], [8.0, 4.4, 2.5, 2.6])
    table = scaling_strong([1, 2, 4, 64], [8.0, 4.4, 2.5, 1.0])
    assert table.worley_s.isna().all()
    assert table.speed_up.iloc[3] == 8.0


def test_equal_work_per_node_says_nothing_of_other_work():
    law = nan_law([1, 2, 4], [10.0, 20.0, 40.0], [2.0, 2.0, 2.0])
    assert float(law.seconds(8, 80.0)) == pytest.approx(2.0)
    assert np.isnan(law.seconds(8, 40.0))


def test_strong_scaling_has_speed_up_efficiency_and_errors():
    nodes, seconds = [1, 2, 4, 8, 64], [8.0, 4.2, 2.3, 1.4, 0.9]
    table = scaling_strong(nodes, seconds, predicted={"tasksim": seconds})
    assert table.speed_up.iloc[0] == 1.0
    assert table.efficiency.iloc[3] == pytest.approx(8.0 / 1.4 / 8)
    assert table.tasksim_error_percent.abs().max() == 0.0
    assert abs(table.worley_error_percent.iloc[3]) < 5
    assert abs(table.worley_error_percent.iloc[4]) > 5


def test_weak_scaling_is_efficient_where_time_stays():
    table = scaling_weak([1, 4, 16], [1.0, 4.0, 16.0], [2.0, 2.1, 2.5])
    assert table.efficiency.tolist() == pytest.approx([1.0, 2.0 / 2.1, 0.8])
    assert list(table.columns) == [
        "nodes", "seconds", "size", "efficiency", "nan_s", "nan_error_percent",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("nodes", "seconds", "said"),
    [
        ([1, 1], [1.0, 1.0], "two numbers of nodes"),
        ([1, 2], [1.0], "got 2 numbers of nodes, but 1 times"),
        ([0, 2], [1.0, 1.0], "1 or more"),
        ([1, 2], [1.0, 0.0], "above 0"),
    ],
)
def test_what_cannot_be_scaled_is_refused(nodes, seconds, said):
    with pytest.raises(InputError, match=said):
        scaling_strong(nodes, seconds)
