// Waits of idle workers: stretches of time before each task, by what the worker waited for.

import { Coverage } from "./coverage.js";

export const WAITS = { dependency: "idle for dependencies", data: "idle for data", runtime: "idle for the runtime" };
const KINDS = Object.keys(WAITS);

/** Call `visit(kind, from, to)` for each stretch in which a worker waited, in order of time. */
export function eachWait(run, worker, visit) {
  let free = 0;
  for (let slot = run.firstSlot[worker]; slot < run.firstSlot[worker + 1]; slot++) {
    const task = run.slotTask[slot], start = Math.max(run.slotStart[slot], free);
    if (start > free) {
      const ready = Math.min(Math.max(run.ready(task), free), start);
      const taken = Math.min(Math.max(run.taken(task), ready), start);
      const came = Math.min(Math.max(run.arrival(task), taken), start);
      if (ready > free) visit("dependency", free, ready);
      if (taken > ready) visit("runtime", ready, taken);
      if (came > taken) visit("data", taken, came);
      if (start > came) visit("runtime", came, start);
    }
    free = run.slotEnd[slot];
  }
}

/** The waits of all workers of a run, as boxes in rows: what `Coverage` takes. */
export class WaitCoverage {
  constructor(run, theme) {
    const starts = [], ends = [], classes = [];
    this.first = [0];
    run.workers.forEach((_, worker) => {
      eachWait(run, worker, (kind, from, to) => {
        starts.push(from);
        ends.push(to);
        classes.push(KINDS.indexOf(kind));
      });
      this.first.push(starts.length);
    });
    const palette = Float64Array.from(KINDS.flatMap((kind) => theme.waits[kind]));
    this.coverage = new Coverage(Float64Array.from(starts), Float64Array.from(ends), classes, palette);
  }

  addMeans(worker, from, to, into) {
    this.coverage.addMeans(this.first[worker], this.first[worker + 1], from, to, into);
  }
}
