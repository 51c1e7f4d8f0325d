// The compiled core as WebAssembly: questions go in as arrays, answers come out as arrays.
//
// A question has the structures of tasksim/core/tasksim_core.h by their names, as Python's asked()
// gives them. A page that loads the core needs 'wasm-unsafe-eval' among its sources of scripts.

import { dropColumns } from "./columns.js";
import { Arena, Instance, Refused } from "./instance.js";
import {
  CLUSTER, CONTENTION, DECISIONS, FAR, GRAPH, LOG, MEMBER, OUTCOME, PLATFORM, QUESTION, SCHEDULER, TASKS,
} from "./structures.js";

const DONE = 0, MORE = 1;
const EVENTS_PER_CALL = 100000; // the core comes back after 20 ms, too
const TWISTER_WORDS = 625;

/** Return the core in *bytes*, an array or a compiled module. */
export async function loadCore(bytes) {
  return new Core(
    bytes instanceof WebAssembly.Module ? bytes : await WebAssembly.compile(bytes));
}

class Core {
  #module;
  #instance;

  constructor(module) {
    this.#module = module;
    this.#instance = new Instance(module);
    this.version = this.#instance.call("core_version");
    for (const name of ["sources", "compiler"]) {
      this[name] = this.#instance.text(this.#instance.call(`core_${name}`));
    }
  }

  /** Bytes of memory that the core has taken, which never become fewer. */
  get memoryBytes() {
    return this.#instance.memoryBytes;
  }

