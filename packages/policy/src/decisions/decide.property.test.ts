import { decisionReasons } from "@gatehouse/contract/records/decision";
import { expect, test } from "vitest";
import { budgeted, expectedTally } from "../../../../test/budget.ts";
import { compile, update } from "../model/model.ts";
import { checkDecisions, checkUpdates } from "../testing/engine-properties.ts";
import { decide } from "./decide.ts";

const engine = { compile, update, decide };

// Seconds of work, or more on a busy machine.
const timeoutMs = 120_000;

test(
  "decisions follow the contract and are valid as long as they claim",
  () => {
    const tally = checkDecisions(engine, { requests: budgeted(100_000) });
    expect(tally.requests).toBeGreaterThanOrEqual(budgeted(100_000));
    for (const reason of decisionReasons)
      expect(tally.reasons.get(reason) ?? 0, reason).toBeGreaterThanOrEqual(expectedTally(100));
    expect(tally.allowedWithGateways).toBeGreaterThanOrEqual(expectedTally(1000));
    expect(tally.readingNow).toBeGreaterThanOrEqual(expectedTally(1000));
  },
  timeoutMs,
);

test(
  "an updated model decides like a newly compiled one and leaves its predecessor unchanged",
  () => {
    expect(checkUpdates(engine, { requests: budgeted(20_000) })).toBeGreaterThanOrEqual(budgeted(20_000));
  },
  timeoutMs,
);
