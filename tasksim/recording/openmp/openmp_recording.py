"""Recording of an OpenMP program, with its run, its task graph and how it ended."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.arguments import path_of
from tasksim.base.errors import InputError, TasksimError, expect, nearest
from tasksim.base.files import bare_name, is_file, is_folder, near_file
from tasksim.base.units import duration_text
from tasksim.native.this_machine import usable_cores
from tasksim.recording.log import counted
from tasksim.recording.openmp.account import account_of, costs_of
from tasksim.recording.openmp.data_map import DataMap, data_map
from tasksim.recording.openmp.history import history_of
from tasksim.recording.openmp.names import renaming, site_names
from tasksim.recording.openmp.pieces import Role, pieces_of
from tasksim.recording.openmp.program import ProgramEnd, run_program
from tasksim.recording.openmp.raw_trace import FOLDER_PREFIX, TRACE_FOLDER
from tasksim.recording.openmp.runtime import find_program, find_recorder
from tasksim.recording.openmp.tables import graph_of_pieces, run_of_pieces
from tasksim.recording.openmp.trace import Trace, read_trace
from tasksim.recording.replayable import Replayable
from tasksim.recording.tables import CPU
from tasksim.run.others import MIN_SAID_SHARE, others_task_share

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform
    from tasksim.recording.openmp.account import TeamAccount
    from tasksim.recording.openmp.pieces import Pieces
    from tasksim.recording.openmp.runtime import OpenMPProgram
    from tasksim.run.record import Run

__all__ = ["OpenMPRecording", "PreparedProgram", "record_openmp"]

MIN_NOTED_S: Final = 1e-3
"""Shortest time outside of tasks or regions that is worth a note, in seconds."""
MIN_WAITING_SHARE: Final = 0.05
"""Share of the threads' time without a core, while tasks were ready, that is worth a note."""


def record_openmp(
    program: Any,
    arguments: Sequence[str] = (),
    *,
    kernels: Any = None,
    data: Any = None,
    libomp: Any = None,
) -> OpenMPRecording:
    """Run a compiled program that uses OpenMP, unchanged, and return its recording.

    The program runs on LLVM's OpenMP runtime, which reports tasks, even if GCC compiled it. Its
    input and output are those of this process.

    Parameters
    ----------
    program : str or path
        The program.
    arguments : sequence of str, default ()
        Its arguments.
    kernels : mapping of str to str, or path, optional
        New names of kernels, for ``FUNCTION:LINE``; or a YAML file with such a mapping.
    data : mapping of str to mapping, or path, optional
        Description of its data: per global variable, or name that the program has written, the
        bytes of an ``element``, rows and columns of a ``tile``, the ``leading`` dimension; or the
        bytes of each ``datum``. Or a YAML file with such a mapping.
    libomp : str or path, optional
        The runtime; default: that of the system, or of the package ``intel-openmp``.

    Returns
    -------
    OpenMPRecording

    Raises
    ------
    InputError
        If the program cannot be recorded; the message says why.

    See Also
    --------
    record : Record the tasks that Python programs submit to executors.

    Examples
    --------
    >>> record_openmp("missing")
    Traceback (most recent call last):
    tasksim.base.errors.InputError: missing: no such program
    """
    return PreparedProgram(program, arguments, kernels=kernels, data=data, libomp=libomp).record()


