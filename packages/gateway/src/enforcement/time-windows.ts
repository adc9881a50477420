import type { ConfigurationContent, Membership, TimeWindows } from "@gatehouse/agent-protocol/gateway/configuration";

/** Whether it holds at this moment; absent or true: always. A window is open from its first moment until before its second. */
export function isOpen(windows: TimeWindows | true | undefined, now: number): boolean {
  if (windows === undefined || windows === true) return true;
  return windows.some(([from, until]) => (from === null || from <= now) && (until === null || now < until));
}

/** @returns the next moment after this one at which a window opens or closes, a drain or the life of the configuration ends */
export function nextChangeAt(content: ConfigurationContent, expiresAt: number, now: number): number | undefined {
  let next = Number.POSITIVE_INFINITY;
  const consider = (moment: number | null | undefined) => {
    if (moment !== null && moment !== undefined && moment > now && moment < next) next = moment;
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
