"""Registries: names, entry points, what is broken, and a user's own."""

from __future__ import annotations

import sys

import pytest

from tasksim.base.errors import InputError
from tasksim.base.registry import PluginWarning, Registry, load_own


def _number(name, found):
    if not isinstance(found, float):
        raise InputError(f"{name} is not a float")
    return found


@pytest.fixture
def numbers():
    return Registry("number", "tests.numbers", {"pi": "math:pi", "e": "math:e"}, _number)


def test_built_in_things_come_first_and_keep_their_names(numbers, package):
    package("greek", {"tests.numbers": {"tau": "math:tau", "pi": "math:e"}})
    assert numbers.names() == ["pi", "e", "tau"]
    assert numbers.items() == pytest.approx({"pi": 3.14159265, "e": 2.71828183, "tau": 6.2831853})
    assert "tau" in numbers
    assert "sigma" not in numbers


def test_things_are_declared_in_several_groups_and_the_first_counts(package):
    both = Registry("number", ("tests.numbers", "tests.others"), {}, _number)
    package("greek", {"tests.numbers": {"tau": "math:tau"}})
    package("other", {"tests.others": {"tau": "math:e", "half": "math:nothing", "e": "math:e"}})
    assert sorted(both.names()) == ["e", "half", "tau"]
    assert (both.find("tau"), both.find("e")) == pytest.approx((6.2831853, 2.71828183))


def test_an_unknown_name_gets_the_nearest(numbers):
    with pytest.raises(InputError, match=r"unknown number 'pie', did you mean 'pi'\? \(known: pi"):
        numbers.find("pie")


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("nowhere:Class", "cannot be loaded: ModuleNotFoundError: No module named 'nowhere'"),
        ("math:nothing", "cannot be loaded: AttributeError"),
        ("leaving:Class", r"cannot be loaded: SystemExit: 3 \(.*leaving.py:2\)"),
        ("math:sin", "cannot be used: ghost is not a float"),
    ],
)
def test_what_is_broken_is_left_out_and_its_package_named(numbers, package, tmp_path, target, why):
    package("haunted", {"tests.numbers": {"ghost": target}})
    (tmp_path / "site-haunted" / "leaving.py").write_text("import sys\nsys.exit(3)\n")
    with pytest.warns(PluginWarning, match=r"number 'ghost' of package 'haunted' .*left out"):
        assert list(numbers.items()) == ["pi", "e"]
    with pytest.raises(InputError, match=rf"^number 'ghost' of package 'haunted'.* {why}"):
        numbers.find("ghost")


def test_what_a_file_names_is_registered_or_refused(numbers, package):
    package("greek", {"tests.numbers": {"tau": "math:tau"}})
    for known in ("pi", "tau"):
        numbers.refuse_foreign(known, "run.json")
    with pytest.raises(InputError, match=r"^run.json: unknown number 'pie', did you mean 'pi'"):
        numbers.refuse_foreign("pie", "run.json")
    with pytest.raises(InputError, match=r"^run.json: it names the number 'math:tau'.* trust=True"):
        numbers.refuse_foreign("math:tau", "run.json")


def test_the_users_own_words_are_imported(numbers):
    assert numbers.resolve("math:tau") == pytest.approx(6.2831853)
    with pytest.raises(InputError, match="math:sin is not a float"):
        numbers.resolve("math:sin")


@pytest.mark.parametrize(
    "text", [":", "a:", ":b", "a b:c", "os:path.join", "..x:y", "a::b", "a.:b", "-m:x", "a\n:b"]
)
def test_only_a_module_and_a_name_in_it_are_words_for_code(text):
    with pytest.raises(InputError, match=r"legal: a name, MODULE:NAME or FILE.py:NAME$"):
        load_own(text, "number")


@pytest.fixture(autouse=True)
def no_folder_more(monkeypatch):
    """Let folders that are searched from here on be searched no longer than a test takes."""
    monkeypatch.setattr(sys, "path", sys.path.copy())


def test_a_file_is_named_by_its_path(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "numbers_of_mine.py").write_text("from math import pi\nhalf = 0.5\n")
    path = tmp_path / "sub" / "numbers_of_mine.py"
    assert load_own(f"{path}:half", "number") == 0.5
    with pytest.raises(InputError, match="no such file"):
        load_own(f"{tmp_path}/nosuch.py:half", "number")
    with pytest.raises(InputError, match="unknown name 'hal', did you mean 'half'"):
        load_own(f"{path}:hal", "number")


def test_of_a_file_the_only_thing_of_its_sort_is_meant(tmp_path):
    path = tmp_path / "only_one_policy.py"
    path.write_text("class Mine: pass\n")
    mine = load_own(str(path), "policy", lambda found: isinstance(found, type))
    assert mine.__name__ == "Mine"
    path = tmp_path / "two_policies.py"
    path.write_text("class Mine: pass\nclass Yours: pass\n")
    with pytest.raises(InputError, match=r"has Mine, Yours; say which: .*two_policies.py:NAME"):
        load_own(str(path), "policy", lambda found: isinstance(found, type))


def test_a_file_that_hides_behind_another_module_is_refused(tmp_path):
    (tmp_path / "json.py").write_text("x = 1\n")
    with pytest.raises(InputError, match="another module is called 'json'"):
        load_own(f"{tmp_path}/json.py:x", "number")
    (tmp_path / "my-file.py").write_text("x = 1\n")
    with pytest.raises(InputError, match="'my-file' is not a legal module name"):
        load_own(f"{tmp_path}/my-file.py:x", "number")


def test_a_module_that_fails_to_import_says_where(tmp_path, monkeypatch):
    (tmp_path / "leaving.py").write_text("x = 1\nimport sys\nsys.exit(0)\n")
    (tmp_path / "failing.py").write_text("1 / 0\n")
    (tmp_path / "half.py").write_text("def f(:\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(InputError, match=r"cannot import 'leaving': SystemExit: 0 \(.*g.py:3\)$"):
        load_own("leaving:x", "number")
    with pytest.raises(InputError, match=r"ZeroDivisionError: division by zero \(.*failing.py:1\)"):
        load_own("failing:x", "number")
    with pytest.raises(InputError, match=r"cannot import 'half': SyntaxError: .*half.py, line 1"):
        load_own("half:x", "number")
    with pytest.raises(InputError, match=r"number 'none:x': cannot import 'none': ModuleNotFound"):
        load_own("none:x", "number")


def test_a_name_that_is_too_long_for_a_file_is_unknown(numbers):
    with pytest.raises(InputError, match="unknown number"):
        numbers.find("a" * 5000)
