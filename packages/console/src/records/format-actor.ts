import type { ItemAt } from "@gatehouse/client/calls";
import { uncapitalize } from "../messages/format.ts";
import { t } from "../messages/i18n.ts";

type Actor = ItemAt<"/tenants/events">["actor"];

/** Such as "ann@example.com" for a person, "Terraform (API key)", or "System". */
export function formatActor({ type, name }: Actor): string {
  switch (type) {
    case "system":
      return t("events.actors.system");
    case "user":
      return name;
    default: {
      const kind = formatActorType(type);
      // The operator has no name of its own.
      return name === kind ? kind : t("events.actors.named", { type: uncapitalize(kind), name });
    }
  }
}

/** Such as "API key". */
export function formatActorType(type: Exclude<Actor["type"], "system">): string {
  switch (type) {
    case "user":
      return t("events.actors.user");
    case "api-key":
      return t("events.actors.apiKey");
    case "enrolment-key":
      return t("events.actors.enrolmentKey");
    case "gateway":
      return t("events.actors.gateway");
    case "device":
      return t("events.actors.device");
    case "operator":
      return t("events.actors.operator");
  }
}
