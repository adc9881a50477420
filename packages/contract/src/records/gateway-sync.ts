import Type, { type Static } from "typebox";
import { component, nullable, oneOf, Timestamp } from "../schema.ts";

export const syncStates = [
  /** It said that it enforces what it should. */
  "applied",
  /** On its way to it. */
  "sent",
  /** Not sent yet: another one is not answered, or the change is not worked out. */
  "pending",
  /** It refused what it was sent, and enforces what it had before. */
  "failed",
  /** Not connected, and still enforcing what it applied last. */
  "offline",
  /** Not connected, and enforcing nothing: it never applied anything, or that has expired. */
  "nothing-enforced",
] as const;
export type SyncState = (typeof syncStates)[number];

/** A generation of the tenant, and since when. */
const SyncPoint = Type.Object({ generation: Type.Integer({ minimum: 0 }), since: Timestamp });

export const GatewaySync = component("GatewaySync", "What a gateway should enforce, and what it says it does.", {
  state: oneOf(syncStates),
  generation: Type.Integer({ minimum: 0, description: "The tenant's present generation: it rises with each change." }),
  wanted: nullable(SyncPoint),
  sent: nullable(SyncPoint),
  applied: nullable(SyncPoint),
  lagMs: nullable(
    Type.Number({
      minimum: 0,
      description: "How long it took until it was applied, or how long that has been waited for, in milliseconds.",
    }),
  ),
  error: Type.Optional(Type.String({ description: "Why what was sent last was refused." })),
  warnings: Type.Array(Type.String(), {
    description:
      "What the gateway cannot do although it enforces what it should, in its agent's words: such as answering names. None where it is not connected.",
  }),
});
export type GatewaySync = Static<typeof GatewaySync>;
