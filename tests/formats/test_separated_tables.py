"""Tables of tasks as spreadsheets write them: with semicolons or tabs."""

import pytest

from tasksim.base.errors import InputError
from tasksim.formats.runs import read_trace

TABLE = "task,kernel,worker,start_ms,end_ms,depends\na,k,w0,0,1.5,\nb,k,w0,2,3,a\nc,k,w1,3,4,a b\n"


def read(tmp_path, text, name="table.csv"):
    path = tmp_path / name
    path.write_text(text)
    return read_trace(path).run


@pytest.mark.parametrize("separator", [";", "\t"])
def test_semicolons_and_tabs_separate_as_commas_do(tmp_path, separator):
    run = read(tmp_path, TABLE)
    other = read(tmp_path, TABLE.replace(",", separator), "other.txt")
    assert other.tasks.start_s.tolist() == run.tasks.start_s.tolist() == [0.0, 0.002, 0.003]
    assert other.graph.edges == run.graph.edges == 3


def test_a_comma_within_a_field_of_a_table_with_semicolons_stays(tmp_path):
    run = read(tmp_path, 'task;kernel;worker;start;end\na;f(x,y);w0;0;1\nb;"g;h";w0;1;2\n')
    assert run.kernel_names == ("f(x,y)", "g;h")


def test_a_decimal_comma_is_refused_with_its_line(tmp_path):
    with pytest.raises(InputError, match=r"table\.csv:2: end: got '1,5'; legal: a number"):
        read(tmp_path, "task;worker;start;end\na;w0;0;1,5\n")


def test_ids_that_commas_separate_are_refused_with_what_is_legal(tmp_path):
    with pytest.raises(InputError, match=r":4: .* depends on a,b, .*; legal: ids separated by sp"):
        read(tmp_path, TABLE.replace("a b", '"a,b"'))


@pytest.mark.parametrize(
    "heading", ["{} (ms)", "{} [ms]", "{}_ms", "{}_millisecs", "{}(ms)"], ids=str
)
def test_headings_say_their_unit_as_people_write_it(tmp_path, heading):
    columns = ";".join(heading.format(name) for name in ("Start", "Duration"))
    run = read(tmp_path, f"Task;Kernel;Worker;{columns};n\na;k;w0;0;1.5;8\nb;k;w0;2;1;9\n")
    assert run.tasks.start_s.tolist() == [0.0, 0.002]
    assert run.tasks.end_s.tolist() == [0.0015, 0.003]
    assert run.kernel_names == ("k",)
    assert run.graph.parameters_of(1) == {"n": 9.0}


@pytest.mark.parametrize(
    ("columns", "row", "message"),
    [
        ("Start (cycles),End (cycles)", "0,1",
         r":1: Start \(cycles\): got the unit 'cycles'; legal: s, ms, us, ns"),
        ("start,duration_ms", "0,1",
         r":2: start: got '0' without a unit, but duration_ms has one; legal: a unit in each"),
        ("start_ms,end (s)", "0,1", None),
        ("start_ms,end_ms", "2026-01-31T10:00,2", ":2: start_ms: got .*; legal: a number"),
        ("start,duration", "0,2026-01-31T10:00", ":2: duration: got .*; legal: a number"),
        ("start,end", "31.01.2026 10:00,1",
         ":2: start: got '31.01.2026 10:00'; legal: a number, or a date such as 2026"),
        ("start,end", "2026-01-31T10:00,5", ":2: end: got '5'; legal: a date, as above"),
        ("start,end", "5,2026-01-31T10:00", ":2: end: got .*; legal: a number, as above"),
        ("start,end", "2026-01-31T10:00,2026-01-31T11:00Z", "all dates with a zone, or none"),
    ],
)  # fmt: skip
def test_a_time_that_could_mean_two_things_is_refused(tmp_path, columns, row, message):
    table = f"kernel,worker,{columns}\nk,w0,{row}\n"
    if message is None:
        assert read(tmp_path, table).makespan_s == 1.0
        return
    with pytest.raises(InputError, match=message):
        read(tmp_path, table)


def test_dates_count_from_the_earliest(tmp_path):
    run = read(tmp_path, """\
kernel,worker,submitted,start,end
f,w0,,2026-03-01T00:00:00.000002,2026-03-01 00:00:00.000005
g,w0,,2026-02-28T23:59:59.999999,2026-03-01T00:00:00
""")  # fmt: skip
    assert run.tasks.start_s.tolist() == pytest.approx([0.0, 3e-6], abs=1e-12)
    assert run.makespan_s == pytest.approx(6e-6, abs=1e-12)


def test_dates_may_have_zones_and_a_duration_in_its_unit(tmp_path):
    run = read(tmp_path, """\
kernel,worker,start,duration_ms
f,w0,2026-03-01T12:00:00+01:00,500
g,w0,2026-03-01T11:00:01Z,250
""")  # fmt: skip
    assert run.tasks.start_s.tolist() == [0.0, 1.0]
    assert run.makespan_s == 1.25


def test_a_column_whose_name_no_parameter_can_have_is_named(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("kernel,worker,start,end,size of it\nk,w0,0,1,5\n")
    assert (
        "column 'size of it' is not a parameter: its name is not of letters, digits and _"
        in read_trace(path).notes
    )
