// Coverage: the mean colour of a row over each pixel, from running sums, however many tasks it has.

import { countUpToFrom } from "./search.js";

const CELLS = 8192; // of the levels of bands: several to a pixel of a wide screen
const BOXES_PER_SUM = 16; // boxes between two kept sums: what lies between is added when it is asked for

/** Running sums of time by colour over boxes in rows, each row ordered by start. */
export class Coverage {
  /** `classes` is per box an index into `palette`, which has red, green, blue for each. */
  constructor(starts, ends, classes, palette) {
    Object.assign(this, { starts, ends, classes, palette, levels: new Map() });
    this.kept = new Float64Array(4 * (Math.floor(starts.length / BOXES_PER_SUM) + 1));
    const sums = new Float64Array(4);
    for (let box = 0; box < starts.length; box++) {
      if (box % BOXES_PER_SUM === 0) this.kept.set(sums, (4 * box) / BOXES_PER_SUM);
      this.#add(sums, box);
    }
    if (starts.length % BOXES_PER_SUM === 0) this.kept.set(sums, (4 * starts.length) / BOXES_PER_SUM);
  }

  /** Add the time of a box, by red, green, blue and all. */
  #add(sums, box) {
    const { palette } = this, time = this.ends[box] - this.starts[box], colour = 3 * this.classes[box];
    sums[0] += time * palette[colour];
    sums[1] += time * palette[colour + 1];
    sums[2] += time * palette[colour + 2];
    sums[3] += time;
  }

  /** Make of the sums before the box `at` those before `box`; return `box`. */
  #move(sums, at, box) {
    if (at < 0 || box - at > BOXES_PER_SUM) {
      at = box - (box % BOXES_PER_SUM);
      for (let c = 0; c < 4; c++) sums[c] = this.kept[(4 * at) / BOXES_PER_SUM + c];
    }
    for (; at < box; at++) this.#add(sums, at);
    return box;
  }

  /** Add to `into` (red, green, blue, share per slice) the means over slices of time. */
  addMeans(low, high, from, to, into) {
    const width = into.length / 4, slice = (to - from) / width;
    const { starts, ends, classes, palette } = this;
    const sums = new Float64Array(4);
    let [r, g, b, a] = [0, 0, 0, 0];
    let box = countUpToFrom(starts, from, low, high), at = -1;
    // Sums up to the end of slice x; those up to its beginning are kept from the one before.
    for (let x = -1; x < width; x++) {
      const time = from + (x + 1) * slice;
      box = countUpToFrom(starts, time, box, high);
      const last = box > low ? box - 1 : low;
      const passed = box > low ? (time < ends[last] ? time : ends[last]) - starts[last] : 0;
      const colour = box > low ? 3 * classes[last] : 0;
      at = this.#move(sums, at, last);
      const R = sums[0] + passed * palette[colour], G = sums[1] + passed * palette[colour + 1];
      const B = sums[2] + passed * palette[colour + 2], A = sums[3] + passed;
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
    const { cell: length, sums: [reds, greens, blues, shares] } = this;
    for (let i = low; i < high; i++) {
      const colour = 3 * classes[i], red = palette[colour], green = palette[colour + 1], blue = palette[colour + 2];
      for (let sign = 1; sign >= -1; sign -= 2) {
        const at = Math.min(Math.max((sign > 0 ? starts[i] : ends[i]) / length, 0), CELLS);
        const cell = Math.min(Math.floor(at), CELLS - 1), right = sign * (at - cell), left = sign - right;
        reds[cell] += left * red, reds[cell + 1] += right * red;
        greens[cell] += left * green, greens[cell + 1] += right * green;
        blues[cell] += left * blue, blues[cell + 1] += right * blue;
        shares[cell] += left, shares[cell + 1] += right;
      }
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
