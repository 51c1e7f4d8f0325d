// Panels below the rows, on the same time axis: curves of ready tasks, memory, bandwidth, copies.

import { filled } from "./columns.js";
import { StepIntegral } from "./integral.js";
import { fitted, line } from "./frame.js";
import { countText, flopText, percentText, rateText, sizeText } from "./units.js";
import { countUpTo } from "./search.js";
import { visible } from "./colours.js";

const DASHES = [[], [6, 3], [2, 2], [8, 3, 2, 3]]; // of runs: told apart without colours
const NAME_ROOM = 40; // pixels: the line before the name of a curve, and the gap behind it

/** What panels there are: a title, how values are written, the curves of the runs, and what it means that all are zero. */
export const PANELS = {
  ready: { title: "ready tasks", text: countText, curves: readyCurves, none: "every task started as soon as it was ready" },
  submitted: { title: "submitted tasks", text: countText, curves: submittedCurves },
  lackready: { title: "nodes lacking ready tasks", text: countText, curves: lackCurves },
  gflops: { title: "flop per second", text: flopText, curves: flopCurves },
  others: { title: "cores that others had", text: percentText, curves: othersCurves },
  memory: { title: "memory used", text: sizeText, curves: memoryCurves },
  bandwidth: { title: "copied", text: rateText, curves: bandwidthCurves },
  copies: { title: "copies by link", text: rateText, curves: linkCurves },
};

/** Return what it means that all curves of a panel are zero. */
export function noneText(name, runs) {
  return runs.some((run) => run.count) ? PANELS[name].none ?? "" : "no tasks";
}

/** Return the panels that have something to show of these runs. */
export function panelsOf(runs) {
  const copies = runs.some((run) => run.copies);
  const memory = runs.some((run) => run.header.known_memories.length);
  const needs = { memory, bandwidth: copies, copies, gflops: runs.some((run) => run.flop),
    others: runs.some((run) => run.header.others) };
  return Object.keys(PANELS).filter((name) => needs[name] ?? true);
}

/** Return the curves of a panel, made when they are first asked for: {name, means, colour, dash}. */
export function curvesOf(name, runs, header) {
  return PANELS[name].curves(runs, (run, label) => ({
    name: runs.length > 1 ? [run.name, label].filter(Boolean).join(", ") : label,
    dash: DASHES[run.number],
    colour: runs.length > 1 ? header.run_colours[run.number] : header.palette[0],
    run,
  }), header);
}

function readyCurves(runs, look) {
  return runs.map((run) => countCurve(look(run, ""), "ready", run, () => {
    // By the order of tasks, which takes half of the room of their times.
    const [rises, falls] = [run.inReadyOrder(), run.inOrder()], { count } = run;
    return new StepIntegral({ count, at: (row) => run.ready(rises[row]) }, { count, at: (row) => run.start(falls[row]) });
  }));
}

function submittedCurves(runs, look) {
  return runs.map((run) => countCurve(look(run, ""), "submitted", run, () => (
    new StepIntegral({ times: inSeconds(run.columns.submitted, run) }, { times: run.slotEnd }))));
}

/** Return the curve of a count of a run, which keeps what *make* returns by its name. */
function countCurve(look, name, run, make) {
  run.counts ??= {};
  const integral = run.counts[name] ??= make();
  // The greatest, as figures have them: a queue that was long for a moment is as high as it was long.
  return { ...look, means: (from, to, count) => integral.greatest(from, to, count) };
}

function inSeconds(ticks, run) { return filled(Float64Array, ticks.length, (row) => run.seconds(ticks[row])); }

/** Return how many nodes have fewer ready tasks, in the mean, than the least workers of a node. */
function lackCurves(runs, look) {
  return runs.map((run) => {
    const nodes = [...new Set(run.workers.map(({ node }) => node))];
    const least = Math.min(...nodes.map((node) => run.workers.filter((w) => w.node === node).length));
    const ready = nodes.map((node) => readyOfNode(run, node));
    const means = (from, to, count) => {
      const found = new Float64Array(count);
      const shown = ready.map((integral) => integral.means(from, to, count));
      for (let i = 0; i < count; i++) {
        const time = from + ((i + 0.5) * (to - from)) / count;
        const isInside = time >= 0 && time <= run.makespan;
        found[i] = isInside ? shown.filter((values) => values[i] < least).length : 0;
      }
      return found;
    };
    return { ...look(run, ""), means };
  });
}

