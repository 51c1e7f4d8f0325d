// Integrals of step functions: means over any stretch of time, whatever happens inside it.

import { filled } from "./columns.js";
import { ascending, countUpTo } from "./search.js";

const STEPS_PER_SUM = 64; // times between two kept sums: what lies between is added when it is asked for

/** A step function that grows by a weight at some times and falls by one at others. */
export class StepIntegral {
  /** `rises` and `falls` are {times, weights}; weights may be left out: 1 each. */
  constructor(rises, falls) {
    this.parts = [[new Steps(rises), 1], [new Steps(falls), -1]];
  }

  /** Return the integral from the beginning to `time`. */
  until(time) {
    return this.parts.reduce((sum, [steps, sign]) => sum + sign * steps.until(time), 0);
  }

  /** Return the means over `count` equal slices from `from` to `to`. */
  means(from, to, count) {
    const found = new Float64Array(count);
    const slice = (to - from) / count;
    let before = this.until(from);
    for (let i = 0; i < count; i++) {
      const after = this.until(from + (i + 1) * slice);
      found[i] = Math.max(0, (after - before) / slice);
      before = after;
    }
    return found;
  }
}

/** Steps upwards in order of time, with running sums of weights and of weights times times. */
class Steps {
  constructor({ times, weights }) {
    const order = weights ? ascending(times) : null;
    this.times = order ? filled(Float64Array, order.length, (i) => times[order[i]]) : new Float64Array(times).sort();
    this.weights = order ? filled(Float64Array, order.length, (i) => weights[order[i]]) : null;
    const blocks = Math.floor(times.length / STEPS_PER_SUM) + 1;
    this.sums = { weight: new Float64Array(blocks), moment: new Float64Array(blocks) };
    for (let block = 1; block < blocks; block++) {
      const { weight, moment } = this.#sumsTo(block * STEPS_PER_SUM, block - 1);
      this.sums.weight[block] = weight;
      this.sums.moment[block] = moment;
    }
  }

  /** Return the sums over the first `count` steps, from those before a block. */
  #sumsTo(count, block) {
    let weight = this.sums.weight[block], moment = this.sums.moment[block];
    for (let i = block * STEPS_PER_SUM; i < count; i++) {
      const own = this.weights ? this.weights[i] : 1;
      weight += own;
      moment += own * this.times[i];
    }
    return { weight, moment };
  }

  until(time) {
    const count = countUpTo(this.times, time);
    const { weight, moment } = this.#sumsTo(count, Math.floor(count / STEPS_PER_SUM));
    return weight * time - moment;
  }
}
