"""Command of an experiment: its settings as options, and what all of them share."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from experiments.frame.conduct import begin, conduct, read_mark, report
from experiments.frame.experiment import DESIGNS
from experiments.frame.report import summary
from tasksim.base.errors import unknown
from tasksim.cli.command import command
from tasksim.cli.main import exit_after
from tasksim.cli.options import force_option, json_option
from tasksim.cli.output import note, print_json
from tasksim.cli.progress import showing

if TYPE_CHECKING:
    from collections.abc import Callable

    from experiments.frame.experiment import Experiment, Setting

__all__ = ["command_of"]


def command_of(experiment: Experiment) -> Callable[[], None]:
    """Return the program of an experiment: ``python -m experiments.NAME``."""
    program = f"python -m experiments.{experiment.name}"

    def body(
        output: Path, design: str, again: bool, force: bool, as_json: bool, **given: Any
    ) -> None:
        settings = {name: value for name, value in given.items() if value is not None}
        with showing(experiment.name.replace("_", " "), time_left=False) as progress:
            if again:
                results = report(experiment, output, read_mark(experiment, output))
            else:
                about = begin(experiment, output, design, settings, force=force)
                try:
                    results = conduct(experiment, output, about, progress)
                except KeyboardInterrupt:
                    note("What is done is kept; the same command goes on.")
                    raise
        if as_json:
            print_json(results)
        else:
            click.echo("\n".join(summary(results)))
        note(f"Wrote {output}; begin with {output / 'index.html'}")

    body.__doc__ = f"{experiment.title}.\n\n{experiment.question}\n\nAfter {experiment.paper}.\n"
    made: Any = body
    for setting in reversed(experiment.settings):
        made = _option(setting)(made)
    for decorate in (
        json_option,
        force_option,
        click.option(
            "--again", is_flag=True, help="Only write the report once more, from what was found."
        ),
        click.option(
            "--design", type=click.Choice(DESIGNS), default="quick", show_default=True,
            help=f"{_duration(experiment, 0)} on two cores, or {_duration(experiment, 1)}.",
        ),
        click.option(
            "-o", "--output", type=click.Path(path_type=Path),
            default=Path(experiment.name.replace("_", "-")), show_default=True,
            help="Where everything is written. An experiment that was interrupted goes on.",
        ),
    ):  # fmt: skip
        made = decorate(made)
    examples = [program, f"{program} --design full --output full", *experiment.examples]
    click_command = command(program, examples=examples)(made)
    return lambda: exit_after(partial(click_command.main, standalone_mode=False), sys.argv[1:])


def _duration(experiment: Experiment, column: int) -> str:
    minutes = sum(step.minutes[column] for step in experiment.steps)
    return f"about {minutes:.0f} minutes" if minutes < 90 else f"about {minutes / 60:.1f} hours"


def _option(setting: Setting) -> Callable[[Any], Any]:
    shown = [_text(setting.default(design)) for design in DESIGNS]
    default = shown[0] if shown[0] == shown[1] else f"{shown[0]}; full design: {shown[1]}"
    legal = f" Legal: {', '.join(setting.choices)}." if setting.choices else ""
    return click.option(
        f"--{setting.name.replace('_', '-')}", setting.name, type=_Value(setting),
        help=f"{setting.text}{legal} [default: {default}]",
    )  # fmt: skip


def _text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


class _Value(click.ParamType):  # type: ignore[type-arg]  # click 8.2 has no generic one
    """Value of a setting, of the type that its defaults have."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        many = isinstance(setting.quick, tuple)
        self._kind = type(setting.quick[0] if many else setting.quick)
        self.name = {int: "n", float: "x", str: "text"}[self._kind] + (",..." if many else "")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value of a text, or of its parts between commas."""
        if isinstance(self._setting.quick, tuple):
            return tuple(self._one(part, param, ctx) for part in value.split(","))
        return self._one(value, param, ctx)

    def _one(self, text: str, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        setting = self._setting
        try:
            value = self._kind(text)
        except ValueError:
            kind = "a whole number" if self._kind is int else "a number"
            self.fail(f"got '{text}'; legal: {kind}", param, ctx)
        if setting.choices and value not in setting.choices:
            raise unknown(f"value of --{setting.name.replace('_', '-')}", text, setting.choices)
        if setting.least is not None and not value >= setting.least:
            self.fail(f"got {text}; legal: at least {setting.least:g}", param, ctx)
        return value
