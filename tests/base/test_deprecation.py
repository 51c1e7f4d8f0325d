"""Deprecated names still work, and say what to use."""

import click
import pytest
from click.testing import CliRunner

import tasksim
from tasksim.base.deprecation import DeprecatedWarning, deprecated, renamed_arguments
from tasksim.base.errors import InputError
from tasksim.cli.command import command


@renamed_arguments(cores="workers", since="0.2", until="0.4")
def area_s(work_s, *, workers=1):
    return work_s / workers


def test_an_earlier_name_of_an_argument_works_and_warns_at_the_callers_line():
    with pytest.warns(DeprecatedWarning) as caught:
        assert area_s(6.0, cores=3) == 2.0
    assert str(caught[0].message) == (
        "the argument 'cores' of area_s() is deprecated since tasksim 0.2 and is removed in 0.4: "
        "use 'workers'"
    )
    assert caught[0].filename == __file__


def test_the_present_name_does_not_warn():
    assert area_s(6.0, workers=3) == 2.0


def test_both_names_at_once_are_refused():
    with pytest.raises(InputError, match=r"workers: also given as 'cores', its earlier name"):
        area_s(6.0, workers=3, cores=3)


def test_a_new_name_that_the_function_lacks_is_told_at_once():
    with pytest.raises(ValueError, match=r"area_s\(\) has no argument 'threads'"):
        renamed_arguments(cores="threads", since="0.2", until="0.4")(area_s)


def test_a_deprecated_function_warns():
    @deprecated("area_s", since="0.2", until="0.4")
    def area(work_s):
        return work_s

    with pytest.warns(DeprecatedWarning, match=r"area\(\) is deprecated since .* use area_s"):
        assert area(1.0) == 1.0


def test_a_renamed_public_name_is_found_under_its_earlier_one(monkeypatch):
    monkeypatch.setitem(tasksim._DEPRECATED, "replay", ("simulate", "0.2", "0.4"))
    with pytest.warns(DeprecatedWarning, match=r"tasksim\.replay is deprecated .* tasksim\.simul"):
        assert tasksim.replay is tasksim.simulate


@pytest.mark.parametrize("words", [["--cores", "3"], ["--cores=3"], ["a", "--cores", "3"]])
def test_an_earlier_name_of_an_option_works_and_warns(words):
    @command("area", examples=["area"], renamed={"--cores": ("--workers", "0.2", "0.4")})
    @click.argument("name", required=False)
    @click.option("--workers", type=int)
    def area(name, workers):
        """Print the workers."""
        click.echo(str(workers))

    with pytest.warns(DeprecatedWarning, match=r"^--cores is deprecated .*: use --workers$"):
        result = CliRunner().invoke(area, words)
    assert (result.exit_code, result.stdout) == (0, "3\n")


def test_words_after_two_dashes_are_not_options():
    @command("area", examples=["area"], renamed={"--cores": ("--workers", "0.2", "0.4")})
    @click.argument("words", nargs=-1)
    def area(words):
        """Print the words."""
        click.echo(" ".join(words))

    assert CliRunner().invoke(area, ["--", "--cores"]).stdout == "--cores\n"
