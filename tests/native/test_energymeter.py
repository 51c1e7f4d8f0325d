"""Energy meter: counters that start again, that are not there, that one may not read."""

import os

import pytest

from tasksim.base.errors import InputError
from tasksim.native.energymeter import EnergyMeter


def zone(folder, number, name, microjoules, full=10**9):
    place = folder / f"intel-rapl:{number}"
    place.mkdir()
    (place / "name").write_text(f"{name}\n")
    (place / "energy_uj").write_text(f"{microjoules}\n")
    (place / "max_energy_range_uj").write_text(f"{full}\n")
    return place / "energy_uj"


def test_packages_and_their_memories_are_counted_cores_are_not_counted_twice(tmp_path):
    counters = [
        zone(tmp_path, "0", "package-0", 10_000_000),
        zone(tmp_path, "0:0", "core", 5_000_000),
        zone(tmp_path, "0:1", "dram", 1_000_000),
    ]
    meter = EnergyMeter(tmp_path)
    for counter, now in zip(counters, (13_000_000, 7_500_000, 1_500_000), strict=True):
        counter.write_text(str(now))
    assert meter.used_j() == 3.5


def test_a_counter_that_is_full_starts_again(tmp_path):
    counter = zone(tmp_path, "0", "package-0", 999_999_999, full=999_999_999)
    meter = EnergyMeter(tmp_path)
    counter.write_text("2000000")
    assert meter.used_j() == pytest.approx(2.000001)


def test_where_nothing_is_counted_it_says_what_to_do(tmp_path):
    with pytest.raises(InputError, match=r"has no zone intel-rapl:N.*write power: in the platform"):
        EnergyMeter(tmp_path)
    assert EnergyMeter.found(tmp_path) is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_counters_of_root_are_not_ours(tmp_path):
    zone(tmp_path, "0", "package-0", 1).chmod(0)
    with pytest.raises(InputError, match="only root may read"):
        EnergyMeter(tmp_path)
