// Pinning by keys: from the pinned task along its worker, to other workers, to what released it.

import { rowOf, workersInOrder } from "./rows.js";
import { timeText } from "./units.js";

/** Return where and when a task was, for those who do not see the chart. */
export function placeText({ run, task }) {
  const worker = run.workers[run.worker[task]].name;
  return `${run.label(task)} on ${worker}, ${timeText(run.start(task))} to ${timeText(run.end(task))}`;
}

/** Move and scroll an app as little as lets a task be seen. */
export function reveal({ viewport, chart, state }, run, task) {
  viewport.show(run.start(task), run.end(task));
  const row = rowOf(chart.view.allRows, run, run.worker[task]);
  state.scroll = Math.max(row.y + row.height - chart.room, Math.min(row.y, state.scroll));
}

function goTo(app, run, task) {
  reveal(app, run, task);
  app.pin(run, task);
}

function pinFirst(app) {
  const { viewport: { from, to }, chart } = app;
  for (const { run, workers } of chart.view.rows) {
    for (const worker of workers) {
      const [low, high] = run.slotsBetween(worker, from, to);
      if (low < high) return app.pin(run, run.slotTask[low]);
    }
  }
}

/** Pin the next task of the worker, or the one before; without a pinned one, the first that is visible. */
export function pinNeighbour(app, step) {
  const { pin } = app.state;
  if (!pin) return pinFirst(app);
  const slot = pin.run.slotOf[pin.task] + step, worker = pin.run.worker[pin.task];
  if (slot >= pin.run.firstSlot[worker] && slot < pin.run.firstSlot[worker + 1]) {
    goTo(app, pin.run, pin.run.slotTask[slot]);
  }
}

/** Pin, on the next worker that ran tasks or the one before, the task that is nearest in time to the pinned one. */
export function pinBeside(app, step) {
  const { pin } = app.state;
  if (!pin) return pinFirst(app);
  const { run, task } = pin, middle = (other) => (run.start(other) + run.end(other)) / 2;
  const order = workersInOrder(app.chart.trees[run.number]), away = (other) => Math.abs(middle(other) - middle(task));
  for (let place = order.indexOf(run.worker[task]) + step; place >= 0 && place < order.length; place += step) {
    const tasks = run.slotTask.subarray(run.firstSlot[order[place]], run.firstSlot[order[place] + 1]);
    if (tasks.length) return goTo(app, run, tasks.reduce((best, other) => (away(other) < away(best) ? other : best)));
  }
}

/** Pin the task that released the pinned one. */
export function pinReleaser(app) {
  const { pin } = app.state;
  const by = pin ? pin.run.releasedBy[pin.task] : -1;
  if (by >= 0) goTo(app, pin.run, by);
}

/** Show the pinned task, with some time around it. */
export function zoomToPin(app) {
  const { pin } = app.state;
  if (!pin) return;
  const [start, end] = [pin.run.start(pin.task), pin.run.end(pin.task)];
  const room = 4 * Math.max(end - start, 1e-6 * app.viewport.until);
  app.viewport.set(start - room, end + room);
  app.draw();
}
