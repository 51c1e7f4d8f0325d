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
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasksim.base.arguments import flag, path_of
from tasksim.base.errors import InputError, short
from tasksim.base.files import write_text
from tasksim.core.library import WASM_PATH, wasm_status
from tasksim.run.record import Run
from tasksim.runtime.flat import Refused
from tasksim.scenario.resolved import Resolver
from tasksim.scenario.scenario import Scenario
from tasksim.scenario.solving import solve
from tasksim.view.colours import kernel_colours
from tasksim.view.live.parameters import asked_axes, one_graph
from tasksim.view.live.question import Unanswerable, live_question
from tasksim.view.page.document import assembled, bundle, packed_runs, refuse_page
from tasksim.view.page.tables import subject_of

if TYPE_CHECKING:
    from tasksim.scenario.setup import Setup
    from tasksim.view.live.axes import LiveAxis
    from tasksim.view.live.parameters import Over
    from tasksim.view.live.question import LiveQuestion

__all__ = ["LivePage", "explore", "live_page", "scenario_of_run"]


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
    graphs : int
        The number of graphs in the page: one per combination of parameters.
    sliders : dict of str to list
        The values of the sliders for parameters of the graph.
    left_out : list of str
        Values of these parameters that are not in the page, with the reason.
    """

    def __init__(self, html: str, refused: str, run: Run) -> None:
        self.html, self.refused, self.run = html, refused, run
        self.graphs = 1
        self.sliders: dict[str, list[Any]] = {}
        self.left_out: list[str] = []

    def save(self, path: str | Path, force: bool = False) -> None:
        """Write the page to a file ``.html``, all or nothing.

        Raises :exc:`InputError` if the suffix is another, or *path* exists and *force* is not
        given.
        """
        flag(force, "force")
        target = path_of(path, "path")
        refuse_page(target, force=force)
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
    what: Scenario | Run | str | Path,
    path: str | Path | None = None,
    force: bool = False,
    *,
    over: Over | None = None,
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
    over : mapping or None, default None
        Sliders for parameters of the graph's generator: by the name of each its values, a list
        or a text such as ``"4..24"``, ``"128,256,512"``, ``"64..512:log"``. Settings of the
        scenario may have such texts, too. None: all whole numbers, around their present values,
        while the graphs are few and small; an empty mapping: none.

    Raises
    ------
    InputError
        If the scenario is none, is native or cannot be solved, the graph has no such parameters or
        values, the graphs are too many, or *path* exists and *force* is not given.

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
    >>> page = tasksim.explore(scenario, over={"tiles": "2..8:2"})  # doctest: +SKIP
    >>> page.graphs, page.sliders  # doctest: +SKIP
    (4, {'tiles': [2, 4, 6, 8]})
    """
    flag(force, "force")
    if path is not None:
        refuse_page(path_of(path, "path"), force=force)
    page = live_page(_scenario(what), over=over)
    if path is not None:
        page.save(path, force)
    return page


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


def live_page(scenario: Setup, told: Setup | None = None, over: Over | None = None) -> LivePage:
    """Return the page of a scenario, with sliders *over* parameters of its graph.

    Its command asks the scenario *told*, if the files will have other names by then.
    """
    scenario, several = one_graph(scenario)
    asked: list[LiveAxis] | None = None
    if over is not None and not isinstance(over, Mapping):
        raise InputError(f"over: got {short(over)}; legal: a mapping, parameter to values")
    if over is not None or several:
        asked = asked_axes(scenario, {**several, **(over or {})})
    resolver = Resolver()
    resolved = resolver.resolve(scenario)
    run = solve(resolved, digests=False)
    header, data = packed_runs([subject_of(run, "base")], resolved.graph.name)
    header["title"] = scenario.graph_label
    live: dict[str, Any] = {"refused": "", "command": _command(told or resolved.scenario)}
    question: LiveQuestion | None = None
    try:
        question = live_question(resolved, resolver, asked)
    except (Unanswerable, Refused) as error:
        live["refused"] = str(error)
    core = wasm_status()
    if question is not None and not core.available:
        live["refused"] = f"the core for browsers is {core.why}"
    elif question is not None:
        header["kernel_colours"] = kernel_colours([*run.kernel_names, *question.kernels])
        live["command"]["settings"] = question.settings
        # By the ids of their elements: the data, and the columns of each graph.
        first, *others = question.shelves
        live["columns"] = first.layout
        data |= {"live": _packed(question.data), "live-columns": first.text()}
        for number, (graph, shelf) in enumerate(zip(question.graphs, others, strict=True), 1):
            data[f"graph-{number}"] = _packed({**graph, "columns": shelf.layout})
            data[f"graph-{number}-columns"] = shelf.text()
        data["core"] = base64.b64encode(zlib.compress(WASM_PATH.read_bytes(), 9)).decode("ascii")
        data["worker"] = bundle("liveworker")
    header["live"] = live
    html = assembled(scenario.graph_label, header, data, main="livemain", computes="core" in data)
    page = LivePage(html, live["refused"], run)
    if question is not None and not page.refused:
        page.graphs = 1 + len(question.graphs)
        page.sliders = {axis.name: list(axis.values) for axis in question.parameters}
        page.left_out = question.left_out
    return page


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
    return {
        "words": ["tasksim", "simulate", scenario.graph] if named else None,
        "settings": {"": scenario.settings},
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
