"""HTML document of a page, which contains the runs, the script and the style.

The sources of the script are plain modules of JavaScript that import each other by name; a browser
or Node runs them as they are. A page contains them one after another, each after its imports,
without import and export statements. Names are unique over all of them, which a test checks.
"""

from __future__ import annotations

import json
import re
import warnings
from functools import cache
from html import escape
from importlib.resources import files
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.arguments import flag, path_of
from tasksim.base.errors import InputError
from tasksim.base.files import refuse_existing, write_text
from tasksim.formats.runs import as_run
from tasksim.run.facts import run_facts
from tasksim.view.colours import (
    COPY_REASONS,
    DARK_COLOURS,
    DARK_COPY_REASONS,
    PALETTE,
    RUN_COLOURS,
    UNLIMITED_COLOUR,
    kernel_colours,
)
from tasksim.view.names import given_runs, run_names
from tasksim.view.page.columns import PackedColumns, Ticks
from tasksim.view.page.tables import (
    add_copies,
    add_decisions,
    add_memory,
    add_messages,
    add_others,
    add_tasks,
    data_names,
    subject_of,
)
from tasksim.view.tokens import CHART_COLOURS, COLOURS, token_sheet

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tasksim.run.record import Run
    from tasksim.view.page.tables import PageRun

    AnyRun = Run | str | Path

__all__ = [
    "LARGE_BYTES", "MOST_RUNS", "VERSION", "assembled", "bundle", "packed_runs", "refuse_page",
    "save_page", "source",
]  # fmt: skip

MOST_RUNS: Final = 4
"""Maximum number of runs, above each other: more would leave each too little of a screen."""
LARGE_BYTES: Final = 20_000_000
"""Size of a page in bytes that is easy to mail. Larger pages are complete, and a note states their
size."""


def save_page(
    runs: AnyRun | Sequence[AnyRun],
    path: str | Path,
    force: bool = False,
    *,
    names: Sequence[str] | None = None,
    trust: bool = False,
) -> None:
    """Write one or several runs to a page to explore in a browser, all or nothing.

    The page is one file that needs no server and no network: zoom, search, what each task waited
    for, its predecessors and successors, the practical critical path, differences of runs, tables.

    Parameters
    ----------
    runs : Run, str, Path or a sequence of these
        Up to four, above each other on one time axis.
    path : str or Path
        File to write: ``.html``.
    force : bool, default False
        Whether to replace a file that is there.
    names : sequence of str or None, default None
        Names of the runs on the page; None: the facts in which they differ, such as the scheduler.
    trust : bool, default False
        Whether a generator that a run names as ``MODULE:NAME`` is imported, to make its graph.

    Raises
    ------
    InputError
        If there is no run or more than four, times of one are not finite, the suffix is another,
        or *path* exists and *force* is not given.
    OutputError
        If the operating system refuses.

    See Also
    --------
    figure : Draw runs on paper.

    Examples
    --------
    >>> import tasksim
    >>> seconds = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
    >>> run = tasksim.simulate("cholesky tiles=4", workers=2, durations=seconds)
    >>> tasksim.save_page(run, "cholesky.html")  # doctest: +SKIP
    """
    target = path_of(path, "path")
    flag(force, "force")
    flag(trust, "trust")
    given = given_runs(runs)
    refuse_page(target, len(given), force=force)
    shown = [as_run(run) for run in given]
    called = run_names(shown) if names is None else list(names)
    if len(called) != len(shown):
        raise InputError(f"names: got {len(called)} of {len(shown)} runs")
    subjects = [
        subject_of(r, str(name), trust=trust) for r, name in zip(shown, called, strict=True)
    ]
    title = ", ".join(dict.fromkeys(run.graph_label for run in shown))
    text = assembled(title, *packed_runs(subjects, title))
    write_text(target, text, force=force)
    if len(text) > LARGE_BYTES:
        tasks = sum(len(run) for run in shown)
        warnings.warn(
            f"{target} has {len(text) / 1e6:.0f} MB: all {tasks} tasks are in it, and browsers take"
            " seconds to open it",
            stacklevel=2,
        )


