"""The page of the papers' capabilities: its counts, and commands that can be typed as they are."""

from __future__ import annotations

import re
import shlex
from importlib import import_module
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

from tasksim.cli.main import cli
from tasksim.tuning import learners

PAGE = (Path(__file__).parents[2] / "docs/papers/capabilities.md").read_text()
ROW = re.compile(r"^\| (?P<what>.+?) \| (?P<how>.+) \|$", re.MULTILINE)


def sections():
    """Return paper -> its rows, as (capability, command or reason)."""
    found = {}
    for part in PAGE.split("\n## ")[1:]:
        title, _, text = part.partition("\n")
        rows = [(row["what"], row["how"]) for row in ROW.finditer(text)]
        found[title] = [row for row in rows if row[0] not in ("capability", "---", "point")]
    return found


def commands():
    rows = [how for rows in sections().values() for _, how in rows]
    return [how.strip("`") for how in rows if how.startswith("`")]


def test_the_counts_are_those_of_the_rows():
    rows = sections()
    lines = re.findall(r"^\| \[([a-z ]+)\]\(.+?\) \|(.+)\|$", PAGE, re.MULTILINE)
    counts = {name: [int(cell) for cell in cells.split("|")] for name, cells in lines}
    assert [name.capitalize() for name in counts] == list(rows)
    for name, (points, work, with_command, without) in counts.items():
        hows = [how for _, how in rows[name.capitalize()]]
        shown = sum(how.startswith("`") for how in hows)
        assert (with_command, without) == (shown, len(hows) - shown), name
        assert work <= points
    points, work, with_command, without = (
        sum(column) for column in zip(*counts.values(), strict=True)
    )
    assert points == 200
    assert f"{work} of the 200 points" in PAGE
    assert f"{with_command + without} rows" in PAGE
    assert f"{with_command} have a command" in PAGE


@pytest.mark.parametrize("command", sorted(set(commands())))
def test_a_command_has_known_words_and_options(command, tmp_path, monkeypatch):
    for folder in ("counted", "lib"):  # options that want a folder look for it
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path)
    words = shlex.split(command)
    if words[0] == "mpiexec":
        words = words[3:]
    if words[0] == "python":
        if words[1] == "-m":
            assert import_module(f"{words[2]}.__main__")
        else:
            compile(words[2], "capabilities.md", "exec")
        return
    assert words.pop(0) == "tasksim"
    group, context = cli, click.Context(cli)
    while isinstance(group, click.Group):
        if group.name == "tune" and words[0] not in group.list_commands(context):
            words = ["GRAPH", *words]  # as it does itself
        name, group, words = group.resolve_command(context, words)
        context = click.Context(group, parent=context, info_name=name)
    group.make_context(name, words, parent=context.parent)


COMMANDS_ELSEWHERE = (
    "particles=10e6",  # 2 GB, and tested in tests/applications
    "calibrate memory", "tune report --native",  # half a minute and more
    "counters gemm", "gemm-counters", "profile ",  # Valgrind, which is not everywhere
    "record ", "report scaling", "report functions", "report kernels --critical", "refinement",
    "--measure",  # programs and runs of one's own
)  # fmt: skip
"""Words of the commands that are not executed here."""


def csv(names, rows):
    return "\n".join([names, *(",".join(map(str, row)) for row in rows), ""])


def write_files(folder):
    """Write the samples and tables that the small examples read."""
    rng = np.random.default_rng(0)
    sizes = np.exp(rng.uniform(np.log(16), np.log(512), (64, 3))).round().astype(int)
    times = 2e-6 + 4e-11 * sizes.prod(axis=1) * rng.lognormal(0, 0.03, 64)
    products = [(*size, time) for size, time in zip(sizes.tolist(), times.tolist(), strict=True)]
    inner = [row for row in products if min(row[:3]) > 30 and max(row[:3]) < 400]
    (folder / "gemm.csv").write_text(csv("m,n,k,duration_s", products))
    (folder / "test.csv").write_text(csv("m,n,k,duration_s", inner[:10]))
    (folder / "more.csv").write_text(csv("m,n,k,duration_s", inner[10:20]))
    rows = [(n, s, 1e-6 * n * (1 + s)) for n in (10, 20, 40, 80, 160) for s in (0, 1, 2)]
    (folder / "layouts.csv").write_text(csv("n,solver,duration_s", rows))
    rows = [(n, p, 1e-6 * n / p + 1e-6) for n in (100, 200, 400, 900) for p in (1, 2, 4, 8)]
    (folder / "strong.csv").write_text(csv("n,p,duration_s", rows))
    wide = rng.integers(1, 9, (60, 6))
    rows = [(*row, 1e-6 * (row[0] * row[1] + row[5])) for row in wide.tolist()]
    (folder / "wide.csv").write_text(csv("a,b,c,d,e,f,duration_s", rows))
    rows = [(level / 4, 1e-6 * np.exp(level / 4)) for level in range(4, 40)]
    (folder / "levels.csv").write_text(csv("level,duration_s", rows))
    rows = [(p, s, 1e-5 * np.log2(p) + 1e-9 * s) for p in (2, 4, 8) for s in (1e3, 1e4, 1e5)]
    (folder / "bcast.csv").write_text(csv("ranks,size_bytes,duration_s", rows))
    rows = [
        (name, threads, size, size // 8, 50 * size, size * size, *rng.uniform(1, 9, 3))
        for name in ("daxpy", "add")
        for threads in (1, 2)
        for size in range(40, 400, 30)
    ]
    names = "operation,Nthr,Ms,Nite,instructions,cache_misses,1,2,4"
    (folder / "loops.csv").write_text(csv(names, rows))


@pytest.mark.slow
def test_small_examples_run(tmp_path, monkeypatch):
    if not learners.available():
        pytest.skip("scikit-learn is not installed")
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    todo = [c for c in dict.fromkeys(commands()) if c.startswith("tasksim ")]
    todo = [c for c in todo if not any(word in c for word in COMMANDS_ELSEWHERE)]
    said, before = {}, None
    while todo and todo != before:  # some read what a later section writes
        before = list(todo)
        for command in before:
            words = shlex.split(command)[1:]
            if words[0] == "fit" and "--update" not in words:
                words += ["--budget", "100ms"]  # instead of 30 s
            elif words[0] == "calibrate":  # docs/irregular.md searches for the terms of its kernels
                words += ["--terms", "history"]
                words += [] if "--from" in words else ["--max-time", "1s"]
            called = CliRunner().invoke(cli, words)
            if called.exit_code == 0:
                todo.remove(command)
            said[command] = called.output
    assert not todo, "\n\n".join(f"$ {command}\n{said[command]}" for command in todo)
