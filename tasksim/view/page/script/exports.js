// Exports of what is visible: SVG, PNG, CSV.

import { hex, visible } from "./colours.js";
import { TOP } from "./chart.js";
import { fitted, indentOf, marksOf } from "./frame.js";
import { HATCHED, OTHERS, hatchedPattern, hatchedShape } from "./hatching.js";
import { PANELS, namesOfCurves, noneText } from "./panels.js";
import { ticks, timeText } from "./units.js";

const MOST_SHAPES = 20000; // of these a viewer of SVG is still quick; more are one picture

const MOST_COLOURS = 60; // of colours below a picture: more are hardly told apart
const NAME_LINE = 18, NAME_EDGE = 12, SWATCH = 12; // pixels of the names of colours

/** Offer a file to be saved. */
export function save(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** Return the tasks that are visible: in the stretch of time, and not filtered away. */
export function visibleTasks(app) {
  const { from, to } = app.viewport;
  return app.runs.flatMap((run) => {
    const flags = app.flagsOf(run);
    const tasks = [];
    for (let slot = 0; slot < run.count; slot++) {
      const task = run.slotTask[slot];
      if (run.slotEnd[slot] < from || run.slotStart[slot] > to) continue;
      if (!flags || flags[task]) tasks.push({ run, task });
    }
    return tasks;
  });
}

const CSV_COLUMNS = {
  run: (run) => run.name,
  task: (run, task) => run.numberOf(task),
  kernel: (run, task) => run.kernels[run.kernel[task]],
  worker: (run, task) => run.workers[run.worker[task]].name,
  node: (run, task) => run.workers[run.worker[task]].node,
  priority: (run, task) => run.priority[task],
  iteration: (run, task) => run.iteration?.[task] ?? "",
  submitted_s: (run, task) => run.submitted(task),
  ready_s: (run, task) => run.ready(task),
  start_s: (run, task) => run.start(task),
  end_s: (run, task) => run.end(task),
  duration_s: (run, task) => run.duration(task),
  processor_time_s: (run, task) => (run.processorTime(task) || ""),
  others_s: (run, task) => (run.header.others ? run.others(task) : ""),
  preemptions: (run, task) => (run.preemptions(task) >= 0 ? run.preemptions(task) : ""),
  expected_s: (run, task) => (run.expected[task] > 0 ? run.expected[task] : ""),
  dependency_wait_s: (run, task) => run.waits(task).dependency,
  data_wait_s: (run, task) => run.waits(task).data,
  runtime_wait_s: (run, task) => run.waits(task).runtime,
};

/** Return the visible tasks as CSV. */
export function csvOf(app) {
  const lines = [Object.keys(CSV_COLUMNS).join(",")];
  for (const { run, task } of visibleTasks(app)) {
    lines.push(Object.values(CSV_COLUMNS).map((value) => quoted(value(run, task))).join(","));
  }
  return `${lines.join("\r\n")}\r\n`;
}

function quoted(value) {
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Return the picture and what is over it as one PNG. */
export function pngOf(app) {
  const { picture, over, ratio, fullHeight, view: { theme } } = app.chart;
  const names = namesOfColours(app), canvas = document.createElement("canvas");
  canvas.width = picture.width;
  canvas.height = picture.height + Math.ceil(names.height * ratio);
  const context = canvas.getContext("2d");
  context.fillStyle = theme.ground;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(picture, 0, 0);
  context.drawImage(over, 0, 0);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.font = theme.small;
  context.textBaseline = "middle";
  for (const { name, colour, x, y } of names.entries) {
    context.fillStyle = colour === HATCHED ? hatchedPattern(context, theme) : colour;
    context.fillRect(x, fullHeight + y, SWATCH, SWATCH);
    context.fillStyle = theme.text;
    context.fillText(name, x + SWATCH + 6, fullHeight + y + SWATCH / 2);
  }
  return new Promise((resolve) => { canvas.toBlob(resolve, "image/png"); });
}

/** Return what is visible as SVG: shapes of few tasks, one picture of many. */
export function svgOf(app) {
  const { chart } = app;
  const { view } = chart;
  const names = namesOfColours(app), width = chart.fullWidth, height = chart.fullHeight + names.height;
  const isFew = visibleTasks(app).length <= MOST_SHAPES;
  const shapes = isFew
    ? [...view.rows.map((row) => rowShapes(app, row)), ...axisShapes(view), ...nameShapes(chart),
      ...markShapes(view), ...panelShapes(chart)]
    : [pictureShape(chart)];
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"`
      + ` viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="11">`,
    `<title>${escaped(app.controls.title)}</title>`, // first of all: its reader hears what the picture is of
    `<rect width="100%" height="100%" fill="${view.theme.ground}"/>`,
    view.runs.some((run) => run.slotOthers) ? hatchedShape(view.theme) : "",
    ...shapes,
    ...names.entries.map((entry) => nameOfColourShape(entry, chart.fullHeight, view.theme)),
    "</svg>\n",
  ];
  return parts.join("\n");
}

/** Return the names of the colours and their places below the chart, {name, colour, x, y}, and the height of all. */
function namesOfColours({ chart, legend }) {
  const context = chart.picture.getContext("2d"), right = chart.fullWidth - NAME_EDGE;
  context.font = chart.view.theme.small;
  let x = NAME_EDGE, y = 4;
  const more = legend.length - MOST_COLOURS;
  const shown = more > 0 ? [...legend.slice(0, MOST_COLOURS), { name: `and ${more} more`, colour: "none" }] : legend;
  const entries = shown.map(({ name, colour }) => {
    const text = fitted(context, name, Math.min(260, right - NAME_EDGE - SWATCH - 6));
    const wide = SWATCH + 6 + context.measureText(text).width + 14;
    if (x + wide > right && x > NAME_EDGE) [x, y] = [NAME_EDGE, y + NAME_LINE];
    x += wide;
    return { name: text, colour, x: x - wide, y };
  });
  return { entries, height: entries.length ? y + NAME_LINE + 4 : 0 };
}

function nameOfColourShape({ name, colour, x, y }, top, theme) {
  const fill = `fill="${colour === HATCHED ? "url(#others)" : colour}" rx="3"`;
  return `${box(x, top + y, SWATCH, SWATCH, fill)}/>${textShape(x + SWATCH + 6, top + y + 10, name, theme.text)}`;
}

function escaped(text) {
  return text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

function number(value) {
  return String(Math.round(value * 100) / 100);
}

function box(x, y, width, height, attributes) {
  return `<rect x="${number(x)}" y="${number(y)}" width="${number(width)}" height="${number(height)}" ${attributes}`;
}

function textShape(x, y, text, colour, attributes = "") {
  return `<text x="${number(x)}" y="${number(y)}" fill="${colour}" ${attributes}>${escaped(text)}</text>`;
}

/** Return what a row shows as shapes; nothing of one that is half scrolled away. */
function rowShapes(app, row) {
  const { view } = app.chart;
  const y = TOP + row.y - view.scroll;
  if (y < TOP - 0.5) return "";
  const ground = `${box(view.left, y + 1, view.width, row.height - 2, `fill="${view.theme.idle}"`)}/>`;
  if (row.kind === "worker") return [ground, ...taskShapes(app, row, y)].join("\n");
  if (row.kind === "link") return [ground, ...copyShapes(app, row, y)].join("\n");
  return row.workers.length ? [ground, bandShape(app, row, y)].join("\n") : "";
}

/** Return a worker's tasks as boxes, each with its name as a title. */
function taskShapes(app, { run, worker, height }, y) {
  const { viewport } = app.chart.view;
  const { classes, palette } = app.scene.coverage[run.number];
  const [low, high] = run.slotsBetween(worker, viewport.from, viewport.to);
  return Array.from({ length: high - low }, (_, i) => low + i).flatMap((slot) => {
    const start = run.slotStart[slot], end = run.slotEnd[slot], others = run.slotOthers?.[slot] ?? 0;
    const colour = hex(palette.subarray(3 * classes[slot], 3 * classes[slot] + 3));
    const label = run.label(run.slotTask[slot]);
    const span = (from, fill, title) => spanShape(app.chart.view, from, end, y, height, fill, title);
    return [span(start, colour, label), ...(others > 0 ? [span(end - others, "url(#others)", OTHERS)] : [])];
  });
}

/** Return the copies of a link as boxes, each with the name of its datum. */
function copyShapes(app, { run, link, height }, y) {
  const { start, endOf, reason, handle } = run.copies;
  return Array.from({ length: link.end - link.first }, (_, i) => {
    const copy = link.first + i, { colour } = app.scene.reasons[reason[copy]];
    return spanShape(app.chart.view, start[copy], endOf(copy), y, height, colour, run.dataName(handle[copy]));
  });
}

/** Return a box for what happened in a stretch of time; nothing if it is not visible. */
function spanShape({ left, width, viewport }, start, end, y, height, colour, label) {
  if (end < viewport.from || start > viewport.to) return "";
  const begin = Math.max(left, left + viewport.x(start, width));
  const until = Math.min(left + width, left + viewport.x(end, width));
  return `${box(begin, y + 1, until - begin, height - 2, `fill="${colour}"`)}><title>${escaped(label)}</title></rect>`;
}

/** Return how busy a group was, as an area. */
function bandShape(app, row, y) {
  const { left, width, viewport, theme } = app.chart.view;
  const means = app.scene.bandMeans(row, viewport.from, viewport.to, Math.floor(width));
  const foot = y + row.height - 1;
  const points = Array.from({ length: Math.floor(width) }, (_, x) => (
    `${number(left + x)},${number(foot - Math.min(means[4 * x + 3], 1) * (row.height - 2))}`));
  return `<polygon fill="${theme.soft}" points="${left},${foot} ${points.join(" ")} ${left + width},${foot}"/>`;
}

function pictureShape({ picture, fullWidth, fullHeight }) {
  return `<image width="${fullWidth}" height="${fullHeight}" href="${picture.toDataURL("image/png")}"/>`;
}

function axisShapes({ viewport, left, width, theme }) {
  return ticks(viewport.from, viewport.to, width / 110).map(({ at, text }) => (
    textShape(left + viewport.x(at, width), TOP - 10, text, theme.text, 'text-anchor="middle"')));
}

function nameShapes({ picture, view: { rows, scroll, theme, left } }) {
  const context = picture.getContext("2d");
  return rows.filter((row) => row.height >= 9).map((row) => {
    const x = 13 + indentOf(row, left);
    return textShape(x, TOP + row.y - scroll + row.height / 2 + 4, fitted(context, row.label, left - 4 - x), theme.text);
  });
}

function markShapes({ runs, viewport, left, width, height, theme }) {
  return runs.flatMap(marksOf).filter(({ at }) => at >= viewport.from && at <= viewport.to)
    .map(({ at, name, dash }, place) => {
      const middle = left + viewport.x(at, width), x = number(middle), isRight = middle > left + width / 2;
      return `<line x1="${x}" x2="${x}" y1="${TOP}" y2="${TOP + height}" stroke="${theme.mark}"`
        + ` stroke-dasharray="${dash.join(" ")}"><title>${escaped(`${name} ${timeText(at)}`)}</title></line>`
        + textShape(middle + (isRight ? -4 : 4), TOP + 10 + 13 * place, `${name} ${timeText(at)}`, theme.mark,
          `text-anchor="${isRight ? "end" : "start"}" paint-order="stroke" stroke="${theme.ground}" stroke-width="3"`);
    });
}

/** Return the names of the curves of a panel, each behind a line of its colour. */
function nameOfCurveShapes({ picture, view }, curves, top) {
  const { theme } = view;
  return namesOfCurves(picture.getContext("2d"), curves, view).flatMap(({ name, x, colour, dash }) => [
    `<line x1="${number(x)}" x2="${number(x + 18)}" y1="${top + 10}" y2="${top + 10}" stroke="${visible(colour, theme)}"`
      + ` stroke-dasharray="${dash.join(" ")}"/>`,
    textShape(x + 22, top + 14, name, theme.text),
  ]);
}

function panelShapes(chart) {
  const { panelsShown, panelHeight, view } = chart;
  return panelsShown.flatMap(({ name, top, curves }) => {
    const most = Math.max(1e-300, ...curves.map(({ values }) => Math.max(...values)));
    const { title, text } = PANELS[name], { theme, left, width } = view, base = top + panelHeight - 4;
    const y = (value) => number(base - (value * (panelHeight - 20)) / most);
    return [
      `${box(left, top + 2, width, panelHeight - 4, `fill="${theme.band}"`)}/>`,
      textShape(4, top + 14, title, theme.text),
      most > 1e-300 ? textShape(left - 6, top + 28, text(most), theme.soft, 'text-anchor="end"')
        : textShape(left + width / 2, top + panelHeight / 2, noneText(name, view.runs), theme.soft, 'text-anchor="middle"'),
      textShape(left - 6, base, "0", theme.soft, 'text-anchor="end"'),
      ...nameOfCurveShapes(chart, curves, top),
      ...curves.map(({ values, colour, dash }) => (
        `<polyline fill="none" stroke="${visible(colour, theme)}" stroke-dasharray="${dash.join(" ")}" points="${
          Array.from(values, (value, x) => `${view.left + x},${y(value)}`).join(" ")}"/>`)),
    ];
  });
}
