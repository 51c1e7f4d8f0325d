// Integrals of step functions: means over any stretch of time, whatever happens inside it.

import { countUpTo } from "./search.js";

/** A step function that grows by a weight at some times and falls by one at others. */
export class StepIntegral {
  /** `rises` and `falls` are {times, weights}; weights may be left out: 1 each. */
  constructor(rises, falls) {
    this.parts = [[ordered(rises), 1], [ordered(falls), -1]];
  }

  /** Return the integral from the beginning to `time`. */
  until(time) {
    let sum = 0;
    for (const [{ times, weight, moment }, sign] of this.parts) {
      const count = countUpTo(times, time);
      sum += sign * (weight[count] * time - moment[count]);
    }
    return sum;
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

/** Return the times in order, and the running sums of weights and of weights times times. */
function ordered({ times, weights }) {
  const order = weights ? sortedOrder(times) : null;
  const sorted = order ? Float64Array.from(order, (i) => times[i]) : Float64Array.from(times).sort();
  const weight = new Float64Array(times.length + 1);
  const moment = new Float64Array(times.length + 1);
  for (let i = 0; i < sorted.length; i++) {
    const w = order ? weights[order[i]] : 1;
    weight[i + 1] = weight[i] + w;
    moment[i + 1] = moment[i] + w * sorted[i];
  }
  return { times: sorted, weight, moment };
}

function sortedOrder(times) {
  return Uint32Array.from(times, (_, i) => i).sort((a, b) => times[a] - times[b]);
}
