import Type, { type Static } from "typebox";
import { component, oneOf, Timestamp, Uuid } from "../schema.ts";
import { Change, ChangeResult } from "./change-set.ts";
import { AccessPreview } from "./preview.ts";

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

const ChangedRecord = component("RevertedRecord", "A record that the revert changes.", {
  target: component("RevertTarget", "The record.", {
    type: Type.String(),
    id: Uuid,
    name: Type.Optional(Type.String()),
  }),
  before: Type.Optional(
    Type.Unsafe<Record<string, unknown>>({
      type: "object",
      additionalProperties: true,
      description: "The record before the revert, as audit entries hold it; omitted if the revert creates the record.",
    }),
  ),
  after: Type.Optional(
    Type.Unsafe<Record<string, unknown>>({
      type: "object",
      additionalProperties: true,
      description: "The record after the revert, as audit entries hold it; omitted if the revert deletes the record.",
    }),
  ),
});
export type ChangedRecord = Static<typeof ChangedRecord>;

/** The most records that a response lists. */
export const maxRevertedRecords = 200;

/** The most later events that a response lists. */
export const maxUndoneEvents = 1_000;

/** The most requests of a revert of a whole request. One event takes at most as many as a change set has changes. */
export const maxRequestChanges = 500;

/** The events that a revert covers: one, or all events of its request. */
export const revertScopes = ["event", "request"] as const;
export type RevertScope = (typeof revertScopes)[number];

const RecreatedRecord = component("RecreatedRecord", "A deleted record that returns with a new id.", {
  type: Type.String(),
  formerId: Uuid,
  id: Type.Optional(Type.Unsafe<string>({ ...Uuid, description: "The new id; omitted in a preview." })),
});
export type RecreatedRecord = Static<typeof RecreatedRecord>;

export const Revert = component("Revert", "The revert of an event: its changes, and what it cannot restore.", {
  event: Type.Unsafe<string>({ ...Uuid, description: "Id of the event that is reverted." }),
  preview: Type.Boolean({ description: "Whether nothing was stored." }),
  scope: Type.Unsafe<RevertScope>({
    ...oneOf(revertScopes),
    description: "Whether the revert covers this event only, or all events of its request.",
  }),
  requestEvents: Type.Integer({
    minimum: 1,
    description:
      "The number of events of the request. If there are several and `scope` is `event`, the others keep their effect: then the revert restores a part of the state before the request.",
  }),
  generation: Type.Integer({
    minimum: 0,
    description: "The tenant's generation after the revert; for a preview, the generation that it is based on.",
  }),
  changes: Type.Array(Change, {
    description:
      "The requests of the revert, as `POST /tenants/changes` takes them. Empty if there is nothing to revert. If a request would be rejected, it is the last one.",
  }),
  results: Type.Optional(
    Type.Array(ChangeResult, {
      description: "The responses to the requests, in the same order. Omitted in a preview.",
    }),
  ),
  records: Type.Array(ChangedRecord, {
    description: `The records that change, including those that a deletion removes references from; at most ${maxRevertedRecords}.`,
  }),
  recordCount: Type.Integer({ minimum: 0, description: "Number of records that change." }),
  undoes: Type.Array(UndoneEvent, {
    description: `Later events that changed the same fields, and whose values are lost; at most ${maxUndoneEvents}. Events on other fields remain.`,
  }),
  moreUndone: Type.Boolean({
    description:
      "Whether the revert may undo later events in addition to those in `undoes`, because there are too many to list or to examine.",
  }),
  cannot: Type.Array(Irrevertible, { description: "Parts of the event that are not reverted, each with the reason." }),
  recreated: Type.Optional(
    Type.Unsafe<RecreatedRecord>({
      ...RecreatedRecord,
      description: "The deleted record of the event, which returns with a new id.",
    }),
  ),
  alsoRecreated: Type.Optional(
    Type.Array(RecreatedRecord, {
      description: "Deleted records of the other events, which return with new ids. Only for `scope=request`.",
    }),
  ),
  refused: Type.Optional(
    component("RevertRefusal", "The error with which the revert would be rejected now. Only in a preview.", {
      code: Type.String(),
      detail: Type.String(),
      errors: Type.Optional(
        Type.Array(
          component("RevertRefusalField", "A field with a problem.", {
            pointer: Type.String(),
            message: Type.String(),
          }),
        ),
      ),
    }),
  ),
  access: Type.Optional(
    Type.Unsafe<AccessPreview>({
      ...AccessPreview,
      description: "The access that the revert would grant and remove. Only in a preview that is not refused.",
    }),
  ),
});
export type Revert = Static<typeof Revert>;
