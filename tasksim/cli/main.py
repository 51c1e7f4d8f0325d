"""The entry point of the command line, its commands and its handling of errors.

Commands are imported when they are called, so ``tasksim --help`` takes no longer than Python
itself.
"""

from __future__ import annotations

import os
import sys
import warnings
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import click

from tasksim.base.errors import TasksimError, on_command_line
from tasksim.base.interruption import INTERRUPTED_EXIT_CODE, REPEATED_SIGNAL_S, Interrupts
from tasksim.cli.command import LazyGroup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["COMMANDS", "cli", "exit_after", "main"]

COMMANDS: dict[str, tuple[str, str]] = {
    "simulate": ("tasksim.cli.simulate:simulate_command", "Predict a run: replay a task graph."),
    "run": ("tasksim.cli.run:run", "Run a task graph for real, here."),
    "record": ("tasksim.cli.record:record", "Run a program, and record its tasks."),
    "calibrate": (
        "tasksim.cli.calibrate:calibrate",
        "Measure kernels on this machine, and fit models.",
    ),
    "measure": ("tasksim.cli.measure:measure", "Measure a kernel over a domain of sizes."),
    "counters": ("tasksim.cli.counters:counters", "Count instructions and accesses of a kernel."),
    "profile": ("tasksim.cli.profile:profile", "Find the functions that a program spends time in."),
    "fit": ("tasksim.cli.fit:fit", "Fit a kernel model to measured durations."),
    "predict": ("tasksim.cli.predict:predict", "Predict the duration of a kernel."),
    "compare": ("tasksim.cli.compare:compare", "Compare two runs."),
    "reproduce": (
        "tasksim.cli.reproduce:reproduce",
        "Check that a recorded run is still the same.",
    ),
    "view": ("tasksim.cli.view:view", "Draw runs: Gantt charts, other panels; machines."),
    "explore": ("tasksim.cli.explore:explore_command", "Write a page to ask what a run would be."),
    "optimize": ("tasksim.cli.optimize:optimizing", "Search for the best schedule of a graph."),
    "why": ("tasksim.cli.why:why", "Print why a scheduler placed a task as it did."),
    "bounds": ("tasksim.cli.bounds:bounds", "Print lower bounds on the makespan."),
    "study": ("tasksim.cli.main:study", "Sweep over graphs, platforms, schedulers, seeds."),
    "report": (
        "tasksim.cli.report:reporting",
        "Report on recorded runs and their kernels.",
    ),
    "validate": ("tasksim.cli.validate:validate", "Check platforms, models, graphs and runs."),
    "schema": ("tasksim.cli.schema:schema", "Print the JSON Schema of a command's output."),
    "list": ("tasksim.cli.listing:listing", "List generators, schedulers, platforms, models."),
    "import": (
        "tasksim.cli.importing:importing",
        "Import runs, graphs and machines of other tools.",
    ),
    "export": ("tasksim.cli.export:exporting", "Write runs and kernel models for other tools."),
    "tune": ("tasksim.cli.main:tuning", "Find the best choice, and the cost of others."),
    "autotune": ("tasksim.cli.autotune:autotuning", "Tune by real runs that skip known kernels."),
    "demo": ("tasksim.cli.demo:demo", "Calibrate, predict, run and compare, here."),
    "doctor": ("tasksim.cli.doctor:doctor", "Check the installation and this machine."),
}
"""Name -> the location of the command, and its summary; groups of commands are below."""

STUDY_COMMANDS: dict[str, tuple[str, str]] = {
    "new": ("tasksim.cli.study_run:new", "Write a commented study file to begin with."),
    "run": ("tasksim.cli.study_run:run", "Compute the cells of a study, or resume it."),
    "table": ("tasksim.cli.study_run:table", "Print the table of a study."),
    "show": ("tasksim.cli.study_run:show", "Simulate one cell again, and show it."),
    "report": (
        "tasksim.cli.study_report:report",
        "Report the winner, its certainty, curves, figures.",
    ),
    "adversary": (
        "tasksim.cli.study_adversary:adversary",
        "Search for instances on which a scheduler is much worse than another.",
    ),
    "tree": ("tasksim.cli.study_tree:tree", "Fit a decision tree: C, Python, text, picture."),
}
GRAPH_PLACEHOLDER = "GRAPH"
"""Placeholder for a graph in the place of a command of ``tasksim tune``."""
TUNE_COMMANDS = {
    GRAPH_PLACEHOLDER: ("tasksim.cli.tune_graph:graph", "Find the best choice for a graph."),
    "report": ("tasksim.cli.tune_report:reporting", "Judge choices by real runs on this machine."),
    "table": ("tasksim.cli.tune_table:table", "Judge methods on measurements made elsewhere."),
}

EXAMPLES = (
    "tasksim simulate cholesky tiles=20 --workers 8 --durations potrf=1,trsm=3,syrk=3,gemm=6",
    "tasksim demo",
)


class Tasksim(LazyGroup):
    """The group of all commands, whose help ends with the exit codes."""

    def main(  # type: ignore[override]  # one signature for click's two overloads
        self, args: Any = None, prog_name: Any = None, **extra: Any
    ) -> Any:
        """Run a command and exit with its code; outside standalone mode, raise its errors."""
        standalone = extra.pop("standalone_mode", True)
        run = partial(super().main, args, prog_name, standalone_mode=False, **extra)
        with on_command_line():
            if not standalone:
                return run()
            return exit_after(run, sys.argv[1:] if args is None else list(args))


