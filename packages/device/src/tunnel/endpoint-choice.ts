/** Over which of its ways a gateway is reached: its endpoint, or a relay where the endpoint does not answer (SPEC.md, "Using one"). */
import type { LivePeer } from "@gatehouse/agent-core/wireguard/wireguard-interface";

/** A way that does not answer for so long is left for the next, in milliseconds. */
const patienceMs = 15_000;
/** While a relay is used, the endpoint is tried again so often, in milliseconds. */
const endpointAgainMs = 5 * 60_000;
/** Keepalives are sent so often, in milliseconds, of so many bytes; nobody answers them. */
const keepaliveMs = 25_000;
const keepaliveBytes = 32;

export interface EndpointChoice {
  /** The gateway's own endpoint first, where it has one; then its relays. */
  readonly ways: readonly string[];
  readonly hasEndpoint: boolean;
  /** The way that is used, of `ways`. */
  readonly index: number;
  /** Since when. Milliseconds since 1970, as all moments here. */
  readonly since: number;
  /** The last sign of life; undefined: the peer was not looked at on this way yet. */
  readonly heard:
    | { readonly at: number; readonly receivedBytes: number; readonly sentBytes: number; readonly handshake: number }
    | undefined;
  /** Since when packets that want an answer have had none. */
  readonly unansweredSince: number | undefined;
}

export function newEndpointChoice(
  { endpoint, relays }: { readonly endpoint?: string; readonly relays: readonly string[] },
  now: number,
): EndpointChoice {
  const ways = [...(endpoint === undefined ? [] : [endpoint]), ...relays];
  return {
    ways,
    hasEndpoint: endpoint !== undefined,
    index: 0,
    since: now,
    heard: undefined,
    unansweredSince: undefined,
  };
}

/** The same way where it still is one, so that a new configuration does not begin the search anew; another endpoint does. */
export function choiceFor(
  gateway: { readonly endpoint?: string; readonly relays: readonly string[] },
  before: EndpointChoice | undefined,
  now: number,
): EndpointChoice {
  const made = newEndpointChoice(gateway, now);
  if (before === undefined || endpointOf(before) !== endpointOf(made)) return made;
  if (before.ways.join(" ") === made.ways.join(" ")) return before;
  const index = made.ways.indexOf(chosenWay(before) ?? "");
  return index === -1 ? made : { ...before, ways: made.ways, index };
}

function endpointOf({ hasEndpoint, ways }: EndpointChoice): string | undefined {
  return hasEndpoint ? ways[0] : undefined;
}

/**
 * What follows from a look at the peer. A session that lives answers data within 10 s (WireGuard's passive keepalive) and handshakes at once;
 * the device's own keepalives alone are answered by nobody.
 */
export function watchedChoice(choice: EndpointChoice, live: LivePeer | undefined, now: number): EndpointChoice {
  if (live === undefined) return choice;
  const { receivedBytes, sentBytes, lastHandshake: handshake = 0 } = live;
  const { heard, index, since, hasEndpoint } = choice;
  const moved = (to: number): EndpointChoice => ({
    ...choice,
    index: to,
    since: now,
    heard: { at: now, receivedBytes, sentBytes, handshake },
    unansweredSince: undefined,
  });
  if (hasEndpoint && index !== 0 && now - since >= endpointAgainMs) return moved(0);
  const isHeard = heard !== undefined && (heard.receivedBytes !== receivedBytes || heard.handshake !== handshake);
  if (heard === undefined || isHeard) {
    // At the first look, what was sent already counts as unanswered where nothing ever came back.
    const isSilent = heard === undefined && receivedBytes === 0 && sentBytes > keepaliveBytes;
    return {
      ...choice,
      heard: { at: now, receivedBytes, sentBytes, handshake },
      unansweredSince: isSilent ? now : undefined,
    };
  }
  const keepalives = keepaliveBytes * (1 + Math.floor((now - heard.at) / keepaliveMs));
  const isWaiting = choice.unansweredSince !== undefined || sentBytes - heard.sentBytes > keepalives;
  if (!isWaiting) return choice;
  const unansweredSince = choice.unansweredSince ?? now;
  const waiting = { ...choice, unansweredSince };
  return isSilent(waiting, now) && choice.ways.length > 1 ? moved((index + 1) % choice.ways.length) : waiting;
}

/** Whether packets that want an answer have had none for too long. */
export function isSilent({ unansweredSince }: EndpointChoice, now: number): boolean {
  return unansweredSince !== undefined && now - unansweredSince >= patienceMs;
}

/** @returns undefined where there is no way at all: the gateway may still find the device */
export function chosenWay({ ways, index }: EndpointChoice): string | undefined {
  return ways[index];
}
