// The painter of rows: pixels of mean colours for many tasks, boxes with labels for few.

import { rgb, hex } from "./colours.js";
import { hatchedPattern } from "./hatching.js";

export const MOST_BOXES = 3000; // of these a frame takes some milliseconds, text included
const LETTER = 6.4; // pixels: how wide a letter of a label is, in the mean

/** Paint the visible rows of a chart; return whether tasks were boxes. */
export function paintRows(context, scene, view) {
  const boxes = visibleCount(view) <= MOST_BOXES;
  const image = scene.pixels = Pixels.of(scene.pixels, view);
  for (const row of view.rows) paintRow(image, scene, view, row, boxes);
  context.putImageData(image.data, Math.round(view.left * view.ratio), Math.round(view.top * view.ratio));
  context.save();
  context.beginPath();
  context.rect(view.left, view.top, view.width, view.height);
  context.clip();
  const hatched = hatchedPattern(context, view.theme);
  for (const row of view.rows.filter(({ kind }) => kind === "worker")) {
    if (boxes) paintBoxes(context, scene, view, row);
    if (row.run.slotOthers) paintOthers(context, scene, view, row, hatched);
  }
  context.restore();
  return boxes;
}

function visibleCount({ rows, viewport }) {
  let count = 0;
  for (const { kind, run, worker } of rows) {
    if (kind !== "worker") continue;
    const [low, high] = run.slotsBetween(worker, viewport.from, viewport.to);
    count += high - low;
  }
  return count;
}

/** Pixels of the screen, which rows are painted into. */
class Pixels {
  constructor(width, height) {
    Object.assign(this, { width, height, data: new ImageData(width, height) });
    this.words = new Uint32Array(this.data.data.buffer);
  }

  /** Return empty pixels for a view: those of the picture before, if they are as many. */
  static of(before, { width, height, ratio, theme }) {
    const [wide, high] = [width, height].map((length) => Math.max(1, Math.round(length * ratio)));
    const found = before?.width === wide && before.height === high ? before : new Pixels(wide, high);
    found.#clear(ratio, theme);
    return found;
  }

  #clear(ratio, theme) {
    this.ratio = ratio;
    this.ground = packed(...rgb(theme.ground));
    this.idle = rgb(theme.idle);
    this.words.fill(this.ground);
  }

  /** Fill a row with mean colours; where `isBand`, only as high as the share. */
  fill(y, height, means, isBand) {
    const top = Math.round(y * this.ratio), bottom = Math.round((y + height) * this.ratio);
    const [first, last] = [Math.max(top, 0), Math.min(bottom, this.height)];
    if (isBand) return this.#fillBand(top, bottom, first, last, means);
    const line = new Uint32Array(this.width);
    for (let x = 0; x < this.width; x++) line[x] = this.#mixed(means, x);
    for (let at = first; at < last; at++) this.words.set(line, at * this.width);
  }

  #fillBand(top, bottom, first, last, means) {
    const idle = packed(...this.idle);
    for (let x = 0; x < this.width; x++) {
      const share = Math.min(means[4 * x + 3], 1);
      const edge = bottom - Math.round(share * (bottom - top));
      const colour = share > 0 ? this.#pure(means, x) : idle;
      for (let at = first; at < last; at++) {
        this.words[at * this.width + x] = at < edge ? idle : colour;
      }
    }
  }

  // Without arrays: these two are called for each pixel of each row.

  /** The colour of a pixel that is partly covered. */
  #mixed(means, x) {
    const share = means[4 * x + 3], most = share > 1 ? share : 1, rest = share < 1 ? 1 - share : 0;
    return packed(means[4 * x] / most + rest * this.idle[0], means[4 * x + 1] / most + rest * this.idle[1],
      means[4 * x + 2] / most + rest * this.idle[2]);
  }

  /** The mean colour of what covers a pixel. */
  #pure(means, x) {
    const share = means[4 * x + 3];
    return packed(means[4 * x] / share, means[4 * x + 1] / share, means[4 * x + 2] / share);
  }
}

/** Return red, green and blue, 0 to 255, as a word of `ImageData`. */
function packed(red, green, blue) {
  return (255 << 24 | byte(blue) << 16 | byte(green) << 8 | byte(red)) >>> 0;
}

