import { expect, test } from "vitest";
import { formatSubjects } from "./format-subject.ts";

const textsOf = (...of: Parameters<typeof formatSubjects>) => formatSubjects(...of).map(({ text }) => text);

const user = (name: string) => ({ kind: "user", id: name, name }) as const;
const device = (name: string, owner: string) =>
  ({ kind: "device", id: `${owner} ${name}`, name, user: { id: owner, name: owner } }) as const;
/** Does not break. */
const alone = "without\u00a0a\u00a0device";

test("names a user once, and says on which devices", () => {
  const subjects = [user("ann"), device("laptop", "ann"), device("phone", "ann"), device("tablet", "bob")];
  expect(textsOf(subjects, 4)).toEqual([`ann: laptop, phone and\u00a0${alone}`, "bob: tablet"]);
});

test("says only once that users have no device", () => {
  expect(textsOf([user("ann"), user("bob"), user("cleo")], 3)).toEqual([`ann, bob and\u00a0cleo, ${alone}`]);
  expect(textsOf([user("ann"), device("laptop", "bob")], 2)).toEqual(["bob: laptop", `ann, ${alone}`]);
});

test("counts what it does not name, with a unit", () => {
  const users = Array.from({ length: 20 }, (_, index) => user(`user-${index}`));
  const five = `user-0, user-1, user-2, user-3 and\u00a0user-4, ${alone}`;
  expect(textsOf(users, 20)).toEqual([five, "and 15 more users"]);
  // The users of the subjects after the first 20 are unknown.
  expect(textsOf(users, 37)).toEqual([five, "and 32 more users and devices"]);
  const pairs = users.flatMap((owner) => [owner, device("laptop", owner.name)]);
  expect(textsOf(pairs.slice(0, 14), 14)).toEqual([
    ...users.slice(0, 5).map(({ name }) => `${name}: laptop and\u00a0${alone}`),
    "and 2 more users",
  ]);
  const devices = users.flatMap(({ name }) => [device("laptop", name), device("phone", name)]);
  expect(textsOf(devices.slice(0, 20), 40).at(-1)).toBe("and 30 more users and devices");
  expect(textsOf(devices.slice(0, 20), 40, 20).at(-1)).toBe("and 15 more users");
  expect(textsOf([{ kind: "site", id: "1", name: "Office" }], 1)).toEqual(["site Office"]);
});

test("names the last one, instead of counting it", () => {
  const users = Array.from({ length: 6 }, (_, index) => user(`user-${index}`));
  expect(textsOf(users, 6)).toEqual([`user-0, user-1, user-2, user-3, user-4 and\u00a0user-5, ${alone}`]);
});

test("says which records a line names, in their order", () => {
  const [line] = formatSubjects([user("ann"), device("laptop", "ann")], 2);
  expect(line?.records).toEqual([
    { path: "users", id: "ann", name: "ann" },
    { path: "devices", id: "ann laptop", name: "laptop" },
  ]);
});
