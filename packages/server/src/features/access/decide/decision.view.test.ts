import type { Decision } from "@gatehouse/policy/decisions/decision";
import { compile } from "@gatehouse/policy/model/model";
import { expect, test } from "vitest";
import { decisionJson, decisionView } from "./decision.view.ts";

const gateway = { status: "ONLINE" as const, load: null, roundTripTimeMs: null };
const model = compile({
  users: [],
  groups: [],
  devices: [],
  gateways: [
    { ...gateway, id: "g1", name: 'Ber"lin\\ \u2028' },
    { ...gateway, id: "g2", name: "Zürich 🏔" },
  ],
  resources: [],
  rules: [],
  policies: [],
});
const policy = { id: "p1", name: 'Engineers "build"\n' };
const resource = { id: "r1", name: "\ud800 wiki\u0000" };

test.each<Decision>([
  { allowed: false, reasons: ["unknown_user"], gateways: [] },
  { allowed: false, reasons: ["no_policy_allows"], resource, gateways: [], validUntil: 0 },
  { allowed: true, reasons: ["allowed_by_policy"], policy, resource, gateways: ["g1", "missing", "g2"] },
  { allowed: true, reasons: ["allowed_by_policy", "no_reachable_gateway"], policy, resource, gateways: [] },
  { allowed: true, reasons: ["allowed_by_policy"], policy, mode: "LOCAL", gateways: [], validUntil: 1e17 },
])("the JSON of a decision equals the JSON of its view: $reasons", (decision) => {
  const view = { decision: decision.allowed, context: decisionView(decision, model) };
  expect(decisionJson(decision, model)).toBe(JSON.stringify(view));
});
