/**
 * Selects the path to a gateway: its endpoint, or a relay if the endpoint does not answer (device/SPEC.md, "Path
 * selection").
 */
import type { LivePeer } from "@gatehouse/agent-core/wireguard/wireguard-interface";

/** After this time without an answer, the next path is tried. */
const silentMs = 15_000;
/** While a relay is in use, the endpoint is tried again at this interval. */
const endpointRetryMs = 5 * 60_000;
/** The interval and size of keepalives, which are not answered. */
const keepaliveMs = 25_000;
const keepaliveBytes = 32;

/** A WireGuard session ends after this time without a handshake, in milliseconds. */
export const wireGuardSessionMs = 180_000;

export interface PathSelection {
  /** The gateway's endpoint, if it has one, then its relays. */
  readonly paths: readonly string[];
  readonly hasEndpoint: boolean;
  /** The position of the selected path in `paths`. */
  readonly index: number;
  /** When the path was selected. All times of a selection are by `clock.elapsedMs()`. */
  readonly since: number;
  /** The last answer; undefined: the peer has not been observed on this path yet. */
  readonly heard:
    | { readonly at: number; readonly receivedBytes: number; readonly sentBytes: number; readonly handshake: number }
    | undefined;
  /** Since when packets that expect an answer have had none. */
  readonly unansweredSince: number | undefined;
}

export function newPathSelection(
  { endpoint, relays }: { readonly endpoint?: string; readonly relays: readonly string[] },
  now: number,
): PathSelection {
  const paths = [...(endpoint === undefined ? [] : [endpoint]), ...relays];
  return {
    paths,
    hasEndpoint: endpoint !== undefined,
    index: 0,
    since: now,
    heard: undefined,
    unansweredSince: undefined,
  };
}

/** Keeps the selected path if a new configuration still has it. A different endpoint restarts the selection. */
export function selectionFor(
  gateway: { readonly endpoint?: string; readonly relays: readonly string[] },
  before: PathSelection | undefined,
  now: number,
): PathSelection {
  const made = newPathSelection(gateway, now);
  if (before === undefined || endpointOf(before) !== endpointOf(made)) return made;
  if (before.paths.join(" ") === made.paths.join(" ")) return before;
  const index = made.paths.indexOf(selectedPath(before) ?? "");
  return index === -1 ? made : { ...before, paths: made.paths, index };
}

function endpointOf({ hasEndpoint, paths }: PathSelection): string | undefined {
  return hasEndpoint ? paths[0] : undefined;
}

/**
 * Updates a selection from an observation of the peer. A live session answers data within 10 s (WireGuard's passive
 * keepalive) and handshakes immediately. The device's own keepalives are not answered.
 */
export function observedSelection(selection: PathSelection, live: LivePeer | undefined, now: number): PathSelection {
  if (live === undefined) return selection;
  const { receivedBytes, sentBytes, lastHandshake: handshake = 0 } = live;
  const { heard, index, since, hasEndpoint } = selection;
  const moved = (to: number): PathSelection => ({
    ...selection,
    index: to,
    since: now,
    heard: { at: now, receivedBytes, sentBytes, handshake },
    unansweredSince: undefined,
  });
  if (hasEndpoint && index !== 0 && now - since >= endpointRetryMs) return moved(0);
  const isHeard = heard !== undefined && (heard.receivedBytes !== receivedBytes || heard.handshake !== handshake);
  if (heard === undefined || isHeard) {
    // At the first observation, packets that were already sent count as unanswered if nothing ever came back.
    const isSilent = heard === undefined && receivedBytes === 0 && sentBytes > keepaliveBytes;
    return {
      ...selection,
      heard: { at: now, receivedBytes, sentBytes, handshake },
      unansweredSince: isSilent ? now : undefined,
    };
  }
  const keepalives = keepaliveBytes * (1 + Math.floor((now - heard.at) / keepaliveMs));
  const isWaiting = selection.unansweredSince !== undefined || sentBytes - heard.sentBytes > keepalives;
  if (!isWaiting) return selection;
  const unansweredSince = selection.unansweredSince ?? now;
  const waiting = { ...selection, unansweredSince };
  return isSilent(waiting, now) && selection.paths.length > 1 ? moved((index + 1) % selection.paths.length) : waiting;
}

/** Whether packets that expect an answer have had none for too long. */
export function isSilent({ unansweredSince }: PathSelection, now: number): boolean {
  return unansweredSince !== undefined && now - unansweredSince >= silentMs;
}

/** @returns undefined if the gateway has no path. The gateway may still reach the device */
export function selectedPath({ paths, index }: PathSelection): string | undefined {
  return paths[index];
}
