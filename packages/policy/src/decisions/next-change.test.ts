import { describe, expect, test } from "vitest";
import { compile } from "../model/model.ts";
import { goldenCase } from "../testing/golden-case.ts";
import { explain } from "./explain.ts";

/** When access changes next, for a policy with this rule. */
function changesAt(when: string, at: string, device = "{ user: ada }"): string | undefined {
  const tenant = `
  users: { ada: {} }
  devices: { laptop: ${device} }
  gateways: { berlin: ONLINE }
  resources:
    Git: { addresses: { git.example.com: [TCP/443] }, gateways: [berlin] }
  policies:
    - { name: Git, all: [users], resources: [Git], when: "${when}" }`;
  const { facts, request } = goldenCase(
    "a case",
    `why: A rule that reads the clock, and the next change.\ntenant:\n${tenant}\nrequest: { device: laptop, resource: Git, at: "${at}" }\nexpect: { allowed: false, reasons: [no_policy_allows] }\n`,
  );
  const next = explain(compile(facts), request).changesAt;
  return next === undefined ? undefined : new Date(next).toISOString();
}

const workdays = "now.getDayOfWeek('UTC') in [1, 2, 3, 4, 5]";
const hours = "now.getHours('UTC') >= 8 && now.getHours('UTC') < 18";

describe("the next change of a decision", () => {
  test.each([
    // Thursday. Hours change in between, and with them the time until which the decision is certain.
    ["at night, access begins in the morning", "2026-11-26T00:18:00Z", "2026-11-26T08:00:00.000Z"],
    ["by day, access ends in the evening", "2026-11-26T09:20:00Z", "2026-11-26T18:00:00.000Z"],
    ["on Friday evening, access begins on Monday", "2026-11-27T18:30:00Z", "2026-11-30T08:00:00.000Z"],
  ])("%s", (_name, at, next) => {
    expect(changesAt(`${workdays} && ${hours}`, at)).toBe(next);
  });

  test("is unknown if other conditions are not met either", () => {
    expect(changesAt(`${hours} && device.posture.diskEncrypted`, "2026-11-26T00:18:00Z")).toBeUndefined();
  });

  test("is unknown if time has no influence", () => {
    expect(changesAt("true", "2026-11-26T00:18:00Z")).toBeUndefined();
  });

  test("is unknown if it would take too long to find", () => {
    expect(changesAt("now.getSeconds() >= 0", "2026-11-26T00:18:00Z")).toBeUndefined();
  });
});
