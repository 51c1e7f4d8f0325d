"""Samples of other tools: which columns count, and how each format is read."""

from __future__ import annotations

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from growth import nearly_linear
from hypothesis import example, given
from hypothesis import strategies as st
from sample_files import detect_format, plain, problem

from tasksim.base.errors import InputError
from tasksim.formats.samples import read_samples, samples_in
from tasksim.formats.samples.columns import choose_columns, find_duration
from tasksim.models.files.store import write_samples
from tasksim.models.samples import Samples, Unused

# Which column is the duration


@pytest.mark.parametrize(
    ("name", "per_second"),
    [
        ("duration_s", 1.0), ("runtime_ms", 1e3), ("time_us", 1e6), ("Elapsed.ns", 1e9),
        ("time [µs]", 1e6), ("Time (ms)", 1e3), ("seconds", 1.0), ("elapsed_seconds", 1.0),
        ("kernel_time_ms", 1e3), ("execTime_us", 1e6), ("mean_ns", 1e9), ("latency_usec", 1e6),
        ("runtime", 1.0), ("time", 1.0), ("compute_time", 1.0), ("Elapsed", 1.0),
    ],
)  # fmt: skip
def test_names_with_units(name, per_second):
    assert find_duration(["m", name, "n"], None, "f") == (name, per_second)


def test_units_after_a_colon():
    assert find_duration(["t", "m"], "t:us", "f") == ("t", 1e6)
    assert find_duration(["a:b_ms", "m"], "a:b_ms", "f") == ("a:b_ms", 1e3)


@pytest.mark.parametrize(
    ("header", "wanted", "message"),
    [
        (
            ["m", "x"],
            None,
            r"columns: m, x\); name one with its unit: duration=x:us \(units: s, ms, us, ns",
        ),
        (["m", "start_time", "min_time_ms"], None, "no column has the name of a duration"),
        (
            ["time_s", "runtime_s"],
            None,
            "several columns could be the duration: time_s, runtime_s; choose",
        ),
        (
            ["time", "m", "runtime"],
            None,
            "several columns could be the duration: time, runtime; choose one, durat",
        ),
        (["m", "t"], "t", "the unit of column 't' is unknown: give --duration t:s"),
        (["m", "t"], "t:min", "unknown unit 'min'"),
        (["m", "runtime_s"], "runtime_z", "unknown column 'runtime_z', did you mean 'runtime_s'"),
    ],
)
def test_what_is_not_clear_is_asked(header, wanted, message):
    with pytest.raises(InputError, match=message):
        find_duration(header, wanted, "f")


def test_the_clearest_name_is_the_duration():
    assert find_duration(["time", "m", "kernel_time_ms"], None, "f") == ("kernel_time_ms", 1e3)
    assert find_duration(["kernel_time_ms", "m", "time_us"], None, "f") == ("time_us", 1e6)


def test_parameters_are_the_columns_or_those_named():
    header = ["run", "repetition", "m", "who", "n", "time_s"]
    others = {"who": Unused("who", "text, such as 'a'")}
    found = choose_columns(header, others, None, None, "f")
    assert found.parameters == ("m", "n")
    assert found.unused == (
        Unused("repetition", "counts repetitions", chosen=True), Unused("who", "text, such as 'a'"),
    )  # fmt: skip
    named = choose_columns(header, others, None, ["n", "run"], "f")
    assert named.parameters == ("n", "run")
    assert [one.name for one in named.unused] == ["repetition", "m", "who"]
    assert all(one.chosen for one in named.unused)
    for chosen, message in (
        (["k"], "f: unknown column 'k'"),
        (["m", "m"], "parameter 'm' is given twice"),
        (["time_s"], "'time_s' is the duration, and cannot be a parameter, too"),
    ):
        with pytest.raises(InputError, match=message):
            choose_columns(header, others, None, chosen, "f")


# CSV


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_csv(file, delimiter, end):
    text = "# by hand\n\nm,who,n,runtime_ms\n4,a,5,250\n#6,b,1,1\n\n6, a , 1e1,0.5"
    path = file(text.replace(",", delimiter).replace("\n", end or "\n") + end)
    samples = samples_in(path)
    assert plain(samples) == (("m", "who", "n"), [[4, 0, 5], [6, 0, 10]], [0.25, 0.0005])
    assert samples.categories == {"who": ("a",)}


