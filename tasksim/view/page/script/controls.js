// Controls around the chart: the bar above it, with search, views and exports; legend and details beside it.

import { MODES, modesOf } from "./colours.js";
import { button, element, refill } from "./dom.js";
import { icon } from "./icons.js";
import { KEYS } from "./keys.js";
import { PANELS, panelsOf } from "./panels.js";
import { QUERY_HELP } from "./query.js";
import { changeText, countText, percentText, timeText } from "./units.js";
import { check, iconButton, menu, toggle } from "./widgets.js";

const EXPORTS = [["svg", "shapes, for papers and slides"], ["png", "pixels"], ["csv", "tasks as a table"]];

/** All that stands around the chart of an app. */
export class Controls {
  constructor(app, header) {
    this.app = app;
    this.title = header.title;
    this.#makeTop();
    this.#makeSide();
    this.help = element("dialog", { className: "help", ariaLabel: "Help" }, ...helpParts(() => this.help.close()));
  }

  #makeTop() {
    this.numbers = element("p", { className: "numbers" });
    this.top = element("header", { className: "top" },
      element("div", { className: "title" }, element("h1", { title: this.title }, this.title), this.numbers),
      this.#searchGroup(), this.#viewGroup(), this.#actionGroup());
    this.#showNumbers();
  }

  #searchGroup() {
    const { app } = this;
    this.search = element("input", {
      type: "search", placeholder: "Search tasks: gemm, #17, k=3, slow>1.5", title: QUERY_HELP,
      ariaLabel: "Search tasks", spellcheck: false,
      oninput: () => app.setQuery(this.search.value),
      onkeydown: (event) => { if (event.key === "Enter") app.nextMatch(event.shiftKey ? -1 : 1); },
    });
    this.found = element("output", { className: "found" });
    this.only = toggle("only these", "Grey out all other tasks", (on) => app.change({ only: on }));
    this.asked = element("span", { className: "asked", hidden: true }, this.found,
      iconButton("previous", "Task found before (N)", () => app.nextMatch(-1)),
      iconButton("next", "Next task found (n)", () => app.nextMatch(1)), this.only);
    return element("div", { className: "search", role: "search" }, icon("search"), this.search, this.asked);
  }

  /** Return what decides what is seen: in a row, or in a menu where the window is narrow. */
  #viewGroup() {
    const { app } = this;
    this.colour = element("select", { title: "What colours say (g)", onchange: () => app.change({ colour: this.colour.value }) });
    this.#offerModes();
    this.path = toggle("critical path", "What the last task waited for, back to the start (c)", (on) => app.change({ path: on }));
    this.waits = toggle("waits", "Colour idle time by what the worker waited for (i)", (on) => app.change({ waits: on }));
    this.messages = toggle("messages", "An arrow per message between nodes; of many, the longest of each stretch of time (m)",
      (on) => app.change({ messages: on }));
    this.panels = panelsOf(app.runs).map((name) => {
      const box = check(PANELS[name].title, (on) => app.togglePanel(name, on));
      return Object.assign(box, { panel: name });
    });
    this.table = toggle("tables", "Tables of the same data (t)", () => app.toggleTable());
    this.play = toggle("play", "Play the run, step by step (k)", () => app.playing.toggleOpen());
    const made = menu("view", "layers",
      element("label", { className: "field" }, "colour", this.colour), this.path, this.waits,
      ...(app.runs.some((run) => run.messages) ? [this.messages] : []),
      menu("panels", "layers", ...this.panels.map((box) => box.label)), this.table, this.play);
    made.classList.add("views");
    return made;
  }

  #actionGroup() {
    const { app } = this;
    const exports = EXPORTS.map(([kind, what]) => element("button", {
      type: "button", title: "Save what is visible", onclick: () => app.export(kind),
    }, element("b", {}, kind.toUpperCase()), ` ${what}`));
    return element("div", { className: "actions" },
      iconButton("fit", "Show all (f, or double click)", () => app.fit()),
      menu("export", "save", ...exports),
      iconButton("theme", "Light, dark, or as the system", () => app.nextTheme()),
      iconButton("help", "Keys and help (?)", () => app.toggleHelp()));
  }

  #makeSide() {
    const { app } = this;
    this.legend = element("section", { className: "legend", ariaLabel: "Colours" });
    this.levels = element("output", {});
    this.arrows = element("p", { className: "arrows", hidden: true, title: "How many levels of dependencies the pinned task shows" },
      "arrows", stepButton("−", "A level less ([)", () => app.setLevels(-1)), this.levels,
      stepButton("+", "A level more (])", () => app.setLevels(1)));
    this.details = element("section", { className: "details", ariaLabel: "Details" });
    this.status = element("p", { className: "status", role: "status" });
    this.heard = element("p", { className: "heard", role: "status" });
    this.facts = element("section", { className: "facts", ariaLabel: "Runs" });
    this.#showFacts();
    this.side = element("aside", { className: "side", ariaLabel: "Legend and details" },
      this.status, this.heard, this.legend, this.arrows, this.details, this.facts);
  }

  /** Show the numbers that are read first: makespans, and of one run how near its bounds it is. */
  #showNumbers() {
    const { runs } = this.app, [first] = runs;
    const several = runs.length > 1;
    const parts = runs.map((run) => keyNumber(several ? run.name : "makespan", timeText(run.makespan),
      run.reference ? changeText(run.makespan / run.reference.makespan - 1) : ""));
    const bound = Math.max(...Object.values(first.header.bounds));
    if (!several && bound > 0) parts.push(keyNumber("lower bound", timeText(bound), percentText(bound / first.makespan)));
    parts.push(keyNumber("tasks", countText(first.count)), keyNumber("workers", countText(first.workers.length)));
    this.numbers.replaceChildren(...parts);
    this.numbers.title = parts.map((part) => part.textContent).join(", "); // a narrow window cuts them off
  }

  /** Show the facts of the runs; those that were open stay open. */
  #showFacts() {
    const open = [...this.facts.querySelectorAll("details")].map((box) => box.open);
    refill(this.facts, element("h2", {}, "Runs"), ...this.app.runs.map((run, number) => element("details", { open: open[number] ?? false },
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
    this.#showNumbers();
    this.#showFacts();
    this.#offerModes();
  }

  /** Show the state of the app. */
  update(state, colour) {
    if (this.search.value !== state.query && document.activeElement !== this.search) {
      this.search.value = state.query;
    }
    this.only.checked = state.only;
    this.colour.value = colour;
    this.path.checked = state.path;
    this.waits.checked = state.waits;
    this.messages.checked = state.messages;
    this.table.checked = state.table;
    this.play.checked = state.play !== null;
    this.levels.textContent = String(state.levels);
    this.arrows.hidden = !state.pin;
    for (const box of this.panels) box.checked = state.panels.has(box.panel);
  }

  /** Say how many tasks a search has found, or why it cannot search. */
  sayFound(matches, match, error) {
    this.search.classList.toggle("wrong", Boolean(error));
    this.asked.hidden = !error && matches === null;
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
      lines.length ? list(lines) : element("p", { className: "hint" }, "Point at a task; click pins it and draws its arrows."));
  }

  /** Show what colours say, if it is not shown yet; kernels may be hidden and shown. `others` are of copies and waits. */
  showLegend({ legend }, colour, state, others) {
    const key = JSON.stringify([legend, colour, [...state.hidden], others]);
    if (key === this.shownLegend) return;
    this.shownLegend = key;
    const entries = legend.map(({ name, colour, kernel }) => {
      if (!kernel) return element("div", {}, swatch(colour), name);
      return element("button", {
        type: "button", title: "Show or hide", ariaPressed: String(!state.hidden.has(kernel)),
        onclick: () => this.app.toggleKernel(kernel),
      }, swatch(colour), name);
    });
    refill(this.legend, element("h2", {}, `Colours: ${MODES[colour]}`), ...entries,
      ...others.map(({ name, colour }) => element("div", {}, swatch(colour), name)));
  }

  say(text) { this.status.textContent = text; }

  /** Tell screen readers what others see. */
  tell(text) { this.heard.textContent = text; }
}

