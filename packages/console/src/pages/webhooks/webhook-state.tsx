import type { ResultOf } from "@gatehouse/client/calls";
import { Status } from "../../records/status.tsx";

export type Webhook = ResultOf<"/tenants/webhooks/{id}", "get">;

export function StateOfWebhook({ webhook }: { readonly webhook: Webhook }) {
  const { active, failingSince, disabledReason } = webhook;
  if (!active) return <Status tone="idle">{disabledReason === undefined ? "Off" : "Switched off by Gatehouse"}</Status>;
  return failingSince === undefined ? <Status tone="good">Active</Status> : <Status tone="bad">Failing</Status>;
}
