import type { ConfigurationContent, Membership, TimeWindows } from "@gatehouse/agent-protocol/gateway/configuration";

/** Whether a window is open now. Without windows, it always is. A window includes its start and excludes its end. */
export function isOpen(windows: TimeWindows | true | undefined, now: number): boolean {
  if (windows === undefined || windows === true) return true;
  return windows.some(([from, until]) => (from === null || from <= now) && (until === null || now < until));
}

/**
 * Returns the content without the devices whose sessions have ended: the given content if there are none.
 *
 * @param now milliseconds since 1970
 */
export function contentAt(content: ConfigurationContent, now: number): ConfigurationContent {
  const ended = endedDevices(content, now);
  if (ended.length === 0) return content;
  const peers = { ...content.peers };
  for (const key of ended) delete peers[key];
  return { ...content, peers };
}

/** Returns the keys of the devices whose sessions have ended. */
export function endedDevices({ peers }: ConfigurationContent, now: number): readonly string[] {
  return Object.entries(peers).flatMap(([key, peer]) =>
    peer.kind === "device" && peer.until !== undefined && peer.until <= now ? [key] : [],
  );
}

/** Returns the next time at which a window opens or closes, a session or a drain ends, or the configuration expires. */
export function nextChangeAt(content: ConfigurationContent, expiresAt: number, now: number): number | undefined {
  let next = Number.POSITIVE_INFINITY;
  const consider = (time: number | null | undefined) => {
    if (time !== null && time !== undefined && time > now && time < next) next = time;
  };
  const considerAll = (windows: Membership | undefined) => {
    if (windows === undefined || windows === true) return;
    for (const [from, until] of windows) {
      consider(from);
      consider(until);
    }
  };
  consider(expiresAt);
  consider(content.settings.drain?.until);
  for (const peer of Object.values(content.peers)) if (peer.kind === "device") consider(peer.until);
  for (const members of Object.values(content.classes))
    for (const membership of Object.values(members)) considerAll(membership);
  for (const { devices, sites } of Object.values(content.resources)) {
    for (const rule of devices) considerAll(rule.windows);
    for (const rule of sites) considerAll(rule.windows);
  }
  for (const rule of content.settings.internet?.devices ?? []) considerAll(rule.windows);
  return next === Number.POSITIVE_INFINITY ? undefined : next;
}
