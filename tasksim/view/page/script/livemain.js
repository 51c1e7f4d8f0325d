// The live page: a recorded run, and sliders that ask what would be.

import { App } from "./app.js";
import { LiveView } from "./live.js";
import { GraphReader } from "./livegraphs.js";
import { dataText, start, takenText } from "./start.js";

await start(async (root, header, runs) => {
  const app = new App(root, header, runs);
  const live = { ...header.live, read: new Map() };
  const reader = new GraphReader(live, dataText, takenText);
  if (!live.refused) Object.assign(live, await reader.readOwn());
  app.live = new LiveView(app, live, reader);
  globalThis.tasksimPage = app;
});
