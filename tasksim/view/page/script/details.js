// Details of what is under the pointer or pinned, as lines of a name and a text.

import { neighbours } from "./adjacency.js";
import { shiftOf } from "./colours.js";
import { partners } from "./overlay.js";
import { countText, flopText, percentText, shiftText, sizeText, timeText } from "./units.js";

/** Return what is known of a task: [name, text] each. */
export function taskDetails(run, task, runs) {
  const worker = run.workers[run.worker[task]];
  const waits = run.waits(task);
  const lines = [
    ["task", run.label(task)],
    ...(runs.length > 1 ? [["run", run.name]] : []),
    ["worker", `${worker.name} (${worker.architecture}), node ${worker.node}`],
    ["priority", String(run.priority[task])],
    ...(run.iteration?.[task] >= 0 ? [["iteration", String(run.iteration[task])]] : []),
    ["submitted", timeText(run.submitted(task))],
    ["ready", timeText(run.ready(task))],
    ...(run.columns.taken ? [["taken", timeText(run.taken(task))]] : []),
    ["start", timeText(run.start(task))],
    ["end", timeText(run.end(task))],
    ["duration", timeText(run.duration(task))],
    ...othersLines(run, task),
    ...(run.flop?.[task] > 0 ? [["speed", flopText(run.flop[task] / run.duration(task))]] : []),
    ...expectedLine(run, task),
    ["waited for dependencies", timeText(waits.dependency), "dependency"],
    ...(run.columns.arrival ? [["waited for data", timeText(waits.data), "data"]] : []),
    ["waited for a worker", timeText(waits.runtime), "runtime"],
    ["depends on", neighboursText(run, run.predecessors, task)],
    ["needed by", neighboursText(run, run.successors, task)],
    ["released by", run.releasedBy[task] < 0 ? "its submission" : run.label(run.releasedBy[task])],
  ];
  lines.push(...messageLines(run, task));
  if (isCritical(run, task)) lines.push(["critical", "on the practical critical path"]);
  return [...lines, ...shiftLines(run, task, runs)];
}

/** Return how long a task had a core, what others took, and its kernel waited by itself, where it is known. */
function othersLines(run, task) {
  const had = run.processorTime(task), others = run.others(task), times = run.preemptions(task);
  if (isNaN(had)) return [];
  const crowded = run.crowded(task);
  const blocks = run.header.others.blocking.includes(run.kernels[run.kernel[task]]);
  const often = times > 0 ? ` (${countText(times)} ${times === 1 ? "time" : "times"})` : "";
  return [
    ["processor time", timeText(had)],
    ["others had the core", others > crowded || times > 0 ? `for ${timeText(others - crowded)}${often}` : "never"],
    ...(crowded > 0 ? [["slowed by others", `${timeText(crowded)} more`]] : []),
    ...(blocks ? [["waits by itself", `for ${timeText(Math.max(run.duration(task) - had - others, 0))}: its kernel blocks`]] : []),
  ];
}

/** Return the messages that were sent for a task: what, from where, how long. */
function messageLines(run, task) {
  return (run.messages?.toTask.get(task) ?? []).map((k) => {
    const { source, bytes, start, end, ready } = run.messages;
    const waited = start[k] - ready(k);
    return ["received", `${run.dataName(run.messages.handle[k])} from node ${source[k]}, ${
      sizeText(bytes[k])} in ${timeText(end[k] - start[k])}, after ${timeText(waited)} unsent`];
  });
}

function expectedLine(run, task) {
  if (!(run.expected[task] > 0)) return [];
  const ratio = `× ${run.slowness(task).toPrecision(3)}`;
  return [["expected", `${timeText(run.expected[task])} by ${run.header.expected_by}: ${ratio}`]];
}

function neighboursText(run, lists, task) {
  const found = neighbours(lists, task);
  const some = Array.from(found.subarray(0, 4), (other) => run.label(other)).join(", ");
  const known = run.header.known_edges ? "" : " (only what released a task is known)";
  return `${countText(found.length)} ${found.length === 1 ? "task" : "tasks"}${
    found.length ? `: ${some}${found.length > 4 ? ", ..." : ""}` : ""}${known}`;
}

function isCritical(run, task) {
  run.criticalTasks ??= new Set(run.critical);
  return run.criticalTasks.has(task);
}

/** Return where the task is in the other runs, and how much later each ends than in the first. */
function shiftLines(run, task, runs) {
  const others = partners(runs, run).map((other) => (
    [`in ${other.name}`, `${timeText(other.start(task))} to ${timeText(other.end(task))}, on ${
      other.workers[other.worker[task]].name}`]));
  if (!run.reference) return others;
  return [...others, [`end against ${run.reference.name}`, shiftText(shiftOf(run, task))]];
}

/** Return what is known of a copy. */
export function copyDetails(run, copy, header) {
  const { copies } = run;
  const link = copies.links.find(({ first, end }) => copy >= first && copy < end);
  const task = copies.task[copy];
  return [
    ["copy", run.dataName(copies.handle[copy])],
    ["from, to", `${run.memories[link.source].name} → ${run.memories[link.target].name}`],
    ["why", header.reasons[copies.reason[copy]].name],
    ["size", sizeText(copies.bytesOf(copy))],
    ["requested", timeText(copies.requested(copy))],
    ["start", timeText(copies.start[copy])],
    ["end", timeText(copies.endOf(copy))],
    ...(task >= 0 && task < run.count ? [["for", run.label(task)]] : []),
  ];
}

/** Return what is known of a group of workers at a time. */
export function bandDetails(row, time) {
  const busy = row.workers.filter((worker) => row.run.taskAt(worker, time) >= 0).length;
  return [
    [row.kind === "run" ? "run" : "group", row.label],
    ["time", timeText(time)],
    ["busy workers", `${busy} of ${row.workers.length} (${percentText(busy / row.workers.length)})`],
  ];
}
