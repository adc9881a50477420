/** Lets no change through that breaks an enforced test, unless it only takes access away, or the caller says why. */
import { resolveDestination } from "@gatehouse/policy/decisions/resolve-destination";
import { mayHaveHiddenGains } from "@gatehouse/policy/effects/hidden-gains";
import type { Model } from "@gatehouse/policy/model/model";
import { AppError } from "../../platform/app-error.ts";
import type { AccessGuard, EffectToJudge } from "../access/access.api.ts";
import { readQuestions } from "./access-tests.queries.ts";
import { testRefusal } from "./broken-test-messages.ts";
import { type BrokenTest, brokenTests } from "./broken-tests.ts";
import { expectationOf } from "./test-states.ts";

export const accessTestGuard: AccessGuard = {
  async prepare(tx) {
    const tests = await readQuestions(tx, "enforced");
    return async (effect) => {
      const { before, after, changes, overrideReason } = effect;
      const broken = await brokenTests(tests, before.model, after.model, changes);
      if (broken.length > 0 && overrideReason === undefined && givesAccess(effect, broken)) {
        throw refusal(broken, after.model);
      }
      return broken.map(({ test: { id, name }, result: { brokenCount } }) => ({ id, name, brokenCount }));
    };
  },
};

/**
 * Whether somebody gains something. Levels are over all circumstances, and resources as wholes: what is gained in some circumstances
 * more than before, or by another protocol, shows in no level. So changes that may give such access count, and whoever breaks a test that
 * denies has gained, too, unless its address was left to something else that was there before.
 */
function givesAccess({ difference, before, after, changes }: EffectToJudge, broken: readonly BrokenTest[]): boolean {
  return (
    difference.gained.pairs > 0 ||
    mayHaveHiddenGains(before.model, after.model, changes) ||
    broken.some(({ test }) => {
      if (test.expected !== "denied") return false;
      if (test.resource_type === "resource") return true;
      return resourceBehind(test, before.model) === resourceBehind(test, after.model);
    })
  );
}

function resourceBehind(test: BrokenTest["test"], model: Model): string | undefined {
  const { destination } = expectationOf(test);
  return resolveDestination(model, destination).resource?.facts.id;
}

function refusal(broken: readonly BrokenTest[], model: Model): AppError {
  const names = broken.map(({ test }) => test.name);
  const shown = names.slice(0, 10).join(", ");
  const more = names.length > 10 ? ` and ${names.length - 10} more` : "";
  return new AppError("access_tests_broken", {
    detail: `The change would break ${names.length === 1 ? "the access test" : "access tests:"} ${shown}${more}.`,
    errors: broken.map(({ test, result }) => testRefusal(test, result, model)),
  });
}
