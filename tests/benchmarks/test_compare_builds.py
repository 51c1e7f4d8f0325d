"""Comparison of two builds: which builds are refused, and its table."""

import zipfile

import pytest

from benchmarks import compare_builds
from benchmarks.compare_builds import NoBuildError, other_build, rounds, table


@pytest.mark.parametrize("text", ["no-such-file.whl", "no-such-revision"])
def test_builds_that_do_not_exist_are_refused_by_name(text):
    with pytest.raises(NoBuildError, match=text):
        other_build(text, compiles=False)


def test_a_wheel_is_unpacked_once(tmp_path, monkeypatch):
    monkeypatch.setattr(compare_builds, "BUILDS_FOLDER", tmp_path / "compared")
    monkeypatch.setattr(compare_builds, "warm_up", lambda _: None)
    wheel = tmp_path / "tasksim-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tasksim/__init__.py", "")
    folder = other_build(str(wheel), compiles=False)
    assert (folder / "tasksim" / "__init__.py").is_file()
    (folder / "kept").touch()
    assert (other_build(str(wheel), compiles=False) / "kept").is_file()


def test_rounds_alternate_between_the_builds(monkeypatch):
    asked = []

    def measured(build, name, *, small):
        asked.append(build)
        return {name: 2.0 if build == "this" else 4.0}

    monkeypatch.setattr(compare_builds, "measured", measured)
    found = rounds(["this", "other"], 2, ["start_up"], small=True)
    assert asked == ["this", "other", "other", "this"]
    assert found == {"start_up": [(2.0, 4.0)] * 2}


def test_ratios_are_those_of_the_rounds():
    found = {"speed": [(1.0, 2.0), (3.0, 2.0), (2.0, 4.0)]}
    assert "0.50 (0.50 to 1.50)" in table(found, markdown=False)
    assert table(found, markdown=True).splitlines()[-1] == (
        "| speed | 2 | 2 | 0.50 (0.50 to 1.50) |"
    )


def test_a_figure_that_the_other_build_does_not_have_is_no_number():
    assert "nan" in table({"new": [(1.0, float("nan"))]}, markdown=False)
