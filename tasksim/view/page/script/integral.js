// Integrals of step functions: means and greatest values over any stretch of time, whatever happens inside it.

import { filled } from "./columns.js";
import { ascending } from "./search.js";

const LEVELS_PER_PEAK = 64; // levels of which the greatest is kept
const STEPS_PER_SUM = 64; // times between two kept sums: what lies between is added when it is asked for

/** A step function that grows by a weight at some times and falls by one at others. */
export class StepIntegral {
  /** `rises` and `falls` are {times, weights}; weights may be left out: 1 each; or {count, at}, where *at* returns times in order. */
  constructor(rises, falls) {
    this.parts = [[new Steps(rises), 1], [new Steps(falls), -1]];
  }

  /** Return the means over `count` equal slices from `from` to `to`. */
  means(from, to, count) {
    const found = new Float64Array(count), slice = (to - from) / count;
    for (const [steps, sign] of this.parts) steps.addMeans(from, slice, sign, found);
    for (let i = 0; i < count; i++) found[i] = Math.max(0, found[i]);
    return found;
  }

  /** Return the greatest values over `count` equal slices from `from` to `to`. */
  greatest(from, to, count) {
    const [[rises], [falls]] = this.parts;
    this.levels ??= new Levels(rises, falls);
    const found = new Float64Array(count), slice = (to - from) / count;
    let up = rises.countUpTo(from), down = falls.countUpTo(from);
    for (let i = 0; i < count; i++) {
      const end = from + (i + 1) * slice, next = rises.countUpTo(end, up);
      found[i] = Math.max(0, rises.height(up) - falls.height(down), this.levels.greatest(up, next));
      [up, down] = [next, falls.countUpTo(end, down)];
    }
    return found;
  }
}

/** How far the steps upwards were above those downwards, in weights, after each step upwards. */
class Levels {
  constructor(rises, falls) {
    const Column = rises.weights ? Float64Array : Int32Array;
    this.levels = new Column(rises.count);
    this.peaks = new Column(Math.ceil(rises.count / LEVELS_PER_PEAK)).fill(-1);
    for (let up = 0, down = 0, sum = 0; up < rises.count; up++) {
      sum += rises.weight(up);
      for (; down < falls.count && falls.at(down) <= rises.at(up); down++) sum -= falls.weight(down);
      const level = this.levels[up] = sum, block = Math.floor(up / LEVELS_PER_PEAK);
      if (level > this.peaks[block]) this.peaks[block] = level;
    }
  }

  /** Return the greatest level after the steps from `low` to before `high`; 0 without any. */
  greatest(low, high) {
    let most = 0;
    for (let row = low; row < high;) {
      const isBlock = row % LEVELS_PER_PEAK === 0 && row + LEVELS_PER_PEAK <= high;
      most = Math.max(most, isBlock ? this.peaks[row / LEVELS_PER_PEAK] : this.levels[row]);
      row += isBlock ? LEVELS_PER_PEAK : 1;
    }
    return most;
  }
}

/** Steps upwards in order of time, with running sums of weights and of weights times times. */
class Steps {
  constructor({ times, weights = null, count = times.length, at = null }) {
    const order = weights && ascending(times);
    const sorted = at ? null : order ? filled(Float64Array, count, (i) => times[order[i]]) : new Float64Array(times).sort();
    Object.assign(this, { count, at: at ?? ((i) => sorted[i]) });
    this.weights = weights && filled(Float64Array, count, (i) => weights[order[i]]);
    const blocks = Math.floor(count / STEPS_PER_SUM) + 1;
    this.sums = { weight: new Float64Array(blocks), moment: new Float64Array(blocks) };
    for (let block = 1; block < blocks; block++) {
      const { weight, moment } = this.#sumsTo(block * STEPS_PER_SUM, block - 1);
      this.sums.weight[block] = weight;
      this.sums.moment[block] = moment;
    }
  }

  weight(row) { return this.weights ? this.weights[row] : 1; }

  /** Return the level that the first steps lead to: the sum of their weights. */
  height(count) { return this.weights ? this.#sumsTo(count).weight : count; }

  /** Return the sums over the first `count` steps, from those kept before a block of steps. */
  #sumsTo(count, block = Math.floor(count / STEPS_PER_SUM)) {
    let weight = this.sums.weight[block], moment = this.sums.moment[block];
    for (let i = block * STEPS_PER_SUM; i < count; i++) {
      const own = this.weight(i);
      weight += own;
      moment += own * this.at(i);
    }
    return { weight, moment };
  }

  /** Add to `into`, so many times, the means over slices of time. */
  addMeans(from, slice, sign, into) {
    let row = this.countUpTo(from), { weight } = this.#sumsTo(row);
    for (let x = 0; x < into.length; x++) {
      const end = from + (x + 1) * slice, last = Math.min(row + STEPS_PER_SUM, this.count);
      let next = row, added = 0, area = 0;
      for (let time; next < last && (time = this.at(next)) <= end; next++) {
        const own = this.weight(next);
        added += own;
        area += own * (end - time);
      }
      if (next === row + STEPS_PER_SUM) { // there may be many: what is kept says their sums
        next = this.countUpTo(end, next);
        const before = this.#sumsTo(row), after = this.#sumsTo(next);
        added = after.weight - before.weight;
        area = added * end - (after.moment - before.moment);
      }
      into[x] += sign * (weight + area / slice);
      weight += added;
      row = next;
    }
  }

  /** Return how many of the steps are at most at a time; so many are known to be. */
  countUpTo(time, low = 0) {
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.at(middle) <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
