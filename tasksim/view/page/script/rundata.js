// Data of a run: its tasks in the order in which workers ran them, and in their own order.

import { filled, narrowed, unpack } from "./columns.js";
import { listsOf, reversed } from "./adjacency.js";
import { messagesOf } from "./messages.js";
import { decisionsOf } from "./playback.js";
import { ascending, countUpTo } from "./search.js";

/** A run. A *slot* is a task's place when tasks are ordered by worker, then by start. */
export class RunData {
  /** `timeline` is who ran what when, as `timelineOf` has it; null: the columns say it. */
  constructor(number, header, columns, tickExponent, timeline = null) {
    Object.assign(this, { number, header, columns });
    this.name = header.name;
    this.kernels = header.kernels;
    this.workers = header.workers.map(([name, architecture, node, memory]) => (
      { name, architecture, node, memory }));
    this.memories = header.memories.map(([name, node, size]) => ({ name, node, size }));
    this.makespan = header.makespan_s;
    this.count = columns.kernel.length;
    const scale = 10 ** Math.abs(tickExponent);
    this.seconds = tickExponent < 0 ? (ticks) => ticks / scale : (ticks) => ticks * scale;
    // Seconds are ticks again by rounding: runs have far fewer than 2^51.
    this.ticks = tickExponent < 0 ? (seconds) => Math.round(seconds * scale) : (seconds) => Math.round(seconds / scale);
    Object.assign(this, timeline ?? timelineOf(columns, this.seconds));
    this.#readTasks();
    this.copies = copiesOf(this);
    this.messages = messagesOf(this);
  }

  #readTasks() {
    const { columns } = this;
    this.kernel = columns.kernel;
    this.priority = columns.priority;
    this.iteration = columns.iteration ?? null;
    this.expected = columns.expected;
    this.flop = columns.flop ?? null;
    this.critical = new Int32Array(columns.critical);
    this.predecessors = columns.lists ?? (columns.predecessors
      ? listsOf(columns.predecessors, columns.predecessor)
      : listsOf(this.releasedBy.map((by) => (by < 0 ? 0 : 1)), columns.released.filter(Boolean)));
    // They are read, and a page of a million tasks has no room for what it does not need.
    for (const name of [
      "task", "gap", "duration", "ready", "released", "predecessors", "predecessor", "copy_start",
    ]) delete columns[name];
  }

  /** The decisions of the scheduler; null if they were not recorded. Made when first asked for. */
  get decisions() {
    if (this.madeDecisions === undefined) this.madeDecisions = decisionsOf(this);
    return this.madeDecisions;
  }

  /** The successors of each task; made when they are first asked for. */
  get successors() {
    this.madeSuccessors ??= reversed(this.predecessors);
    return this.madeSuccessors;
  }

  /** Return the tasks in order of their start; ordered when first asked for. */
  inOrder() {
    this.order ??= ascending(filled(Float64Array, this.count, (task) => this.startTick(task)));
    return this.order;
  }

  /** Return the tasks in the order in which they became ready; ordered when first asked for. */
  inReadyOrder() {
    this.readyOrder ??= ascending(this.readyTick);
    return this.readyOrder;
  }

  startTick(task) { return this.ticks(this.start(task)); }
  endTick(task) { return this.ticks(this.end(task)); }

  start(task) { return this.slotStart[this.slotOf[task]]; }
  end(task) { return this.slotEnd[this.slotOf[task]]; }
  duration(task) { return this.seconds(this.endTick(task) - this.startTick(task)); }
  ready(task) { return this.seconds(this.readyTick[task]); }
  submitted(task) { return this.seconds(this.columns.submitted[task]); }

  /** When its worker took a task from the scheduler; its start where that is not known. */
  taken(task) {
    return this.seconds(this.startTick(task) - (this.columns.taken?.[task] ?? 0));
  }

  /** How long a task had a core; NaN where nobody knows. */
  processorTime(task) {
    const lost = this.columns.lost?.[task] ?? 0; // a tick more
    return lost ? this.seconds(this.endTick(task) - this.startTick(task) - (lost - 1)) : NaN;
  }

  /** How much time others took from a task; 0 where nobody knows. */
  others(task) { return this.seconds(this.columns.others?.[task] ?? 0); }

  /** The part of it that others on the same processor took. */
  crowded(task) { return this.seconds(this.columns.crowded?.[task] ?? 0); }

  /** The same by slot; null of runs that do not know. Made when first asked for. */
  get slotOthers() {
    if (!this.columns.others) return null;
    this.madeSlotOthers ??= Float64Array.from(this.slotTask, (task) => this.others(task));
    return this.madeSlotOthers;
  }

  /** How often the system took the core from a task; -1 where nobody knows. */
  preemptions(task) { return this.columns.preemptions?.[task] ?? -1; }

  /** When the last copy made for a task was there; minus infinity without any. */
  arrival(task) {
    const came = this.columns.arrival?.[task] ?? 0;
    return came ? this.seconds(this.startTick(task) - (came - 1)) : -Infinity;
  }

  /** How many times as long as expected a task took; NaN where nothing is expected. */
  slowness(task) {
    return this.expected[task] > 0 ? this.duration(task) / this.expected[task] : NaN;
  }

  /** What a task waited for before its start, in seconds, as tasksim.run.metrics.waits says it. */
  waits(task) {
    const start = this.startTick(task), ready = this.readyTick[task];
    const came = this.columns.arrival?.[task] ?? 0;
    const taken = Math.max(start - (this.columns.taken?.[task] ?? 0), ready);
    const data = came ? Math.max(0, start - (came - 1) - taken) : 0;
    return {
      dependency: this.seconds(ready - this.columns.submitted[task]),
      data: this.seconds(data),
      runtime: this.seconds(start - ready - data),
    };
  }

  numberOf(task) { return task + this.columns.number[task]; }
  label(task) { return `${this.kernels[this.kernel[task]]} #${this.numberOf(task)}`; }

  /** Return the slots of a worker that may show in a range of time, [low, high). */
  slotsBetween(worker, from, to) {
    const low = this.firstSlot[worker], high = this.firstSlot[worker + 1];
    const first = countUpTo(this.slotStart, from, low, high);
    return [Math.max(low, first - 1), countUpTo(this.slotStart, to, first, high)];
  }

  /** Return the task that a worker runs at a time, or -1. */
  taskAt(worker, time) {
    const low = this.firstSlot[worker];
    const slot = countUpTo(this.slotStart, time, low, this.firstSlot[worker + 1]) - 1;
    return slot >= low && time < this.slotEnd[slot] ? this.slotTask[slot] : -1;
  }

  /** Return what a datum is called. */
  dataName(handle) {
    const block = this.header.data.find((b) => handle >= b.first
      && handle < b.first + Math.max(b.rows, 1) * Math.max(b.columns, 1));
    if (!block) return `data #${handle}`;
    const index = handle - block.first;
    if (!block.columns) return block.rows ? `${block.name}[${index}]` : block.name;
    return `${block.name}[${Math.floor(index / block.columns)}, ${index % block.columns}]`;
  }
}

