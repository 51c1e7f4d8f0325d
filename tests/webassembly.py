"""The core as WebAssembly, asked from Python: questions and answers as JSON."""

from __future__ import annotations

import base64
import json
import math
import shutil
import subprocess

import chromium
import numpy as np
import pytest

from tasksim.core.library import WASM_PATH, wasm_status
from tasksim.view.page.document import bundle

NODE = shutil.which("node")
MISSING = "" if wasm_status().available else f"the core as WebAssembly is {wasm_status().why}"
needs_wasm = pytest.mark.skipif(bool(MISSING), reason=MISSING)
needs_node = pytest.mark.skipif(not NODE, reason="no Node here: apt-get install nodejs")

# JSON has neither arrays of bytes nor numbers that are not finite.
ASKING_SCRIPT = """
const TYPES = { f8: Float64Array, i8: BigInt64Array, i4: Int32Array, i2: Int16Array,
  i1: Int8Array, u4: Uint32Array };
const NAMES = Object.entries(TYPES);

function decoded(value) {
  if (Array.isArray(value)) return value.map(decoded);
  if (value === null || typeof value !== "object") return value;
  if ("notFinite" in value) return Number(value.notFinite);
  if ("base64" in value) {
    const bytes = Uint8Array.from(atob(value.base64), (letter) => letter.charCodeAt(0));
    return new TYPES[value.type](bytes.buffer);
  }
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, decoded(part)]));
}

function encoded(value) {
  if (Array.isArray(value)) return value.map(encoded);
  if (ArrayBuffer.isView(value)) {
    const [type] = NAMES.find(([, Type]) => value instanceof Type);
    const bytes = new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
    let text = "";
    for (const byte of bytes) text += String.fromCharCode(byte);
    return { type, base64: btoa(text) };
  }
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, encoded(part)]));
}

function answered(core, question) {
  try {
    return encoded(core.replay(decoded(question)));
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const { status, task, worker, number, message } = error;
    return { error: { status, task, worker, number, message } };
  }
}
"""
OF_NODE = """
import { readFileSync, writeFileSync } from "node:fs";

const [wasm, asked, answers] = process.argv.slice(2);
const core = await loadCore(readFileSync(wasm));
const { questions } = JSON.parse(readFileSync(asked, "utf8"));
writeFileSync(answers, JSON.stringify(questions.map((question) => answered(core, question))));
"""

OF_A_WORKER = """
onmessage = async ({ data: { wasm, questions } }) => {
  const core = await loadCore(decoded(wasm));
  postMessage(questions.map((question) => answered(core, question)));
};
"""
PAGE = """<!doctype html>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none';
  script-src 'unsafe-inline' 'wasm-unsafe-eval'; worker-src blob:">
<script id="worker" type="text/plain">{worker}</script>
<script id="asked" type="application/json">{asked}</script>
<script>
  const told = (id) => document.getElementById(id).textContent;
  const worker = new Worker(URL.createObjectURL(new Blob([told("worker")])));
  globalThis.ask = (asked) => new Promise((resolve, reject) => {{
    worker.onmessage = ({{ data }}) => resolve(JSON.stringify(data));
    worker.onerror = ({{ message }}) => reject(new Error(message));
    worker.postMessage(asked);
  }});
  globalThis.answers = ask(JSON.parse(told("asked")));
</script>
"""


def ask_chromium(questions, folder):
    """Return the answers to *questions*, of the core in a worker of a page."""
    browser = chromium.Browser(folder / "profile")
    try:
        answers = first_answer(browser, OF_A_WORKER, questions, folder)
        assert browser.problems == []
        assert all(url.startswith(("file:", "blob:")) for url in browser.requests)
    finally:
        browser.close()
    return decoded(answers)


def first_answer(browser, script, questions, folder):
    """Return what a worker answers that runs *script*; the page then has *ask* for more."""
    wasm = np.frombuffer(WASM_PATH.read_bytes(), np.int8)
    asked = json.dumps({"wasm": encoded(wasm), "questions": encoded(questions)})
    page = folder / "page.html"
    page.write_text(PAGE.format(worker=bundle("core") + ASKING_SCRIPT + script, asked=asked))
    browser.call("Page.navigate", url=page.as_uri())
    browser.wait("globalThis.answers")
    return json.loads(browser.evaluate("answers"))


def ask_node(questions, folder, script=OF_NODE):
    """Return the answers to *questions*, of the core in Node; *script* writes them."""
    program, asked, answers = (folder / name for name in ("ask.mjs", "asked.json", "answers.json"))
    program.write_text(bundle("core") + ASKING_SCRIPT + script)
    asked.write_text(json.dumps({"questions": encoded(questions)}))
    done = subprocess.run(
        [NODE, program, WASM_PATH, asked, answers], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return decoded(json.loads(answers.read_text()))


def encoded(value):
    """Return *value* for JSON."""
    if isinstance(value, dict):
        return {name: encoded(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [encoded(part) for part in value]
    if isinstance(value, np.ndarray):
        return {"type": value.dtype.str[1:], "base64": base64.b64encode(value.tobytes()).decode()}
    if isinstance(value, float) and not math.isfinite(value):
        return {"notFinite": str(value).replace("inf", "Infinity").replace("nan", "NaN")}
    return value


def decoded(value):
    """Return what :func:`encoded` has made, and the script in the same way."""
    if isinstance(value, list):
        return [decoded(part) for part in value]
    if not isinstance(value, dict):
        return value
    if "base64" in value:
        return np.frombuffer(base64.b64decode(value["base64"]), np.dtype(value["type"]))
    return {name: decoded(part) for name, part in value.items()}
