"""Scenario of a task graph, a platform, kernel models, a scheduler and other settings.

``Scenario("cholesky tiles=20", platform="xeon-2c", scheduler="dm").solve()`` is a run.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tasksim.scenario.setup import ClockKind, Setup

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tasksim.base.progress import CountProgress
    from tasksim.engine.choice import Engine
    from tasksim.run.record import Run

__all__ = ["ClockKind", "Scenario"]


class Scenario(Setup):
    """A task graph, its platform, and the settings of its runs.

    Names stand for entries of the libraries and registries; the scenario looks them up when it is
    resolved or solved, not before. An object made in Python, such as a graph, can take the place of
    a name. Scenarios of names alone can be written and read, compared, sent to other processes, and
    identified by their :attr:`fingerprint`.

    Parameters
    ----------
    graph : str, Path, TaskGraph or Run
        The name of a generator, with settings if wanted (``"cholesky tiles=20"``), or of a file or
        run folder; a graph; or a recorded run.
    settings : mapping or sequence of str, default ()
        Settings of the generator: ``{"tiles": 20}`` or ``["tiles=20"]``.
    platform : str, Path, Platform or None, default None
        A name, a file, or a platform. None: *workers*, or the platform of a recorded run; for the
        native clock, this machine.
    workers : int or None, default None
        Number of identical workers without overheads, instead of a platform; for the native clock,
        number of threads, by default one per usable core.
    models : str, Path, models or None, default None
        Kernel models: a folder or file, or an object. None: those of the platform.
    durations : str, mapping or None, default None
        Seconds per kernel, or per ``ARCHITECTURE:KERNEL``, instead of models; a text may have units
        (``"potrf=1,gemm=60 ms"``). For a recorded run: ``"measured"``, ``"means"``, or
        ``"alone"``, the measured durations without the time of other programs.
    model_names : str, Path, mapping or None, default None
        Names of the models: ``"model_{kernel}"``, ``"gemm=model_22,..."``, a mapping, or a YAML
        file of one.
    library : str, Path or None, default None
        Library to search before the others: a folder with ``platforms/`` and ``models/``.
    changes : sequence of str, default ()
        Changes as for ``--set``: ``"platform.workers.cpu.count=24"``,
        ``"network.links.*.latency=x2"``,
        ``"engine.simultaneous_pushes=blind"``, ``"engine.submission=recorded"``,
        ``"engine.far_data=mean"``.
    scheduler : str, Scheduler or class, default "lws"
        A name, with options if wanted (``"dmda:alpha=2"``); a scheduler, or its class.
    seed : int, default 0
        Seed of random choices and draws; the same seed gives the same run.
    noise : {"none", "model"}, default "none"
        Cost of a task: its model's mean, or a draw from its model's distribution.
    clock : {"simulated", "native"}, default "simulated"
        Replay the graph, or execute it on this machine.
    pin : bool, default True
        For the native clock: pin each thread to a core of its own.
    runtime : {"auto", "python", "compiled"}, default "auto"
        For the native clock: code between two tasks, the compiled core if it is built, or Python.
    network : str, Path or None, default None
        Network between the nodes: ``"switch:bandwidth=4GB/s,latency=1us"``, a name or a file.
    nodes : int or None, default None
        Number of nodes, each a copy of the platform.
    grid : str or None, default None
        Rows and columns of nodes, ``"2x4"``.
    owner : str, default "row"
        Distribution of the data over nodes: ``row``, ``column``, ``diamond``, ``round-robin``,
        ``morton``.

    Raises
    ------
    InputError
        If a value is illegal, or two values exclude each other.

    See Also
    --------
    tasksim.simulate, tasksim.execute : Make and solve a scenario in one call.

    Examples
    --------
    >>> seconds = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
    >>> scenario = Scenario("cholesky tiles=2", workers=2, durations=seconds)
    >>> scenario
    <Scenario cholesky tiles=2, 2 workers, lws>
    >>> scenario.solve().makespan_s
    8.0
    >>> [s.solve().makespan_s for s in scenario.variants({"graph.tiles": [1, 3]})]
    [1.0, 20.0]
    """

    def solve(
        self,
        *,
        check: bool = False,
        progress: CountProgress | None = None,
        engine: Engine = "auto",
    ) -> Run:
        """Return the run of the scenario, simulated or executed on this machine.

        Parameters
        ----------
        check : bool, default False
            Verify every invariant of the run, and the result of a native run.
        progress : callable, optional
            Called by a native run, a few times per second, with the number of finished tasks and
            of all tasks.
        engine : {"auto", "simpy", "compiled"}, default "auto"
            Engine of a simulated run; the result is the same to the last bit. ``auto``: the
            compiled core if it is built and supports the scenario, else SimPy's engine.

        Returns
        -------
        Run
            Its ``config`` has this scenario, so that the run can be repeated.

        Raises
        ------
        InputError
            If a name is unknown, or its parts do not go together.
        CheckFailed
            If *check* finds a wrong result.
        """
        from tasksim.scenario.resolved import resolve
        from tasksim.scenario.solving import solve

        return solve(resolve(self), check=check, progress=progress, engine=engine)

    def explore(
        self,
        path: str | Path | None = None,
        force: bool = False,
        *,
        over: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return a page on which sliders change the scenario, which is replayed in the browser.

        Parameters
        ----------
        path : str, Path or None, default None
            Where to write the page, a file ``.html``; None: nowhere. A notebook shows it in a cell.
        force : bool, default False
            Whether to replace a file that is there.
        over : mapping or None, default None
            Sliders for parameters of the graph's generator: by the name of each its values, a list
            or a text such as ``"4..24"``; None: usual ones, an empty mapping: none.

        Returns
        -------
        LivePage

        Raises
        ------
        InputError
            If the scenario cannot be solved, the graph has no such parameters or values, or *path*
            exists and *force* is not given.

        See Also
        --------
        tasksim.explore : the same as a function.
        """
        # By name: a page is made of rooms above this one.
        return import_module("tasksim.view.live.page").explore(self, path, force, over=over)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the scenario and of the files it names, which identifies it.

        It is cheap: it makes no graph and reads no model. Raises :exc:`InputError` if the scenario
        has an object that was made in Python.
        """
        from tasksim.scenario.fingerprints import fingerprint

        return fingerprint(self)

    # JSON

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON data, as in ``run.json``; see :mod:`tasksim.scenario.document`.

        Raises :exc:`InputError` if the scenario has an object that was made in Python.
        """
        from tasksim.scenario.document import encode

        return encode(self)

    @classmethod
    def from_json(cls, data: Any, *, trust: bool = False) -> Scenario:
        """Return the scenario in data that :meth:`to_json`, or an earlier version of it, wrote.

        Parameters
        ----------
        data : dict
            Plain JSON data.
        trust : bool, default False
            Import a generator or a scheduler given as ``MODULE:NAME``; otherwise only registered
            names are legal.

        Raises
        ------
        InputError
            If the data are not a scenario, or name code to import without *trust*.
        """
        from tasksim.scenario.document import decode

        return decode(cls, data, trust=trust)
