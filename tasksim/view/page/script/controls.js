// Controls around the chart: search, colours, filters, details, exports, help.

import { MODES, modesOf } from "./colours.js";
import { button, element } from "./dom.js";
import { KEYS } from "./keys.js";
import { PANELS, panelsOf } from "./panels.js";
import { QUERY_HELP } from "./query.js";
import { timeText } from "./units.js";

/** All that stands around the chart of an app. */
export class Controls {
  constructor(app, header) {
    this.app = app;
    this.title = header.title;
    this.#makeTop();
    this.#makeSide();
    this.help = element("dialog", { className: "help" }, ...helpParts(() => this.help.close()));
  }

  #makeTop() {
    const { app } = this;
    this.search = element("input", {
      type: "search", placeholder: "Search: gemm, #17, /regex/, k=3, slow>1.5", title: QUERY_HELP,
      ariaLabel: "Search tasks", spellcheck: false,
      oninput: () => app.setQuery(this.search.value),
      onkeydown: (event) => { if (event.key === "Enter") app.nextMatch(event.shiftKey ? -1 : 1); },
    });
    this.found = element("output", { className: "found" });
    this.only = check("only these", (on) => app.change({ only: on }));
    this.colour = element("select", {
      title: "What colours say", ariaLabel: "Colours", onchange: () => app.change({ colour: this.colour.value }),
    });
    this.#offerModes();
    this.path = check("critical path", (on) => app.change({ path: on }));
    this.waits = check("waits", (on) => app.change({ waits: on }));
    this.messages = check("messages", (on) => app.change({ messages: on }));
    this.messages.label.title = "An arrow per message between nodes; of many, the longest of each stretch of time";
    this.waits.label.title = "Colour idle time by what the worker waited for";
    this.levels = element("output", { className: "levels" });
    this.panels = panelsOf(app.runs).map((name) => {
      const box = check(PANELS[name].title, (on) => app.togglePanel(name, on));
      return Object.assign(box, { panel: name });
    });
    this.top = element("header", { className: "top" },
      element("h1", {}, this.title), this.search,
      button("‹", "Task found before (N)", () => app.nextMatch(-1)),
      button("›", "Next task found (n)", () => app.nextMatch(1)),
      this.found, this.only.label,
      element("label", {}, "colour ", this.colour), this.path.label, this.waits.label,
      ...(app.runs.some((run) => run.messages) ? [this.messages.label] : []),
      element("span", { className: "group", title: "How many levels of dependencies the pinned task shows" },
        "arrows ", button("−", "A level less ([)", () => app.setLevels(-1)), this.levels,
        button("+", "A level more (])", () => app.setLevels(1))),
      menu("panels", ...this.panels.map((box) => box.label)),
      menu("save", ...["SVG", "PNG", "CSV"].map((kind) => (
        button(kind, `The visible stretch of time as ${kind}`, () => app.export(kind.toLowerCase()))))),
      button("all", "Show all (F, or double click)", () => app.fit()),
      button("tables", "Tables of the same data (t)", () => app.toggleTable()),
      button("◐", "Light, dark, or as the system", () => app.nextTheme()),
      button("?", "Keys and help", () => app.toggleHelp()));
  }

  #makeSide() {
    this.details = element("section", { className: "details", ariaLabel: "Details" });
    this.status = element("p", { className: "status", ariaLive: "polite", role: "status" });
    this.legend = element("section", { className: "legend", ariaLabel: "Colours" });
    this.facts = element("section", { className: "facts", ariaLabel: "Runs" });
    this.#showFacts();
    this.side = element("aside", { className: "side" }, this.details, this.status, this.legend, this.facts);
  }

  #showFacts() {
    this.facts.replaceChildren(...this.app.runs.map((run) => element("details", {},
      element("summary", {}, element("b", {}, run.name), ` ${timeText(run.makespan)}`),
      list(run.header.facts))));
  }

  #offerModes() {
    const modes = modesOf(this.app.runs);
    if (modes.join() === this.modes?.join()) return;
    this.modes = modes;
    this.colour.replaceChildren(...modes.map((mode) => element("option", { value: mode }, MODES[mode])));
  }

  /** Follow the app to other runs. */
  showRuns() {
    this.#showFacts();
    this.#offerModes();
  }

  /** Show the state of the app. */
  update(state) {
    if (this.search.value !== state.query && document.activeElement !== this.search) {
      this.search.value = state.query;
    }
    this.only.checked = state.only;
    this.colour.value = state.colour;
    this.path.checked = state.path;
    this.waits.checked = state.waits;
    this.messages.checked = state.messages;
    this.levels.textContent = String(state.levels);
    for (const box of this.panels) box.checked = state.panels.has(box.panel);
  }

  /** Say how many tasks a search has found, or why it cannot search. */
  sayFound(matches, match, error) {
    this.search.classList.toggle("wrong", Boolean(error));
    this.found.textContent = error ?? (matches === null ? ""
      : matches.length ? `${match < 0 ? 0 : match + 1} of ${matches.length}` : "none");
  }

  /** Show lines about a thing, if they are not shown yet. */
  showDetails(lines, isPinned) {
    const key = JSON.stringify([lines, isPinned]);
    if (key === this.shownDetails) return;
    this.shownDetails = key;
    this.details.replaceChildren(
      element("h2", {}, isPinned ? "Pinned" : "Under the pointer"),
      lines.length ? list(lines) : element("p", {}, "Point at a task; click pins it and draws its arrows."));
  }

  /** Show what colours say; kernels may be hidden and shown. `others` are of copies and waits. */
  showLegend({ legend }, state, others) {
    const entries = legend.map(({ name, colour, kernel }) => {
      if (!kernel) return element("div", {}, swatch(colour), name);
      return element("button", {
        type: "button", className: state.hidden.has(kernel) ? "off" : "", title: "Show or hide",
        ariaPressed: String(!state.hidden.has(kernel)), onclick: () => this.app.toggleKernel(kernel),
      }, swatch(colour), name);
    });
    this.legend.replaceChildren(element("h2", {}, MODES[state.colour]), ...entries,
      ...others.map(({ name, colour }) => element("div", {}, swatch(colour), name)));
  }

  say(text) { this.status.textContent = text; }
}

