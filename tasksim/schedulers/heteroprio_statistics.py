"""Statistics that ``heteroprio`` learns during a run, and the resulting order of buckets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.base.sums import total

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["BucketStatistics"]

# These are StarPU's values (sched_policies/heteroprio.c), so that its decisions are reproduced.
MAX_AVERAGED_SAMPLES = 256
"""Largest sample size of an average: a new sample weighs at least 1/256, so old ones fade."""
MIN_SAMPLES = 16
"""Least number of measured durations of a bucket; below it, the bucket comes first."""
UNMEASURED_BONUS = 99999999.0
"""Addition to the score of a bucket with fewer samples, larger than any score."""
DEFAULT_DURATION_S = 1e-3
"""Duration in seconds of a bucket on an architecture that can run it but never has."""
DEFAULT_RELEASED_TIME = 1000.0
"""Normalised upward released time of a bucket before its first push."""
MISSING_ARCHITECTURE_TIME = 999999999999999.0
"""Normalised duration elsewhere of a bucket that only one architecture can run."""


class BucketStatistics:
    """Averages per bucket and architecture, as in StarPU's ``heteroprio.c``.

    ``able[bucket]`` has a flag per architecture: whether it can run the tasks of the bucket. A
    bucket takes part as soon as it is found. Durations are measured in the run, from start to end.
    The scheme is that of C. Flint, L. Paillat, B. Bramas, *Automated prioritizing heuristics for
    parallel task graph scheduling in heterogeneous computing* (PeerJ Computer Science 8, 2022).
    """

    def __init__(self, able: Sequence[Sequence[bool]], architectures: int) -> None:
        buckets = len(able)
        self._all = range(architectures)
        self._able = [[a for a in self._all if row[a]] for row in able]
        self.found: list[int] = []
        self._known = [False] * buckets
        self._time = [[DEFAULT_DURATION_S] * architectures for _ in range(buckets)]
        self._timed = [[0] * architectures for _ in range(buckets)]
        self._best = [DEFAULT_DURATION_S] * buckets
        self._share = [0.0] * buckets
        self._shared = [0] * buckets
        self._total = 0
        self._place = [[0.0] * architectures for _ in range(buckets)]
        self._placed = [0] * buckets
        self._released = [[0.0] * architectures for _ in range(buckets)]
        self._releases = [0] * buckets

    def find(self, bucket: int) -> bool:
        """Add *bucket* to the found ones; return whether it is new."""
        if self._known[bucket]:
            return False
        self._known[bucket] = True
        self.found.append(bucket)
        return True

    def know(self, bucket: int, architecture: int, duration: float) -> None:
        """Set the *duration* in seconds, as if earlier runs had measured enough samples of it."""
        self._time[bucket][architecture] = duration
        self._timed[bucket][architecture] = MIN_SAMPLES
        self._best[bucket] = min(self._time[bucket][a] for a in self._able[bucket])

    def pushed(self, bucket: int, released: Iterable[tuple[int, float]]) -> None:
        """Note the push of a task; *released* has the buckets of its successors and their weights.

        The weight of a successor is one over the number of its predecessors.
        """
        self._submit(bucket)
        self._releases[bucket] = count = min(MAX_AVERAGED_SAMPLES, self._releases[bucket] + 1)
        unit = self._unit()
        averages = self._released[bucket]
        for architecture in self._all:
            value = total(
                weight * self._place[after][architecture] * self._time[after][architecture]
                for after, weight in released
            )
            averages[architecture] += (value / unit - averages[architecture]) / count

    def executed(self, bucket: int, architecture: int, duration: float) -> None:
        """Note that a task ran for *duration* seconds on *architecture*."""
        self._placed[bucket] = placed = min(MAX_AVERAGED_SAMPLES, self._placed[bucket] + 1)
        place = self._place[bucket]
        place[architecture] += 1.0 / max(1, placed - 1)
        parts = total(place)
        self._place[bucket] = [part / parts for part in place]
        self._timed[bucket][architecture] = timed = min(
            MAX_AVERAGED_SAMPLES, self._timed[bucket][architecture] + 1
        )
        time = self._time[bucket]
        mean = time[architecture] if timed > 1 else 0.0
        time[architecture] = mean * (timed - 1) / timed + duration / timed
        self._best[bucket] = min(time[a] for a in self._able[bucket])

    def slowness(self, bucket: int) -> tuple[int, list[float]]:
        """Return the fastest architecture, and the slowdown of each architecture."""
        time, best = self._time[bucket], self._best[bucket]
        fastest = next(a for a in self._able[bucket] if time[a] == best)
        return fastest, [duration / best if best > 0.0 else 1.0 for duration in time]

    def orders(self) -> list[list[int]]:
        """Return, per architecture, the buckets from first to last."""
        scores: list[list[tuple[float, int]]] = [[] for _ in self._all]
        unit = self._unit()
        for bucket in self.found:
            for architecture, score in self._scores(bucket, unit):
                scores[architecture].append((score, bucket))
        return [
            [bucket for _, bucket in sorted(scored, key=lambda pair: -pair[0])] for scored in scores
        ]

    def _scores(self, bucket: int, unit: float) -> list[tuple[int, float]]:
        """Return the score of *bucket* for each able architecture.

        The score is ``(1 + URT)·(time elsewhere − time here)``. URT, the upward released time, is
        the work that the end of a task makes ready here, plus the work that it makes ready
        elsewhere times the share of tasks that do not run there. "Elsewhere" is the slowest
        architecture, or the second slowest if this is the slowest. (This is ``URT_DOT_DIFF_4`` in a
        run without earlier runs: the load of the architectures is unknown, and its last term is
        zero.)
        """
        time = {a: self._time[bucket][a] / unit for a in self._able[bucket]}
        slowest = sorted(time, key=lambda a: -time[a])[:2]
        scores = []
        for own in self._able[bucket]:
            released, elsewhere = self._urt(bucket, own), MISSING_ARCHITECTURE_TIME
            for other in slowest[1:] if own == slowest[0] else slowest[:1]:
                released += self._urt(bucket, other) * (1.0 - self._place[bucket][other])
                elsewhere = time[other]
            score = (1.0 + released) * (elsewhere - time[own])
            scores.append(
                (own, score + UNMEASURED_BONUS * (self._timed[bucket][own] < MIN_SAMPLES))
            )
        return scores

    def _urt(self, bucket: int, architecture: int) -> float:
        if not self._releases[bucket]:
            return DEFAULT_RELEASED_TIME
        return self._released[bucket][architecture]

    def _submit(self, bucket: int) -> None:
        if self._shared[bucket] < MAX_AVERAGED_SAMPLES:
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
