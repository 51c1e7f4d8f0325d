// Colours of tasks: by kernel, iteration, priority, slowness, or difference to another run.

import { shiftText } from "./units.js";

const SHADES = 64;
// From dark to bright, and from blue over grey to orange: told apart by colour-blind eyes too.
const RISING = ["#440154", "#3b528b", "#21918c", "#5ec962", "#fde725"];
const DIVERGING = ["#0a4f8a", "#4f9bd0", "#c9c9c9", "#e8963c", "#a84300"];

export const MODES = {
  kernel: "kernel",
  iteration: "iteration",
  priority: "priority",
  slowness: "slowness (measured over expected)",
  difference: "difference to the first run",
};

/** Return red, green and blue of "#rrggbb". */
export function rgb(colour) {
  return [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
}

/** Return "#rrggbb" of red, green and blue. */
export function hex(parts) {
  return `#${Array.from(parts, (part) => Math.round(part).toString(16).padStart(2, "0")).join("")}`;
}

/** Return the modes that say something about these runs. */
export function modesOf(runs) {
  return Object.keys(MODES).filter((mode) => (
    (mode !== "iteration" || runs.some((run) => run.iteration))
    && (mode !== "difference" || runs.some((run) => run.reference))));
}

/**
 * Return how runs are coloured: `palette`, a class per task from `classOf(run, task)`, and a legend.
 * The last class is that of tasks that are filtered away.
 */
export function colouring(runs, mode, header, theme) {
  const made = mode === "kernel" ? byKernel(runs, header, theme) : byNumber(runs, mode);
  const palette = Float64Array.from([...made.colours, theme.muted].flatMap(rgb));
  return { ...made, palette, muted: made.colours.length };
}

function byKernel(runs, header, theme) {
  const names = Object.keys(header.kernel_colours);
  const place = new Map(names.map((name, index) => [name, index]));
  const colours = names.map((name) => {
    const colour = header.kernel_colours[name];
    return (theme.dark && header.dark_colours[colour]) || visible(colour, theme);
  });
  const tables = new Map(runs.map((run) => [run, run.kernels.map((name) => place.get(name))]));
  return {
    colours,
    classOf: (run) => {
      const table = tables.get(run);
      return (task) => table[run.kernel[task]];
    },
    legend: names.map((name, index) => ({ name, colour: colours[index], kernel: name })),
  };
}

/** Return a colour that is seen on the ground: on dark ones, dark colours are mixed with white. */
export function visible(colour, theme) {
  if (!theme.dark) return colour;
  const parts = rgb(colour);
  const light = 0.3 * parts[0] + 0.59 * parts[1] + 0.11 * parts[2];
  const white = Math.max(0, Math.min(0.55, (105 - light) / 150));
  return hex(parts.map((part) => part + white * (255 - part)));
}

function byNumber(runs, mode) {
  const { value, low, high, stops, text } = SCALES[mode](runs);
  const span = high - low, places = span ? [0, 0.25, 0.5, 0.75, 1] : [0.5]; // one value has the middle colour
  return {
    colours: shades(stops),
    classOf: (run) => (task) => {
      const share = span ? (value(run, task) - low) / span : 0.5;
      return share >= 0 ? Math.min(SHADES - 1, Math.floor(share * SHADES)) : share < 0 ? 0 : SHADES / 2;
    },
    legend: places.map((share) => ({
      name: text(low + share * span),
      colour: shades(stops)[Math.min(SHADES - 1, Math.floor(share * SHADES))],
    })),
  };
}

const SCALES = {
  iteration: (runs) => rising(runs.filter((run) => run.iteration), (run, task) => run.iteration[task]),
  priority: (runs) => rising(runs, (run, task) => run.priority[task]),
  slowness: () => ({
    value: (run, task) => Math.log2(run.slowness(task)),
    low: -1,
    high: 1,
    stops: DIVERGING,
    text: (log) => `× ${(2 ** log).toPrecision(2)}`,
  }),
  difference: (runs) => {
    const value = (run, task) => (run.reference ? shiftOf(run, task) : NaN);
    const most = extremes(runs.filter((run) => run.reference), (run, task) => Math.abs(value(run, task)))[1];
    return { value, low: -most, high: most, stops: DIVERGING, text: shiftText };
  },
};

/** Return how much later a task ended than in the run to which its run is compared. */
export function shiftOf(run, task) {
  return run.end(task) - run.reference.end(task);
}

function rising(runs, value) {
  const [low, high] = extremes(runs, value);
  return {
    value: (run, task) => (runs.includes(run) ? value(run, task) : NaN),
    low, high,
    stops: RISING,
    text: (number) => String(Math.round(number)),
  };
}

function extremes(runs, value) {
  let low = Infinity, high = -Infinity;
  for (const run of runs) {
    for (let task = 0; task < run.count; task++) {
      const number = value(run, task);
      if (number < low) low = number;
      if (number > high) high = number;
    }
  }
  return low <= high ? [low, high] : [0, 0];
}

/** Return `SHADES` colours between the stops. */
function shades(stops) {
  const ends = stops.map(rgb);
  return Array.from({ length: SHADES }, (_, i) => {
    const at = (i / (SHADES - 1)) * (stops.length - 1);
    const stop = Math.min(Math.floor(at), stops.length - 2), part = at - stop;
    return hex(ends[stop].map((from, c) => from + part * (ends[stop + 1][c] - from)));
  });
}
