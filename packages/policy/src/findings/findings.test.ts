import { expect, test } from "vitest";
import { compile } from "../model/model.ts";
import { goldenCase } from "../testing/golden-case.ts";
import { idlePolicies } from "./idle-policies.ts";
import { PossibleSources } from "./possible-sources.ts";
import { unreachableResources } from "./unreachable-resources.ts";

/**
 * Finds problems of a tenant in the notation of golden cases. Each record's name contains the expected reason, or "-".
 */
function found(tenant: string) {
  const { facts, request } = goldenCase(
    "findings",
    `why: each record is named after the expected finding\ntenant:\n${tenant}\nrequest: {user: anna, to: example.com}\nexpect: {allowed: false, reasons: []}`,
  );
  const model = compile(facts);
  const sources = new PossibleSources(model);
  const policies = [...idlePolicies(model, sources, request.now)].filter((one) => typeof one === "object");
  const idle = new Set(policies.map(({ policy }) => policy.facts.id));
  const resources = [...unreachableResources(model, sources, idle)].filter((one) => typeof one === "object");
  return {
    policies: Object.fromEntries(policies.map(({ policy, reason }) => [policy.facts.name, reason])),
    hidden: Object.fromEntries(policies.flatMap(({ policy, by }) => (by ? [[policy.facts.name, by.facts.name]] : []))),
    resources: Object.fromEntries(resources.map(({ resource, reason }) => [resource.facts.name, reason])),
  };
}

const people = `
  users:
    anna: {groups: [engineers, sellers]}
    ines: {status: inactive, groups: [leavers]}
  devices:
    laptop: {user: anna}
    lost: {user: anna, active: false}
    of ines: {user: ines}
  gateways: {berlin: ONLINE, oslo: OFFLINE, paris: ONLINE}`;

test("idle policies are reported with a reason, and no others", () => {
  const { policies, hidden } = found(`${people}
  resources:
    git: {addresses: {git.example.com: [TCP/443]}, gateways: [berlin]}
    wiki: {addresses: {wiki.example.com: [TCP/443]}, gateways: [paris]}
    crm: {type: SAAS, addresses: {crm.example.com: [TCP/443]}, gateways: [berlin]}
  policies:
    - {name: fits, groups: [engineers], resources: [git], sourceIps: [192.0.2.0/24]}
    - {name: nobody, resources: [git]}
    - {name: group of leavers, groups: [leavers], resources: [git]}
    - {name: inactive user, users: [ines], resources: [git]}
    - {name: inactive devices, devices: [lost, of ines], resources: [git]}
    - {name: missing group, groups: [missing group], resources: [git]}
    - {name: inactive and so on purpose, active: false, resources: [git]}
    - {name: no resource, users: [anna]}
    - {name: resource that is gone, users: [anna], resources: [missing one]}
    - {name: resource of another type, users: [anna], resources: [crm]}
    - {name: rule that is no more, users: [anna], resources: [git], rule: missing}
    - {name: built-in never, users: [anna], resources: [git], rule: never}
    - {name: rule that is false, users: [anna], resources: [git], when: "user.contractor == true && 1 > 2"}
    - {name: rule that is over, users: [anna], resources: [git], when: "now < timestamp('2025-01-01T00:00:00Z')"}
    - {name: rule for tomorrow, users: [anna], resources: [git], when: "now > timestamp('2026-01-16T00:00:00Z')"}
    - {name: rule by hour, users: [anna], resources: [git], when: "now.getHours('UTC') < 3"}
    - {name: rule of attributes, users: [anna], resources: [git], when: "user.contractor == true"}
    - {name: gateway of others, users: [anna], resources: [git], gateways: [paris]}
    - {name: gateway of one of them, users: [anna], resources: [git, wiki], gateways: [paris]}
    - {name: engineers always, groups: [engineers], resources: [git, wiki]}
    - {name: engineers again, groups: [engineers], resources: [git]}
    - {name: engineers nevermore, action: deny, groups: [engineers], resources: [wiki]}
    - {name: engineers and more, groups: [engineers, sellers], resources: [git]}
    - {name: everybody, all: [users], resources: [git]}
    - {name: anna after everybody, users: [anna], devices: [laptop], resources: [git]}
    - {name: everything, all: [users, resources]}
    - {name: all after all, all: [users, resources]}
    - {name: saas for anna, type: SAAS, users: [anna], resources: [crm]}
    - {name: sites, type: SITETOSITE, resources: [crm]}
    - {name: internet, type: INTERNET, users: [anna]}
    - {name: internet without anybody, type: INTERNET, groups: [leavers]}
    - {name: default, type: INTERNET, isDefault: true}`);
  expect(policies).toEqual({
    nobody: "no_sources",
    "group of leavers": "sources_cannot_ask",
    "inactive user": "sources_cannot_ask",
    "inactive devices": "sources_cannot_ask",
    "missing group": "sources_cannot_ask",
    "no resource": "no_resources",
    "resource that is gone": "no_resources",
    "resource of another type": "no_resources",
    "rule that is no more": "rule_never_met",
    "built-in never": "rule_never_met",
    "rule that is false": "rule_never_met",
    "rule that is over": "rule_never_met",
    "gateway of others": "no_gateways",
    "engineers again": "hidden",
    "engineers nevermore": "hidden",
    "anna after everybody": "hidden",
    "all after all": "hidden",
    "internet without anybody": "sources_cannot_ask",
  });
  expect(hidden).toEqual({
    "engineers again": "engineers always",
    "engineers nevermore": "engineers always",
    "anna after everybody": "everybody",
    "all after all": "everything",
  });
});

