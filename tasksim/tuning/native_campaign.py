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
from tasksim.calibration.resumable_file import check_same
from tasksim.tuning.native_answers import Answered, Example, answer, run_examples
from tasksim.tuning.native_report import NativeReport, report, tunables_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from tasksim.native.calm_moments import Gate
    from tasksim.run.record import Run
    from tasksim.tuning.native_answers import Effort
    from tasksim.tuning.native_questions import Question

    Progress = Callable[[str, float], None]

__all__ = ["NativeCampaign"]


@dataclass(eq=False)
class NativeCampaign:
    """Questions that are answered one after the other, followed by training loops.

    With a *path*, all results are saved to that file after each answer, so that an interrupted or
    killed campaign resumes there.

    Attributes
    ----------
    questions : sequence of Question
    teaching : sequence of Question
        Loops that are only run.
    effort : Effort
    asked : mapping
        What tells this campaign from others; a file of another one is not taken over.
    path : Path, optional
    answers : list of Answered
        Those of the first *questions*.
    examples : list of Example
        Those of the first of *teaching*.
    """

    questions: Sequence[Question]
    teaching: Sequence[Question]
    effort: Effort
    asked: Mapping[str, Any]
    path: Path | None = None
    answers: list[Answered] = field(default_factory=list)
    examples: list[Example] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether all is answered."""
        known = len(self.answers), len(self.examples)
        return known == (len(self.questions), len(self.teaching))

    def open(self, *, resume: bool = False, force: bool = False) -> None:
        """Take over what the file has, with *resume*; else refuse one that is there.

        Raises
        ------
        InputError
            If the file is there and neither *resume* nor *force* is given, if both are, if there
            is none to keep answers in, or if it is that of another campaign.
        """
        if resume and force:
            raise InputError(
                f"{option('resume', 'True')} goes on with what is there, "
                f"{option('force', 'True')} replaces it: choose one"
            )
        if resume and self.path is None:
            raise InputError(f"{option('resume', 'True')} needs the file to go on with: -o")
        if self.path is None:
            return
        if not (resume and self.path.exists()):
            refuse_existing(self.path, force=force)
            return
        data = read_json(self.path)
        if not (isinstance(data, dict) and isinstance(data.get("asked"), dict)):
            raise InputError(
                f"{self.path}: no results of 'tasksim tune report' to go on with; legal: a file "
                "that it wrote with -o"
            )
        check_same(self.path, data["asked"], self.asked)
        self._take_over(data)

    def answer(
        self,
        gate: Callable[[int], Gate[Run]] | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Answer the questions that are left; see :func:`~tasksim.tuning.native_answers.answer`."""
        left = self.questions[len(self.answers) :]
        for found in answer(left, self.effort, gate=gate, progress=progress):
            self.answers.append(found)
            self._keep()

    def teach(self, progress: Progress | None = None) -> None:
        """Run the loops that are left."""
        left = self.teaching[len(self.examples) :]
        for found in run_examples(left, self.effort.repetitions, progress=progress):
            self.examples.append(found)
            self._keep()

    def report(self) -> NativeReport:
        """Return the report; while there are answers to come, without what learners lose."""
        found = self._report()
        if self.complete:
            self._write(found, complete=True)
        return found

    def _report(self) -> NativeReport:
        if self.complete:
            return report(self.answers, self.examples)
        tunables = tunables_of(self.answers)
        return NativeReport(tuple(self.answers), tunables, {}, {}, tuple(self.examples))

    def _keep(self) -> None:
        # Scores take longer than many an answer: they are there when all is.
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
            self.examples = [Example.from_json(question, one) for question, one in pairs]
        except (KeyError, TypeError, ValueError, AttributeError):
            raise InputError(
                f"{self.path}: its answers are not those of these questions; choose another name, "
                f"or give {option('force', 'True')} to replace it"
            ) from None
