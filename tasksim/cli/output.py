"""The output of commands, as one JSON object or as text, and the run that they store."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from tasksim.base.errors import InputError, TasksimError
from tasksim.base.log import Log
from tasksim.base.units import format_size

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run

__all__ = [
    "SCHEMA_VERSION",
    "ResultOptions",
    "describe_graph",
    "describe_run",
    "nodes_of",
    "note",
    "note_written",
    "open_page",
    "print_json",
    "print_result",
    "print_run",
    "refuse_figure",
    "refuse_file",
    "refuse_html",
    "refuse_unwritable",
    "warn",
    "write_page",
]

_log = Log("cli")

SCHEMA_VERSION = 1
"""Version of the JSON that commands print; it grows if a key changes its meaning or is removed."""


def print_json(data: dict[str, Any]) -> None:
    """Print one JSON object on stdout, ``schema_version`` first."""
    import json

    whole = _plain({"schema_version": SCHEMA_VERSION, **data})
    click.echo(json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False))


def _plain(value: Any) -> Any:
    """Return *value* as plain JSON; numbers that are not finite are null."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_result(result: dict[str, Any], text: str | Iterable[str], *, as_json: bool) -> None:
    """Print *result* as JSON, or else its *text*, whole or line by line."""
    if as_json:
        print_json(result)
    else:
        click.echo(text if isinstance(text, str) else "\n".join(text))


def print_run(run: Run, more: str = "") -> None:
    """Print the summary of a run, with *more* lines below it, and the table of its kernels."""
    from tasksim.view.texttables import kernel_table, run_summary

    click.echo(f"{run_summary(run)}{more}\n\n{kernel_table(run)}")


def note(message: str) -> None:
    """Print a message on stderr."""
    _log.info("%s", message)
    click.echo(message, err=True)


def note_written(*paths: Path | None) -> None:
    """Print on stderr which files or folders were written; None stands for no file."""
    for path in paths:
        if path is not None:
            note(f"Wrote {path}")


def warn(message: str) -> None:
    """Print a warning on stderr."""
    _log.warning("%s", message)
    click.echo(f"Warning: {message}", err=True)


def describe_graph(graph: TaskGraph) -> dict[str, Any]:
    """Return the graph as commands print it."""
    return {
        "name": graph.name,
        "arguments": dict(graph.arguments),
        "tasks": len(graph),
        "edges": graph.edges,
    }


def describe_run(run: Run, graph: TaskGraph) -> dict[str, Any]:
    """Return a run as commands print it."""
    from tasksim.run.copystatistics import transfer_summary
    from tasksim.run.metrics import (
        efficiency,
        idle_s,
        idle_time,
        idleness_percent,
        kernel_statistics,
    )

    names = [worker.name for worker in run.workers]
    described = {
        "kind": run.kind,
        "graph": describe_graph(graph),
        "platform": run.platform,
        "workers": len(run.workers),
        "scheduler": run.scheduler,
        "seed": run.seed,
        "makespan_s": run.makespan_s,
        "work_s": float(run.tasks.duration_s.sum()),
        "bounds": run.bounds,
        "efficiency": efficiency(run),
        "idle_s": dict(zip(names, idle_s(run).tolist(), strict=True)),
        "idle_percent": dict(zip(names, idleness_percent(run).tolist(), strict=True)),
        "idle_waits_s": dict(zip(names, idle_time(run).of_workers(), strict=True)),
        **nodes_of(run),
        "transfers": transfer_summary(run),
        "evictions": run.evictions,
        "kernels": {
            s.kernel: {"tasks": s.count, "total_s": s.total_s, "mean_s": s.mean_s}
            for s in kernel_statistics(run)
        },
    }
    if run.numa is not None:
        described["numa"] = run.numa.to_json()
    if run.far_data is not None:
        described["far_data"] = run.far_data._asdict()
    if run.power is not None:
        from tasksim.run.energy import energy

        described["energy"] = energy(run).to_json(run)
    if run.kind == "native":
        from tasksim.run.others import disturbance_account

        described["disturbance"] = disturbance_account(run)
    return described


def nodes_of(run: Run) -> dict[str, Any]:
    """Return the output about nodes of a simulation over nodes; empty for others."""
    asked = run.config.get("cluster")
    if run.kind != "simulated" or asked is None:
        return {}
    from tasksim.graph.distribution.owners import nearly_square

    nodes = max(worker.node for worker in run.workers) + 1 if run.messages is not None else 1
    square = "{}x{}".format(*nearly_square(nodes))
    count = 0 if run.messages is None else len(run.messages)
    size = 0 if run.messages is None else int(run.messages.size_bytes.sum())
    return {
        "nodes": nodes,
        "grid": asked["grid"] or square,
        "messages": {"count": count, "bytes": size},
    }


