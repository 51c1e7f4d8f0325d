"""The ``tasksim view`` command for figures and tables of runs, and drawings of machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tasksim.base.errors import CheckFailed, InputError
from tasksim.cli.command import command
from tasksim.cli.options import (
    PATH,
    force_option,
    html_option,
    json_option,
    library_option,
    output_option,
    trust_option,
)
from tasksim.cli.output import (
    note_written,
    open_page,
    print_result,
    refuse_figure,
    refuse_html,
    refuse_unwritable,
    warn,
    write_page,
)
from tasksim.cli.progress import stages
from tasksim.cli.view_drawings import asks_for, view_machine, view_octree
from tasksim.view.registry import PANELS

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.run.record import Run

STAGE_TIMES = (1, 6, 12, 12)
"""Usual relative durations of reading a run, drawing it, writing its page and its live page."""

__all__ = ["view"]


@command(
    "view",
    examples=[
        "tasksim view runs/dm",
        "tasksim view runs/native runs/simulated -o both.pdf --panels gantt,kernels",
        "tasksim view runs/dmdas --panels gantt --arrows",
        "tasksim view runs/dmdas --critical-path",
        "tasksim view runs/native runs/simulated --html both.html --open",
        "tasksim view runs/dm --live live.html",
        "tasksim view machine machine.xml -o machine.svg",
        "tasksim view octree particles=300 height=4 group_size=8 -o octree.png",
    ],
)
@click.argument(
    "runs",
    nargs=-1,
    required=True,
    type=PATH,
    metavar="RUN...|machine PLATFORM|octree KEY=VALUE...",
)
@output_option(
    "File of the figure: .png, .pdf or .svg, or .html for a machine. [default: beside the"
    " first run, RUN.png; in the current folder, PLATFORM.png or octree.png]"
)
@click.option(
    "--panels",
    metavar="NAME,...",
    help=f"Panels to draw: {', '.join(PANELS)}; of an octree: tree, groups, passes. [default:"
    " gantt, ready; memory and bandwidth for several memories, network and messages for several"
    " nodes; tree, groups for an octree]",
)
@click.option(
    "--arrows",
    is_flag=True,
    help="Draw an arrow per copy between memories in the Gantt charts; of more than 80 copies, the"
    " longest in each 1/80 of the time.",
)
@click.option(
    "--critical-path",
    is_flag=True,
    help="Print and draw the practical critical path: its kernels, copies and waits, and its costs"
    " (synchronisations, words, flop) beside the workers'.",
)
@html_option
@click.option(
    "--live",
    type=PATH,
    metavar="FILE",
    help="Live page of one run, with sliders that replay it above what it was: one .html file, as"
    " 'tasksim explore RUN -o FILE' writes it.",
)
@click.option(
    "--open", "in_browser", is_flag=True, help="Show the page of --html or --live in a browser."
)
@library_option
@trust_option
@force_option
@json_option
def view(
    runs: tuple[Path, ...],
    output: Path | None,
    panels: str | None,
    arrows: bool,
    critical_path: bool,
    html: Path | None,
    live: Path | None,
    in_browser: bool,
    library: Path | None,
    trust: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Draw runs one above another on one time axis, and print their metrics.

    A RUN is a folder that simulate or run wrote. --html writes up to four runs to a page to explore
    in a browser instead, and --live one run to a page that also replays it; they are then drawn
    only with -o.

    'machine PLATFORM' draws a machine as boxes in boxes: memories, caches, cores, GPUs. PLATFORM
    is a platform's name or file, or a file of hwloc's: lstopo --of xml.

    'octree particles=300 height=4 group_size=8' draws the cells of a fast multipole method in 2-D
    or 3-D, their groups, and the interaction list of a cell. Settings are those of the generator
    fmm, and cell=INDEX; particles=FILE.csv reads positions (columns x, y and perhaps z).
    """
    page = html or live
    if in_browser and page is None:
        raise InputError("--open shows the page that --html or --live writes: give one, too")
    if asks_for("machine", runs):
        for_runs = {
            "--panels": panels, "--arrows": arrows, "--critical-path": critical_path,
            "--trust": trust, "--live": live,
        }  # fmt: skip
        view_machine(
            runs, output, html, library,
            in_browser=in_browser, given=for_runs, force=force, as_json=as_json,
        )  # fmt: skip
        return
    if asks_for("octree", runs):
        others = {
            "--arrows": arrows, "--critical-path": critical_path, "--html": html,
            "--live": live, "--library": library, "--trust": trust,
        }  # fmt: skip
        view_octree(runs, output, panels, given=others, force=force, as_json=as_json)
        return
    if library is not None:
        raise InputError("--library is for 'view machine'; runs are folders")
    chosen = None if panels is None else _panels(panels)
    target = output or (None if page else _beside(runs[0]))
    refuse_figure(target, force=force)
    refuse_html(html, len(runs), force=force)
    if live is not None:
        if len(runs) > 1:
            raise InputError(f"--live: got {len(runs)} runs; a live page replays one")
        from tasksim.view.page.document import refuse_page

        refuse_page(live, force=force)
        refuse_unwritable(live)
    from tasksim.formats.runs import load_run
    from tasksim.run.metrics import summary

    steps = zip(STAGE_TIMES[1:], (target, html, live), strict=True)
    durations = [STAGE_TIMES[0], *(duration for duration, path in steps if path is not None)]
    with stages("view", durations) as begin:
        begin("reading runs")
        loaded = [load_run(path) for path in runs]
        for path, run in zip(runs, loaded, strict=True):
            _warn_of_impossible(run, path)
        if target is not None:
            from tasksim.view.figure import figure, save_figure

            begin("drawing")
            if critical_path:
                chosen = _with_path(loaded, chosen)
            save_figure(figure(loaded, chosen, arrows=arrows), target, force=force)
        if html is not None:
            begin("writing the page")
            write_page(runs, loaded, html, force=force, trust=trust)
        if live is not None:
            from tasksim.view.live.page import explore, scenario_of_run

            begin("writing the live page")
            asked = scenario_of_run(loaded[0], runs[0], trust=trust)
            if refused := explore(asked, live, force).refused:
                warn(f"{live} shows the recording only: {refused}")
    described, texts = [], []
    for path, run in zip(runs, loaded, strict=True):
        facts, text = {"path": path, **summary(run)}, _text(path, run)
        if critical_path:
            facts["critical_path"], of_path = _path(run, trust)
            text += f"\n\n{of_path}"
        described.append(facts)
        texts.append(text)
    result = {"runs": described, "figure": target, "html": html, "live": live}
    print_result(result, "\n\n".join(texts), as_json=as_json)
    note_written(target, html, live)
    if in_browser and page is not None:
        open_page(page)


