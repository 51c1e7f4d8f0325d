// The answer of the core as the columns of a run, in the form in which pages hold recorded ones.

import { dropColumns, filled, narrowed, roomFor } from "./columns.js";
import { TICKS_PER_S } from "./livequestion.js";
import { ascending } from "./search.js";

const CHOSEN = 1; // steps up to it have terms: a candidate, the chosen one
const MOST_SLICES = 20000; // of the use of a memory, as in tasksim/view/page/tables.py
const BRINGS = 2; // reasons below it bring data for a task: fetch, prefetch

/**
 * Return {header, columns, timeline} of an answer, but for what it shares with the recording of the graph.
 *
 * The answer is used up: there is no room for both.
 */
export function recordOf(machine, question, answer) {
  const { tasks } = answer, columns = {};
  const header = {
    workers: machine.workers, memories: machine.memories.length > 1 ? machine.memories : [],
    makespan_s: answer.makespan_s, links: [], known_memories: [], messages: 0,
  };
  // One after the other: columns of an answer are read when they are first asked for, and go when they are used up.
  if (answer.memory) addMemory(header, columns, answer.memory);
  const { worker } = tasks, count = worker.length, start = toTicks(tasks.start_s);
  const copied = answer.copies ? addCopies(header, columns, machine, question, answer.copies, worker, start) : {};
  columns.taken = narrowed(takenBefore(start, tasks.popped_s));
  columns.submitted = narrowed(toTicks(tasks.submitted_s));
  columns.expected = expected(machine, question, worker, count);
  if (answer.messages) addMessages(header, columns, answer.messages);
  if (answer.decisions) addDecisions(columns, answer.decisions);
  if (answer.decisions && header.memories.length) addAccesses(columns, question.graph);
  const [end, ready] = [tasks.end_s, tasks.ready_s].map(toTicks);
  const order = ascending(start), slotTask = slots(worker, order, start, end, ready);
  columns.critical = criticalTasks(slotTask, worker, tasks.released_by, end, ready);
  const timeline = { ...timelineBy(machine, slotTask, worker, start, end), releasedBy: tasks.released_by, readyTick: narrowed(ready), order };
  return { header, columns, timeline: { ...timeline, worker: narrowed(worker), ...copied } };
}

/** Return how long before its start each task was taken by its worker, in ticks; 0 where nobody noted it. */
function takenBefore(start, popped) {
  for (let task = 0; task < popped.length; task++) popped[task] = isNaN(popped[task]) ? 0 : start[task] - tickOf(popped[task]);
  return popped;
}

function tickOf(seconds) { return Math.round(seconds * TICKS_PER_S); }

/** Make ticks of seconds, in their place; return them. */
function toTicks(seconds) {
  for (let row = 0; row < seconds.length; row++) seconds[row] = tickOf(seconds[row]);
  return seconds;
}

/** Return the tasks by worker, then in the order in which it ran them; `byStart` has all of them by their start. */
function slots(worker, byStart, start, end, ready) {
  const next = firstSlots(worker), order = roomFor(Int32Array, worker.length);
  for (const task of byStart) order[next[worker[task]]++] = task;
  // Only tasks that begin at once are not in order yet: few, and next to each other.
  const isLater = (a, b) => worker[a] === worker[b] && start[a] === start[b]
    && (end[a] - end[b] || ready[a] - ready[b] || a - b) > 0;
  for (let slot = 1; slot < order.length; slot++) {
    const task = order[slot];
    let to = slot;
    for (; to > 0 && isLater(order[to - 1], task); to--) order[to] = order[to - 1];
    order[to] = task;
  }
  return order;
}

/** Return where the slots of each worker begin; the last one is that of a worker beyond all. */
function firstSlots(worker, workers = worker.reduce((most, each) => Math.max(most, each), 0) + 1) {
  const first = new Int32Array(workers + 1);
  for (let task = 0; task < worker.length; task++) first[worker[task] + 1]++;
  for (let of = 0; of < workers; of++) first[of + 1] += first[of];
  return first;
}