@dataclass(frozen=True)
class ResultOptions:
    """The destination of a command's results."""

    output: Path | None
    gantt: Path | None
    force: bool
    as_json: bool

    def refuse_early(self) -> None:
        """Refuse, before any work is done, outputs that could not be written after it."""
        if self.output is not None:
            from tasksim.formats.runs import refuse_run

            refuse_run(self.output, force=self.force)
            refuse_unwritable(self.output)
        refuse_figure(self.gantt, force=self.force)
        if self.output is not None and self.output == self.gantt:
            raise InputError(f"--output and --gantt are both {self.output}; give two names")

    def keep(self, run: Run) -> None:
        """Write the run and its Gantt chart, if the options ask for them."""
        if self.output is not None:
            from tasksim.cli.progress import counting
            from tasksim.formats.runs import save_run

            with counting("writing", ticking=True) as progress:
                save_run(run, self.output, force=self.force, progress=progress)
            note_written(self.output)
        self.draw(run)

    def draw(self, run: Run) -> None:
        """Write the Gantt chart of a run if the options ask for it."""
        if self.gantt is not None:
            from tasksim.cli.progress import stages
            from tasksim.view.figure import figure, save_figure

            with stages("drawing", [3, 1]) as begin:
                begin("the chart")
                drawn = figure(run)
                begin("the file")
                save_figure(drawn, self.gantt, force=self.force)
            note_written(self.gantt)


def refuse_figure(path: Path | None, *, force: bool) -> None:
    """Raise if no figure can be written to *path*; None stands for no figure."""
    if path is None:
        return
    from tasksim.base.files import refuse_existing
    from tasksim.view.figure import FORMATS

    if path.suffix.lower() not in FORMATS:
        what = f"cannot draw a '{path.suffix}' file" if path.suffix else "the name has no ending"
        raise InputError(f"{path}: {what} (legal: {', '.join(FORMATS)})")
    refuse_existing(path, force=force)
    if path.is_dir():
        raise InputError(f"{path} is a folder, not a figure; choose another name")
    refuse_unwritable(path)


def refuse_file(path: Path | None, what: str, legal: Sequence[str], *, force: bool) -> None:
    """Raise, before any work is done, unless *what* may go to *path*, of a *legal* suffix.

    None stands for no file.
    """
    if path is None:
        return
    from tasksim.base.files import refuse_existing

    if path.suffix not in legal:
        raise InputError(f"{path}: {what} are {' or '.join(legal)} files; got '{path.suffix}'")
    refuse_existing(path, force=force)
    refuse_unwritable(path)


def refuse_unwritable(path: Path) -> None:
    """Raise :exc:`InputError` if *path* can already be seen to be unwritable."""
    from tasksim.base.folders import why_unwritable

    reason = why_unwritable(path)
    if reason is not None:
        raise InputError(f"cannot write {path}: {reason}")


_LARGE_BYTES: Final = 20_000_000
"""Size in bytes, of about a million tasks, above which a browser takes many seconds."""


def refuse_html(path: Path | None, runs: int, *, force: bool) -> None:
    """Refuse, before any work is done, a page that could not be written; None is no page."""
    if path is None:
        return
    from tasksim.view.page.document import refuse_page

    refuse_page(path, runs, force=force)
    refuse_unwritable(path)


def write_page(
    paths: Sequence[Path], runs: Sequence[Run], target: Path, *, force: bool, trust: bool
) -> None:
    """Write *runs*, read from *paths*, to a page; say so if it is large."""
    from tasksim.view.page.document import save_page

    save_page(runs, target, force=force, names=_page_names(paths), trust=trust)
    from tasksim.formats.graphs import graph_of
    from tasksim.view.rungraph import graph_of_run

    for path, run in zip(paths, runs, strict=True):
        if graph_of_run(run, trust=trust) is None:
            try:
                graph_of(run, path, trust=trust)
            except TasksimError as error:
                note(f"note: the page shows only the dependency that released each task: {error}")
    size = target.stat().st_size
    if size > _LARGE_BYTES:
        warn(f"{target} has {format_size(size)}, which a browser takes long to open")


def open_page(path: Path) -> None:
    """Show a page in the user's browser."""
    import webbrowser

    if not webbrowser.open(path.resolve().as_uri()):
        note(f"no browser was found on this machine; open {path} in one")


def _page_names(paths: Sequence[Path]) -> list[str]:
    """Return names of runs: their folders, with enough parent folders to make them unique."""
    folders = [path.parent if path.name == "run.json" else path for path in paths]
    parts = [folder.resolve().parts for folder in folders]
    for count in range(1, max(map(len, parts)) + 1):
        names = ["/".join(some[-count:]) for some in parts]
        if len(set(names)) == len(names):
            return names
    return [f"{folder.name} ({number})" for number, folder in enumerate(folders, 1)]