/** Return how many tasks are ready that workers of a node will run, as an integral. */
function readyOfNode(run, node) {
  const tasks = [];
  for (let task = 0; task < run.count; task++) {
    if (run.workers[run.worker[task]].node === node) tasks.push(task);
  }
  const times = (of) => ({ times: Float64Array.from(tasks, (task) => of(task)) });
  return new StepIntegral(times((task) => run.ready(task)), times((task) => run.start(task)));
}

/** Return the flop per second of tasks whose flop is known, evenly over the time of each. */
function flopCurves(runs, look) {
  return runs.filter((run) => run.flop).map((run) => {
    const tasks = [];
    for (let task = 0; task < run.count; task++) {
      if (run.flop[task] > 0 && run.end(task) > run.start(task)) tasks.push(task);
    }
    const weights = tasks.map((task) => run.flop[task] / run.duration(task));
    const integral = new StepIntegral({ times: tasks.map((task) => run.start(task)), weights },
      { times: tasks.map((task) => run.end(task)), weights });
    return { ...look(run, ""), means: (from, to, count) => integral.means(from, to, count) };
  });
}

/** Return which share of its workers' cores others had, as tasksim.run.others.others_curve says it. */
function othersCurves(runs, look) {
  return runs.filter((run) => run.header.others).map((run) => {
    const starts = [], ends = [], shares = [];
    const add = (start, end, share) => {
      if (share > 0 && end > start) starts.push(start), ends.push(end), shares.push(share / run.workers.length);
    };
    run.workers.forEach((_, worker) => {
      const gaps = gapsOf(run, worker);
      const idle = gaps.reduce((sum, [start, end]) => sum + end - start, 0);
      const lost = Math.min(run.header.others.between_s[worker] / (idle || Infinity), 1);
      for (const [start, end] of gaps) add(start, end, lost);
    });
    run.slotOthers.forEach((taken, slot) => {
      const start = run.slotStart[slot], end = run.slotEnd[slot];
      add(start, end, taken / (end - start));
    });
    const integral = new StepIntegral({ times: starts, weights: shares }, { times: ends, weights: shares });
    return { ...look(run, ""), means: (from, to, count) => integral.means(from, to, count) };
  });
}

/** Return the times in which a worker ran no task: [start, end] each. */
function gapsOf(run, worker) {
  const gaps = [];
  let free = 0;
  for (let slot = run.firstSlot[worker]; slot < run.firstSlot[worker + 1]; slot++) {
    if (run.slotStart[slot] > free) gaps.push([free, run.slotStart[slot]]);
    free = run.slotEnd[slot];
  }
  if (run.makespan > free) gaps.push([free, run.makespan]);
  return gaps;
}

/** Return a colour per memory, as figures have it (memory_colours of view/colours.py): grey for the first without a size. */
function memoryColours(run, { palette, unlimited_colour: grey }) {
  const unlimited = run.memories.findIndex(({ size }) => size === null);
  let coloured = 0;
  return run.memories.map((_, memory) => (memory === unlimited ? grey : palette[coloured++ % palette.length]));
}

function memoryCurves(runs, look, header) {
  return runs.flatMap((run) => run.header.known_memories.map((memory) => ({
    ...look(run, run.memories[memory].name),
    colour: memoryColours(run, header)[memory],
    means: greatest(inSeconds(run.columns[`memory_time_${memory}`], run), run.columns[`memory_used_${memory}`]),
  })));
}

/** Return a function for the greatest values of a step function in slices of time. */
function greatest(times, values) {
  return (from, to, count) => {
    const found = new Float64Array(count);
    let at = countUpTo(times, from);
    for (let i = 0; i < count; i++) {
      const end = from + ((i + 1) * (to - from)) / count;
      let most = at > 0 ? values[at - 1] : 0;
      for (; at < times.length && times[at] <= end; at++) most = Math.max(most, values[at]);
      found[i] = most;
    }
    return found;
  };
}

function bandwidthCurves(runs, look, header) {
  return withCopies(runs).flatMap((run) => run.memories.map((memory, number) => ({
    ...look(run, `to ${memory.name}`),
    colour: memoryColours(run, header)[number],
    ...rateCurve(run, run.copies.links.filter((link) => link.target === number)),
  })).filter((curve) => curve.copies));
}

