// The worker of a live page: it replays what it is asked; a new request ends the one under way.

import { dropColumns, keepSpare } from "./columns.js";
import { loadCore } from "./core.js";
import { recordOf } from "./liveanswer.js";
import { leastDurations, numbersOf } from "./livebounds.js";
import { energyOf } from "./liveenergy.js";
import { keepGraph } from "./livegraphs.js";
import { nodeBounds } from "./livenodebounds.js";
import { askedBy, together } from "./livenodes.js";

const EVENTS = 100000; // between two looks for a newer request
const MOST_STEPS = 4000000; // tasks times workers whose decisions are recorded: some 300 MB

const state = { core: null, live: null, latest: 0 };
const pauses = new MessageChannel();
const waiting = [];
pauses.port1.onmessage = () => waiting.shift()();

/** Let the messages that have come be read. */
function pause() {
  return new Promise((done) => { waiting.push(done); pauses.port2.postMessage(0); });
}

self.onmessage = async ({ data }) => {
  try {
    if (data.core) {
      state.live = data.live;
      state.core = await loadCore(data.core);
      self.postMessage({ ready: true });
    } else if (data.graph) {
      keepGraph(state.live, data.name, data.graph);
    } else if (data.spare) {
      keepSpare(data.spare);
    } else {
      state.latest = data.number;
      await replay(data);
    }
  } catch (error) {
    self.postMessage({ number: data.number, refused: error.message });
  }
};

/** Replay some settings; post makespan and energy alone, or all of the answer. */
async function replay({ number, settings, whole: isWhole, decisions }) {
  const begin = performance.now();
  await pause();
  if (state.latest !== number) return;
  const { live, machine, question, whole } = askedBy(state.live, settings);
  if (isWhole && decisions) recordDecisions(machine, question);
  const asked = state.core.ask(question);
  try {
    if (!machine.cluster) leaveToCore(whole.question, asked);
    while (asked.goOn(EVENTS)) {
      await pause();
      if (state.latest !== number) return;
    }
    const answer = machine.cluster ? asked.answer() : asked.lateAnswer();
    const took = performance.now() - begin;
    const all = machine.cluster ? together(live, machine, whole, answer) : { machine, question, answer };
    const energy = energyOf(all.machine, all.question, all.answer);
    if (!isWhole) return self.postMessage({ number, makespan: answer.makespan_s, energy, took });
    const fastest = leastDurations(whole.question.costs, whole.graph.tasks);
    const bounds = nodeBounds(live, machine, fastest, settings);
    const numbers = { ...numbersOf(live, all.machine, all.question, all.answer, fastest), ...bounds, energy };
    const record = recordOf(all.machine, all.question, all.answer);
    const buffers = new Set([record.columns, record.timeline].flatMap(Object.values).map((column) => column.buffer));
    dropColumns(fastest);
    self.postMessage({ number, numbers, record, took }, [...buffers]);
  } finally {
    asked.free();
    // Those of nodes are parts of the core's, which is large, and the next replay needs the room.
    if (machine.cluster) dropColumns(whole.question.costs, whole.question.estimates);
  }
}

/** Let the durations of a question be read where the core has them: the worker's own would be there twice. */
function leaveToCore(question, asked) {
  for (const name of ["costs", "estimates"]) {
    const own = question[name];
    Object.defineProperty(question, name, { get: () => asked.columnOf(own) });
    dropColumns(own);
  }
}

/** Let a machine record the decisions of its scheduler, unless there are too many; clusters have no record. */
function recordDecisions(machine, { graph, question }) {
  if (machine.cluster || graph.tasks * machine.workers.length > MOST_STEPS) return;
  question.decisions = 1;
}
