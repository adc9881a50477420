import type { ErrorDefinition } from "./definition.ts";

/** Errors of policies, admission rules and access tests. */
export const policyErrors = {
  admission_rule_in_use: {
    status: 409,
    title: "A policy uses the admission rule",
    explanation: "An admission rule cannot be deleted while policies use it.",
    remedy: "Assign another rule to the policies that `errors` lists.",
  },
  policy_is_default: {
    status: 409,
    title: "The default policy cannot be changed this way",
    explanation:
      "The default internet policy always exists, is active and is evaluated last. Only its mode, gateways and description can be changed.",
    remedy: "Create your own policy. It is evaluated before the default policy.",
  },
  policy_not_deactivated: {
    status: 409,
    title: "The policy is not deactivated",
    explanation: "Only a deactivated policy can be reactivated.",
    remedy: "No action is needed: the policy is active.",
  },
  access_tests_broken: {
    status: 409,
    title: "The change would break access tests",
    explanation:
      "The change grants access that would break enforced access tests which pass now, or it enforces a test that does not pass. `errors` lists each test with some of the subjects for which it fails. A change that only removes access, or only ends sessions of devices, is never rejected.",
    remedy:
      "Adjust the change or the test. POST /tenants/policies/preview shows which tests a change would break. To apply the change anyway, give a reason in the header `Gatehouse-Override-Reason`. The audit record stores the reason.",
  },
  access_test_limit_reached: {
    status: 409,
    title: "The tenant has reached the access test limit",
    explanation: "A tenant can have at most 1,000 access tests.",
    remedy: "Delete a test, or replace tests of individual users with one test of their group.",
  },
  invalid_rule: {
    status: 422,
    title: "The admission rule is not valid",
    explanation:
      "The text is not a CEL expression over the documented variables with a boolean result. `errors` gives the line and column.",
    remedy: "Correct the rule at the positions in `errors`.",
  },
  incomplete_order: {
    status: 422,
    title: "The order does not list every policy exactly once",
    explanation:
      "Reordering requires the complete list of policies of the type. The default policy is either last or omitted.",
    remedy: "List the policies of the type and send all their ids.",
  },
  evaluation_too_expensive: {
    status: 422,
    title: "The request costs too much to evaluate",
    explanation:
      "One request can cost at most 250 million units of evaluation, about 5 seconds of processor time. The cost grows with the number of questions, users and policies, and with the cost of the admission rules.",
    remedy: "Ask about fewer records in one request, or simplify the admission rules.",
  },
} as const satisfies Record<string, ErrorDefinition>;
