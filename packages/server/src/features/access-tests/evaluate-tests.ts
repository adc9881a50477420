/** The states of tests in a model. */
import { setImmediate as turn } from "node:timers/promises";
import type { AccessTestContext, AccessTestState } from "@gatehouse/contract/records/access-test";
import { type AccessExpectation, checkExpectation } from "@gatehouse/policy/effects/check-expectation";
import type { OpenCircumstances } from "@gatehouse/policy/effects/open-circumstances";
import type { Model } from "@gatehouse/policy/model/model";
import type { TestQuestion } from "./access-tests.queries.ts";
import { accessTestStateView } from "./access-tests.view.ts";

export function expectationOf(question: TestQuestion): AccessExpectation {
  const { subject_type: kind, subject_id: id, device, properties, context, expected } = question;
  return {
    subject: id === null ? { kind: "everyone" } : { kind: kind as "group" | "user" | "device", id }, // all users have no id
    device,
    destination:
      question.resource_type === "resource"
        ? { kind: "resource", resourceId: question.resource_id, ...properties }
        : { kind: "address", address: question.resource_id, ...properties },
    circumstances: circumstancesOf(context),
    expected,
  };
}

/** @param context valid circumstances, as stored */
export function circumstancesOf({ sourceIp, country, time }: AccessTestContext): OpenCircumstances {
  return {
    ...(sourceIp === undefined ? {} : { sourceIp }),
    ...(country === undefined ? {} : { country }),
    ...(time === undefined ? {} : { now: Date.parse(time) }),
  };
}

/** Yields to the event loop between tests, because a test of all users can take a while. */
export async function statesOf(model: Model, questions: readonly TestQuestion[]): Promise<readonly AccessTestState[]> {
  const states: AccessTestState[] = [];
  for (const question of questions) {
    states.push(accessTestStateView(checkExpectation(model, expectationOf(question)), model));
    await turn();
  }
  return states;
}
