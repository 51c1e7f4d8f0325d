"""Speed and memory of a live page in Chromium beside the native core, interleaved.

The scenario is a Cholesky factorisation on nine cores and three devices, or on cores alone. Each
scheduler is asked in turn of the native core and of the page. *core* is the time of the page's
worker from the question to the answer, whose ratio to the native core is the speed of WebAssembly;
*shown* is the time from a move of a slider to the picture. *dragged* is the number of pictures a
second while a slider moves sixty times a second. Memory is that of the whole process which shows
the page, with its worker and the core: the peak, and what is left after ten seconds.

    python benchmarks/live_page.py [--cores] [TILES ...]    by default 26 72 181: to a million tasks
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import chromium

from tasksim.core.library import status, wasm_status
from tasksim.engine.choice import replayed
from tasksim.engine.simulation import Settled
from tasksim.scenario.resolved import resolve
from tasksim.scenario.scenario import Scenario
from tasksim.view.live.page import explore

SCHEDULER_NAMES = ("eager", "lws", "dmdas")
PATIENCE_S = 300.0
CORES_PLATFORM = "version: 1\nworkers: {cpu: {count: 12}}\noverheads: {submission: 1 us}\n"
DEVICES_PLATFORM = """\
version: 1
memories: {ram: {}, m0: {}, m1: {}, m2: {}}
arch: {cuda: {pipeline: 2}, cpu: {}}
workers:
  cuda: {count: 3, memory: [m0, m1, m2]}
  cpu: {count: 9, memory: ram}
links:
  bus: {bandwidth: 6 GB/s}
  link: {bandwidth: 6 GB/s, latency: 10 us}
routes:
- {from: ram, to: m0, links: [bus, link]}
- {from: m0, to: ram, links: [bus, link]}
- {from: ram, to: m1, links: [bus, link]}
- {from: m1, to: ram, links: [bus, link]}
- {from: ram, to: m2, links: [bus, link]}
- {from: m2, to: ram, links: [bus, link]}
overheads: {submission: 1 us, push: 1 us, fetch: 1 us, kernel: 10 us, copy: 10 us}
"""
DURATIONS = (
    "cpu:potrf=5ms,cpu:trsm=10ms,cpu:syrk=10ms,cpu:gemm=18ms,"
    "cuda:potrf=2ms,cuda:trsm=3.4ms,cuda:syrk=2ms,cuda:gemm=2.8ms"
)
CORE_DURATIONS = "potrf=5ms,trsm=10ms,syrk=10ms,gemm=18ms"
ANSWER_SCRIPT = """(async () => {
  const { live } = tasksimPage;
  live.panel.showIdle = () => { live.jobs = []; }; // no idle work, which would take turns
  const { panel } = live;
  const shown = new Promise((done) => {
    panel.compare = (...runs) => { delete panel.compare; panel.compare(...runs); done(); };
  });
  const begin = performance.now();
  live.follow("scheduler=%s\\nseed=%d");
  await shown;
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
  const { numbers, took } = live.answer;
  return { core: took / 1e3, shown: (performance.now() - begin) / 1e3, makespan: numbers.makespan };
})()"""

DRAG_SCRIPT = """(async () => {
  const { live } = tasksimPage;
  const { panel } = live;
  let pictures = 0;
  const { compare } = panel;
  panel.compare = (...runs) => { compare.apply(panel, runs); pictures += 1; };
  const begin = performance.now();
  for (let seed = 1000; performance.now() - begin < 3000; seed += 1) {
    live.follow(`scheduler=%s\\nseed=${seed}`);
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
  }
  const passed = (performance.now() - begin) / 1e3;
  delete panel.compare;
  await new Promise((done) => setTimeout(done, 1000)); // the last answer
  return pictures / passed;
})()"""


def main() -> None:
    """Print a table of times, and a line of memory for each number of tiles."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cores", action="store_true", help="cores alone")
    parser.add_argument("tiles", nargs="*", type=int, default=[26, 72, 181])
    options = parser.parse_args()
    if not chromium.PROGRAM:
        sys.exit(chromium.MISSING)
    for core, found in (("core", status()), ("core for browsers", wasm_status())):
        if not found.available:
            sys.exit(f"the {core} is {found.why}")
    chromium.PATIENCE_S = PATIENCE_S
    for tiles in options.tiles:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            compare(tiles, Path(folder), cores=options.cores)


