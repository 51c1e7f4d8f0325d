// Messages between nodes: an arrow each, from the rows of one node to the task that read it first.

import { filled } from "./columns.js";
import { countUpTo } from "./search.js";

const MOST_MESSAGES = 80; // arrows at once: more cross each other until none can be followed

/** Return the messages of a run, by start; null of runs without any. */
export function messagesOf(run) {
  const { columns, header } = run;
  if (!header.messages) return null;
  const { message_start: starts, message_duration: durations } = columns;
  const start = filled(Float64Array, starts.length, (k) => run.seconds(starts[k]));
  const end = filled(Float64Array, starts.length, (k) => run.seconds(starts[k] + durations[k]));
  const longest = end.reduce((most, at, k) => Math.max(most, at - start[k]), 0);
  const toTask = new Map();
  columns.message_task.forEach((task, k) => {
    if (task >= 0) toTask.set(task, [...(toTask.get(task) ?? []), k]);
  });
  return {
    start, end, longest, toTask,
    source: columns.message_source,
    target: columns.message_target,
    bytes: columns.message_bytes,
    handle: columns.message_handle,
    task: columns.message_task,
    ready: (k) => run.seconds(columns.message_start[k] - columns.message_ready[k]),
  };
}

/** Return the messages that have arrows between two times: of many, the longest of each slice. */
export function shownMessages({ start, end, longest }, from, to) {
  const first = countUpTo(start, from - longest), until = countUpTo(start, to);
  const found = [];
  for (let k = first; k < until; k++) if (end[k] >= from) found.push(k);
  if (found.length <= MOST_MESSAGES) return found;
  const slices = new Map();
  for (const k of found) {
    const slice = Math.floor(((Math.max(start[k], from) - from) / (to - from)) * MOST_MESSAGES);
    const best = slices.get(slice);
    if (best === undefined || end[k] - start[k] > end[best] - start[best]) slices.set(slice, k);
  }
  return [...slices.values()].sort((a, b) => a - b);
}

/** Return the middle of each node's rows of a run that are open, from the top of the chart. */
export function middlesOf(view, rowOf, run) {
  const sums = new Map();
  run.workers.forEach(({ node }, worker) => {
    const row = rowOf.get(`${run.number}/${worker}`);
    const [sum, count] = sums.get(node) ?? [0, 0];
    if (row) sums.set(node, [sum + row.y + row.height / 2, count + 1]);
  });
  return new Map([...sums].map(([node, [sum, count]]) => [node, view.top + sum / count - view.scroll]));
}

/** Paint the arrows of the messages of a run, those of a pinned task thicker; return how many. */
export function paintMessages(context, places, run, pinned, theme) {
  const { view } = places;
  const { left, width, viewport } = view;
  const middles = middlesOf(view, places.rowOf, run);
  const { messages } = run;
  const shown = new Set(shownMessages(messages, viewport.from, viewport.to));
  const own = new Set(pinned >= 0 ? messages.toTask.get(pinned) ?? [] : []);
  own.forEach((k) => shown.add(k));
  for (const k of shown) {
    const task = messages.task[k];
    const isHere = task >= 0 && run.workers[run.worker[task]].node === messages.target[k];
    const box = isHere ? places.box(run, task) : null;
    paintMessage(context, {
      x1: left + viewport.x(messages.start[k], width), y1: middles.get(messages.source[k]),
      x2: left + viewport.x(messages.end[k], width),
      y2: box ? box.y + box.height / 2 : middles.get(messages.target[k]),
    }, own.has(k) ? 2.5 : 1.2, theme);
  }
  return shown.size;
}

function paintMessage(context, { x1, y1, x2, y2 }, thick, theme) {
  const along = Math.atan2(y2 - y1, x2 - x1), head = 5 + 2 * thick;
  const end = (turn) => [x2 - head * Math.cos(along + turn), y2 - head * Math.sin(along + turn)];
  // A rim in the colour of the ground: an arrow is seen on every kernel's colour.
  for (const [colour, wide] of [[theme.ground, thick + 1.6], [theme.message, thick]]) {
    context.strokeStyle = context.fillStyle = colour;
    context.lineWidth = wide;
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x2, y2);
    context.stroke();
    context.beginPath();
    context.moveTo(x2, y2);
    context.lineTo(...end(0.4));
    context.lineTo(...end(-0.4));
    context.fill();
  }
  context.lineWidth = 1;
}
