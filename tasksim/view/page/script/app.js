// The app: what people do with the page, and what follows from it.

import { Chart, TOP } from "./chart.js";
import { MODES, modesOf } from "./colours.js";
import { Controls } from "./controls.js";
import { bandDetails, copyDetails, taskDetails } from "./details.js";
import { element } from "./dom.js";
import { csvOf, pngOf, save, svgOf } from "./exports.js";
import { toHash } from "./hash.js";
import { followKeys } from "./keys.js";
import { marked } from "./marked.js";
import { placeText, reveal } from "./pinning.js";
import { followPointer } from "./pointer.js";
import { Playing } from "./playing.js";
import { Matches, parseQuery } from "./query.js";
import { foldedAtFirst, innerGroups } from "./rows.js";
import { hasSameGraph } from "./rundata.js";
import { Scene } from "./scene.js";
import { MOST_LEVELS, THEMES, applyHash, firstState } from "./state.js";
import { TableView } from "./tableview.js";
import { readTheme } from "./theme.js";
import { countText, sizeText, timeText } from "./units.js";
import { Viewport } from "./viewport.js";
import { PANELS } from "./panels.js";

const PAPER_RATIO = 2; // dots per pixel of the chart that is printed: 200 dots per inch on A4
const MOST_LETTERS = 60; // of the name of a saved file: with 4 bytes each, less than the 255 bytes that file systems take
const HASH_PAUSE = 200; // milliseconds: browsers refuse more than some changes a second

/** Return the last time that something is drawn at: the end of a run, or a bound. */
function latestOf(runs) {
  return Math.max(...runs.map((run) => Math.max(run.makespan, ...Object.values(run.header.bounds))));
}

/** The page of some runs. */
export class App {
  constructor(root, header, runs) {
    Object.assign(this, { root, header, runs, frames: [] });
    this.viewport = new Viewport(latestOf(runs));
    this.state = firstState(runs);
    this.scene = new Scene(runs, header);
    this.chart = new Chart(this.scene, this.viewport, this.state);
    this.controls = new Controls(this, header);
    this.tables = new TableView(this);
    root.append(this.controls.top,
      element("main", { className: "middle" }, this.chart.box, this.controls.side),
      this.tables.box, this.controls.help);
    this.#begin();
    this.playing = new Playing(this);
    this.tables.box.before(this.playing.box);
  }

  /** Show other runs in the place of these: what is found and zoomed to stays, and what is pinned in the same graph. */
  showRuns(runs) {
    const whole = this.#isWhole(), { pin } = this.state;
    this.runs = runs;
    this.viewport.extend(latestOf(runs));
    if (whole) this.viewport.fit();
    const { pixels } = this.scene;
    this.scene = Object.assign(new Scene(runs, this.header), { pixels });
    this.chart.show(this.scene);
    const run = pin && (runs[pin.run.number] ?? runs[0]);
    this.state.pin = run && hasSameGraph(run, pin.run) ? { run, task: pin.task } : null;
    this.state.hover = null;
    this.controls.showRuns();
    this.playing.showRuns();
    this.tables.forget();
    this.#search();
    if (!this.state.only) this.recolour();
  }

