"""Facts of the machine in calibrated files."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

from tasksim.calibration import machine
from tasksim.calibration.parallelism import measure_parallelism
from tasksim.native import this_machine


def test_the_facts_of_the_machine_are_plain_and_have_no_paths():
    found = machine.machine_facts(3)
    assert json.loads(json.dumps(found)) == found
    assert found["cores"] == 3
    assert found["python"] == "{}.{}.{}".format(*sys.version_info)
    text = json.dumps(found)
    for place in (Path.home(), Path.cwd(), Path(sys.prefix), Path(os.__file__).parent):
        assert str(place) not in text or str(place) == "/"
    assert not [value for value in found.values() if str(value).startswith("/")]
    assert ".so" not in text


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("node-7.cluster.example", "node-7-cluster-example"),
        ("My Laptop", "my-laptop"),
        ("", "machine"),
        ("--", "machine"),
        ("../etc", "etc"),
    ],
)
def test_a_machine_is_called_by_its_host_name_tidied(monkeypatch, host, name):
    monkeypatch.setattr(this_machine.platform, "node", lambda: host)
    assert this_machine.machine_name() == name


def test_this_machine_has_a_processor_and_memory():
    assert machine.processor()
    assert machine.memory_bytes() > 2**20
    assert re.fullmatch(r"[a-z0-9][a-z0-9-]*", this_machine.machine_name())


def test_two_workers_against_one():
    found = measure_parallelism(2, patience_s=0.0)
    assert found.speedup * found.ratio == pytest.approx(2)
    assert found.alone_s > 0
