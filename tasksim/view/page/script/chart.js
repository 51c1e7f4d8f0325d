// The chart: two canvases, one for the picture, one for what moves over it.

import { paintRows } from "./painter.js";
import { paintAxis, paintMarks, paintNames } from "./frame.js";
import { isOverlaid, paintOverlay } from "./overlay.js";
import { curvesOf, paintPanel } from "./panels.js";
import { HEIGHTS, layOut, rowAt, treeOf } from "./rows.js";
import { element } from "./dom.js";

const WIDE = 560; // pixels: a chart that has as many gives the names of rows all the room that they want
export const TOP = 30; // of the time axis
const RIGHT = 8;

/** The chart of some runs. */
export class Chart {
  constructor(scene, viewport, state) {
    Object.assign(this, { scene, viewport, state, curves: new Map(), spare: 0 });
    this.picture = element("canvas", { className: "picture" });
    this.over = element("canvas", { className: "over" });
    this.box = element("div", {
      className: "chart", tabIndex: 0, role: "application",
      ariaLabel: "Chart of the runs. Keys: W S zoom, A D move, F all, period pins a task, T tables, slash search, question mark help",
    }, this.picture, this.over);
    this.trees = scene.runs.map(treeOf);
  }

  /** Show another scene. */
  show(scene) {
    Object.assign(this, { scene, trees: scene.runs.map(treeOf), spare: 0 });
    this.curves.clear();
  }

  /** Take the size of the page, with `ratio` dots per pixel; return whether it has changed. */
  resize(ratio = window.devicePixelRatio || 1) {
    const { clientWidth: width, clientHeight: height } = this.box;
    if (width === this.fullWidth && height === this.fullHeight && ratio === this.ratio) return false;
    Object.assign(this, { fullWidth: width, fullHeight: height, ratio });
    for (const canvas of [this.picture, this.over]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    return true;
  }

  /** The height of a panel; all of them leave half of the chart to the rows, and get what these do not fill. */
  get panelHeight() {
    const count = Math.max(this.state.panels.size, 1);
    const most = (this.fullHeight - TOP) / 2 / count;
    const height = Math.max(HEIGHTS.leastPanel, Math.min(HEIGHTS.panel, Math.floor(most)));
    return Math.min(HEIGHTS.mostPanel, height + Math.floor(this.spare / count));
  }

  get room() {
    return Math.max(60, this.fullHeight - TOP - this.panelHeight * this.state.panels.size);
  }

  /** Where time begins, right of the names of rows. */
  get left() { return this.fullWidth < WIDE ? 96 : 150; }

  get width() { return Math.max(10, this.fullWidth - this.left - RIGHT); }

  /** Lay out the rows and the view of them. */
  arrange(theme) {
    this.spare = 0;
    const { rows, height } = layOut(this.trees, this.state.folded, this.room);
    this.spare = Math.max(0, this.room - height);
    this.state.scroll = Math.max(0, Math.min(this.state.scroll, height - this.room));
    const { scroll } = this.state;
    const isSeen = (row) => row.y + row.height > scroll && row.y < scroll + this.room;
    this.allHeight = height;
    this.view = {
      theme, scroll, viewport: this.viewport, ratio: this.ratio, runs: this.scene.runs,
      left: this.left, top: TOP, width: this.width, height: this.room,
      allRows: rows, rows: rows.filter(isSeen), showsWaits: this.state.waits,
    };
  }

  /** Paint all. */
  paint(theme) {
    this.arrange(theme);
    const context = this.picture.getContext("2d", { alpha: false });
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.fillStyle = theme.ground;
    context.fillRect(0, 0, this.fullWidth, this.fullHeight);
    this.isVector = paintRows(context, this.scene, this.view);
    paintNames(context, this.view);
    paintAxis(context, this.view, TOP + Math.min(this.room, this.allHeight));
    paintMarks(context, this.view, this.#blocks());
    this.#paintPanels(context);
    this.#paintScrolled(context);
    this.paintOver();
  }

  /** Paint only what moves over the picture; return whether arrows were left out. */
  paintOver() {
    const { state } = this, play = state.play !== null;
    // A canvas that stays empty is not put on the screen again.
    const isEmpty = !play && !state.hover && !isOverlaid(state);
    if (isEmpty && this.isOverEmpty) return;
    this.isOverEmpty = isEmpty;
    const context = this.over.getContext("2d");
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.fullWidth, this.fullHeight);
    this.arrowsCut = paintOverlay(context, this.view, state);
    this.#paintCursor(context);
    if (play) this.#paintPlayed(context);
  }

  /** Show a copy of what is painted, which a page of paper scales; or no more. Browsers print what is painted just before without its pixels. */
  showOnPaper(on) {
    this.paper?.remove();
    if (!on) return;
    const { width, height } = this.picture;
    this.paper = element("canvas", { className: "paper", width, height });
    const context = this.paper.getContext("2d");
    for (const canvas of [this.picture, this.over]) context.drawImage(canvas, 0, 0);
    this.box.append(this.paper);
  }

  /** Paint at the right edge which of the rows are in sight, where not all are. */
  #paintScrolled(context) {
    const { theme, scroll } = this.view, share = this.room / this.allHeight;
    if (share >= 1) return;
    context.fillStyle = theme.muted;
    context.fillRect(this.fullWidth - RIGHT + 2, TOP + scroll * share, RIGHT - 3, this.room * share);
  }

