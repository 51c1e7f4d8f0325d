"""Counters that perf, LIKWID and PAPI have written: read, scaled, refused."""

import numpy as np
import pytest
from counter_files import LIKWID, PAPI, PERF

from tasksim.base.errors import InputError
from tasksim.calibration.counters.campaign import write_counters
from tasksim.formats.counters import Counted, counters_of, meaning, read_counts
from tasksim.formats.samples import read_samples


def written(tmp_path, text):
    path = tmp_path / "counted"
    path.write_text(text)
    return path


@pytest.mark.parametrize("separator", [",", ";"])
def test_perf_stat(tmp_path, separator):
    counted = read_counts(written(tmp_path, PERF.replace(",", separator)))
    assert counted.events["instructions:u"] == 8250000
    assert counted.duration_s == pytest.approx(1.2e-3)
    assert counted.notes == (
        "LLC-load-misses:u was counted for 45 % of the time, and perf scaled it to all of it",
    )
    assert counters_of(counted, "perf.csv") == {
        "instructions": 8250000,
        "cycles": 3928571,
        "l1_hits": 2900000 - 269000,
        "l2_hits": 0,
        "l3_hits": 269000 - 17500,
        "memory_accesses": 17500,
    }


def test_events_that_are_not_used_are_noted(tmp_path):
    more = "77,,branch-misses:u,100,100.00,,\n9,,cache-misses:u,100,100.00,,\n"
    first, second = (read_counts(written(tmp_path, text)) for text in (PERF, PERF + more))
    assert second.notes == (*first.notes, "not used: branch-misses:u, cache-misses:u")
    assert counters_of(second, "perf.csv") == counters_of(first, "perf.csv")


def test_likwid_tables_and_commas(tmp_path):
    counted = read_counts(written(tmp_path, LIKWID))
    rows = (line.strip("|").replace(" | ", ",") for line in LIKWID.splitlines())
    assert read_counts(written(tmp_path, "\n".join(rows).replace("|", ","))) == counted
    assert counted.duration_s == 0.0012
    found = counters_of(counted, "likwid.txt", executions=10)
    assert found["instructions"] == 825000
    assert found["l2_hits"] == 20000
    assert found["memory_accesses"] == 1750


def test_papi(tmp_path):
    counted = read_counts(written(tmp_path, PAPI))
    assert counted.duration_s == pytest.approx(1.2e-3)
    found = counters_of(counted, "papi.txt")
    assert (found["l1_hits"], found["l2_hits"]) == (2900000 - 269000, 200000)
    assert (found["l3_hits"], found["memory_accesses"]) == (51500, 17500)


def test_readers_agree_and_round_trip(tmp_path):
    likwid, papi = (counters_of(read_counts(written(tmp_path, t)), "x") for t in (LIKWID, PAPI))
    assert likwid == papi
    path = tmp_path / "samples.csv"
    columns = write_counters(path, ["n"], [(0, [256], papi, 1.2e-3), (1, [256], likwid, 1.3e-3)])
    assert columns == tuple(papi)
    samples = read_samples(path)
    assert samples.names == ("n",)
    assert samples.runs.tolist() == [0, 1]
    assert {name: column.tolist() for name, column in samples.counters.items()} == {
        name: [value, value] for name, value in papi.items()
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (PERF.replace("8250000,", "<not supported>,"), "counted:3: instructions:u: got <not su"),
        (
            PERF.replace("17500,", "<not counted>,"),
            ":8: LLC-load-misses:u: got <not counted>: perf",
        ),
        (PERF.replace("3928571,", "-3928571,"), ":4: cycles:u: got '-3928571'; legal: a number"),
        (PERF.replace("8250000,,", "8250000,"), ":3: got"),
        (LIKWID.replace("   51500", "  -51500"), "MEM_LOAD_RETIRED_L3_HIT: got '-51500'"),
        (PAPI.replace("69000", "many"), ":4: PAPI_L1_DCM: got '2many'"),
        (PERF.replace("3928571,", "nan,"), ":4: cycles:u: got 'nan'; legal: a number"),
        (LIKWID.replace("   51500", "     inf"), "MEM_LOAD_RETIRED_L3_HIT: got 'inf'"),
        (PAPI.replace("269000", "nan"), ":4: PAPI_L1_DCM: got 'nan'"),
        ("hello\n", "found no counters; legal: the output of 'perf stat -x,'"),
        ("", "found no counters"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, text, message):
    if ":3: got" in message:
        text = "8250000,,instructions:u,3,100\n1,2\n3\n"
        message = "counted:2: got 2 fields"
    with pytest.raises(InputError) as caught:
        read_counts(written(tmp_path, text))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ({"cycles": 1.0}, "no event counts instructions"),
        ({"instructions": 1.0}, "no events count the accesses that reach memory"),
        ({"instructions": -1.0}, "instructions: got -1; legal: not negative"),
        (
            {"instructions": 9.0, "L1-dcache-loads": 5.0, "L1-dcache-load-misses": 6.0,
             "LLC-load-misses": 1.0},
            "l1_misses 6 are more than accesses 5",
        ),
    ],
)  # fmt: skip
def test_counters_that_cannot_be(events, message):
    with pytest.raises(InputError, match=message.replace("(", ".")):
        counters_of(Counted(events), "perf.csv")


def test_events_by_many_names():
    assert meaning("cpu_core/instructions/u") == "instructions"
    assert meaning("MEM_LOAD_RETIRED_L3_MISS") == "memory_accesses"


def test_counters_are_no_parameters_unless_asked_for(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("n,instructions,duration_s\n1,10,1\n2,20,2\n")
    samples = read_samples(path)
    assert samples.names == ("n",)
    assert samples.select([1]).counters["instructions"].tolist() == [20]
    assert type(samples).concat([samples, samples]).counters["instructions"].sum() == 60
    asked = read_samples(path, parameters=["n", "instructions"])
    assert asked.names == ("n", "instructions")
    assert asked.counters is None
    path.write_text("n,instructions,duration_s\n1,10,1\n2,-20,2\n")
    with pytest.raises(InputError, match=r"s\.csv:3:3: instructions: got '-20'; legal: a finite"):
        read_samples(path)
    path.write_text("n,instructions,duration_s\n1,10,1\n2,,2\n3,30,3\n")
    with pytest.warns(UserWarning, match="1 row .without a value, first of instructions: .*:3:3"):
        assert read_samples(path).counters["instructions"].tolist() == [10, 30]
    with pytest.raises(InputError, match="sample 1: instructions nan: counters must be finite"):
        type(samples)(("n",), [[1], [2]], [1, 2], counters={"instructions": [1, np.nan]})
    with pytest.raises(InputError, match="counter 'instructions': 1 values, but there are 2 sam"):
        type(samples)(("n",), [[1], [2]], [1, 2], counters={"instructions": [1]})
