// The question of a live page: what the core is asked, from the data of the page and the settings.
//
// Operations and their order are those of Python (tasksim/platform/settings.py, copyestimates.py,
// tasksim/engine/data/network.py, durations.py), so that the numbers are the same to the last bit.

import { liveAt, nameOf } from "./livegraphs.js";

export const TICKS_PER_S = 1e9;
const LEAST_LATENCY_S = 1e-9; // as MIN_LATENCY_S in engine/data/network.py
const IN_SECONDS = ["submission", "task", "wakeup"]; // overheads that the core has in seconds, too
const IN_TICKS = ["submission", "task", "wakeup", "start", "push", "fetch", "progress", "kernel", "copy"];
const PLANNED_FOR = { speed: "speeds", kernel: "durations", bandwidth: "bandwidths", latency: "latencies", memory: "sizes of memories" };
const OF_MACHINES = ["push", "fetch", "progress", "kernel", "copy"]; // those that the replay of plain cores does not know

/** Return the settings of the scenario itself: nothing is changed. */
export function baseSettings(live) {
  return { parameters: {}, counts: {}, factors: {}, overheads: {}, messages: {}, scheduler: live.scheduler, options: {},
    seed: String(live.seed), noise: live.noise };
}

/** Return the name of the machine with these counts of nodes and workers. */
export function machineName(live, { nodes, counts }) {
  const workers = nameOf(live, "workers", counts);
  return [...(nodes === undefined ? [] : [`nodes ${nodes}`]), ...(workers ? [workers] : [])].join(",");
}

/** Return the factor of an axis, 1 where it is not set. */
export function factorOf(settings, section, name) {
  return Number(settings.factors[`${section}.${name}`] ?? 1);
}

/** Return the scheduler of some settings, as the page knows it. */
export function schedulerOf(live, settings) {
  return live.schedulers.find(({ text }) => text === settings.scheduler);
}

/** Return {live, machine, whole}: the page with the graph of these settings, its machine, and the question of a node with the whole graph. */
export function wholeBy(page, settings) {
  const live = liveAt(page, settings);
  const machine = live.machines[machineName(live, settings)];
  if (!machine || machine.refused) throw new Error(machine?.refused ?? "no such machine");
  const uneven = live.kernels.find((name) => factorOf(settings, "kernel", name) !== 1 && !live.even.includes(name));
  if (uneven) throw new Error(`the speed of ${uneven} cannot be changed here: its tasks take different times`);
  const overheads = overheadsOf(machine, settings);
  const modelled = durationsOf(live, machine, machine.costs, settings);
  const estimates = machine.estimates ? durationsOf(live, machine, machine.estimates, settings) : modelled;
  if (machine.creations) for (const durations of [modelled, estimates]) addCreations(machine.creations, overheads, durations, live.tasks);
  const durations = settings.noise === "none" ? modelled : drawnDurations(live, machine, settings);
  const { costs, far } = machine.far
    ? farPart(live, machine, modelled, durations, settings) : { costs: durations, far: null };
  const needsMachine = machine.machine
    || OF_MACHINES.some((name) => overheads[name] > 0);
  const scheduler = schedulerOf(live, settings);
  const whole = {
    graph: live.graph,
    platform: platformOf(live, machine, overheads, settings),
    question: {
      ...machine.question, ...scheduler.flags, ...(far ? { far } : {}), costs, estimates,
      machine: needsMachine ? 1 : 0, blind: 0, threads: 0,
    },
    scheduler: {
      name: scheduler.name,
      numbers: { ...scheduler.numbers, ...optionsOf(scheduler, settings) },
      tables: tablesOf(live, machine, scheduler, settings),
      seed: BigInt(settings.seed),
    },
  };
  return { live, machine, whole };
}

/** Return the tables of a scheduler; a plan is none where it was made for other durations or copies. */
function tablesOf(live, machine, scheduler, settings) {
  const isSet = ({ section, name }) => factorOf(settings, section, name) !== 1;
  const changed = live.axes.find((axis) => scheduler.plan_sections.includes(axis.section) && isSet(axis));
  const creates = machine.creations && scheduler.plan_sections.includes("kernel")
    && ("creation" in settings.overheads || "dependence" in settings.overheads);
  if (changed || creates) {
    throw new Error(`${scheduler.text} plans before the run begins, and this page has its plan for the ${
      PLANNED_FOR[changed?.section ?? "kernel"]} of the scenario`);
  }
  const tables = machine.tables[live.schedulers.indexOf(scheduler)] ?? {};
  if (tables.refused) throw new Error(tables.refused);
  return tables;
}

