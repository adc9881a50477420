import { decisionReasons } from "@gatehouse/contract/records/decision";
import { expect, test } from "vitest";
import { budgeted, expectedTally } from "../../../../test/budget.ts";
import { compile, update } from "../model/model.ts";
import { checkDecisions, checkUpdates } from "../testing/engine-properties.ts";
import { decide } from "./decide.ts";

const engine = { compile, update, decide };

// Seconds of work, more on a machine that has other things to do.
const timeoutMs = 120_000;

test(
  "decides as the contract says, for as long as it says, whoever asks for whatever",
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
  "an updated model decides as one compiled anew, and leaves the one before it as it was",
  () => {
    expect(checkUpdates(engine, { requests: budgeted(20_000) })).toBeGreaterThanOrEqual(budgeted(20_000));
  },
  timeoutMs,
);
