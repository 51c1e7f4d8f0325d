"""Fixture of whole experiments, which runs their commands in the process of the tests."""

from __future__ import annotations

import contextlib
import shlex

import pytest
from click.testing import CliRunner

from experiments.frame import Work
from tasksim import CheckFailed
from tasksim.cli.main import cli


@pytest.fixture
def commands_here(monkeypatch):
    """Run the commands of an experiment in this process: dozens of others would each start anew.

    The tests of the frame start processes.
    """
    started = Work.tasksim

    def tasksim(self, *words, module="tasksim", ranks=0):
        if module != "tasksim" or ranks:
            return started(self, *words, module=module, ranks=ranks)
        texts = [str(word) for word in words]
        self._commands(shlex.join(["tasksim", *texts]))
        with contextlib.chdir(self.folder):
            called = CliRunner().invoke(cli, texts, prog_name="tasksim")
        if called.exit_code:
            raise CheckFailed(f"{shlex.join(texts)}: exit code {called.exit_code}: {called.output}")
        return called.stdout

    monkeypatch.setattr(Work, "tasksim", tasksim)
