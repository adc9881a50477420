import type { ResultOf } from "@gatehouse/client/calls";
import { t } from "../../messages/i18n.ts";
import { Literals } from "../../records/literals.tsx";
import { Status } from "../../records/status.tsx";

export type Webhook = ResultOf<"/tenants/webhooks/{id}", "get">;

const states = {
  active: { tone: "good", text: t("webhooks.state.active") },
  behind: { tone: "waiting", text: t("webhooks.state.behind") },
  disabledBySystem: { tone: "idle", text: t("webhooks.state.disabledBySystem") },
  failing: { tone: "bad", text: t("webhooks.state.failing") },
  inactive: { tone: "idle", text: t("webhooks.state.inactive") },
} as const;

/** The state as a person reads it, with its tone. */
export function stateOf({ active, failingSince, behindSince, disabledReason }: Webhook) {
  if (!active) return disabledReason === undefined ? states.inactive : states.disabledBySystem;
  if (failingSince !== undefined) return states.failing;
  return behindSince === undefined ? states.active : states.behind;
}

export function StateOfWebhook({ webhook }: { readonly webhook: Webhook }) {
  const { tone, text } = stateOf(webhook);
  return <Status tone={tone}>{text}</Status>;
}

export function EventsOf({ webhook: { events } }: { readonly webhook: Webhook }) {
  return events.length === 0 ? t("webhooks.fields.allEvents") : <Literals texts={events} />;
}
