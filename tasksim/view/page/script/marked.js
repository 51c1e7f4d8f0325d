// What is marked in the chart beside its tasks: hatching, copies, waits, lines and arrows, as the legend names it.

import { hex } from "./colours.js";
import { HATCHED, OTHERS } from "./hatching.js";
import { WAITS } from "./waits.js";

/** Return what an app marks now: {name, colour}. */
export function marked(app) {
  return [...markedOthers(app), ...markedCopies(app), ...markedWaits(app), ...markedLines(app)];
}

function markedOthers({ runs }) { return runs.some((run) => run.slotOthers) ? [{ name: OTHERS, colour: HATCHED }] : []; }

function markedCopies({ runs, scene }) {
  const found = new Set(runs.flatMap((run) => (run.copies?.reasons ?? [])));
  return scene.reasons.filter((_, reason) => found.has(reason));
}

function markedWaits({ state, theme }) {
  return !state.waits ? [] : Object.entries(WAITS).map(([kind, name]) => ({ name, colour: hex(theme.waits[kind]) }));
}

function markedLines({ runs, state, theme }) {
  const hasArrows = state.pin && state.levels > 0;
  return [
    [state.messages && runs.some((run) => run.messages), "message", theme.message],
    [state.path, "critical path", theme.path],
    [hasArrows, "from what it depends on", theme.before],
    [hasArrows, "to what depends on it", theme.after],
    [state.matches?.length, "found", theme.accent],
  ].filter(([isShown]) => isShown).map(([, name, colour]) => ({ name, colour }));
}
