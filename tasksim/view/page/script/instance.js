// An instance of the core as WebAssembly: its memory, its functions, and its refusals.

import { roomFor } from "./columns.js";
import { COLUMN_TYPES, columnLength } from "./structures.js";

const REFUSALS = {
  2: ["bad-arrays", () => "a number in the question is out of range"],
  3: ["no-memory", () => "there is not enough memory"],
  4: ["dropped", () => "the run has stopped, and tasks are left"],
  5: ["illegal-pop", ({ task, worker }) => (
    `the scheduler gave task ${task} to worker ${worker}, which must not have it`)],
  6: ["livelock", ({ number }) => `${number} pops gave no task while nothing else happened`],
  7: ["stuck", ({ task, worker }) => (
    `there is no room for the data of task ${task} in memory ${worker}`)],
  8: ["too-large", ({ task }) => (
    `the data of task ${task} fit in no memory of a worker that can run it`)],
  9: ["nobody", ({ task }) => `no worker can run task ${task}`],
  11: ["unknown-scheduler", () => "the core has no such scheduler"],
  12: ["bug", () => "the core has made an illegal move"],
  13: ["too-late", () => "a time exceeds 292 years"],
};
const BUG = 12;
const BLOCK_VALUES = 4096; // as in core/engine/data/copy_log.h

/** Error of a question that has no answer: its status as a word, task, worker and a number. */
export class Refused extends Error {
  constructor(status, { task = -1, worker = -1, number = 0 } = {}) {
    const [word, message] = REFUSALS[status] ?? REFUSALS[BUG];
    super(message({ task, worker, number }));
    Object.assign(this, { name: "Refused", status: word, task, worker, number });
  }
}

/** A started core. */
export class Instance {
  #exports;
  #kept = new Map();
  spent = false; // whether an error of the core has left it, which lost what was on its stack

  constructor(module) {
    const inner = new WebAssembly.Instance(module, this.#imports(module));
    this.#exports = inner.exports;
    this.#exports._initialize();
  }

  /** Return what the core calls: a clock, and nothing else of the system. */
  #imports(module) {
    const system = {};
    for (const { module: from, name } of WebAssembly.Module.imports(module)) {
      if (from === "wasi_snapshot_preview1") system[name] = () => { throw new Refused(BUG); };
    }
    system.clock_time_get = (clock, precision, place) => {
      this.view().setBigUint64(place, BigInt(Math.round(performance.now() * 1e6)), true);
      return 0;
    };
    return { wasi_snapshot_preview1: system };
  }

  /** Return the result of a function of the core. */
  call(name, ...given) {
    try {
      return this.#exports[`tasksim_${name}`](...given);
    } catch {
      this.spent = true;
      throw new Refused(BUG);
    }
  }

