// The state of the page: what is shown and how, at first and from a hash.

import { fromHash } from "./hash.js";
import { modesOf } from "./colours.js";
import { panelsOf } from "./panels.js";
import { TABLES } from "./tables.js";

export const MOST_LEVELS = 9;
export const THEMES = ["auto", "light", "dark"];
const FIRST_PANELS = ["ready", "memory", "bandwidth"];

/** Return what is shown at first. */
export function firstState(runs) {
  const panels = panelsOf(runs).filter((name) => FIRST_PANELS.includes(name));
  return {
    scroll: 0, colour: "kernel", query: "", only: false, hidden: new Set(), pin: null, levels: 1,
    path: false, waits: false, messages: true, folded: new Set(), foldedChanged: false, panels: new Set(panels),
    panelsChanged: false, theme: "auto", table: "", range: false,
    hover: null, box: null, matches: null, match: -1, arrows: null,
    messageArrows: [], live: "", play: null,
  };
}

/** Change a state and a viewport to what a hash says, as far as it makes sense of these runs. */
export function applyHash(hash, state, viewport, runs) {
  const said = fromHash(hash);
  const [from, to] = (said.t ?? "").split(",").map(Number);
  if (said.t && to > from) viewport.set(from, to);
  if (said.y >= 0) state.scroll = Number(said.y);
  if (modesOf(runs).includes(said.colour)) state.colour = said.colour;
  if (said.q) state.query = said.q;
  if (said.play >= 0) state.play = Number(said.play);
  state.only = said.only === "1";
  state.path = said.path === "1";
  state.waits = said.waits === "1";
  state.messages = said.messages !== "0";
  if (said.hide) state.hidden = new Set(said.hide.split("\n"));
  if (said.levels >= 0 && said.levels <= MOST_LEVELS) state.levels = Math.floor(said.levels);
  if (THEMES.includes(said.theme)) state.theme = said.theme;
  if (Object.hasOwn(TABLES, said.table ?? "")) state.table = said.table;
  state.live = said.live ?? "";
  if (said.fold) setOf(state, "folded", said.fold.slice(1).split("\n"));
  if (said.panels) {
    setOf(state, "panels", said.panels.slice(1).split(",").filter((name) => panelsOf(runs).includes(name)));
  }
  state.pin = pinOf(said.pin, runs);
}

function setOf(state, name, items) {
  state[name] = new Set(items.filter(Boolean));
  state[`${name}Changed`] = true;
}

/** Return the task that a text of an address pins; null if these runs have none such. */
export function pinOf(text, runs) {
  const [run, task] = (text ?? "").split(":").map(Number);
  return task >= 0 && task < runs[run]?.count ? { run: runs[run], task: Math.floor(task) } : null;
}
