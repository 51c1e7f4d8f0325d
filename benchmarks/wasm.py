"""Speed of the core as WebAssembly in Chromium beside the native core, interleaved.

The questions are Cholesky factorisations on nine cores and three devices with large memories.
Each is asked of the native core and of a worker in a page in turn, from arrays to arrays: what a
page copies into the module and out of it counts, the graph only at first.

    python benchmarks/wasm.py [TILES ...]      by default 26 72 181: to a million tasks
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import chromium
import numpy as np
from engine import DURATIONS_S, devices
from webassembly import MISSING, first_answer

from tasksim.engine.choice import as_data, replayed
from tasksim.engine.question import Question
from tasksim.graph.apps.registry import generate
from tasksim.schedulers.registry import create

SCHEDULERS = ("eager", "dmdas")
PATIENCE_S = 300.0
ASKING_SCRIPT = """
let core, questions;
onmessage = async ({ data }) => {
  if (data.wasm) {
    core = await loadCore(decoded(data.wasm));
    questions = data.questions.map(decoded);
    for (const question of questions) question.graph = questions[0].graph;
    return postMessage(questions.length);
  }
  const begin = performance.now();
  const { makespan_s } = core.replay(questions[data.number]);
  postMessage({ s: (performance.now() - begin) / 1e3, makespan_s, bytes: core.memoryBytes });
};
"""


def main(tiles: list[int]) -> None:
    """Print a line per number of tiles and scheduler."""
    if MISSING or not chromium.PROGRAM:
        sys.exit(MISSING or chromium.MISSING)
    chromium.PATIENCE_S = PATIENCE_S
    for number in tiles:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            compare(number, Path(folder))


def compare(tiles: int, folder: Path) -> None:
    """Ask both, in turn, as often as takes some seconds."""
    graph, platform = generate("cholesky", tiles=tiles), devices(None)
    table = np.array([[seconds[name] for name in graph.kernels] for seconds in DURATIONS_S])
    rows = [0 if group.architecture == "cpu" else 1 for group in platform.classes]
    costs = np.ascontiguousarray(table[rows][:, graph.kernel])
    asked = [Question(graph, platform, create(name), costs, costs) for name in SCHEDULERS]
    browser = chromium.Browser(folder / "profile")
    try:
        data = [as_data(question, 0) for question in asked]
        first_answer(browser, ASKING_SCRIPT, data, folder)
        for number, question in enumerate(asked):
            native, wasm, answer = [], [], {}
            for _ in range(max(2, min(30, 300_000 // len(graph)))):
                begun = time.perf_counter()
                replay = replayed(question, 0, "compiled").replay
                native.append(time.perf_counter() - begun)
                answer = json.loads(browser.evaluate(f"ask({{ number: {number} }})"))
                wasm.append(answer["s"])
            assert answer["makespan_s"] == float(replay.table().end_s.max())
            print(
                f"{len(graph):9,} tasks  {SCHEDULERS[number]:6}"
                f"  native {statistics.median(native):7.4f} s"
                f"  Chromium {statistics.median(wasm):7.4f} s, the first {wasm[0]:7.4f}"
                f"  ratio {statistics.median(wasm) / statistics.median(native):.2f}"
                f"  memory {answer['bytes'] / 1e6:6.1f} MB"
            )
    finally:
        browser.close()


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [26, 72, 181])
