// The page: read the runs that it holds, and show them.

import { App } from "./app.js";
import { element } from "./dom.js";
import { readRuns } from "./rundata.js";

/** Let each run know the first one, where both have the same tasks. */
function findReference(runs) {
  for (const run of runs.slice(1)) {
    if (haveSameTasks(run, runs[0])) run.reference = runs[0];
  }
}

function haveSameTasks(a, b) {
  if (a.count !== b.count) return false;
  return a.kernel.every((kernel, task) => a.kernels[kernel] === b.kernels[b.kernel[task]]);
}

const root = document.getElementById("page");
try {
  const header = JSON.parse(document.getElementById("header").textContent);
  const runs = await readRuns(header, (number) => document.getElementById(`data-${number}`).textContent);
  findReference(runs);
  globalThis.tasksimPage = new App(root, header, runs);
} catch (error) {
  root.append(element("p", { className: "failed", role: "alert" }, `This page cannot be shown here: ${
    error.message}. It needs a browser of 2023 or later: Chromium 93, Firefox 113, Safari 16.4.`));
  throw error;
}
