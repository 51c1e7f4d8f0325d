// The page of recorded runs.

import { App } from "./app.js";
import { start } from "./start.js";

await start((root, header, runs) => { globalThis.tasksimPage = new App(root, header, runs); });
