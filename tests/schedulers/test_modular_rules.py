"""The modular schedulers keep the rules that every scheduler keeps."""

from __future__ import annotations

from functools import partial

import pytest

from tasksim.engine.conformance import checks
from tasksim.schedulers.registry import create

NAMES = [
    "modular-eager",
    "modular-prio",
    "modular-dmda",
    "modular-dmdap",
    "modular-dmdar",
    "modular-dmdas",
    "modular-heft",
    "modular-heft:tasks=1",
    "modular-heft:seconds=0",
]


@pytest.mark.parametrize("check", list(checks()), ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", NAMES)
def test_rules(name, check):
    check(partial(create, name))