/** Return who ran what when, as rundata.js has it of recorded runs, by slot. */
function timelineBy(machine, slotTask, worker, start, end) {
  const count = slotTask.length, slotOf = roomFor(Int32Array, count);
  slotTask.forEach((task, slot) => { slotOf[task] = slot; });
  const inSeconds = (ticks) => {
    const found = filled(Float64Array, count, (slot) => ticks[slotTask[slot]] / TICKS_PER_S);
    dropColumns(ticks);
    return found;
  };
  return {
    firstSlot: firstSlots(worker, machine.workers.length), slotTask, slotOf, slotStart: inSeconds(start), slotEnd: inSeconds(end),
  };
}

/** Return what each task is expected to take on its worker. */
function expected(machine, question, worker, count) {
  const { estimates } = question.question, { class_of: classOf } = question.platform;
  return filled(Float32Array, count, (task) => estimates[classOf[worker[task]] * count + task]);
}

/** Return the practical critical path, as tasksim.run.critical says it, first task first. */
function criticalTasks(order, worker, releasedBy, end, ready) {
  const previous = roomFor(Int32Array, order.length).fill(-1);
  for (let slot = 1; slot < order.length; slot++) {
    if (worker[order[slot]] === worker[order[slot - 1]]) previous[order[slot]] = order[slot - 1];
  }
  let task = end.length ? end.indexOf(end.reduce((most, at) => Math.max(most, at), 0)) : -1;
  const path = [];
  while (task >= 0 && path.length <= end.length) {
    path.push(task);
    const before = previous[task];
    task = before >= 0 && end[before] > ready[task] ? before : releasedBy[task];
  }
  dropColumns(previous);
  return Int32Array.from(path.reverse());
}

/** Add the copies by link and start, as tables.py has those of recorded runs; return when they begin, in seconds. */
function addCopies(header, columns, machine, question, copies, worker, start) {
  const copyStart = toTicks(copies.start_s), { source, target } = copies;
  const rows = byLink(source, target, copyStart, machine.memories.length);
  for (const copy of rows) {
    const from = source[copy], to = target[copy], last = header.links.at(-1);
    if (last?.source === from && last.target === to) last.copies += 1;
    else header.links.push({ source: from, target: to, copies: 1 });
  }
  // A column is read when it is needed, and goes when those made of it are there: there is no room for all at once.
  const moved = (Kind, values, value) => {
    const found = filled(Kind, rows.length, (row) => value(rows[row]));
    dropColumns(values);
    return found;
  };
  const { size, handle, task, reason } = copies;
  if (size) columns.copy_bytes = narrowed(moved(Float64Array, size, (copy) => size[copy]));
  else columns.handle_size = narrowed(Float64Array.from(question.graph.handle_size, Number));
  columns.copy_handle = narrowed(moved(Int32Array, handle, (copy) => handle[copy]));
  const requested = toTicks(copies.requested_s);
  columns.copy_requested = narrowed(moved(Float64Array, requested, (copy) => copyStart[copy] - requested[copy]));
  const end = toTicks(copies.end_s);
  columns.arrival = arrivals(machine, { task, target, reason, end }, worker, start);
  columns.copy_task = moved(Int32Array, task, (copy) => task[copy]);
  columns.copy_reason = moved(Uint8Array, reason, (copy) => reason[copy]);
  columns.copy_duration = narrowed(moved(Float64Array, end, (copy) => end[copy] - copyStart[copy]));
  const found = { copyStart: moved(Float64Array, copyStart, (copy) => copyStart[copy] / TICKS_PER_S) };
  dropColumns(rows, source, target);
  return found;
}

/** Return the copies by source, target and start. */
function byLink(source, target, start, memories) {
  const linkOf = (copy) => source[copy] * memories + target[copy];
  const next = new Uint32Array(memories * memories + 1), found = roomFor(Uint32Array, start.length);
  for (let copy = 0; copy < start.length; copy++) next[linkOf(copy) + 1]++;
  for (let link = 1; link < next.length; link++) next[link] += next[link - 1];
  const order = ascending(start);
  for (const copy of order) found[next[linkOf(copy)]++] = copy;
  dropColumns(order);
  return found;
}

/** Return the bytes of a copy; those of nodes know them themselves. */
export function sizeOfCopy({ graph }, { size, handle }, copy) {
  return size ? size[copy] : Number(graph.handle_size[handle[copy]]);
}

