// Structures of the core's interface, as tasksim/core/tasksim_core.h declares them.
//
// Each line has a type and the names of its fields, in the order of the declaration. Columns have
// their length in brackets: a product or a sum of counts that the structure, or one before it,
// has; "@" is the last number of another column. A question mark: it may be absent.

export const GRAPH = structureOf("graph", `
  count tasks handles kernels hints edges accesses waits apart
  int32[tasks] kernel priority
  int64[tasks+1] successor_ptr
  int32[edges] successors
  int64[tasks+1] access_ptr
  int32[accesses] access_handle
  int8[accesses] access_mode
  int64[handles] handle_size
  int32[handles] handle_home
  int32[hints] hint_after hint_handle
  int64[hints+1]? hint_ptr
  int32[waits]? hint_waits
  int8[hints]? hint_drops
  int8[tasks]? at_once
  count starts`);
export const PLATFORM = structureOf("platform", `
  count workers classes memories links
  int32[workers] class_of memory_of node_of pipeline
  real[workers] nominal_speed
  number submission_s task_s wakeup_s
  count submission task wakeup push fetch progress kernel copy start allocate free
  number unit_bytes chunk_bytes largest_bytes usable pin_s
  real[memories] memory_bytes
  count fetches prefetches idle serialised
  real[memories*memories] fixed_s per_byte_s
  int8[memories*memories] direct
  int32[memories*memories] path
  count paths path_links
  int64[paths] path_latency
  real[paths] path_weight path_limit
  int64[paths+1] path_ptr
  int32[path_links] path_link path_times
  real[links] capacity`);
export const SCHEDULER = structureOf("scheduler", `
  place name
  count numbers
  place number_names
  real[numbers] number_values
  count tables
  place table_names table_values
  int64[tables] table_lengths
  uint32[twister_words]? twister
  seed seed`);
export const CONTENTION = structureOf("contention", `
  count domains kinds
  int32[workers] domain_of
  int32[classes*kernels] kind_of
  int64[domains+1] curve_ptr
  real[@curve_ptr] curve
  real[kinds] demand share
  int64[kinds*kinds+1] beside_ptr
  real[@beside_ptr] beside
  count numa placement
  number cache_bytes
  real[domains*domains]? ratio limit
  real[domains]? room`);
export const FAR = structureOf("far", `
  real[classes*tasks] near_bytes reach_bytes read_s_per_byte written_s_per_byte
  int32[workers]? cache_of`);
export const QUESTION = structureOf("question", `
  real[classes*tasks] costs
  real[classes*own_tasks] estimates
  place far
  int8[classes*kernels]? alone
  int64[tasks]? submitted
  place contention
  count machine blind threads uses_priorities looks_at_data chooses_apart hears_started hears_finished decisions`);
export const MEMBER = structureOf("member", `
  place graph visible platform question scheduler
  int32[tasks] order
  int32[communications] message
  count first_ready`);
export const CLUSTER = structureOf("cluster", `
  count nodes
  place member
  count links ways uses messages
  real[links] capacity
  real[ways] way_limit way_weight
  int64[ways+1] way_ptr
  int32[uses] use_link
  real[uses] use_of_byte
  int64[ways]? envelope_latency
  number envelope_factor envelope_bytes
  count in_flight
  int32[messages] source target priority send receive way
  int8[messages] eager detached
  int64[messages] latency
  real[messages] factor bytes
  int64[messages]? isend received
  int8[messages] lands
  count cores`);
export const OUTCOME = structureOf("outcome", `
  count worker task number
  number now_s
  count events evictions copies changes`);
export const TASKS = structureOf("tasks", `
  real[tasks] submitted_s ready_s popped_s start_s end_s
  int32[tasks] worker released_by
  int8[tasks] state
  real[tasks]? cpu_s
  int32[tasks]? preemptions
  real[tasks]? pulse beat`);
export const LOG = structureOf("log", `
  int32[copies] handle task
  int16[copies] source target
  real[copies] requested_s start_s end_s
  int8[copies] reason
  real[changes] time_s
  int16[changes] memory
  int64[changes] used_bytes`);
export const DECISIONS = structureOf("decisions", `
  count rows
  real[rows] time_s
  int32[rows] task
  int8[rows] step
  int32[rows] worker queue position
  real[rows] free_s transfer_s duration_s energy_s end_s cost_s`);
export const STRUCTURES = [
  GRAPH, PLATFORM, SCHEDULER, CONTENTION, FAR, QUESTION, MEMBER, CLUSTER, OUTCOME, TASKS, LOG, DECISIONS];

/** Return a structure with the place of each field: addresses take 4 bytes, all else takes 8. */
function structureOf(name, text) {
  const fields = [];
  let place = 0;
  for (const line of text.trim().split("\n")) {
    const [type, ...names] = line.trim().split(" ");
    const [, kind, length = null, optional] = type.match(/^(\w+)(?:\[(.*)\](\?)?)?$/);
    const width = length !== null || kind === "place" ? 4 : 8;
    for (const field of names) {
      place = Math.ceil(place / width) * width;
      fields.push({ name: field, kind, length, optional: Boolean(optional), place });
      place += width;
    }
  }
  return { name, fields, bytes: Math.ceil(place / 8) * 8 };
}

/** Types of columns by their words above. They are made here, since pages rename nothing. */
export const COLUMN_TYPES = {
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint32: Uint32Array,
  real: Float64Array,
};

/** Return how many values a column has; *counts* are those of its and of earlier structures. */
export function columnLength(length, counts, given) {
  if (length.startsWith("@")) {
    const pointers = given[length.slice(1)];
    return pointers?.length ? Number(pointers[pointers.length - 1]) : 0;
  }
  const value = (word) => (/^\d+$/.test(word) ? Number(word) : counts[word] ?? 0);
  const product = (words) => words.split("*").reduce((total, word) => total * value(word), 1);
  return length.split("+").reduce((total, words) => total + product(words), 0);
}
