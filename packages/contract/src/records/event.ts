import Type, { type Static } from "typebox";
import { component, oneOf, Timestamp, Uuid } from "../schema.ts";

export const actorTypes = ["user", "api-key", "enrolment-key", "gateway", "device", "operator", "system"] as const;
export type ActorType = (typeof actorTypes)[number];

const recordState = (description: string) =>
  Type.Optional(Type.Unsafe<Record<string, unknown>>({ type: "object", description, additionalProperties: true }));

export const Event = component("Event", "An entry of the audit record: a change with its actor and source.", {
  id: Uuid,
  position: Type.Integer({
    description:
      "The entry's position in the tenant's record: 1, 2, 3 and so on, without gaps, in the order of the changes.",
  }),
  createdAt: Timestamp,
  generation: Type.Integer({
    description:
      "The tenant's generation that the command created. Generations rise without gaps, and all entries of a command share one.",
  }),
  actor: component("Actor", "The actor that made a change.", {
    type: oneOf(actorTypes),
    id: Type.Optional(Uuid),
    name: Type.String(),
  }),
  operation: Type.String({ description: "The `operationId` of the operation that was called." }),
  target: component("EventTarget", "The record that was changed.", {
    type: Type.String(),
    id: Uuid,
    name: Type.Optional(Type.String()),
  }),
  before: recordState(
    "The record before the change; omitted if it was created. For `applyConfiguration`, only the changed fields, in the format of configuration documents.",
  ),
  after: recordState("The record after the change, in the same format; omitted if it was deleted."),
  requestId: Type.String(),
  sourceAddress: Type.Optional(Type.String()),
  reason: Type.Optional(Type.String({ description: "The reason that was given for overriding access tests." })),
  reverts: Type.Optional(
    Type.Unsafe<string>({ ...Uuid, description: "The event that this change reverts; omitted for other changes." }),
  ),
});
export type Event = Static<typeof Event>;

export const SigningKey = component("SigningKey", "The public key that verifies the signatures in audit records.", {
  algorithm: oneOf(["Ed25519"]),
  publicKey: Type.String({ description: "The public key: 32 bytes in base64." }),
});
export type SigningKey = Static<typeof SigningKey>;
