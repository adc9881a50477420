import { expect, test } from "vitest";
import { formatSubjects } from "./format-subject.ts";

const user = (name: string) => ({ kind: "user", id: name, name }) as const;
const device = (name: string, owner: string) =>
  ({ kind: "device", id: `${owner} ${name}`, name, user: { id: owner, name: owner } }) as const;

test("names a user once, with the devices", () => {
  const subjects = [user("ann"), device("laptop", "ann"), device("phone", "ann"), device("tablet", "bob")];
  expect(formatSubjects(subjects, 4)).toBe("ann (laptop and phone), bob on tablet");
});

test("says only once that users have no device", () => {
  expect(formatSubjects([user("ann"), user("bob"), user("cleo")], 3)).toBe("ann, bob and cleo without a device");
  expect(formatSubjects([user("ann"), device("laptop", "bob")], 2)).toBe("bob on laptop, ann without a device");
});

test("counts the subjects that it does not name", () => {
  const users = Array.from({ length: 20 }, (_, index) => user(`user-${index}`));
  expect(formatSubjects(users, 37)).toBe("user-0, user-1, user-2, user-3 and user-4 without a device and 32 more");
  const devices = users.flatMap(({ name }) => [device("laptop", name), device("phone", name)]);
  expect(formatSubjects(devices.slice(0, 20), 40)).toMatch(/^user-0 on laptop and phone, .* and 30 more$/);
  expect(formatSubjects([{ kind: "site", id: "1", name: "Office" }], 1)).toBe("site Office");
});
