// Playing: a bar to play a run and to step through it, and what was going on at the time that is played.

import { button, element, refill } from "./dom.js";
import { icon } from "./icons.js";
import { Playback } from "./playback.js";
import { countText, sizeText, timeText } from "./units.js";
import { iconButton } from "./widgets.js";

const DURATIONS_S = [300, 120, 60, 30, 10, 5]; // that a whole run may take to be played
const FIRST_DURATION_S = 60;
const TABLE_PAUSE_MS = 120; // between two updates of the tables while a run is played
const STEP_PAUSE_MS = 900; // between two events where motion is to be reduced
const MOST_ROWS = 64; // of a table; more cannot be followed
const MOST_NAMES = 12; // tasks or data that are named in a cell
const ESTIMATES = [
  ["free", "free at"], ["transfer", "transfer"], ["duration", "duration"], ["energy", "energy"],
  ["end", "ends at"], ["cost", "cost"],
];

/** The bar and the tables of playing. */
export class Playing {
  #last = 0; // when the last frame was drawn, or the last step made
  #shown = 0; // when the tables were last updated
  #timer = null;
  #playback = null;

  constructor(app) {
    this.app = app;
    this.number = 0; // of the run that is played
    this.duration = FIRST_DURATION_S;
    this.#makeBar();
    this.places = {};
    const part = (name, title) => {
      this.places[name] = element("div", { className: "part" });
      return element("section", { ariaLabel: title }, element("h2", {}, title), this.places[name]);
    };
    this.status = element("p", { className: "status", role: "status" });
    this.box = element("section", { className: "playing", ariaLabel: "Playing", hidden: true }, this.bar,
      element("div", { className: "parts", tabIndex: 0, role: "group", ariaLabel: "What was going on" }, this.status,
        part("workers", "Workers"), part("queues", "Ready tasks"), part("decision", "Decision"),
        part("memories", "Memories")));
    if (app.state.play !== null) this.open();
  }

  #makeBar() {
    const { app } = this;
    this.start = iconButton("play", "Play (Space)", () => this.toggle());
    this.slider = element("input", { type: "range", min: 0, step: "any", ariaLabel: "Time",
      oninput: () => { this.pause(); this.setTime(Number(this.slider.value)); } });
    this.time = element("output", { className: "time", ariaLive: "off" }); // the slider says it, and steps do
    this.speed = element("select", { ariaLabel: "Speed", title: "How long the whole run takes to be played (< slower, > faster)",
      onchange: () => { this.duration = Number(this.speed.value); } },
      ...DURATIONS_S.map((seconds) => element("option", { value: seconds, selected: seconds === this.duration },
        seconds < 60 ? `in ${seconds} s` : `in ${seconds / 60} min`)));
    this.which = element("select", { ariaLabel: "Run that is played", onchange: () => this.#choose(Number(this.which.value)) });
    this.bar = element("div", { className: "transport", role: "group", ariaLabel: "Transport" },
      iconButton("stepBack", "To the event before (left arrow)", () => this.step(-1)), this.start,
      iconButton("stepOn", "To the next event (right arrow)", () => this.step(1)), this.slider, this.time,
      element("label", { className: "field" }, "whole run", this.speed), this.which,
      iconButton("close", "Close (k)", () => this.close()));
    this.bar.addEventListener("keydown", (event) => { if (event.key === "Escape") app.chart.box.focus(); });
  }

  get isOpen() { return !this.box.hidden; }

  get run() { return this.app.runs[this.number] ?? this.app.runs[0]; }

  get isPlaying() { return this.#timer !== null; }

  get #playbackOfRun() {
    if (this.#playback?.run !== this.run) this.#playback = new Playback(this.run);
    return this.#playback;
  }

  // Opening and closing

  open() {
    this.box.hidden = false;
    this.app.state.play ??= 0;
    this.#offerRuns();
    this.onopen?.();
    this.update(true);
  }

  close() {
    this.pause();
    this.box.hidden = true;
    this.app.state.play = null;
    this.app.draw();
  }

  toggleOpen() {
    if (this.isOpen) this.close();
    else this.open();
    this.app.draw();
  }

  /** Follow the app to other runs. */
  showRuns() {
    if (!this.isOpen) return;
    this.app.state.play = Math.min(this.app.state.play, this.run.makespan);
    this.#offerRuns();
    this.update(true);
  }

  #offerRuns() {
    const { runs } = this.app;
    this.which.hidden = runs.length < 2;
    this.which.replaceChildren(...runs.map((run, number) => (
      element("option", { value: number, selected: number === this.number }, run.name))));
    this.slider.max = this.run.makespan || 1;
  }

  #choose(number) {
    this.number = number;
    this.showRuns();
    this.app.draw();
  }

  // Time

