// The theme: colours of the page's style sheet, as a canvas needs them.

import { rgb } from "./colours.js";

const NAMES = ["ground", "text", "soft", "line", "idle", "muted", "band", "accent", "path",
  "before", "after", "message", "mark", "dependency", "data", "runtime"];

/** Return the colours of the style sheet that are in force, and whether the ground is dark. */
export function readTheme(element) {
  const style = getComputedStyle(element);
  const theme = {};
  for (const name of NAMES) theme[name] = style.getPropertyValue(`--${name}`).trim();
  theme.waits = {};
  for (const kind of ["dependency", "data", "runtime"]) {
    theme.waits[kind] = rgb(style.getPropertyValue(`--idle-${kind}`).trim());
  }
  theme.dark = style.getPropertyValue("--dark").trim() === "1";
  theme.font = `12px ${style.fontFamily}`;
  theme.small = `11px ${style.fontFamily}`;
  return theme;
}