function swatch(colour) {
  const made = element("span", { className: "swatch" });
  made.style.background = colour;
  return made;
}

function check(text, onchange) {
  const box = element("input", { type: "checkbox", onchange: () => onchange(box.checked) });
  box.label = element("label", {}, box, ` ${text}`);
  return box;
}

function menu(name, ...entries) {
  return element("details", { className: "menu" }, element("summary", {}, name),
    element("div", { className: "entries" }, ...entries));
}

/** Return a list of names and texts; waits have the colours that they have in the chart. */
function list(lines) {
  return element("dl", {}, ...lines.flatMap(([name, text, wait]) => (
    [element("dt", wait ? { "data-wait": wait } : {}, name), element("dd", {}, text)])));
}

function helpParts(close) {
  const rows = KEYS.map(([names, what]) => element("tr", {},
    element("td", {}, ...names.flatMap((name) => [element("kbd", {}, name), " "])), element("td", {}, what)));
  return [
    element("h2", {}, "Keys"),
    element("table", {}, ...rows),
    element("p", {}, "Wheel: zoom at the pointer. Shift and wheel: move. Ctrl and wheel, or over the",
      " names: scroll. Drag: move. Shift and drag: zoom to a box. Click: pin. Double click: all."),
    element("p", {}, `Search: ${QUERY_HELP}.`),
    element("p", {}, "The address of the page keeps the view: copy it, with the file, to a colleague."),
    button("Close", "Close (Escape)", close),
  ];
}
