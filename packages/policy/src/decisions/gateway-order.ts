import type { GatewayFacts } from "../model/facts.ts";

/**
 * Orders gateways for AUTOMATIC load balancing by weighted rendezvous hashing (Thaler and Ravishankar 1998; logarithmic
 * weights as in Schindelhauer and Schomaker 2005). Each subject has its own, stable order. Subjects spread over
 * gateways in proportion to the weights. If a gateway fails, only its own subjects move.
 *
 * @param key identifies the subject: the id of a device, a user or a site's gateway
 */
export function automaticOrder(gateways: readonly GatewayFacts[], key: string): readonly GatewayFacts[] {
  return gateways
    .map((gateway) => ({ gateway, score: -weightOf(gateway) / Math.log(unitHash(`${key} ${gateway.id}`)) }))
    .sort((a, b) => b.score - a.score || (a.gateway.id < b.gateway.id ? -1 : 1))
    .map(({ gateway }) => gateway);
}

/** Assumed values for a gateway without a report: half of its capacity in use, at a medium distance. */
const unknownLoad = 0.5;
const unknownRoundTripTimeMs = 50;

/** The round-trip time that halves the weight, in milliseconds. */
const halvingRoundTripTimeMs = 100;

/** A fully loaded gateway remains the last choice. */
const leastWeight = 0.01;

function weightOf({ load, roundTripTimeMs }: GatewayFacts): number {
  const free = 1 - Math.min(1, Math.max(0, load ?? unknownLoad));
  const near = 1 / (1 + Math.max(0, roundTripTimeMs ?? unknownRoundTripTimeMs) / halvingRoundTripTimeMs);
  return Math.max(leastWeight, free * near);
}

/** Hashes a text evenly to a number above 0 and below 1: FNV-1a (RFC 9923) with a final mix, 32 bits. */
function unitHash(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d);
  hash = Math.imul(hash ^ (hash >>> 15), 0x846ca68b);
  return (((hash ^ (hash >>> 16)) >>> 0) + 0.5) / 2 ** 32;
}
