/** The states of tests in a model. */
import type { AccessTestContext, AccessTestState } from "@gatehouse/contract/records/access-test";
import { type AccessExpectation, checkingExpectation } from "@gatehouse/policy/effects/check-expectation";
import type { OpenCircumstances } from "@gatehouse/policy/effects/open-circumstances";
import type { Model } from "@gatehouse/policy/model/model";
import type { Work } from "@gatehouse/policy/work";
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

export function* statesOf(model: Model, questions: readonly TestQuestion[]): Work<readonly AccessTestState[]> {
  const states: AccessTestState[] = [];
  for (const question of questions) {
    states.push(accessTestStateView(yield* checkingExpectation(model, expectationOf(question)), model));
  }
  return states;
}