function optionsOf(scheduler, settings) {
  const found = {};
  for (const { name } of scheduler.options) {
    const text = settings.options[`${scheduler.text}.${name}`];
    if (text !== undefined) found[name] = Number(text);
  }
  return found;
}

/** Return the overheads of a machine by name, in seconds; settings are texts in microseconds. */
function overheadsOf(machine, settings) {
  const found = { ...machine.overheads };
  for (const [name, text] of Object.entries(settings.overheads)) found[name] = Number(`${text}e-6`);
  return found;
}

/** Return the duration of each task on each class, [classes x tasks]; `rows` are those of kinds. */
function durationsOf(live, machine, rows, settings) {
  const { of_task: kindOf, kernel, rows: table } = live.kinds;
  const tasks = kindOf.length;
  const found = new Float64Array(rows.length * tasks);
  const faster = live.kernels.map((name) => factorOf(settings, "kernel", name));
  rows.forEach((number, index) => {
    const raw = table[number], [architecture] = machine.classes[index];
    const speed = machine.speeds ? speedOf(machine, architecture, settings) : 1;
    const ofKind = new Float64Array(raw.length);
    for (let kind = 0; kind < raw.length; kind++) {
      ofKind[kind] = kernelSeconds(raw[kind], faster[kernel[kind]]) / speed;
    }
    for (let task = 0, place = index * tasks; task < tasks; task++) found[place++] = ofKind[kindOf[task]];
  });
  return found;
}

/** Add what creations of OpenMP's tasks cost, as tasksim.run.measured does: the tasks that come after them take longer. */
function addCreations({ task, data }, { creation, dependence }, durations, tasks) {
  const seconds = new Float64Array(tasks + 1); // the last is of creations that no task comes after
  task.forEach((after, k) => { seconds[after] += creation + dependence * data[k]; });
  for (let place = 0; place < durations.length; place++) durations[place] += seconds[place % tasks];
}

function speedOf(machine, architecture, settings) {
  return machine.speeds[architecture] * factorOf(settings, "speed", architecture);
}

/** Return what tasks cost with all data near, and what far data add, as tasksim.engine.locality has it. */
function farPart(live, machine, modelled, durations, settings) {
  const { known, read_bytes: readBytes, written_bytes: writtenBytes, least_near: least } = machine.far;
  const tasks = live.kinds.of_task.length;
  const read = new Float64Array(modelled.length), written = new Float64Array(modelled.length);
  const costs = durations.slice();
  for (const [index, kernel, perByte, perWritten, share, writtenShare] of known) {
    const speed = speedOf(machine, machine.classes[index][0], settings);
    for (let task = 0, place = index * tasks; task < tasks; task++, place++) {
      if (live.graph.kernel[task] !== kernel) continue;
      read[place] = perByte / speed;
      written[place] = perWritten / speed;
      let contained = read[place] * share * readBytes[task] + written[place] * writtenShare * writtenBytes[task];
      const room = (1 - least) * modelled[place];
      if (contained > room) {
        read[place] *= room / contained;
        written[place] *= room / contained;
        contained = room;
      }
      costs[place] = Math.max(durations[place] - contained, least * durations[place]);
    }
  }
  return { costs, far: { ...machine.question.far, read_s_per_byte: read, written_s_per_byte: written } };
}

/** Return the duration of a kernel that is so many times as fast. */
export function kernelSeconds(seconds, factor) {
  return factor === 1 ? seconds : seconds / factor;
}

/** Return durations drawn from the models, [classes x tasks]; the page has those of some seeds. */
function drawnDurations(live, machine, settings) {
  const drawn = machine.draws[Number(settings.seed)];
  if (!drawn && !machine.draws.length) throw new Error("this page holds no drawn durations of this graph");
  if (!drawn) throw new Error(`durations are drawn with seeds from 0 to ${machine.draws.length - 1}`);
  if (live.kernels.some((name) => factorOf(settings, "kernel", name) !== 1)) {
    throw new Error("durations of kernels that were changed cannot be drawn");
  }
  const tasks = live.kinds.of_task.length, found = new Float64Array(drawn.length * tasks);
  drawn.forEach((row, index) => {
    const speed = speedOf(machine, machine.classes[index][0], settings);
    for (let task = 0; task < tasks; task++) found[index * tasks + task] = row[task] / speed;
  });
  return found;
}

