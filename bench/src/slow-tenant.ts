/** A small tenant whose admission rules are as expensive as the limits allow, for measuring the isolation of others. */
import type { PolicyFacts, TenantFacts } from "@gatehouse/policy/model/facts";

const groupsPerUser = 100;
const policyCount = 5;

/** Each value is compared for each group of a user. */
const values = Array.from({ length: 16 }, (_, index) => `'v${index}'`).join();
const slowRule = `user.groups.exists(g, [${values}].exists(h, timestamp('2020-01-01T00:00:00Z') == now)) || user.email == 'nobody'`;

let made = 0;

/** A UUID of version 7. */
function newId(): string {
  made += 1;
  return `01a20000-0000-7000-8000-${made.toString(16).padStart(12, "0")}`;
}

export function slowTenant(userCount: number): TenantFacts {
  const groups = Array.from({ length: groupsPerUser }, (_, index) => ({ id: newId(), name: `Slow ${index}` }));
  const users = Array.from({ length: userCount }, (_, index) => ({
    id: newId(),
    email: `slow${index}@example.com`,
    firstName: "",
    lastName: "",
    status: "active" as const,
    attributes: {},
    groups: groups.map(({ id }) => id),
  }));
  const resources = Array.from({ length: 20 }, (_, index) => ({
    id: newId(),
    name: `Slow ${index}`,
    type: "PRIVATE" as const,
    loadBalancingMode: "MANUAL" as const,
    addresses: [{ address: `slow${index}.example.com`, protocols: [] }],
    gateways: [],
  }));
  const rule = { id: newId(), name: "Slow", type: "CUSTOM" as const, text: slowRule };
  const policies = Array.from(
    { length: policyCount },
    (_, index): PolicyFacts => ({
      id: newId(),
      name: `Slow ${index}`,
      type: "PRIVATE",
      isDefault: false,
      active: true,
      action: true,
      mode: null,
      allGroups: false,
      allUsers: true,
      allDevices: false,
      allResources: true,
      users: [],
      groups: [],
      devices: [],
      resources: [],
      gateways: [],
      sourceIps: [],
      rule: rule.id,
    }),
  );
  return { users, groups, devices: [], gateways: [], resources, rules: [rule], policies };
}
