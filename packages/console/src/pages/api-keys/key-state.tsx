import type { ResultOf } from "@gatehouse/client/calls";
import { Status } from "../../records/status.tsx";

export type ApiKey = ResultOf<"/tenants/api-keys/{id}", "get">;

export type KeyState = "active" | "replaced" | "expired";

/** @param now in milliseconds since 1970 */
export function stateOf({ expiresAt, replacedBy }: ApiKey, now: number): KeyState {
  if (expiresAt !== undefined && Date.parse(expiresAt) <= now) return "expired";
  return replacedBy === undefined ? "active" : "replaced";
}

const words = {
  active: { tone: "good", text: "Active" },
  replaced: { tone: "waiting", text: "Replaced, still working" },
  expired: { tone: "idle", text: "Expired" },
} as const;

export function StateOfKey({ apiKey }: { readonly apiKey: ApiKey }) {
  const { tone, text } = words[stateOf(apiKey, Date.now())];
  return <Status tone={tone}>{text}</Status>;
}
