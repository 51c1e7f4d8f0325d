// The overlay: what moves over the picture without painting it anew: frames, arrows, paths, matches.

import { within } from "./adjacency.js";
import { filled } from "./columns.js";
import { line } from "./frame.js";
import { paintMessages } from "./messages.js";
import { countUpTo } from "./search.js";

const MOST_ARROWS = 400; // more cannot be followed by an eye
const MOST_STEPS = 20000; // of a path: several to a pixel of a wide screen
const MOST_MATCHES = 4000; // marks of what a search found; of more, the filter shows them

/** Places of tasks on the screen. */
export class Places {
  constructor(view) {
    this.view = view;
    this.rowOf = new Map();
    const add = (row) => row.workers.forEach((worker) => this.rowOf.set(`${row.run.number}/${worker}`, row));
    // Later rows are deeper in the tree: a worker's own row counts where it is open.
    view.allRows.forEach(add);
  }

  row(run, task) {
    return this.rowOf.get(`${run.number}/${run.worker[task]}`);
  }

  /** Return the box of a task: x, y, width, height. */
  box(run, task) {
    const { left, top, width, viewport, scroll } = this.view;
    const row = this.row(run, task);
    const x = left + viewport.x(run.start(task), width);
    const until = left + viewport.x(run.end(task), width);
    return { x, y: top + row.y - scroll, width: Math.max(until - x, 1), height: row.height };
  }
}

/** Return whether there is something over the picture, but for what is under the pointer. */
export function isOverlaid({ messages, path, matches, pin, box }) {
  return Boolean(messages || path || matches || pin || box);
}

/** Paint everything that is over the picture; return how many arrows were left out, if any. */
export function paintOverlay(context, view, state) {
  const { left, top, width, height, theme } = view;
  const places = new Places(view);
  context.save();
  context.beginPath();
  context.rect(left, top, width, height);
  context.clip();
  if (state.messages) {
    const pinned = (run) => (state.pin?.run === run ? state.pin.task : -1);
    state.messageArrows = view.runs.map((run) => (
      run.messages ? paintMessages(context, places, run, pinned(run), theme) : 0));
  }
  if (state.path) view.runs.forEach((run) => paintPath(context, places, run, theme));
  paintMatches(context, places, state, theme);
  const cut = state.pin ? paintPinned(context, places, state, theme) : false;
  if (state.hover?.task >= 0) frameTask(context, places, state.hover.run, state.hover.task, theme.text, 1);
  if (state.box) paintBox(context, state.box, view);
  context.restore();
  return cut;
}

function frameTask(context, places, run, task, colour, lineWidth) {
  const { x, y, width, height } = places.box(run, task);
  context.strokeStyle = colour;
  context.lineWidth = lineWidth;
  context.strokeRect(x - 0.5, y + 0.5, width + 1, height - 1);
  context.lineWidth = 1;
}

/** Return which of some tasks, ordered by start, begin in the view; of very many the first. */
function beginning(run, tasks, { from, to }) {
  run.matchStarts ??= new WeakMap();
  if (!run.matchStarts.has(tasks)) {
    run.matchStarts.set(tasks, Float64Array.from(tasks, (task) => run.start(task)));
  }
  const starts = run.matchStarts.get(tasks);
  const first = countUpTo(starts, from);
  return tasks.slice(first, Math.min(countUpTo(starts, to), first + MOST_MATCHES));
}

/** Paint the practical critical path: its tasks framed, joined by lines; steps below a pixel once. */
function paintPath(context, places, run, theme) {
  const steps = visibleSteps(run, places.view.viewport);
  context.strokeStyle = theme.path;
  context.lineWidth = 2;
  context.beginPath();
  let last = null;
  for (const task of steps) {
    const { x, y, width, height } = places.box(run, task);
    const middle = y + height / 2;
    if (last && x + width - last.x < 1 && middle === last.y) continue;
    if (last) context.lineTo(x, middle);
    if (width > 4) context.rect(x, y + 1, width, height - 2);
    else context.moveTo(x, middle), context.lineTo(x + width, middle);
    context.moveTo(x + width, middle);
    last = { x: x + width, y: middle };
  }
  context.stroke();
  context.lineWidth = 1;
}

/** Return the steps of the path that are visible, at most so many of them, evenly chosen. */
function visibleSteps(run, { from, to }) {
  run.criticalStart ??= filled(Float64Array, run.critical.length, (place) => run.start(run.critical[place]));
  const first = Math.max(0, countUpTo(run.criticalStart, from) - 1);
  const end = Math.min(run.critical.length, countUpTo(run.criticalStart, to) + 1);
  const stride = Math.ceil((end - first) / MOST_STEPS);
  return run.critical.subarray(first, end).filter((_, step) => step % stride === 0);
}