function linkCurves(runs, look, { palette }) {
  return withCopies(runs).flatMap((run) => run.copies.links.map((link, number) => ({
    ...look(run, `${run.memories[link.source].name} → ${run.memories[link.target].name}`),
    colour: palette[number % palette.length],
    ...rateCurve(run, [link]),
  })));
}

function withCopies(runs) {
  return runs.filter((run) => run.copies);
}

/** Return how many bytes per second the copies of some links move, evenly while each is made: the greatest rates. */
function rateCurve(run, links) {
  const { start, endOf, bytesOf } = run.copies;
  const instant = 1e-12 * (run.makespan || 1); // in which a copy that takes no time is made
  const lasting = [], instants = [];
  for (const { first, end } of links) {
    for (let copy = first; copy < end; copy++) (endOf(copy) - start[copy] > instant ? lasting : instants).push(copy);
  }
  const until = (copy) => Math.max(endOf(copy), start[copy] + instant);
  const integral = (rows) => {
    const column = (value) => filled(Float64Array, rows.length, (at) => value(rows[at]));
    const weights = column((copy) => bytesOf(copy) / (until(copy) - start[copy]));
    return new StepIntegral({ times: column((copy) => start[copy]), weights }, { times: column(until), weights });
  };
  const peaks = integral(lasting), added = integral(instants);
  // A copy without a duration has no rate: its bytes count as a mean.
  const means = (from, to, count) => {
    const found = peaks.greatest(from, to, count), more = added.means(from, to, count);
    return found.map((rate, i) => rate + more[i]);
  };
  return { copies: lasting.length + instants.length, means };
}

/** Paint a panel; return its curves with the values shown, for hovering. */
export function paintPanel(context, view, name, curves, top, height) {
  const { theme, left, width, viewport } = view;
  const shown = curves.map((curve) => ({ ...curve, values: curve.means(viewport.from, viewport.to, width) }));
  const most = Math.max(1e-300, ...shown.map(({ values }) => values.reduce((a, b) => Math.max(a, b), 0)));
  const base = top + height - 4, scale = (height - 20) / most;
  context.fillStyle = theme.band;
  context.fillRect(left, top + 2, width, height - 4);
  for (const curve of shown) paintCurve(context, curve, theme, left, base, scale);
  context.setLineDash([]);
  context.strokeStyle = theme.line;
  line(context, left, base + 0.5, left + width, base + 0.5);
  context.font = theme.small;
  context.fillStyle = theme.text;
  context.textBaseline = "middle";
  context.fillText(PANELS[name].title, 4, top + 12);
  context.fillStyle = theme.soft;
  context.textAlign = "right";
  if (most > 1e-300) context.fillText(PANELS[name].text(most), left - 6, top + 26);
  context.fillText("0", left - 6, base - 3);
  context.textAlign = "center";
  if (most <= 1e-300) context.fillText(noneText(name, view.runs), left + width / 2, top + height / 2);
  context.textAlign = "left";
  paintNamesOfCurves(context, shown, view, top);
  return shown;
}

function paintCurve(context, { values, colour, dash }, theme, left, base, scale) {
  context.strokeStyle = visible(colour, theme);
  context.setLineDash(dash);
  context.lineWidth = 1.4;
  context.beginPath();
  values.forEach((value, x) => context.lineTo(left + x + 0.5, base - value * scale));
  context.stroke();
  context.lineWidth = 1;
}

/** Return where the names of curves are, and what of each fits where all together are too wide: {name, x, colour, dash}. */
export function namesOfCurves(context, curves, { left, width }) {
  const named = curves.filter(({ name }) => name), room = (width - 6) / named.length - NAME_ROOM;
  const isWide = named.reduce((sum, { name }) => sum + context.measureText(name).width + NAME_ROOM, 0) > width - 6;
  let x = left + 6;
  return named.map(({ name: all, colour, dash }) => {
    const name = isWide ? fitted(context, all, room) : all, found = { name, x, colour, dash };
    x += context.measureText(name).width + NAME_ROOM;
    return found;
  });
}

function paintNamesOfCurves(context, shown, view, top) {
  const { theme } = view;
  for (const { name, x, colour, dash } of namesOfCurves(context, shown, view)) {
    context.strokeStyle = visible(colour, theme);
    context.setLineDash(dash);
    line(context, x, top + 10, x + 18, top + 10);
    context.setLineDash([]);
    context.fillStyle = theme.text;
    context.fillText(name, x + 22, top + 10);
  }
}
