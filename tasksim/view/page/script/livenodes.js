// Several nodes in a live page: what the core is asked of them, and its answer as that of one machine.

import { networkOf } from "./livenetwork.js";
import { wholeBy } from "./livequestion.js";

const SEEDS_PER_RUN = 1n << 20n; // as in engine/cluster/cluster.py
const MOST_SEED = 1n << 44n; // above it, Python draws from seeds of more than 64 bits
const COMMUNICATION = 2; // kernels of a node beside those of the graph: send, receive
const MESSAGE_COLUMNS = ["source", "target", "priority", "send", "receive", "way", "eager", "detached", "lands", "factor", "bytes"];
const graphsOfCuts = new WeakMap(); // graphs of cuts, which the core keeps as long as they are the same objects

/**
 * Return {live, machine, whole, question}: the page with the graph of some settings, its machine, and what the core is asked of it.
 *
 * On several nodes *whole* is the question of a node with the whole graph, else the same question.
 */
export function askedBy(page, settings) {
  const { live, machine, whole } = wholeBy(page, settings);
  return { live, machine, whole, question: machine.cluster ? clusterOf(live, machine, whole, settings) : whole };
}

/** Return the cut of a machine: the graph in parts, messages, ways. */
export function cutOf(live, machine) {
  return live.cuts[machine.cluster.cut];
}

/** Return the question of all nodes; *whole* is that of one node with the whole graph. */
function clusterOf(live, machine, whole, settings) {
  const cut = cutOf(live, machine);
  if (BigInt(settings.seed) >= MOST_SEED) throw new Error(`seeds of several nodes are below ${MOST_SEED} in a page`);
  if (!graphsOfCuts.has(cut)) graphsOfCuts.set(cut, cut.members.map(({ graph }) => ({ graph, visible: visibleOf(graph) })));
  const { messages } = cut;
  return {
    cluster: {
      member: cut.members.map((member, node) => nodeOf(live, machine, whole, settings, member, node, graphsOfCuts.get(cut)[node])),
      messages: cut.count,
      in_flight: BigInt(cut.in_flight),
      cores: machine.cluster.cores,
      ...Object.fromEntries(MESSAGE_COLUMNS.map((name) => [name, messages[name]])),
      ...networkOf(cut, settings),
    },
  };
}

function nodeOf(live, machine, whole, settings, member, node, graphs) {
  const { question, scheduler, platform } = whole, tasks = whole.graph.tasks;
  const part = (columns, length) => gathered(columns, tasks, member.task, length);
  const own = { ...question, machine: 1, costs: part(question.costs, member.graph.tasks), estimates: part(question.estimates) };
  if (question.far) own.far = farOf(question.far, part, member.graph.tasks);
  if (question.alone) own.alone = withCommunication(question.alone, live.graph.kernels);
  if (question.contention) {
    own.contention = { ...question.contention, kind_of: withCommunication(question.contention.kind_of, live.graph.kernels) };
  }
  return {
    ...graphs,
    platform,
    question: own,
    scheduler: {
      ...scheduler,
      tables: machine.cluster.tables[live.schedulers.findIndex(({ text }) => text === settings.scheduler)]?.[node] ?? {},
      seed: BigInt(settings.seed) * SEEDS_PER_RUN + BigInt(node),
    },
    order: member.order,
    message: member.message,
    first_ready: member.first_ready,
  };
}

/** Return the columns of some tasks, [classes x length]; those beyond the tasks are 0. */
function gathered(columns, tasks, chosen, length = chosen.length) {
  const classes = columns.length / tasks, found = new Float64Array(classes * length);
  for (let index = 0; index < classes; index++) {
    for (let k = 0; k < chosen.length; k++) found[index * length + k] = columns[index * tasks + chosen[k]];
  }
  return found;
}

function farOf(far, part, length) {
  const names = ["near_bytes", "reach_bytes", "read_s_per_byte", "written_s_per_byte"];
  return { ...far, ...Object.fromEntries(names.map((name) => [name, part(far[name], length)])) };
}

