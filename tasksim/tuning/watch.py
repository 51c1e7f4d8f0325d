"""Watch over selective runs, which changes to full runs if they save or promise too little."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.tuning.selection import TuningRun

__all__ = ["Watch"]

SHORTEST_TASK_S: Final = 200e-6
"""Task duration in seconds below which selective runs err: the time between two tasks is not
charged, and a kernel executed alone among skipped ones finds less of its data in the caches."""
NOTABLE_OTHERS_SHARE: Final = 0.05
"""Share of the workers' time taken by others beyond which full runs are delayed more than
single kernels: predictions err by 3 to 4 % anyway."""
TRIAL_RUNS: Final = 3
"""Number of selective runs after which their time is compared with that of full runs."""


class Watch:
    """Observer of the runs of a tuning, which detects that selective runs are of no use.

    Parameters
    ----------
    fall_back : bool, default True
        Whether to execute configurations in full if selective runs are of no use.
    tell : callable, optional
        Called with each new note.

    Attributes
    ----------
    gave_up : bool
        Whether all configurations are executed in full from now on.
    """

    def __init__(
        self, *, fall_back: bool = True, tell: Callable[[str], None] | None = None
    ) -> None:
        self._fall_back, self._tell = fall_back, tell
        self._others_s = self._seen_s = 0.0
        self._short_s: dict[int, float] = {}
        self._trials, self._selective_s, self._full_s = 0, 0.0, 0.0
        self._notes: dict[str, str] = {}
        self.gave_up = False

    def selective(self, place: int, ran: TuningRun) -> bool:
        """Note a selective run of a configuration; return whether it must be executed in full."""
        self.note(ran)
        self._trials += 1
        self._selective_s += ran.wall_s
        self._full_s += ran.makespan_s
        if ran.task_s < SHORTEST_TASK_S:
            self._note_short(place, ran.task_s)
        slow = self._trials >= TRIAL_RUNS and self._selective_s > self._full_s
        if slow:
            self._say(
                "slow",
                f"selective runs take {self._selective_s / self._full_s:.2g} times as long as full"
                f" runs would{self._consequence('all configurations are')}",
            )
        if self.is_disturbed() or slow:
            self.gave_up = self._fall_back
        return self._fall_back and (self.gave_up or place in self._short_s)

    def note(self, ran: TuningRun) -> None:
        """Note the time that other programs took from a run."""
        if ran.others_share is not None:
            self._others_s += ran.others_share * ran.wall_s
            self._seen_s += ran.wall_s

    def is_disturbed(self) -> bool:
        """Return whether others take much of the workers' time; report it the first time."""
        share = self._others_s / self._seen_s if self._seen_s else 0.0
        if share <= NOTABLE_OTHERS_SHARE:
            return False
        self._say(
            "disturbed",
            f"other programs had the cores for {100 * share:.0f} % of the time: full runs are"
            " delayed, and selective runs predict too short"
            f" times{self._consequence('all configurations are')}; tune again when the machine is"
            " calm, or with more repetitions",
        )
        return True

    @property
    def notes(self) -> list[str]:
        """The notes so far."""
        return list(self._notes.values())

    def _note_short(self, place: int, task_s: float) -> None:
        from tasksim.base.units import format_time

        self._short_s[place] = task_s
        count = len(self._short_s)
        which = f"{count} configurations have" if count > 1 else "1 configuration has"
        these = "these are" if count > 1 else "it is"
        shortest = format_time(min(self._short_s.values()))
        self._say(
            "short",
            f"{which} short tasks (median {shortest}), but selective runs need"
            f" {format_time(SHORTEST_TASK_S)}{self._consequence(these)}",
        )

    def _consequence(self, what: str) -> str:
        return f": {what} executed in full" if self._fall_back else ": predictions may be far off"

    def _say(self, about: str, text: str) -> None:
        """Update the note *about* a subject; report it the first time."""
        if about not in self._notes and self._tell is not None:
            self._tell(text)
        self._notes[about] = text