function byte(value) {
  return value <= 0 ? 0 : value >= 255 ? 255 : (value + 0.5) | 0;
}

function paintRow(image, scene, view, row, boxes) {
  const { from, to } = view.viewport;
  const y = row.y - view.scroll, inset = row.height > 8 ? 1 : 0;
  const fill = (means, isBand) => image.fill(y + inset, row.height - 2 * inset, means, isBand);
  if (row.kind === "worker") {
    const means = boxes ? new Float64Array(4 * image.width)
      : scene.workerMeans(row.run, row.worker, from, to, image.width);
    if (view.showsWaits) {
      const waits = scene.waitMeans(row.run, row.worker, from, to, image.width);
      waits.forEach((value, i) => { means[i] += value; });
    }
    fill(means, false);
  } else if (row.kind === "link") {
    fill(scene.linkMeans(row, from, to, image.width), false);
  } else if (row.workers.length) {
    fill(scene.bandMeans(row, from, to, image.width), true);
  }
}

/** Paint the tasks of a worker as boxes, with their names where there is room. */
function paintBoxes(context, scene, view, row) {
  const { run, worker } = row;
  const { classes } = scene.coverage[run.number];
  const { palette, muted } = scene.colouring;
  const y = view.top + row.y - view.scroll, inset = row.height > 8 ? 1 : 0;
  const height = row.height - 2 * inset;
  const [low, high] = run.slotsBetween(worker, view.viewport.from, view.viewport.to);
  context.font = view.theme.small;
  context.textBaseline = "middle";
  for (let slot = low; slot < high; slot++) {
    const [left, right] = edges(view, run.slotStart[slot], run.slotEnd[slot]);
    if (right < view.left || left > view.left + view.width) continue;
    const colour = Array.from(palette.subarray(3 * classes[slot], 3 * classes[slot] + 3));
    const width = Math.max(right - left, 0.5);
    context.fillStyle = hex(colour);
    context.fillRect(left, y + inset, width, height);
    if (width < 4) continue;
    context.strokeStyle = hex(colour.map((part) => 0.62 * part));
    context.strokeRect(left + 0.5, y + inset + 0.5, width - 1, height - 1);
    if (height >= 10 && classes[slot] !== muted) {
      const own = edges(view, run.slotStart[slot], run.slotEnd[slot] - (run.slotOthers?.[slot] ?? 0))[1] - left;
      paintLabel(context, run.label(run.slotTask[slot]), colour, left, own, y + row.height / 2, view);
    }
  }
}

/** Hatch what others took from the tasks of a worker, where it is wide enough to be seen. */
function paintOthers(context, scene, view, { run, worker, y, height }, hatched) {
  const { viewport, top, scroll, width } = view;
  const { slotEnd, slotOthers } = run, { classes } = scene.coverage[run.number];
  const inset = height > 8 ? 1 : 0, pixel = viewport.span / width;
  const [low, high] = run.slotsBetween(worker, viewport.from, viewport.to);
  context.fillStyle = hatched;
  for (let slot = low; slot < high; slot++) {
    if (slotOthers[slot] < pixel || classes[slot] === scene.colouring.muted) continue;
    const [left, right] = edges(view, slotEnd[slot] - slotOthers[slot], slotEnd[slot]);
    context.fillRect(left, top + y - scroll + inset, right - left, height - 2 * inset);
  }
}

function edges(view, start, end) {
  return [start, end].map((time) => {
    const x = view.left + view.viewport.x(time, view.width);
    return Math.max(view.left - 10, Math.min(view.left + view.width + 10, x));
  });
}

/** Write as much of a task's name as has room: all, the kernel, or nothing. */
function paintLabel(context, label, colour, left, width, middle, view) {
  const begin = Math.max(left, view.left) + 4;
  const room = Math.min(left + width, view.left + view.width) - begin - 3;
  const text = [label, label.split(" ")[0]].find((some) => (
    some.length * LETTER <= room && context.measureText(some).width <= room));
  if (!text) return;
  const light = 0.3 * colour[0] + 0.59 * colour[1] + 0.11 * colour[2];
  context.fillStyle = light > 130 ? "#000000" : "#ffffff";
  context.fillText(text, begin, middle);
}