class PreparedProgram:
    """OpenMP program, checked and ready to be recorded.

    Parameters are those of :func:`record_openmp`.

    Raises
    ------
    InputError
        If something is missing; the message says what.
    """

    def __init__(
        self,
        program: Any,
        arguments: Sequence[str] = (),
        *,
        kernels: Any = None,
        data: Any = None,
        libomp: Any = None,
    ) -> None:
        path = path_of(program, "program")
        if not is_file(path):
            raise InputError(f"{path}: no such program{near_file(path)}")
        if isinstance(arguments, str) or not all(isinstance(each, str) for each in arguments):
            raise InputError(f"arguments: got {arguments!r:.60}; legal: a list of texts")
        self._names, self._data = renaming(kernels), data_map(data)
        found = find_program(path, libomp)
        if found is None:
            raise InputError(f"{path}: no compiled program (no ELF file)")
        self._program: OpenMPProgram = found
        self._arguments = tuple(arguments)
        self._recorder = find_recorder()

    def summary(self) -> str:
        """Return a line that says how the program will be recorded."""
        return self._program.summary()

    def record(
        self,
        near: Path | None = None,
        stdout: Any = None,
        say: Callable[[str], object] = lambda _: None,
    ) -> OpenMPRecording:
        """Run the program and return its recording.

        Parameters
        ----------
        near : Path, optional
            Place on the disk that the records are written to while the program runs; default: where
            temporary files are.
        stdout : optional
            Destination of the program's output; default: that of this process's output.
        say : callable, optional
            Called with a line that says where the records are while the program runs, or that they
            are kept because they could not become a run.
        """
        place = None if near is None else near.absolute().parent
        if place is not None and not is_folder(place):
            place = None
        folder = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX, dir=place)).absolute()
        say(f"Records are in {folder} until they are a run")
        try:
            ended = run_program(self._program, self._arguments, self._recorder, folder, stdout)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        try:
            trace = read_trace(folder / TRACE_FOLDER)
            recording = OpenMPRecording(self._program.path, trace, ended, self._names, self._data)
        except BaseException:
            # Memory may be short, or the user in a hurry: keep the records, to try again.
            say(f"Records are kept: 'tasksim import openmp {folder} -o RUN' makes a run of them")
            raise
        shutil.rmtree(folder, ignore_errors=True)
        return recording


