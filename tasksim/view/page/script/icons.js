// Icons: lines on a square of 24, drawn in the colour of the text.

import { shape } from "./dom.js";

const ICONS = {
  search: "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM15.5 15.5L21 21",
  previous: "M15 5l-7 7 7 7",
  next: "M9 5l7 7-7 7",
  open: "M6 9l6 6 6-6",
  fit: "M4 12h16M4 6v12M20 6v12M8 9l-3 3 3 3M16 9l3 3-3 3",
  table: "M4 5h16v14H4zM4 10h16M10 10v9",
  save: "M12 4v11M7 10l5 5 5-5M5 20h14",
  theme: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM12 4v16M15 5v14M18 7v10",
  help: "M8.5 9a3.5 3.5 0 1 1 5.6 2.8c-1.4 1-2.1 1.6-2.1 3.2M12 19v.5",
  layers: "M12 4l9 5-9 5-9-5zM3 14l9 5 9-5",
  play: "M8 5l11 7-11 7z",
  pause: "M8 5v14M16 5v14",
  stepBack: "M18 5l-9 7 9 7zM6 5v14",
  stepOn: "M6 5l9 7-9 7zM18 5v14",
  copy: "M8 8h12v12H8zM16 8V4H4v12h4",
  close: "M6 6l12 12M18 6L6 18",
};

/** Return a picture that only decorates: the element around it has the name. */
export function icon(name) {
  const drawn = shape("path", { d: ICONS[name] });
  const made = shape("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" });
  made.append(drawn);
  return made;
}
