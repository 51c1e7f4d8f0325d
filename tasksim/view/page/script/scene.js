// The scene: what there is to be painted, made anew where colours or filters change.

import { colouring, rgb } from "./colours.js";
import { Coverage, Level } from "./coverage.js";
import { StepIntegral } from "./integral.js";
import { WaitCoverage } from "./waits.js";

const MOST_DIRECT = 300000; // evaluations for a band by its rows; a frame has some milliseconds

/** Runs in their present colours. */
export class Scene {
  constructor(runs, header) {
    Object.assign(this, { runs, header });
  }

  /** Colour all tasks; `shown(run)` is a flag per task, or null: all are. */
  colour(mode, theme, shown) {
    this.colouring = colouring(this.runs, mode, this.header, theme);
    const reasons = this.header.reasons.map(({ name, colour, dark }) => ({ name, colour: theme.dark ? dark : colour }));
    Object.assign(this, { theme, waits: [], reasons, reasonColours: reasons.map(({ colour }) => rgb(colour)) });
    this.coverage = this.runs.map((run) => {
      const flags = shown(run), key = mode === "kernel" && !flags ? this.colouring.palette.join() : "";
      // In a live page the base stays, while what is compared with it changes at each move of a slider.
      if (key && run.coverage?.key === key) return run.coverage;
      const classOf = this.colouring.classOf(run), { palette } = this.colouring;
      const classes = new (palette.length <= 3 * 256 ? Uint8Array : Uint16Array)(run.count);
      for (let slot = 0; slot < run.count; slot++) {
        const task = run.slotTask[slot];
        classes[slot] = flags && !flags[task] ? this.colouring.muted : classOf(task);
      }
      run.coverage = Object.assign(new Coverage(run.slotStart, run.slotEnd, classes, palette), { key });
      return run.coverage;
    });
  }

  /** Return the same of what a worker waited for while it was idle. */
  waitMeans(run, worker, from, to, width) {
    const into = new Float64Array(4 * width);
    this.waits[run.number] ??= new WaitCoverage(run, this.theme);
    this.waits[run.number].addMeans(worker, from, to, into);
    return into;
  }

  /** Return red, green, blue and share per pixel of a worker's row. */
  workerMeans(run, worker, from, to, width) {
    const into = new Float64Array(4 * width);
    this.coverage[run.number].addMeans(run.firstSlot[worker], run.firstSlot[worker + 1], from, to, into);
    return into;
  }

  /** Return the same of several workers together, the share of all their time. */
  bandMeans(row, from, to, width) {
    const into = new Float64Array(4 * width);
    const ranges = row.workers.map((w) => [row.run.firstSlot[w], row.run.firstSlot[w + 1]]);
    const level = this.#level(row, ranges, (to - from) / width, ranges.length * width);
    if (level) level.addMeans(from, to, into);
    else ranges.forEach(([low, high]) => this.coverage[row.run.number].addMeans(low, high, from, to, into));
    for (let i = 0; i < into.length; i++) into[i] /= ranges.length;
    return into;
  }

  /** Return the level that serves for slices so long, if there is to be one. */
  #level(row, ranges, slice, cost) {
    if (ranges.length < 3) return null;
    const coverage = this.coverage[row.run.number], { levels } = coverage;
    if (!levels.has(row.id)) levels.set(row.id, new Level(coverage, ranges, row.run.makespan));
    const level = levels.get(row.id);
    return level.isFineEnough(slice) || cost > MOST_DIRECT ? level : null;
  }

  /** Return the same of the copies of a link; those at the same time share the row. */
  linkMeans({ run, link }, from, to, width) {
    const into = new Float64Array(4 * width);
    link.parts ??= linkParts(run.copies, link);
    for (const { integral, reason } of link.parts) {
      const colour = this.reasonColours[reason];
      const means = integral.means(from, to, width);
      for (let x = 0; x < width; x++) {
        for (let c = 0; c < 3; c++) into[4 * x + c] += means[x] * colour[c];
        into[4 * x + 3] += means[x];
      }
    }
    return into;
  }
}

/** Return per reason how many copies of a link are under way, as an integral. */
function linkParts(copies, { first, end }) {
  return [...copies.reasons].sort().flatMap((reason) => {
    let count = 0;
    for (let copy = first; copy < end; copy++) if (copies.reason[copy] === reason) count += 1;
    if (!count) return [];
    const rows = new Uint32Array(count), ends = new Float64Array(count);
    for (let copy = first, row = 0; copy < end; copy++) {
      if (copies.reason[copy] !== reason) continue;
      rows[row] = copy;
      ends[row++] = copies.endOf(copy);
    }
    // The copies of a link are in order of their start.
    return { reason, integral: new StepIntegral({ count, at: (row) => copies.start[rows[row]] }, { times: ends }) };
  });
}
