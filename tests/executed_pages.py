"""Pages of the documentation, executed: each example runs, and prints what the page says.

A page is read from top to bottom, in a temporary folder that its examples share. Executed are

- ``console`` blocks: what follows ``$ `` is a command, a backslash at the end continues it; the
  lines below are what it prints, on stdout and stderr. After one that fails comes ``$ echo $?``;
- ``python`` blocks: as doctests where they have ``>>>``, else as they are;
- tables of JSON keys, against the command that the comment before them names.

``...`` stands for anything, as in doctest, and as a line of its own also for no line. Comments
before a block or a table change what is done:

- ``<!-- timings vary -->``: only the exit codes and the first word of each line are compared, in
  any order, as rows may be sorted by times; lines of progress do not count;
- ``<!-- slow -->``: it is executed by slow tests only, which execute no others of the page: they
  need nothing but its files, and nothing needs them;
- ``<!-- starpu -->``: it reads ``~/.starpu/sampling``, and is executed where the folder ``shared``
  beside the checkout has the files that StarPU is shipped with;
- ``<!-- starpu examples -->``: it runs StarPU's examples, and is executed where Debian's package
  ``starpu-examples`` of StarPU 1.3 is installed;
- ``<!-- openmp -->``: it records an OpenMP program, and is executed where GCC and a runtime are
  that can be recorded;
- ``<!-- compiled core -->``: it is executed where the compiled core is there;
- ``<!-- webassembly -->``: it writes a live page, and is executed where the core is there as
  WebAssembly;
- ``<!-- file: NAME -->``: the block is written to the file NAME, which later examples use;
- ``<!-- keys: COMMAND -->``: the first column of the table has the keys of what COMMAND prints.
"""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from json_schemas import check_json

from tasksim.base import registry
from tasksim.base.errors import InputError
from tasksim.cli.main import cli
from tasksim.core.library import status, wasm_status

ROOT = Path(__file__).resolve().parents[1]
COMMAND_TIMEOUT_S = 900.0
"""Time in seconds after which a command of a page counts as hanging; the longest take a minute."""
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("**/*.md")),
]
PAGES = [page for page in PAGES if "/generated/" not in page]
DESIGN = "docs/design/"
"""Explains with fragments that do not run, except where a page says how to add something."""
LANGUAGES = {"console", "python", "yaml", "json", "csv", "sh", "text", "c", "js"}

FENCE = re.compile(r"```(\S*)$")
STARPU = ROOT.parent / "shared" / "data" / "starpu"
COMMENT = re.compile(
    r"<!-- (?:(timings vary|slow|starpu examples|starpu|openmp|compiled core|webassembly)"
    r"|(file|keys): (.+?)) -->$"
)
LONG_MEASUREMENT = re.compile(r"--max-time \d\ds")
MANY_PARTICLES = re.compile(r"(particles=\d+)(?:0(?=000\b|e6\b))")
PROGRESS = re.compile(r"^\w+: \d+ %, .*\n", re.MULTILINE)
CHECKER = doctest.OutputChecker()
ANY_LINES = re.compile(r"^\.\.\.\n", re.MULTILINE)