  /** Return from where to where each run has its rows. */
  #blocks() {
    const { allRows, scroll, runs } = this.view;
    return runs.map((run) => {
      const rows = allRows.filter((row) => row.run === run);
      const last = rows.at(-1);
      return { run, from: rows[0].y - scroll, to: last.y + last.height - scroll };
    });
  }

  #paintPanels(context) {
    let top = TOP + Math.min(this.room, this.allHeight); // no gap below few rows
    this.panelsShown = [];
    for (const name of this.state.panels) {
      if (!this.curves.has(name)) {
        this.curves.set(name, curvesOf(name, this.scene.runs, this.scene.header));
      }
      const curves = paintPanel(context, this.view, name, this.curves.get(name), top, this.panelHeight);
      this.panelsShown.push({ name, top, curves });
      top += this.panelHeight;
    }
  }

  #paintCursor(context) {
    const { hover } = this.state;
    if (!hover || hover.x < this.left || hover.x > this.left + this.width) return;
    context.strokeStyle = this.view.theme.soft;
    context.globalAlpha = 0.6;
    context.strokeRect(Math.round(hover.x) + 0.5, TOP, 0, this.fullHeight - TOP);
    context.globalAlpha = 1;
  }

  /** Paint a line at the time that is played, with a head on the axis. */
  #paintPlayed(context) {
    const { left, theme } = this.view;
    const x = left + this.viewport.x(this.state.play, this.width);
    if (x < left || x > left + this.width) return;
    context.fillStyle = theme.accent;
    context.fillRect(x - 1, TOP - 6, 2, this.fullHeight - TOP + 6);
    context.beginPath();
    context.moveTo(x - 6, TOP - 14);
    context.lineTo(x + 6, TOP - 14);
    context.lineTo(x, TOP - 5);
    context.fill();
  }

  time(x) { return this.viewport.time(x - this.left, this.width); }

  /** Return what is at a place: {x, time, row, run, task, copy, panel}. */
  at(x, y) {
    const time = this.time(x);
    const found = { x, y, time, row: null, run: null, task: -1, copy: -1, panel: null };
    if (y >= TOP + Math.min(this.room, this.allHeight)) {
      found.panel = this.panelsShown.find(({ top }) => y >= top && y < top + this.panelHeight) ?? null;
      return found;
    }
    found.row = y < TOP ? null : rowAt(this.view.allRows, y - TOP + this.view.scroll);
    found.run = found.row?.run ?? null;
    if (x < this.left) return found;
    const near = (this.viewport.span / this.width) * 2;
    if (found.row?.kind === "worker") found.task = taskNear(found.run, found.row.worker, time, near);
    if (found.row?.kind === "link") found.copy = copyNear(found.run.copies, found.row.link, time, near);
    return found;
  }
}

/** Return the task at a time, or one that is no further than `near`; -1 without any. */
function taskNear(run, worker, time, near) {
  const there = run.taskAt(worker, time);
  if (there >= 0) return there;
  const [low, high] = run.slotsBetween(worker, time - near, time + near);
  for (let slot = high - 1; slot >= low; slot--) {
    if (run.slotStart[slot] <= time + near && run.slotEnd[slot] >= time - near) return run.slotTask[slot];
  }
  return -1;
}

function copyNear({ start, endOf }, link, time, near) {
  for (let copy = link.first; copy < link.end && start[copy] <= time + near; copy++) {
    if (endOf(copy) >= time - near) return copy;
  }
  return -1;
}