def compare(tiles: int, folder: Path, *, cores: bool) -> None:
    """Ask both of each scheduler, as often as takes some seconds."""
    machine = folder / "machine.yaml"
    machine.write_text(CORES_PLATFORM if cores else DEVICES_PLATFORM)
    scenario = Scenario(
        f"cholesky tiles={tiles}",
        platform=machine,
        durations=CORE_DURATIONS if cores else DURATIONS,
        scheduler=SCHEDULER_NAMES[0],
    )
    page = explore(scenario, over={})
    page.save(folder / "live.html")
    simulation, settled = resolve(scenario).simulation(), Settled()
    questions = {
        name: settled.question(simulation._replace(scheduler=name)) for name in SCHEDULER_NAMES
    }
    browser = chromium.Browser(folder / "profile")
    try:
        begun = time.perf_counter()
        browser.open((folder / "live.html").as_uri())
        browser.wait("tasksimPage.live.shown === tasksimPage.live.settings")
        opened_s = time.perf_counter() - begun
        rounds = max(3, min(20, 200_000 // len(page.run)))
        for name, question in questions.items():
            native, core, shown = [], [], []
            for seed in range(1, rounds + 1):
                begun = time.perf_counter()
                table = replayed(question, seed, "compiled").replay.table()
                native.append(time.perf_counter() - begun)
                found = browser.evaluate(ANSWER_SCRIPT % (name, seed))
                assert found["makespan"] == float(table.end_s.max())
                core.append(found["core"])
                shown.append(found["shown"])
            ratios = [page_s / native_s for page_s, native_s in zip(core, native, strict=True)]
            print(
                f"{len(page.run):9,} tasks  {name:6}  native {_text(native)}  core {_text(core)}"
                f"  ratio {statistics.median(ratios):.2f} to {max(ratios):.2f}"
                f"  shown {_text(shown)}"
                f"  dragged {browser.evaluate(DRAG_SCRIPT % name):.0f} a second",
                flush=True,
            )
        peak_mb = renderer_mb(browser, "VmHWM")
        time.sleep(10)
        print(
            f"{len(page.run):9,} tasks  page {len(page.html) / 1e6:.1f} MB, open in {opened_s:.2f}"
            f" s; memory at most {peak_mb:.0f} MB, then {renderer_mb(browser, 'VmRSS'):.0f} MB",
            flush=True,
        )
    finally:
        browser.close()


def renderer_mb(browser: chromium.Browser, field: str) -> float:
    """Return a field of the status of the process that shows the page, in megabytes."""
    parents, found = {}, {}
    for path in Path("/proc").glob("[0-9]*/status"):
        try:
            command = path.with_name("cmdline").read_bytes()
            fields = dict(line.split(":", 1) for line in path.read_text().splitlines())
        except OSError:  # it has ended
            continue
        pid = int(path.parent.name)
        parents[pid] = int(fields["PPid"])
        if b"--type=renderer" in command:
            found[pid] = int(fields[field].split()[0]) * 1024 / 1e6

    def is_of_browser(pid: int) -> bool:
        while pid > 1 and pid != browser.process.pid:
            pid = parents.get(pid, 0)
        return pid == browser.process.pid

    return max(mb for pid, mb in found.items() if is_of_browser(pid))


def _text(times_s: list[float]) -> str:
    return f"{statistics.median(times_s):7.3f} s, at most {max(times_s):7.3f}"


if __name__ == "__main__":
    main()
