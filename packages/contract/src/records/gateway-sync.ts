import Type, { type Static } from "typebox";
import { component, nullable, oneOf, Timestamp } from "../schema.ts";

export const syncStates = [
  /** The gateway reported that it applied the desired configuration. */
  "applied",
  /** The configuration was sent to the gateway. */
  "sent",
  /** The configuration was not sent yet: a previous one is unacknowledged, or the change is not computed yet. */
  "pending",
  /** The gateway rejected the configuration and enforces the previous one. */
  "failed",
  /** The gateway is not connected and still enforces its last configuration. */
  "offline",
  /**
   * The gateway is not connected and forwards nothing: it never applied a configuration, or the configuration has
   * expired.
   */
  "nothing-enforced",
] as const;
export type SyncState = (typeof syncStates)[number];

/** A generation of the tenant, and the time since which it is in this state. */
const SyncPoint = Type.Object({ generation: Type.Integer({ minimum: 0 }), since: Timestamp });

export const GatewaySync = component(
  "GatewaySync",
  "The configuration that a gateway should enforce, and the one that it reported.",
  {
    state: oneOf(syncStates),
    generation: Type.Integer({
      minimum: 0,
      description: "The tenant's current generation, which every change increments.",
    }),
    wanted: nullable(SyncPoint),
    sent: nullable(SyncPoint),
    applied: nullable(SyncPoint),
    lagMs: nullable(
      Type.Number({
        minimum: 0,
        description:
          "Milliseconds until the configuration was applied, or milliseconds since it has been waiting to be applied.",
      }),
    ),
    error: Type.Optional(Type.String({ description: "Why the gateway rejected the last configuration." })),
    warnings: Type.Array(Type.String(), {
      description:
        "Problems that the gateway's agent reports although it applied its configuration, for example that it cannot serve DNS. Empty if the gateway is not connected.",
    }),
  },
);
export type GatewaySync = Static<typeof GatewaySync>;
