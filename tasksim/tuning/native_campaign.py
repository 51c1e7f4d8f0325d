"""Resumable campaign of a report on native choices.

Answers are saved, and no question is answered twice.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tasksim.base.documents.json_document import read_json
from tasksim.base.errors import InputError, option
from tasksim.base.files import refuse_existing, write_text
from tasksim.calibration.resumable_file import check_same, refuse_both
from tasksim.tuning.native_answers import Answered, TrainingLoop, answer, run_examples
from tasksim.tuning.native_report import NativeReport, report, tunables_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from tasksim.base.progress import ShareProgress
    from tasksim.native.calm_moments import Gate
    from tasksim.run.record import Run
    from tasksim.tuning.native_answers import MeasurementEffort
    from tasksim.tuning.native_questions import TuningQuestion

__all__ = ["NativeCampaign"]


@dataclass(eq=False)
class NativeCampaign:
    """Questions that are answered one after the other, followed by training loops.

    With a *path*, all results are saved to that file after each answer, so that an interrupted or
    killed campaign resumes there.

    Attributes
    ----------
    questions : sequence of TuningQuestion
    teaching : sequence of TuningQuestion
        Training loops, which are only run.
    effort : MeasurementEffort
    asked : mapping
        Identity of the campaign; the file of another one is not continued.
    path : Path, optional
    answers : list of Answered
        Answers to the first *questions*.
    examples : list of TrainingLoop
        Results of the first of *teaching*.
    """

    questions: Sequence[TuningQuestion]
    teaching: Sequence[TuningQuestion]
    effort: MeasurementEffort
    asked: Mapping[str, Any]
    path: Path | None = None
    answers: list[Answered] = field(default_factory=list)
    examples: list[TrainingLoop] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether everything is answered."""
        known = len(self.answers), len(self.examples)
        return known == (len(self.questions), len(self.teaching))

    def open(self, *, resume: bool = False, force: bool = False) -> None:
        """Continue the file, with *resume*, or refuse an existing one.

        Raises
        ------
        InputError
            If the file exists and neither *resume* nor *force* is given, if both are, if *resume*
            has no file, or if the file belongs to another campaign.
        """
        refuse_both(resume=resume, force=force)
        if resume and self.path is None:
            raise InputError(f"{option('resume', 'True')} needs a file to continue: give -o")
        if self.path is None:
            return
        if not (resume and self.path.exists()):
            refuse_existing(self.path, force=force)
            return
        data = read_json(self.path)
        if not (isinstance(data, dict) and isinstance(data.get("asked"), dict)):
            raise InputError(
                f"{self.path}: not a file of 'tasksim tune report -o', so it cannot be continued"
            )
        check_same(self.path, data["asked"], self.asked)
        self._take_over(data)

    def answer(
        self, gate: Callable[[int], Gate[Run]] | None = None, progress: ShareProgress | None = None
    ) -> None:
        """Answer the remaining questions; see :func:`~tasksim.tuning.native_answers.answer`."""
        left = self.questions[len(self.answers) :]
        for found in answer(left, self.effort, gate=gate, progress=progress):
            self.answers.append(found)
            self._keep()

    def teach(self, progress: ShareProgress | None = None) -> None:
        """Run the remaining training loops."""
        left = self.teaching[len(self.examples) :]
        for found in run_examples(left, self.effort.repetitions, progress=progress):
            self.examples.append(found)
            self._keep()

    def report(self) -> NativeReport:
        """Return the report; without the learners' losses as long as answers are missing."""
        if not self.complete:
            tunables = tunables_of(self.answers)
            return NativeReport(tuple(self.answers), tunables, {}, {}, tuple(self.examples))
        found = report(self.answers, self.examples)
        self._write(found, complete=True)
        return found

    def _keep(self) -> None:
        # Scores take longer than many an answer, so they wait until everything is answered.
        found = NativeReport(tuple(self.answers), {}, {}, {}, tuple(self.examples))
        self._write(found, complete=False)

    def _write(self, found: NativeReport, *, complete: bool) -> None:
        if self.path is None:
            return
        data = {"asked": dict(self.asked), "complete": complete, **found.to_json()}
        write_text(self.path, json.dumps(data, indent=1) + "\n")

    def _take_over(self, data: Mapping[str, Any]) -> None:
        try:
            saved, taught = data["questions"], data["examples"]
            if len(saved) > len(self.questions) or len(taught) > len(self.teaching):
                raise ValueError
            pairs = zip(self.questions, saved, strict=False)
            self.answers = [Answered.from_json(question, one) for question, one in pairs]
            pairs = zip(self.teaching, taught, strict=False)
            self.examples = [TrainingLoop.from_json(question, one) for question, one in pairs]
        except (KeyError, TypeError, ValueError, AttributeError):
            raise InputError(
                f"{self.path}: has answers to other questions; choose another name, or give"
                f" {option('force', 'True')} to replace it"
            ) from None
