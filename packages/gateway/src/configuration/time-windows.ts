import type { ConfigurationContent, Membership, TimeWindows } from "@gatehouse/agent-protocol/gateway/configuration";

/** Whether a window is open now. Without windows, it always is. A window includes its start and excludes its end. */
export function isOpen(windows: TimeWindows | true | undefined, now: number): boolean {
  if (windows === undefined || windows === true) return true;
  return windows.some(([from, until]) => (from === null || from <= now) && (until === null || now < until));
}

/** Returns the next time at which a window opens or closes, a drain ends, or the configuration expires. */
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
  for (const members of Object.values(content.classes))
    for (const membership of Object.values(members)) considerAll(membership);
  for (const { devices, sites } of Object.values(content.resources)) {
    for (const rule of devices) considerAll(rule.windows);
    for (const rule of sites) considerAll(rule.windows);
  }
  for (const rule of content.settings.internet?.devices ?? []) considerAll(rule.windows);
  return next === Number.POSITIVE_INFINITY ? undefined : next;
}
