// Tables of the same data: kernels, workers, copies, tasks; of all, or of the visible stretch of time.

import { eachWait } from "./waits.js";
import { percentText, rateText, sizeText, timeText, countText } from "./units.js";

const MOST_TASKS = 500; // rows of the table of tasks; more take seconds to lay out, CSV has all

export const TABLES = {
  kernels: { title: "Kernels", make: kernelTable },
  workers: { title: "Workers", make: workerTable },
  copies: { title: "Copies", make: copyTable },
  tasks: { title: "Tasks found", make: taskTable },
};

/** Return {columns, rows, note} of a table; numbers are numbers, `columns` say how they are written. */
export function tableOf(name, runs, range, matches) {
  const several = runs.length > 1;
  const made = TABLES[name].make(runs, range, matches);
  const columns = several ? [["run", String], ...made.columns] : made.columns;
  const rows = made.rows.map(([run, ...cells]) => (several ? [run.name, ...cells] : cells));
  return { columns, rows, note: made.note ?? "" };
}

/** Call `visit(task, seconds)` for each task that runs in a stretch of time, and how long in it. */
function eachTask(run, { from, to }, visit) {
  for (let task = 0; task < run.count; task++) {
    const start = run.start(task), end = run.end(task);
    if (end >= from && start <= to) visit(task, Math.min(end, to) - Math.max(start, from));
  }
}

function kernelTable(runs, range) {
  const rows = runs.flatMap((run) => {
    const durations = run.kernels.map(() => []);
    const slow = run.kernels.map(() => 0);
    eachTask(run, range, (task) => {
      durations[run.kernel[task]].push(run.duration(task));
      slow[run.kernel[task]] += run.expected[task];
    });
    const all = sum(durations.map(sum)) || 1;
    return run.kernels.map((kernel, k) => kernelRow(run, kernel, durations[k], slow[k], all))
      .filter((row) => row[2] > 0);
  });
  const columns = [["kernel", String], ["tasks", countText], ["total", timeText],
    ["share", percentText], ["mean", timeText], ["median", timeText], ["deviation", timeText],
    ["least", timeText], ["most", timeText], ["over expected", ratioText]];
  return { columns, rows };
}

function kernelRow(run, kernel, durations, expected, all) {
  const values = Float64Array.from(durations).sort();
  const count = values.length, total = sum(values), mean = total / count;
  const squares = values.reduce((so, value) => so + (value - mean) ** 2, 0);
  const median = (values[(count - 1) >> 1] + values[count >> 1]) / 2;
  const deviation = count > 1 ? Math.sqrt(squares / (count - 1)) : 0;
  return [run, kernel, count, total, total / all, mean, median, deviation, values[0],
    values[count - 1], expected > 0 ? total / expected : NaN];
}

function sum(values) {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

function workerTable(runs, range) {
  const known = runs.some((run) => run.header.others?.waited_s);
  const othersOf = (run, worker) => (
    ["waited_s", "preemptions"].map((what) => run.header.others?.[what]?.[worker] ?? NaN));
  const rows = runs.flatMap((run) => {
    const to = Math.min(range.to, run.makespan), from = Math.max(range.from, 0);
    return run.workers.map((worker, number) => {
      const { busy, tasks, waits } = workerTimes(run, number, from, to);
      const span = Math.max(to - from, 1e-300);
      const shares = ["dependency", "data", "runtime", "end"].map((what) => waits[what] / span);
      return [run, worker.name, worker.architecture, worker.node, tasks, busy, 1 - busy / span,
        ...(known ? othersOf(run, number) : []), ...shares];
    });
  });
  const columns = [["worker", String], ["type", String], ["node", countText], ["tasks", countText],
    ["busy", timeText], ["idle", percentText],
    ...(known ? [["others, whole run", timeText], ["preemptions, whole run", countText]] : []),
    ["for dependencies", percentText], ["for data", percentText], ["for the runtime", percentText], ["for the end", percentText]];
  return { columns, rows };
}

/** Return how long a worker was busy, and what it waited for, as tasksim.run.metrics says it. */
export function workerTimes(run, worker, from, to) {
  const waits = { dependency: 0, data: 0, runtime: 0, end: 0 };
  let busy = 0, tasks = 0, free = 0;
  const inside = (begin, end) => Math.max(0, Math.min(end, to) - Math.max(begin, from));
  for (let slot = run.firstSlot[worker]; slot < run.firstSlot[worker + 1]; slot++) {
    const start = run.slotStart[slot], end = run.slotEnd[slot];
    if (end >= from && start <= to) tasks++;
    busy += inside(start, end);
    free = end;
  }
  eachWait(run, worker, (kind, begin, end) => { waits[kind] += inside(begin, end); });
  waits.end = inside(free, run.makespan);
  return { busy, tasks, waits };
}

function copyTable(runs, range) {
  const rows = runs.filter((run) => run.copies).flatMap((run) => run.copies.links.map((link) => {
    const { start, endOf, bytesOf } = run.copies;
    let count = 0, size = 0, busy = 0, covered = -Infinity;
    for (let copy = link.first; copy < link.end; copy++) {
      const end = endOf(copy);
      if (end < range.from || start[copy] > range.to) continue;
      count++;
      size += bytesOf(copy);
      busy += Math.max(0, end - Math.max(start[copy], covered));
      covered = Math.max(covered, end);
    }
    const name = (memory) => run.memories[memory].name;
    return [run, name(link.source), name(link.target), count, size, busy ? size / busy : NaN, busy];
  }));
  const columns = [["from", String], ["to", String], ["copies", countText], ["size", sizeText],
    ["bandwidth", rateText], ["under way", timeText]];
  return { columns, rows, note: rows.length ? "" : "No copies between memories were recorded." };
}

function taskTable(runs, range, matches) {
  let inside = 0;
  const first = [];
  for (const { run, task } of matches ?? []) {
    if (run.end(task) < range.from || run.start(task) > range.to) continue;
    if (inside++ < MOST_TASKS) first.push({ run, task });
  }
  const rows = first.map(({ run, task }) => {
    const waits = run.waits(task);
    return [run, run.label(task), run.workers[run.worker[task]].name, run.start(task), run.end(task),
      run.duration(task), run.slowness(task), waits.dependency, waits.data, waits.runtime];
  });
  const columns = [["task", String], ["worker", String], ["start", timeText], ["end", timeText],
    ["duration", timeText], ["over expected", ratioText], ["for dependencies", timeText],
    ["for data", timeText], ["for the runtime", timeText]];
  const left = inside - rows.length;
  const note = matches === null ? "Search for tasks: what is found stands here."
    : left > 0 ? `The first ${MOST_TASKS} of ${countText(inside)}: CSV with "only these" on has all.` : "";
  return { columns, rows, note };
}

function ratioText(ratio) {
  return isNaN(ratio) ? "–" : `× ${ratio.toPrecision(3)}`;
}

/** Sort rows by a column, numbers by size, what is no number last. */
export function sortRows(rows, column, descending) {
  const sign = descending ? -1 : 1;
  const order = (a, b) => {
    if (typeof a === "string") return sign * a.localeCompare(b, "en", { numeric: true });
    if (isNaN(a) || isNaN(b)) return isNaN(a) - isNaN(b);
    return sign * (a - b);
  };
  return rows.slice().sort((a, b) => order(a[column], b[column]));
}
