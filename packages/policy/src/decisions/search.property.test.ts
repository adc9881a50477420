import fc from "fast-check";
import { expect, test } from "vitest";
import { budgeted, expectedTally } from "../../../../test/budget.ts";
import { compile } from "../model/model.ts";
import { randomRequest } from "../testing/random-request.ts";
import { randomTenant } from "../testing/random-tenant.ts";
import { decide } from "./decide.ts";
import type { Subject } from "./request.ts";
import { reachableResources, subjectsWithAccess } from "./search.ts";

const questions = fc.tuple(randomTenant, fc.array(randomRequest, { minLength: 1, maxLength: 5 }));

test("the subjects found are those who are allowed when asked one by one", () => {
  let found = 0;
  fc.assert(
    fc.property(questions, ([facts, requests]) => {
      const model = compile(facts);
      for (const request of requests) {
        for (const kind of ["user", "device"] as const) {
          const subjects = kind === "user" ? facts.users : facts.devices;
          const subjectOf = (id: string): Subject => (kind === "user" ? { kind, userId: id } : { kind, deviceId: id });
          const expected = subjects
            .map(({ id }) => ({ id, decision: decide(model, { ...request, subject: subjectOf(id) }) }))
            .filter(({ decision }) => decision.allowed)
            .sort((a, b) => (a.id < b.id ? -1 : 1));
          const answer = [...subjectsWithAccess(model, kind, request.destination, request)];
          expect(answer).toEqual(expected);
          found += answer.length;
        }
      }
    }),
    { numRuns: budgeted(500, 100) },
  );
  expect(found).toBeGreaterThanOrEqual(expectedTally(500));
});

test("the resources found are those that are allowed when asked one by one", () => {
  let found = 0;
  fc.assert(
    fc.property(questions, ([facts, requests]) => {
      const model = compile(facts);
      for (const request of requests) {
        const expected = facts.resources
          .map(({ id }) => ({
            id,
            decision: decide(model, { ...request, destination: { kind: "resource", resourceId: id } }),
          }))
          .filter(({ decision }) => decision.allowed)
          .sort((a, b) => (a.id < b.id ? -1 : 1));
        const answer = [...reachableResources(model, request.subject, request)];
        expect(answer).toEqual(expected);
        found += answer.length;
      }
    }),
    { numRuns: budgeted(500, 100) },
  );
  expect(found).toBeGreaterThanOrEqual(expectedTally(500));
});
