import Type, { type Static } from "typebox";
import { component, identity, Name, oneOf } from "../schema.ts";

export const admissionRuleTypes = ["ALLOW", "DENY", "CUSTOM"] as const;

export const AdmissionRule = component("AdmissionRule", "A condition that a request must meet beside its policy.", {
  ...identity,
  name: Name,
  type: oneOf(admissionRuleTypes),
  hasTimeConstraint: Type.Boolean(),
  rule: Type.Optional(Type.String({ description: "A CEL expression over user, device, source, resource and now." })),
});
export type AdmissionRule = Static<typeof AdmissionRule>;