@dataclass
class Block:
    """A fenced block, or a table of keys, and what the comments before it say."""

    language: str
    line: int
    lines: list[str]
    flags: set[str] = field(default_factory=set)
    named: dict[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return "".join(f"{line}\n" for line in self.lines)


def blocks_of(text: str) -> list[Block]:
    """Return the blocks of a page, in order."""
    found: list[Block] = []
    pending, end = Block("", 0, []), ""
    for number, line in enumerate(text.splitlines(), 1):
        table = "keys" in pending.named and line.startswith("|")
        fence = FENCE.match(line)
        if end and (line == end if end == "```" else not line.startswith(end)):
            end = ""
        elif end:
            found[-1].lines.append(line)
        elif table or fence:
            pending.language, end = (fence[1], "```") if fence else ("keys", "|")
            pending.line = number
            found.append(pending)
            pending = Block("", 0, [])
        elif comment := COMMENT.match(line):
            flag, kind, value = comment.groups()
            pending.flags |= {flag} - {None}
            pending.named |= {kind: value} if kind else {}
        elif line:
            pending = Block("", 0, [])
    assert end != "```", "the last block has no end"
    return found


def commands_of(block: Block) -> list[tuple[int, str, str]]:
    """Return the line, the command and the expected output of each command in a console block."""
    found: list[tuple[int, str, str]] = []
    continued = False
    for number, line in enumerate(block.lines, block.line + 1):
        if line.startswith("$ ") or continued:
            if not continued:
                found.append((number, "", ""))
            where, command, _ = found[-1]
            continued = line.endswith("\\")
            part = line.removeprefix("$ ").removesuffix("\\").strip()
            found[-1] = where, f"{command} {part}".strip(), ""
        else:
            where, command, output = found[-1]
            found[-1] = where, command, f"{output}{line}\n"
    return found


def skeleton(text: str) -> str:
    """Return the first word of each line; what varies from run to run is in the others."""
    lines = PROGRESS.sub("", text).splitlines()
    return "".join(f"{line.split(maxsplit=1)[0] if line.strip() else ''}\n" for line in lines)


def agree(expected: str, output: str) -> bool:
    """Return whether *output* is as *expected*; a line of ``...`` there stands for any, or none."""
    return CHECKER.check_output(ANY_LINES.sub("...", expected), output, doctest.ELLIPSIS)


def agree_but_for_times(expected: str, output: str) -> bool:
    """Return whether the lines of *output* start as those of *expected*, in any order."""
    wanted, printed = skeleton(expected), skeleton(output)
    if agree(wanted, printed):
        return True
    lines, found = Counter(wanted.splitlines()), Counter(printed.splitlines())
    return lines == found if not lines.pop("...", 0) else lines <= found


class Session:
    """The examples of a page, executed one after the other; what is wrong is in ``problems``.

    These are the slow ones or, without *slow*, all others.
    """

    def __init__(self, page: str, *, slow: bool = False) -> None:
        self.page, self.slow = page, slow
        self.names: dict[str, Any] = {"__name__": "__docs__"}
        self.problems: list[str] = []

    def execute(self, text: str) -> Session:
        """Execute all blocks of the page *text*."""
        for block in blocks_of(text):
            if "starpu" in block.flags and not STARPU.is_dir():
                continue
            if "starpu examples" in block.flags and not has_starpu_examples():
                continue
            if "openmp" in block.flags and not can_record_openmp():
                continue
            if "compiled core" in block.flags and not status().available:
                continue
            if "webassembly" in block.flags and not wasm_status().available:
                continue
            if "file" not in block.named and self.slow != ("slow" in block.flags):
                continue
            if "file" in block.named:
                path = Path(block.named["file"])
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.text)
                if path.parent.suffix == ".dist-info":  # installed: each command is a new process
                    registry._entry_points.cache_clear()
                    registry._all_entry_points.cache_clear()
            elif block.language == "console":
                self._console(block)
            elif block.language == "python":
                self._python(block)
            elif block.language == "keys":
                self._keys(block)
        return self

    def _console(self, block: Block) -> None:
        code, timings_vary = 0, "timings vary" in block.flags
        for line, command, expected in commands_of(block):
            if timings_vary:  # what a short measurement prints has the same form
                command = LONG_MEASUREMENT.sub("--max-time 2s", command)
                command = MANY_PARTICLES.sub(r"\1", command)
            if command == "echo $?":
                output, code = f"{code}\n", 0
            else:
                self._expect_success(line, code)
                code, output = called(command)
            if not PROGRESS.search(expected):  # what takes long says so; a quick machine does not
                output = PROGRESS.sub("", output)
            agreed = agree_but_for_times if timings_vary else agree
            if not agreed(expected, output):
                self._report(line, f"$ {command}\nexpected:\n{expected}got:\n{output}")
        self._expect_success(block.line + len(block.lines), code)

    def _expect_success(self, line: int, code: int) -> None:
        if code:
            self._report(line, f"the command before exits with {code}; show it: $ echo $?")

    def _python(self, block: Block) -> None:
        name = f"{self.page}:{block.line}"
        if ">>>" not in block.text:
            try:
                exec(compile(block.text, name, "exec", dont_inherit=True), self.names)
            except Exception as error:  # any: it is the page that is tested
                self._report(block.line, f"{type(error).__name__}: {error}\n{block.text}")
            return
        test = doctest.DocTestParser().get_doctest(block.text, self.names, name, name, block.line)
        told: list[str] = []
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        runner.run(test, out=told.append, clear_globs=False)
        self.names.update(test.globs)
        if runner.failures:
            self._report(block.line, "".join(told))

    def _keys(self, block: Block) -> None:
        command = block.named["keys"]
        code, output = called(command, stdout_only=True)
        if code:
            self._report(block.line, f"$ {command}\nexits with {code}:\n{output}")
            return
        check_json(shlex.split(command)[1:], output)
        told = re.findall(r"^\| `(\w+)`", block.text, re.MULTILINE)
        if told != (printed := list(json.loads(output))):
            self._report(block.line, f"$ {command}\nkeys: {printed}\nin the table: {told}")

    def _report(self, line: int, what: str) -> None:
        self.problems.append(f"{self.page}:{line}: {what}")


def has_starpu_examples() -> bool:
    """Return whether StarPU 1.3 and its examples are installed: 1.4 has other names of kernels."""
    library = Path("/usr/lib")
    return all(
        next(library.glob(name), None) is not None
        for name in ("*/starpu/examples/cholesky_implicit", "*/libstarpu-1.3.so*")
    )


def can_record_openmp() -> bool:
    """Return whether an OpenMP program can be compiled and recorded here."""
    from tasksim.recording.openmp.runtime import find_recorder, find_runtime

    try:
        find_recorder()
        find_runtime()
    except InputError:
        return False
    return shutil.which("gcc") is not None


def called(command: str, *, stdout_only: bool = False) -> tuple[int, str]:
    """Return the exit code of *command* and what it printed."""
    home = str(Path.home())
    words = [re.sub(r"^~(?=/|$)", home, word) for word in shlex.split(command)]
    if words[0] == "tasksim":
        result = CliRunner().invoke(cli, words[1:], prog_name="tasksim")
        return result.exit_code, result.stdout if stdout_only else result.output
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        command, shell=True, text=True, check=False, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
        timeout=COMMAND_TIMEOUT_S,
    )  # fmt: skip
    return done.returncode, done.stdout
