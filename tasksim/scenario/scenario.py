"""Scenario of a task graph, a platform, kernel models, a scheduler and other settings.

``Scenario("cholesky tiles=20", platform="xeon-2c", scheduler="dm").solve()`` is a run.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tasksim.scenario.setup import Clock, Noise, Setup

if TYPE_CHECKING:
    from pathlib import Path

    from tasksim.engine.choice import Engine
    from tasksim.native.threads import Progress
    from tasksim.run.record import Run

__all__ = ["Clock", "Noise", "Scenario"]


class Scenario(Setup):
    """A task graph, its platform, and the settings of its runs.

    Names stand for entries of the libraries and registries; they are looked up when the scenario is
    resolved or solved, not before. An object made in Python, such as a graph, can take the place of
    a name. Scenarios of names alone can be written and read, compared, sent to other processes, and
    identified by their :attr:`fingerprint`.

    Parameters
    ----------
    graph : str, Path, TaskGraph or Run
        The name of a generator, with settings if wanted (``"cholesky tiles=20"``), or of a file or
        run folder; a graph; or a recorded run.
    settings : mapping or sequence of str, default ()
        Of the generator: ``{"tiles": 20}`` or ``["tiles=20"]``.
    platform : str, Path, Platform or None, default None
        A name, a file, or a platform. None: *workers*, or where a recorded run ran; natively,
        this machine.
    workers : int or None, default None
        Instead of a platform: so many, without overheads; natively threads, one per usable core.
    models : str, Path, models or None, default None
        Kernel models: a folder or file, or an object. None: those of the platform.
    durations : str, mapping or None, default None
        Instead of models: seconds per kernel, or per ``ARCHITECTURE:KERNEL``; as text with units
        if wanted (``"potrf=1,gemm=60 ms"``). Of a recorded run: ``"measured"``, ``"means"`` or
        ``"alone"``: measured, less what others took.
    model_names : str, Path, mapping or None, default None
        Their names: ``"model_{kernel}"``, ``"gemm=model_22,..."``, a mapping, a YAML file of one.
    library : str, Path or None, default None
        A folder with ``platforms/`` and ``models/`` that is searched before the others.
    changes : sequence of str, default ()
        As ``--set`` has them: ``"platform.workers.cpu.count=24"``,
        ``"engine.simultaneous_pushes=blind"``, ``"engine.submission=recorded"``,
        ``"engine.far_data=mean"``.
    scheduler : str, Scheduler or class, default "lws"
        A name, with options if wanted (``"dmda:alpha=2"``); a scheduler, or its class.
    seed : int, default 0
        For random choices and draws: same seed, same run.
    noise : {"none", "model"}, default "none"
        What a task costs: its model's mean, or a draw from its distribution.
    clock : {"simulated", "native"}, default "simulated"
        Whether the graph is replayed, or executed on this machine.
    pin : bool, default True
        Natively, whether each thread keeps to a core of its own.
    runtime : {"auto", "python", "compiled"}, default "auto"
        Natively, what is between two tasks: the compiled core where it is there, or Python.
    network : str, Path or None, default None
        Between nodes: ``"switch:bandwidth=4GB/s,latency=1us"``, a name or a file.
    nodes : int or None, default None
        How many, each of them the platform.
    grid : str or None, default None
        Their rows and columns, ``"2x4"``.
    owner : str, default "row"
        Which node owns what: ``row``, ``column``, ``diamond``, ``round-robin``, ``morton``.

    Raises
    ------
    InputError
        If a value is none of these, or two of them exclude each other.

    See Also
    --------
    tasksim.simulate, tasksim.execute : the same in one call.

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
        progress: Progress | None = None,
        engine: Engine = "auto",
    ) -> Run:
        """Return the run: simulated, or executed on this machine.

        Parameters
        ----------
        check : bool, default False
            Verify every invariant of the run; natively also what was computed.
        progress : callable, optional
            Natively, called a few times per second with how many tasks are done, and of how many.
        engine : {"auto", "simpy", "compiled"}, default "auto"
            What replays a simulated run; the result is the same to the last bit. ``auto``: the
            compiled core where it is there and knows all that is asked, else SimPy's engine.

        Returns
        -------
        Run
            With this scenario in its ``config``, so that it can be made again.

        Raises
        ------
        InputError
            If something that is named is not there, or does not go together.
        CheckFailed
            If *check* finds anything wrong.
        """
        from tasksim.scenario.resolved import resolve
        from tasksim.scenario.solving import solve

        return solve(resolve(self), check=check, progress=progress, engine=engine)

    def explore(self, path: str | Path | None = None, force: bool = False) -> Any:
        """Return a page on which sliders change the scenario, which is replayed in the browser.

        Parameters
        ----------
        path : str, Path or None, default None
            Where to write the page, a file ``.html``; None: nowhere. A notebook shows it in a cell.
        force : bool, default False
            Whether to replace a file that is there.

        Returns
        -------
        LivePage

        Raises
        ------
        InputError
            If the scenario cannot be solved, or *path* exists and *force* is not given.

        See Also
        --------
        tasksim.explore : the same as a function.
        """
        # By name: a page is made of rooms above this one.
        return import_module("tasksim.view.live.page").explore(self, path, force)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the scenario and of the files it names, which identifies it.

        Cheap: no graph is made and no model is read. Raises :exc:`InputError` if something was
        made in Python, which has no lasting name.
        """
        from tasksim.scenario.fingerprints import fingerprint

        return fingerprint(self)

    # JSON

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON data, as ``run.json`` has them; see :mod:`tasksim.scenario.document`.

        Raises :exc:`InputError` if something was made in Python, which has no lasting name.
        """
        from tasksim.scenario.document import encode

        return encode(self)

    @classmethod
    def from_json(cls, data: Any, *, trust: bool = False) -> Scenario:
        """Return the scenario that :meth:`to_json` has written, also an earlier version of it.

        Parameters
        ----------
        data : dict
            Plain JSON data.
        trust : bool, default False
            Whether a generator or a scheduler that they name as ``MODULE:NAME`` is imported;
            else only registered names are legal.

        Raises
        ------
        InputError
            If it is none, or names what would have to be imported.
        """
        from tasksim.scenario.document import decode

        return decode(cls, data, trust=trust)
