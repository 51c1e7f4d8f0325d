"""Answers of this machine and of the simulator to the same questions of tuning."""

from __future__ import annotations

import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tasksim.calibration.calibrate import calibrate
from tasksim.calibration.calibration_options import CalibrationOptions
from tasksim.scenario.many import simulate_many
from tasksim.scenario.repetitions import measure
from tasksim.scenario.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tasksim.base.progress import ShareProgress
    from tasksim.native.calm_moments import Gate
    from tasksim.run.record import Run
    from tasksim.tuning.native_questions import TuningQuestion

__all__ = ["Answered", "MeasurementEffort", "TrainingLoop", "answer", "run_examples"]


@dataclass(frozen=True)
class MeasurementEffort:
    """Effort of the measurements.

    Attributes
    ----------
    repetitions : int
        Runs of each choice, interleaved.
    calibration_s : float
        Time limit for measuring the kernels of a question; half of it for loops.
    patience_s : float
        Longest wait for calm moments, per question.
    calm : bool
        Whether to wait for calm moments.
    """

    repetitions: int = 5
    calibration_s: float = 4.0
    patience_s: float = 5.0
    calm: bool = True


@dataclass(frozen=True, eq=False)
class Answered:
    """Answer to a question.

    Attributes
    ----------
    question : TuningQuestion
    measured_s : mapping of str to list of float
        The makespans of each choice, in the order of the rounds.
    simulated_s : mapping of str to float
        The simulated makespans.
    disturbed : int
        Number of disturbed runs among those that count.
    """

    question: TuningQuestion
    measured_s: dict[str, list[float]]
    simulated_s: dict[str, float]
    disturbed: int = 0

    @property
    def medians_s(self) -> dict[str, float]:
        """The median makespan of each choice."""
        return {choice: statistics.median(runs) for choice, runs in self.measured_s.items()}

    @property
    def best(self) -> str:
        """The best choice by the measurements."""
        return min(self.medians_s, key=self.medians_s.__getitem__)

    @property
    def chosen(self) -> str:
        """The best choice by the simulator."""
        return min(self.simulated_s, key=self.simulated_s.__getitem__)

    @property
    def share(self) -> float:
        """The measured share of the best performance of the simulator's choice."""
        return self.medians_s[self.best] / self.medians_s[self.chosen]

    @property
    def half_share(self) -> float:
        """The share of the best choice of half of the rounds, judged by the other half.

        The difference to 1 is noise; nobody can choose better. With one round it is 1.
        """
        runs = np.array(list(self.measured_s.values()))
        if runs.shape[1] < 2:
            return 1.0
        halves = [np.median(runs[:, half::2], axis=1) for half in (0, 1)]
        pairs = (halves, reversed(halves))
        return statistics.mean(float(b.min() / b[a.argmin()]) for a, b in map(tuple, pairs))

    def resampled_share(self, rng: np.random.Generator) -> float:
        """Return the share for rounds drawn with replacement."""
        runs = np.array(list(self.measured_s.values()))
        drawn = runs[:, rng.integers(runs.shape[1], size=runs.shape[1])]
        medians = np.median(drawn, axis=1)
        return float(medians.min() / medians[list(self.measured_s).index(self.chosen)])

    def to_json(self) -> dict[str, Any]:
        """Return the answer as plain data."""
        return {
            "what": self.question.what,
            "graph": self.question.label,
            "workers": self.question.workers,
            "best": self.best,
            "chosen": self.chosen,
            "share": self.share,
            "half_share": self.half_share,
            "measured_s": self.measured_s,
            "simulated_s": self.simulated_s,
            "disturbed": self.disturbed,
        }

    @classmethod
    def from_json(cls, question: TuningQuestion, data: Mapping[str, Any]) -> Self:
        """Return the answer to *question* from the *data* of :meth:`to_json`.

        Raises
        ------
        KeyError, TypeError, ValueError
            If the data are not from :meth:`to_json`.
        """
        _check_question(question, data, data["measured_s"], data["simulated_s"])
        runs = {
            choice: [float(t) for t in data["measured_s"][choice]] for choice in question.choices
        }
        if len({len(times) for times in runs.values()}) != 1 or not all(runs.values()):
            raise ValueError("rounds without all choices")
        simulated = {choice: float(data["simulated_s"][choice]) for choice in question.choices}
        return cls(question, runs, simulated, int(data["disturbed"]))