def test_csv_quotes_and_byte_order_marks(file):
    path = file('\ufeff"m","the, time_s","time_s"\n"4","x,y","0.5"\n')
    assert plain(samples_in(path)) == (("m",), [[4]], [0.5])
    assert unused(path) == [("the, time_s", "another duration")]


def test_runs_are_kept(file):
    assert samples_in(file("run,m,time_s\n3,1,1\n,1,1\n")).runs.tolist() == [3, -1]
    assert samples_in(file("run,m,time_s\n,1,1\n,1,1\n")).runs is None
    assert "FILE:3:1: run: got 'x'; legal: a whole number or nothing" in problem(
        file("run,m,time_s\n1,1,1\nx,1,1\n")
    )
    assert "run: got '1.5'" in problem(file("run,m,time_s\n1.5,1,1\n"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("m,n,time_s\n1,2,3\n4,x,5\n", "FILE:3:3: n: got 'x'; legal: a number"),
        ("m,n,time_s\n1,2,3\n4,inf,5\n", "FILE:3:3: n: got 'inf'; legal: a finite number, not neg"),
        (
            "m,n,time_s\n1,2,3\n4,x,5\n6,7,8\n",
            "FILE:3:3: n: got 'x'; legal: a number; categorical=n reads the c",
        ),
        ("m;time_s\n1,5;3\n2,5;5\n", "FILE:2:1: m: got '1,5'; legal: a decimal point, as in 1.5"),
        (
            "m,time_s\n1,\n2,nan\n",
            "FILE: no row has values for all of m, time_s; 2 rows without a value, "
            "first of time_s: FILE:2:3",
        ),
        (
            "m,n,time_s\n1,2,3\n1,2,3\n\nk,l,runtime\n4,5,6\n",
            "FILE:5:1: got a line without numbers, perhaps the start of a second table; legal: one"
            " ta",
        ),
        (
            "m,n,time_s\n1,2,3\n\nk,runtime\n4,5\n",
            "FILE:4:3: got 2 fields; legal: 3, perhaps the start of a second table; legal: one per"
            " file",
        ),
        ("m,n,time_s\n1,-2,3\n", "FILE:2:3: n: got '-2'; legal: a finite number, not negative"),
        ("m,n,time_s\n1,2,0\n", "FILE:2:5: time_s: got '0'; legal: a finite number, larger than 0"),
        ("m,n,time_s\n1,2\n", "FILE:2:3: got 2 fields; legal: 3"),
        ("m,n,time_s\n1,2,3,4\n", "FILE:2:5: got 4 fields; legal: 3"),
        ("m,m,time_s\n1,2,3\n", "FILE:1:3: got 'm' again; legal: a name for each column, once"),
        ("m,,time_s\n1,2,3\n", "FILE:1:3: got nothing; legal: a name for each column, once"),
        ("1,2,0.5\n1,2,3\n", "FILE:1:1: got '1'; legal: a first line with names"),
        ("m,time_s\n", "FILE:2:1: got the end of the file; legal: samples"),
        ("", "FILE: is empty; legal: a first line with the names of the columns"),
        ('"a b",n,time_s\n"x,5",2,3\n4,x,5\n', "FILE:3:3: n: got 'x'; legal: a number"),
    ],
)
def test_csv_says_where_it_is_wrong(file, text, message):
    assert message in problem(file(text))


def test_columns_that_are_not_used_are_told(file):
    """Other durations, and what the caller left out: nothing vanishes without a word."""
    path = file("layout,m,solver,repetition,ms,time_s,time_us\ndgz,4,sweep,0,1,.25,250000\n")
    with pytest.warns(UserWarning, match="not used") as said:
        samples = read_samples(path, duration="time_s")
    assert [str(one.message) for one in said] == [f"{path}: not used: time_us (another duration)"]
    assert samples.names == ("layout", "m", "solver", "ms")
    named = read_samples(path, duration="time_s", parameters=["m"])
    assert {one.name: one.why for one in named.unused} == dict.fromkeys(
        ["layout", "solver", "repetition", "ms", "time_us"], "not among the parameters named"
    )


