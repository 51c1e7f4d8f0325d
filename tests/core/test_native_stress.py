"""Stress of native runs: many empty tasks, more threads than cores, every policy."""

from __future__ import annotations

import subprocess
from functools import cache

import numpy as np
import pytest
from compiled_core import needs_core, only_with_core
from core_sources import sources_of_native_runs
from tiers import LONG, each_once

from tasksim.core.build import build
from tasksim.core.compiler import NotBuilt
from tasksim.core.library import FOLDER
from tasksim.core.sanitizers import checked_environment
from tasksim.graph.apps.registry import generate
from tasksim.native.execute import execute
from tasksim.platform.description import Platform
from tasksim.run.runchecks import check_run
from tasksim.schedulers.registry import names
from tasksim.schedulers.static import ALGORITHMS

WIDTH = 200
SOURCE = FOLDER.parents[1] / "tests" / "core" / "native_stress.cpp"
WITHOUT_OPTIONS = ("eager", "prio", "random", "ws", "lws", "modular-eager", "modular-prio")
"""Policies that the program can ask for by name alone."""


POLICIES = [name for name in names(bare=True) if name == "heft" or name not in ALGORITHMS]
"""All policies, and one of those that plan beforehand, which all follow their plans alike."""


@cache
def layers(tasks):
    return generate("random-layered", layers=tasks // WIDTH, width=WIDTH, duration=0.0)


def stress(graph, workers, scheduler):
    run = execute(
        graph,
        Platform.identical(workers),
        scheduler,
        estimates=np.full((1, len(graph)), 1e-6),
        runtime="compiled",
    )
    check_run(run, graph)
    assert run.engine == "compiled"


@pytest.mark.parametrize("workers", [needs_core(2), needs_core(8)])
@pytest.mark.parametrize("scheduler", POLICIES)
def test_no_task_is_lost_or_early_under_any_policy(scheduler, workers):
    planned = scheduler in ALGORITHMS  # by Python, beforehand
    stress(layers(2_000 if planned else 20_000), workers, scheduler)


@pytest.mark.slow
@only_with_core
@pytest.mark.parametrize(("scheduler", "workers"), each_once(POLICIES, (2, 8)))
def test_nor_is_one_of_many_more(scheduler, workers):
    planned = scheduler in ALGORITHMS
    tasks = 1_000_000 if LONG else 100_000
    stress(layers(tasks // 10 if planned else tasks), workers, scheduler)


@pytest.mark.slow
def test_the_thread_sanitizer_finds_no_race(checked_program):
    for workers in ("2", "8"):
        command = [checked_program, "5000", workers, *WITHOUT_OPTIONS]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "WARNING" not in done.stderr


@pytest.fixture
def checked_program(strict, tmp_path):
    """The program, with the thread sanitizer; skipped where there is none.

    The core in it only executes tasks: most of the time to compile all goes to replays and plans.
    """
    library, program = tmp_path / "libchecked.so", tmp_path / "native_stress"
    try:
        checked_environment(library, ["thread"], strict)
    except NotBuilt as error:
        pytest.skip(str(error))
    build(library, folder=sources_of_native_runs(tmp_path), compiler=strict, sanitize=["thread"])
    flags = ["-std=c++20", "-O1", "-g", "-fsanitize=thread", "-pthread", f"-I{FOLDER}"]
    command = [*strict.command, *flags, str(SOURCE), str(library), f"-Wl,-rpath,{tmp_path}"]
    strict.run([*command, "-o", str(program)], tmp_path)
    return program
