// Playback: what a run was doing at a time, from its records and from the record of decisions.

import { countUpTo } from "./search.js";
import { timeText } from "./units.js";

export const STEPS = { candidate: 0, chosen: 1, queued: 2, left: 3, taken: 4 }; // as DecisionStep in Python
const TERMS = ["free", "transfer", "duration", "energy", "end", "cost"];
const NO_QUEUE = -1;
const MOVES_PER_CHECKPOINT = 4096; // moves in queues between two copies of all queues
const WRITING_MODES = new Set([2, 3, 4]); // codes of accesses after which only one memory has the datum

/** Return the decisions that the columns of a run hold; null without a record. */
export function decisionsOf(run) {
  const { columns } = run;
  if (!columns.decision_time) return null;
  const step = columns.decision_step;
  const estimate = new Int32Array(step.length).fill(-1); // rows with terms have them in shorter columns
  let count = 0;
  for (let row = 0; row < step.length; row++) if (step[row] <= STEPS.chosen) estimate[row] = count++;
  return {
    count: step.length, step,
    time: Float64Array.from(columns.decision_time, run.seconds),
    task: columns.decision_task, worker: columns.decision_worker,
    queue: columns.decision_queue, position: columns.decision_position,
    /** The terms of a row, by name; NaN where the policy has none. */
    terms: (row) => Object.fromEntries(TERMS.map((name) => (
      [name, estimate[row] < 0 ? NaN : columns[`decision_${name}`][estimate[row]]]))),
  };
}

/** A run to be played. */
export class Playback {
  #at = 0; // moves that are in #queues
  #queues = new Map();
  #checkpoints = [];

  constructor(run) {
    this.run = run;
    this.decisions = run.decisions;
    this.times = this.#eventTimes();
    if (this.decisions) this.#index();
  }

