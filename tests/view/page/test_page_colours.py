"""Painting of the page: colours, the critical path, differences, light and dark."""

import pytest

from tasksim.run.metrics import idle_time
from tasksim.view.colours import DARK_COLOURS, IDLE_COLOURS, KERNEL_COLOURS, kernel_colours
from tests.view.conftest import KERNELS, make_hybrid, make_run
from tests.view.page.onpage import colour_of, details, place, state


def test_arrows_are_painted_over_the_picture(show, cholesky):
    browser = show(cholesky)

    def painted():
        return browser.evaluate(
            "(() => { const { over } = tasksimPage.chart; tasksimPage.hover(-1, -1);"
            " return over.getContext('2d').getImageData(0, 0, over.width, over.height).data"
            ".reduce((sum, value) => sum + (value > 0), 0); })()"
        )

    assert painted() == 0
    browser.click(*place(browser, 0))
    with_arrows = painted()
    browser.key("[")
    assert with_arrows > painted() > 0


def test_filters_mute_what_they_leave_out(show, cholesky):
    browser = show(cholesky)
    potrf, trsm = colour_of(browser, 0), colour_of(browser, 1)
    browser.evaluate("tasksimPage.setQuery('trsm'), tasksimPage.change({ only: true })")
    assert colour_of(browser, 1) == trsm
    muted = colour_of(browser, 0)
    assert muted != potrf
    browser.evaluate(
        "tasksimPage.change({ only: false }), document.querySelector('.legend button').click()"
    )
    assert colour_of(browser, 0) == muted
    assert colour_of(browser, 1) == trsm
    assert state(browser, "[...state.hidden]") == ["potrf"]


def test_colours_tell_iteration_priority_slowness(show, cholesky):
    browser = show(cholesky)
    seen = {"kernel": (colour_of(browser, 0), colour_of(browser, 55))}
    for mode in ("iteration", "priority", "slowness"):
        browser.key("g")
        assert state(browser, "state.colour") == mode
        seen[mode] = (colour_of(browser, 0), colour_of(browser, 55))
    assert seen["iteration"][0] != seen["iteration"][1]
    assert seen["slowness"][0] == seen["slowness"][1]  # all are as long as expected


def test_pixels_have_the_colours_of_kernels(show, cholesky):
    browser = show(cholesky)
    x, y = place(browser, 0)
    seen = browser.evaluate(
        f"(() => {{ const {{ chart }} = tasksimPage, box = chart.box.getBoundingClientRect();"
        f" return Array.from(chart.picture.getContext('2d')"
        f".getImageData({x} - box.left, {y} - box.top + 12, 1, 1).data).slice(0, 3); }})()"
    )
    assert seen == pytest.approx(colour_of(browser, 0), abs=1)


def test_the_critical_path_is_drawn(show, cholesky):
    browser = show(cholesky)
    browser.key("c")
    assert state(browser, "state.path")
    painted = browser.evaluate(
        "(() => { const { over } = tasksimPage.chart; const { data } = over.getContext('2d')"
        ".getImageData(0, 0, over.width, over.height); let red = 0;"
        " for (let i = 0; i < data.length; i += 4) red += data[i] > 150 && data[i + 1] < 60;"
        " return red; })()"
    )
    assert painted > 500


def test_idle_time_is_coloured_by_what_workers_waited_for(show):
    run = make_hybrid()
    browser = show(run)
    browser.key("i")
    legend = browser.evaluate("document.querySelector('.legend').innerText")
    assert [name for name, _ in IDLE_COLOURS.values() if name not in legend] == []
    seconds = browser.evaluate(
        "(() => { const { scene, runs: [run] } = tasksimPage, sums = [0, 0, 0];"
        " run.workers.forEach((_, worker) => scene.waitMeans(run, worker, 0, run.makespan, 9));"
        " const { starts, ends, classes } = scene.waits[0].coverage;"
        " classes.forEach((kind, i) => { sums[kind] += ends[i] - starts[i]; }); return sums; })()"
    )
    found = idle_time(run).totals()
    assert seconds == pytest.approx([found[k] for k in ("dependency", "transfer", "queue")])
    before = browser.evaluate("tasksimPage.chart.picture.toDataURL()")
    browser.key("i")
    assert browser.evaluate("tasksimPage.chart.picture.toDataURL()") != before


def test_differences_of_two_runs(show, cholesky, eager):
    browser = show(cholesky, eager, names=["prio", "eager"])
    browser.key("x")
    assert state(browser, "state.colour") == "difference"
    told = browser.evaluate("document.querySelector('.status').textContent")
    assert "difference" in told.lower()
    browser.click(*place(browser, 40, run=1))
    shift = eager.tasks.end_s[40] - cholesky.tasks.end_s[40]
    sign = "−" if shift < 0 else "+"
    assert details(browser)["end against prio"] == f"{sign}{abs(shift):g} s"
    assert details(browser)["in prio"].startswith(f"{cholesky.tasks.start_s[40]:g} s to")
    colours = browser.evaluate(
        "(() => { const { scene, runs } = tasksimPage; const { classes } = scene.coverage[1];"
        " return Array.from({ length: runs[1].count },"
        " (_, task) => classes[runs[1].slotOf[task]]); })()"
    )
    shifts = (eager.tasks.end_s - cholesky.tasks.end_s).tolist()
    in_order = [c for _, c in sorted(zip(shifts, colours, strict=True))]
    assert in_order == sorted(colours)


def test_runs_without_differences_have_the_middle_colour(show, cholesky):
    browser = show(cholesky, cholesky, names=["one", "other"])
    browser.key("x")
    legend = "[...document.querySelectorAll('.legend div')].map((entry) => entry.textContent)"
    assert browser.evaluate(legend) == ["+0 s"]


def test_differences_need_the_same_graph(show, cholesky):
    browser = show(cholesky, make_run())
    browser.key("x")
    assert state(browser, "state.colour") == "kernel"
    assert "same graph" in browser.evaluate("document.querySelector('.status').textContent")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_light_or_dark_as_the_system(browser, show, cholesky, scheme):
    browser.prefer(scheme)
    show(cholesky)
    pixel = "tasksimPage.chart.picture.getContext('2d').getImageData(5, 5, 1, 1).data[0]"
    assert (browser.evaluate(pixel) > 128) == (scheme == "light")
    browser.evaluate("tasksimPage.nextTheme(), tasksimPage.nextTheme()")
    browser.settle()
    assert browser.evaluate(pixel) < 128
    browser.prefer("light")


def test_kernels_have_colours_of_their_own_on_dark_pages(browser, show, cholesky):
    browser.prefer("dark")
    show(cholesky)
    found = browser.evaluate(
        "Object.fromEntries(tasksimPage.legend.map((e) => [e.name, e.colour]))"
    )
    browser.prefer("light")
    wanted = {name: DARK_COLOURS.get(c, c) for name, c in kernel_colours(KERNELS).items()}
    assert wanted["syrk"] != KERNEL_COLOURS["syrk"]
    assert {name: found[name] for name in KERNELS} == wanted


def test_many_tasks_are_pixels_and_few_are_boxes(show):
    browser = show(make_run(8, 20_000))
    assert state(browser, "chart.isVector") is False
    browser.evaluate("tasksimPage.viewport.set(1, 2), tasksimPage.draw(true)")
    assert state(browser, "chart.isVector") is True
