// The panel of a live page: numbers against the base, sliders with their curves, schedulers, the command.

import { button, element, refill, setText, shape } from "./dom.js";
import { isSeed, optionScale, scaleOf } from "./livesettings.js";
import { changeText, countText, energyText, flopText, percentText, rateText, sizeText, timeText } from "./units.js";
import { iconButton } from "./widgets.js";

const TITLES = {
  graph: "Task graph",
  nodes: "Nodes", workers: "Workers", speed: "Speed of workers", kernel: "Speed of kernels",
  network_bandwidth: "Bandwidth between nodes", network_latency: "Latency between nodes",
  message: "Costs of a message", message_factor: "Costs of a message", bandwidth: "Bandwidth of links",
  latency: "Latency of links", memory: "Size of memories", overhead: "Overheads of the runtime",
};
const OPEN = ["graph", "nodes", "workers", "speed"]; // sections that are open at first
const COMPARED = [
  ["tasks", "tasks", countText, 0], ["rate", "speed", flopText, 1], ["efficiency", "efficiency", percentText, 1],
  ["criticalPath", "critical path", timeText, -1], ["area", "area bound", timeText, -1],
  ["nodeArea", "node with most work", timeText, -1], ["volume", "node with most bytes", timeText, -1],
  ["path", "path with messages", timeText, -1],
  ["copies", "copies", countText, -1], ["bytes", "copied", sizeText, -1], ["evictions", "evictions", countText, -1],
  ["messages", "messages", countText, -1], ["sent", "sent", sizeText, -1],
  ["waiting", "wait for messages", timeText, -1], ["energy", "energy", energyText, -1],
];
const NOT_OFFERED = "Without those that plan before a run, such as heft, which only the page of their own scenario has; "
  + "and without those written in Python.";
const MOST_RIVALS = 6; // schedulers in the list of the best
const MOST_BARS = 6; // sliders in the list of what matters most
const LEAST_EFFECT = 0.001; // of the makespan: sliders that change less do not matter
const CURVE = { width: 100, height: 20 }; // in its own units: it is as wide as its slider

