import type { PolicyFacts } from "../model/facts.ts";

/** An active private policy that allows, but names no subjects, resources or restrictions. */
export function plainPolicy(fields: Pick<PolicyFacts, "id" | "rule"> & Partial<PolicyFacts>): PolicyFacts {
  return {
    name: fields.id,
    type: "PRIVATE",
    isDefault: false,
    active: true,
    action: true,
    mode: null,
    allGroups: false,
    allUsers: false,
    allDevices: false,
    allResources: false,
    groups: [],
    users: [],
    devices: [],
    resources: [],
    gateways: [],
    sourceIps: [],
    ...fields,
  };
}
