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
    const [red, green, blue, all] = this.sums;
    const { starts, ends, classes, palette } = this;
    let [r, g, b, a] = [0, 0, 0, 0];
    let box = countUpToFrom(starts, from, low, high);
    // Sums up to the end of slice x; those up to its beginning are kept from the one before.
    for (let x = -1; x < width; x++) {
      const time = from + (x + 1) * slice;
      box = countUpToFrom(starts, time, box, high);
      const last = box > low ? box - 1 : low;
      const passed = box > low ? (time < ends[last] ? time : ends[last]) - starts[last] : 0;
      const colour = box > low ? 3 * classes[last] : 0;
      const R = red[last] + passed * palette[colour], G = green[last] + passed * palette[colour + 1];
      const B = blue[last] + passed * palette[colour + 2], A = all[last] + passed;
      if (x >= 0) {
        into[4 * x] += (R - r) / slice;
        into[4 * x + 1] += (G - g) / slice;
        into[4 * x + 2] += (B - b) / slice;
        into[4 * x + 3] += (A - a) / slice;
      }
      r = R, g = G, b = B, a = A;
    }
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
