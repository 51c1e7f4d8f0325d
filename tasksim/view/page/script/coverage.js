// Coverage: the mean colour of a row over each pixel, from running sums, however many tasks it has.

import { countUpToFrom } from "./search.js";

const CELLS = 8192; // of the levels of bands: several to a pixel of a wide screen

/** Running sums of time by colour over boxes in rows, each row ordered by start. */
export class Coverage {
  /** `classes` is per box an index into `palette`, which has red, green, blue for each. */
  constructor(starts, ends, classes, palette) {
    Object.assign(this, { starts, ends, classes, palette });
    const count = starts.length;
    this.sums = [0, 1, 2, 3].map(() => new Float64Array(count + 1));
    const [red, green, blue, all] = this.sums;
    for (let i = 0; i < count; i++) {
      const time = ends[i] - starts[i], colour = 3 * classes[i];
      red[i + 1] = red[i] + time * palette[colour];
      green[i + 1] = green[i] + time * palette[colour + 1];
      blue[i + 1] = blue[i] + time * palette[colour + 2];
      all[i + 1] = all[i] + time;
    }
  }

  /** Add to `into` (red, green, blue, share per slice) the means over slices of time. */
  addMeans(low, high, from, to, into) {
    const width = into.length / 4, slice = (to - from) / width;
    const before = [0, 0, 0, 0], after = [0, 0, 0, 0];
    let box = countUpToFrom(this.starts, from, low, high);
    this.#until(from, box, low, before);
    for (let x = 0; x < width; x++) {
      const time = from + (x + 1) * slice;
      box = countUpToFrom(this.starts, time, box, high);
      this.#until(time, box, low, after);
      for (let c = 0; c < 4; c++) {
        into[4 * x + c] += (after[c] - before[c]) / slice;
        before[c] = after[c];
      }
    }
  }

  /** Put into `found` the sums up to `time`, when `box - low` boxes have begun. */
  #until(time, box, low, found) {
    const last = Math.max(box - 1, low);
    for (let c = 0; c < 4; c++) found[c] = this.sums[c][last];
    if (box === low) return;
    const passed = Math.min(time, this.ends[last]) - this.starts[last];
    const colour = 3 * this.classes[last];
    for (let c = 0; c < 3; c++) found[c] += passed * this.palette[colour + c];
    found[3] += passed;
  }
}

/** The same of several rows together, sampled at equal distances: cost does not grow with them. */
export class Level {
  constructor(coverage, ranges, until) {
    this.cell = (until || 1) / CELLS;
    this.sums = [0, 1, 2, 3].map(() => new Float64Array(CELLS + 1));
    for (const [low, high] of ranges) this.#addBoxes(coverage, low, high);
    this.sums.forEach((sum) => this.#integrate(sum));
  }

  /** Add what each box changes where it begins and where it ends, in two cells. */
  #addBoxes({ starts, ends, classes, palette }, low, high) {
    const change = (time, colour, sign) => {
      const at = Math.min(Math.max(time / this.cell, 0), CELLS);
      const cell = Math.min(Math.floor(at), CELLS - 1), right = at - cell;
      for (let c = 0; c < 4; c++) {
        const weight = sign * (c < 3 ? palette[3 * colour + c] : 1);
        this.sums[c][cell] += (1 - right) * weight;
        this.sums[c][cell + 1] += right * weight;
      }
    };
    for (let i = low; i < high; i++) {
      change(starts[i], classes[i], 1);
      change(ends[i], classes[i], -1);
    }
  }

  /** Make of changes per cell the integral up to the beginning of each cell. */
  #integrate(sum) {
    let covered = 0, total = 0;
    for (let cell = 0; cell <= CELLS; cell++) {
      covered += sum[cell];
      sum[cell] = total;
      total += covered * this.cell;
    }
  }

  /** Whether slices so long are at least as long as what was sampled. */
  isFineEnough(slice) {
    return slice >= this.cell;
  }

  addMeans(from, to, into) {
    const width = into.length / 4, slice = (to - from) / width;
    for (let c = 0; c < 4; c++) {
      let before = this.#until(this.sums[c], from);
      for (let x = 0; x < width; x++) {
        const after = this.#until(this.sums[c], from + (x + 1) * slice);
        into[4 * x + c] += (after - before) / slice;
        before = after;
      }
    }
  }

  #until(sum, time) {
    const at = Math.min(Math.max(time / this.cell, 0), CELLS);
    const cell = Math.min(Math.floor(at), CELLS - 1);
    return sum[cell] + (at - cell) * (sum[cell + 1] - sum[cell]);
  }
}
