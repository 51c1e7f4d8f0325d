// The view of tables below the chart: tabs, sorting, all or the visible stretch of time.

import { button, element, refill } from "./dom.js";
import { TABLES, sortRows, tableOf } from "./tables.js";
import { check, iconButton } from "./widgets.js";

/** The tables of an app. */
export class TableView {
  constructor(app) {
    this.app = app;
    this.sorting = { column: 0, descending: false };
    this.tabs = Object.entries(TABLES).map(([name, { title }]) => (
      Object.assign(button(title, title, () => app.change({ table: name })), { table: name, role: "tab" })));
    this.range = check("visible time only", (range) => app.change({ range }));
    this.place = element("div", { className: "place", role: "tabpanel", tabIndex: 0 });
    this.box = element("section", { className: "tables", ariaLabel: "Tables", hidden: true },
      element("div", { className: "tabs" },
        element("div", { role: "tablist", ariaLabel: "Tables", onkeydown: (event) => this.#turn(event) }, ...this.tabs),
        this.range.label, iconButton("close", "Close (t)", () => app.toggleTable())),
      this.place);
  }

  /** Let the next update make the table anew. */
  forget() { this.key = this.key && `${this.key.split(",")[0]},`; }

  /** Show the table that the state names, if any. */
  update(state) {
    this.box.hidden = !state.table;
    this.range.checked = state.range;
    for (const tab of this.tabs) {
      const isShown = tab.table === state.table;
      tab.setAttribute("aria-selected", String(isShown));
      tab.tabIndex = isShown ? 0 : -1; // arrows lead to the others
    }
    this.place.setAttribute("aria-label", TABLES[state.table]?.title ?? "Table");
    if (!state.table) return;
    const { viewport, runs } = this.app;
    const range = state.range ? viewport : { from: -Infinity, to: Infinity };
    const key = [state.table, range.from, range.to, state.matches?.length, state.query].join();
    if (key !== this.key) {
      if (this.key?.split(",")[0] !== state.table) this.sorting = { column: 0, descending: false, none: true };
      this.made = tableOf(state.table, runs, range, state.matches);
      this.key = key;
      this.show();
    }
  }

  /** Go to the tab beside the one that has the focus. */
  #turn(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key], { length } = this.tabs;
    if (!step) return;
    event.preventDefault();
    event.stopPropagation(); // the chart would move
    const tab = this.tabs[(this.tabs.indexOf(event.target) + step + length) % length];
    this.app.change({ table: tab.table });
    tab.focus();
  }

  show() {
    const { columns, rows, note } = this.made;
    const { column, descending, none } = this.sorting;
    const sorted = none ? rows : sortRows(rows, column, descending);
    const head = columns.map(([name], number) => element("th",
      { scope: "col", ariaSort: none || number !== column ? "none" : descending ? "descending" : "ascending" },
      button(name, "Sort", () => this.sort(number))));
    const names = this.app.runs.length > 1 ? 1 : 0; // the column that names a row, behind that of the runs
    const body = sorted.map((row) => element("tr", {}, ...row.map((cell, number) => (
      element(number === names ? "th" : "td",
        number === names ? { scope: "row" } : { className: typeof cell === "number" ? "number" : "" }, isNaN(cell) && typeof cell === "number" ? "–" : columns[number][1](cell))))));
    refill(this.place,
      ...(rows.length ? [element("table", {}, element("thead", {}, element("tr", {}, ...head)),
        element("tbody", {}, ...body))] : []),
      element("p", {}, note));
  }

  /** Sort by a column; a second time the other way. */
  sort(column) {
    const again = !this.sorting.none && this.sorting.column === column;
    this.sorting = { column, descending: again && !this.sorting.descending };
    this.show();
  }
}
