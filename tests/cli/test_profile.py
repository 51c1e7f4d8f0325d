"""`tasksim profile`, `tasksim report functions`: functions of any program, critical ones."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tasksim.calibration.profiling.functions import (
    FunctionProfile,
    critical_functions,
    read_profile,
    shares_distance,
)
from tasksim.calibration.profiling.profilers import parse_callgrind, parse_perf, profile_program

SOURCE = """
#include <stdlib.h>
#define APART __attribute__((noinline))
static volatile long sink;
APART static void large(long n) { for (long i = 0; i < 3 * n; i++) sink += i; }
APART static void small(long n) { for (long i = 0; i < n; i++) sink += i; }
int main(int count, char **texts) { long n = atol(texts[1]); large(n); small(n); return count > 2; }
"""
NEEDS = pytest.mark.skipif(
    shutil.which("valgrind") is None or shutil.which("cc") is None, reason="no Valgrind or compiler"
)


def write(path, costs, unit="samples"):
    FunctionProfile("./solver", unit, {(name, "solver"): c for name, c in costs.items()}).write(
        Path(path)
    )


@pytest.fixture
def profiles(tasksim):
    """Write profiles on 1, 2 and 4 processes: one function is shared, one is done by each."""
    for P in (1, 2, 4):
        write(f"{P}.csv", {"shared": 960, "each": 20 * P, "load": 0.1 * P, "tiny": 19.5})
    return "1=1.csv 2=2.csv 4=4.csv"


def test_functions_with_much_time_and_those_that_do_not_scale_are_critical(tasksim, profiles):
    told = tasksim(f"report functions {profiles} --json").json
    assert told["critical"] == ["shared", "each"]
    functions = {found["name"]: found for found in told["functions"]}
    assert functions["shared"]["exponent"] == pytest.approx(-1.0)
    assert functions["each"]["exponent"] == pytest.approx(0.0, abs=1e-12)
    assert functions["each"]["shares"] == pytest.approx(
        [20 / 999.6, 40 / 1019.7, 80 / 1059.9], rel=1e-3
    )
    assert functions["tiny"]["reason"] is None
    large = tasksim(f"report functions {profiles} --threshold 10% --json").json
    assert (large["critical"], large["not_scaling"]) == (["shared", "each"], ["each"])
    text = tasksim(f"report functions {profiles} --threshold 10%").out
    assert "2 of 4 functions are critical, 1 of them because they do not scale" in text


def test_profiles_of_one_process_are_not_divided_by_the_processes():
    one = {
        P: FunctionProfile("a", "samples", {("f", ""): 100.0 / P, ("g", ""): 1.0})
        for P in (1, 2, 4)
    }
    found = {f.name: f.exponent for f in critical_functions(one, of_one=True).functions}
    assert found == {"f": pytest.approx(-1.0), "g": pytest.approx(0.0, abs=1e-12)}


def test_a_profile_is_no_distance_from_itself_nor_from_itself_in_another_unit(tasksim, profiles):
    one = read_profile(Path("1.csv"))
    doubled = FunctionProfile("a", "instructions", {n: 2 * c for n, c in one.costs.items()})
    assert shares_distance(one, one) == 0
    assert shares_distance(one, doubled) == pytest.approx(0, abs=1e-12)
    assert tasksim(f"report functions {profiles} --against 4.csv --json").json["distance"] > 0


@NEEDS
def test_instructions_are_counted_by_function(tasksim):
    Path("a.c").write_text(SOURCE)
    subprocess.run(["cc", "-O1", "-o", "a.out", "a.c"], check=True)
    called = tasksim("profile --source callgrind --json -o found.csv ./a.out 50000")
    assert called.code == 0, called.err
    costs = {f["function"]: f["cost"] for f in called.json["functions"]}
    assert costs["large"] == pytest.approx(3 * costs["small"], rel=1e-3)
    assert called.json["unit"] == "instructions"
    total = sum(f["cost"] for f in called.json["functions"])
    assert read_profile(Path("found.csv")).total == total
    text = tasksim("profile --source callgrind ./a.out 50000 --json")  # its second argument
    assert "large" in text.out
    assert "the program ended with exit code 1" in text.err


@NEEDS
def test_what_runs_is_told_with_the_time_that_callgrind_may_take(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.c").write_text(SOURCE)
    subprocess.run(["cc", "-O1", "-o", "a.out", "a.c"], check=True)
    told = []
    profile_program(["./a.out", "50000"], "callgrind", alone=True, tell=told.append)
    assert [line.partition(", about ")[0] for line in told] == [
        "running ./a.out 50000 by itself",
        "running ./a.out 50000 under callgrind",
        "reading the counts",
    ]
    assert re.search(r"about \S+ m?s$", told[1])


def test_lines_of_both_profilers_are_read():
    lines = ["# Samples: 3", "  2 |a.out |[.] f", " 1|[kernel]|[k] g", "", "x|y|z"]
    assert parse_perf(lines) == {("f", "a.out"): 2.0, ("g", "[kernel]"): 1.0}
    lines = ["ob=(1) /x/a.out", "fn=(1) f", "1 4", "* 3", "cob=(2) /x/b.so", "cfn=(2) g",
             "calls=2 0", "+1 90", "ob=(2)", "fn=(2)", "-2 90"]  # fmt: skip
    assert parse_callgrind(lines) == {("f", "a.out"): 7.0, ("g", "b.so"): 90.0}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("report functions 1=1.csv 2=2.csv", "at least 3 different numbers of processes, got 1, 2"),
        ("report functions 1=1.csv 1=2.csv 4=4.csv", "1 processes are given twice"),
        ("report functions one=1.csv", "legal: PROCESSES=FILE"),
        ("report functions 1=1.csv 2=2.csv 8=other.csv", "different units: instructions, samples"),
        ("report functions 1=1.csv 2=2.csv 8=bad.csv", "bad.csv:4:1: got 'f,a,many'"),
        ("report functions 1=1.csv 2=2.csv 8=no.csv", "no.csv"),
        ("report functions 1=1.csv 2=2.csv 8=text.csv", "text.csv:1:1: is not a profile"),
        ("profile ./nosuch", "./nosuch: no such program"),
        ("profile --threshold 0% true", "legal: between 0% and 100%"),
        ("profile --source callgrind -o out.txt true", ".csv"),
    ],
)
def test_mistakes_end_with_a_message(tasksim, profiles, line, said):
    write("other.csv", {"f": 1.0}, "instructions")
    Path("bad.csv").write_text("# program: a\n# unit: samples\nfunction,object,cost\nf,a,many\n")
    Path("text.csv").write_text("f,1\n")
    called = tasksim(line)
    assert called.code == 2, called.err
    assert said in called.errors[0]