  /** Return a view of its memory, which is stale as soon as the memory grows. */
  view() {
    return new DataView(this.#exports.memory.buffer);
  }

  get memoryBytes() {
    return this.#exports.memory.buffer.byteLength;
  }

  /** Return a text of the core. */
  text(place) {
    const bytes = new Uint8Array(this.#exports.memory.buffer);
    return new TextDecoder().decode(bytes.slice(place, bytes.indexOf(0, place)));
  }

  /** Return a copy of a column of the core. */
  column(kind, place, length) {
    const found = roomFor(COLUMN_TYPES[kind], length);
    found.set(new COLUMN_TYPES[kind](this.#exports.memory.buffer, place, length));
    return found;
  }

  /** Return the values of a column of the core that lies in blocks, whose places are at *place*. */
  joined(kind, place, length) {
    const Type = COLUMN_TYPES[kind], { buffer } = this.#exports.memory, found = roomFor(Type, length);
    new Uint32Array(buffer, place, Math.ceil(length / BLOCK_VALUES)).forEach((block, number) => {
      const first = number * BLOCK_VALUES;
      found.set(new Type(buffer, block, Math.min(BLOCK_VALUES, length - first)), first);
    });
    return found;
  }

  take(bytes) {
    const place = this.#exports.malloc(Math.max(bytes, 1)) >>> 0;
    if (!place) throw new Refused(3);
    return place;
  }

  drop(place) {
    this.#exports.free(place);
  }

  /** Return the object that was made of *given* by *make*, for one more user. */
  kept(given, make) {
    let known = this.#kept.get(given);
    if (!known) this.#kept.set(given, (known = { ...make(), users: 0 }));
    known.users += 1;
    known.last = true;
    return known;
  }

  /** Free the objects that no replay uses and that were not asked for since it was done last. */
  sweep() {
    for (const [given, known] of this.#kept) {
      if (!known.users && !known.last) {
        known.free();
        this.#kept.delete(given);
      }
      known.last = false;
    }
  }
}

/** Arrays and structures in the memory of an instance, each array once, which are dropped together. */
export class Arena {
  #places = [];
  #columns = new Map();

  constructor(instance) {
    this.instance = instance;
  }

  drop() {
    for (const place of this.#places.splice(0)) this.instance.drop(place);
    this.#columns.clear();
  }

  take(bytes) {
    const place = this.instance.take(bytes);
    this.#places.push(place);
    return place;
  }

  /** Return where *values* lie, as a column; *name* is for errors. */
  column(kind, values, name) {
    const known = this.#columns.get(values);
    if (known?.kind === kind) return known.place;
    const place = this.#copied(kind, values, name);
    this.#columns.set(values, { kind, place, length: values.length });
    return place;
  }

  /** Return a view of the column that was made of *values*. */
  view(values) {
    const { kind, place, length } = this.#columns.get(values);
    return new COLUMN_TYPES[kind](this.instance.view().buffer, place, length);
  }

  #copied(kind, values, name) {
    const Type = COLUMN_TYPES[kind];
    const place = this.take(values.length * Type.BYTES_PER_ELEMENT);
    const column = new Type(this.instance.view().buffer, place, values.length);
    if (kind === "int64" && !(values instanceof BigInt64Array)) {
      setHalves(new Int32Array(column.buffer, place, 2 * values.length), values, name);
    } else {
      column.set(values);
    }
    return place;
  }

  text(text) {
    return this.column("int8", new TextEncoder().encode(`${text}\0`));
  }

  /** Return where a structure lies whose fields are *given*; *counts* are known of others. */
  structure(structure, given, counts) {
    const known = { ...counts };
    const names = new Set(structure.fields.map((field) => field.name));
    for (const name of Object.keys(given)) {
      if (!names.has(name)) throw new TypeError(`${structure.name}.${name} is no field`);
    }
    for (const { name, kind } of structure.fields) {
      if (kind === "count") known[name] = Number(given[name] ?? 0);
    }
    const place = this.take(structure.bytes);
    for (const field of structure.fields) {
      const name = `${structure.name}.${field.name}`;
      const value = field.length === null
        ? given[field.name] ?? 0
        : this.#checked(field, given[field.name], columnLength(field.length, known, given), name);
      this.#put(place + field.place, field, value, name);
    }
    return place;
  }

  /** Return where a column lies that must have *length* values; 0 if it is absent and may be. */
  #checked({ kind, optional }, values, length, name) {
    if (values === undefined || values === null) {
      if (optional || !length) return 0;
      throw new TypeError(`${name} is missing: ${length} values`);
    }
    if (values.length !== length) {
      throw new TypeError(`${name} has ${values.length} values, expected ${length}`);
    }
    return this.column(kind, values, name);
  }

  #put(place, { kind, length }, value, name) {
    const view = this.instance.view();
    if (length !== null || kind === "place") view.setUint32(place, value, true);
    else if (kind === "number") view.setFloat64(place, value, true);
    else if (kind === "seed") view.setBigUint64(place, whole(value, name), true);
    else view.setBigInt64(place, whole(value, name), true);
  }

  /** Return the fields of a structure that the core has filled: numbers, and copies of columns, which *copied* makes. */
  read({ fields }, place, counts = {}, copied = (...column) => this.instance.column(...column)) {
    const view = this.instance.view();
    const found = {};
    for (const { name, kind, length, optional, place: offset } of fields) {
      if (length !== null) {
        const column = view.getUint32(place + offset, true);
        const rows = columnLength(length, counts, {});
        if (column || !(rows || optional)) found[name] = copied(kind, column, rows);
      } else if (kind === "number") {
        found[name] = view.getFloat64(place + offset, true);
      } else {
        found[name] = Number(view.getBigInt64(place + offset, true));
      }
    }
    return found;
  }
}

/** Write whole numbers as pairs of 32 bits, lowest first: a BigInt for each takes three times as long. */
function setHalves(halves, values, name) {
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (Number.isSafeInteger(value)) {
      halves[2 * i] = value;
      halves[2 * i + 1] = Math.floor(value / 2 ** 32);
    } else {
      const exact = whole(value, name);
      halves[2 * i] = Number(BigInt.asIntN(32, exact));
      halves[2 * i + 1] = Number(BigInt.asIntN(32, exact >> 32n));
    }
  }
}

function whole(value, name) {
  if (typeof value !== "bigint" && typeof value !== "boolean" && !Number.isSafeInteger(value)) {
    throw new TypeError(`${name}: ${value} is no whole number`);
  }
  return BigInt(value);
}
