import Type, { type Static } from "typebox";
import { component, oneOf } from "../schema.ts";
import { NamedRecord } from "./decision.ts";
import { policyModes } from "./policy.ts";

export const PastAccess = component("PastAccess", "What somebody could reach at a moment, and by which policy.", {
  user: NamedRecord,
  device: Type.Optional(NamedRecord),
  resource: NamedRecord,
  policy: NamedRecord,
  mode: Type.Optional(oneOf(policyModes)),
  gateways: Type.Array(NamedRecord, {
    description:
      "Those that could carry it, in the order to try, whether or not they could be reached then; none that were in maintenance.",
  }),
});
export type PastAccess = Static<typeof PastAccess>;
