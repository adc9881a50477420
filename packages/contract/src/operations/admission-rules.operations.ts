import Type from "typebox";
import { operation } from "../operation.ts";
import { AdmissionRule, RuleReport, RuleText } from "../records/admission-rule.ts";
import { closedObject, Name } from "../schema.ts";

const tag = "Admission rules";

const HasTimeConstraint = Type.Boolean({ description: "Must be true if the rule reads `now` or `session.age`." });

export const listAdmissionRules = operation({
  id: "listAdmissionRules",
  method: "GET",
  path: "/tenants/admission-rules",
  tag,
  summary: "List admission rules",
  access: "admission-rules:read",
  success: { status: 200, kind: "array", item: AdmissionRule },
});

export const createAdmissionRule = operation({
  id: "createAdmissionRule",
  method: "POST",
  path: "/tenants/admission-rules",
  tag,
  summary: "Create an admission rule",
  access: "admission-rules:write",
  changesAccess: true,
  body: closedObject({ name: Name, rule: RuleText, hasTimeConstraint: HasTimeConstraint }),
  success: { status: 201, kind: "record", body: AdmissionRule },
  errors: ["name_taken", "invalid_rule", "invalid_combination"],
});

export const readAdmissionRule = operation({
  id: "readAdmissionRule",
  method: "GET",
  path: "/tenants/admission-rules/{id}",
  tag,
  summary: "Read an admission rule",
  access: "admission-rules:read",
  parameters: { id: "uuid" },
  success: { status: 200, kind: "record", body: AdmissionRule },
});

export const updateAdmissionRule = operation({
  id: "updateAdmissionRule",
  method: "PUT",
  path: "/tenants/admission-rules/{id}",
  tag,
  summary: "Update an admission rule",
  description: "Omitted fields stay unchanged.",
  access: "admission-rules:write",
  changesAccess: true,
  parameters: { id: "uuid" },
  body: closedObject({
    name: Type.Optional(Name),
    rule: Type.Optional(RuleText),
    hasTimeConstraint: Type.Optional(HasTimeConstraint),
  }),
  success: { status: 200, kind: "record", body: AdmissionRule },
  errors: ["name_taken", "invalid_rule", "invalid_combination", "predefined_record"],
});

export const deleteAdmissionRule = operation({
  id: "deleteAdmissionRule",
  method: "DELETE",
  path: "/tenants/admission-rules/{id}",
  tag,
  summary: "Delete an admission rule",
  access: "admission-rules:write",
  changesAccess: true,
  parameters: { id: "uuid" },
  success: { status: 204, kind: "empty" },
  errors: ["admission_rule_in_use", "predefined_record"],
});

export const checkAdmissionRule = operation({
  id: "checkAdmissionRule",
  method: "POST",
  path: "/tenants/admission-rules/check",
  tag,
  summary: "Check the text of an admission rule",
  description: "Stores nothing. An invalid rule is reported with status 200, because the check itself succeeded.",
  access: "admission-rules:read",
  body: closedObject({ rule: RuleText }),
  success: { status: 200, kind: "report", body: RuleReport },
});
