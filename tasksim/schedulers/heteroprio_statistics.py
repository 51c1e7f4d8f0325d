"""Statistics that heteroprio learns while it runs, and the order of buckets that follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.base.sums import total

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Statistics"]

# All as StarPU has them in sched_policies/heteroprio.c, whose decisions are to be reproduced.
LIFE = 256
"""An average forgets: what is new never weighs less than 1/256."""
SAMPLES = 16
"""Below this number of measured durations, a bucket comes first, to be measured."""
BONUS = 99999999.0
"""What such a bucket's score is raised by: more than any score."""
DEFAULT_S = 1e-3
"""The duration of what an architecture can run and has never run."""
DEFAULT_RELEASED = 1000.0
"""What a task is taken to release before any task of its bucket has ended."""
NEVER = 999999999999999.0
"""The normalised duration on the other architecture where there is no other."""


class Statistics:
    """Averages per bucket and architecture, as StarPU's ``heteroprio.c`` keeps them.

    ``able[bucket]`` says which architectures can run the tasks of a bucket. Buckets are counted
    from the moment they are found. Durations are what the run shows, from start to end. The scheme
    is that of C. Flint, L. Paillat, B. Bramas, *Automated prioritizing heuristics for parallel task
    graph scheduling in heterogeneous computing* (PeerJ Computer Science 8, 2022).
    """

    def __init__(self, able: Sequence[Sequence[bool]], architectures: int) -> None:
        buckets = len(able)
        self._all = range(architectures)
        self._able = [[a for a in self._all if row[a]] for row in able]
        self.found: list[int] = []
        self._known = [False] * buckets
        self._time = [[DEFAULT_S] * architectures for _ in range(buckets)]
        self._timed = [[0] * architectures for _ in range(buckets)]
        self._best = [DEFAULT_S] * buckets
        self._share = [0.0] * buckets
        self._shared = [0] * buckets
        self._total = 0
        self._place = [[0.0] * architectures for _ in range(buckets)]
        self._placed = [0] * buckets
        self._released = [[0.0] * architectures for _ in range(buckets)]
        self._releases = [0] * buckets

    def find(self, bucket: int) -> bool:
        """Count *bucket* from now on; return whether it was not known."""
        if self._known[bucket]:
            return False
        self._known[bucket] = True
        self.found.append(bucket)
        return True

    def know(self, bucket: int, architecture: int, duration: float) -> None:
        """Start from *duration* seconds, as if earlier runs had measured it often enough."""
        self._time[bucket][architecture] = duration
        self._timed[bucket][architecture] = SAMPLES
        self._best[bucket] = min(self._time[bucket][a] for a in self._able[bucket])

    def pushed(self, bucket: int, released: Iterable[tuple[int, float]]) -> None:
        """A task was pushed; *released* are the buckets of its successors, weighted.

        A successor weighs one over the number of its predecessors.
        """
        self._submit(bucket)
        self._releases[bucket] = count = min(LIFE, self._releases[bucket] + 1)
        unit = self._unit()
        averages = self._released[bucket]
        for architecture in self._all:
            value = total(
                weight * self._place[after][architecture] * self._time[after][architecture]
                for after, weight in released
            )
            averages[architecture] += (value / unit - averages[architecture]) / count

    def executed(self, bucket: int, architecture: int, duration: float) -> None:
        """A task ran for *duration* seconds on *architecture*."""
        self._placed[bucket] = placed = min(LIFE, self._placed[bucket] + 1)
        place = self._place[bucket]
        place[architecture] += 1.0 / max(1, placed - 1)
        parts = total(place)
        self._place[bucket] = [part / parts for part in place]
        self._timed[bucket][architecture] = timed = min(LIFE, self._timed[bucket][architecture] + 1)
        time = self._time[bucket]
        mean = time[architecture] if timed > 1 else 0.0
        time[architecture] = mean * (timed - 1) / timed + duration / timed
        self._best[bucket] = min(time[a] for a in self._able[bucket])

    def slowness(self, bucket: int) -> tuple[int, list[float]]:
        """Return the fastest architecture, and how many times slower each one is."""
        time, best = self._time[bucket], self._best[bucket]
        fastest = next(a for a in self._able[bucket] if time[a] == best)
        return fastest, [duration / best if best > 0.0 else 1.0 for duration in time]

    def orders(self) -> list[list[int]]:
        """Return the buckets per architecture, those to be taken first at the front."""
        scores: list[list[tuple[float, int]]] = [[] for _ in self._all]
        unit = self._unit()
        for bucket in self.found:
            for architecture, score in self._scores(bucket, unit):
                scores[architecture].append((score, bucket))
        return [
            [bucket for _, bucket in sorted(scored, key=lambda pair: -pair[0])] for scored in scores
        ]

    def _scores(self, bucket: int, unit: float) -> list[tuple[int, float]]:
        """Return per able architecture the score of *bucket*.

        ``(1 + URT)·(time elsewhere − time here)``, where URT, the upward released time, is what a
        task's end makes ready here, plus what it makes ready elsewhere times the share of tasks
        that do not run there. Elsewhere is the slowest architecture; for that one, the second
        slowest. (``URT_DOT_DIFF_4`` of a run without earlier runs: how busy the architectures
        are is not known, and its last term is zero.)
        """
        time = {a: self._time[bucket][a] / unit for a in self._able[bucket]}
        slowest = sorted(time, key=lambda a: -time[a])[:2]
        scores = []
        for own in self._able[bucket]:
            released, elsewhere = self._urt(bucket, own), NEVER
            for other in slowest[1:] if own == slowest[0] else slowest[:1]:
                released += self._urt(bucket, other) * (1.0 - self._place[bucket][other])
                elsewhere = time[other]
            score = (1.0 + released) * (elsewhere - time[own])
            scores.append((own, score + BONUS * (self._timed[bucket][own] < SAMPLES)))
        return scores

    def _urt(self, bucket: int, architecture: int) -> float:
        if not self._releases[bucket]:
            return DEFAULT_RELEASED
        return self._released[bucket][architecture]

    def _submit(self, bucket: int) -> None:
        if self._shared[bucket] < LIFE:
            self._shared[bucket] += 1
            self._total += 1
        self._share[bucket] += 1.0 / self._total
        shares = total(self._share[b] for b in self.found)
        for found in self.found:
            self._share[found] /= shares

    def _unit(self) -> float:
        """Return the mean duration of a task on its best architecture."""
        unit = total(self._share[b] * self._best[b] for b in self.found)
        return unit if unit > 0.0 else 1.0
