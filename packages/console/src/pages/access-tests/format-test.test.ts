import { expect, test } from "vitest";
import { newId, sample } from "../../testing/sample.ts";
import { formatTest } from "./format-test.ts";

const payroll = { type: "resource", id: newId(), name: "Payroll" } as const;
const sentence = (subject: Parameters<typeof formatTest>[0]["subject"], expected: "allowed" | "denied") =>
  formatTest(sample("AccessTest", { subject, expected, device: "any", resource: payroll }));

test("a sentence names posture as people do, and says if it is open", () => {
  const subject = { type: "group", id: newId(), name: "Sales" } as const;
  const on = (posture: Record<string, boolean>) =>
    formatTest(sample("AccessTest", { subject, expected: "denied", device: { posture }, resource: payroll }));
  expect(on({ diskEncrypted: false, osUpToDate: true })).toBe(
    "Group “Sales” on a device with disk encrypted = no, OS up to date = yes must never reach “Payroll”",
  );
  expect(on({})).toBe("Group “Sales” on a device with any posture must never reach “Payroll”");
});

test("a test is a sentence, also about everyone", () => {
  expect(sentence({ type: "group", id: newId(), name: "Sales" }, "denied")).toBe(
    "Group “Sales” must never reach “Payroll”",
  );
  expect(sentence({ type: "everyone" }, "allowed")).toBe("Everyone must always reach “Payroll”");
  expect(sentence({ type: "everyone" }, "denied")).toBe("Nobody may ever reach “Payroll”");
});
