import { targetTypes } from "@gatehouse/contract/event-types";
import type { Field, Values } from "../../records/form-fields.tsx";
import type { Webhook } from "./webhook-state.tsx";

/** Kinds of change, and what is any of them. */
const known = targetTypes.flatMap((type) => [
  `${type}.*`,
  ...["created", "updated", "deleted"].map((kind) => `${type}.${kind}`),
]);

export const webhookFields: readonly Field[] = [
  {
    kind: "text",
    name: "url",
    label: "URL",
    description: "Where each event is posted to, over https.",
    placeholder: "https://hooks.example.com/gatehouse",
    required: true,
    maxLength: 2000,
  },
  { kind: "text", name: "name", label: "Name", description: "Empty: the URL's host." },
  {
    kind: "words",
    name: "events",
    label: "Events",
    description:
      "A kind of record and what happened to it, any change of it, or an operation such as reorderPolicies. None: everything.",
    placeholder: "policy.updated",
    suggestions: known,
  },
  { kind: "switch", name: "active", label: "Active", description: "While it is off, nothing is kept for it." },
  { kind: "long-text", name: "description", label: "Description" },
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
  const { name = "", ...rest } = values as unknown as WebhookBody; // as the fields make them
  return { ...rest, ...(name.trim() === "" ? {} : { name }) };
}
