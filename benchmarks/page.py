"""Speed of the page: how large, how soon it shows, how quickly it zooms and pans, in Chromium.

Zooms and pans are measured from the act until the next frame is shown, up to 17 ms of which are
waiting for it; painting alone is compared with a naive drawing of the same tasks, a rectangle each,
in the same run of the browser: on a busy machine the ratio says more than the milliseconds.

    python benchmarks/page.py [TASKS ...]      by default 100000 and 1000000
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import chromium

import tasksim

WORKERS = 64
DURATIONS_S = {"potrf": 0.8e-3, "trsm": 1.1e-3, "syrk": 1.0e-3, "gemm": 1.9e-3}
NAIVE_SCRIPT = """(() => {
  const { runs: [run], viewport, theme } = tasksimPage;
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [1000, 640];
  const context = canvas.getContext("2d");
  const begin = performance.now();
  for (let worker = 0; worker < run.workers.length; worker++) {
    for (let slot = run.firstSlot[worker]; slot < run.firstSlot[worker + 1]; slot++) {
      const x = viewport.x(run.slotStart[slot], 1000), until = viewport.x(run.slotEnd[slot], 1000);
      const kernel = run.kernel[run.slotTask[slot]];
      context.fillStyle = tasksimPage.scene.colouring.colours[kernel];
      context.fillRect(x, 10 * worker, until - x, 9);
    }
  }
  context.getImageData(0, 0, 1, 1);
  return performance.now() - begin;
})()"""


def main(counts: list[int]) -> None:
    """Print a line per number of tasks."""
    if not chromium.PROGRAM:
        sys.exit(chromium.MISSING)
    print(
        "   tasks    write   file     open   zooms: median, worst   pans: median, worst"
        "   painting   naive"
    )
    for count in counts:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            print(line(count, Path(folder)))


def line(count: int, folder: Path) -> str:
    """Return what was measured with a Cholesky factorisation of about *count* tasks."""
    tiles = round((6 * count) ** (1 / 3)) - 1
    run = tasksim.simulate(f"cholesky tiles={tiles}", workers=WORKERS, durations=DURATIONS_S)
    page = folder / "page.html"
    begin = time.perf_counter()
    tasksim.save_page(run, page)
    written_s = time.perf_counter() - begin
    size = page.stat().st_size / 1e6
    browser = chromium.Browser(folder / "profile")
    try:
        begin = time.perf_counter()
        browser.open(page.as_uri())
        opened_s = time.perf_counter() - begin
        zooms = frames(browser, ["tasksimPage.zoom(1 / 1.3)"] * 10)
        pans = frames(browser, ["tasksimPage.pan(0.1)"] * 10)
        painted = browser.evaluate("tasksimPage.frames.slice(-20).sort((a, b) => a - b)[10]")
        naive = browser.evaluate(f"tasksimPage.fit(), {NAIVE_SCRIPT}")
    finally:
        browser.close()
    shown = [f"{statistics.median(f):6.1f} ms {max(f):6.1f} ms" for f in (zooms, pans)]
    ratio = naive / painted
    return (
        f"{len(run):8} {written_s:6.2f} s {size:5.2f} MB {opened_s:5.2f} s   {shown[0]}      "
        f"{shown[1]}   {painted:.1f} ms   {naive:.0f} ms, {ratio:.0f} times"
    )


def frames(browser: chromium.Browser, acts: list[str]) -> list[float]:
    """Return the milliseconds from each act until the next frame is shown."""
    found = []
    for act in acts:
        found.append(
            browser.evaluate(
                "new Promise((done) => { const begin = performance.now();"
                f"{act}; requestAnimationFrame(() => setTimeout(() => "
                "done(performance.now() - begin))); })"
            )
        )
    return found


if __name__ == "__main__":
    main([int(text) for text in sys.argv[1:]] or [100_000, 1_000_000])