test("unreachable resources are reported with a reason, and no others", () => {
  const address = "addresses: {a.example.com: [TCP/443]}";
  const { resources } = found(`${people}
  resources:
    reached: {${address}, gateways: [oslo, berlin]}
    reached by a site: {${address}, gateways: [berlin]}
    reached by whom a denial leaves: {${address}, gateways: [berlin]}
    nowhere: {gateways: [berlin]}
    without a protocol: {addresses: {a.example.com: []}, gateways: [berlin]}
    without a gateway: {${address}}
    gateway is gone: {${address}, gateways: [missing one]}
    gateway is off: {${address}, gateways: [oslo]}
    policy wants the other gateway: {${address}, gateways: [oslo, berlin]}
    of no policy: {${address}, gateways: [berlin]}
    denied alone: {${address}, gateways: [berlin]}
    denied before: {${address}, gateways: [berlin]}
    denied to the same before: {${address}, gateways: [berlin]}
    by a policy of nobody: {${address}, gateways: [berlin]}
    of the internet: {type: INTERNET, ${address}}
    software: {type: SAAS, ${address}, gateways: [berlin]}
  policies:
    - {name: deny, action: deny, all: [users], resources: [denied alone, denied before]}
    - {name: deny engineers, action: deny, groups: [engineers], resources: [denied to the same before, reached by whom a denial leaves]}
    - {name: one, users: [anna], resources: [reached, nowhere, without a protocol, without a gateway, gateway is gone, gateway is off]}
    - {name: two, groups: [engineers], resources: [denied before, denied to the same before]}
    - {name: three, users: [anna], resources: [policy wants the other gateway], gateways: [oslo]}
    - {name: four, groups: [leavers], resources: [by a policy of nobody]}
    - {name: five, groups: [engineers, sellers], resources: [reached by whom a denial leaves]}
    - {name: six, type: SITETOSITE, resources: [reached by a site]}
    - {name: seven, type: PRIVATE, users: [anna], resources: [software]}`);
  expect(resources).toEqual({
    nowhere: "no_addresses",
    "without a protocol": "no_addresses",
    "without a gateway": "no_gateways",
    "gateway is gone": "no_gateways",
    "gateway is off": "gateways_offline",
    "policy wants the other gateway": "gateways_offline",
    "of no policy": "no_policies",
    "denied alone": "no_policies",
    "denied before": "policies_let_nobody_in",
    "denied to the same before": "policies_let_nobody_in",
    "by a policy of nobody": "policies_let_nobody_in",
    software: "no_policies",
  });
});