  toggle() {
    if (!this.isOpen) this.open();
    if (this.isPlaying) return this.pause();
    if (this.app.state.play >= this.run.makespan) this.app.state.play = 0;
    this.#last = performance.now();
    this.#timer = requestAnimationFrame(() => this.#advance());
    return this.#showStart();
  }

  pause() {
    if (!this.isPlaying) return;
    cancelAnimationFrame(this.#timer);
    this.#timer = null;
    this.#showStart();
    this.update(true);
    this.#say();
  }

  #showStart() {
    const title = this.isPlaying ? "Pause (Space)" : "Play (Space)";
    this.start.replaceChildren(icon(this.isPlaying ? "pause" : "play"));
    this.start.title = title;
    this.start.setAttribute("aria-label", title);
  }

  /** Go on by the time since the last frame, or from event to event where motion is to be reduced. */
  #advance() {
    const now = performance.now(), { play } = this.app.state;
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
      if (now - this.#last >= STEP_PAUSE_MS) {
        this.#last = now;
        this.#move(this.#playbackOfRun.next(play, 1));
      }
    } else {
      this.#move(play + ((now - this.#last) / 1000) * (this.run.makespan / this.duration));
      this.#last = now;
    }
    if (this.app.state.play >= this.run.makespan) return this.pause();
    this.#timer = requestAnimationFrame(() => this.#advance());
    return undefined;
  }

  #move(time) {
    this.app.state.play = Math.max(0, Math.min(time, this.run.makespan));
    this.app.chart.paintOver();
    this.update();
  }

  /** Show a time. */
  setTime(time) {
    this.app.state.play = Math.max(0, Math.min(time, this.run.makespan));
    this.update(true);
    this.app.viewport.show(this.app.state.play, this.app.state.play);
    this.app.draw();
  }

  /** Go to the next event, or with -1 to the one before. */
  step(direction) {
    if (!this.isOpen) return;
    this.pause();
    this.setTime(this.#playbackOfRun.next(this.app.state.play, direction));
    this.#say();
  }

  /** Play faster, or with -1 slower. */
  faster(direction) {
    const place = DURATIONS_S.indexOf(this.duration) + direction;
    this.duration = DURATIONS_S[Math.max(0, Math.min(place, DURATIONS_S.length - 1))];
    this.speed.value = this.duration;
  }

  #say() {
    const { play } = this.app.state;
    const happened = this.#playbackOfRun.happenings(play);
    const shown = happened.slice(0, 4).join("; ");
    this.status.textContent = `${timeText(play)}: ${shown || "no task starts or ends"}${happened.length > 4 ? "; ..." : ""}.`;
  }

  // What was going on

  /** Show the time, and what was going on then: *now*, or not more often than can be read. */
  update(now = false) {
    const { play } = this.app.state;
    if (!this.isOpen) return;
    this.slider.value = play;
    this.time.textContent = timeText(play);
    this.slider.setAttribute("aria-valuetext", timeText(play));
    if (!now && performance.now() - this.#shown < TABLE_PAUSE_MS) return;
    this.#shown = performance.now();
    const playback = this.#playbackOfRun;
    this.#show("workers", this.#workers(playback, play));
    this.#show("queues", this.#queues(playback, play));
    this.#show("decision", this.#decision(playback, play));
    this.#show("memories", this.#memories(playback, play));
  }

  #show(name, parts) {
    const place = this.places[name];
    place.parentElement.hidden = !parts.length;
    refill(place, ...parts);
  }

  #task(task) {
    const { run } = this;
    const made = button(run.label(task), "Pin this task", () => { this.app.pin(run, task); this.update(true); });
    made.className = "bare";
    return made;
  }

  #names(tasks) {
    const parts = Array.from(tasks.slice(0, MOST_NAMES), (task) => this.#task(task));
    return tasks.length > MOST_NAMES ? [...parts, ` and ${countText(tasks.length - MOST_NAMES)} more`] : parts;
  }

  #workers(playback, time) {
    const { run } = this;
    const found = playback.workersAt(time), knows = found.some(({ free }) => !isNaN(free));
    const rows = found.slice(0, MOST_ROWS).map(({ worker, task, held, free }) => [
      run.workers[worker].name,
      task < 0 ? "idle" : this.#task(task),
      task < 0 ? "" : `${timeText(time - run.start(task))} of ${timeText(run.duration(task))}`,
      held.length ? this.#names(held) : "",
      ...(knows ? [isNaN(free) ? "" : timeText(free)] : []),
    ]);
    const head = ["worker", "runs", "since", "has taken", ...(knows ? ["expected free at"] : [])];
    return [table(head, rows), ...more(found.length)];
  }

  #queues(playback, time) {
    const { run } = this;
    if (!playback.decisions) {
      const ready = playback.readyAt(time);
      return [note(`${countText(ready.length)} tasks are ready and not begun, in the order in which they became so. ${this.#lack()}`),
        ...(ready.length ? [this.#readyTable([...ready].slice(0, MOST_ROWS).map((task) => ["", task]))] : []), ...more(ready.length)];
    }
    const queues = playback.queuesAt(time);
    if (!queues.length) return [note("All queues are empty.")];
    const names = queues.map(([queue, tasks]) => `${playback.queueName(queue)}: ${countText(tasks.length)}`);
    const rows = queues.flatMap(([queue, tasks]) => (
      tasks.slice(0, Math.ceil(MOST_ROWS / queues.length)).map((task, place) => [
        `${queue < run.workers.length ? run.workers[queue].name : playback.queueName(queue)}, ${place + 1}`, task])));
    return [note(names.join(" · ")), this.#readyTable(rows)];
  }

  #readyTable(rows) {
    const { run } = this, placed = rows.some(([place]) => place);
    return table([...(placed ? ["queue, position"] : []), "task", "priority", "ready since"],
      rows.map(([place, task]) => [...(placed ? [place] : []), this.#task(task), String(run.priority[task]),
        timeText(run.ready(task))]));
  }

  #lack() {
    if (this.app.live?.panel) {
      return new Set(this.run.workers.map(({ node }) => node)).size > 1
        ? "Decisions are recorded on one node only."
        : "The decisions of this run are not recorded.";
    }
    return "The scheduler's order and its estimates are in pages of runs that were simulated with --decisions.";
  }

  #decision(playback, time) {
    const { run } = this, { pin } = this.app.state;
    const task = pin?.run === run ? pin.task : playback.lastDecided(time);
    if (task < 0) return [note("No decision has been made yet.")];
    const title = element("p", {}, pin?.run === run ? "Pinned: " : "Last: ", this.#task(task),
      ` goes to ${run.workers[run.worker[task]].name}`);
    if (!playback.decisions) return [title, note(this.#lack())];
    const { estimates, moves, time: decided } = playback.decisionFor(task);
    const items = element("ul", {}, ...moves.map((text) => element("li", {}, text)));
    return [title, ...this.#estimates(estimates, decided), items];
  }

  #estimates(estimates, decided) {
    const shown = ESTIMATES.filter(([name]) => estimates.some((row) => row[name] > 0));
    if (!shown.length) return [];
    const least = estimates.some(({ cost }) => !isNaN(cost)) ? "the least cost" : "the earliest end";
    const rows = estimates.slice(0, MOST_ROWS).map((row) => [
      `${row.chosen ? "✓ " : ""}${this.run.workers[row.worker].name}`, ...shown.map(([name]) => timeText(row[name]))]);
    const made = table(["worker", ...shown.map(([, title]) => title)], rows);
    [...made.tBodies[0].rows].forEach((line, k) => {
      if (estimates[k].chosen) Object.assign(line, { className: "chosen", ariaCurrent: "true" });
    });
    return [note(`Decided at ${timeText(decided)}, by ${least}:`), made, ...more(estimates.length)];
  }

  #memories(playback, time) {
    const { run } = this;
    if (run.memories.length < 2) return [];
    const found = playback.memoriesAt(time), knows = found.some(({ data }) => data);
    const name = (handles) => {
      const all = [...handles];
      const rest = all.length > MOST_NAMES ? ` and ${countText(all.length - MOST_NAMES)} more` : "";
      return all.slice(0, MOST_NAMES).map((handle) => run.dataName(handle)).join(", ") + rest;
    };
    const rows = found.map(({ name: called, size, used, data, coming }) => [
      called,
      isNaN(used) ? "" : `${sizeText(used)}${size ? ` of ${sizeText(size)}` : ""}`,
      coming.length ? name(coming) : "",
      ...(knows ? [data?.size ? `${countText(data.size)}: ${name(data)}` : data ? "none" : ""] : []),
    ]);
    const made = table(["memory", "allocated", "on their way", ...(knows ? ["valid data"] : [])], rows);
    made.classList.add("wrapped");
    const dropped = knows && found.some(({ size }) => size > 0);
    return [made, ...(dropped ? [note("Copies that were dropped to make room are still named: runs do not record that.")] : [])];
  }
}

function table(head, rows) {
  return element("table", {}, element("thead", {}, element("tr", {}, ...head.map((text) => element("th", { scope: "col" }, text)))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((cell, place) => (
      element(place ? "td" : "th", place ? {} : { scope: "row" }, ...(Array.isArray(cell) ? cell : [cell]))))))));
}

function note(text) {
  return element("p", { className: "note" }, text);
}

function more(count) {
  return count > MOST_ROWS ? [note(`and ${countText(count - MOST_ROWS)} more`)] : [];
}
