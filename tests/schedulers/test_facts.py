"""The facts that scheduler classes state hold in the registry, the core and the docs."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from tasksim.schedulers.base import Scheduler
from tasksim.schedulers.registry import SCHEDULERS

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "schedulers.md"
CLASSES = SCHEDULERS.items()
HEADER = (
    "| name | options | durations | priorities | data | in the core | as threads |\n"
    "|---|---|---|---|---|---|---|\n"
)


def options(scheduler):
    """Return the options of a class with their defaults, as they are given by a user."""
    shown = []
    for parameter in inspect.signature(scheduler).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            shown.append("ARCHITECTURE=ORDER")
        elif parameter.default in (parameter.empty, None, ""):
            shown.append(f"{parameter.name}={parameter.name.upper()}")
        else:
            default = parameter.default
            shown.append(
                f"{parameter.name}={default if isinstance(default, str) else f'{default:g}'}"
            )
    return ", ".join(f"`{option}`" for option in shown)


def facts_table():
    """Return the table of facts for docs/schedulers.md."""
    rows = []
    for name, scheduler in CLASSES.items():
        facts = (
            scheduler.needs_estimates,
            scheduler.uses_priorities,
            scheduler.looks_at_data,
            bool(scheduler.core),
            scheduler.as_threads,
        )
        cells = [f"`{name}`", options(scheduler), *("yes" if fact else "" for fact in facts)]
        rows.append("| " + " | ".join(cells) + " |\n")
    return HEADER + "".join(rows)


def test_each_class_has_the_name_of_its_registration():
    assert {name: scheduler.name for name, scheduler in CLASSES.items()} == {n: n for n in CLASSES}


def test_the_core_registers_exactly_the_policies_that_classes_name():
    sources = (ROOT / "tasksim" / "core" / "schedulers").glob("*.cpp")
    line = re.compile(r'^const Register \w+\("([^"]+)"', re.MULTILINE)
    registered = [name for path in sources for name in line.findall(path.read_text())]
    assert sorted(registered) == sorted({c.core for c in CLASSES.values() if c.core})


def test_the_docs_have_the_facts_of_the_classes():
    assert facts_table() in PAGE.read_text(), (
        f"docs/schedulers.md lacks this table:\n{facts_table()}"
    )


def test_the_docs_put_each_scheduler_in_one_family():
    families = PAGE.read_text().partition("| family |")[2].partition("\n\n")[0]
    cells = [row.split("|")[2] for row in families.splitlines() if row.startswith("|")]
    named = [name.partition(":")[0] for cell in cells for name in re.findall("`([^`]+)`", cell)]
    assert sorted(named) == sorted(CLASSES)


@pytest.mark.parametrize("name", ["eager", "ws", "heft"])
def test_a_derived_class_inherits_neither_name_nor_policy_of_the_core(name):
    derived = type("Mine", (CLASSES[name],), {})
    assert (derived.name, derived.core, derived.as_threads) == ("Mine", "", False)
    assert derived.needs_estimates is CLASSES[name].needs_estimates


def test_a_class_of_ones_own_states_nothing():
    class Mine(Scheduler):
        pass

    assert (Mine.core, Mine.as_threads, Mine().core_options()) == ("", False, {})