  #isWhole() {
    const { from, to, until, margin } = this.viewport;
    return from === 0 && Math.abs(to - until - margin) < 1e-9 * until;
  }

  #begin() {
    this.chart.resize();
    this.state.folded = foldedAtFirst(this.chart.trees, this.chart.room);
    applyHash(location.hash, this.state, this.viewport, this.runs);
    this.#applyTheme();
    this.#search();
    this.draw();
    followPointer(this);
    followKeys(this);
    new ResizeObserver(() => { if (!this.isOnPaper && this.chart.resize()) this.draw(true); }).observe(this.chart.box);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#applyTheme());
    window.addEventListener("hashchange", () => this.#followHash());
    window.addEventListener("beforeprint", () => this.#paintForPaper(true));
    window.addEventListener("afterprint", () => this.#paintForPaper(false));
  }

  // Drawing

  /** Draw all anew, in the next frame or at once. */
  draw(now = false) {
    if (now) return this.#paint();
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.#paint(); });
  }

  #paint() {
    const begin = performance.now();
    this.chart.paint(this.theme);
    this.frames.push(performance.now() - begin);
    if (this.frames.length > 1000) this.frames.shift();
    this.controls.update(this.state, this.colour);
    this.controls.showLegend(this.scene.colouring, this.colour, this.state, marked(this));
    this.tables.update(this.state);
    this.#showDetails();
    this.#keepHash();
  }

  /** Paint the chart as paper needs it, which is white and has finer dots than a screen; and as it was. */
  #paintForPaper(on) {
    if (on ? this.theme.dark : this.isLightened) this.#applyTheme(on ? "light" : this.state.theme);
    this.isLightened = on && document.documentElement.dataset.theme !== this.state.theme;
    this.chart.resize(on ? Math.max(PAPER_RATIO, window.devicePixelRatio) : window.devicePixelRatio);
    this.isOnPaper = on; // the box is then laid out for a page, while the picture keeps the width that it is painted for
    this.draw(true);
    this.chart.showOnPaper(on);
  }

  #applyTheme(theme = this.state.theme) {
    this.root.dataset.theme = theme;
    document.documentElement.dataset.theme = theme;
    this.theme = readTheme(this.root);
    this.recolour();
  }

  /** Colour the tasks anew: mode, filter or theme have changed. */
  recolour() {
    this.scene.colour(this.colour, this.theme, (run) => this.flagsOf(run));
    this.draw();
  }

  /** What colours say now: the mode that was chosen, or kernels where these runs do not have it. */
  get colour() { return modesOf(this.runs).includes(this.state.colour) ? this.state.colour : "kernel"; }

  /** What colours in the chart say: {name, colour}. */
  get legend() { return [...this.scene.colouring.legend, ...marked(this)]; }
  /** Return a flag per task of a run, 1: it is not filtered away; null: all are shown. */
  flagsOf(run) {
    const { only, hidden } = this.state;
    const searched = only ? this.state.matches?.parts[run.number].flags : null;
    if (!hidden.size) return searched ?? null;
    const shown = run.kernels.map((kernel) => (hidden.has(kernel) ? 0 : 1));
    const flags = new Uint8Array(run.count);
    for (let task = 0; task < run.count; task++) {
      flags[task] = shown[run.kernel[task]] & (searched ? searched[task] : 1);
    }
    return flags;
  }

  #showDetails() {
    const { pin, hover } = this.state;
    if (pin) return this.controls.showDetails(taskDetails(pin.run, pin.task, this.runs), true);
    this.controls.showDetails(this.#hoverDetails(hover), false);
  }

  #hoverDetails(hover) {
    if (hover?.task >= 0) return taskDetails(hover.run, hover.task, this.runs);
    if (hover?.copy >= 0) return copyDetails(hover.run, hover.copy, this.header);
    if (hover?.panel) return this.#panelDetails(hover);
    if (hover?.row?.workers.length > 0 && hover.x >= this.chart.left) return bandDetails(hover.row, hover.time);
    return [];
  }

  #panelDetails({ panel, x, time }) {
    const { title, text } = PANELS[panel.name];
    const at = Math.floor(x - this.chart.left);
    return [["time", timeText(time)], ...panel.curves.filter(({ values }) => at >= 0 && at < values.length)
      .map(({ name, values }) => [name ? `${title}, ${name}` : title, text(values[at])])];
  }

  #keepHash() {
    clearTimeout(this.hashTimer);
    this.hashTimer = setTimeout(() => {
      this.hash = toHash(this.state, this.viewport, this.#isWhole());
      if (location.hash.replace(/^#/, "") === this.hash || location.protocol === "about:") return; // no address: in a notebook
      history.replaceState(null, "", `#${this.hash}`);
    }, HASH_PAUSE);
  }

  #followHash() {
    if (location.hash.replace(/^#/, "") === this.hash) return;
    const { folded, hover } = this.state;
    Object.assign(this.state, firstState(this.runs), { folded, hover });
    this.viewport.fit();
    applyHash(location.hash, this.state, this.viewport, this.runs);
    this.#applyTheme();
    this.#search();
    this.onhash?.();
  }

  // Moving

  zoom(factor, time) { this.viewport.zoom(factor, time); this.draw(); }
  pan(share) { this.viewport.pan(share); this.draw(); }
  fit() { this.viewport.fit(); this.draw(); }
  scrollBy(pixels) { this.state.scroll += pixels; this.draw(); }

  drag(x, y) {
    this.viewport.pan(-x / this.chart.width);
    this.scrollBy(-y);
  }

  drawBox(from, to) { this.state.box = { from, to }; this.chart.paintOver(); }

  zoomToBox(from, to) {
    this.state.box = null;
    const times = [from, to].map((x) => this.chart.time(x)).sort((a, b) => a - b);
    this.viewport.set(...times);
    this.draw();
  }

  // Pointing and pinning

  hover(x, y) {
    this.state.hover = x < 0 ? null : this.chart.at(x, y);
    this.chart.paintOver();
    this.#showDetails();
  }

  click(x, y) {
    this.chart.box.focus({ preventScroll: true });
    if (this.playing.isOpen && y < TOP) return this.playing.setTime(this.chart.time(x));
    const { row, run, task, copy } = this.chart.at(x, y);
    if (x < this.chart.left && row?.children.length) return this.fold(row.id);
    if (task >= 0) return this.pin(run, task);
    const waiter = copy >= 0 ? run.copies.task[copy] : -1;
    if (waiter >= 0 && waiter < run.count) return this.pin(run, waiter);
    return this.pin(null);
  }

  fold(id) {
    const { folded } = this.state;
    if (!folded.delete(id)) folded.add(id);
    this.change({ foldedChanged: true });
  }

  /** Open all groups of rows, or close them if all are open. */
  foldAll() {
    const { folded } = this.state;
    if (folded.size) folded.clear();
    else for (const id of innerGroups(this.chart.trees)) folded.add(id);
    this.change({ foldedChanged: true });
  }

  /** Pin a task, or none; show it. */
  pin(run, task) {
    this.state.pin = run ? { run, task } : null;
    this.playing.update(true);
    this.draw(true);
    this.#say();
  }

  #say() {
    const { pin } = this.state;
    const cut = pin && this.chart.arrowsCut ? " More arrows than can be followed: the first 400 each way are drawn." : "";
    this.controls.say(pin ? `Pinned ${placeText(pin)}.${cut}` : "");
  }

  pinPresent() {
    const { hover, matches, match } = this.state;
    if (hover?.task >= 0) return this.pin(hover.run, hover.task);
    const found = matches?.at(match);
    if (found) this.pin(found.run, found.task);
  }

  setLevels(step) {
    this.change({ levels: Math.max(0, Math.min(MOST_LEVELS, this.state.levels + step)) });
    this.#say();
  }

  // Searching, filtering, colouring

  setQuery(text) { this.state.query = text; this.#search(); }

  #search() {
    const query = parseQuery(this.state.query);
    this.state.matches = query?.test ? new Matches(this.runs, query) : null;
    this.state.match = -1;
    this.controls.sayFound(this.state.matches, -1, query?.error);
    if (this.state.only) this.recolour();
    else this.draw();
  }

  /** Go to the next task found, or the one before. */
  nextMatch(step) {
    const { matches, match } = this.state;
    if (!matches?.length) return;
    this.state.match = (match < 0 && step < 0 ? matches.length : match) + step;
    this.state.match = (this.state.match + matches.length) % matches.length;
    const { run, task } = matches.at(this.state.match);
    reveal(this, run, task);
    this.controls.sayFound(matches, this.state.match);
    this.draw();
  }

  toggleKernel(kernel) {
    const { hidden } = this.state;
    if (!hidden.delete(kernel)) hidden.add(kernel);
    this.recolour();
  }

  /** Change parts of the state, and show it. */
  change(parts) {
    Object.assign(this.state, parts);
    if ("colour" in parts || "only" in parts || "waits" in parts) this.recolour();
    else this.draw();
  }

  nextColour() {
    const modes = modesOf(this.runs);
    this.colourBy(modes[(modes.indexOf(this.state.colour) + 1) % modes.length]);
  }

  colourBy(colour) {
    this.change({ colour });
    this.controls.say(`Colours: ${MODES[colour]}`);
  }

  toggleDifference() {
    if (!modesOf(this.runs).includes("difference")) {
      return this.controls.say("Differences need two runs of the same graph.");
    }
    return this.colourBy(this.state.colour === "difference" ? "kernel" : "difference");
  }

  toggleWaits() { this.change({ waits: !this.state.waits }); }

  toggleMessages() { this.change({ messages: !this.state.messages }); }

  togglePath() { this.change({ path: !this.state.path }); }

  togglePanel(name, on) {
    if (on) this.state.panels.add(name);
    else this.state.panels.delete(name);
    this.change({ panelsChanged: true });
  }

  toggleTable() { this.change({ table: this.state.table ? "" : "kernels" }); }

  toggleHelp() {
    if (this.controls.help.open) this.controls.help.close();
    else this.controls.help.showModal();
  }

  nextTheme() {
    this.state.theme = THEMES[(THEMES.indexOf(this.state.theme) + 1) % THEMES.length];
    this.#applyTheme();
    this.controls.say(`Theme: ${this.state.theme}`);
  }

  /** Let go of the help, of the search, of what is pinned, one after another. */
  release() {
    if (this.controls.help.open) return this.controls.help.close();
    if (this.state.pin) return this.pin(null);
    this.controls.search.value = "";
    return this.setQuery("");
  }

  /** Save what is visible as "svg", "png" or "csv". */
  async export(kind) {
    const names = this.runs.map((run) => run.name.replace(/[^\p{L}\p{N}._-]+/gu, "_")).join("-");
    const name = `${Array.from(names).slice(0, MOST_LETTERS).join("")}.${kind}`;
    const blob = kind === "png" ? await pngOf(this)
      : kind === "svg" ? new Blob([svgOf(this)], { type: "image/svg+xml" })
      : new Blob([csvOf(this)], { type: "text/csv" });
    save(name, blob);
    this.controls.say(`Saved ${name}, ${sizeText(blob.size)}, ${countText(this.runs.length)} runs.`);
  }
}