  /** All times at which something happens, each once. */
  #eventTimes() {
    const { run, decisions } = this, all = new Float64Array(3 * run.count + (decisions?.count ?? 0));
    for (let task = 0; task < run.count; task++) {
      all[3 * task] = run.ready(task);
      all[3 * task + 1] = run.start(task);
      all[3 * task + 2] = run.end(task);
    }
    if (decisions) all.set(decisions.time, 3 * run.count);
    all.sort();
    return all.filter((time, place) => !place || time !== all[place - 1]);
  }

  /** Find the rows that are moves in queues, those of each task, and the estimates for each worker. */
  #index() {
    const { step, task, worker, queue } = this.decisions, { run } = this;
    this.moves = [];
    this.rowsOf = Array.from({ length: run.count }, () => []);
    this.estimatesFor = run.workers.map(() => []);
    for (let row = 0; row < step.length; row++) {
      this.rowsOf[task[row]].push(row);
      if (queue[row] !== NO_QUEUE) this.moves.push(row);
      if (step[row] <= STEPS.chosen && worker[row] >= 0) this.estimatesFor[worker[row]].push(row);
    }
  }

  /** The time of the next event after *time*, or with -1 of the last one before it. */
  next(time, direction) {
    const { times } = this;
    if (direction > 0) return times[Math.min(countUpTo(times, time), times.length - 1)] ?? 0;
    let place = countUpTo(times, time);
    while (place > 0 && times[place - 1] >= time) place -= 1;
    return times[Math.max(place - 1, 0)] ?? 0;
  }

  queueName(queue) {
    const { workers } = this.run;
    if (queue === NO_QUEUE) return "no queue";
    if (queue < workers.length) return `queue of ${workers[queue].name}`;
    return this.#severalShared() ? `shared queue ${queue - workers.length + 1}` : "shared queue";
  }

  #severalShared() {
    this.lastQueue ??= this.decisions.queue.reduce((most, queue) => Math.max(most, queue), -1);
    return this.lastQueue > this.run.workers.length;
  }

  /** Return the queues that are not empty at a time: [queue, its tasks in order]. */
  queuesAt(time) {
    const end = countUpTo(this.decisions.time, time);
    const last = countUpTo(this.moves, end - 1);
    this.#goTo(last);
    return [...this.#queues].filter(([, tasks]) => tasks.length).sort((a, b) => a[0] - b[0]);
  }

  #goTo(last) {
    const nearest = Math.min(Math.floor(last / MOVES_PER_CHECKPOINT), this.#checkpoints.length - 1);
    const start = Math.max(nearest, 0) * MOVES_PER_CHECKPOINT;
    if (last < this.#at || start > this.#at) {
      this.#queues = new Map((this.#checkpoints[nearest] ?? []).map(([queue, tasks]) => [queue, [...tasks]]));
      this.#at = start;
    }
    for (; this.#at < last; this.#at++) {
      if (this.#at === this.#checkpoints.length * MOVES_PER_CHECKPOINT) {
        this.#checkpoints.push([...this.#queues].map(([queue, tasks]) => [queue, [...tasks]]));
      }
      this.#move(this.moves[this.#at]);
    }
  }

  #move(row) {
    const { step, task, queue, position } = this.decisions;
    if (!this.#queues.has(queue[row])) this.#queues.set(queue[row], []);
    const tasks = this.#queues.get(queue[row]);
    if (step[row] === STEPS.queued) tasks.splice(position[row], 0, task[row]);
    else tasks.splice(position[row], 1);
  }

  /** Return the tasks that are ready and not begun at a time, by when they became ready. */
  readyAt(time) {
    const { run } = this;
    this.byReady ??= Int32Array.from({ length: run.count }, (_, task) => task)
      .sort((a, b) => run.ready(a) - run.ready(b) || a - b);
    this.readyTimes ??= Float64Array.from(this.byReady, (task) => run.ready(task));
    return this.byReady.subarray(0, countUpTo(this.readyTimes, time)).filter((task) => run.start(task) > time);
  }

  /** Return what each worker does at a time: {task, held, free}; -1 and NaN: nothing, not known. */
  workersAt(time) {
    const { run } = this;
    return run.workers.map((_, worker) => {
      const task = run.taskAt(worker, time);
      const [low, high] = [run.firstSlot[worker], run.firstSlot[worker + 1]];
      const held = [];
      for (let slot = countUpTo(run.slotStart, time, low, high); slot < high; slot++) {
        if (!(run.taken(run.slotTask[slot]) <= time)) break;
        held.push(run.slotTask[slot]);
      }
      return { worker, task, held, free: this.#freeAt(worker, time) };
    });
  }

  /** When a worker is expected to be free, as the scheduler said in its last decision about it until a time. */
  #freeAt(worker, time) {
    const rows = this.estimatesFor?.[worker] ?? [];
    let [low, high] = [0, rows.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.decisions.time[rows[middle]] <= time) low = middle + 1;
      else high = middle;
    }
    if (!low) return NaN;
    const { free, end } = this.decisions.terms(rows[low - 1]);
    return this.decisions.step[rows[low - 1]] === STEPS.chosen ? end : free;
  }

  /** Return the task whose decision is the last one until a time, or -1. */
  lastDecided(time) {
    if (!this.decisions) return this.#lastBegun(time);
    const end = countUpTo(this.decisions.time, time);
    return end ? this.decisions.task[end - 1] : -1;
  }

  #lastBegun(time) {
    const { run } = this, order = run.inOrder();
    this.starts ??= Float64Array.from(order, (task) => run.start(task));
    const count = countUpTo(this.starts, time);
    return count ? order[count - 1] : -1;
  }

  /** Return what is recorded of the decision for a task: the last estimates, and its moves as texts. */
  decisionFor(task) {
    const rows = this.rowsOf?.[task] ?? [], { step } = this.decisions ?? {};
    const chosen = rows.filter((row) => step[row] === STEPS.chosen).at(-1);
    const time = chosen === undefined ? NaN : this.decisions.time[chosen];
    const estimates = rows.filter((row) => step[row] <= STEPS.chosen && this.decisions.time[row] === time)
      .map((row) => ({ worker: this.decisions.worker[row], chosen: step[row] === STEPS.chosen, ...this.decisions.terms(row) }));
    return { time, estimates, moves: rows.filter((row) => step[row] > STEPS.chosen).map((row) => this.#moveText(row)) };
  }

  #moveText(row) {
    const { step, worker, queue, position, time } = this.decisions, { workers } = this.run;
    const place = `${this.queueName(queue[row])}, position ${position[row] + 1}`;
    const at = `${timeText(time[row])}: `;
    if (step[row] === STEPS.queued) return `${at}enters the ${place}`;
    if (step[row] === STEPS.left) return `${at}leaves the ${place}`;
    const name = workers[worker[row]].name;
    if (queue[row] === NO_QUEUE) return `${at}${name} takes it`;
    const stolen = queue[row] < workers.length && queue[row] !== worker[row] ? " (stolen)" : "";
    return `${at}${name} takes it from the ${place}${stolen}`;
  }

  /** Return what happens at exactly a time, as texts. */
  happenings(time) {
    const { run } = this, found = [];
    for (let worker = 0; worker < run.workers.length; worker++) {
      const [low, high] = [run.firstSlot[worker], run.firstSlot[worker + 1]];
      for (let slot = countUpTo(run.slotStart, time, low, high) - 1; slot >= low; slot--) {
        const label = run.label(run.slotTask[slot]), { name } = run.workers[worker];
        if (run.slotEnd[slot] === time) found.unshift(`${label} ends on ${name}`);
        if (run.slotStart[slot] === time) found.push(`${label} starts on ${name}`);
        if (run.slotEnd[slot] < time) break;
      }
    }
    return found;
  }

  /** Return what each memory holds at a time: its bytes, the data with a valid copy, those under way. */
  memoriesAt(time) {
    const { run } = this, holds = this.#validAt(time);
    return run.memories.map(({ name, size }, memory) => {
      const times = run.columns[`memory_time_${memory}`];
      const change = times ? countUpTo(times, time / run.seconds(1)) - 1 : -1;
      const used = times ? (change < 0 ? 0 : run.columns[`memory_used_${memory}`][change]) : NaN;
      return { name, size, used, data: holds?.[memory] ?? null, coming: this.#comingTo(memory, time) };
    });
  }

  #comingTo(memory, time) {
    const { copies } = this.run;
    if (!copies) return [];
    const found = [];
    for (const { target, first, end } of copies.links) {
      if (target !== memory) continue;
      const until = countUpTo(copies.start, time, first, end);
      for (let copy = first; copy < until; copy++) if (copies.endOf(copy) > time) found.push(copies.handle[copy]);
    }
    return found;
  }

  /** Return per memory the data that it has; null where the accesses of tasks are not known. */
  #validAt(time) {
    const { columns, copies } = this.run;
    if (!columns.access_counts) return null;
    this.changes ??= this.#dataChanges(copies);
    const holds = this.run.memories.map(() => new Set());
    columns.home.forEach((home, handle) => holds[home]?.add(handle));
    for (const { at, memory, handle, writes } of this.changes) {
      if (at > time) break;
      if (writes) for (const each of holds) each.delete(handle);
      holds[memory].add(handle);
    }
    return holds;
  }

  /** Return when data come to memories, and when they are written there. */
  #dataChanges(copies) {
    const { run } = this, { access_counts: counts, access_handle: handles, access_mode: modes } = run.columns;
    const changes = [];
    for (const { target, first, end } of copies?.links ?? []) {
      for (let copy = first; copy < end; copy++) {
        changes.push({ at: copies.endOf(copy), memory: target, handle: copies.handle[copy], writes: false });
      }
    }
    for (let task = 0, access = 0; task < run.count; task++) {
      const { memory } = run.workers[run.worker[task]];
      for (const until = access + counts[task]; access < until; access++) {
        if (!WRITING_MODES.has(modes[access])) continue;
        changes.push({ at: run.start(task), memory, handle: handles[access], writes: true });
      }
    }
    return changes.sort((a, b) => a.at - b.at || a.writes - b.writes);
  }
}
