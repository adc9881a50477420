import type { ResultOf } from "@gatehouse/client/calls";
import { t } from "../../messages/i18n.ts";
import { Status } from "../../records/status.tsx";

export type ApiKey = ResultOf<"/tenants/api-keys/{id}", "get">;

export type KeyState = "active" | "replaced" | "expired";

/** @param now in milliseconds since 1970 */
export function stateOf({ expiresAt, replacedBy }: ApiKey, now: number): KeyState {
  if (expiresAt !== undefined && Date.parse(expiresAt) <= now) return "expired";
  return replacedBy === undefined ? "active" : "replaced";
}

const states = {
  active: { tone: "good", text: t("apiKeys.state.active") },
  replaced: { tone: "waiting", text: t("apiKeys.state.replacedStillValid") },
  expired: { tone: "idle", text: t("apiKeys.state.expired") },
} as const;

export function formatState(apiKey: ApiKey): string {
  return states[stateOf(apiKey, Date.now())].text;
}

export function StateOfKey({ apiKey }: { readonly apiKey: ApiKey }) {
  const { tone, text } = states[stateOf(apiKey, Date.now())];
  return <Status tone={tone}>{text}</Status>;
}