  /** Return a replay that has not begun; throw Refused if it cannot begin. */
  ask(question) {
    // An error has left objects behind in the old instance: it goes, once its replays have gone.
    if (this.#instance.spent) this.#instance = new Instance(this.#module);
    return question.cluster
      ? new Asked(this.#instance, question.cluster, CLUSTER_REPLAY)
      : new Asked(this.#instance, question, MACHINE_REPLAY);
  }

  /** Return the answer to a question; throw Refused if there is none. */
  replay(question) {
    const asked = this.ask(question);
    try {
      while (asked.goOn()) continue;
      return asked.answer();
    } finally {
      asked.free();
    }
  }
}

/** A replay, of a machine or of a cluster: its *kind* makes it and reads what happened. */
class Asked {
  #uses = [];
  #handle = 0;
  #kind;
  #logs = [];
  #late = null; // columns that were read of an answer that reads them late; null: it reads all at once

  constructor(instance, given, kind) {
    Object.assign(this, { instance, given, arena: new Arena(instance) });
    this.#kind = kind;
    try {
      this.status = this.arena.take(8);
      this.outcome = this.arena.take(OUTCOME.bytes);
      new BigInt64Array(instance.view().buffer, this.outcome, OUTCOME.bytes / 8).fill(-1n);
      this.#handle = this.#made(kind.make(this, given));
      this.done = false;
      instance.sweep();
    } catch (error) {
      this.free();
      throw error;
    }
  }

  /** Return an object of the core; throw Refused if it made none. */
  #made(handle) {
    if (!handle) throw this.#refusal(this.instance.view().getInt32(this.status, true));
    return handle;
  }

  #refusal(status) { return new Refused(status, this.arena.read(OUTCOME, this.outcome)); }

  get handle() {
    if (!this.#handle) throw new TypeError("this replay was given up");
    return this.#handle;
  }

  /** Let it go on for so many events or some 20 ms; return whether there is more to come. */
  goOn(events = EVENTS_PER_CALL) {
    if (this.done) return false;
    const status = this.instance.call("replay_go_on", this.handle, BigInt(events));
    if (status > MORE) {
      this.instance.call("replay_outcome", this.handle, this.outcome);
      throw this.#refusal(status);
    }
    this.done = status === DONE;
    return !this.done;
  }

  /** Forget it, and all that the core was given for it alone. */
  free() {
    if (!this.instance.spent) {
      if (this.#handle) this.instance.call("replay_free", this.#handle);
      for (const log of this.#logs) this.instance.call("log_free", log);
      for (const used of this.#uses) used.users -= 1;
      this.arena.drop();
    }
    dropColumns(...this.#late ?? []);
    this.#uses = [];
    this.#logs = [];
    this.#handle = 0;
  }

  /** Return a view of a column of the question in the core's memory; it is stale as soon as the core takes memory. */
  columnOf(values) { return this.arena.view(values); }

  /** Return the core's graph or platform of *given*: that which it has, if it has one. */
  object(kind, structure, given) {
    if (!given) throw new TypeError(`the question has no ${kind}`);
    const { instance, status } = this;
    const used = instance.kept(given, () => {
      const arena = new Arena(instance);
      try {
        const place = arena.structure(structure, given, {});
        const handle = instance.call(`${kind}_new`, place, status);
        if (!handle) throw new Refused(instance.view().getInt32(status, true));
        const free = () => {
          instance.call(`${kind}_free`, handle);
          arena.drop();
        };
        return { handle, free };
      } catch (error) {
        arena.drop();
        throw error;
      }
    });
    this.#uses.push(used);
    return used.handle;
  }

  question({ graph, platform, question }, ownTasks) {
    const counts = {
      ...countsOf(GRAPH, graph), ...countsOf(PLATFORM, platform), own_tasks: ownTasks,
    };
    const part = (structure, given) => given && this.arena.structure(structure, given, counts);
    const { far, contention } = question;
    const places = { far: part(FAR, far), contention: part(CONTENTION, contention) };
    return part(QUESTION, { ...question, ...places });
  }

  scheduler({ name, numbers = {}, tables = {}, twister, seed = 0 }) {
    const texts = (names) => this.#column("uint32", names.map((each) => this.arena.text(each)));
    const columns = Object.entries(tables).map(
      ([table, values]) => this.arena.column("int64", values, `scheduler.tables.${table}`));
    return this.arena.structure(SCHEDULER, {
      name: this.arena.text(name),
      numbers: Object.keys(numbers).length,
      number_names: texts(Object.keys(numbers)),
      number_values: Object.values(numbers),
      tables: columns.length,
      table_names: texts(Object.keys(tables)),
      table_values: this.#column("uint32", columns),
      table_lengths: Object.values(tables).map((values) => values.length),
      twister,
      seed,
    }, { twister_words: TWISTER_WORDS });
  }

  #column(kind, values) {
    return this.arena.column(kind, values, "places");
  }

  /** Return what happened on a machine, in columns that are read when they are first asked for, and are gone when it is freed. */
  lateAnswer() {
    this.#late = [];
    return this.answer();
  }

  /** Return what happened, in arrays of the caller's own. */
  answer() {
    if (!this.done) throw new TypeError("this replay has not ended");
    return { events: this.#noted("replay", []).events, ...this.#kind.answer(this, this.given) };
  }

  #noted(kind, which) {
    this.instance.call(`${kind}_outcome`, this.handle, ...which, this.outcome);
    return this.arena.read(OUTCOME, this.outcome);
  }

  /** Return what happened on a machine, or on a node of a cluster: *which*. */
  part(kind, count, contention, ...which) {
    const noted = this.#noted(kind, which);
    const parts = {
      evictions: noted.evictions,
      tasks: this.#tasks(kind, count, which),
      copies: null,
      memory: null,
      numa: contention?.numa ? this.#numa(kind, contention.domains, which) : null,
    };
    return noted.copies < 0 ? parts : { ...parts, ...this.#log(kind, noted, which) };
  }

  /** Return the columns of the tasks; only one at a time needs room in the core's memory. */
  #tasks(kind, count, which) {
    return this.#columns(TASKS.fields.filter(({ optional }) => !optional), (field) => this.#briefly((arena) => {
      const [place, column] = [TASKS.bytes, 8 * count].map((bytes) => arena.take(bytes));
      new Uint8Array(this.instance.view().buffer, place, TASKS.bytes).fill(0);
      this.instance.view().setUint32(place + field.place, column, true);
      this.instance.call(`${kind}_tasks`, this.handle, ...which, place);
      return this.instance.column(field.kind, column, count);
    }));
  }

  /** Return the columns of the log, which lies in the core's memory until the replay is freed. */
  #log(kind, counts, which) {
    const place = this.arena.take(LOG.bytes);
    const log = this.instance.call(`${kind}_log`, this.handle, ...which, place);
    if (!log) throw new TypeError("the answer was taken before");
    this.#logs.push(log);
    const part = (length) => this.#columns(LOG.fields.filter((field) => field.length === length), (field) => (
      this.instance.joined(field.kind, this.instance.view().getUint32(place + field.place, true), counts[length])));
    return { copies: part("copies"), memory: part("changes") };
  }

