"""Speed of a live page whose slider changes the graph: size, first replays, redraws, in Chromium.

A first replay reads the graph from the page, gives it to the worker, replays it and draws it; the
same again finds it read. While a slider is dragged, each answer is drawn before the next move. On a
busy machine the least of the times says more than the median.

    python benchmarks/live_graphs.py [TILES ...]      by default 20 to 26, up to 3276 tasks
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import chromium

from tasksim.core.library import status, wasm_status
from tasksim.scenario.scenario import Scenario
from tasksim.view.live.page import explore

MOVE_COUNT = 60
MOVES_SCRIPT = """(async () => {
  const { live } = tasksimPage, scale = live.scales.get("graph.tiles");
  live.panel.scales = () => []; // no curves, which would take turns
  const begin = performance.now();
  live.set(scale, "%s");
  while (live.shown !== live.settings) await new Promise((done) => setTimeout(done, 0));
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
  return performance.now() - begin;
})()"""


def main(tiles: list[int]) -> None:
    """Print the size of the page, then a line of times."""
    if not chromium.PROGRAM:
        sys.exit(chromium.MISSING)
    for core, found in (("core", status()), ("core for browsers", wasm_status())):
        if not found.available:
            sys.exit(f"the {core} is {found.why}")
    scenario = Scenario(f"cholesky tiles={tiles[0]}", platform="xeon-24c", scheduler="dm")
    begin = time.perf_counter()
    one, page = explore(scenario, over={}), explore(scenario, over={"tiles": tiles})
    written_s = time.perf_counter() - begin
    print(
        f"page: {len(page.html) / 1e6:.2f} MB, of which {page.graphs - 1} further graphs take "
        f"{(len(page.html) - len(one.html)) / 1e3:.0f} kB; both pages written in {written_s:.1f} s"
    )
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "live.html"
        page.save(path)
        browser = chromium.Browser(Path(folder) / "profile")
        browser.open(path.as_uri())
        browser.wait("tasksimPage.live.shown === tasksimPage.live.settings")
        browser.evaluate(MOVES_SCRIPT % tiles[0])
        first = [browser.evaluate(MOVES_SCRIPT % count) for count in tiles[1:]]
        drag = [browser.evaluate(MOVES_SCRIPT % tiles[k % len(tiles)]) for k in range(MOVE_COUNT)]
        browser.close()
    print(f"first replay of a graph: {_text(first)}; a move of the slider: {_text(drag)}")


def _text(times_ms: list[float]) -> str:
    median, least = statistics.median(times_ms), min(times_ms)
    return f"{median:.0f} ms, at least {least:.0f} ms ({1000 / median:.0f} a second)"


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or list(range(20, 27)))
