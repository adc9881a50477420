import * as configuration from "@gatehouse/contract/operations/configuration.operations";
import { finish } from "@gatehouse/policy/work";
import { expect, test } from "vitest";
import { AppError } from "../platform/app-error.ts";
import { compileBodyCheck } from "./validation.ts";

const { check, checkLarge } = compileBodyCheck(configuration.planConfiguration);

/** Longer bodies get only their first error. */
const characters = 1_000_000;

const groups = (count: number) => Array.from({ length: count }, (_, index) => ({ name: `Group ${index}` }));
const users = (count: number) => Array.from({ length: count }, (_, index) => `user${index}@example.com`);
const policy = (settings: object) => ({ name: "Policy", action: true, ...settings });

function outcomeOf(run: () => void): unknown {
  try {
    run();
    return "valid";
  } catch (error) {
    if (error instanceof AppError) return { code: error.code, errors: error.errors };
    throw error;
  }
}

test.each<[string, unknown]>([
  ["a valid document", { version: 1, groups: groups(3_000) }],
  ["a small document", { version: 1, groups: groups(3) }],
  ["an unknown field", { version: 1, groups: groups(3_000), other: 1 }],
  ["a missing field", { groups: groups(3_000) }],
  ["too many items", { version: 1, groups: groups(5_001) }],
  ["an invalid item", { version: 1, groups: [...groups(2_500), { name: "" }, ...groups(100)] }],
  ["an item of another type", { version: 1, groups: [...groups(2_500), "Group"] }],
  ["an unknown field of an item", { version: 1, groups: [...groups(1_200), { name: "A", other: 1 }] }],
  ["a valid large item", { version: 1, policies: { PRIVATE: [policy({ users: users(5_000) })] } }],
  [
    "an invalid string in a large item",
    { version: 1, policies: { PRIVATE: [policy({ users: [...users(5_000), ""] })] } },
  ],
  [
    "a string twice",
    { version: 1, policies: { PRIVATE: [policy({ users: [...users(5_000), "user7@example.com"] })] } },
  ],
  ["a list of another type", { version: 1, policies: { OTHER: groups(2_000) } }],
  ["no object", groups(2_000)],
])("%s is as valid in slices as at once", (_what, document) => {
  const body = structuredClone(document);
  expect(outcomeOf(() => finish(checkLarge(document)))).toEqual(outcomeOf(() => check(body, characters)));
  expect(document).toEqual(body);
});

test("strings of large bodies are trimmed", () => {
  const list = groups(3_000).map(({ name }) => ({ name: ` ${name} ` }));
  const document = {
    version: 1,
    groups: list,
    policies: { PRIVATE: [policy({ groups: list.map(({ name }) => name) })] },
  };
  const body = structuredClone(document);
  finish(checkLarge(document));
  check(body, characters);
  expect(document.groups[2_999]).toEqual({ name: "Group 2999" });
  expect(document).toEqual(body);
});

test("no step costs more than a small part", () => {
  const work = checkLarge({ version: 1, groups: groups(5_000) });
  let [steps, most] = [0, 0];
  for (let step = work.next(); step.done !== true; step = work.next()) {
    steps += 1;
    most = Math.max(most, step.value);
  }
  expect(steps).toBeGreaterThanOrEqual(10);
  expect(most).toBeLessThan(50_000);
});
