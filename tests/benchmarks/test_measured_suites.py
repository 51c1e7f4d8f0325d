"""Measured samples as suites."""

import numpy as np
import pytest

from benchmarks.measured_suites import MeasuredSuite, measured_suites
from tasksim.base.errors import InputError


def _measured(folder, name="square.csv", sizes=range(16, 336)):
    """Write samples of a kernel whose duration is the square of its size, three of each."""
    lines = [f"{n},{n**2 * 1e-9 * factor!r}" for n in sizes for factor in (0.9, 1.0, 5.0)]
    path = folder / name
    path.write_text("n,duration_s\n" + "\n".join(lines) + "\n")
    return path


def test_a_configuration_has_the_median_of_its_durations(tmp_path):
    suite = MeasuredSuite.read(_measured(tmp_path))
    rows, durations_s = suite.test()
    assert np.allclose(durations_s, rows[:, 0] ** 2 * 1e-9)
    assert len(rows) == 80


def test_what_is_for_testing_is_never_learnt_from(tmp_path):
    suite = MeasuredSuite.read(_measured(tmp_path))
    tested = set(suite.test()[0][:, 0])
    for seed in range(3):
        samples = suite.samples(240, seed)
        assert set(samples.parameters[:, 0]).isdisjoint(tested)
        assert len(set(samples.parameters[:, 0])) == 240


def test_too_many_samples_are_an_error(tmp_path):
    suite = MeasuredSuite.read(_measured(tmp_path))
    with pytest.raises(InputError, match="square: 240 configurations to learn from, not 512"):
        suite.samples(512)


def test_beyond_are_octaves_above_an_eighth(tmp_path):
    suite = MeasuredSuite.read(_measured(tmp_path))
    assert suite.extrapolations == ("n", None)
    assert suite.below(1000, "n").parameters.max() <= 335 / 8
    rows, _ = suite.beyond("n", 4)
    assert sorted(rows[:, 0]) == list(range(84, 168))
    rows, _ = suite.beyond(None, 8)
    assert sorted(rows[:, 0]) == list(range(168, 336))


def test_a_narrow_range_is_not_extrapolated_from(tmp_path):
    suite = MeasuredSuite.read(_measured(tmp_path, sizes=range(100, 400)))
    assert suite.extrapolations == ()
    with pytest.raises(InputError, match="square: unknown extrapolable parameter 'n'"):
        suite.below(10, "n")


def test_a_folder_has_a_suite_per_file(tmp_path):
    _measured(tmp_path)
    (tmp_path / "fmm").mkdir()
    _measured(tmp_path / "fmm", "p2p.samples.csv")
    assert sorted(measured_suites(tmp_path)) == ["p2p", "square"]


def test_a_small_file_is_left_out_with_a_message(tmp_path, capsys):
    _measured(tmp_path)
    _measured(tmp_path, "small.csv", sizes=range(16, 26))
    assert list(measured_suites(tmp_path)) == ["square"]
    assert "left out: " in (told := capsys.readouterr().err)
    assert "small.csv: 10 configurations; a suite needs 40" in told


def test_two_files_of_a_name_are_an_error(tmp_path):
    _measured(tmp_path)
    (tmp_path / "again").mkdir()
    _measured(tmp_path / "again")
    with pytest.raises(InputError, match="there is another file of square; rename one of them"):
        measured_suites(tmp_path)


def test_an_empty_folder_says_how_to_fill_it(tmp_path):
    with pytest.raises(InputError, match="no samples; fill it with: tasksim measure"):
        measured_suites(tmp_path)


def test_a_folder_of_small_files_asks_for_more(tmp_path):
    _measured(tmp_path, "small.csv", sizes=range(16, 26))
    with pytest.raises(InputError, match="no file has 40 configurations; measure more"):
        measured_suites(tmp_path)


def test_few_configurations_are_no_suite(tmp_path):
    with pytest.raises(InputError, match=r"square\.csv: 10 configurations; a suite needs 40"):
        MeasuredSuite.read(_measured(tmp_path, sizes=range(16, 26)))