# Categories


def test_texts_are_categories_and_numbers_on_request(file):
    path = file("layout,nodes,time_s\nrow,8,1\ncol,16.0,2\nrow,2,3\n")
    found = samples_in(path)
    assert found.categories == {"layout": ("col", "row")}
    assert plain(found) == (("layout", "nodes"), [[1, 8], [0, 16], [1, 2]], [1, 2, 3])
    named = samples_in(path, categorical=["nodes"])
    assert named.categories == {"layout": ("col", "row"), "nodes": ("2", "8", "16")}
    assert named.parameters[:, 1].tolist() == [1, 2, 0]
    for options, message in (
        ({"categorical": ["node"]}, "FILE:1: categorical: unknown column 'node', did you mean 'no"),
        ({"categorical": ["time_s"]}, "FILE:1: 'time_s' is the duration, which has no categories"),
        ({"categorical": "nodes"}, "categorical: got 'nodes'; legal: a list of names of columns"),
    ):
        assert message in problem(path, **options)


def test_formats_without_texts_have_categories_of_numbers(file):
    path = file("PARAMETER p\nPOINTS 4 8\nDATA 1 2\nDATA 3\n")
    assert samples_in(path, categorical=["p"]).categories == {"p": ("4", "8")}


def test_json_and_parquet_have_categories(file, tmp_path):
    rows = {"x": ["b", "a", "b"], "fast": [True, False, True], "time_s": [1.0, 2.0, 3.0]}
    lines = [dict(zip(rows, row, strict=True)) for row in zip(*rows.values(), strict=True)]
    path = tmp_path / "some.parquet"
    pq.write_table(pa.table({**rows, "x": pa.array(rows["x"]).dictionary_encode()}), path)
    for one in (path, file("\n".join(map(json.dumps, lines)), "some.jsonl")):
        found = samples_in(one)
        assert found.categories == {"x": ("a", "b"), "fast": ("false", "true")}
        assert plain(found) == (("x", "fast"), [[1, 1], [0, 0], [1, 1]], [1, 2, 3])


def test_a_name_that_is_a_number_is_told(file):
    path = file("layout,time_s\nrow,1\n2,2\ncol,3\n")
    found = samples_in(path)
    assert found.categories == {"layout": ("2", "col", "row")}
    assert found.notes == (f"layout: 1 of its names are numbers, first 2 in {path}:3:1",)
    mixed = file("n,time_s\n4,1\nmany,2\n8,3\n")
    assert "FILE:3:1: n: got 'many'; legal: a number; categorical=n" in problem(mixed)
    assert samples_in(mixed, categorical=["n"]).categories == {"n": ("4", "8", "many")}


def test_many_names_are_an_identifier_and_too_many_are_refused(file):
    rows = "".join(f"job{i},{i % 7},{i + 1}\n" for i in range(10_000))
    path = file(f"job,m,time_s\n{rows}")
    assert unused(path) == [("job", "an identifier: 10000 names in 10000 rows")]
    assert "FILE:1: job: got 10000 categories; legal: at most 256; leave" in problem(
        path, parameters=["job", "m"]
    )


# Columns that are no parameters


INDEXED_TABLES = [
    ",m,time_s\n0,4,1\n1,5,2\n2,4,3\n", "m,time_s\n1,4,1\n2,5,2\n3,4,3\n",
    '"m","time_s"\n"a",4,1\n"b",5,2\n"c",4,3\n',
]  # fmt: skip


@pytest.mark.parametrize("text", INDEXED_TABLES)
def test_an_index_without_a_name_is_no_parameter(file, text):
    path = file(text)
    assert plain(samples_in(path)) == (("m",), [[4], [5], [4]], [1, 2, 3])
    assert unused(path) == [("column 1", "names of rows")]
    wrong = file(text.replace(",5,", ",x,"))
    assert re.match(r"FILE:3:\d: m: got 'x'; legal: a number", problem(wrong))


