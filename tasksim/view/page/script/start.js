// The start of a page: read the runs that it holds, or say why it cannot be shown.

import { element } from "./dom.js";
import { readRuns } from "./rundata.js";

// Letters of a block that is not kept: pages saved from a browser's menu are shown again, but for those of a million tasks.
const LONG_TEXT = 4e6;

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

/** Return the text of a block of data of the page. */
export function dataText(name) {
  return document.getElementById(name).textContent;
}

/** Return the text of a block of data that is read once; a long one goes from the page, which would keep it beside what it holds. */
export function takenText(name) {
  const block = document.getElementById(name), text = block.textContent;
  if (text.length > LONG_TEXT) block.remove();
  return text;
}

/** Read the runs of the page and let `show(root, header, runs)` show them. */
export async function start(show) {
  const root = document.getElementById("page");
  try {
    const header = JSON.parse(dataText("header"));
    const runs = await readRuns(header, (number) => takenText(`data-${number}`));
    findReference(runs);
    await show(root, header, runs);
  } catch (error) {
    root.append(element("p", { className: "failed", role: "alert" }, `This page cannot be shown here: ${
      error.message}. It needs a browser of 2023 or later: Chromium 93, Firefox 113, Safari 16.4.`));
    throw error;
  }
}