class OpenMPRecording:
    """Tasks of an OpenMP program that has ended.

    :func:`record_openmp` makes one.

    Parameters
    ----------
    program : Path
    trace : Trace
        Records that the recorder wrote.
    ended : ProgramEnd or None
        End of the program; None if it is unknown.
    names : mapping of str to str
        New names of kernels.
    data : DataMap, mapping or path, optional
        Description of its data, as for :func:`record_openmp`.

    See Also
    --------
    record_openmp : Run a program and return its recording.

    Examples
    --------
    >>> from tasksim.recording.openmp.program import ProgramEnd
    >>> from tasksim.recording.openmp.trace import Trace
    >>> recording = OpenMPRecording(Path("a.out"), Trace(()), ProgramEnd(0, "", 0.1), {})
    >>> recording
    <OpenMPRecording a.out: no tasks>
    >>> recording.notes
    ['its OpenMP runtime did not start: no parallel region or task was reached']
    """

    def __init__(
        self,
        program: Path,
        trace: Trace,
        ended: ProgramEnd | None,
        names: Mapping[str, str],
        data: Any = None,
    ) -> None:
        self.program = program = path_of(program, "program")
        expect(trace, Trace, "trace")
        if ended is not None:
            expect(ended, ProgramEnd, "ended")
        self.ended = ended
        names = renaming(names)
        described = data if isinstance(data, DataMap) else data_map(data)
        self._notes = _notes_of(trace, ended)
        self._pieces: Pieces | None = None
        if "started" not in trace.notes:
            return
        history = history_of(trace)
        pieces = pieces_of(history)
        if not len(pieces):
            if not len(history.region_site):
                self._notes.append("no parallel region was entered (compilers omit empty ones)")
            return
        self._pieces = pieces
        places: dict[int, str] = {}
        for role in (Role.PARALLEL, Role.TASK):  # a place is of one of them; names may coincide
            used = set(pieces.site[pieces.role == role].tolist())
            sites = {number: site for number, site in trace.sites.items() if number in used}
            places.update(site_names(sites, Path.cwd()))
        there = set(places.values())
        wrong = [old for old in names if old not in there]
        self._notes += [f"no kernel is called '{old}'{nearest(old, there)}" for old in wrong]
        places = {number: names.get(place, place) for number, place in places.items()}
        self._notes += _notes_of_pieces(pieces)
        found = described.describe(pieces.address, trace.data, program, trace.sites.values())
        self._notes += found.notes
        self._graph = graph_of_pieces(pieces, places, bare_name(program), found)
        counts = {name: pieces.counts[name] for name in ("tasks", "dependences", "regions")}
        config = {"recorded": {"of": ["openmp"], "program": program.name, **counts}}
        # Without an end, until the last record.
        last_ns = max((int(each.wall_ns.max(initial=0)) for each in trace.threads), default=0)
        wall_s = 1e-9 * last_ns if ended is None else ended.wall_s
        self._run = run_of_pieces(pieces, self._graph, config, wall_s, trace.threads)
        self._notes += _notes_of_threads(self._run, pieces)
        self._account = account_of(self._run, pieces)
        self._notes += _notes_of_waiting(self._account)
        self._notes += _notes_of_others(self._run)
        self._replayable = Replayable(self._run, costs_of(self._run, pieces))

    def __repr__(self) -> str:
        if self._pieces is None:
            return f"<OpenMPRecording {self.program.name}: no tasks>"
        counts = self._pieces.counts
        return (
            f"<OpenMPRecording {self.program.name}: {counts['tasks']} tasks, "
            f"{counts['dependences']} dependences>"
        )

    @property
    def notes(self) -> list[str]:
        """Remarks on omissions and assumptions of the recording."""
        return list(self._notes)

    def add_note(self, text: str) -> None:
        """Add a remark to the notes."""
        self._notes.append(text)

    @property
    def tasks(self) -> int:
        """Number of explicit tasks that the program created."""
        return 0 if self._pieces is None else self._pieces.counts["tasks"]

    @property
    def dependences(self) -> int:
        """Number of dependences by ``depend`` clauses between them."""
        return 0 if self._pieces is None else self._pieces.counts["dependences"]

    @property
    def run(self) -> Run:
        """The run, with the thread and the times of each piece of a task."""
        self._expect_tasks()
        return self._run

    @property
    def graph(self) -> TaskGraph:
        """The task graph, of pieces of tasks."""
        self._expect_tasks()
        return self._graph

    @property
    def account(self) -> TeamAccount:
        """The account of the threads' time."""
        self._expect_tasks()
        return self._account

    def platform(self, workers: int | None = None) -> Platform:
        """Return the platform of the run, with the costs of its runtime between tasks.

        Parameters
        ----------
        workers : int, optional
            Number of threads; default: that of the run.
        """
        self._expect_tasks()
        return self._replayable.platform(workers)

    def simulate(
        self, workers: int | None = None, scheduler: str | None = None, **scenario: Any
    ) -> Run:
        """Return a simulated run of the graph, each piece as long as it was.

        Parameters
        ----------
        workers : int, optional
            Number of threads; default: that of the run.
        scheduler : str, optional
            Default: ``libomp``, the scheduling of the runtime that ran the program.
        **scenario
            Other parameters of :func:`tasksim.simulate`.
        """
        self._expect_tasks()
        return self._replayable.simulate(workers, scheduler, **scenario)

    def save(self, folder: str | Path, force: bool = False) -> None:
        """Write the run to *folder*, with its graph and its platform.

        Parameters
        ----------
        folder : str or Path
            A new folder.
        force : bool, default False
            Whether to replace a run that is there.
        """
        self._expect_tasks()
        self._replayable.save(folder, force)

    def _expect_tasks(self) -> Pieces:
        if self._pieces is None:
            said = f": {'; '.join(self._notes)}" if self._notes else ""
            raise TasksimError(f"{self.program}: nothing was recorded{said}")
        return self._pieces


