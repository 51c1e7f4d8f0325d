// Keys: what each does, for the page and for its help.

import { pinBeside, pinNeighbour, pinReleaser, zoomToPin } from "./pinning.js";
import { timeText } from "./units.js";

/** The keys, and what they do to an app. */
export const KEYS = [
  [["w", "+", "="], "zoom in", (app) => app.zoom(1 / 1.5)],
  [["s", "-"], "zoom out", (app) => app.zoom(1.5)],
  [["a"], "move left", (app) => app.pan(-0.2)],
  [["d"], "move right", (app) => app.pan(0.2)],
  [["ArrowLeft"], "move left; to the event before, while playing is open", (app) => stepOrMove(app, -1)],
  [["ArrowRight"], "move right; to the next event, while playing is open", (app) => stepOrMove(app, 1)],
  [["ArrowUp"], "scroll up", (app) => app.scrollBy(-60)],
  [["ArrowDown"], "scroll down", (app) => app.scrollBy(60)],
  [["f", "0", "Home"], "show all", (app) => app.fit()],
  [["/"], "search", (app) => app.controls.search.focus()],
  [["n"], "next task found", (app) => app.nextMatch(1)],
  [["N", "p"], "task found before", (app) => app.nextMatch(-1)],
  [["Enter"], "pin what is under the pointer, or found", (app) => app.pinPresent()],
  [["."], "pin the next task of the worker; the first one, while none is pinned", (app) => pinNeighbour(app, 1)],
  [[","], "pin the task before on the worker", (app) => pinNeighbour(app, -1)],
  [["j"], "pin the task beside it on the worker below", (app) => pinBeside(app, 1)],
  [["u"], "pin the task beside it on the worker above", (app) => pinBeside(app, -1)],
  [["r"], "pin what released the pinned task", (app) => pinReleaser(app)],
  [["z"], "zoom to the pinned task", (app) => zoomToPin(app)],
  [["]"], "arrows a level further", (app) => app.setLevels(1)],
  [["["], "arrows a level less", (app) => app.setLevels(-1)],
  [["e"], "open all groups of workers, or close them", (app) => app.foldAll()],
  [["c"], "practical critical path", (app) => app.togglePath()],
  [["i"], "what idle workers waited for", (app) => app.toggleWaits()],
  [["m"], "messages between nodes", (app) => app.toggleMessages()],
  [["g"], "next colouring", (app) => app.nextColour()],
  [["x"], "difference to the first run", (app) => app.toggleDifference()],
  [["t"], "table below", (app) => app.toggleTable()],
  [["k"], "open or close playing: the run, step by step", (app) => app.playing.toggleOpen()],
  [[" "], "play, or pause", (app) => app.playing.toggle()],
  [["<"], "play more slowly", (app) => app.playing.faster(-1)],
  [[">"], "play faster", (app) => app.playing.faster(1)],
  [["Escape"], "let go of what is pinned and found", (app) => app.release()],
  [["?"], "help", (app) => app.toggleHelp()],
];

function stepOrMove(app, direction) {
  if (app.playing.isOpen) app.playing.step(direction);
  else app.pan(0.2 * direction);
}

const SCROLLS = new Set(["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home"]); // what has the focus, beside the chart

/** Return in words what keys change without words. */
function seen({ viewport, state }) {
  const on = (name) => `${name} ${state[name] ? "on" : "off"}`;
  return [`${timeText(viewport.from)} to ${timeText(viewport.to)}`, `critical ${on("path")}`, on("waits"), on("messages")];
}

const DOES = new Map(KEYS.flatMap(([names, , act]) => names.map((name) => [name, act])));

/** Let keys work wherever nothing is written. */
export function followKeys(app) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const isWriting = event.target.matches?.("input, select, textarea");
    if (isWriting && event.key !== "Escape") return;
    if ((event.key === "Enter" || event.key === " ") && event.target.matches?.("button, summary, a")) return;
    if (SCROLLS.has(event.key) && event.target.closest?.(".place, .parts, .side, .live")) return;
    const act = DOES.get(event.key);
    if (!act || app.controls.help.open && event.key !== "?") return; // arrows scroll the help, and Escape closes it
    event.preventDefault();
    if (isWriting) event.target.blur();
    const before = seen(app);
    act(app);
    const changed = seen(app).filter((text, place) => text !== before[place]);
    if (changed.length) app.controls.tell(changed.join(", "));
  });
}
