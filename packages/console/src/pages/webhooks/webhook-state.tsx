import type { ResultOf } from "@gatehouse/client/calls";
import { t } from "../../messages/i18n.ts";
import { Literals } from "../../records/literals.tsx";
import { Status } from "../../records/status.tsx";

export type Webhook = ResultOf<"/tenants/webhooks/{id}", "get">;

export function StateOfWebhook({ webhook }: { readonly webhook: Webhook }) {
  const { active, failingSince, behindSince, disabledReason } = webhook;
  if (!active)
    return (
      <Status tone="idle">
        {disabledReason === undefined ? t("webhooks.state.inactive") : t("webhooks.state.disabledBySystem")}
      </Status>
    );
  if (failingSince !== undefined) return <Status tone="bad">{t("webhooks.state.failing")}</Status>;
  if (behindSince !== undefined) return <Status tone="waiting">{t("webhooks.state.behind")}</Status>;
  return <Status tone="good">{t("webhooks.state.active")}</Status>;
}

export function EventsOf({ webhook: { events } }: { readonly webhook: Webhook }) {
  return events.length === 0 ? t("webhooks.fields.allEvents") : <Literals texts={events} />;
}