@pytest.mark.parametrize(
    ("name", "cell", "why"),
    [
        ("i", "{i}", "row numbers"),
        ("k", "{j}", "row numbers"),
        ("Unnamed: 0", "{i}", "row numbers"),
        ("id", "{square}", "row numbers"),
        ("std", ".5", "the spread of durations"),
        ("time_stddev_ms", ".5", "the spread of durations"),
        ("min_time_ms", ".5", "another statistic of durations"),
        ("kernel_time", ".5", "another duration"),
        ("date", "2025-01-31", "dates"),
        ("when", "2025-01-31 10:00:{i}", "dates"),
        ("clock", "12:30:05", "dates"),
        ("timestamp", "1.7e9", "moments"),
        ("note", "", "empty in 30 of 30 rows"),
    ],
)
def test_columns_that_are_no_parameters_are_left_out_unless_named(file, name, cell, why):
    rows = "".join(
        f"{cell.format(i=i, j=i + 1, square=1000 - i * i)},{2 ** (i % 5)},{i + 1}\n"
        for i in range(30)
    )
    path = file(f"{name},m,time_s\n{rows}")
    found = samples_in(path)
    assert found.names == ("m",)
    assert [(one.name, one.why, one.chosen) for one in found.unused] == [(name, why, False)]
    hint = "not used: .*" if why == "another duration" else "; parameters takes the columns that"
    with pytest.warns(UserWarning, match=hint):
        read_samples(path)
    if cell:
        assert samples_in(path, parameters=[name, "m"]).names == (name, "m")


def test_a_sweep_is_no_row_number(file):
    rows = "".join(f"{i + 1},64,{i + 1}\n" for i in range(30))
    assert samples_in(file(f"threads,tile,time_s\n{rows}")).names == ("threads", "tile")


# Rows


def test_rows_without_a_value_are_left_out_and_told(file):
    path = file("m,n,time_s\n1,2,3\n\n4,,5\n6,7,NaN\n8,9,1\n")
    assert plain(samples_in(path)) == (("m", "n"), [[1, 2], [8, 9]], [3, 1])
    assert unused(path) == [("2 rows", f"without a value, first of n: {path}:4:3")]
    with pytest.warns(UserWarning, match="not used: 2 rows .without a value, first of n"):
        read_samples(path)


def test_a_repeated_header_is_left_out_and_told(file):
    path = file("m,time_s\n1,2\nm,time_s\n3,4\n")
    assert plain(samples_in(path)) == (("m",), [[1], [3]], [2, 4])
    assert unused(path) == [("1 line", "the header again")]


def test_a_doubled_file_is_told(file):
    path = file("m,time_s\n1,2\n3,4\n1,2\n3,4\n")
    assert samples_in(path).notes == (
        "the second 2 rows repeat the first 2: they count as repetitions",
    )
    assert samples_in(file("m,time_s\n1,2\n3,4\n1,2.5\n3,4\n")).notes == ()


def test_rows_that_are_there_twice_are_told(file):
    rows = [f"{m},{m * 1.0123456}" for m in range(1, 9)]
    path = file("\n".join(["m,time_s", *rows, *rows[:3]]) + "\n")
    assert samples_in(path).notes == (
        f"3 of 11 rows equal an earlier one to the last digit of the duration, first "
        f"{path}:10:3: they count as repetitions",
    )
    coarse = [f"{m},{m * 0.01}" for m in range(1, 9)]
    assert samples_in(file("\n".join(["m,time_s", *coarse, *coarse[:3]]) + "\n")).notes == ()
    short = [f"{m},{m * 1.0123456e-6}" for m in range(1, 9)]  # a clock has no more than nanoseconds
    assert samples_in(file("\n".join(["m,time_s", *short, *short[:3]]) + "\n")).notes == ()


def test_a_unit_that_nobody_says_is_told(file):
    path = file("m,runtime\n1,2\n3,4\n")
    assert samples_in(path).durations_s.tolist() == [2, 4]
    with pytest.warns(UserWarning, match="runtime has no unit: seconds are assumed; duration=run"):
        read_samples(path)
    assert samples_in(path, duration="runtime:ms").notes == ()


def test_the_time_by_the_wall_is_no_parameter(tmp_path):
    """Calibrations and `measure` write it beside durations, and fits took it for a parameter."""
    path = tmp_path / "gemm.samples.csv"
    samples = Samples(("m",), [[4], [5]], [1.0, 2.0], wall_s=[1.5, 2.0])
    write_samples(path, {"cpu": samples})
    assert plain(samples_in(path)) == (("m",), [[4], [5]], [1.0, 2.0])
    assert unused(path) == [("wall_s", "the wall-clock time")]
    assert samples_in(path, parameters=["m", "wall_s"]).names == ("m", "wall_s")