def _panels(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        try:
            PANELS.resolve(name)
        except InputError as error:
            raise InputError(f"--panels: {error}") from error
    return names


def _warn_of_impossible(run: Run, path: Path) -> None:
    """Warn of impossible records, whose figures and tables mean little."""
    from tasksim.run.runchecks import check_records

    try:
        check_records(run, path)
    except CheckFailed as error:
        warn(str(error))


def _beside(path: Path) -> Path:
    folder = path.parent if path.name == "run.json" else path
    folder = folder.resolve()
    return folder.with_name(f"{folder.name}.png")


def _text(path: Path, run: Run) -> str:
    from tasksim.view.texttables import (
        kernel_table,
        memory_table,
        run_summary,
        transfer_table,
        worker_table,
    )

    tables = [kernel_table, worker_table]
    tables += [memory_table, transfer_table] if run.transfers is not None else []
    return "\n\n".join([f"{path}\n{run_summary(run)}", *(of(run) for of in tables)])


def _with_path(runs: list[Run], chosen: list[str] | None) -> list[str]:
    """Return the default panels, or those *chosen*, and the path's."""
    if chosen is None:
        known = PANELS.items().items()
        chosen = [name for name, p in known if p.by_default and any(map(p.shows, runs))]
    return [*chosen, "path"]


def _path(run: Run, trust: bool) -> tuple[dict[str, Any], str]:
    """Return the practical critical path of a run, as plain data and as text."""
    from tasksim.run.network import path_messages
    from tasksim.run.pathprofile import path_profile
    from tasksim.view.rungraph import graph_of_run
    from tasksim.view.texttables import (
        path_cost_table,
        path_message_line,
        path_profile_table,
        slack_table,
    )

    profile = path_profile(run, graph_of_run(run, trust=trust))
    facts = profile.to_json()
    parts = ["practical critical path", path_profile_table(profile)]
    if run.messages is not None:
        messages = path_messages(run)
        facts["messages"] = messages.to_json()
        parts += ["", path_message_line(messages)]
    if profile.costs is None:
        parts.append("no costs: the graph of this run cannot be made again")
    else:
        parts += ["", path_cost_table(profile), "", slack_table(profile)]
    return facts, "\n".join(parts)
