"""Schedulers by name, with options, from other packages, and a user's own class."""

from __future__ import annotations

import sys

import pytest

from tasksim.base.errors import InputError
from tasksim.schedulers import registry
from tasksim.schedulers.base import Scheduler
from tasksim.schedulers.central import Eager

OWN_SCHEDULER = '''
from collections import deque
from tasksim.schedulers.base import Scheduler

class Lifo(Scheduler):
    """Last in, first out."""
    def __init__(self, depth: int = 1, label: str = "x") -> None:
        self.depth, self.label = depth, label
    def attach(self, view, rng):
        super().attach(view, rng)
        self.stack = deque()
    def push(self, task):
        self.stack.append(task)
        self.view.wake_any(task)
    def pop(self, worker):
        return self.stack.pop() if self.stack else None

class Not:
    pass

class Half(Scheduler):
    def push(self, task):
        pass

class Derived(Lifo):
    def __init__(self, depth):
        pass

class Leaves(Lifo):
    def __init__(self):
        raise SystemExit(0)
'''


@pytest.fixture
def own_module(tmp_path, monkeypatch):
    (tmp_path / "lifo_policy.py").write_text(OWN_SCHEDULER)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield "lifo_policy"
    sys.modules.pop("lifo_policy", None)


def test_all_names_can_be_created_and_have_summaries():
    for name in ("eager", "prio", "random", "ws", "lws", "dm"):
        assert registry.create(name).name == name
    descriptions = registry.SCHEDULERS.summaries()
    assert list(descriptions) == registry.names()
    assert all(descriptions.values())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("egaer", r"unknown scheduler 'egaer', did you mean 'eager'\? \(known: eager, prio, "),
        ("eager:beta=2", r"scheduler 'eager:beta=2': unknown option 'beta' \(known: none\)"),
        ("eager:beta=", r"scheduler 'eager:beta=': 'beta=' is not OPTION=VALUE"),
        ("no_such_module:Lifo", r"cannot import 'no_such_module'"),
        ("", r"unknown scheduler '' \(known"),
        (":", r"scheduler ':': legal: a name, MODULE:NAME or FILE.py:NAME"),
        ("a::b", r"scheduler 'a::b': legal: a name, MODULE:NAME or FILE.py:NAME"),
        ("dmda:alpha", r"scheduler 'dmda:alpha': 'alpha' is not OPTION=VALUE"),
        ("dmda:alpha=1, alpha=2", r"scheduler 'dmda:.*': alpha is given twice: 1 and 2"),
        ("dmda:alpha=010", r"option 'alpha': got '010' .str.; legal: a number from 0"),
        ("dmda:alpha=1_0", r"option 'alpha': got '1_0' .str.; legal: a number"),
        ("os:system:command=touch X", r"<built-in function system> is not a class with push"),
        ("os:path.join", r"legal: a name, MODULE:NAME or FILE.py:NAME"),
    ],
)
def test_bad_names_and_options_are_explained(text, message):
    with pytest.raises(InputError, match=message):
        registry.create(text)


def test_a_class_of_ones_own_by_module_and_class(own_module):
    scheduler = registry.create(f"{own_module}:Lifo:depth=3,label=abc")
    assert isinstance(scheduler, Scheduler)
    assert (scheduler.name, scheduler.depth, scheduler.label) == ("Lifo", 3, "abc")


def test_a_wrong_class_name_names_the_nearest(own_module):
    with pytest.raises(InputError, match=r"unknown name 'Lifoo', did you mean 'Lifo'\?"):
        registry.create(f"{own_module}:Lifoo")


def test_a_class_that_is_no_scheduler_is_refused(own_module):
    with pytest.raises(InputError, match=r"Not is not a scheduler: it has no push\(task\)"):
        registry.create(f"{own_module}:Not")


def test_another_package_adds_a_scheduler_by_entry_point(package):
    package("theirs", {"tasksim.schedulers": {"theirs": "tasksim.schedulers.central:Eager"}})
    assert "theirs" in registry.names()
    assert isinstance(registry.create("theirs"), Eager)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Half", r"Half is not a scheduler: it has no pop\(worker\)$"),
        ("Derived", r"'lifo_policy:Derived': option depth is missing"),
        ("Leaves", r"Leaves\(\) raised SystemExit: 0 \(.*lifo_policy.py:31\)"),
        ("Lifo:dpeth=2", r"unknown option 'dpeth', did you mean 'depth'\?"),
    ],
)
def test_what_is_wrong_with_a_class_of_ones_own(own_module, text, message):
    with pytest.raises(InputError, match=message):
        registry.create(f"{own_module}:{text}")


def test_a_class_without_a_name_has_its_own_and_not_that_of_its_base(own_module):
    assert registry.create(f"{own_module}:Derived:depth=1").name == "Derived"

    class Mine(Eager):
        pass

    assert Mine.name == "Mine"


def test_values_may_have_colons_and_equals_signs(own_module):
    scheduler = registry.create(f"{own_module}:Lifo:label=C:x=y,depth=2")
    assert (scheduler.label, scheduler.depth) == ("C:x=y", 2)
