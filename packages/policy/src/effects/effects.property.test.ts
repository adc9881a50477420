import { expect, test } from "vitest";
import { budgeted, expectedTally } from "../../../../test/budget.ts";
import type { Model } from "../model/model.ts";
import { checkDifferences, checkExpectations, checkLevels, destinationOf } from "../testing/effect-properties.ts";
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

// Seconds of work, more on a machine that has other things to do.
const timeoutMs = 120_000;

test(
  "levels hold in all circumstances that are open, and are decisions where none is",
  () => {
    const met = checkLevels(effects, { runs: budgeted(1_000, 50) });
    for (const level of ["never", "sometimes", "always"] as const)
      expect(met.get(level), level).toBeGreaterThanOrEqual(expectedTally(500));
  },
  timeoutMs,
);

test(
  "the difference is that of deciding for every subject and destination, before and after",
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
  "an expectation is checked as by asking one by one",
  () => {
    const met = checkExpectations(effects, effects, { runs: budgeted(1_000, 50) });
    expect(met.get(true)).toBeGreaterThanOrEqual(expectedTally(500));
    expect(met.get(false)).toBeGreaterThanOrEqual(expectedTally(500));
  },
  timeoutMs,
);
