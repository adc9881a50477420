import { describe, expect, test } from "vitest";
import { budgeted } from "../../../../test/budget.ts";
import { accessLevel } from "../effects/access-level.ts";
import type { OpenCircumstances } from "../effects/open-circumstances.ts";
import type { Model } from "../model/model.ts";
import { brokenChecks, brokenComparisons, brokenLevels, effects } from "./broken-effects.ts";
import { checkDifferences, checkLevels, destinationOf } from "./effect-properties.ts";
import { checkExpectations } from "./expectation-properties.ts";
import type { LevelOf } from "./reference-difference.ts";

const levelsOf =
  (model: Model, circumstances: OpenCircumstances): LevelOf =>
  (subject, resourceId) =>
    accessLevel(model, subject, destinationOf(resourceId), circumstances);

// A fixed seed, so that finding a mistake does not depend on chance.
const run = { runs: 400, seed: 5, unshrunk: true };

describe("the properties reject", () => {
  test.each([...brokenComparisons])("a comparison that %s", (_, broken) => {
    expect(() => checkDifferences(broken, run, levelsOf)).toThrow();
  });

  test.each([...brokenLevels])("a level that %s", (_, broken) => {
    expect(() => checkLevels(broken, run)).toThrow();
  });

  test.each([...brokenChecks])("a check of expectations that %s", (_, broken) => {
    expect(() => checkExpectations(broken, effects, run)).toThrow();
  });
});

test("the properties accept the real implementation", () => {
  checkDifferences(effects, { ...run, runs: budgeted(100, 10) }, levelsOf);
  checkLevels(effects, { ...run, runs: budgeted(100, 10) });
  checkExpectations(effects, effects, { ...run, runs: budgeted(100, 10) });
});
