"""Digests of runs of StarPU-SimGrid's threads: what they came to when two engines agreed on them.

The core alone has these threads; an engine in Python that had them as well gave the same bytes.
``python tests/thread_digests.py`` writes the file anew, after a change that means to change them.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path

FILE = Path(__file__).parent / "core" / "threads.json"
SEEDS, NODE_SEEDS = 150, 12


def digest(found):
    """Return the digest of an answer, which is columns by name, or an error."""
    if "error" in found:
        return "error"
    held = hashlib.sha256()
    for name, value in sorted(found.items()):
        if name in ("tasks.pulse", "tasks.beat"):  # of native runs, and younger than the digests
            continue
        held.update(repr((name, value)).encode())
    return held.hexdigest()[:16]


@cache
def digests():
    """Return the digests in the file: of drawn machines and clusters, by scheduler and seed."""
    return json.loads(FILE.read_text())


def _now():
    from core.test_clusters import answer as answer_of_cluster
    from core.test_clusters import drawn_nodes_of_threads
    from equal import answer
    from threaded import SCHEDULERS, drawn_question

    return {
        "machines": {
            name: [digest(answer(drawn_question(n, name), "compiled")) for n in range(SEEDS)]
            for name in SCHEDULERS
        },
        "clusters": {
            name: [
                digest(answer_of_cluster(n, name, "compiled", drawn_nodes_of_threads))
                for n in range(NODE_SEEDS)
            ]
            for name in SCHEDULERS
        },
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps(_now(), indent=1) + "\n")