def unused(path, **options):
    return [(one.name, one.why) for one in samples_in(path, **options).unused]


def test_sets_of_samples_that_are_not_read_are_told(file):
    path = file("architecture,m,time_s\ncpu,1,2\ncuda0,1,3\n")
    assert unused(path, part="cpu") == [("architecture cuda0", "'cpu' is read")]


def test_keys_that_are_not_used_are_told(file):
    lines = '{"m": 4, "who": "a", "time_s": 1}\n{"m": 5, "who": "b", "time_s": 1, "n": 3}\n'
    lines = lines.replace('"a"', "[1]")
    assert unused(file(lines, "some.jsonl")) == [
        ("who", "no number, [1]"), ("n", "not in the first line"),
    ]  # fmt: skip


def test_what_is_not_used_of_extra_p_is_told(file):
    point = '[{"point": [4], "values": [1.5]}]'
    measured = f'{{"main": {{"time": {point}, "visits": {point}}}}}'
    whole = f'{{"parameters": ["p"], "host": "x", "measurements": {measured}}}'
    assert unused(file(whole, "some.json")) == [
        ("metric visits", "'time' is the duration"), ("host", "neither point, metric nor value"),
    ]  # fmt: skip


def test_columns_of_parquet_that_are_not_used_are_told(tmp_path):
    path = tmp_path / "some.parquet"
    pq.write_table(pa.table({"m": [1], "who": [[1]], "time_s": [1.0]}), path)
    assert unused(path) == [("who", "a column of list<element: int64>")]
    assert "FILE: who: got a column of list<element: int64>; legal: numbers, texts" in problem(
        path, parameters=["who"]
    )


def test_csv_of_several_architectures_needs_one(file):
    path = file("architecture,m,time_s\ncpu,1,2\ncuda0,1,3\ncpu,4,5\n")
    assert plain(samples_in(path, part="cpu")) == (("m",), [[1], [4]], [2, 5])
    assert "2 sets of samples: architecture cpu, cuda0; choose one" in problem(path)
    assert "unknown architecture 'cuda', did you mean 'cuda0'" in problem(path, part="cuda")
    assert "has no column 'architecture' with 'cpu'" in problem(file("m,time_s\n1,2\n"), part="cpu")


@given(st.text('m,;\t\n\r"#_s 01.e-', max_size=60))
@example("time_s,run\r1,1\rx,2")
def test_whatever_is_in_a_csv_file_is_read_or_told(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_text("m,time_s\n1,2\n" + text if text.startswith("m") else text, newline="")
    said, durations = str(path), np.ones(1)
    try:
        durations = samples_in(path).durations_s
    except InputError as error:
        said = str(error)
    assert said.startswith(str(path))
    assert (durations > 0).all()


@pytest.mark.slow
def test_many_rows_of_csv_take_a_time_in_proportion(file):
    def read(rows):
        path = file("m,n,k,run,duration_s\n" + "256,512,1024,0,0.00123\n" * rows)
        assert len(samples_in(path)) == rows

    assert nearly_linear(read, 10_000, 80_000)


# Parquet


def test_parquet(tmp_path):
    path = tmp_path / "some"
    columns = {"m": [4, 6], "who": ["a", "b"], "x": [0.5, 1.0], "run": [0, None], "t_us": [2, 3]}
    pq.write_table(pa.table(columns), path)
    samples = samples_in(path, duration="t_us")
    assert plain(samples) == (("m", "who", "x"), [[4, 0, 0.5], [6, 1, 1.0]], [2e-6, 3e-6])
    assert samples.runs.tolist() == [0, -1]
    chosen = samples_in(path, duration="t_us", parameters=["x"])
    assert plain(chosen) == (("x",), [[0.5], [1.0]], [2e-6, 3e-6])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"m": [1, np.inf], "time_s": [1.0, 1.0]},
            "FILE: row 1: m: got 'inf'; legal: a finite num",
        ),
        (
            {"m": [1, 2], "time_s": [1.0, 0.0]},
            "FILE: row 1: time_s: got '0'; legal: a finite number, l",
        ),
        ({"m": [1], "time_s": ["a"]}, "FILE: row 0: time_s: got 'a'; legal: a number"),
        ({"m": [1], "run": [0.5], "time_s": [1.0]}, "legal: a whole number or nothing"),
        ({"m": [], "time_s": []}, "FILE: has no rows of numbers"),
    ],
)
def test_parquet_says_where_it_is_wrong(tmp_path, columns, message):
    path = tmp_path / "some.parquet"
    pq.write_table(pa.table(columns), path)
    assert message in problem(path)