/** Return the platform for the core. */
function platformOf(live, machine, overheads, settings) {
  const links = machine.links.map((link) => scaledLink(link, settings));
  const found = { ...machine.platform };
  for (const name of IN_SECONDS) found[`${name}_s`] = overheads[name];
  for (const name of IN_TICKS) found[name] = ticksOf(overheads[name]);
  found.memory_bytes = Float64Array.from(machine.memories, ([, , size], memory) => {
    const entry = machine.memory_entries[memory];
    if (size === null) return -1;
    return entry === null ? size : size * factorOf(settings, "memory", entry);
  });
  found.capacity = Float64Array.from(links, ({ bandwidth }) => bandwidth * 1e-9);
  if (machine.memories.length > 1) Object.assign(found, copiesOn(live, machine, links));
  return found;
}

/** Return a link with the factors of all links, then its own; what was measured follows. */
function scaledLink(link, settings) {
  const found = { ...link };
  for (const section of ["bandwidth", "latency"]) {
    for (const name of link.entry === null ? [] : ["*", link.entry]) {
      const text = settings.factors[`${section}.${name}`];
      if (text === undefined) continue;
      found[section] *= Number(text);
      const measured = `measured_${section}`;
      if (found[measured] !== null) found[measured] *= Number(text);
    }
  }
  return found;
}

/** Return what copies are expected to take, and the routes that they share. */
function copiesOn(live, machine, links) {
  const count = machine.memories.length;
  const fixed = new Float64Array(count * count).fill(Infinity);
  const perByte = new Float64Array(count * count).fill(Infinity);
  const paths = machine.routes.length;
  const latencies = new Float64Array(paths), weights = new Float64Array(paths), limits = new Float64Array(paths);
  machine.routes.forEach(([source, target, crossed], path) => {
    const route = crossed.map((link) => links[link]);
    const latency = total(route.map((link) => link.latency), live.compensated);
    const bandwidth = route[0].measured_bandwidth ?? Math.min(...crossed.map((link) => (
      links[link].bandwidth / crossed.filter((other) => other === link).length)));
    const sharing = machine.contention * (crossed.length === 1 ? 1 : machine.devices);
    fixed[source * count + target] = route[0].measured_latency ?? latency;
    perByte[source * count + target] = Math.max(1, sharing) / bandwidth;
    latencies[path] = ticksOf(latency);
    weights[path] = 1 / Math.max(latency, LEAST_LATENCY_S);
    limits[path] = Math.min(...route.filter((link) => !link.shared).map((link) => link.bandwidth * 1e-9));
  });
  addHops(count, fixed, perByte);
  return { fixed_s: fixed, per_byte_s: perByte, path_latency: latencies, path_weight: weights, path_limit: limits };
}

/** Fill gaps between memories with the way over the first third one: the sum of two copies. */
function addHops(count, fixed, perByte) {
  const direct = fixed.map((seconds) => (seconds < Infinity ? 1 : 0));
  for (let source = 0; source < count; source++) {
    for (let target = 0; target < count; target++) {
      if (source === target || direct[source * count + target]) continue;
      for (let middle = 0; middle < count; middle++) {
        if (!direct[source * count + middle] || !direct[middle * count + target]) continue;
        for (const table of [fixed, perByte]) {
          table[source * count + target] = table[source * count + middle] + table[middle * count + target];
        }
        break;
      }
    }
  }
}

/** Return seconds in whole ticks; halves go to the even neighbour, as Python's round does. */
export function ticksOf(seconds) {
  const exact = seconds * TICKS_PER_S, low = Math.floor(exact);
  const rest = exact - low;
  return rest < 0.5 || (rest === 0.5 && low % 2 === 0) ? low : low + 1;
}

/** Return the sum of numbers as Python's sum has it: since 3.12 with the lost digits added at the end. */
function total(values, compensated) {
  let sum = 0, lost = 0;
  for (const value of values) {
    const next = sum + value;
    lost += Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum;
    sum = next;
  }
  return compensated && lost && isFinite(lost) ? sum + lost : sum;
}
