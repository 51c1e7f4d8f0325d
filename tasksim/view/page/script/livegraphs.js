// Graphs of a live page: that of the scenario, and those with other parameters, read when first asked for.

import { inflatedText, unpack } from "./columns.js";

/** Return plain data with its columns in the place of their names. */
export function revived(value, columns) {
  if (Array.isArray(value)) return value.map((item) => revived(item, columns));
  if (value === null || typeof value !== "object") return value;
  if (value.$) {
    const column = columns[value.$];
    return value.of === "BigInt64Array" ? new BigInt64Array(column.buffer) : column;
  }
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, revived(item, columns)]));
}

/** Return the name of what axes of a section say: of a machine, or of a graph; empty where none is changed. */
export function nameOf(live, section, values) {
  return live.axes.filter((axis) => axis.section === section && axis.name in values)
    .map(({ name }) => `${name}=${values[name]}`).join(",");
}

/** Return the name of the graph of some settings. */
export function graphName(live, settings) {
  return nameOf(live, "graph", settings.parameters);
}

/** Return the data of a page with the graph of some settings in the place of its own; null: it is not read yet. */
export function liveAt(live, settings) {
  const name = graphName(live, settings);
  if (!name) return live;
  const { refused } = live.graphs[name] ?? { refused: "this page does not hold such a graph" };
  if (refused) throw new Error(refused);
  return live.read.get(name) ?? null;
}

/** Keep the data of a graph: what it changes of machines is put over those of the page's own graph. */
export function keepGraph(live, name, graph) {
  const machines = Object.fromEntries(Object.entries(live.machines).map(([machine, own]) => {
    const changed = graph.machines[machine];
    return [machine, changed && own.refused ? changed : { ...own, ...changed }];
  }));
  live.read.set(name, { ...live, ...graph, machines });
}

/** Reads the graphs that a page holds; `textOf(id)` is the text of one of its blocks, `takenOf(id)` that of one that is read once. */
export class GraphReader {
  constructor(live, textOf, takenOf = textOf) {
    Object.assign(this, { live, textOf, takenOf, shelves: new Map(), graphs: new Map() });
  }

  /** Return the data of the page's own graph; it comes with all that the page knows. */
  async readOwn() {
    this.#keepShelf(0, unpack(this.live.columns, this.takenOf("live-columns")));
    return revived(JSON.parse(await inflatedText(this.takenOf("live"))), await this.shelves.get(0));
  }

  /** Return the data of another graph by its name; each is read once. */
  read(name) {
    if (!this.graphs.has(name)) this.graphs.set(name, this.#read(this.live.graphs[name].number));
    return this.graphs.get(name);
  }

  async #read(number) {
    const text = await this.#text(number);
    const { columns, ...graph } = JSON.parse(text);
    this.#keepShelf(number, unpack(columns, this.textOf(`graph-${number}-columns`)));
    // A column of another graph is on the shelf of the first graph that has it.
    const needed = new Set(Array.from(text.matchAll(/"\$":"(\d+)\./g), ([, shelf]) => Number(shelf)));
    const shelves = await Promise.all([...needed].map((shelf) => this.#shelf(shelf)));
    return revived(graph, Object.assign({}, ...shelves));
  }

  #text(number) { return inflatedText(this.textOf(`graph-${number}`)); }

  async #shelf(number) {
    if (!this.shelves.has(number)) {
      const { columns } = JSON.parse(await this.#text(number));
      this.#keepShelf(number, unpack(columns, this.textOf(`graph-${number}-columns`)));
    }
    return this.shelves.get(number);
  }

  /** Keep the columns to come of a shelf, if it is not there: each column is one array only. */
  #keepShelf(number, columns) {
    if (!this.shelves.has(number)) this.shelves.set(number, columns);
  }
}
