/**
 * Refuses changes that break an enforced access test, unless the change only removes access or the caller gives a
 * reason. The end of a session is never refused: people can always sign out, even if a rule restricts access during a
 * session.
 */
import type { BrokenAccessTest } from "@gatehouse/contract/records/effect";
import { resolveDestination } from "@gatehouse/policy/decisions/resolve-destination";
import { mayHaveHiddenGains, onlyEndSessions } from "@gatehouse/policy/effects/hidden-gains";
import type { Model } from "@gatehouse/policy/model/model";
import type { Work } from "@gatehouse/policy/work";
import { AppError } from "../../platform/app-error.ts";
import type { AccessGuard, EffectToJudge } from "../access/access.api.ts";
import { readQuestions } from "./access-tests.queries.ts";
import { testRefusal } from "./broken-test-messages.ts";
import { type BrokenTest, brokenTests } from "./broken-tests.ts";
import { expectationOf } from "./evaluate-tests.ts";

export const accessTestGuard: AccessGuard = {
  async prepare(tx) {
    const tests = await readQuestions(tx, "enforced");
    const denials = tests.filter(({ expected }) => expected === "denied");
    const permissions = tests.filter(({ expected }) => expected === "allowed");
    return async (effect) => {
      const { before, after, changes, overrideReason, evaluate } = effect;
      const brokenDenials = await evaluate(brokenTests(denials, before.model, after.model, changes));
      const checking = brokenTests(permissions, before.model, after.model, changes);
      const inTime = await effect.evaluateInTime(checking);
      // Only a change that gives access is refused. If this change breaks no denial and gives nobody more access, the
      // tests that expect access cannot refuse it, so they may be evaluated after the commit.
      if (!("result" in inTime) && brokenDenials.length === 0 && !(await givesAccess(effect, []))) {
        return { broken: [], late: listing(checking) };
      }
      const brokenPermissions = "result" in inTime ? inTime.result : await evaluate(checking);
      const broken = [...brokenDenials, ...brokenPermissions].sort(byId);
      const isRefusable = broken.length > 0 && overrideReason === undefined && !onlyEndSessions(before.model, changes);
      if (isRefusable && (await givesAccess(effect, broken))) {
        throw refusal(broken, after.model);
      }
      return { broken: broken.map(listed) };
    };
  },
  async prepareLate(tx, at) {
    const tests = await readQuestions(tx, "enforced", at);
    return (before, after, changes) => listing(brokenTests(tests, before, after, changes));
  },
};

function byId({ test: { id: one } }: BrokenTest, { test: { id: other } }: BrokenTest): number {
  return one < other ? -1 : 1;
}

function* listing(checking: Work<readonly BrokenTest[]>): Work<readonly BrokenAccessTest[]> {
  return (yield* checking).map(listed);
}

function listed({ test: { id, name }, result: { brokenCount } }: BrokenTest): BrokenAccessTest {
  return { id, name, brokenCount };
}

/**
 * Whether somebody gains access. Levels cover all circumstances and whole resources, so they do not show access in
 * further circumstances or by another protocol. Changes that may give such access therefore count. Breaking a test that
 * denies is also a gain, unless an existing record now owns the tested address.
 */
async function givesAccess(
  { difference, before, after, changes, evaluate }: EffectToJudge,
  broken: readonly BrokenTest[],
): Promise<boolean> {
  const breaksDenial = broken.some(({ test }) => {
    if (test.expected !== "denied") return false;
    if (test.resource_type === "resource") return true;
    return resourceBehind(test, before.model) === resourceBehind(test, after.model);
  });
  if (breaksDenial || (await evaluate(mayHaveHiddenGains(before.model, after.model, changes)))) return true;
  return (await difference()).gained.pairs > 0;
}

function resourceBehind(test: BrokenTest["test"], model: Model): string | undefined {
  const { destination } = expectationOf(test);
  return resolveDestination(model, destination).resource?.id;
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
