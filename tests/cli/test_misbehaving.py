"""`tasksim run --check-accesses`, `--isolate`: what a kernel does wrong is told, with its task."""

import faulthandler
import sys

import pytest

import tasksim as ts
from tasksim.base.errors import InputError, TaskFailed

MODULE = """
import ctypes
import os

import tasksim
from tasksim import RW, R, W

seen = []


@tasksim.kernel
def keep(x: R):
    seen[:] = [x]


@tasksim.kernel
def sneak(x: W, y: R):
    x[0] = 1
    y[0] += 1
    seen[0][:] = 3


@tasksim.kernel
def crash(x: RW):
    ctypes.string_at(0)


@tasksim.kernel
def leave(x: RW):
    os._exit(7)


@tasksim.application("misbehaving")
def misbehaving(g, kind="sneak", n=3):
    x, y, z = g.array("x", n), g.array("y", n, order="F"), g.array("z", n, initial=1.0)
    before = g.insert(keep, z)
    if kind == "sneak":
        g.insert(sneak, x, y, after=[before])
    elif kind != "good":
        g.insert({"crash": crash, "leave": leave}[kind], x, after=[before])
    g.check(lambda results: results[z].max(), tolerance=1.0, what="largest of z")
"""


@pytest.fixture(autouse=True)
def module(tmp_path, monkeypatch):
    faulthandler.disable()  # it would print where a child crashes, as it shall here
    monkeypatch.delitem(sys.modules, "misbehaving", raising=False)
    (tmp_path / "misbehaving.py").write_text(MODULE)


def test_undeclared_writes_are_named(tasksim):
    called = tasksim("run misbehaving.py --workers 2 --check-accesses -o run")
    assert called.code == 1
    assert "sneak #1 (x=3, y=3) failed" in called.err
    assert "it wrote y, which it only declared to read; it wrote z, which it did not declare" in (
        called.err
    )


@pytest.mark.parametrize(
    "graph",
    [
        "misbehaving.py kind=good",
        "qr tiles=3 tile_size=16",
        "fmm particles=100 height=3 group_size=10",
    ],
)
def test_who_does_nothing_wrong_passes(tasksim, graph):
    called = tasksim(f"run {graph} --workers 2 --check-accesses --isolate")
    assert called.code == 0, called.err
    assert "(tolerance " in called.out


@pytest.mark.parametrize(
    ("kind", "ended"),
    [("crash", "signal 11, Segmentation fault"), ("leave", "exit code 7")],
)
def test_a_process_that_ends_is_told_with_its_tasks(tasksim, tmp_path, kind, ended):
    called = tasksim(f"run misbehaving.py kind={kind} --workers 1 --isolate -o run")
    assert called.code == 1
    assert f"({ended}); running: {kind} #1 (x=3) on worker" in called.err
    assert not (tmp_path / "run").exists()


def test_what_fails_in_the_child_is_told_as_ever(tasksim):
    called = tasksim("run misbehaving.py --workers 1 --isolate --check-accesses")
    assert called.code == 1
    assert "it wrote y, which it only declared to read" in called.err
    assert "largest of z is 3" in tasksim("run misbehaving.py --workers 1 --isolate").err


def test_data_that_cannot_be_looked_at_are_refused(tasksim):
    called = tasksim("run chain length=3 --workers 1 --check-accesses")
    assert called.code == 2
    assert "its accesses cannot be checked, because its data are not readable" in called.err


def test_measuring_and_watching_exclude_each_other(tasksim):
    called = tasksim("run misbehaving.py --calm --isolate")
    assert called.code == 2
    assert "--calm is for measurements" in called.err


def test_python_says_the_same(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TaskFailed, match="it wrote y, which it only declared to read"):
        ts.execute("misbehaving.py", workers=1, check_accesses=True)
    with pytest.raises(TaskFailed, match="Segmentation fault"):
        ts.execute("misbehaving.py", settings=["kind=crash"], workers=1, isolate=True)
    with pytest.raises(InputError, match="isolate=True takes no program"):
        ts.execute("misbehaving.py", workers=1, isolate=True, progress=print)
    graph = ts.load_graph("misbehaving.py", ["kind=good"])
    assert len(ts.execute(graph, workers=1, isolate=True, check=True)) == 1
