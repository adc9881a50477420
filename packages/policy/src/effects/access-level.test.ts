import { describe, expect, test } from "vitest";
import { compile } from "../model/model.ts";
import { goldenCase } from "../testing/golden-case.ts";
import { accessLevel } from "./access-level.ts";
import type { OpenCircumstances } from "./open-circumstances.ts";

/** A request from the network that the policies name, in Germany, on a Thursday at noon. */
const given: Required<Omit<OpenCircumstances, "device">> = {
  sourceIp: "192.0.2.7",
  country: "DE",
  now: Date.parse("2026-01-15T12:00:00Z"),
};

/** The level of Alice with her laptop, for policies in the notation of golden cases. */
function levelBy(
  policies: readonly string[],
  circumstances: OpenCircumstances,
  request: Readonly<Record<string, string>> = { device: "laptop", resource: "wiki" },
) {
  const file = {
    why: "The policies decide, as far as what they read is known.",
    tenant: {
      users: {
        alice: { groups: ["engineers"], attributes: { department: "Engineering", level: 3 } },
        ivan: { status: "inactive", groups: ["engineers"] },
        petra: { status: "pending" },
      },
      devices: {
        laptop: {
          user: "alice",
          posture: { managed: true },
          session: { authenticatedAt: "2026-01-15T11:00:00Z", methods: ["hwk"] },
        },
        phone: { user: "alice" },
        lost: { user: "alice", active: false },
      },
      gateways: { berlin: "ONLINE" },
      resources: { wiki: {}, mail: { type: "INTERNET", addresses: { "mail.example.com": ["TCP/443"] } } },
    },
    request,
    expect: { allowed: false, reasons: [] },
  };
  const text = JSON.stringify({ ...file, tenant: { ...file.tenant, policies: [] } });
  // A golden case is YAML, which includes JSON. Policies are written in YAML style.
  const golden = goldenCase("levels", text.replace('"policies":[]', `"policies":[${policies.join(",")}]`));
  const { subject, destination } = golden.request;
  return accessLevel(compile(golden.facts), subject, destination, circumstances);
}

const allow = "{name: Allow, all: [users, resources]}";
const deny = "{name: Deny, action: deny, all: [users, resources]}";
const allowFrom = "{name: Office, all: [users, resources], sourceIps: [192.0.2.0/24]}";
const allowElsewhere = "{name: Elsewhere, all: [users, resources], sourceIps: [198.51.100.0/24]}";
const denyFrom = "{name: Not from the office, action: deny, all: [users, resources], sourceIps: [192.0.2.0/24]}";
const when = (rule: string) => `{name: Ruled, all: [users, resources], when: ${JSON.stringify(rule)}}`;

describe("policies and source addresses", () => {
  test.each([
    ["no policy", [], {}, "never"],
    ["a policy that asks nothing", [allow], {}, "always"],
    ["a policy that denies", [deny], {}, "never"],
    ["a policy that allows from somewhere", [allowFrom], {}, "sometimes"],
    ["the same, from there", [allowFrom], { sourceIp: given.sourceIp }, "always"],
    ["the same, from elsewhere", [allowElsewhere], { sourceIp: given.sourceIp }, "never"],
    ["an invalid source address", [allowFrom], { sourceIp: "nonsense" }, "never"],
    ["one that denies from somewhere, before one that allows", [denyFrom, allow], {}, "sometimes"],
    ["the same, from there", [denyFrom, allow], { sourceIp: given.sourceIp }, "never"],
    ["the same, from elsewhere", [denyFrom, allow], { sourceIp: "198.51.100.1" }, "always"],
    ["one that allows from somewhere, and one that allows everything else", [allowFrom, allow], {}, "always"],
    ["one that denies from somewhere, and one that denies everything else", [denyFrom, deny], {}, "never"],
    ["one that allows from somewhere, and one that denies everything else", [allowFrom, deny], {}, "sometimes"],
    ["one that denies from somewhere, behind one that allows", [allow, denyFrom], {}, "always"],
    ["all open but the address", [denyFrom, allow], { country: "DE", now: given.now }, "sometimes"],
  ] as const)("%s", (_, policies, circumstances, level) => {
    expect(levelBy(policies, circumstances)).toBe(level);
  });
});

