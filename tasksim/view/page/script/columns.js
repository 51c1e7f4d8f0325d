// Columns of numbers, read from the text that tasksim/view/page/columns.py has made of them.

/** Return the columns of `text` by name: whole numbers, sums of differences, or real numbers of 4 or 8 bytes. */
export async function unpack(layout, text) {
  const bytes = await inflatedBytes(text);
  const found = {};
  let place = 0;
  for (const column of layout) {
    const size = column.rows * column.width;
    found[column.name] = values(bytes.subarray(place, place + size), column);
    place += size;
  }
  return found;
}

/** Return the bytes that a text in base64 holds, deflated. */
export async function inflatedBytes(text) {
  return inflated(fromBase64(text));
}

/** Return the text that a text in base64 holds, deflated. */
export async function inflatedText(text) {
  return new TextDecoder().decode(await inflatedBytes(text));
}

function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

async function inflated(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function values(planes, { rows, width, kind }) {
  if (kind === "real") return new Float32Array(joined(planes, rows, 4));
  if (kind === "exact") return new Float64Array(joined(planes, rows, 8));
  if (kind === "differences") return summed(unfolded(planes, rows, width));
  return unfolded(planes, rows, width);
}

/** Return the bytes of numbers of some bytes each, the lowest byte in the first plane. */
function joined(planes, rows, width) {
  const bytes = new Uint8Array(width * rows);
  for (let plane = 0; plane < width; plane++) {
    for (let row = 0; row < rows; row++) bytes[width * row + plane] = planes[plane * rows + row];
  }
  return bytes.buffer;
}

/** Return whole numbers: 0, -1, 1, -2, ... are written as 0, 1, 2, 3, ... */
function unfolded(planes, rows, width) {
  const found = width < 4 ? new Int32Array(rows) : new Float64Array(rows);
  for (let plane = width - 1; plane >= 0; plane--) {
    const part = planes.subarray(plane * rows, (plane + 1) * rows);
    for (let row = 0; row < rows; row++) found[row] = found[row] * 256 + part[row];
  }
  for (let row = 0; row < rows; row++) {
    const folded = found[row];
    found[row] = folded % 2 ? -(folded + 1) / 2 : folded / 2;
  }
  return found;
}

function summed(differences) {
  const found = new Float64Array(differences.length);
  let sum = 0;
  for (let row = 0; row < found.length; row++) found[row] = sum += differences[row];
  return found;
}
