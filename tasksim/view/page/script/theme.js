// The theme: colours of the page's style sheet, as a canvas needs them.

const NAMES = ["ground", "text", "soft", "line", "idle", "muted", "band", "accent", "path",
  "before", "after", "mark", "dependency", "data", "runtime"];

/** Return the colours of the style sheet that are in force, and whether the ground is dark. */
export function readTheme(element) {
  const style = getComputedStyle(element);
  const theme = {};
  for (const name of NAMES) theme[name] = style.getPropertyValue(`--${name}`).trim();
  theme.dark = style.getPropertyValue("--dark").trim() === "1";
  theme.font = `12px ${style.fontFamily}`;
  theme.small = `11px ${style.fontFamily}`;
  return theme;
}
