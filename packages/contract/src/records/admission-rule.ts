import Type, { type Static } from "typebox";
import { component, identity, Name, oneOf } from "../schema.ts";

export const admissionRuleTypes = ["ALLOW", "DENY", "CUSTOM"] as const;

/** The text of an admission rule in a request. */
export const RuleText = Type.String({
  minLength: 1,
  maxLength: 4096,
  description: "A CEL expression over user, device, session, source, resource and now, with a boolean result.",
});

export const AdmissionRule = component(
  "AdmissionRule",
  "A condition that a request must meet in addition to a policy's other conditions.",
  {
    ...identity,
    name: Name,
    type: oneOf(admissionRuleTypes),
    hasTimeConstraint: Type.Boolean(),
    rule: Type.Optional(
      Type.String({ description: "A CEL expression over user, device, session, source, resource and now." }),
    ),
  },
);
export type AdmissionRule = Static<typeof AdmissionRule>;

const RuleError = component("RuleError", "An error in the text of an admission rule.", {
  message: Type.String(),
  line: Type.Integer({ minimum: 1 }),
  column: Type.Integer({ minimum: 1, description: "Column in characters, from 1." }),
});

export const RuleReport = component("RuleReport", "The result of checking the text of an admission rule.", {
  valid: Type.Boolean(),
  readsNow: Type.Optional(
    Type.Boolean({
      description:
        "Whether a valid rule reads `now` or `session.age` and therefore requires `hasTimeConstraint: true`.",
    }),
  ),
  errors: Type.Array(RuleError, { description: "Errors in the order of the text, at most 20." }),
});
export type RuleReport = Static<typeof RuleReport>;
