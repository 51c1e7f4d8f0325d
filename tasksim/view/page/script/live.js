// The live view: it asks the worker what the settings ask, and shows the answer above the base.

import { reversed } from "./adjacency.js";
import { dropColumns, inflatedBytes, spareOf } from "./columns.js";
import { fromHash } from "./hash.js";
import { commandOf } from "./livecommand.js";
import { graphName, keepGraph, liveAt } from "./livegraphs.js";
import { LivePanel } from "./livepanel.js";
import { baseSettings, machineName, schedulerOf } from "./livequestion.js";
import { allScales, settingsOf, settingsText } from "./livesettings.js";
import { RunData, hasSameGraph } from "./rundata.js";
import { dataText, takenText } from "./start.js";
import { pinOf } from "./state.js";
import { timeText } from "./units.js";

const NS = -9; // exponent of a tick of the core's clock
const POINTS = 6; // of a curve beside the present one: some of a scale tell its shape
const MEASURES = ["makespan", "energy"]; // what curves and ranks can be of
const IDLE_AFTER_MS = 150; // after an answer: a slider that is dragged moves on within that time
const SOON_MS = 250; // of a replay: a user waits for two of them without noticing
const MOST_IDLE_MS = 120000; // of curves: a machine is not kept busy for longer without being asked
const SHARED = ["kernel", "priority", "number", "iteration", "flop"]; // columns of the graph

/** Start the worker of the page; it answers by `onmessage`. */
async function startWorker(live) {
  const place = URL.createObjectURL(new Blob([`"use strict";\n${dataText("worker")}`], { type: "text/javascript" }));
  const worker = new Worker(place);
  const core = (await inflatedBytes(takenText("core"))).buffer;
  worker.postMessage({ core, live }, [core, ...givenAway(live)]);
  return worker;
}

/**
 * Return the buffers of the columns that the worker alone reads, and need not be there twice.
 *
 * In a page of several graphs there are none: later ones have columns of earlier ones.
 */
function givenAway({ graphs, graph, machines, cuts, kinds }) {
  if (Object.keys(graphs).length) return [];
  const found = new Set(buffersOf([graph, machines, kinds.of_task, cuts.map(({ members, messages }) => [members, messages])]));
  for (const kept of buffersOf([kinds.kernel, kinds.rows])) found.delete(kept);
  return found;
}

/** Return the buffers of the columns in plain data. */
function buffersOf(value) {
  if (ArrayBuffer.isView(value)) return [value.buffer];
  return value && typeof value === "object" ? Object.values(value).flatMap(buffersOf) : [];
}

/** Sliders, answers and curves of a live page. */
export class LiveView {
  constructor(app, live, reader) {
    Object.assign(this, { app, live, reader, number: 0, measure: "makespan", measured: emptyMeasures(), replications: [], jobs: [] });
    this.recording = app.runs[0];
    this.shared = new Map();
    if (live.refused) return this.#showRecording(live.refused);
    this.scales = allScales(live);
    this.recording.graph = this.#sharedBy(live).graph;
    this.settings = settingsOf(live, app.state.live, this.scales);
    this.#beginSimply();
    this.panel = new LivePanel(this);
    app.root.querySelector(".middle").prepend(this.panel.box);
    this.pin = fromHash(location.hash).pin;
    app.onhash = () => {
      this.pin = fromHash(location.hash).pin;
      this.follow(app.state.live);
    };
    app.playing.onopen = () => { if (this.base) this.ask(this.settings); };
    this.#start();
  }

