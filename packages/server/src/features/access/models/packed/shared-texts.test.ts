import { finish } from "@gatehouse/policy/work";
import { expect, test } from "vitest";
import { sharingTexts } from "./shared-texts.ts";

test("facts that share texts are equal to what they were", () => {
  const ids = Array.from({ length: 120 }, (_, index) => `id-${index}`);
  const facts = () => ({
    users: ids.map((id, index) => ({
      id,
      email: `${id}@example.com`,
      firstName: "Ann",
      lastName: `Lee ${index % 3}`,
      status: "active" as const,
      groups: ["id-1", "id-2"],
      attributes: { level: 3 },
    })),
    groups: [{ id: "id-1", name: "One" }],
    devices: ids.map((id, index) => ({
      id,
      userId: index === 0 ? null : `id-${index % 7}`,
      active: true,
      name: id,
      os: "linux",
      osVersion: "1",
      appVersion: "",
      hardwareId: id,
      tags: ["a"],
      agent: true,
      posture: {},
    })),
    gateways: [],
    resources: ids.map((id) => ({
      id,
      name: id,
      type: "PRIVATE" as const,
      loadBalancingMode: "MANUAL" as const,
      addresses: [],
      gateways: ["id-4", "id-3"],
    })),
    rules: [],
    policies: ids.map((id) => ({
      id,
      name: id,
      type: "PRIVATE" as const,
      isDefault: false,
      active: true,
      action: true,
      mode: null,
      allGroups: false,
      allUsers: false,
      allDevices: false,
      allResources: false,
      groups: ["id-1"],
      users: ["id-9", "id-8"],
      devices: ["id-5"],
      resources: ["id-7"],
      gateways: [],
      sourceIps: [],
      rule: "id-2",
    })),
  });
  const shared = facts();
  const work = sharingTexts(shared);
  let pauses = 0;
  while (work.next().done !== true) pauses += 1;
  finish(work);
  expect(pauses).toBe(6);
  expect(shared).toEqual(facts());
});

test("sharing the texts of a policy that names many users yields", () => {
  const users = Array.from({ length: 2_000 }, (_, index) => `id-${index}`);
  const policy = {
    id: "policy",
    name: "Many",
    type: "PRIVATE" as const,
    isDefault: false,
    active: true,
    action: true,
    mode: null,
    allGroups: false,
    allUsers: false,
    allDevices: false,
    allResources: false,
    groups: [],
    users,
    devices: [],
    resources: [],
    gateways: [],
    sourceIps: [],
    rule: "rule",
  };
  const none = { users: [], groups: [], devices: [], gateways: [], resources: [], rules: [] };
  const work = sharingTexts({ ...none, policies: [policy] });
  let pauses = 0;
  while (work.next().done !== true) pauses += 1;
  expect(pauses).toBe(4);
});
