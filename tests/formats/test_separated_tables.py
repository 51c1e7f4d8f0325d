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