def refuse_page(path: Path, runs: int = 1, *, force: bool) -> None:
    """Raise, before any work, the errors of a path and a number of *runs* for a page."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{path}: a page is a '.html' file, not '{path.suffix}'")
    if not 1 <= runs <= MOST_RUNS:
        raise InputError(f"runs: got {runs}; legal in a page: 1 to {MOST_RUNS}")
    refuse_existing(path, force=force)


VERSION = 1
"""Version of the data in a page."""


def packed_runs(subjects: Sequence[PageRun], title: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the header of a page of runs, and its blocks of columns by the id of their element."""
    latest_s = [
        float(np.nanmax(np.abs(getattr(table, name)), initial=0.0))
        for run in (subject.run for subject in subjects)
        for table in (run.tasks, run.transfers, run.messages) if table is not None
        for name in table.dtypes if name.endswith("_s")
    ]  # fmt: skip
    ticks = Ticks(max(latest_s, default=0.0))
    packed = [_packed(subject, ticks) for subject in subjects]
    names = [name for subject in subjects for name in subject.run.kernel_names]
    header = {
        "version": VERSION,
        "title": title,
        "tick_exponent": ticks.exponent,
        "kernel_colours": kernel_colours(names),
        "dark_colours": DARK_COLOURS,
        "run_colours": RUN_COLOURS,
        "unlimited_colour": UNLIMITED_COLOUR,
        "palette": PALETTE,
        "reasons": [
            {"name": name, "colour": colour, "dark": DARK_COPY_REASONS.get(reason, colour)}
            for reason, (name, colour) in COPY_REASONS.items()
        ],
        "runs": [described for described, _ in packed],
    }
    return header, {f"data-{number}": text for number, (_, text) in enumerate(packed)}


def assembled(
    title: str,
    header: dict[str, Any],
    data: dict[str, str],
    *,
    main: str = "main",
    computes: bool = False,
) -> str:
    """Return a page as HTML.

    Parameters
    ----------
    title : str
    header : dict
        Plain data that the page reads first.
    data : dict of str to str
        Texts in base64 by the id of their element, or scripts of workers, which hold no tag.
    main : str, default "main"
        The module of the script that begins.
    computes : bool, default False
        Whether its policy of security also allows to compile WebAssembly and to start workers, of
        the file's own bytes.
    """
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    parts = {
        "TITLE": escape(title),
        "SCRIPTS": " 'wasm-unsafe-eval'" if computes else "",
        "WORKERS": "; worker-src blob:" if computes else "",
        "STYLE": token_sheet(COLOURS, CHART_COLOURS) + source("style.css"),
        # Nothing in it ends the script.
        "HEADER": re.sub("[<>&\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", text),
        "DATA": "\n".join(
            f'<script type="application/octet-stream" id="{name}">{text}</script>'
            for name, text in data.items()
        ),
        "SCRIPT": bundle(main),
    }
    first, *rest = source("page.html").split("{{")
    pieces = [piece.split("}}", 1) for piece in rest]
    return first + "".join(parts[name] + after for name, after in pieces)


def _packed(subject: PageRun, ticks: Ticks) -> tuple[dict[str, Any], str]:
    """Return the facts of a run for the page, and its columns as text."""
    run, columns = subject.run, PackedColumns()
    add_tasks(columns, subject, ticks)
    links = add_copies(columns, run, ticks)
    memories = add_memory(columns, run, ticks)
    messages = add_messages(columns, run, ticks)
    others = add_others(columns, run, ticks)
    add_decisions(columns, subject, ticks)
    described = {
        "name": subject.name,
        # The same simulation makes the same page, however long it took.
        "facts": run_facts(run, with_wall_time=run.kind != "simulated"),
        "kernels": run.kernel_names,
        "workers": [[w.name, w.architecture, w.node, w.memory] for w in run.workers],
        "memories": [[m.name, m.node, m.size_bytes] for m in run.memories],
        "makespan_s": run.makespan_s,
        "bounds": {name: at for name, at in (run.bounds or {}).items() if isfinite(at)},
        "expected_by": subject.expected_by,
        "known_edges": subject.graph is not None,
        "links": links,
        "known_memories": memories,
        "messages": messages,
        "others": others,
        "data": data_names(subject.graph),
        "columns": columns.layout,
    }
    return described, columns.text()


_IMPORT: Final = re.compile(r'^import \{[^}]*\} from "\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export (?=(async )?(function|class|const|let) )", re.MULTILINE)


def source(name: str) -> str:
    """Return the text of a file beside this module."""
    place = files("tasksim.view.page").joinpath(*name.split("/"))
    return place.read_text(encoding="utf-8")


@cache
def bundle(main: str = "main") -> str:
    """Return the module *main* with all that it imports, as one module."""
    ordered: dict[str, str] = {}
    _collect(main, ordered)
    return "\n".join(ordered.values())


def _collect(name: str, ordered: dict[str, str]) -> None:
    """Add a module after those that it imports, each once."""
    if name in ordered:
        return
    text = source(f"script/{name}.js")
    for needed in _IMPORT.findall(text):
        _collect(needed, ordered)
    ordered[name] = _EXPORT.sub("", _IMPORT.sub("", text))
