import Type, { type Static } from "typebox";
import { component, identity, Name, oneOf } from "../schema.ts";

export const admissionRuleTypes = ["ALLOW", "DENY", "CUSTOM"] as const;

/** The text of an admission rule in a request. */
export const RuleText = Type.String({
  minLength: 1,
  maxLength: 4096,
  description: "A CEL expression over user, device, source, resource and now, with a boolean result.",
});

export const AdmissionRule = component("AdmissionRule", "A condition that a request must meet beside its policy.", {
  ...identity,
  name: Name,
  type: oneOf(admissionRuleTypes),
  hasTimeConstraint: Type.Boolean(),
  rule: Type.Optional(Type.String({ description: "A CEL expression over user, device, source, resource and now." })),
});
export type AdmissionRule = Static<typeof AdmissionRule>;

const RuleError = component("RuleError", "What is wrong with the text of an admission rule, and where.", {
  message: Type.String(),
  line: Type.Integer({ minimum: 1 }),
  column: Type.Integer({ minimum: 1, description: "In characters." }),
});

export const RuleReport = component("RuleReport", "What checking the text of an admission rule found.", {
  valid: Type.Boolean(),
  readsNow: Type.Optional(
    Type.Boolean({
      description: "Of a valid rule: whether it depends on the time, and so needs `hasTimeConstraint: true`.",
    }),
  ),
  errors: Type.Array(RuleError, { description: "In the order of the text; at most 20." }),
});
export type RuleReport = Static<typeof RuleReport>;
