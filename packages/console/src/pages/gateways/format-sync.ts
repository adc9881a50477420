import type { ResultOf } from "@gatehouse/client/calls";
import type { Tone } from "../../records/status.tsx";

export type GatewaySync = ResultOf<"/tenants/gateways/{id}/sync", "get">;

const states: Readonly<Record<GatewaySync["state"], { readonly text: string; readonly tone: Tone }>> = {
  applied: { text: "In sync", tone: "good" },
  sent: { text: "Sent, not answered yet", tone: "waiting" },
  pending: { text: "On its way", tone: "waiting" },
  failed: { text: "Refused", tone: "bad" },
  offline: { text: "Not connected", tone: "bad" },
  "nothing-enforced": { text: "Enforces nothing", tone: "bad" },
};

export function formatSync({ state }: GatewaySync): { readonly text: string; readonly tone: Tone } {
  return states[state];
}

/** What the state means for whoever relies on the gateway. */
export function explainSync({ state }: GatewaySync): string {
  switch (state) {
    case "applied":
      return "It enforces what it should.";
    case "sent":
      return "It was sent what it should enforce, and has not said yet that it does.";
    case "pending":
      return "A change is being worked out, or waits for an earlier one.";
    case "failed":
      return "It refused what it was sent, and goes on with what it had.";
    case "offline":
      return "It goes on with what it had until that expires, then it drops everything.";
    case "nothing-enforced":
      return "It never applied anything, or what it had has expired: nothing passes through it.";
  }
}

/** Since when it lacks something, or how long the last change took. Null: nothing is wanted of it yet. */
export function formatLag({ state, lagMs }: GatewaySync): string {
  if (lagMs === null) return "–";
  return state === "applied" ? formatDuration(lagMs) : `${formatDuration(lagMs)} behind`;
}

const steps = [
  [1000, "ms"],
  [60, "s"],
  [60, "min"],
  [24, "h"],
] as const;

/** @param ms milliseconds */
export function formatDuration(ms: number): string {
  let rest = ms;
  for (const [size, unit] of steps) {
    if (rest < size) return `${rest < 10 && unit === "s" ? Number(rest.toFixed(1)) : Math.floor(rest)} ${unit}`;
    rest /= size;
  }
  const days = Math.floor(rest);
  return days === 1 ? "1 day" : `${days} days`;
}

export function formatGeneration(point: GatewaySync["wanted"]): string {
  return point === null ? "–" : String(point.generation);
}