/** The panel beside the chart of a live view. */
export class LivePanel {
  constructor(view) {
    this.view = view;
    this.rows = new Map();
    this.sections = [];
    this.makespan = element("p", { className: "makespan" });
    this.numbers = element("dl", { className: "answer" });
    this.noises = element("p", { className: "noises" });
    this.compared = element("p", { className: "noises" });
    this.status = element("p", { className: "status", role: "status", ariaLive: "polite" });
    this.warning = element("p", { className: "warning", hidden: true });
    this.rivals = element("div", { className: "bars" });
    this.matters = element("div", { className: "bars" });
    this.command = element("textarea", { className: "command", readOnly: true, rows: 4, spellcheck: false,
      ariaLabel: "The command that says the same" });
    this.options = element("div", { className: "rows" });
    this.reset = button("reset", "All as in the scenario", () => view.reset());
    this.box = element("aside", { className: "live", ariaLabel: "What if" },
      element("div", { className: "headline" },
        element("div", { className: "heading" }, element("h2", {}, "What if"), this.reset),
        this.makespan, this.noises, this.compared, this.status, this.warning),
      this.numbers,
      element("section", { className: "section", ariaLabel: "Scheduler" },
        element("h3", {}, "Scheduler"), this.#schedulerRow(), this.options),
      this.#section("Best scheduler now", true, [], ...this.#measureRow(), this.rivals, element("p", { className: "noises" }, NOT_OFFERED)),
      ...this.#sliderSections(),
      this.#section("What matters most", true, [], this.matters),
      this.#section("The same as a command", true, [], this.command,
        button("copy", "Copy the command", () => this.#copy())));
  }

  /** Return a part that folds; its title counts which of the scales are changed. */
  #section(title, open, scales, ...children) {
    const note = element("output", { className: "changed", ariaLive: "off" });
    this.sections.push({ note, scales });
    return element("details", { className: "section", open },
      element("summary", {}, element("h3", {}, title), note), ...children);
  }

  #schedulerRow() {
    const { view } = this;
    this.scheduler = element("select", { ariaLabel: "Scheduler", onchange: () => view.setScheduler(this.scheduler.value) },
      ...view.live.schedulers.map(({ text }) => element("option", { value: text }, text)));
    this.seed = element("input", { type: "text", inputMode: "numeric", className: "seed", ariaLabel: "Seed",
      onchange: () => this.#takeSeed() });
    this.noise = element("input", { type: "checkbox",
      onchange: () => view.setNoise(this.noise.checked ? "model" : "none") });
    const draws = view.live.machines[""].draws.length;
    const noisy = element("label", { title: `Durations drawn from the models, with seeds 0 to ${draws - 1}` },
      this.noise, " noise");
    return element("div", { className: "choice" }, this.scheduler, element("label", {}, "seed ", this.seed),
      ...(draws ? [noisy] : []));
  }

  /** Return the choice between makespan and energy, where the energy is known. */
  #measureRow() {
    const { view } = this;
    if (!view.live.machines[""].power) return [];
    const choice = element("select", { ariaLabel: "Rank and draw curves by", onchange: () => view.rankBy(choice.value) },
      ...["makespan", "energy"].map((measure) => element("option", { value: measure }, measure)));
    return [element("label", { className: "choice" }, "by ", choice)];
  }

  #takeSeed() {
    const text = this.seed.value.trim();
    this.seed.classList.toggle("wrong", !isSeed(text));
    if (isSeed(text)) this.view.setSeed(String(BigInt(text)));
    else this.status.textContent = "A seed is a whole number from 0 to 18446744073709551615.";
  }

  /** Return the sliders by section; those of single links are closed at first. */
  #sliderSections() {
    const { axes } = this.view.live;
    return Object.entries(TITLES).flatMap(([section, title]) => {
      const own = axes.filter((axis) => axis.section === section);
      if (!own.length) return [];
      const main = own.filter(({ name }) => name === "*"), each = own.filter(({ name }) => name !== "*");
      const scales = (some) => some.map((axis) => this.view.scales.get(scaleOf(axis).key));
      const rows = (some) => some.map((axis) => this.#sliderRow(axis));
      const open = OPEN.includes(section);
      if (!main.length) return [this.#section(title, open, scales(own), ...rows(own))];
      const more = each.length ? [this.#section(section.startsWith("network_") ? "each kind of link" : "each link", false, scales(each), ...rows(each))] : [];
      return [this.#section(title, open, scales(own), ...rows(main), ...more)];
    });
  }

  #sliderRow(axis) {
    const { key } = scaleOf(axis);
    return this.#row(this.view.scales.get(key), axisLabel(axis), (settings) => this.#valueText(axis, settings));
  }

  #row(scale, label, text) {
    const slider = element("input", {
      type: "range", min: "0", max: String(scale.texts.length - 1), step: "1", ariaLabel: longLabel(scale, label),
      oninput: () => this.view.set(scale, scale.texts[Number(slider.value)]),
    });
    const value = element("output", { ariaLive: "off" }), curve = shape("svg", { class: "curve", preserveAspectRatio: "none",
      viewBox: `0 0 ${CURVE.width} ${CURVE.height}`, "aria-hidden": "true" });
    const reset = iconButton("close", `${longLabel(scale, label)} as in the scenario`, () => this.view.set(scale, scale.base));
    this.rows.set(scale.key, { scale, slider, value, curve, reset, text, label });
    return element("div", { className: "slider" },
      element("span", { className: "label", title: label }, label), value, reset, curve, slider);
  }

  /** Return the present value of an axis, with the quantity that it makes. */
  #valueText(axis, settings) {
    const { live } = this.view;
    if (axis.section === "graph") return settings.parameters[axis.name] ?? String(axis.base);
    if (axis.section === "nodes") return settings.nodes ?? String(axis.base);
    if (axis.section === "message") {
      return timeText(axis.name in settings.messages ? Number(`${settings.messages[axis.name]}e-6`) : axis.base);
    }
    if (axis.section === "workers") return settings.counts[axis.name] ?? String(this.#workersOf(axis));
    if (axis.section === "overhead") {
      return timeText(axis.name in settings.overheads ? Number(`${settings.overheads[axis.name]}e-6`) : axis.base);
    }
    const factor = settings.factors[`${axis.section}.${axis.name}`] ?? "1";
    const base = live.machines[""];
    const link = base.links.find(({ entry }) => entry === axis.name);
    const memory = base.memory_entries.indexOf(axis.name);
    const quantity = axis.section === "bandwidth" && link ? rateText(link.bandwidth * Number(factor))
      : axis.section === "latency" && link ? timeText(link.latency * Number(factor))
      : axis.section.startsWith("network_") ? kindText(live, axis, Number(factor))
      : axis.section === "memory" && memory >= 0 ? sizeText(base.memories[memory][2] * Number(factor)) : "";
    return quantity ? `× ${factor} = ${quantity}` : `× ${factor}`;
  }

  /** Return how many workers a group has now: others may have changed it, as GPUs take cores. */
  #workersOf({ name, base }) {
    const machine = this.view.machine;
    if (!machine || !name) return base;
    const begin = /\d$/.test(name) ? `${name}-` : name;
    return machine.workers.filter(([worker]) => {
      const own = worker.replace(/^node\d+\//, "");
      return own.startsWith(begin) && /^\d+$/.test(own.slice(begin.length));
    }).length;
  }

  /** Return the scales that have curves: those of single links would take long. */
  scales() {
    const single = /^factor\.(network_)?(bandwidth|latency)\.(?!\*$)/;
    return [...this.rows.values()].map(({ scale }) => scale).filter(({ key }) => !single.test(key));
  }

  /** Show the settings. */
  update() {
    const { view } = this;
    this.scheduler.value = view.settings.scheduler;
    this.noise.checked = view.settings.noise !== "none";
    if (document.activeElement !== this.seed) this.seed.value = view.settings.seed;
    this.#showOptions();
    this.reset.disabled = !view.app.state.live;
    for (const { note, scales } of this.sections) {
      const changed = scales.filter((scale) => scale.isSet(view.settings)).length;
      setText(note, changed ? `${changed} changed` : "");
    }
    for (const { scale, slider, value, reset, text } of this.rows.values()) {
      const place = String(scale.place(view.settings)), now = text(view.settings);
      if (slider.value !== place) slider.value = place;
      setText(value, now);
      if (slider.getAttribute("aria-valuetext") !== now) slider.setAttribute("aria-valuetext", now);
      reset.style.visibility = scale.isSet(view.settings) ? "visible" : "hidden";
    }
    const command = view.command ?? "No command says this: the scenario has objects made in Python, or all kernels are changed.";
    if (this.command.value !== command) this.command.value = command;
  }

  #showOptions() {
    const { view } = this, { scheduler } = view;
    if (this.shownOptions === scheduler.text) return;
    this.shownOptions = scheduler.text;
    for (const key of [...this.rows.keys()]) if (key.startsWith("option.")) this.rows.delete(key);
    this.options.replaceChildren(...scheduler.options.map((option) => {
      const scale = view.scales.get(optionScale(scheduler, option).key);
      return this.#row(scale, option.name, (settings) => scale.read(settings) ?? scale.base);
    }));
  }

  wait() { this.box.classList.add("waiting"); }

  refuse(why) {
    this.box.classList.remove("waiting");
    this.status.textContent = `No answer: ${why}`;
    this.status.classList.add("wrong");
  }

  warn(text) {
    this.warning.hidden = false;
    this.warning.textContent = text;
  }

  /** Show the numbers of an answer beside those of the base. */
  showNumbers(now, base) {
    this.box.classList.remove("waiting");
    this.status.classList.remove("wrong");
    setText(this.status, "");
    const rows = COMPARED.filter(([name, , , better]) => (better
      ? now[name] && base[name] !== undefined || base[name] && now[name] !== undefined : now[name] !== base[name]));
    this.makespan.replaceChildren(element("span", {}, "makespan"), " ", element("b", {}, timeText(now.makespan)), " ",
      change(now.makespan, base.makespan, -1));
    this.numbers.replaceChildren(...rows.flatMap(([name, title, text, better]) => [element("dt", {}, title),
      element("dd", {}, element("b", {}, text(now[name])), " ", change(now[name], base[name], better))]));
  }

  /** Say what cannot be compared with the base. */
  compare(run, base) {
    setText(this.compared, run.reference ? ""
      : `Another graph than that of the base, which has ${countText(base.count)} tasks: single tasks are not compared.`);
  }

  /** Show what idle time has brought: schedulers, curves, what matters most. */
  showIdle() {
    const { view } = this, now = view.answer.numbers[view.measure];
    const known = [...view.rivals].filter(([, value]) => isFinite(value)).sort((a, b) => a[1] - b[1]);
    const shown = known.slice(0, MOST_RIVALS);
    if (!shown.some(([text]) => text === view.settings.scheduler)) {
      shown.push(...known.filter(([text]) => text === view.settings.scheduler));
    }
    const most = Math.max(...shown.map(([, value]) => value)), valueText = view.measure === "energy" ? energyText : timeText;
    refill(this.rivals, ...shown.map(([text, value]) => bar(text, valueText(value), 0, value / most,
      text === view.settings.scheduler, () => view.setScheduler(text))));
    for (const { scale, curve } of this.rows.values()) drawCurve(curve, view.curves.get(scale.key), scale, view.settings);
    this.#showMatters(now);
    const drawn = view.replications.filter(isFinite);
    this.noises.textContent = drawn.length < 2 ? ""
      : `with noise ${timeText(Math.min(...drawn))} to ${timeText(Math.max(...drawn))} in ${drawn.length} draws`;
  }

  #showMatters(now) {
    const found = [];
    for (const { scale, label } of this.rows.values()) {
      const values = [...(this.view.curves.get(scale.key)?.values() ?? [])].filter(isFinite);
      const low = Math.min(...values) / now, high = Math.max(...values) / now;
      if (values.length > 1 && high - low > LEAST_EFFECT) found.push({ label: longLabel(scale, label), low, high, scale });
    }
    found.sort((a, b) => b.high / b.low - a.high / a.low);
    const shown = found.slice(0, MOST_BARS);
    // In logarithms: a tenth of a bandwidth may make a run fifty times as long.
    const least = Math.min(0, ...shown.map(({ low }) => Math.log(low)));
    const most = Math.max(0, ...shown.map(({ high }) => Math.log(high)));
    const place = (ratio) => (Math.log(ratio) - least) / (most - least || 1);
    refill(this.matters, ...shown.map(({ label, low, high, scale }) => bar(label,
      `${changeText(low - 1)} to ${changeText(high - 1)}`, place(low), place(high), false,
      () => this.#goTo(scale), place(1))));
  }

  /** Show the slider of a scale, and let keys move it. */
  #goTo({ key }) {
    const { slider } = this.rows.get(key);
    for (let box = slider.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
    slider.focus();
  }

  async #copy() {
    this.command.select();
    try {
      await navigator.clipboard.writeText(this.command.value);
    } catch {
      document.execCommand("copy"); // of a page from a file, where the clipboard is out of reach
    }
    this.status.textContent = "Copied the command.";
  }
}

/** Return the speed of a kind of links between nodes with a factor; nothing where its links differ. */
function kindText({ cuts, machines }, { section, name }, factor) {
  const { cluster } = machines[""];
  if (!cluster) return "";
  const { network } = cuts[cluster.cut], kind = network.kinds.indexOf(name);
  const own = network[section.slice("network_".length)].filter((_, link) => network.kind_of[link] === kind);
  if (!own.length || own.some((value) => value !== own[0])) return "";
  return section === "network_bandwidth" ? rateText(own[0] * factor) : timeText(own[0] * factor);
}

function axisLabel({ section, name }) {
  if (section === "nodes") return "nodes";
  if (section === "workers") return name || "workers";
  if (section.startsWith("message")) return name === "isend" ? "for the sender" : "for the receiver";
  return name === "*" ? "all links" : name;
}

function longLabel({ key }, label) {
  const [kind, section] = key.split(".");
  if (kind === "nodes") return "number of nodes";
  if (kind === "message" || section === "message_factor") return `cost of a message ${label}`;
  if (section?.startsWith("network_")) return `${section.slice(8)} between nodes, ${label}`;
  if (kind === "count") return `number of ${label}`;
  if (kind === "factor") return `${section === "kernel" ? "speed" : section === "memory" ? "size" : section} of ${label}`;
  return kind === "overhead" ? `overhead ${label}` : label;
}

/** Return how a number has changed against the base, as an arrow and a share; green: for the better. */
function change(now, base, better) {
  if (now === base) return element("span", { className: "change same" }, "as base");
  const rises = now > base;
  const share = base ? changeText(now / base - 1) : "";
  const kind = !better ? "same" : rises === better > 0 ? "better" : "worse";
  return element("span", { className: `change ${kind}` }, `${rises ? "▲" : "▼"} ${share}`);
}

/** Return a bar from one share of the width to another, with its name and value; a click acts. */
function bar(name, text, from, to, isChosen, act, mark = null) {
  const filled = element("span", { className: "filled" });
  filled.style.left = `${100 * from}%`;
  filled.style.width = `${100 * Math.max(to - from, 0.005)}%`;
  const room = element("span", { className: "room" }, filled);
  if (mark !== null) {
    const line = element("span", { className: "mark" });
    line.style.left = `${100 * mark}%`;
    room.append(line);
  }
  return element("button", { type: "button", className: isChosen ? "bar chosen" : "bar", onclick: act },
    element("span", { className: "name" }, name), element("span", { className: "text" }, text), room);
}

/** Paint a curve of the makespan above its slider, and where the slider stands. */
function drawCurve(svg, curve, scale, settings) {
  svg.replaceChildren();
  const points = [...(curve ?? [])].filter(([, value]) => isFinite(value)).sort((a, b) => a[0] - b[0]);
  if (points.length < 2) return;
  const values = points.map(([, value]) => value);
  const low = Math.min(...values), span = Math.max(...values) - low;
  const last = Math.max(scale.texts.length - 1, 1);
  // Small changes look small: the height is a tenth of the makespan at least.
  const height = Math.max(span, 0.1 * low);
  const x = (place) => (place / last) * CURVE.width;
  const y = (value) => CURVE.height - 3 - ((value - low) / (height || 1)) * (CURVE.height - 6);
  if (scale.isSet(settings)) {
    svg.append(shape("line", { x1: x(scale.texts.indexOf(scale.base)), x2: x(scale.texts.indexOf(scale.base)), y1: 0, y2: CURVE.height }));
  }
  svg.append(shape("polyline", { points: points.map(([place, value]) => `${x(place)},${y(value)}`).join(" ") }));
  const now = scale.place(settings);
  // A line without length and with round ends: a circle would be as wide as the curve is stretched.
  if (curve.has(now)) svg.append(shape("path", { d: `M${x(now)} ${y(curve.get(now))}h0` }));
}
