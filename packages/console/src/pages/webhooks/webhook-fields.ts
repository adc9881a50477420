import { targetTypes } from "@gatehouse/contract/event-types";
import { t } from "../../messages/i18n.ts";
import { textWithCode } from "../../messages/text-with-code.tsx";
import { type Field, nameField, type Values } from "../../records/form-fields.tsx";
import { omitUnchanged } from "../../records/omit-unchanged.ts";
import type { Webhook } from "./webhook-state.tsx";

/** Event types to suggest, with a wildcard for each type of record. */
const known = targetTypes.flatMap((type) => [
  `${type}.*`,
  ...["created", "updated", "deleted"].map((kind) => `${type}.${kind}`),
]);

export const webhookFields: readonly Field[] = [
  {
    kind: "text",
    name: "url",
    label: t("webhooks.fields.url"),
    description: t("webhooks.fields.urlHelp"),
    example: "https://hooks.example.com/in",
    required: true,
    maxLength: 2000,
  },
  nameField(t("webhooks.fields.nameExample"), { description: t("webhooks.fields.nameHelp"), required: false }),
  {
    kind: "words",
    name: "events",
    label: t("webhooks.fields.events"),
    description: textWithCode("webhooks.fields.eventsHelp"),
    example: "policy.updated",
    suggestions: known,
  },
  { kind: "switch", name: "active", label: t("webhooks.fields.active"), description: t("webhooks.fields.activeHelp") },
  { kind: "long-text", name: "description", label: t("common.description") },
];

export const newWebhook: Values = { url: "", name: "", events: [], active: true, description: "" };

export function webhookValues({ url, name, events, active, description = "" }: Webhook): Values {
  return { url, name, events: [...events], active, description };
}

export interface WebhookBody {
  url: string;
  name?: string;
  events: string[];
  active: boolean;
  description: string;
}

export function bodyOf(values: Values): WebhookBody {
  const { name = "", ...rest } = values as unknown as WebhookBody; // as the fields define them
  return { ...rest, ...(name.trim() === "" ? {} : { name }) };
}

/** The body of a change. An unchanged URL is omitted, because sending one requires a recent authentication. */
export function changesOf(values: Values, before: Values): Partial<WebhookBody> {
  return omitUnchanged(bodyOf(values), bodyOf(before), ["url"]);
}
