"""Pictures for the documentation: ``python docs/screenshots.py [NAME...]``.

Pictures of pages are screenshots of pages that tasksim has just written, by Chromium, which must be
installed; the animation of the README consists of screenshots while a slider moves. Figures that no
command in the documentation draws are made here, too.
"""

from __future__ import annotations

import base64
import io
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import tasksim
from tasksim.scenario.scenario import Scenario

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
sys.path.insert(0, str(ROOT / "tests"))
from chromium import Browser  # noqa: E402

MACHINE = """\
version: 1
memories: {ram: {}, gpu0: {size: 1 GiB}, gpu1: {size: 1 GiB}}
arch: {cuda: {pipeline: 2}, cpu: {}}
workers:
  cuda: {count: 2, memory: [gpu0, gpu1], drivers: cpu}
  cpu: {count: 8, memory: ram}
links:
  pcie0: {bandwidth: 6 GB/s, latency: 10 us}
  pcie1: {bandwidth: 6 GB/s, latency: 10 us}
routes:
- {from: ram, to: gpu0, links: [pcie0]}
- {from: gpu0, to: ram, links: [pcie0]}
- {from: ram, to: gpu1, links: [pcie1]}
- {from: gpu1, to: ram, links: [pcie1]}
"""
"""A node with two GPUs."""
DURATIONS = (
    "potrf=12ms,cuda:potrf=14ms,trsm=31ms,cuda:trsm=7ms,syrk=30ms,cuda:syrk=5ms,"
    "gemm=58ms,cuda:gemm=7ms"
)
IS_ANSWERED = "tasksimPage.live.shown === tasksimPage.live.settings"
IS_IDLE = "!tasksimPage.live.jobs.length && !tasksimPage.live.asked"
SPEEDS = ("1", "1.25", "1.5", "2", "3", "4", "6", "4", "2", "1", "0.7", "0.5", "0.7", "1")
"""Factors of the GPUs' speed, from frame to frame."""
FRAME_MS, REST_MS = 350, 1600
"""Durations of a frame of the animation, and of the first and the extreme ones, in milliseconds."""
LOOP_COUNT = 3
"""Number of times that the animation plays; then it rests, for readers whom motion disturbs."""


def hybrid(folder: Path, tiles: int) -> Scenario:
    """Return Cholesky on the node with two GPUs."""
    (folder / "node.yaml").write_text(MACHINE)
    return Scenario(
        f"cholesky tiles={tiles} tile_size=1024",
        platform=folder / "node.yaml", durations=DURATIONS, scheduler="dmdas",
    )  # fmt: skip


def picture(browser: Browser) -> bytes:
    """Return the visible part of the page as PNG."""
    browser.settle()
    return base64.b64decode(browser.call("Page.captureScreenshot", format="png")["data"])


def save(name: str, png: bytes) -> None:
    """Write a picture, as small as PNG makes it: only edges of letters have many colours."""
    shown = Image.open(io.BytesIO(png)).convert("RGB")
    # Unlike the median cut, it keeps colours of few pixels, such as those of a legend.
    few = shown.quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    few.save(IMAGES / name, optimize=True)


def explore_light(browser: Browser, folder: Path) -> None:
    """Show two runs of one graph, the critical path, and a pinned task."""
    runs = [
        tasksim.simulate("cholesky tiles=12", platform="xeon-2c", scheduler=name)
        for name in ("eager", "lws")
    ]
    tasksim.save_page(runs, folder / "page.html", force=True)
    browser.open((folder / "page.html").as_uri())
    browser.evaluate("tasksimPage.togglePath(), tasksimPage.pin(tasksimPage.runs[0], 200)")
    save("explore-light.png", picture(browser))


def explore_dark(browser: Browser, folder: Path) -> None:
    """Show a run on GPUs on a dark page: the waits of the pinned task, and the copies."""
    run = hybrid(folder, 16).solve()
    tasksim.save_page(run, folder / "page.html", force=True)
    browser.prefer("dark")
    browser.open((folder / "page.html").as_uri())
    span = run.makespan_s
    on_gpu = np.array([worker.architecture == "cuda" for worker in run.workers])[run.tasks.worker]
    middle = np.where(on_gpu, np.abs(run.tasks.start_s - 0.5 * span), np.inf)
    browser.evaluate(
        f"tasksimPage.viewport.set({0.4 * span}, {0.56 * span}), tasksimPage.toggleWaits(),"
        f"tasksimPage.pin(tasksimPage.runs[0], {middle.argmin()})"
    )
    save("explore-dark.png", picture(browser))
    browser.prefer("light")


