// The frame of the chart: names of rows at the left, the time axis above, marks of makespan and bounds.

import { ticks, timeText } from "./units.js";

const LINE = 12; // pixels: names closer to each other would overlap
const NARROW = 120; // pixels for names
const WIDEST_LETTER = 12; // pixels: of Chinese and Japanese ones, arrows, W
const BOUND_NAMES = { critical_path_s: "critical path", area_s: "area bound" };

/** Return the marks of a run: its bounds and its makespan, in order of time. */
export function marksOf(run) {
  const bounds = Object.entries(run.header.bounds).map(([name, at]) => (
    { at, name: BOUND_NAMES[name] ?? name, dash: [4, 3] }));
  const marks = [...bounds, { at: run.makespan, name: "makespan", dash: [] }];
  return marks.sort((a, b) => a.at - b.at);
}

/** Paint the time axis above the rows. */
export function paintAxis(context, view, bottom) {
  const { theme, left, width, top, viewport } = view;
  context.font = theme.small;
  context.textBaseline = "middle";
  for (const { at, text } of ticks(viewport.from, viewport.to, width / 110)) {
    const x = Math.round(left + viewport.x(at, width)) + 0.5;
    context.strokeStyle = theme.line;
    line(context, x, top - 6, x, top);
    context.globalAlpha = 0.35;
    line(context, x, top, x, bottom);
    context.globalAlpha = 1;
    context.fillStyle = theme.text;
    context.textAlign = "center";
    if (x > left + 20 && x < left + width - 24) context.fillText(text, x, top - 14);
  }
  context.textAlign = "left";
}

/** Paint the names of the rows, with a triangle where they fold; of thin rows every so many. */
export function paintNames(context, view) {
  const { theme, left, top, height, rows, scroll } = view;
  context.save();
  context.beginPath();
  context.rect(0, top, left - 4, height);
  context.clip();
  context.textBaseline = "middle";
  let last = -Infinity, wasRun = true;
  const middle = (row) => top + row.y - scroll + row.height / 2;
  for (const [place, row] of rows.entries()) {
    const y = middle(row), next = rows[place + 1];
    const isNearNext = next && next.kind !== "worker" && middle(next) - y < LINE;
    if (row.kind === "worker" && (y - last < LINE || isNearNext)) continue;
    last = y;
    const isRun = row.kind === "run", kind = isRun ? [theme.text, `bold ${theme.font}`] : [theme.soft, theme.small];
    if (isRun || wasRun) [context.fillStyle, context.font] = kind; // to set them takes as long as to write
    wasRun = isRun;
    const indent = indentOf(row, left);
    if (row.children.length) paintTriangle(context, indent, y, row.folded);
    context.fillText(fitted(context, row.label, left - 4 - indent - 13), indent + 13, y);
  }
  context.restore();
}

/** Return how far the name of a row is from the left: a name of two memories has room on a phone too. */
export function indentOf({ depth }, left) { return 4 + (left < NARROW ? 4 : 10) * depth; }

/** Return a text, without its middle if it is wider than `room` pixels. */
export function fitted(context, text, room) {
  // To measure takes longer than to write: short texts fit, whatever letters they have.
  if (text.length * WIDEST_LETTER <= room || context.measureText(text).width <= room) return text;
  const letters = Array.from(text);
  const without = (kept) => `${letters.slice(0, Math.ceil(kept / 2)).join("")}…${letters.slice(letters.length - Math.floor(kept / 2)).join("")}`;
  let low = 1, high = letters.length - 1;
  while (low < high) {
    const kept = (low + high + 1) >>> 1;
    if (context.measureText(without(kept)).width <= room) low = kept;
    else high = kept - 1;
  }
  return without(low);
}

/** Paint the sign of a row that folds: to the right if it is closed, down if it is open. A letter would come from another font. */
function paintTriangle(context, x, y, isClosed) {
  const corners = isClosed ? [[1, -4], [1, 4], [7, 0]] : [[0, -3], [8, -3], [4, 3]];
  context.beginPath();
  for (const [right, down] of corners) context.lineTo(x + right, y + down);
  context.fill();
}

/** Paint, over the rows of each run, where its makespan and its bounds are. */
export function paintMarks(context, view, blocks) {
  const { theme, left, width, top, height, viewport } = view;
  context.save();
  context.beginPath();
  context.rect(left, top, width, height);
  context.clip();
  context.font = theme.small;
  context.textBaseline = "middle";
  for (const { run, from, to } of blocks) {
    const taken = [], marks = marksOf(run).map((mark) => ({ ...mark, x: left + viewport.x(mark.at, width) }));
    context.strokeStyle = theme.mark;
    for (const { x, dash } of marks) {
      context.setLineDash(dash);
      line(context, x, top + from, x, top + to);
    }
    // Over all lines; the makespan first: where there is not room for all texts, it is the one to read.
    for (const { at, name, x } of marks.reverse()) {
      paintMarkText(context, view, `${name} ${timeText(at)}`, x, top + from + 12, taken);
    }
  }
  context.setLineDash([]);
  context.restore();
}

/** Write at a mark what it is, where no other text of those `taken` is: on the first or the second line. */
function paintMarkText(context, { theme, left, width }, text, x, top, taken) {
  const wide = context.measureText(text).width + 10;
  const places = [0, 1].flatMap((row) => [{ at: x - wide, row }, { at: x, row }]);
  const place = places.find(({ at, row }) => (at >= left && at + wide <= left + width
    && taken.every((other) => other.row !== row || at >= other.at + other.wide || at + wide <= other.at)));
  if (!place) return;
  taken.push({ ...place, wide });
  const begin = place.at, y = top + 16 * place.row;
  context.globalAlpha = 0.85;
  context.fillStyle = theme.ground;
  context.fillRect(begin + 2, y - 8, wide - 4, 16);
  context.globalAlpha = 1;
  context.fillStyle = theme.mark;
  context.fillText(text, begin + 5, y);
}

export function line(context, x1, y1, x2, y2) {
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  context.stroke();
}