def answer(
    questions: Sequence[TuningQuestion],
    effort: MeasurementEffort,
    *,
    gate: Callable[[int], Gate[Run]] | None = None,
    progress: ShareProgress | None = None,
) -> Iterator[Answered]:
    """Yield the answers to *questions*: calibrate, simulate and measure all choices of each.

    Parameters
    ----------
    questions : sequence of TuningQuestion
    effort : MeasurementEffort
        Effort of the measurements.
    gate : callable, optional
        Makes a gate for runs on a number of workers.
    progress : callable, optional
        Called with the current activity and the share of answered questions.
    """
    for number, question in enumerate(questions):
        if progress is not None:
            progress(f"{question.what}, {question.label}", number / len(questions))
        yield _answer(question, effort, gate if effort.calm else None)


@dataclass(frozen=True, eq=False)
class TrainingLoop:
    """Training loop with its measured duration for each choice, in seconds."""

    question: TuningQuestion
    times_s: dict[str, float]

    def to_json(self) -> dict[str, Any]:
        """Return the example as plain data."""
        label, workers = self.question.label, self.question.workers
        return {"graph": label, "workers": workers, "times_s": self.times_s}

    @classmethod
    def from_json(cls, question: TuningQuestion, data: Mapping[str, Any]) -> Self:
        """Return the example of *question* from the *data* of :meth:`to_json`."""
        _check_question(question, data, data["times_s"])
        return cls(
            question, {choice: float(data["times_s"][choice]) for choice in question.choices}
        )


def _check_question(
    question: TuningQuestion, data: Mapping[str, Any], *times: Mapping[str, Any]
) -> None:
    """Raise :exc:`ValueError` if *data* belong to another question, or *times* to other choices."""
    if (data["graph"], data["workers"]) != (question.label, question.workers):
        raise ValueError(f"{data['graph']} is not {question.label}")
    if any(found.keys() != question.choices.keys() for found in times):
        raise ValueError("other choices")


def run_examples(
    questions: Sequence[TuningQuestion], repetitions: int, *, progress: ShareProgress | None = None
) -> Iterator[TrainingLoop]:
    """Run all choices of each question, interleaved; nothing is calibrated or simulated.

    Parameters
    ----------
    questions : sequence of TuningQuestion
    repetitions : int
        Runs of each choice. The fastest counts: other programs only delay runs, and this does not
        wait for calm moments.
    progress : callable, optional
        Called with the current activity and the share of finished questions.
    """
    for number, question in enumerate(questions):
        if progress is not None:
            progress(f"{question.label}, for training", number / len(questions))
        done = measure(_native(question), repetitions, check=False)
        pairs = zip(question.choices, done.scenarios, strict=True)
        yield TrainingLoop(question, {choice: min(runs.makespans_s) for choice, runs in pairs})


def _answer(
    question: TuningQuestion, effort: MeasurementEffort, gate: Callable[[int], Gate[Run]] | None
) -> Answered:
    with tempfile.TemporaryDirectory(prefix="tasksim-tuning-") as folder:
        platform, models = _calibrated(question, effort, Path(folder))
        asked = [_scenario(question, change, platform=platform) for change in _changes(question)]
        simulated = simulate_many(asked).makespan_s.tolist()
        done = measure(
            _native(question, models=models),
            effort.repetitions,
            gate=None if gate is None else gate(question.workers),
            patience_s=effort.patience_s,
            check=False,
        )
    pairs = zip(question.choices, done.scenarios, strict=True)
    return Answered(
        question,
        {choice: runs.makespans_s for choice, runs in pairs},
        dict(zip(question.choices, simulated, strict=True)),
        0 if done.calm is None else done.calm.disturbed,
    )


def _changes(question: TuningQuestion) -> list[dict[str, Any]]:
    return [dict(change) for change in question.choices.values()]


def _native(question: TuningQuestion, **where: Any) -> list[Scenario]:
    return [
        _scenario(question, change, workers=question.workers, clock="native", **where)
        for change in _changes(question)
    ]


def _scenario(question: TuningQuestion, change: dict[str, Any], **where: Any) -> Scenario:
    return Scenario(question.graph, **{"scheduler": "lws", **change, **where})


def _calibrated(
    question: TuningQuestion, effort: MeasurementEffort, folder: Path
) -> tuple[str, str]:
    """Return the platform file of this machine, and the folder of its models."""
    report = calibrate(
        list(question.calibrated),
        folder,
        workers=question.workers,
        machine="here",
        options=CalibrationOptions(
            max_seconds=effort.calibration_s / (2 if question.loop is not None else 1),
            min_runs=3,
            schedulers=question.schedulers,
            calm=effort.calm,
        ),
        terms=dict(question.terms),
    )
    if report.interrupted:
        raise KeyboardInterrupt
    return str(report.platform_path), str(report.models_folder)
