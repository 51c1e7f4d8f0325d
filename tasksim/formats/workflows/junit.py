"""Reports of tests in JUnit's XML, as pytest, Maven, Gradle, CTest and others write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tasksim.base.units import counted
from tasksim.formats.registry import Format
from tasksim.formats.workflows.jobs import DURATION_PARAMETER, Jobs
from tasksim.formats.xmltext import parse_xml

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.formats.registry import GraphInput

__all__ = ["JUNIT", "read_junit"]

ROOT_ELEMENTS: Final = ("testsuites", "testsuite")
"""Elements that contain suites and tests."""


def read_junit(path: Path) -> GraphInput:
    """Return the graph of the tests in a report: independent tasks with measured durations.

    The kernel of a test is its class, or its module. Skipped tests are left out. A report says
    neither when a test began nor where it ran.

    Parameters
    ----------
    path : Path
        An XML file.

    Raises
    ------
    InputError
        ``file:line: what is wrong``.
    """
    jobs = Jobs(path)
    root = parse_xml(path)
    if root.name not in ROOT_ELEMENTS:
        raise jobs.error(f"got <{root.name[:40]}>; legal: <testsuites>, <testsuite>", root.line)
    skipped = untimed = 0
    for case in root.below():
        if case.name != "testcase":
            continue
        if any(child.name == "skipped" for child in case.children):
            skipped += 1
            continue
        text = case.attributes.get("time", "")
        untimed += not text
        # Maven writes a thousand seconds as 1,000.5.
        seconds = jobs.number(text.replace(",", "") or "0", "time", case.line)
        kernel = case.attributes.get("classname") or "test"
        jobs.add(f"test{len(jobs)}", kernel, {DURATION_PARAMETER: seconds}, case.line)
    if not len(jobs):
        raise jobs.error("no test ran; legal: elements <testcase time='...'>", root.line)
    if skipped:
        jobs.notes.append(f"{counted(skipped, 'skipped test')}: left out")
    if untimed:
        jobs.notes.append(f"{counted(untimed, 'test')} without a time: 0 s")
    return jobs.build()


JUNIT: Final = Format(
    summary="Tests with their durations, in JUnit's XML (pytest --junitxml, Maven, CTest).",
    recognises=lambda path, head: b"<testsuite" in head,  # noqa: ARG005
    reads_graph=read_junit,
)
