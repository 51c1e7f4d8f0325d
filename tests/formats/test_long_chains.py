"""Chains of many tasks, through every reader that can hold one, the bounds and the replay."""

import json

import pytest
from tiers import LONG

import tasksim
from tasksim.formats.graphs import graph_in
from tasksim.formats.runs import read_trace
from tasksim.run.account import account

pytestmark = pytest.mark.slow
COUNT = 1_000_000 if LONG else 20_000
"""Tasks of a chain: twenty times as many as Python lets calls be inside each other."""
FEWER_TASKS = min(200_000, COUNT)
"""Tasks for readers that hold a tree of the file, of which one is tried at length."""
DEEP = max(50_000, COUNT)
"""Tasks of the chain that the core replays: a call per task would need more than 8 MiB of stack."""


def table():
    yield "task,kernel,worker,start,end,depends\n"
    for i in range(COUNT):
        yield f"{i},k,w0,{i},{i + 1},{i - 1 if i else ''}\n"


def records():
    for i in range(1, COUNT + 1):
        depends = f"DependsOn: {i - 1}\n" if i > 1 else ""
        yield f"Name: k\nJobId: {i}\n{depends}WorkerId: 0\nStartTime: {i}.0\nEndTime: {i + 1}.0\n\n"


def backwards():
    """The last task first, so that no order of the file is one of the dependencies."""
    for i in range(COUNT, 0, -1):
        depends = f"DependsOn: {i - 1}\n" if i > 1 else ""
        yield f"Name: k\nJobId: {i}\n{depends}WorkerId: 0\nStartTime: {i}.0\nEndTime: {i + 1}.0\n\n"


def events():
    yield '{"traceEvents":[\n'
    for i in range(COUNT):
        after = f',"after":[{i - 1}]' if i else ""
        yield (
            f'{{"ph":"X","cat":"task","name":"k","pid":1,"tid":1,"ts":{i},"dur":1,"args":'
            f'{{"task":{i}{after}}}}}{"," if i < COUNT - 1 else ""}\n'
        )
    yield "]}"


def line_of_dot():
    yield 'digraph G {\nnode [size="1e9"];\n'
    yield " -> ".join(map(str, range(COUNT)))
    yield ";\n}\n"


def standard():
    yield f" {COUNT}\n 0 0 0\n"
    for i in range(1, COUNT + 1):
        yield f" {i} 1 1 {i - 1}\n"
    yield f" {COUNT + 1} 0 1 {COUNT}\n"


def ogra():
    yield f"{COUNT}\n"
    for i in range(1, COUNT + 1):
        yield f"{i} 1 1 {i + 1} 7\n" if i < COUNT else f"{i} 1 0\n"


def wfformat():
    yield '{"name":"d","schemaVersion":"1.5","workflow":{"specification":{"tasks":['
    for i in range(COUNT):
        ends = [str(i - 1)] if i else [], [str(i + 1)] if i < COUNT - 1 else []
        task = {"name": "t", "id": str(i), "parents": ends[0], "children": ends[1]}
        yield ("," if i else "") + json.dumps(task)
    yield '],"files":[]},"execution":{"makespanInSeconds":9,"executedAt":"2020","tasks":['
    for i in range(COUNT):
        yield f'{"," if i else ""}{{"id":"{i}","runtimeInSeconds":1}}'
    yield "]}}}"


def dax():
    yield '<?xml version="1.0"?>\n<adag version="2.1" name="deep">\n'
    for i in range(COUNT):
        yield f'<job id="ID{i}" name="make" runtime="1"/>\n'
    for i in range(1, COUNT):
        yield f'<child ref="ID{i}"><parent ref="ID{i - 1}"/></child>\n'
    yield "</adag>\n"


def estee():
    yield "["
    for i in range(COUNT):
        inputs = f"[[{i - 1},0]]" if i else "[]"
        output = '{"d":1,"e_d":null,"cpus":1,"outputs":[{"s":1}],"inputs":'
        yield f"{',' if i else ''}{output}{inputs}}}"
    yield "]"


def written(path, parts):
    with path.open("w") as file:
        file.writelines(parts())
    return path


@pytest.mark.parametrize(
    ("name", "parts"),
    [("run.csv", table), ("tasks.rec", records), ("other.rec", backwards), ("run.json", events)],
)
def test_traces(tmp_path, name, parts):
    run = read_trace(written(tmp_path / name, parts)).run
    assert (len(run), run.graph.edges) == (COUNT, COUNT - 1)
    if parts is table:
        assert account(run, run.graph).replayed_s == pytest.approx(run.makespan_s)


@pytest.mark.parametrize(
    ("name", "parts", "count"),
    [
        ("deep.dot", line_of_dot, COUNT), ("deep.stg", standard, FEWER_TASKS),
        ("deep.td", ogra, FEWER_TASKS),
        ("deep.json", wfformat, COUNT), ("deep.dax", dax, FEWER_TASKS),
        ("list.json", estee, FEWER_TASKS),
    ],
)  # fmt: skip
def test_workflows(tmp_path, monkeypatch, name, parts, count):
    monkeypatch.setitem(globals(), "COUNT", count)
    graph = graph_in(written(tmp_path / name, parts)).graph
    assert graph.edges >= count - 1
    if name != "deep.dot":  # which has flop, not seconds
        assert tasksim.bounds(graph, workers=2).critical_path_s == count


def test_a_chain_is_simulated_drawn_and_put_on_a_page(tmp_path):
    run = tasksim.simulate(f"chain length={DEEP} duration=1", workers=2)
    assert run.makespan_s == DEEP
    assert len(tasksim.practical_critical_path(run).steps) == DEEP
    page = tmp_path / "page.html"
    tasksim.save_page([run], page)
    assert page.stat().st_size < 20_000_000


def test_a_circle_of_many_tasks_is_told_in_one_line(tmp_path):
    def circle():
        yield from table()
        yield f"{COUNT},k,w1,0,1,{COUNT + 1}\n{COUNT + 1},k,w2,0,1,{COUNT}\n"

    with pytest.raises(tasksim.InputError, match="depend on each other in a cycle") as error:
        read_trace(written(tmp_path / "bad.csv", circle))
    assert len(str(error.value)) < 400
