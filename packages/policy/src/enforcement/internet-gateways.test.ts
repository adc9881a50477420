import { expect, test } from "vitest";
import type { PolicyFacts } from "../model/facts.ts";
import { PolicyList } from "../model/policy-list.ts";
import { plainPolicy } from "../testing/plain-policy.ts";
import { finish } from "../work.ts";
import { findingInternetGateways } from "./internet-gateways.ts";

const id = (number: number) => `0199aaaa-0000-7000-8000-0000000000${String(number).padStart(2, "0")}`;
const [first, second] = [id(1), id(2)] as const;
const carrying = (fields: Partial<PolicyFacts> = {}) =>
  plainPolicy({
    id: id(9),
    rule: id(8),
    type: "INTERNET",
    mode: "INTERNET_ACCESS_POINT",
    gateways: [first, second],
    ...fields,
  });

test.each([
  ["for some users", carrying(), [first, second]],
  ["from some addresses", carrying({ sourceIps: ["192.0.2.0/24"] }), [first, second]],
  ["that is the default", carrying({ isDefault: true }), [first, second]],
  ["that is inactive", carrying({ active: false }), []],
  ["that denies", carrying({ action: false }), []],
  ["that leaves traffic on the device", carrying({ mode: "LOCAL" }), []],
])("the gateways of a policy %s", (_what, policy, expected) => {
  expect([...finish(findingInternetGateways(PolicyList.of("INTERNET", [policy])))]).toEqual(expected);
});

test("the gateways of many policies are found in slices", () => {
  const policies = Array.from({ length: 500 }, (_, index) => carrying({ id: id(10 + index) }));
  const work = findingInternetGateways(PolicyList.of("INTERNET", policies));
  expect([...Array.from({ length: 3 }, () => work.next().done)]).toEqual([false, false, false]);
});