describe("rules with open inputs", () => {
  const night = "now.getHours('UTC') < 6";
  test.each([
    ["reads the time", night, {}, "sometimes"],
    ["reads the time, which is given", night, { now: given.now }, "never"],
    ["reads the country", "source.country == 'DE'", {}, "sometimes"],
    ["reads the country, which is given", "source.country == 'DE'", { country: "DE" }, "always"],
    ["reads the country, and only the time is given", "source.country == 'DE'", { now: given.now }, "sometimes"],
    ["reads the address", "source.ip == '192.0.2.7'", {}, "sometimes"],
    ["asks whether there is a country", "has(source.country)", {}, "sometimes"],
    ["reads the posture alone", "device.posture.managed == true", {}, "always"],
    ["reads the posture alone, which is another", "device.posture.managed == false", {}, "never"],
    ["is met by one side whatever the time", `user.level >= 3 || ${night}`, {}, "always"],
    ["is met by the other side whatever the time", `${night} || user.level >= 3`, {}, "always"],
    ["needs the time where the other side is not met", `user.level >= 9 || ${night}`, {}, "sometimes"],
    ["is not met by one side whatever the time", `user.level >= 9 && ${night}`, {}, "never"],
    ["needs both sides", `user.level >= 3 && ${night}`, {}, "sometimes"],
    ["negates what is open", `!(${night})`, {}, "sometimes"],
    ["negates what is certain", `!(user.level >= 9 && ${night})`, {}, "always"],
    ["reads an attribute that is missing", "user.nothing == 1", {}, "never"],
    ["negates an attribute that is missing", `!(user.nothing == 1)`, {}, "never"],
    ["fails on one side, and the other is open", `user.nothing == 1 || ${night}`, {}, "sometimes"],
    ["fails on one side, and needs the other", `user.nothing == 1 && ${night}`, {}, "never"],
    ["fails on one side, and negated may be met", `!(user.nothing == 1 && ${night})`, {}, "sometimes"],
    ["has a text on one side", `user.department || ${night}`, {}, "sometimes"],
    ["chooses by what is certain a part that is certain", `user.level == 3 ? true : ${night}`, {}, "always"],
    ["chooses by what is certain a part that is open", `user.level == 1 ? true : ${night}`, {}, "sometimes"],
    ["chooses by the time between the same", `${night} ? user.level == 3 : user.level > 2`, {}, "sometimes"],
    ["chooses by the time between what is never met", `${night} ? user.level == 1 : false`, {}, "never"],
    ["reads the time within a comprehension", "[1, 2].exists(n, n == now.getDayOfWeek())", {}, "sometimes"],
    ["gives its own meaning to the name of the time", "[1, 2].exists(now, now == 2)", {}, "always"],
    ["comprehends nothing that is open", "user.groups.exists(name, name == 'engineers')", {}, "always"],
  ] as const)("a rule that %s", (_, rule, circumstances, level) => {
    expect(levelBy([when(rule)], circumstances)).toBe(level);
  });

  test.each([
    ["the age of a session", "session.age < duration('8h')", {}, "sometimes", "never"],
    ["the age at a given time", "session.age < duration('8h')", { now: given.now }, "always", "never"],
    ["the age at a later time", "session.age < duration('30m')", { now: given.now }, "never", "never"],
    ["that it is not old", "!(session.age > duration('8h'))", {}, "sometimes", "never"],
    ["methods", "'hwk' in session.methods", {}, "always", "never"],
    ["the age or the country", "session.age < duration('8h') || source.country == 'DE'", {}, "sometimes", "sometimes"],
    ["the age and the country", "session.age < duration('8h') && source.country == 'DE'", {}, "sometimes", "never"],
  ] as const)("a rule that reads %s: with a session, and without one", (_, rule, circumstances, ...levels) => {
    const requests = ["laptop", "phone"].map((device) => ({ device, resource: "wiki" }));
    expect(requests.map((request) => levelBy([when(rule)], circumstances, request))).toEqual(levels);
    // A user without a device has no session.
    expect(levelBy([when(rule)], circumstances, { user: "alice", resource: "wiki" })).toBe(levels[1]);
  });

  test("a rule that may be met, before a policy that denies and before one that allows", () => {
    expect(levelBy([when(night), deny], {})).toBe("sometimes");
    expect(levelBy([when(night), allow], {})).toBe("always");
  });

  test("a contradictory condition counts as possible, because parts are analyzed independently", () => {
    expect(levelBy([when("source.country == 'DE' || source.country != 'DE'")], {})).toBe("sometimes");
  });
});

