"""Pages of runs, written to a file: explore them in a browser, without a server."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING, Final

from tasksim.base.arguments import flag, path_of, short
from tasksim.base.errors import InputError
from tasksim.base.files import refuse_existing, write_text
from tasksim.formats.runs import as_run
from tasksim.run.record import Run
from tasksim.view.page.document import document
from tasksim.view.page.subject import subject_of
from tasksim.view.style import run_names

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    AnyRun = Run | str | Path

__all__ = ["MOST_RUNS", "refuse_page", "save_page"]

MOST_RUNS: Final = 4
"""Above each other more would each have too little of a screen."""
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
        Where: a file ``.html``.
    force : bool, default False
        Whether to replace a file that is there.
    names : sequence of str or None, default None
        What the page calls the runs; None: by what tells them apart, such as the scheduler.
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
    figure : draws runs on paper.

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
    several = [runs] if isinstance(runs, Run | str | PathLike) else runs
    if not isinstance(several, Iterable):
        raise InputError(f"runs: got {short(runs)}; legal: a run, or a list of runs")
    given = list(several)
    refuse_page(target, len(given), force=force)
    shown = [as_run(run) for run in given]
    called = run_names(shown) if names is None else list(names)
    if len(called) != len(shown):
        raise InputError(f"names: got {len(called)} of {len(shown)} runs")
    subjects = [
        subject_of(r, str(name), trust=trust) for r, name in zip(shown, called, strict=True)
    ]
    text = document(subjects, _title(shown))
    write_text(target, text, force=force)
    if len(text) > LARGE_BYTES:
        tasks = sum(len(run) for run in shown)
        warnings.warn(
            f"{target} has {len(text) / 1e6:.0f} MB: all {tasks} tasks are in it, and browsers take"
            " seconds to open it",
            stacklevel=2,
        )


def refuse_page(path: Path, runs: int, *, force: bool) -> None:
    """Raise, before the work is done, what :func:`save_page` would raise of so many *runs*."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{path}: a page is a '.html' file, not '{path.suffix}'")
    if not 1 <= runs <= MOST_RUNS:
        raise InputError(f"runs: got {runs}; legal in a page: 1 to {MOST_RUNS}")
    refuse_existing(path, force=force)


def _title(runs: Sequence[Run]) -> str:
    return ", ".join(dict.fromkeys(run.graph_label for run in runs))