  /** Leave room for two charts above each other, unless the address says otherwise. */
  #beginSimply() {
    const { state } = this.app;
    if (!state.foldedChanged) for (const number of [0, 1]) state.folded.add(`${number}/copies`);
    if (!state.panelsChanged) state.panels = new Set(["ready"]);
  }

  #showRecording(why) {
    this.fallback = why;
    this.app.controls.say(`Only the recording is shown: ${why}.`);
    this.app.root.querySelector(".top").after(banner(`Only the recording is shown: ${why}.`));
  }

  async #start() {
    try {
      if (typeof WebAssembly !== "object" || typeof Worker !== "function") {
        throw new Error("this browser has no WebAssembly");
      }
      this.worker = await startWorker(this.live);
      this.worker.onmessage = ({ data }) => this.#hear(data);
      this.worker.onerror = (event) => this.#fail(event.message ?? "the worker did not start");
    } catch (error) {
      this.#fail(error.message);
    }
  }

  #fail(why) {
    if (this.base) return this.panel.refuse(why);
    this.worker?.terminate();
    this.panel.box.remove();
    this.#showRecording(why);
  }

  #hear(data) {
    if (data.ready) return this.#askBase();
    if (data.refused && !this.base) return this.#fail(data.refused);
    if (data.number !== this.asked?.number) return;
    const { done } = this.asked;
    this.asked = null;
    done(data);
    this.#askNext();
  }

  #send(settings, whole, done) {
    const number = this.number += 1;
    this.asked = { number, done, isWhole: whole, since: performance.now() };
    const decisions = this.app.playing.isOpen;
    const post = () => this.worker.postMessage({ number, settings, whole, decisions });
    const isLast = () => this.asked?.number === number;
    const refuse = ({ message }) => { if (isLast()) this.#hear({ number, refused: message }); };
    try {
      if (liveAt(this.live, settings)) return post();
    } catch (error) {
      return setTimeout(refuse, 0, error);
    }
    return this.#readGraph(graphName(this.live, settings)).then(() => { if (isLast()) post(); }, refuse);
  }

  /** Read a graph that the page holds, and let the worker have it too. */
  async #readGraph(name) {
    const graph = await this.reader.read(name);
    if (this.live.read.has(name)) return;
    keepGraph(this.live, name, graph);
    this.worker.postMessage({ name, graph });
    if (name === graphName(this.live, this.settings)) this.panel.update();
  }

  #askBase() {
    this.#send(baseSettings(this.live), true, (data) => {
      if (data.refused) return this.#fail(data.refused);
      this.base = data;
      this.baseRun = this.#runOf(data, 1, "base", this.live);
      this.#forgetRecording();
      if (data.numbers.makespan !== this.recording.makespan) {
        this.panel.warn(`The base was ${timeText(this.recording.makespan)} when this page was made, and is ${
          timeText(data.numbers.makespan)} here.`);
      }
      this.ask(this.settings);
    });
  }

  /** Keep of the recording only what runs share: the base is in its place now, and is shown next. */
  #forgetRecording() {
    const { makespan, header, graph } = this.recording;
    this.shownAlone = this.recording;
    this.recording = { makespan, header, graph };
  }

  /** Free the columns that a run has alone, or let the worker use them again; null: there is no such run. */
  #drop(run) {
    if (!run) return;
    const shared = new Set([...this.shared.values()].flatMap(({ columns }) => Object.values(columns)));
    const own = [run, run.columns].flatMap(Object.values);
    if (run.coverage) own.push(run.coverage.classes, run.coverage.kept); // its palette is that of other runs, too
    const columns = own.filter((column) => ArrayBuffer.isView(column) && !shared.has(column)), buffers = spareOf(columns);
    this.worker.postMessage({ spare: buffers }, buffers);
    dropColumns(...columns);
  }

  /** Ask what some settings give; what is under way is dropped, or shown first if it will soon be there. */
  ask(settings) {
    this.settings = settings;
    this.app.state.live = settingsText(this.live, settings, this.scales);
    clearTimeout(this.planning);
    this.jobs = [];
    this.panel.update();
    if (!this.base) return;
    this.panel.wait();
    this.next = null;
    if (!this.app.state.live && this.#knowsBase()) {
      this.asked = null; // what is under way is dropped
      return this.#show(this.base, settings);
    }
    if (this.#isSoonAnswered()) return void (this.next = settings);
    return this.#send(settings, true, (data) => this.#show(data, settings));
  }

  /** Whether what is under way is left to end: else nothing would be shown while a slider is dragged. */
  #isSoonAnswered() {
    const { asked, answer } = this;
    return asked?.isWhole && answer?.took < SOON_MS && performance.now() - asked.since < SOON_MS;
  }

  /** Whether the answer for the base has all that is shown: while playing, also decisions. */
  #knowsBase() { return !this.app.playing.isOpen || Boolean(this.base.record.columns.decision_time); }

  #show(data, settings) {
    if (data.refused) return this.panel.refuse(data.refused);
    const { numbers, took } = data;
    Object.assign(this, { answer: { numbers, took }, shown: settings });
    const run = this.#runOf(data, 0, "what if", liveAt(this.live, settings));
    if (hasSameGraph(run, this.baseRun)) run.reference = this.baseRun;
    // What was shown before is large, and there may be no room for three runs.
    this.#drop(this.shownAlone);
    this.shownAlone = data === this.base ? null : run;
    this.app.showRuns([run, this.baseRun]);
    // Only now are there the runs of which the address says which task is pinned.
    if (this.pin) this.app.state.pin = pinOf(this.pin, this.app.runs);
    this.pin = "";
    this.panel.showNumbers(data.numbers, this.base.numbers);
    this.panel.compare(run, this.baseRun);
    this.#planLater(data, settings);
  }

  /** Return the run of an answer; `here` is the page's data with its graph. */
  #runOf({ record, numbers }, number, name, here) {
    const { header, columns, timeline } = record, shared = this.#sharedBy(here);
    Object.assign(columns, shared.columns);
    const words = this.live.command.settings[graphName(this.live, this.settings)];
    const facts = [["makespan", timeText(numbers.makespan)], ["replayed", "here, by the compiled core"],
      ...(here === this.live || !words ? [] : [["graph", words.join(" ")]])];
    return Object.assign(new RunData(number, {
      ...header, name, facts, kernels: here.kernels, others: null,
      bounds: { critical_path_s: numbers.criticalPath, area_s: numbers.area },
      expected_by: this.recording.header.expected_by, known_edges: true,
      data: here.data ?? this.recording.header.data,
    }, columns, NS, timeline), { graph: shared.graph });
  }

  /** Return what the runs of a graph share: columns, predecessors, and the graph that they name. */
  #sharedBy(here) {
    if (!this.shared.has(here)) {
      const { kernel, successor_ptr: first, successors } = here.graph;
      this.shared.set(here, { graph: { kernel, successors }, columns: this.#columnsOf(here, first, successors) });
    }
    return this.shared.get(here);
  }

  #columnsOf(here, first, successors) {
    const columns = {};
    if (here === this.live) {
      for (const name of SHARED) if (this.recording.columns[name]) columns[name] = this.recording.columns[name];
      return { ...columns, lists: this.recording.predecessors };
    }
    const { kernel, priority } = here.graph, { iteration, task_flop: flop } = here;
    Object.assign(columns, { kernel, priority, number: new Int32Array(kernel.length) });
    if (iteration) columns.iteration = iteration;
    if (flop) columns.flop = flop;
    return { ...columns, lists: reversed({ first: Int32Array.from(first, Number), tasks: successors }) };
  }

  // Idle time: the other schedulers, and curves of the makespan over each slider

  /** Plan the work of idle time when nobody has moved a slider for a while: it would hold up the next answer. */
  #planLater(data, settings) {
    this.measured = emptyMeasures();
    this.replications = [];
    if (this.showsIdle) this.panel.showIdle();
    this.showsIdle = false;
    this.jobs = [null]; // to be planned
    this.planning = setTimeout(() => {
      this.#planIdle(data, settings);
      this.#askNext();
    }, IDLE_AFTER_MS);
  }

  #planIdle(data, settings) {
    this.#keep((measured, value) => measured.rivals.set(settings.scheduler, value), data.numbers);
    const schedulers = this.live.schedulers.filter(({ text }) => text !== settings.scheduler).map(({ text }) => ({
      settings: { ...settings, scheduler: text },
      done: (found) => this.#keep((measured, value) => measured.rivals.set(text, value), found),
    }));
    const points = this.panel.scales().flatMap((scale) => this.#pointsOf(scale, settings, data.numbers));
    const draws = this.machine.draws.map((_, seed) => ({
      settings: { ...settings, noise: "model", seed: String(seed) },
      done: ({ makespan }) => this.replications.push(makespan),
    }));
    this.jobs = [...draws, ...schedulers, ...points];
    if (this.#idleTime(data, settings) > MOST_IDLE_MS) this.jobs = [...draws, ...schedulers];
    this.showsIdle = true;
    this.panel.showIdle();
  }

  /** Return how long the jobs will take, in milliseconds: larger graphs take longer. */
  #idleTime({ took }, settings) {
    const sum = this.jobs.reduce((so, job) => so + this.#tasksOf(job.settings), 0);
    return took * sum / this.#tasksOf(settings);
  }

  #tasksOf(settings) {
    const name = graphName(this.live, settings);
    return name ? this.live.graphs[name]?.tasks ?? 0 : this.live.tasks;
  }

  /** Return the jobs of a curve: places on its scale, on both sides of the present one. */
  #pointsOf(scale, settings, numbers) {
    const now = scale.place(settings), last = scale.texts.length - 1;
    const places = new Set(Array.from({ length: POINTS + 1 }, (_, k) => Math.round((k * last) / POINTS)));
    places.delete(now);
    this.#keep((measured, value) => measured.curves.set(scale.key, new Map([[now, value]])), numbers);
    return [...places].sort((a, b) => Math.abs(a - now) - Math.abs(b - now)).map((place) => (
      { settings: scale.with(settings, scale.texts[place]),
        done: (found) => this.#keep((measured, value) => measured.curves.get(scale.key).set(place, value), found) }));
  }

  /** Keep what an answer says of each measure. */
  #keep(put, found) {
    for (const name of MEASURES) put(this.measured[name], found[name]);
  }

  /** By scheduler the value of the measure that the panel ranks by. */
  get rivals() { return this.measured[this.measure].rivals; }

  /** By scale the values of that measure at places on the scale. */
  get curves() { return this.measured[this.measure].curves; }

  /** Rank by another measure, and draw its curves. */
  rankBy(measure) {
    this.measure = measure;
    if (this.answer) this.panel.showIdle();
  }

  #askNext() {
    if (this.next) return this.ask(this.next);
    if (this.asked || !this.jobs[0]) return;
    const job = this.jobs.shift();
    this.#send(job.settings, false, (data) => {
      job.done(data.refused ? { makespan: NaN, energy: NaN } : data);
      this.panel.showIdle();
    });
  }

  // What people do

  /** Ask what an address says. */
  follow(text) { this.ask(settingsOf(this.live, text, this.scales)); }

  set(scale, text) { this.ask(scale.with(this.settings, text)); }

  setScheduler(text) { this.ask({ ...this.settings, scheduler: text }); }

  setSeed(text) { this.ask({ ...this.settings, seed: text }); }

  setNoise(noise) { this.ask({ ...this.settings, noise }); }

  reset() { this.ask(baseSettings(this.live)); }

  /** The command that says the same; null if no command can. */
  get command() { return this.fallback ? null : commandOf(this.live, this.settings); }

  /** The machine of the settings; null if there is none. */
  get machine() {
    const here = this.live.read.get(graphName(this.live, this.settings)) ?? this.live;
    const found = here.machines[machineName(this.live, this.settings)];
    return found && !found.refused ? found : null;
  }

  get scheduler() { return schedulerOf(this.live, this.settings); }
}

function emptyMeasures() {
  return Object.fromEntries(MEASURES.map((name) => [name, { rivals: new Map(), curves: new Map() }]));
}

function banner(text) {
  const made = document.createElement("p");
  made.className = "banner";
  made.role = "status";
  made.textContent = text;
  return made;
}
