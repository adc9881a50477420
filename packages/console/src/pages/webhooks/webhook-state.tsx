import type { ResultOf } from "@gatehouse/client/calls";
import { Code } from "@mantine/core";
import { t } from "../../messages/i18n.ts";
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
  if (events.length === 0) return t("webhooks.fields.allEvents");
  return (
    <span className="values">
      {events.map((event) => (
        <Code key={event}>{event}</Code>
      ))}
    </span>
  );
}
