"""Devices, and more workers than threads, are simulated, not run."""

from __future__ import annotations

import dataclasses

import pytest

from tasksim.base.errors import InputError
from tasksim.graph.apps.registry import generate
from tasksim.native import execute as native
from tasksim.native.execute import execute
from tasksim.platform.description import Device, Platform


def test_a_platform_with_devices_is_refused():
    chain = generate("chain", length=1)
    cores = Platform.identical(1)
    assert execute(chain, cores, "eager").kind == "native"
    driven = dataclasses.replace(cores, devices={"cpu": Device(pipeline=2)})
    with pytest.raises(InputError, match="its workers of cpu are devices, and only cores run"):
        execute(chain, driven, "eager")


def test_more_workers_than_threads_are_refused(monkeypatch):
    monkeypatch.setattr(native, "MAX_THREADS", 2)
    chain = generate("chain", length=1)
    assert execute(chain, Platform.identical(2), "eager").kind == "native"
    with pytest.raises(InputError, match="has 3 workers; legal: at most 2 to run graphs for real"):
        execute(chain, Platform.identical(3), "eager")
