"""Campaign over an application's settings, with its kernels measured in runs on one core.

A user's own kernel needs data that only its application creates. So the campaign draws settings,
runs the application with each of them on one worker, and takes every task as a sample of its
kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tasksim.base.errors import InputError, unknown
from tasksim.base.files import refuse_existing
from tasksim.base.interruption import unbroken
from tasksim.base.units import format_time
from tasksim.calibration.campaign import Campaign, shuffled
from tasksim.calibration.domain import Domain, DomainAxis, parse_axis
from tasksim.calibration.domain_campaign import MeasureOptions
from tasksim.calibration.kernel_samples import KernelSamples
from tasksim.calibration.write_library import ARCHITECTURE
from tasksim.graph.apps.registry import find, generate
from tasksim.kernels.program import bind
from tasksim.models.files.store import samples_path, write_samples
from tasksim.native.execute import execute
from tasksim.platform.description import Platform
from tasksim.run.undisturbed import undisturbed_s

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tasksim.base.progress import ShareProgress
    from tasksim.graph.apps.parameters import Parameter


__all__ = ["ApplicationSummary", "SettingsDomain", "measure_application", "parse_settings_domain"]


@dataclass(frozen=True)
class SettingsDomain:
    """Settings of an application, either the same in all runs or drawn.

    Attributes
    ----------
    application : str
    fixed : dict of str to str
    drawn : Domain or None
        None if nothing is drawn.
    """

    application: str
    fixed: dict[str, str]
    drawn: Domain | None

    def settings(self, options: MeasureOptions) -> list[dict[str, Any]]:
        """Return the settings of all runs, in random order."""
        if self.drawn is None:
            return [dict(self.fixed)]
        table = self.drawn.draw(options.samples, options.seed, options.design).tolist()
        return [{**self.fixed, **self.drawn.values_of(row)} for row in table]


def parse_settings_domain(
    application: str, settings: Sequence[str], where: Sequence[str] = ()
) -> SettingsDomain:
    """Return the domain of settings of *application* from texts such as ``n=64..4096``.

    A setting that is a text may have several, ``distribution=cube,ellipsoid``. *where* are
    conditions on those that are drawn, such as ``64 <= ranks*threads <= 128``.

    Raises
    ------
    InputError
        If the application or a setting is unknown, a setting is given twice, or a text is wrong.

    Examples
    --------
    >>> domain = parse_settings_domain("cholesky", ["tiles=4", "tile_size=16..64:log"])
    >>> domain.fixed, domain.drawn.describe()
    ({'tiles': '4'}, {'tile_size': '16..64:log'})
    >>> parse_settings_domain("fmm", ["distribution=cube,ellipsoid"]).drawn.describe()
    {'distribution': 'cube,ellipsoid'}
    """
    parameters = {parameter.name: parameter for parameter in find(application).parameters}
    known = list(parameters)
    given: dict[str, str] = {}
    for setting in settings:
        name, _, text = setting.partition("=")
        if name not in known:
            raise unknown("setting", name, known, application)
        if name in given:
            raise InputError(f"{application}: {name} is given twice")
        given[name] = text.strip()
    # A setting such as m=n repeats the value drawn for another one.
    same = {name: text for name, text in given.items() if text in given}
    swept = {name: text for name, text in given.items() if ".." in text or "," in text}
    for name, other in same.items():
        if other not in swept:
            raise InputError(f"{application}: {name}={other}: {other} is not drawn")
    fixed = {n: text for n, text in given.items() if n not in same and n not in swept}
    if not swept:
        if where:
            raise InputError(f"{application}: '{where[0]}' is on settings that are drawn; none is")
        return SettingsDomain(application, fixed, None)
    axes = {name: _axis(text, parameters[name], application) for name, text in swept.items()}
    drawn = Domain(application, (*swept, *same), axes, same)
    return SettingsDomain(application, fixed, drawn.where(*where))


def _axis(text: str, parameter: Parameter, application: str) -> DomainAxis:
    """Return the values of a setting: sizes, or names, which must be legal."""
    if parameter.kind is not str:
        return parse_axis(text, f"{application}: {parameter.name}")
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    for name in names:
        parameter.convert(name, application)
    return DomainAxis(tuple(range(len(names))), names=names)


@dataclass(frozen=True)
class ApplicationSummary:
    """Results of a campaign.

    Attributes
    ----------
    application : str
    output : Path
    wanted, measured : int
        Number of settings to run, and of those that were run.
    kernels : dict of str to (int, int, float)
        Per kernel: number of configurations, number of samples, total time in seconds.
    seconds : float
    interrupted : bool
    """

    application: str
    output: Path
    wanted: int
    measured: int
    kernels: dict[str, tuple[int, int, float]]
    seconds: float
    interrupted: bool

    def __str__(self) -> str:
        width = max(map(len, ("kernel", *self.kernels)))
        lines = [f"{'kernel':{width}}  configurations  samples       total"]
        for kernel, (configurations, samples, total_s) in self.kernels.items():
            total = format_time(total_s)
            lines.append(f"{kernel:{width}}  {configurations:14}  {samples:7}  {total:>10}")
        told = f"{self.measured} of {self.wanted} settings, {format_time(self.seconds)}"
        return "\n".join([*lines, told])

    def to_json(self) -> dict[str, Any]:
        """Return the summary as plain data."""
        names = ("configurations", "samples", "total_s")
        return {
            "application": self.application,
            "output": str(self.output),
            "wanted": self.wanted,
            "measured": self.measured,
            "kernels": {k: dict(zip(names, v, strict=True)) for k, v in self.kernels.items()},
            "seconds": self.seconds,
            "interrupted": self.interrupted,
        }


def measure_application(
    domain: SettingsDomain,
    output: Path,
    options: MeasureOptions | None = None,
    *,
    force: bool = False,
    progress: ShareProgress | None = None,
) -> ApplicationSummary:
    """Measure the kernels of an application in runs on one core; write the samples to *output*.

    Parameters
    ----------
    domain, options
        Domain of settings, and when to stop: the tolerance applies to the total time of a run's
        tasks.
    output : Path
        Folder that receives a file of samples per kernel, for fitting kernel models.
    force : bool
        Whether to replace existing samples.
    progress : callable, optional
        Called with the current activity and the share that is done.

    Raises
    ------
    InputError
        If there are samples in *output*, or settings are out of range; earlier measurements are
        kept.
    OutputError
        If a file cannot be written.
    """
    campaign = ApplicationCampaign(domain, output, options or MeasureOptions(), progress, force)
    campaign.run()
    if not (campaign.interrupted or campaign.has_samples):
        raise InputError(
            f"{domain.application}: no task ran in {len(campaign.measured)} of "
            f"{len(campaign.settings)} settings, so there is nothing to measure"
        )
    return campaign.summary()


class ApplicationCampaign(Campaign):
    """A running campaign over the settings of an application."""

    def __init__(
        self,
        domain: SettingsDomain,
        output: Path,
        options: MeasureOptions,
        progress: ShareProgress | None,
        force: bool,
    ) -> None:
        super().__init__(output, options.budget_s, progress)
        self.domain, self.options, self._force = domain, options, force
        self.settings = domain.settings(options)
        self.collected = KernelSamples()
        self.measured: set[int] = set()

    def open(self) -> None:
        """Refuse to replace samples."""
        for path in sorted(self.output.glob("*.samples.csv")) if self.output.is_dir() else []:
            refuse_existing(path, force=self._force)

    @property
    def has_samples(self) -> bool:
        """Whether any task ran."""
        return bool(self.collected.samples)

    def measure(self) -> None:
        """Run the application with all settings, once per round."""
        try:
            self._measure_all()
        except Exception:  # a failure of the application loses nothing of earlier runs
            self.save_now()
            raise

    def save(self) -> None:
        """Write all samples if there are any."""
        if not self.has_samples:
            return
        self.output.mkdir(parents=True, exist_ok=True)
        for kernel, samples in self.collected.samples.items():
            write_samples(samples_path(self.output, kernel), {ARCHITECTURE: samples})

    def summary(self) -> ApplicationSummary:
        """Return the summary of the campaign so far."""
        kernels = {
            name: (len(of.configurations()[0]), len(of), float(of.durations_s.sum()))
            for name, of in self.collected.samples.items()
        }
        return ApplicationSummary(
            self.domain.application, self.output, len(self.settings), len(self.measured), kernels,
            self.seconds, self.interrupted,
        )  # fmt: skip

    def _measure_all(self) -> None:
        count, rounds = len(self.settings), self.options.rounds
        for number in range(rounds):
            for done, index in enumerate(shuffled(count, self.options.seed, number), 1):
                if self.over:
                    return
                self._visit(self.settings[index])
                self.measured.add(index)
                told = f"{len(self.measured)}/{count} settings"
                self.after_step(told, (number + done / count) / rounds)

    def _visit(self, settings: dict[str, Any]) -> None:
        """Run the application with *settings* until its total time is precise enough."""
        graph = generate(self.domain.application, **settings)
        if not len(graph):
            return
        program, platform = bind(graph, 1, self.options.seed), Platform.identical(1)
        execute(graph, platform, "eager", program=program)  # warm up: a cold run is no sample
        busy_s: list[float] = []
        while self.options.reason_to_stop(busy_s) is None and not (busy_s and self.over):
            run = execute(graph, platform, "eager", program=program)
            with unbroken():
                self.collected.add_run(run, graph)
            busy_s.append(float(undisturbed_s(run).sum()))