function swatch(colour) {
  const made = element("span", { className: "swatch" });
  made.style.background = colour;
  return made;
}

/** Return a button whose sign alone says little to those who hear it. */
function stepButton(sign, title, onclick) {
  return Object.assign(button(sign, title, onclick), { ariaLabel: title });
}

/** Return a number with its name, and its share of another or change against it. */
function keyNumber(name, text, share = "") {
  return element("span", { className: "number" }, element("bdi", {}, name), " ", element("b", {}, text), ...(share ? [" ", element("i", {}, share)] : []));
}

/** Return a list of names and texts; waits have the colours that they have in the chart. */
function list(lines) {
  return element("dl", {}, ...lines.flatMap(([name, text, wait]) => (
    [element("dt", wait ? { "data-wait": wait } : {}, name), element("dd", {}, text)])));
}

function helpParts(close) {
  const rows = KEYS.map(([names, what]) => element("tr", {},
    element("td", {}, ...names.flatMap((name) => [element("kbd", {}, name === " " ? "Space" : name), " "])), element("td", {}, what)));
  return [
    // The button that closes gets the focus: above, so that the first keys are in sight.
    element("div", { className: "heading" }, element("h2", {}, "Keys"), button("Close", "Close (Escape)", close)),
    element("table", {}, ...rows),
    element("p", {}, "Wheel: zoom at the pointer. Shift and wheel: move. Ctrl and wheel, or over the",
      " names: scroll. Drag: move. Shift and drag, or two fingers: zoom. Click: pin. Double click: all."),
    element("p", {}, `Search: ${QUERY_HELP}.`),
    element("p", {}, "The address of the page keeps the view: copy it, with the file, to a colleague."),
  ];
}
