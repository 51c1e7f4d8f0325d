"""Questions to a page in the browser: its state, details, places of tasks, colours."""

LEFT, TOP = 150, 30


def state(browser, expression):
    return browser.evaluate(
        f"(() => {{ const {{ state, viewport, chart }} = tasksimPage; return {expression}; }})()"
    )


def details(browser):
    """Return the lines of details by name."""
    return dict(
        browser.evaluate(
            "[...document.querySelectorAll('.details dt')].map("
            "(name) => [name.textContent, name.nextSibling.textContent])"
        )
    )


def place(browser, task, run=0):
    """Return the middle of a task on the screen."""
    return browser.evaluate(
        f"(() => {{ const {{ chart, runs }} = tasksimPage, run = runs[{run}];"
        f" const row = chart.view.allRows.find((r) => r.kind === 'worker' && r.run === run"
        f" && r.worker === run.worker[{task}]);"
        f" const box = chart.box.getBoundingClientRect();"
        f" const time = (run.start({task}) + run.end({task})) / 2;"
        f" return [box.left + {LEFT} + chart.viewport.x(time, chart.width),"
        f" box.top + {TOP} + row.y - chart.view.scroll + row.height / 2]; }})()"
    )


def shown(browser):
    return state(browser, "[viewport.from, viewport.to]")


def colour_of(browser, task):
    """Return the colour of a task's class."""
    return browser.evaluate(
        f"(() => {{ const {{ scene, runs: [run] }} = tasksimPage;"
        f" const c = scene.coverage[0].classes[run.slotOf[{task}]];"
        f" return Array.from(scene.colouring.palette.subarray(3 * c, 3 * c + 3)); }})()"
    )
