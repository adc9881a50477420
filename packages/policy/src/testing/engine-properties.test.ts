import { parseAddressText } from "@gatehouse/addresses/address-text";
import { decisionReasons } from "@gatehouse/contract/records/decision";
import { describe, expect, test } from "vitest";
import { budgeted, expectedTally } from "../../../../test/budget.ts";
import { checkRuleText } from "../admission-rules/check-rule.ts";
import { brokenEngines, brokenUpdates, referenceEngine } from "./broken-engines.ts";
import { checkDecisions, checkUpdates } from "./engine-properties.ts";
import { ruleTexts } from "./random-rule.ts";
import { storedAddresses } from "./random-tenant.ts";

// A fixed seed, so that finding a mistake does not depend on chance.
const seed = 4;

describe("the properties reject an engine that", () => {
  test.each([...brokenEngines])("%s", (_, engine) => {
    expect(() => checkDecisions(engine, { requests: 30_000, seed, unshrunk: true })).toThrow(/disagree|validUntil/);
  });

  test.each([...brokenUpdates])("updates, and %s", (_, engine) => {
    checkDecisions(engine, { requests: 500, seed });
    expect(() => checkUpdates(engine, { requests: 30_000, seed, unshrunk: true })).toThrow(/disagree/);
  });
});

test("the reference passes, and the cases cover every reason, gateways and times", () => {
  const tally = checkDecisions(referenceEngine, { requests: budgeted(10_000), seed });
  expect(tally.requests).toBeGreaterThanOrEqual(budgeted(10_000));
  for (const reason of decisionReasons)
    expect(tally.reasons.get(reason) ?? 0, reason).toBeGreaterThanOrEqual(expectedTally(10));
  expect(tally.allowedWithGateways).toBeGreaterThanOrEqual(expectedTally(300));
  expect(tally.readingNow).toBeGreaterThanOrEqual(expectedTally(300));
  checkUpdates(referenceEngine, { requests: budgeted(2_000), seed });
});

test("a disagreement is shrunk to a minimal case", () => {
  const mistaken = brokenEngines.get("ignores that devices are inactive") ?? referenceEngine;
  let message = "";
  try {
    checkDecisions(mistaken, { requests: 5_000, seed });
  } catch (error) {
    message = String(error);
  }
  expect(message).toMatch(/"reasons":\["device_inactive"\]/);
  expect(message).toMatch(
    /"groups":\[\],"devices":\[\{[^}]*\{\}[^}]*\}\],"gateways":\[\],"resources":\[\],"rules":\[\],"policies":\[\]/,
  );
});

test.each(ruleTexts)("%s is a valid rule", (text) => {
  expect(checkRuleText(text)).toMatchObject({ ok: true });
});

test.each(storedAddresses)("%s is in stored form", (text) => {
  const reading = parseAddressText(text);
  expect(reading.ok && reading.value.text).toBe(text);
});