/** Add the messages by start, as tables.py has those of recorded runs. */
function addMessages(header, columns, { source, target, size, handle, task, ready_s: ready, started, ended }) {
  const begin = filled(Float64Array, started.length, (message) => Number(started[message]));
  const rows = filled(Int32Array, begin.length, (message) => message).sort((a, b) => begin[a] - begin[b] || a - b);
  const column = (value) => filled(Float64Array, rows.length, (row) => value(rows[row]));
  header.messages = rows.length;
  columns.message_start = column((message) => begin[message]);
  columns.message_duration = column((message) => Number(ended[message]) - begin[message]);
  columns.message_ready = column((message) => begin[message] - Math.round(ready[message] * TICKS_PER_S));
  const kept = { source, target, bytes: size, handle, task };
  for (const [name, values] of Object.entries(kept)) columns[`message_${name}`] = column((message) => values[message]);
}

/** Return how long before its start the data of a task had come, a tick more; 0: none came. */
function arrivals(machine, { task: tasks, target, reason, end }, worker, start) {
  const came = roomFor(Float64Array, start.length).fill(-1), memoryOf = machine.workers.map(([, , , memory]) => memory);
  for (let copy = 0; copy < tasks.length; copy++) {
    const task = tasks[copy];
    if (task < 0 || reason[copy] >= BRINGS || memoryOf[worker[task]] !== target[copy]) continue;
    came[task] = Math.max(came[task], end[copy]);
  }
  for (let task = 0; task < came.length; task++) {
    came[task] = came[task] < 0 ? 0 : start[task] - Math.min(came[task], start[task]) + 1;
  }
  return narrowed(came);
}

/** Add the decisions of the scheduler; only rows of candidates have terms. */
function addDecisions(columns, { time_s: time, task, step, worker, queue, position, ...terms }) {
  Object.assign(columns, {
    decision_time: toTicks(time), decision_task: task, decision_step: step, decision_worker: worker,
    decision_queue: queue, decision_position: position,
  });
  for (const [name, values] of Object.entries(terms)) {
    columns[`decision_${name.replace(/_s$/, "")}`] = values.filter((_, row) => step[row] <= CHOSEN);
  }
}

/** Add the data that each task accesses, and where data are at first. */
function addAccesses(columns, { tasks, access_ptr: first, access_handle: handle, access_mode: mode, handle_home: home }) {
  columns.access_counts = filled(Int32Array, tasks, (task) => Number(first[task + 1] - first[task]));
  columns.access_handle = new Int32Array(handle);
  columns.access_mode = new Int8Array(mode);
  columns.home = new Int32Array(home);
}

function addMemory(header, columns, { time_s: time, memory, used_bytes: used }) {
  header.known_memories = [...new Set(memory)].sort((a, b) => a - b);
  for (const known of header.known_memories) {
    const rows = thinned(placesOf(known, memory), time, used);
    columns[`memory_time_${known}`] = filled(Float64Array, rows.length, (row) => tickOf(time[rows[row]]));
    columns[`memory_used_${known}`] = filled(Float64Array, rows.length, (row) => Number(used[rows[row]]));
  }
  dropColumns(time, memory, used);
}

/** Return of many changes those with the extremes of each slice of time, and its first and its last. */
function thinned(changes, time, used) {
  if (changes.length <= 4 * MOST_SLICES) return changes;
  const slice = time[changes.at(-1)] / MOST_SLICES, kept = [];
  for (let first = 0, next; first < changes.length; first = next) {
    const end = (Math.floor(time[changes[first]] / slice) + 1) * slice;
    let low = first, high = first;
    for (next = first + 1; next < changes.length && time[changes[next]] < end; next++) {
      if (used[changes[next]] < used[changes[low]]) low = next;
      if (used[changes[next]] > used[changes[high]]) high = next;
    }
    kept.push(...[...new Set([first, low, high, next - 1])].sort((a, b) => a - b));
  }
  return Uint32Array.from(kept, (row) => changes[row]);
}

/** Return where `value` is in a column. */
function placesOf(value, column) {
  const found = new Uint32Array(column.reduce((count, each) => count + (each === value), 0));
  for (let row = 0, place = 0; place < found.length; row++) if (column[row] === value) found[place++] = row;
  return found;
}