def test_damaged_parquet_is_told(tmp_path):
    path = tmp_path / "some.parquet"
    path.write_bytes(b"PAR1 and nothing else")
    assert "FILE: cannot be read as Parquet" in problem(path)


# JSON


def test_json_lines(file):
    lines = [{"m": 64, "who": "a", "run": 2, "time_ms": 5}, {"time_ms": 7, "m": 8, "run": 3}]
    path = file("\n".join(map(json.dumps, lines)) + "\n\n", "some.jsonl")
    samples = samples_in(path)
    assert plain(samples) == (("m",), [[64], [8]], [0.005, 0.007])
    assert samples.runs.tolist() == [2, 3]
    assert unused(path) == [("who", "empty in 1 of 2 rows")]


def test_json_lines_of_extra_p(file):
    lines = [
        {"params": {"p": 4, "n": 64}, "callpath": "a", "metric": "time", "value": [0.5, 0.25]},
        {"params": {"n": 32, "p": 8}, "callpath": "a", "metric": "time", "value": 2},
        {"params": {"p": 8, "n": 64}, "callpath": "a", "metric": "visits", "value": 0},
    ]
    path = file("\n".join(map(json.dumps, lines)), "some.jsonl")
    expected = (("p", "n"), [[4, 64], [4, 64], [8, 32]], [0.5, 0.25, 2])
    assert plain(samples_in(path)) == expected
    assert plain(samples_in(path, duration="time:ms", parameters=["n"])) == (
        ("n",), [[64], [64], [32]], [0.0005, 0.00025, 0.002],
    )  # fmt: skip
    assert "FILE:3: visits: got 0; legal: a duration larger than 0" in problem(
        path, duration="visits"
    )
    assert "unknown metric 'tim', did you mean 'time'" in problem(path, duration="tim")
    assert "unknown parameter 'q'" in problem(path, parameters=["q"])


def test_json_of_extra_p(file):
    points = [{"point": [4], "values": [0.5, 0.25]}, {"point": [8], "values": [2]}]
    whole = {"parameters": ["p"], "measurements": {"a": {"time_ms": points}, "b": {"time_ms": []}}}
    path = file(json.dumps(whole, indent=1), "some.json")
    expected = (("p",), [[4], [4], [8]], [0.0005, 0.00025, 0.002])
    assert plain(samples_in(path)) == expected
    assert plain(samples_in(path, part="a", duration=":ms")) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"m": 1, "time_s": 1}\n{"m": 1,\n', "FILE:2:9: not JSON: "),
        ('{"m": 1, "time_s": NaN}', "FILE:1:20: not JSON: NaN is not a JSON number"),
        ('{"m": 1, "time_s": 1, "m": 2}', 'FILE:1:23: not JSON: the key "m" is given twice'),
        ('{"m": 1, "time_s": 1, "a": ' + "[" * 101 + "]" * 101 + "}", "FILE:1:127: not JSON: nest"),
        ('{"measurements":\n{"a": 1,\n"a": 2}}', 'FILE:3:1: not JSON: the key "a" is given tw'),
        ('{"m": 1, "time_s": 1}\n[1]\n', "FILE:2: got [1]; legal: an object with names"),
        ('{"m": 1, "time_s": 1}\n{"m": "x", "time_s": 1}', "FILE:2: m: got 'x'; legal: a number"),
        ('{"m": 1, "time_s": 1}\n{"m": 1, "time_s": -1}', "FILE:2: time_s: got '-1'"),
        ('{"m": 1, "run": 0.5, "time_s": 1}', "FILE:1: run: got '0.5'; legal: a whole number"),
        ('{"m": [1]}', 'FILE:1: got {"m": [1]}; legal: numbers or texts by name'),
        (f'{{"m": {10**400}, "time_s": 1}}', "FILE: has a number beyond 1.8e308"),
        ('{"params": {"p": 1}, "value": []}', "FILE:1: value: got []; legal: a list of numbers"),
        ('{"params": {"p": true}, "value": 1}', "FILE:1: p: got true; legal: a number"),
        ('{"params": {"p": 1}, "value": 1}\n{"params": {"q": 1}, "value": 1}',
         "FILE:2: params: got q; legal: p, as in the first line"),
        ('{"parameters": ["p"], "measurements": {"a": {"t": [{"point": [1, 2], "values": [1]}]}}}',
         "FILE: a, t, point 0: got a point of 2 value(s); legal: 1 (p)"),
        ('{"parameters": 5, "measurements": {}}', "FILE: parameters: got 5; legal: a list of na"),
    ],
)  # fmt: skip
def test_json_says_where_it_is_wrong(file, text, message):
    assert message in problem(file(text, "some.jsonl"))


