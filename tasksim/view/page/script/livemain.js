// The live page: a recorded run, and sliders that ask what would be.

import { App } from "./app.js";
import { inflatedText, unpack } from "./columns.js";
import { LiveView } from "./live.js";
import { revived } from "./livequestion.js";
import { dataText, start } from "./start.js";

await start(async (root, header, runs) => {
  const app = new App(root, header, runs);
  const live = { ...header.live };
  if (!live.refused) {
    const columns = await unpack(live.columns, dataText("live-columns"));
    Object.assign(live, revived(JSON.parse(await inflatedText(dataText("live"))), columns));
  }
  app.live = new LiveView(app, live);
  globalThis.tasksimPage = app;
});