/** Return a column of classes and kernels with a zero for each kernel of communication. */
function withCommunication(column, kernels) {
  const wide = kernels + COMMUNICATION, found = new Float64Array((column.length / kernels) * wide);
  column.forEach((value, place) => { found[Math.floor(place / kernels) * wide + (place % kernels)] = value; });
  return found;
}

/** Return the graph of a node without its communication, which comes last. */
function visibleOf(graph) {
  const tasks = graph.tasks - communicationOf(graph), first = new Float64Array(tasks + 1), successors = [];
  for (let task = 0; task < tasks; task++) {
    for (let k = Number(graph.successor_ptr[task]); k < graph.successor_ptr[task + 1]; k++) {
      if (graph.successors[k] < tasks) successors.push(graph.successors[k]);
    }
    first[task + 1] = successors.length;
  }
  const accesses = Number(graph.access_ptr[tasks]);
  return {
    tasks, handles: graph.handles, kernels: graph.kernels - COMMUNICATION, hints: 0, edges: successors.length, accesses,
    waits: 0, apart: graph.apart, starts: 0,
    kernel: graph.kernel.subarray(0, tasks), priority: graph.priority.subarray(0, tasks),
    successor_ptr: first, successors: Int32Array.from(successors),
    access_ptr: graph.access_ptr.subarray(0, tasks + 1),
    access_handle: graph.access_handle.subarray(0, accesses), access_mode: graph.access_mode.subarray(0, accesses),
    handle_size: graph.handle_size, handle_home: graph.handle_home,
    hint_after: new Int32Array(0), hint_handle: new Int32Array(0),
  };
}

/** Return the number of tasks of communication. */
function communicationOf({ kernel, kernels }) {
  let count = 0;
  for (const each of kernel) count += each >= kernels - COMMUNICATION ? 1 : 0;
  return count;
}

/** Return {machine, question, answer} of all nodes as those of one machine with the whole graph. */
export function together(live, machine, whole, answer) {
  const cut = cutOf(live, machine);
  const all = allNodes(machine, cut.members.length);
  const { class_of: classOf } = whole.platform;
  const count = classOf.length;
  const platform = { ...whole.platform, class_of: Float64Array.from(all.workers, (_, worker) => classOf[worker % count]) };
  return {
    machine: all,
    question: { ...whole, platform },
    answer: {
      makespan_s: answer.makespan_s,
      evictions: answer.nodes.reduce((sum, { evictions }) => sum + evictions, 0),
      ...tasksOf(cut, answer, count, live.graph.tasks),
      ...logsOf(cut, answer, machine.memories.length),
    },
  };
}

/** Return a machine with the workers and memories of so many nodes, as cluster_machine names them. */
function allNodes(machine, nodes) {
  const several = machine.memories.length > 1, memories = machine.memories.length;
  const ofNodes = (rows, changed) => Array.from({ length: nodes }, (_, node) => rows.map((row) => changed(row, node))).flat();
  const cores = machine.cluster.cores, workers = machine.workers.length;
  // All nodes share the work; of shared cores, only as many workers run at a time.
  const share = cores && machine.classes.length === 1 ? cores / workers : nodes;
  return {
    ...machine,
    nodes,
    workers: ofNodes(machine.workers, ([name, architecture, , memory], node) => (
      [`${node}.${name}`, architecture, node, (several ? node * memories : 0) + memory])),
    memories: several ? ofNodes(machine.memories, ([name, , size], node) => [`${node}.${name}`, node, size]) : machine.memories,
    classes: machine.classes.map(([architecture, models, count]) => [architecture, models, count * share]),
  };
}

/** Return the tasks of all nodes by their numbers in the whole graph, and the messages. */
function tasksOf(cut, answer, workers, count) {
  const tasks = { worker: new Int32Array(count), released_by: new Int32Array(count) };
  const times = ["submitted_s", "ready_s", "popped_s", "start_s", "end_s"];
  for (const name of times) tasks[name] = new Float64Array(count);
  const sentBy = senders(cut, answer), broughtBy = new Int32Array(count).fill(-1);
  cut.members.forEach((member, node) => {
    const { tasks: lives } = answer.nodes[node], own = member.task.length;
    member.task.forEach((task, here) => {
      for (const name of times) tasks[name][task] = lives[name][here];
      tasks.worker[task] = lives.worker[here] + node * workers;
      const by = lives.released_by[here];
      if (by >= own) broughtBy[task] = member.message[by - own];
      tasks.released_by[task] = by >= own ? sentBy[broughtBy[task]] : by >= 0 ? member.task[by] : -1;
    });
  });
  return { tasks, messages: messagesOfCut(cut, answer), broughtBy };
}

