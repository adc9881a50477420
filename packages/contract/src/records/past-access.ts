import Type, { type Static } from "typebox";
import { component, oneOf, Timestamp } from "../schema.ts";
import { NamedRecord } from "./decision.ts";
import { policyModes } from "./policy.ts";

export const PastAccess = component(
  "PastAccess",
  "A resource that a subject could reach at a point in time, and the policy that allowed it.",
  {
    user: NamedRecord,
    device: Type.Optional(NamedRecord),
    resource: NamedRecord,
    policy: NamedRecord,
    mode: Type.Optional(oneOf(policyModes)),
    gateways: Type.Array(NamedRecord, {
      description:
        "Gateways that could carry the traffic, in the order to try, including gateways that were unreachable then. Gateways in maintenance are omitted.",
    }),
    balanced: Type.Boolean({
      description:
        "Whether load balancing orders the gateways. Each user and device then has its own order, which also depends on the load and the distance of gateways. The order here assumes that these are equal.",
    }),
  },
);
export type PastAccess = Static<typeof PastAccess>;

export const AccessHistory = component("AccessHistory", "The bounds of the history of access.", {
  begins: Type.Optional(
    Type.Unsafe<string>({
      ...Timestamp,
      description: "The earliest time for which access can be listed. Omitted if there is no history yet.",
    }),
  ),
  at: Type.Unsafe<string>({ ...Timestamp, description: "The requested time; by default, the server's time." }),
  generation: Type.Optional(
    Type.Integer({
      minimum: 0,
      description:
        "The generation in force at that time: that of the last change that could affect access. Omitted for times before the history.",
    }),
  ),
});
export type AccessHistory = Static<typeof AccessHistory>;