  /** Return columns by the names of their fields, each as *read* returns it: all now, or each when it is first asked for. */
  #columns(fields, read) {
    const found = {};
    for (const field of fields) {
      let column = null;
      const readLate = () => {
        if (!column) this.#late.push(column = read(field));
        return column;
      };
      if (this.#late) Object.defineProperty(found, field.name, { get: readLate });
      else found[field.name] = read(field);
    }
    return found;
  }

  /** Return the decisions of the scheduler of a machine, in columns; null where nobody asked for them. */
  decisions({ decisions }) {
    if (!decisions) return null;
    return this.#briefly((arena) => {
      const place = arena.take(DECISIONS.bytes);
      this.instance.call("replay_decisions", this.handle, place);
      const { rows } = arena.read(DECISIONS, place);
      const { rows: count, ...columns } = arena.read(DECISIONS, place, { rows });
      return columns;
    });
  }

  #numa(kind, domains, which) {
    return this.#briefly((arena) => {
      const [accessed, extra] = [domains * domains, domains].map(
        (length) => arena.column("real", new Float64Array(length)));
      this.instance.call(`${kind}_numa`, this.handle, ...which, accessed, extra);
      return {
        accessed_bytes: this.instance.column("real", accessed, domains * domains),
        extra_s: this.instance.column("real", extra, domains),
      };
    });
  }

  /** Return when the data of each message started and had arrived, in ticks. */
  messages(count) {
    return this.#briefly((arena) => {
      const [started, ended] = [0, 1].map(
        () => arena.column("int64", new BigInt64Array(count), "messages"));
      this.instance.call("cluster_messages", this.handle, started, ended);
      const read = (place) => this.instance.column("int64", place, count);
      return { started: read(started), ended: read(ended) };
    });
  }

  #briefly(body) {
    const arena = new Arena(this.instance);
    try {
      return body(arena);
    } finally {
      arena.drop();
    }
  }
}

const MACHINE_REPLAY = {
  make(asked, given) {
    const { graph, platform, scheduler } = given;
    return asked.instance.call(
      "replay_new", asked.object("graph", GRAPH, graph),
      asked.object("platform", PLATFORM, platform), asked.question(given, graph.tasks),
      asked.scheduler(scheduler), 0, asked.status, asked.outcome);
  },

  answer(asked, { graph, question }) {
    const part = asked.part("replay", graph.tasks, question.contention);
    return { makespan_s: latest(part.tasks.end_s), ...part, decisions: asked.decisions(question) };
  },
};

const CLUSTER_REPLAY = {
  make(asked, { member: members, ...given }) {
    const places = members.map((member) => memberOf(asked, member));
    const array = asked.arena.take(MEMBER.bytes * members.length);
    const memory = new Uint8Array(asked.instance.view().buffer);
    places.forEach((place, node) => {
      memory.copyWithin(array + node * MEMBER.bytes, place, place + MEMBER.bytes);
    });
    const fields = { ...given, nodes: members.length, member: array };
    const place = asked.arena.structure(CLUSTER, fields, {});
    return asked.instance.call("cluster_new", place, asked.status, asked.outcome);
  },

  /** The makespan is the end of the last task: communication may end later. */
  answer(asked, { member: members, cores, messages: count }) {
    const nodes = members.map(({ graph, question }, node) => (
      asked.part("cluster", graph.tasks, cores ? null : question.contention, BigInt(node))));
    const ends = nodes.map(({ tasks }, node) => (
      latest(tasks.end_s.subarray(0, members[node].visible.tasks))));
    return { makespan_s: latest(ends), nodes, messages: asked.messages(count) };
  },
};

function memberOf(asked, member) {
  const { graph, visible, platform, order, message, first_ready } = member;
  const { tasks } = graph;
  const places = {
    graph: asked.object("graph", GRAPH, graph),
    visible: asked.object("graph", GRAPH, visible),
    platform: asked.object("platform", PLATFORM, platform),
    question: asked.question(member, visible.tasks),
    scheduler: asked.scheduler(member.scheduler),
  };
  return asked.arena.structure(
    MEMBER, { ...places, order, message, first_ready },
    { tasks, communications: tasks - visible.tasks });
}

function latest(times) {
  return times.reduce((last, time) => Math.max(last, time), 0);
}

/** Return the counts of a structure, by which columns of others have their length. */
function countsOf({ fields }, given) {
  const counts = fields.filter(({ kind }) => kind === "count");
  return Object.fromEntries(counts.map(({ name }) => [name, Number(given[name] ?? 0)]));
}