describe("subjects without access, whatever the policies", () => {
  test.each([
    ["an inactive user", { user: "ivan", resource: "wiki" }],
    ["a pending user", { user: "petra", resource: "wiki" }],
    ["an inactive device", { device: "lost", resource: "wiki" }],
    ["an unknown user", { user: "missing user", resource: "wiki" }],
    ["anybody, to what does not exist", { user: "alice", resource: "missing resource" }],
  ])("%s", (_, request) => {
    expect(levelBy([allow], {}, request)).toBe("never");
  });
});

describe("the internet", () => {
  const request = { user: "alice", to: "www.example.net" };
  const fallback = (mode: string) => `{name: Default, type: INTERNET, isDefault: true, mode: ${mode}}`;
  const allowAtOffice = "{name: Office, type: INTERNET, mode: LOCAL, all: [users], sourceIps: [192.0.2.0/24]}";
  const restrict = "{name: Restrict, type: INTERNET, mode: RESTRICTED, all: [users], sourceIps: [192.0.2.0/24]}";
  test.each([
    // The last case is a resource of the internet that the policies do not name.
    ["ends in a default policy that is LOCAL", [fallback("LOCAL")], "always", "always"],
    ["ends in a default policy that is RESTRICTED", [fallback("RESTRICTED")], "never", "never"],
    ["is denied without a default policy", [], "never", "never"],
    ["is allowed from somewhere, else restricted", [allowAtOffice, fallback("RESTRICTED")], "sometimes", "never"],
    ["is allowed from somewhere, and else too", [allowAtOffice, fallback("LOCAL")], "always", "always"],
    ["is restricted from somewhere", [restrict, fallback("LOCAL")], "sometimes", "always"],
  ] as const)("%s", (_, policies, level, levelToResource) => {
    expect(levelBy(policies, {}, request)).toBe(level);
    expect(levelBy(policies, {}, { user: "alice", resource: "mail" })).toBe(levelToResource);
  });
});

describe("a site", () => {
  const request = { site: "berlin", resource: "wiki" };
  const siteToSite = (more: string) => `{name: Sites, type: SITETOSITE, all: [resources]${more}}`;
  test.each([
    ["reaches what a policy for sites allows", [siteToSite("")], "always"],
    ["from somewhere", [siteToSite(", sourceIps: [192.0.2.0/24]")], "sometimes"],
    ["not what a policy for users allows", [allow], "never"],
    ["not by a rule about users", [siteToSite(", when: user.level > 1")], "never"],
    ["at times by a rule about the time", [siteToSite(", when: now.getHours() > 6")], "sometimes"],
  ] as const)("%s", (_, policies, level) => {
    expect(levelBy(policies, {}, request)).toBe(level);
  });

  test("never reaches the internet", () => {
    expect(levelBy([siteToSite("")], {}, { site: "berlin", to: "www.example.net" })).toBe("never");
  });
});
