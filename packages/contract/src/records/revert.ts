import Type, { type Static } from "typebox";
import { component, oneOf, Timestamp, Uuid } from "../schema.ts";

/** Reasons why a part of an event cannot be reverted. */
export const irrevertibleCodes = [
  "api_key",
  "built_in",
  "configuration",
  "delivery",
  "devices",
  "gateway_priority",
  "gateway_settings",
  "invitation",
  "missing_record",
  "no_setting_changed",
  "observation",
  "ownership",
  "part_of_deletion",
  "record_deleted",
  "saml_default_group",
  "secret",
  "too_many_changes",
  "unsupported",
  "user_status",
] as const;
export type IrrevertibleCode = (typeof irrevertibleCodes)[number];

export const Irrevertible = component("Irrevertible", "A part of an event that cannot be reverted.", {
  code: oneOf(irrevertibleCodes),
  message: Type.String({ description: "The reason, and what to do instead." }),
  field: Type.Optional(Type.String({ description: "The field of the record that is not restored." })),
  record: Type.Optional(
    component("IrrevertibleRecord", "A record that a reason refers to.", { type: Type.String(), id: Type.String() }),
  ),
  event: Type.Optional(
    Type.Unsafe<string>({
      ...Uuid,
      description: "The event to revert instead, or the event that prevents the revert.",
    }),
  ),
});
export type Irrevertible = Static<typeof Irrevertible>;

export const UndoneEvent = component("UndoneEvent", "A later event that the revert undoes in whole or in part.", {
  id: Uuid,
  position: Type.Integer(),
  createdAt: Timestamp,
  operation: Type.String(),
  target: component("UndoneTarget", "The record that the later event changed.", {
    type: Type.String(),
    id: Uuid,
    name: Type.Optional(Type.String()),
  }),
  fields: Type.Array(Type.String(), {
    description: "The fields that lose the event's values; empty if the whole record is deleted.",
  }),
});
export type UndoneEvent = Static<typeof UndoneEvent>;
