/** The configuration state of a gateway in words. */
import type { ResultOf } from "@gatehouse/client/calls";
import { t } from "../../messages/i18n.ts";
import type { Tone } from "../../records/status.tsx";

export type GatewaySync = ResultOf<"/tenants/gateways/{id}/sync", "get">;

const states: Readonly<Record<GatewaySync["state"], { readonly text: string; readonly tone: Tone }>> = {
  applied: { text: t("gateways.sync.states.applied"), tone: "good" },
  sent: { text: t("gateways.sync.states.sent"), tone: "waiting" },
  pending: { text: t("gateways.sync.states.pending"), tone: "waiting" },
  failed: { text: t("gateways.sync.states.failed"), tone: "bad" },
  offline: { text: t("gateways.sync.states.offline"), tone: "bad" },
  "nothing-enforced": { text: t("gateways.sync.states.nothingEnforced"), tone: "bad" },
};

export function formatSync({ state }: GatewaySync): { readonly text: string; readonly tone: Tone } {
  return states[state];
}

/** The consequence of the state for traffic through the gateway. */
export function explainSync({ state }: GatewaySync): string {
  switch (state) {
    case "applied":
      return t("gateways.sync.explain.applied");
    case "sent":
      return t("gateways.sync.explain.sent");
    case "pending":
      return t("gateways.sync.explain.pending");
    case "failed":
      return t("gateways.sync.explain.failed");
    case "offline":
      return t("gateways.sync.explain.offline");
    case "nothing-enforced":
      return t("gateways.sync.explain.nothingEnforced");
  }
}

/** The delay of the gateway, or the time that the last change took. Undefined if the gateway has no target yet. */
export function formatLag({ state, lagMs }: GatewaySync): string | undefined {
  if (lagMs === null) return undefined;
  const duration = formatDuration(lagMs);
  return state === "applied" ? duration : t("gateways.sync.behind", { duration });
}

const units = [
  [1000, "milliseconds"],
  [60, "seconds"],
  [60, "minutes"],
  [24, "hours"],
] as const;

function formatDuration(ms: number): string {
  let rest = ms;
  for (const [size, unit] of units) {
    if (rest < size) {
      const count = rest < 10 && unit === "seconds" ? Number(rest.toFixed(1)) : Math.floor(rest);
      return t(`gateways.sync.duration.${unit}`, { count });
    }
    rest /= size;
  }
  return t("gateways.sync.duration.days", { count: Math.floor(rest) });
}

export function formatGeneration(point: GatewaySync["wanted"]): string {
  return point === null ? "–" : String(point.generation);
}
