import Type, { type Static } from "typebox";
import { component, oneOf, Timestamp, Uuid } from "../schema.ts";

export const actorTypes = ["api-key", "operator", "system"] as const;
export type ActorType = (typeof actorTypes)[number];

const recordState = (description: string) =>
  Type.Optional(Type.Unsafe<Record<string, unknown>>({ type: "object", description, additionalProperties: true }));

export const Event = component("Event", "An entry of the audit record: one change, who made it, and from where.", {
  id: Uuid,
  position: Type.Integer({
    description: "The entry's place in the tenant's record: 1, 2, 3 …, without gaps, in the order of the changes.",
  }),
  createdAt: Timestamp,
  generation: Type.Integer({
    description: "The tenant's generation that the command made: gapless, rising, shared by its entries.",
  }),
  actor: component("Actor", "Who made a change.", {
    type: oneOf(actorTypes),
    id: Type.Optional(Uuid),
    name: Type.String(),
  }),
  operation: Type.String({ description: "The `operationId` of the operation that was called." }),
  target: component("EventTarget", "What was changed.", {
    type: Type.String(),
    id: Uuid,
    name: Type.Optional(Type.String()),
  }),
  before: recordState(
    "The record before the change; absent when it was created. Of what `applyConfiguration` changed, only what changes, in the form of configuration files.",
  ),
  after: recordState("The record after the change, in the same form; absent when it was deleted."),
  requestId: Type.String(),
  sourceAddress: Type.Optional(Type.String()),
  reason: Type.Optional(
    Type.String({ description: "What the caller gave as the reason for overriding access tests." }),
  ),
});
export type Event = Static<typeof Event>;

export const SigningKey = component("SigningKey", "What signatures in audit records are checked with.", {
  algorithm: oneOf(["Ed25519"]),
  publicKey: Type.String({ description: "32 bytes in base64." }),
});
export type SigningKey = Static<typeof SigningKey>;
