// Columns of numbers, read from the text that tasksim/view/page/columns.py has made of them.

/** Return the columns of `text` by name: whole numbers, sums of differences, or real numbers. */
export async function unpack(layout, text) {
  const bytes = await inflated(fromBase64(text));
  const found = {};
  let place = 0;
  for (const column of layout) {
    const size = column.rows * column.width;
    found[column.name] = values(bytes.subarray(place, place + size), column);
    place += size;
  }
  return found;
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
  if (kind === "real") return reals(planes, rows);
  if (kind === "differences") return summed(unfolded(planes, rows, width));
  return unfolded(planes, rows, width);
}

/** Return real numbers of four bytes, the lowest byte in the first plane. */
function reals(planes, rows) {
  const bytes = new Uint8Array(4 * rows);
  for (let plane = 0; plane < 4; plane++) {
    for (let row = 0; row < rows; row++) bytes[4 * row + plane] = planes[plane * rows + row];
  }
  return new Float32Array(bytes.buffer);
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
