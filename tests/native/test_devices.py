"""Devices are simulated, not run."""

from __future__ import annotations

import dataclasses

import pytest

from tasksim.base.errors import InputError
from tasksim.graph.apps.registry import generate
from tasksim.native.execute import execute
from tasksim.platform.description import Device, Platform


def test_a_platform_with_devices_is_refused():
    chain = generate("chain", length=1)
    cores = Platform.identical(1)
    assert execute(chain, cores, "eager").kind == "native"
    driven = dataclasses.replace(cores, devices={"cpu": Device(pipeline=2)})
    with pytest.raises(InputError, match="its workers of cpu are devices, and only cores run"):
        execute(chain, driven, "eager")