/**
 * Return who ran what when: by slot the task, its start and end in seconds, by task its slot, its worker, what released it and
 * the tick when it became ready; and by copy its start in seconds.
 */
function timelineOf(columns, seconds) {
  const { worker_tasks: counts, task, gap, duration, released, submitted, ready } = columns;
  const count = task.length, firstSlot = new Int32Array(counts.length + 1);
  const [slotStart, slotEnd, endTick, readyTick] = [0, 1, 2, 3].map(() => new Float64Array(count));
  const [slotOf, workerOf, releasedBy] = [0, 1, 2].map(() => new Int32Array(count));
  for (let worker = 0, slot = 0; worker < counts.length; worker++) {
    const end = slot + counts[worker];
    for (let free = 0; slot < end; slot++) {
      const start = free + gap[slot];
      free = start + duration[slot];
      slotStart[slot] = seconds(start);
      slotEnd[slot] = seconds(free);
      endTick[task[slot]] = free;
      slotOf[task[slot]] = slot;
      workerOf[task[slot]] = worker;
    }
    firstSlot[worker + 1] = end;
  }
  for (let row = 0; row < count; row++) {
    const distance = released[row];
    releasedBy[row] = distance ? row - distance : -1;
    readyTick[row] = (distance ? endTick[row - distance] : submitted[row]) + ready[row];
  }
  const slotTask = task instanceof Int32Array ? task : new Int32Array(task);
  const { copy_start: copied } = columns, copyStart = copied && filled(Float64Array, copied.length, (copy) => seconds(copied[copy]));
  return { firstSlot, slotTask, slotStart, slotEnd, slotOf, worker: narrowed(workerOf), releasedBy, readyTick, copyStart };
}

/** Return whether two runs, shown one after the other, have the same graph: in a live page, equal columns are one array. */
export function hasSameGraph(run, other) {
  return run.count === other.count && run.graph?.kernel === other.graph?.kernel
    && run.graph?.successors === other.graph?.successors;
}

/** Return the copies of a run, by link and start; null of runs without any. Ends and sizes are functions: of millions, arrays are large. */
function copiesOf(run) {
  const { columns, header, copyStart: start } = run;
  const { copy_duration: duration, copy_bytes: bytes, copy_handle: handle, handle_size: size } = columns;
  if (!header.links.length) return null;
  let first = 0;
  const links = header.links.map(({ source, target, copies }) => (
    { source, target, first, end: (first += copies) }));
  return {
    start, links, handle,
    endOf: (copy) => run.seconds(run.ticks(start[copy]) + duration[copy]),
    bytesOf: bytes ? (copy) => bytes[copy] : (copy) => size[handle[copy]],
    task: columns.copy_task,
    reason: columns.copy_reason,
    reasons: [...new Set(columns.copy_reason)],
    requested: (copy) => run.seconds(run.ticks(start[copy]) - columns.copy_requested[copy]),
  };
}

/** Return the runs that a document holds. */
export async function readRuns(header, textOf) {
  return Promise.all(header.runs.map(async (run, number) => {
    const columns = await unpack(run.columns, textOf(number));
    return new RunData(number, run, columns, header.tick_exponent);
  }));
}
