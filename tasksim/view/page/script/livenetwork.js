// The network of a live page: what its links make of messages, by the factors of the settings.
//
// Operations and their order are those of Python (tasksim/network/settings.py and
// tasksim/engine/cluster/ways.py), so that the numbers are the same to the last bit.

import { factorOf, ticksOf, TICKS_PER_S } from "./livequestion.js";

const SHORTEST_S = 1e-9; // as in network/model.py
const MESSAGE_COSTS = ["isend", "receive"];

/** Return the fields of the core's cluster that the network says: links, ways, costs of messages. */
export function networkOf(cut, settings) {
  const { network, messages } = cut, { links, ways } = waysBy(network, settings);
  const [isend, received] = MESSAGE_COSTS.map((name) => costsOf(network[name], name, messages.size, settings));
  return {
    links: links.bandwidth.length,
    capacity: links.bandwidth.map((bandwidth) => bandwidth / TICKS_PER_S),
    ways: ways.latency.length,
    uses: network.use_link.length,
    way_limit: ways.limit,
    way_weight: ways.weight,
    way_ptr: network.use_ptr,
    use_link: network.use_link,
    use_of_byte: network.use_of_byte,
    latency: messages.latency_factor.map((factor, message) => ticksOf(factor * ways.latency[messages.way[message]])),
    ...(isend ? { isend } : {}),
    ...(received ? { received } : {}),
    ...envelopeOf(network, ways),
  };
}

/** Return the links with the factors of the settings, and the ways over them. */
export function waysBy(network, settings) {
  const links = {
    bandwidth: scaledLinks(network, network.bandwidth, "network_bandwidth", settings),
    latency: scaledLinks(network, network.latency, "network_latency", settings),
  };
  return { links, ways: waysOf(network, links) };
}

/** Return the links' bandwidths or latencies: those of all links changed first, then those of a kind. */
function scaledLinks(network, values, section, settings) {
  const all = factorOf(settings, section, "*"), each = network.kinds.map((kind) => factorOf(settings, section, kind));
  return Float64Array.from(values, (value, link) => value * all * each[network.kind_of[link]]);
}

/** Return the latency, the weight and the greatest rate of each way: alone per second, among others per tick. */
function waysOf({ route_ptr: first, route, use_ptr: uses, use_link: link, use_of_byte: ofByte, ...network }, links) {
  const count = first.length - 1;
  const [latency, rate, limit] = [0, 1, 2].map(() => new Float64Array(count)), weight = new Float64Array(count).fill(1);
  for (let way = 0; way < count; way++) {
    let lowest = Infinity, weights = 0;
    for (let place = first[way]; place < first[way + 1]; place++) {
      const bandwidth = links.bandwidth[route[place]];
      latency[way] += links.latency[route[place]];
      lowest = Math.min(lowest, bandwidth);
      if (network.weight_bytes !== null) weights += network.weight_bytes / bandwidth;
    }
    if (network.window_bytes !== null && latency[way] > 0) {
      lowest = Math.min(lowest, network.window_bytes / (2 * latency[way]));
    }
    rate[way] = lowest;
    limit[way] = lowest / TICKS_PER_S;
    for (let place = uses[way]; place < uses[way + 1]; place++) {
      limit[way] = Math.min(limit[way], links.bandwidth[link[place]] / TICKS_PER_S / ofByte[place]);
    }
    if (network.weight_bytes !== null) weight[way] = 1 / Math.max(latency[way] + weights, SHORTEST_S);
  }
  return { latency, rate, limit, weight };
}

/** Return what each message costs a host, in ticks; null if it costs nothing. */
function costsOf(given, name, sizes, settings) {
  const text = settings.messages[name], factor = factorOf(settings, "message_factor", name);
  const costs = text === undefined ? given.map(([above, fixed, perByte]) => [above, fixed * factor, perByte * factor])
    : [[0, Number(`${text}e-6`), 0]];
  if (!costs.length) return null;
  const last = costs.reverse();
  return Float64Array.from(sizes, (size) => {
    const [, fixed, perByte] = last.find(([above]) => size > above || !above) ?? [0, 0, 0];
    return ticksOf(fixed + perByte * size);
  });
}

function envelopeOf({ envelope }, ways) {
  if (!envelope) return {};
  return {
    envelope_latency: ways.latency.map((latency) => ticksOf(envelope.latency_factor * latency)),
    envelope_factor: envelope.factor,
    envelope_bytes: envelope.bytes,
  };
}
