"""Every example in the documentation runs, and prints what the page says.

A page is read from top to bottom, in a temporary folder that its examples share. Executed are

- ``console`` blocks: what follows ``$ `` is a command, a backslash at the end continues it; the
  lines below are what it prints, on stdout and stderr. After one that fails comes ``$ echo $?``;
- ``python`` blocks: as doctests where they have ``>>>``, else as they are;
- tables of JSON keys, against the command that the comment before them names.

``...`` stands for anything, as in doctest, and as a line of its own also for no line. Comments
before a block or a table change what is done:

- ``<!-- timings vary -->``: only the exit codes and the first word of each line are compared;
  lines of progress do not count;
- ``<!-- slow -->``: it is executed by slow tests only, which execute no others of the page: they
  need nothing but its files, and nothing needs them;
- ``<!-- starpu -->``: it reads ``~/.starpu/sampling``, and is executed where the folder ``shared``
  beside the checkout has the files that StarPU is shipped with;
- ``<!-- file: NAME -->``: the block is written to the file NAME, which later examples use;
- ``<!-- keys: COMMAND -->``: the first column of the table has the keys of what COMMAND prints.
"""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from tasksim.cli.main import cli
from tasksim.graph.apps import registry

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("**/*.md")),
]
PAGES = [page for page in PAGES if "/generated/" not in page]
DESIGN = "docs/design/"
"""Explains with fragments that do not run, except where a page says how to add something."""
LANGUAGES = {"console", "python", "yaml", "json", "csv", "sh", "text"}

FENCE = re.compile(r"```(\S*)$")
STARPU = ROOT.parent / "shared" / "data" / "starpu"
COMMENT = re.compile(r"<!-- (?:(timings vary|slow|starpu)|(file|keys): (.+?)) -->$")
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
            if "file" not in block.named and self.slow != ("slow" in block.flags):
                continue
            if "file" in block.named:
                path = Path(block.named["file"])
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.text)
            elif block.language == "console":
                self._console(block)
            elif block.language == "python":
                self._python(block)
            elif block.language == "keys":
                self._keys(block)
        return self

    def _console(self, block: Block) -> None:
        code = 0
        for line, command, expected in commands_of(block):
            if command == "echo $?":
                output, code = f"{code}\n", 0
            else:
                self._expect_success(line, code)
                code, output = called(command)
            if not PROGRESS.search(expected):  # what takes long says so; a quick machine does not
                output = PROGRESS.sub("", output)
            pair = (expected, output)
            if "timings vary" in block.flags:
                pair = (skeleton(expected), skeleton(output))
            if not agree(*pair):
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
        told = re.findall(r"^\| `(\w+)`", block.text, re.MULTILINE)
        if told != (printed := list(json.loads(output))):
            self._report(block.line, f"$ {command}\nkeys: {printed}\nin the table: {told}")

    def _report(self, line: int, what: str) -> None:
        self.problems.append(f"{self.page}:{line}: {what}")


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
    )  # fmt: skip
    return done.returncode, done.stdout


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working directory: empty, with nothing of the user's in reach."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "user"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    if STARPU.is_dir():
        (tmp_path / "home").mkdir()
        (tmp_path / "home" / ".starpu").symlink_to(STARPU)
    before, generators = set(sys.modules), set(registry.names())
    # Last: what is asked of the folder now, before a page writes files to it, is remembered.
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield tmp_path
    for name in set(registry.names()) - generators:
        registry.GENERATORS._found.pop(name, None)
    # What a page imports from its folder is not what another page means by the same name.
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", None)):
            del sys.modules[name]


def is_executed(page: str) -> bool:
    return not page.startswith(DESIGN) or page.startswith(f"{DESIGN}add-")


def has_slow_examples(page: str) -> bool:
    return any("slow" in block.flags for block in blocks_of((ROOT / page).read_text()))


@pytest.mark.parametrize("page", [page for page in PAGES if is_executed(page)])
def test_examples_print_what_the_page_says(page, folder):
    problems = Session(page).execute((ROOT / page).read_text()).problems
    assert not problems, "\n\n".join(problems)


def test_the_files_of_starpu_are_at_hand():
    if not STARPU.is_dir():
        pytest.skip("blocks marked `starpu` are not executed: no StarPU files in ../shared")
    assert {path.name for path in (STARPU / "sampling").iterdir()} >= {"bus", "codelets"}


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if has_slow_examples(page)])
def test_slow_examples_print_what_the_page_says(page, folder, monkeypatch):
    if page != "README.md":  # there is the whole demo; elsewhere, only the form of what it prints
        monkeypatch.setattr("tasksim.study.demo.CALIBRATION_S", 2.0)
        monkeypatch.setattr("tasksim.study.demo.REPETITIONS", 2)
    problems = Session(page, slow=True).execute((ROOT / page).read_text()).problems
    assert not problems, "\n\n".join(problems)


@pytest.mark.parametrize("page", PAGES)
def test_languages_of_blocks_are_known(page):
    known = LANGUAGES | ({"", "{toctree}"} if page.startswith(DESIGN) else set())
    blocks = blocks_of((ROOT / page).read_text())
    wrong = [(b.line, b.language) for b in blocks if b.language not in known | {"keys"}]
    assert not wrong, "a block of an unknown language would not be executed"