/** Mark what the search has found: a tick below each task, and a frame around the present one. */
function paintMatches(context, places, { matches, match }, theme) {
  if (!matches) return;
  const { viewport, left, width } = places.view;
  context.fillStyle = theme.accent;
  for (const { run, tasks, flags } of matches.parts) {
    const running = run.workers.map((_, worker) => run.taskAt(worker, viewport.from));
    const begun = beginning(run, tasks, viewport);
    for (const task of [...running.filter((task) => task >= 0 && flags[task]), ...begun]) {
      const box = places.box(run, task);
      const x = Math.max(box.x, left), until = Math.min(box.x + box.width, left + width);
      context.fillRect(x, box.y + box.height - 3, Math.max(until - x, 2), 3);
    }
  }
  const present = matches.at(match);
  if (present) frameTask(context, places, present.run, present.task, theme.accent, 3);
}

/** Frame the pinned task, draw arrows to what it depends on and what depends on it. */
function paintPinned(context, places, state, theme) {
  const { run, task } = state.pin;
  paintWaits(context, places, run, task, theme);
  frameTask(context, places, run, task, theme.text, 2.5);
  for (const other of partners(places.view.runs, run)) {
    frameTask(context, places, other, task, theme.text, 1.5);
    joinPartners(context, places, run, other, task, theme);
  }
  if (!state.levels) return false;
  const before = within(run.predecessors, task, state.levels, MOST_ARROWS);
  const after = within(run.successors, task, state.levels, MOST_ARROWS);
  for (const [near, far, level] of before.edges) {
    arrow(context, places, run, far, near, theme.before, level, []);
  }
  for (const [near, far, level] of after.edges) {
    arrow(context, places, run, near, far, theme.after, level, [5, 3]);
  }
  context.setLineDash([]);
  state.arrows = { before: before.edges.length, after: after.edges.length };
  return before.cut || after.cut;
}

/** Paint what a task waited for, one after another up to its start, along the foot of its row. */
function paintWaits(context, places, run, task, theme) {
  const { left, width, viewport } = places.view;
  const { y, height } = places.box(run, task);
  const waits = run.waits(task), x = (time) => left + viewport.x(time, width);
  const taken = Math.max(run.taken(task), run.ready(task));
  for (const [from, to, colour] of [
    [run.submitted(task), run.submitted(task) + waits.dependency, theme.dependency],
    [run.ready(task), run.start(task), theme.runtime],
    [taken, taken + waits.data, theme.data],
  ]) {
    context.fillStyle = colour;
    context.fillRect(x(from), y + height - 4, Math.max(x(to) - x(from), 0), 3);
  }
}

/** Return the other runs that have the same tasks. */
export function partners(runs, run) {
  const first = run.reference ?? run;
  return runs.filter((other) => other !== run && (other === first || other.reference === first));
}

function joinPartners(context, places, run, other, task, theme) {
  const [a, b] = [places.box(run, task), places.box(other, task)];
  context.strokeStyle = theme.soft;
  context.setLineDash([2, 3]);
  line(context, a.x + a.width, a.y + a.height / 2, b.x + b.width, b.y + b.height / 2);
  context.setLineDash([]);
}

/** Draw an arrow from the end of a task to the start of one that depends on it. */
function arrow(context, places, run, from, to, colour, level, dash) {
  const a = places.box(run, from), b = places.box(run, to);
  const [x1, y1, x2, y2] = [a.x + a.width, a.y + a.height / 2, b.x, b.y + b.height / 2];
  context.strokeStyle = context.fillStyle = colour;
  context.globalAlpha = 1 / level;
  context.lineWidth = 1.5;
  context.setLineDash(dash);
  context.beginPath();
  context.moveTo(x1, y1);
  const bend = Math.min(40, Math.abs(x2 - x1) / 2 + 6);
  context.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2, y2);
  context.stroke();
  context.setLineDash([]);
  context.beginPath();
  context.moveTo(x2, y2);
  context.lineTo(x2 - 7, y2 - 3.5);
  context.lineTo(x2 - 7, y2 + 3.5);
  context.fill();
  context.globalAlpha = context.lineWidth = 1;
}

function paintBox(context, { from, to }, { theme, top, height }) {
  context.fillStyle = theme.accent;
  context.globalAlpha = 0.25;
  context.fillRect(Math.min(from, to), top, Math.abs(to - from), height);
  context.globalAlpha = 1;
}