/** Return, per message, the task whose end released its sending; -1: its submission did. */
function senders(cut, answer) {
  const found = new Int32Array(cut.count).fill(-1), after = new Int32Array(cut.count).fill(-1);
  cut.members.forEach((member, node) => {
    const { released_by: releasedBy } = answer.nodes[node].tasks, own = member.task.length;
    member.message.forEach((message, k) => {
      if (cut.messages.source[message] !== node) return;
      const by = releasedBy[own + k];
      if (by >= own) after[message] = member.message[by - own];
      else if (by >= 0) found[message] = member.task[by];
    });
  });
  // A received datum that is sent on was released by the message that brought it.
  const origin = (message) => {
    let first = message;
    while (after[first] >= 0) first = after[first];
    return found[first];
  };
  return found.map((_, message) => origin(message));
}

/** Return the messages in columns: when their data were ready, began to move and had arrived. */
function messagesOfCut({ messages, members }, answer) {
  const ready = Float64Array.from(messages.send, (send, message) => answer.nodes[messages.source[message]].tasks.ready_s[send]);
  return {
    source: messages.source, target: messages.target, size: messages.size, handle: messages.handle, task: messages.task,
    ready_s: ready, started: answer.messages.started, ended: answer.messages.ended,
    nodes: members.length,
  };
}

/** Return the copies and the use of memory of all nodes; null on nodes of one memory. */
function logsOf(cut, answer, memories) {
  if (answer.nodes.every(({ copies }) => !copies)) return { copies: null, memory: null };
  const copies = {}, memory = {};
  const add = (table, name, values) => { (table[name] ??= []).push(values); };
  answer.nodes.forEach((node, number) => {
    if (!node.copies) return;
    const { task, data, graph } = cut.members[number], first = number * memories;
    add(copies, "size", Float64Array.from(node.copies.handle, (handle) => Number(graph.handle_size[handle])));
    add(copies, "handle", node.copies.handle.map((handle) => data[handle]));
    add(copies, "task", node.copies.task.map((own) => (own >= 0 && own < task.length ? task[own] : -1)));
    for (const name of ["source", "target"]) add(copies, name, Int32Array.from(node.copies[name], (at) => at + first));
    for (const name of ["requested_s", "start_s", "end_s", "reason"]) add(copies, name, node.copies[name]);
    add(memory, "memory", Int32Array.from(node.memory.memory, (at) => at + first));
    for (const name of ["time_s", "used_bytes"]) add(memory, name, node.memory[name]);
  });
  return { copies: joinedColumns(copies), memory: joinedColumns(memory) };
}

function joinedColumns(parts) {
  return Object.fromEntries(Object.entries(parts).map(([name, columns]) => {
    const found = new columns[0].constructor(columns.reduce((sum, { length }) => sum + length, 0));
    let place = 0;
    for (const column of columns) {
      found.set(column, place);
      place += column.length;
    }
    return [name, found];
  }));
}

/** Return how long the workers of all nodes were idle on average while a message was on its way to them, in seconds. */
export function waitForMessages({ tasks, messages, broughtBy }, workers) {
  const { worker, start_s: start, end_s: end, ready_s: ready } = tasks;
  const order = Int32Array.from(start, (_, task) => task).sort((a, b) => worker[a] - worker[b] || start[a] - start[b] || end[a] - end[b]);
  let waited = 0;
  order.forEach((task, place) => {
    const before = order[place - 1], message = broughtBy[task];
    if (message < 0) return;
    const free = place && worker[before] === worker[task] ? end[before] : 0;
    waited += Math.max(0, Math.min(ready[task], start[task]) - Math.max(free, messages.ready_s[message]));
  });
  return waited / workers;
}
