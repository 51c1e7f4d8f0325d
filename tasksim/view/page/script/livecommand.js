// The command of a live page: the line of `tasksim simulate` that says what the settings say.

import { graphName, liveAt } from "./livegraphs.js";
import { factorOf, kernelSeconds, machineName, schedulerOf } from "./livequestion.js";

/** Return the command as one line for a shell; null where no command can say it. */
export function commandOf(live, settings) {
  const { command } = live;
  if (!command.words) return null;
  const name = graphName(live, settings);
  if (name && live.graphs[name]?.number === undefined) return null;
  const words = [...command.words, ...command.settings[name]];
  const changed = live.axes.some((axis) => axis.section === "kernel" && factorOf(settings, "kernel", axis.name) !== 1);
  const here = changed ? liveAt(live, settings) : live;
  const durations = here && durationsText(here, settings);
  if (durations === null) return null;
  const workers = settings.counts[""] ?? command.workers;
  if (workers !== null) words.push("--workers", String(workers));
  words.push(...nodesText(command, settings));
  words.push(...command.options);
  if (durations) words.push("--durations", durations);
  for (const change of [...command.changes, ...changesOf(live, settings)]) words.push("--set", change);
  words.push("--scheduler", schedulerText(live, settings));
  if (settings.seed !== "0") words.push("--seed", settings.seed);
  if (settings.noise !== "none") words.push("--noise", settings.noise);
  return words.map(shellWord).join(" ");
}

/** Return the `--set` texts of the settings, in the order in which the question has them. */
function changesOf(live, settings) {
  const found = [];
  for (const { section, name } of live.axes) {
    const factor = settings.factors[`${section}.${name}`];
    if (section === "workers" && name && name in settings.counts) {
      found.push(`platform.workers.${name}.count=${settings.counts[name]}`);
    }
    if (section === "overhead" && name in settings.overheads) {
      found.push(`platform.overheads.${name}=${settings.overheads[name]} us`);
    }
    if (section === "message" && name in settings.messages) {
      found.push(`network.${name}=${settings.messages[name]} us`);
    }
    if (factor === undefined) continue;
    if (section.startsWith("network_")) found.push(`network.links.${name}.${section.slice(8)}=x${factor}`);
    if (section === "message_factor") found.push(`network.${name}=x${factor}`);
    if (section === "speed") found.push(`platform.arch.${name}.speed=x${factor}`);
    if (section === "bandwidth" || section === "latency") found.push(`platform.links.${name}.${section}=x${factor}`);
    if (section === "memory") found.push(`platform.memories.${name}.size=x${factor}`);
  }
  return found;
}

/** Return the options of nodes; another number of nodes is a square, or a row or a column as before. */
function nodesText({ nodes, grid, network, owner }, settings) {
  const [rows, columns] = (grid ?? "2x2").split("x").map(Number);
  const changed = settings.nodes !== undefined;
  const shape = !changed ? grid : rows * columns === 1 ? null : rows === 1 ? `1x${settings.nodes}`
    : columns === 1 ? `${settings.nodes}x1` : null;
  const count = changed ? settings.nodes : nodes;
  return Object.entries({ "--nodes": count, "--grid": shape, "--network": network, "--owner": owner === "row" ? null : owner })
    .flatMap(([option, value]) => (value === null || value === undefined ? [] : [option, String(value)]));
}

/** Return what `--durations` says, nothing if it is not given; null if a command cannot say it. */
function durationsText(live, settings) {
  const { durations, named } = live.command;
  const faster = live.kernels.filter((name) => factorOf(settings, "kernel", name) !== 1);
  if (typeof durations === "string") return durations;
  if (!faster.every((name) => live.even.includes(name))) return null;
  const kept = (durations ?? []).filter(([name]) => !faster.includes(name.slice(name.lastIndexOf(":") + 1)));
  const given = [...kept, ...faster.flatMap((name) => secondsOf(live, settings, name))];
  const all = new Set(given.map(([name]) => name.slice(name.lastIndexOf(":") + 1)));
  if (faster.length && named && live.kernels.every((name) => all.has(name))) return null;
  return given.map(([name, seconds]) => `${name}=${seconds}`).join(",");
}

/** Return [name, seconds] of a kernel that is faster or slower, by the models of the workers. */
function secondsOf(live, settings, kernel) {
  const machine = live.machines[machineName(live, settings)];
  const kind = live.kinds.kernel.indexOf(live.kernels.indexOf(kernel));
  const factor = factorOf(settings, "kernel", kernel);
  const found = new Map();
  machine.classes.forEach(([, models], index) => {
    const seconds = kernelSeconds(live.kinds.rows[machine.costs[index]][kind], factor);
    if (isFinite(seconds)) found.set(`${models}:${kernel}`, seconds);
  });
  return [...found];
}

function schedulerText(live, settings) {
  const scheduler = schedulerOf(live, settings);
  const words = scheduler.options.flatMap(({ name, base, default: usual }) => {
    const text = settings.options[`${scheduler.text}.${name}`] ?? String(base);
    return Number(text) === usual ? [] : [`${name}=${text}`];
  });
  const colon = scheduler.text.includes(":") ? "," : ":";
  return words.length ? `${scheduler.text}${colon}${words.join(",")}` : scheduler.text;
}

/** Return a word as a POSIX shell reads it back. */
function shellWord(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}
