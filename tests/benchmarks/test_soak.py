"""The soak: growth of a process over rounds."""

import pytest

from benchmarks.soak import ACTIVITIES, Measured, report, slope


def rows(**growth):
    """Return rounds of a minute, with a growth per round of some resources."""
    start = {"memory_kib": 100_000, "files": 8, "threads": 4, "processes": 0, "temporary": 0}
    return [
        Measured(
            60.0 * index, **{name: n + growth.get(name, 0) * index for name, n in start.items()}
        )
        for index in range(12)
    ]


def test_one_outlier_does_not_make_a_slope():
    assert slope([0, 1, 2, 3, 4], [7, 7, 7, 7, 1000]) == 0.0
    assert slope([0, 1, 2, 3, 4], [5, 7, 9, 11, 100]) == 2.0
    assert slope([3.0], [1.0]) == 0.0


@pytest.mark.parametrize(
    ("growth", "good"),
    [({}, True), ({"memory_kib": 100}, True), ({"memory_kib": 1000}, False), ({"files": 1}, False)],
)
def test_a_leak_is_told(growth, good, capsys):
    assert report(rows(**growth), {"page": [0] * 12}, most_mib=10.0) is good
    assert "12 rounds" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("name", ACTIVITIES)
def test_activities_go_on_from_an_empty_folder(name, tmp_path):
    ACTIVITIES[name](tmp_path)