# Extra-P's text


TEXT = """\
# two regions
PARAMETER p
PARAMETER n
POINTS (4 64) ( 8 64 )
POINTS (8 128)
REGION main->solve
METRIC time
DATA 1 2
DATA 3
DATA 4 5 # twice
REGION main->io
DATA 6
DATA 7
DATA 8
"""


def test_extra_p_text(file):
    path = file(TEXT, "some.txt")
    solve = (("p", "n"), [[4, 64], [4, 64], [8, 64], [8, 128], [8, 128]], [1, 2, 3, 4, 5])
    assert plain(samples_in(path, part="main->solve")) == solve
    assert samples_in(path, part="main->io", duration=":us").durations_s.tolist() == [
        6e-6, 7e-6, 8e-6,
    ]  # fmt: skip
    assert "2 sets of samples: call path main->solve, main->io; choose one" in problem(path)


def test_extra_p_text_of_one_parameter(file):
    path = file("PARAMETER p\nPOINTS 4 8\nDATA 1 2\nDATA 3\n")
    assert plain(samples_in(path)) == (("p",), [[4], [4], [8]], [1, 2, 3])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("DATA 3\n", "DATA x\n", "FILE:9:6: got 'x'; legal: a number"),
        ("DATA 8\n", "", "FILE:13:1: got 2 DATA line(s) for 'main->io', time; legal: 3, one per"),
        ("DATA 8\n", "DATA 8\nDATA 9\n", "FILE:15:1: got more DATA lines than the 3 point(s)"),
        ("DATA 8\n", "DATA\n", "FILE:14:1: got DATA without values"),
        ("METRIC time", "METRICS time", "FILE:7:1: got 'METRICS'; legal: PARAMETER, .* 'METRIC'?"),
        ("(8 128)", "(8 128) 9", "FILE:5:16: got '9'; legal: points, (4 1) (8 1)"),
        ("(8 128)", "(8 b)", "FILE:5:11: got 'b'; legal: a number"),
        ("(8 128)", "(8)", "FILE:10: got a point of 1 value(s); legal: 2 (p, n)"),
    ],
)
def test_extra_p_text_says_where_it_is_wrong(file, old, new, message):
    assert old in TEXT
    told = problem(file(TEXT.replace(old, new)), part="main->solve")
    before, _, after = message.partition(".*")
    assert told.startswith(before)
    assert after in told


# Which format


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.txt", "m,time_s\n", "csv"),
        ("a.out", "m,time_s\n", None),
        ("a.out", "Duration, M\n", "starpu-samples"),
        ("a.csv", "Duration, M\n", "csv"),
        ("a", '\n {"m": 1}', "json"),
        ("a", "# x\nPARAMETER p\n", "extra-p"),
        ("a.b", "####\n# Performance Model Version\n45\n", "starpu-codelet"),
    ],
)
def test_the_content_decides(file, name, text, expected):
    assert detect_format(file(text, name)) == expected


def test_files_that_are_not_there(tmp_path):
    assert problem(tmp_path / "no.csv") == "FILE: no such file"
    assert problem(tmp_path) == "FILE: is a folder, not a file"
