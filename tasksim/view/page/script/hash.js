// The view as the page's hash, so that a link or a reload shows the same.

/** Return the hash of a state: only what is not as at first. */
export function toHash(state, viewport, isWhole) {
  const parts = {
    t: isWhole ? "" : `${short(viewport.from)},${short(viewport.to)}`,
    y: state.scroll ? String(Math.round(state.scroll)) : "",
    colour: state.colour === "kernel" ? "" : state.colour,
    q: state.query,
    only: state.only ? "1" : "",
    hide: [...state.hidden].join("\n"),
    pin: state.pin ? `${state.pin.run.number}:${state.pin.task}` : "",
    levels: state.levels === 1 ? "" : String(state.levels),
    path: state.path ? "1" : "",
    waits: state.waits ? "1" : "",
    messages: state.messages ? "" : "0",
    fold: state.foldedChanged ? `,${[...state.folded].join("\n")}` : "",
    panels: state.panelsChanged ? `,${[...state.panels].join(",")}` : "",
    theme: state.theme === "auto" ? "" : state.theme,
    table: state.table,
    live: state.live,
    play: state.play === null ? "" : short(state.play),
  };
  const given = Object.entries(parts).filter(([, value]) => value);
  return given.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
}

function short(seconds) {
  return String(Number(seconds.toPrecision(12)));
}

/** Return what a hash says, as texts by name; what cannot be read is left out. */
export function fromHash(hash) {
  const found = {};
  for (const part of hash.replace(/^#/, "").split("&")) {
    const [name, value] = part.split("=", 2);
    try {
      if (value !== undefined) found[name] = decodeURIComponent(value);
    } catch {
      continue; // a broken link shows the rest
    }
  }
  return found;
}
