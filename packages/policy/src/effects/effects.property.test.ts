import { expect, test } from "vitest";
import { budgeted, expectedTally } from "../../../../test/budget.ts";
import type { Model } from "../model/model.ts";
import { checkDifferences, checkLevels, destinationOf } from "../testing/effect-properties.ts";
import { checkExpectations } from "../testing/expectation-properties.ts";
import type { LevelOf } from "../testing/reference-difference.ts";
import { accessLevel } from "./access-level.ts";
import { checkExpectation } from "./check-expectation.ts";
import { compareAccess } from "./compare-access.ts";
import type { OpenCircumstances } from "./open-circumstances.ts";

const effects = { accessLevel, compareAccess, checkExpectation };
const levelsOf =
  (model: Model, circumstances: OpenCircumstances): LevelOf =>
  (subject, resourceId) =>
    accessLevel(model, subject, destinationOf(resourceId), circumstances);

// Seconds of work, or more on a busy machine.
const timeoutMs = 240_000;

test(
  "levels hold in all open circumstances, and equal decisions if none is open",
  () => {
    const met = checkLevels(effects, { runs: budgeted(1_000, 50) });
    for (const level of ["never", "sometimes", "always"] as const)
      expect(met.get(level), level).toBeGreaterThanOrEqual(expectedTally(500));
  },
  timeoutMs,
);

test(
  "the difference equals deciding each subject and destination before and after",
  () => {
    const { gained, lost, sometimes, largeGroups } = checkDifferences(effects, { runs: budgeted(1_500, 50) }, levelsOf);
    expect(gained).toBeGreaterThanOrEqual(expectedTally(1_000));
    expect(lost).toBeGreaterThanOrEqual(expectedTally(1_000));
    expect(sometimes).toBeGreaterThanOrEqual(expectedTally(500));
    expect(largeGroups).toBeGreaterThanOrEqual(expectedTally(100));
  },
  timeoutMs,
);

test(
  "checking an expectation equals checking each subject",
  () => {
    const met = checkExpectations(effects, effects, { runs: budgeted(1_000, 50) });
    expect(met.get(true)).toBeGreaterThanOrEqual(expectedTally(500));
    expect(met.get(false)).toBeGreaterThanOrEqual(expectedTally(500));
  },
  timeoutMs,
);
