import { describe, expect, test } from "vitest";
import { budgeted } from "../../../../test/budget.ts";
import { accessLevel } from "../effects/access-level.ts";
import type { OpenCircumstances } from "../effects/open-circumstances.ts";
import type { Model } from "../model/model.ts";
import { brokenChecks, brokenComparisons, brokenLevels, effects } from "./broken-effects.ts";
import { checkDifferences, checkExpectations, checkLevels, destinationOf } from "./effect-properties.ts";
import type { LevelOf } from "./reference-difference.ts";

const levelsOf =
  (model: Model, circumstances: OpenCircumstances): LevelOf =>
  (subject, resourceId) =>
    accessLevel(model, subject, destinationOf(resourceId), circumstances);

// The same tenants each time: that a mistake is found must not depend on luck.
const run = { runs: 200, seed: 4, unshrunk: true };

describe("the properties find", () => {
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

test("and nothing where there is no mistake", () => {
  checkDifferences(effects, { ...run, runs: budgeted(100, 10) }, levelsOf);
  checkLevels(effects, { ...run, runs: budgeted(100, 10) });
  checkExpectations(effects, effects, { ...run, runs: budgeted(100, 10) });
});