def explore_play(browser: Browser, folder: Path) -> None:
    """Play a run: workers, queues, the estimates for a task, memories."""
    (folder / "node.yaml").write_text(MACHINE)
    run = tasksim.simulate(
        "cholesky tiles=10 tile_size=1024", folder / "node.yaml", durations=DURATIONS,
        scheduler="dmda", decisions=True,
    )  # fmt: skip
    tasksim.save_page(run, folder / "page.html", True, names=["dmda"])
    browser.resize(1400, 900)
    browser.open(f"{(folder / 'page.html').as_uri()}#panels=,ready&play={0.45 * run.makespan_s}")
    browser.evaluate("tasksimPage.playing.step(1)")
    save("explore-play.png", picture(browser))
    browser.resize(1280, 720)


def open_live(browser: Browser, folder: Path, tiles: int, settings: str = "") -> None:
    """Open the live page of the node with two GPUs, at some settings."""
    tasksim.explore(hybrid(folder, tiles), folder / "live.html", True)
    browser.open((folder / "live.html").as_uri())
    browser.wait(IS_ANSWERED)
    ask(browser, settings)


def ask(browser: Browser, settings: str) -> None:
    """Ask for settings, and wait until the answer is drawn."""
    browser.evaluate(f"tasksimPage.live.follow({settings!r})")
    browser.wait(IS_ANSWERED)


def explore_live(browser: Browser, folder: Path) -> None:
    """Show a live page with one GPU less and a quarter of the bandwidth of links."""
    browser.resize(1400, 860)
    open_live(browser, folder, 20, "count.cuda=1\nfactor.bandwidth.*=0.25")
    browser.wait(IS_IDLE)
    save("explore-live.png", picture(browser))
    browser.resize(1280, 720)


def what_if(browser: Browser, folder: Path) -> None:
    """Make the README's animation: the speed of the GPUs changes, and so does the schedule."""
    browser.resize(960, 540)
    open_live(browser, folder, 12)
    browser.wait(IS_IDLE)
    browser.evaluate(
        "(() => { document.querySelector('.live').scrollTop = 0;"
        " for (const part of document.querySelectorAll('.live > .section, .answer'))"
        " if (!part.textContent.startsWith('Speed of workers')) part.hidden = true;"
        " document.querySelector('.side').hidden = true; })()"
    )
    frames: list[Any] = []
    for factor in SPEEDS:
        ask(browser, "" if factor == "1" else f"factor.speed.cuda={factor}")
        browser.wait(IS_IDLE)  # the curve above the slider
        browser.evaluate("tasksimPage.fit(), tasksimPage.draw(true)")
        frames.append(Image.open(io.BytesIO(picture(browser))).convert("RGB"))
    times = [REST_MS if f in ("6", "0.5") or k == 0 else FRAME_MS for k, f in enumerate(SPEEDS)]
    frames[0].save(
        IMAGES / "what-if.webp", save_all=True, append_images=frames[1:], duration=times,
        loop=LOOP_COUNT, lossless=True, quality=80, method=4, minimize_size=True,
    )  # fmt: skip
    browser.resize(1280, 720)


def gantt(_: Path) -> None:
    """Draw the README's figure: a recorded run above its prediction."""
    recorded = tasksim.load_run(ROOT / "traces" / "cholesky-12-xeon-2c")
    predicted = tasksim.simulate("cholesky tiles=12", "xeon-2c", scheduler="lws")
    figure = tasksim.figure([recorded, predicted])
    tasksim.save_figure(figure, IMAGES / "gantt.png", force=True)


def memories(folder: Path) -> None:
    """Draw the copies between memories that are too small, and how full these are."""
    small = MACHINE.replace("1 GiB", "256 MiB").replace("count: 8", "count: 10")
    (folder / "node.yaml").write_text(small)
    run = tasksim.simulate(
        "cholesky tiles=20 tile_size=960 dtype=float32", folder / "node.yaml",
        durations=DURATIONS, scheduler="dmdas",
    )  # fmt: skip
    tasksim.save_figure(tasksim.figure(run), IMAGES / "memories.png", force=True)


def panels(_: Path) -> None:
    """Draw panels that are not drawn by default."""
    run = tasksim.simulate("cholesky tiles=20", "xeon-24c", scheduler="prio")
    figure = tasksim.figure(run, ["gantt", "iterations", "utilisation", "lackready", "gflops"])
    tasksim.save_figure(figure, IMAGES / "panels.png", force=True, dots_per_inch=85.0)


PICTURES = (explore_light, explore_dark, explore_play, explore_live, what_if)
FIGURES_OF_RUNS = (gantt, memories, panels)


def main(names: list[str]) -> None:
    """Make all pictures, or those of some names."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for draw in FIGURES_OF_RUNS:
            if not names or draw.__name__ in names:
                draw(folder)
        if names and not {make.__name__ for make in PICTURES} & {*names}:
            return
        browser = Browser(folder / "profile")
        try:
            for make in PICTURES:
                if not names or make.__name__ in names:
                    make(browser, folder)
        finally:
            browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
