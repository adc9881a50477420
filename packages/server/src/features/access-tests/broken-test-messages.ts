/** Messages for users about broken access tests. */
import type { ProblemField } from "@gatehouse/contract/problem";
import type { CheckedExpectation } from "@gatehouse/policy/effects/check-expectation";
import type { Model } from "@gatehouse/policy/model/model";
import type { StoredQuestion } from "./access-tests.queries.ts";

/** The number of principals that one error names at most. */
const maxListed = 10;

/** @param model the model in which the test was evaluated */
export function testRefusal(
  { id, name, expected }: Pick<StoredQuestion, "id" | "name" | "expected">,
  { broken, brokenCount }: CheckedExpectation,
  model: Model,
): ProblemField {
  const named = broken.slice(0, maxListed).map(({ userId, deviceId }) => {
    const email = model.users.get(userId)?.facts.email ?? userId;
    const device = deviceId === undefined ? undefined : model.devices.get(deviceId)?.facts.name;
    return device === undefined ? email : `${email} with ${device}`;
  });
  const more = brokenCount > named.length ? [`${brokenCount - named.length} more`] : [];
  const who = [...named, ...more].join(", ");
  const what = expected === "denied" ? "would have access" : "would not always have access";
  return { pointer: `/tenants/access-tests/${id}`, message: `${name}: ${what}: ${who}` };
}