@click.group("tasksim", cls=Tasksim, parts=COMMANDS, examples=EXAMPLES, invoke_without_command=True)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=lambda ctx, _, value: _print_version(ctx) if value else None,
    help="Show the version and exit.",
)
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Predict how long a task graph takes on a machine.

    Calibrate kernels, fit models of their durations, replay the graph with a scheduler,
    compare with a real run, draw.
    """
    if ctx.invoked_subcommand is None:
        click.echo("Predict how long a task graph takes on a machine. For example:\n")
        click.echo("".join(f"  {line}\n" for line in EXAMPLES))
        click.echo("'tasksim --help' lists the commands.")


@click.group(
    "study",
    cls=LazyGroup,
    parts=STUDY_COMMANDS,
    examples=[
        "tasksim study new study.yaml",
        "tasksim study run study.yaml -o study --jobs 2",
        "tasksim study table study --csv > study.csv",
        "tasksim study report study -o report",
    ],
)
def study() -> None:
    """Simulate a grid of graphs, platforms, schedulers, settings and seeds.

    A study file describes the grid. The results go to a folder, cell by cell, so that a study can
    be stopped at any time, and resumes where it was.
    """


class Tuning(LazyGroup):
    """The commands of :data:`TUNE_COMMANDS`; any other first argument is a graph."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse *args*; a first word that is no command is a graph."""
        if args and args[0] not in (*self.parts, *ctx.help_option_names, "--debug"):
            args = [GRAPH_PLACEHOLDER, *args]
        return super().parse_args(ctx, args)


@click.group(
    "tune",
    cls=Tuning,
    parts=TUNE_COMMANDS,
    examples=[
        "tasksim tune cholesky n=8192 --platform xeon-24c --over tile_size=128..1024:log"
        " scheduler=lws,prio,dmdas",
        "tasksim tune report --native",
        "tasksim tune table blaze.csv --features Nthr,Ms,Mflop,Nite"
        " --choices 1,2,3,4,5,6,7,8,9,10 --limit Nite",
    ],
)
def tuning() -> None:
    """Find the best choice, and the cost of others."""


def main() -> None:
    """Run the command line, and exit with its code."""
    cli.main(prog_name="tasksim")


def exit_after(run: Callable[[], Any], arguments: Sequence[str]) -> NoReturn:
    """Call *run* and exit with the code it returns, or with that of its error, in one line."""
    # SIGTERM ends a command as Ctrl-C does, so that nothing temporary is left behind.
    with _plain_warnings(), Interrupts(REPEATED_SIGNAL_S, terminate=True) as interrupts:
        try:
            code = run()
            interrupts.hold()
            sys.stdout.flush()
        except (Exception, KeyboardInterrupt) as error:
            interrupts.hold()
            if interrupts.raised and not isinstance(error, TasksimError | click.ClickException):
                # An interrupted import raises an ImportError, for example; --debug shows it.
                interrupted = KeyboardInterrupt()
                interrupted.__cause__ = error
                error = interrupted
            from tasksim.cli.over_ranks import agreed_error  # only errors need it

            code = _report(agreed_error(error, arguments), debug="--debug" in arguments)
            _let_go_of_output()
    sys.exit(code if isinstance(code, int) else 0)


def _let_go_of_output() -> None:
    """Drop output that a full disk refused: Python would retry at its end, and exit with 120."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_version(ctx: click.Context) -> None:
    import tasksim

    click.echo(f"tasksim {tasksim.__version__}")
    ctx.exit()


def _report(error: BaseException, *, debug: bool) -> int:
    """Print an error on stderr; return the exit code."""
    if debug:
        import traceback

        click.echo("".join(traceback.format_exception(error)), err=True, nl=False)
    if isinstance(error, click.Abort | KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        return INTERRUPTED_EXIT_CODE
    if isinstance(error, click.ClickException):
        error.show()
        return error.exit_code
    code, message = _explained(error)
    click.echo(f"Error: {message}", err=True)
    return code


def _explained(error: BaseException) -> tuple[int, str]:
    """Return the exit code and the message of an *error* that is not click's."""
    if isinstance(error, TasksimError):
        return error.exit_code, str(error)
    if isinstance(error, OSError) and error.strerror:
        where = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        return 1, f"{where}{error.strerror}"
    if isinstance(error, MemoryError):
        return 1, "out of memory"
    if isinstance(error, ModuleNotFoundError):
        from tasksim.base.extras import without_package  # only errors need it

        if (lacking := without_package(error, "this command")) is not None:
            return lacking.exit_code, str(lacking)
    what = type(error).__name__ + (f": {error}" if str(error) else "")
    return 1, f"{what} (run again with --debug for the traceback)"


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Show Python's warnings as one line on stderr.

    A warning to the user belongs to the output of a command: filters neither silence it nor make it
    an error.
    """

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        from tasksim.base.log import Log  # only warnings need it

        Log("cli").warning("%s", message)
        click.echo(f"Warning: {message}", err=True)

    with warnings.catch_warnings():
        warnings.showwarning = show
        warnings.simplefilter("always", UserWarning)
        yield
