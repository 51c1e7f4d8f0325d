"""Live pages: a scenario in one HTML file, which replays it as its sliders say.

The page is that of a run (:mod:`tasksim.view.page`), with the question as data
(:mod:`tasksim.view.live.question`) and the compiled core as WebAssembly beside the recording. It
loads nothing and sends nothing; where the core cannot be started it says so, and shows the
recording.
"""

from __future__ import annotations

import base64
import json
import zlib
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasksim.base.arguments import flag, path_of, short
from tasksim.base.errors import InputError
from tasksim.base.files import refuse_existing, write_text
from tasksim.core.library import WASM_PATH, wasm_status
from tasksim.run.record import Run
from tasksim.runtime.flat import Refused
from tasksim.scenario.resolved import Resolver
from tasksim.scenario.scenario import Scenario
from tasksim.scenario.solving import solve
from tasksim.view.live.question import Unanswerable, live_question
from tasksim.view.page.document import assembled, bundle, packed_runs
from tasksim.view.page.tables import subject_of

if TYPE_CHECKING:
    from tasksim.scenario.setup import Setup

__all__ = ["LivePage", "explore", "live_page", "refuse_live_page", "scenario_of_run"]


class LivePage:
    """A live page, as HTML; a notebook shows it in a cell.

    Attributes
    ----------
    html : str
        The page.
    refused : str
        Why it only shows the recording; empty if it replays.
    run : Run
        The run of the scenario itself.
    """

    def __init__(self, html: str, refused: str, run: Run) -> None:
        self.html, self.refused, self.run = html, refused, run

    def save(self, path: str | Path, force: bool = False) -> None:
        """Write the page to a file ``.html``, all or nothing.

        Raises :exc:`InputError` if the suffix is another, or *path* exists and *force* is not
        given.
        """
        flag(force, "force")
        target = path_of(path, "path")
        refuse_live_page(target, force=force)
        write_text(target, self.html, force=force)

    def __repr__(self) -> str:
        return f"<LivePage of {self.run.graph_label}: {len(self.html) / 1e6:.1f} MB>"

    def _repr_html_(self) -> str:
        """Return a frame with the page for a notebook; it needs no network."""
        return (
            f'<iframe srcdoc="{escape(self.html)}" style="width:100%;height:640px;border:0"'
            ' sandbox="allow-scripts allow-downloads"></iframe>'
        )


def explore(
    what: Scenario | Run | str | Path, path: str | Path | None = None, force: bool = False
) -> LivePage:
    """Return a page to explore a scenario in a browser: sliders change it, and it is replayed.

    Parameters
    ----------
    what : Scenario, Run, str or Path
        The scenario; or a simulated run, or its folder, whose scenario it is.
    path : str, Path or None, default None
        Where to write the page, a file ``.html``; None: nowhere.
    force : bool, default False
        Whether to replace a file that is there.

    Raises
    ------
    InputError
        If the scenario is none, is native or cannot be solved, or *path* exists and *force* is not
        given.

    See Also
    --------
    save_page : writes recorded runs to a page.

    Examples
    --------
    >>> import tasksim
    >>> seconds = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
    >>> scenario = tasksim.Scenario("cholesky tiles=4", workers=2, durations=seconds)
    >>> tasksim.explore(scenario, "live.html")  # doctest: +SKIP
    <LivePage of cholesky tiles=4: 0.9 MB>
    """
    flag(force, "force")
    if path is not None:
        refuse_live_page(path_of(path, "path"), force=force)
    page = live_page(_scenario(what))
    if path is not None:
        page.save(path, force)
    return page


def refuse_live_page(path: Path, *, force: bool) -> None:
    """Raise, before the work is done, for a path where no page can be written."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{path}: a page is a '.html' file, not '{path.suffix}'")
    refuse_existing(path, force=force)


def _scenario(what: Any) -> Scenario:
    if isinstance(what, Scenario):
        found = what
    elif isinstance(what, Run):
        found = scenario_of_run(what)
    elif isinstance(what, str | Path):
        from tasksim.formats.runs import load_run

        found = scenario_of_run(load_run(what), Path(what))
    else:
        raise InputError(f"explore: got {short(what)}; legal: a Scenario, a Run, or its folder")
    if found.clock != "simulated":
        raise InputError(f"{found.label}: a live page is simulated; give clock='simulated'")
    return found


def scenario_of_run(run: Run, where: Path | None = None, *, trust: bool = False) -> Scenario:
    """Return the scenario of a simulated run; of a native one, the run as a graph to replay.

    With *trust*, what the run names as ``MODULE:NAME`` is imported.
    """
    from tasksim.scenario.recorded import scenario_of

    if run.kind == "simulated":
        return scenario_of(run, where or Path(run.graph_label), trust=trust)
    graph: Any = run if where is None else str(where)
    return Scenario(graph, scheduler=run.scheduler)


def live_page(scenario: Setup, told: Setup | None = None) -> LivePage:
    """Return the page of a scenario.

    Its command asks the scenario *told*, if the files will have other names by then.
    """
    resolver = Resolver()
    resolved = resolver.resolve(scenario)
    run = solve(resolved, digests=False)
    header, data = packed_runs([subject_of(run, "base")], resolved.graph.name)
    header["title"] = scenario.graph_label
    live: dict[str, Any] = {"refused": "", "command": _command(told or resolved.scenario)}
    try:
        question, columns = live_question(resolved, resolver)
        live["columns"] = columns.layout
        data["live"] = _packed(question)
        data["live-columns"] = columns.text()
    except (Unanswerable, Refused) as error:
        live["refused"] = str(error)
    core = wasm_status()
    if not live["refused"] and not core.available:
        live["refused"] = f"the core for browsers is {core.why}"
    if not live["refused"]:
        data["core"] = base64.b64encode(zlib.compress(WASM_PATH.read_bytes(), 9)).decode("ascii")
        data["worker"] = bundle("liveworker")
    header["live"] = live
    html = assembled(scenario.graph_label, header, data, main="livemain", computes="core" in data)
    return LivePage(html, live["refused"], run)


def _packed(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode())).decode("ascii")


def _command(scenario: Setup) -> dict[str, Any]:
    """Return the words of the command that asks a scenario, in parts that the page changes.

    ``words`` is None for a scenario with objects made in Python, which no command can name.
    """
    names = (scenario.graph, scenario.platform, scenario.models, scenario.scheduler)
    named = all(value is None or isinstance(value, str) for value in names)
    options: list[str] = []
    for option in ("platform", "models", "model_names", "library"):
        value: Any = getattr(scenario, option)
        if isinstance(value, tuple):
            value = ",".join(f"{kernel}={model}" for kernel, model in value)
        if value is not None and named:
            options += [f"--{option.replace('_', '-')}", value]
    graph = [scenario.graph, *scenario.settings] if named else []
    return {
        "words": ["tasksim", "simulate"] if named else None,
        "graph": graph,
        "workers": scenario.workers,
        "nodes": scenario.nodes,
        "grid": scenario.grid,
        "network": scenario.network,
        "owner": scenario.owner if scenario.is_on_nodes else None,
        "options": options,
        "named": scenario.models is not None or scenario.model_names is not None,
        "changes": list(scenario.changes),
        "durations": scenario.durations,
    }
