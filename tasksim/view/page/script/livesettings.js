// Settings of a live page: what its sliders say, their scales, and the same as a text for its address.

import { baseSettings } from "./livequestion.js";

/** Factors of speeds, bandwidths and the like, as the command has them. */
export const FACTORS = ["0.1", "0.125", "0.15", "0.2", "0.25", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1",
  "1.1", "1.25", "1.5", "1.75", "2", "2.5", "3", "4", "5", "6", "8", "10"];
const MICROSECONDS = ["0", "0.1", "0.2", "0.5", "1", "2", "3", "5", "7.5", "10", "15", "20", "30", "50", "75", "100",
  "150", "200", "300", "500", "750", "1000"];
export const NOISES = ["none", "model"];
const LARGEST_SEED = 2n ** 64n - 1n;

/** A slider: texts in order, the one of the scenario, and how one of them is got and set. */
export class Scale {
  constructor(key, texts, base, label, read, write) {
    Object.assign(this, { key, texts, base, label, read, write });
  }

  /** Return the place of the present text on the scale; of one between, the nearest below. */
  place(settings) {
    const text = this.read(settings) ?? this.base;
    const exact = this.texts.indexOf(text);
    if (exact >= 0) return exact;
    return Math.max(0, this.texts.filter((other) => Number(other) <= Number(text)).length - 1);
  }

  /** Return the settings with another text; that of the scenario sets nothing. */
  with(settings, text) {
    const found = structuredClone(settings);
    this.write(found, text === this.base ? undefined : text);
    return found;
  }

  isSet(settings) { return this.read(settings) !== undefined; }
}

/** Return the scale of an axis. */
export function scaleOf({ section, name, base, values }) {
  if (section === "graph") return tableScale(`graph.${name}`, values.map(String), String(base), "parameters", name);
  if (section === "nodes") {
    return new Scale("nodes", values.map(String), String(base), "nodes", ({ nodes }) => nodes, (settings, text) => {
      if (text === undefined) delete settings.nodes;
      else settings.nodes = text;
    });
  }
  if (section === "workers") return tableScale(`count.${name}`, values.map(String), String(base), "counts", name);
  if (section === "overhead" || section === "message") {
    const present = String(Number((base * 1e6).toPrecision(12)));
    const texts = [...new Set([...MICROSECONDS, present])].sort((a, b) => a - b);
    return tableScale(`${section}.${name}`, texts, present, `${section}s`, name);
  }
  return tableScale(`factor.${section}.${name}`, FACTORS, "1", "factors", `${section}.${name}`);
}

/** Return the scale of an option of a scheduler. */
export function optionScale(scheduler, { name, kind, most, base }) {
  const step = kind === "number" ? 0.25 : 1, first = kind === "count" ? 1 : 0;
  const texts = Array.from({ length: Math.floor((most - first) / step) + 1 }, (_, place) => String(first + place * step));
  const all = [...new Set([...texts, String(base)])].sort((a, b) => a - b);
  return tableScale(`option.${scheduler.text}.${name}`, all, String(base), "options", `${scheduler.text}.${name}`);
}

function tableScale(key, texts, base, table, name) {
  return new Scale(key, texts, base, name, (settings) => settings[table][name], (settings, text) => {
    if (text === undefined) delete settings[table][name];
    else settings[table][name] = text;
  });
}

/** Return all scales of a page by key, those of the options of all schedulers too. */
export function allScales(live) {
  const scales = [...live.axes.map(scaleOf),
    ...live.schedulers.flatMap((scheduler) => scheduler.options.map((option) => optionScale(scheduler, option)))];
  return new Map(scales.map((scale) => [scale.key, scale]));
}

/** Return whether a text is a seed. */
export function isSeed(text) {
  return /^\d{1,20}$/.test(text) && BigInt(text) <= LARGEST_SEED;
}

/** Return what is changed as lines of a name and a text. */
export function settingsText(live, settings, scales) {
  const lines = [...scales.values()].filter((scale) => scale.isSet(settings))
    .map((scale) => `${scale.key}=${scale.read(settings)}`);
  if (settings.scheduler !== live.scheduler) lines.push(`scheduler=${settings.scheduler}`);
  if (settings.seed !== String(live.seed)) lines.push(`seed=${settings.seed}`);
  if (settings.noise !== live.noise) lines.push(`noise=${settings.noise}`);
  return lines.join("\n");
}

/** Return the settings that lines say; what is not legal here is left out. */
export function settingsOf(live, text, scales) {
  const settings = baseSettings(live);
  for (const line of text.split("\n")) {
    const equals = line.lastIndexOf("="), name = line.slice(0, equals), value = line.slice(equals + 1);
    const scale = scales.get(name);
    if (scale && scale.texts.includes(value)) scale.write(settings, value === scale.base ? undefined : value);
    if (name === "seed" && isSeed(value)) settings.seed = String(BigInt(value));
    if (name === "noise" && NOISES.includes(value)) settings.noise = value;
    const scheduler = line.startsWith("scheduler=") ? line.slice("scheduler=".length) : null;
    if (live.schedulers.some((known) => known.text === scheduler)) settings.scheduler = scheduler;
  }
  return settings;
}