# The pages themselves


def anchors(text: str) -> set[str]:
    """Return what GitHub makes of the headings of a page."""
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


MADE = {"demo-output/runs.html"}
"""What `make demo` writes, and a page may lead to."""


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target or target in MADE:
            continue
        name, _, anchor = target.partition("#")
        path = (ROOT / page).parent / name if name else ROOT / page
        assert path.exists(), target
        assert not anchor or anchor in anchors(path.read_text()), target


def test_every_page_can_be_reached_from_the_readme():
    """From the README to a page, or from there through the index of the design."""
    readme = (ROOT / "README.md").read_text()
    index = (ROOT / DESIGN / "index.md").read_text()
    listed = {f"{DESIGN}{name}.md" for name in re.findall(r"^([a-z-]+)$", index, re.MULTILINE)}
    assert f"({DESIGN}index.md)" in readme
    assert [page for page in PAGES[1:] if f"({page})" not in readme and page not in listed] == []


def test_make_has_the_targets_that_pages_name():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        t for p in PAGES for t in re.findall(r"(?:^|`)make ([a-z-]+)", (ROOT / p).read_text(), re.M)
    }
    assert {"demo", "test"} <= named
    assert named <= targets


def test_pictures_are_small():
    sizes = {path.name: path.stat().st_size for path in (ROOT / "docs" / "images").iterdir()}
    assert "gantt.png" in sizes
    assert max(sizes.values()) < 200_000


def commands() -> dict[str, click.Command]:
    """Return every command by its full name, those of other tools' formats too."""
    context, found = click.Context(cli), {}
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        parts = command.list_commands(context) if isinstance(command, click.Group) else []
        found |= {
            f"tasksim {name} {part}": command.get_command(context, part) for part in parts
        } or {f"tasksim {name}": command}
    return found


@pytest.mark.parametrize(("name", "command"), commands().items())
def test_every_command_and_option_is_described(name, command):
    sections = re.split(r"^## ", (ROOT / "docs/cli.md").read_text(), flags=re.MULTILINE)
    by_name = {section.partition("\n")[0].strip("`"): section for section in sections}
    shared = by_name["Options that all share"]
    for option in (o for p in command.params for o in p.opts if o.startswith("--")):
        assert f"`{option}`" in by_name[name] or f"`{option}`" in shared, f"{option}: not described"


# The tests themselves: a page that is wrong is found to be wrong

SIMULATE = "tasksim simulate chain length=2 --workers 1 --durations task=1"


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        (f"```console\n$ {SIMULATE}\nmakespan 3 s\n```\n", "expected:\nmakespan 3 s"),
        (f"<!-- timings vary -->\n```console\n$ {SIMULATE}\nwrong\n...\n```\n", "got:\ngraph"),
        ("```console\n$ tasksim simulate chaim\n...\n```\n", "exits with 2"),
        ("```python\n>>> 1 + 1\n3\n```\n", "Expected:\n    3\nGot:\n    2"),
        ("```python\nassert False, 'no'\n```\n", "AssertionError: no"),
        (f"<!-- keys: {SIMULATE} --json -->\n| key |\n|---|\n| `wrong` |\n", "['wrong']"),
    ],
)
def test_what_is_wrong_is_found(page, problem, folder):
    (found,) = Session("page.md").execute(f"# Page\n\n{page}").problems
    assert found.startswith("page.md:")
    assert problem in found


@pytest.mark.parametrize(
    ("expected", "output", "right"),
    [
        ("a\n...\nb\n", "a\nb\n", True),
        ("a\n...\nb\n", "a\nx\ny\nb\n", True),
        ("a\n...\n", "a\n", True),
        ("a\n...\nb\n", "a\nx\n", False),
        ("a ... c\n", "a b c\n", True),
        ("a\nb\n", "a\nx\nb\n", False),
    ],
)
def test_a_line_of_dots_stands_for_any_lines_or_none(expected, output, right):
    assert agree(expected, output) == right


@pytest.mark.parametrize(("slow", "executed"), [(False, "quick"), (True, "slow")])
def test_slow_examples_are_executed_by_themselves(slow, executed, folder):
    page = """
<!-- file: given.txt -->
```text
given
```

```python
from pathlib import Path

Path("quick").write_text(Path("given.txt").read_text())
```

<!-- slow -->
```python
from pathlib import Path

Path("slow").write_text(Path("given.txt").read_text())
```
"""
    assert Session("page.md", slow=slow).execute(page).problems == []
    assert sorted(path.name for path in folder.iterdir() if path.is_file()) == [
        "given.txt",
        executed,
    ]


def test_what_is_right_passes(folder):
    page = f"""
<!-- file: answer.py -->
```python
VALUE = 42
```

```python
>>> from answer import VALUE
>>> VALUE
42
```

<!-- timings vary -->
```console
$ {SIMULATE} \\
    --scheduler prio
graph ...
run whatever, and then
...
```

```console
$ tasksim simulate chaim --workers 1
Error: unknown task graph 'chaim', did you mean 'chain'? ...
$ echo $?
2
```
"""
    assert Session("page.md").execute(page).problems == []
    assert (folder / "answer.py").read_text() == "VALUE = 42\n"