def _notes_of(trace: Trace, ended: ProgramEnd | None) -> list[str]:
    """Return notes on the reasons why the recording is not complete."""
    notes, found = trace.notes, []
    if ended is None:
        found.append("the recording was ended before the program: how that ended is unknown")
    elif ended.signal_name:
        found.append(f"the program was ended by {ended.signal_name}")
    elif ended.exit_code:
        found.append(f"the program ended with exit code {ended.exit_code}")
    if "started" not in notes:
        found.append(
            "its OpenMP runtime did not start: no parallel region or task was reached"
            if "other" not in notes
            else "only a process that it started used OpenMP, which is not recorded"
        )
        return found
    if "finalized" not in notes:
        found.append(
            "it ended without its runtime's end (by a signal, _exit or exec): the recording stops "
            "there"
        )
    if "fork" in notes:
        found.append("it forked: its child processes are not recorded")
    if "other" in notes:
        found.append("other processes that it started use OpenMP, too, and are not recorded")
    if "full" in notes:
        found.append(f"recording stopped early: {notes['full'][0]}")
    if "lacks" in notes:
        found.append(
            f"its runtime does not tell of {', '.join(notes['lacks'])}: the graph may lack "
            "dependencies"
        )
    return found


def _notes_of_pieces(pieces: Pieces) -> list[str]:
    """Return notes on facts that the graph does not show."""
    counts, found = pieces.counts, []
    said = {
        "not ended": "had not ended when the recording did; what is known of them is there",
        "cancelled": "cancelled",
        "detached": "detached",
    }
    for what, text in said.items():
        if count := counts.get(what):
            were = "" if what == "not ended" else "was " if count == 1 else "were "
            found.append(f"{counted(count)} {were}{text}")
    if counts["events"]:
        found.append(
            f"{counts['events']} events of detached tasks were fulfilled outside of tasks: the "
            "time until then is a task 'FUNCTION:LINE (event)' on a worker beside the threads"
        )
    if counts.get("contradicted"):
        found.append(f"{counts['contradicted']} dependencies contradict the times and are left out")
    outside_s = 1e-9 * counts["outside ns"]
    if outside_s >= MIN_NOTED_S:
        found.append(
            f"{duration_text(outside_s)} before the first parallel region and after the last are "
            "no part of the run"
        )
    if counts["serial teams"]:
        found.append(
            "on a team of one thread all tasks are executed at once: tasks with 'if' that would "
            "have been undeferred count as deferred, and the cost of creations and starts on more "
            "threads is unknown; 'tasksim calibrate openmp' measures it, for --platform"
        )
    return found


def _notes_of_threads(run: Run, pieces: Pieces) -> list[str]:
    cores, threads = len(usable_cores()), sum(each.architecture == CPU for each in run.workers)
    found = []
    if threads > cores:
        found.append(f"{threads} threads shared {cores} cores: durations contain waits for a core")
    parallel = pieces.role == Role.PARALLEL
    loops_s = float(run.tasks.duration_s[parallel & ~pieces.creates].sum())
    busy_s = float(run.tasks.duration_s.sum())
    if loops_s > 0.5 * busy_s and loops_s > MIN_NOTED_S:
        found.append(
            f"{duration_text(loops_s)} of {duration_text(busy_s)} passed in parallel regions "
            "outside of tasks: a replay keeps the parts of the recorded number of threads"
        )
    return found


def _notes_of_waiting(account: TeamAccount) -> list[str]:
    """Return a note if threads had no core for long, which replays leave out."""
    whole_s = account.threads * account.makespan_s
    if account.waiting_s <= MIN_WAITING_SHARE * whole_s:
        return []
    return [
        f"tasks were ready while threads had no core, {100 * account.waiting_s / whole_s:.0f} % of "
        "their time: other programs used the machine, or threads slept; replays leave that out"
    ]


def _notes_of_others(run: Run) -> list[str]:
    """Return a note if other programs took much of the tasks' time, which replays contain."""
    share = others_task_share(run)
    if share < MIN_SAID_SHARE:
        return []
    return [
        f"others took {100 * share:.0f} % of the tasks' time, which their durations contain; "
        "'tasksim simulate --durations alone' leaves it out"
    ]
