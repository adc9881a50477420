import type { Policy } from "@gatehouse/contract/records/policy";
import { embeddedAdmissionRuleView } from "../admission-rules/admission-rules.api.ts";
import { policyDeviceView } from "../devices/devices.api.ts";
import { embeddedGatewayView, type TokenViewer } from "../gateways/gateways.api.ts";
import { policyGroupView } from "../groups/groups.api.ts";
import { policyResourceView } from "../resources/resources.api.ts";
import { policyUserView } from "../users/users.api.ts";
import type { WholePolicyRow } from "./policies.queries.ts";

/** @param now the time for which the status of the policy's devices is computed */
export function policyView(row: WholePolicyRow, tokens: TokenViewer, now: Date): Policy {
  return {
    id: row.id,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    name: row.name,
    action: row.action,
    order: row.order,
    isDefault: row.is_default,
    active: row.active,
    type: row.type,
    ...(row.mode === null ? {} : { mode: row.mode }),
    allGroups: row.all_groups,
    allUsers: row.all_users,
    allDevices: row.all_devices,
    allResources: row.all_resources,
    groups: (row.groups ?? []).map(policyGroupView),
    users: (row.users ?? []).map(policyUserView),
    devices: (row.devices ?? []).map((device) => policyDeviceView(device, now)),
    resources: (row.resources ?? []).map(policyResourceView),
    gateways: (row.gateways ?? []).map((gateway) => embeddedGatewayView(gateway, tokens)),
    sourceIps: row.source_ips,
    rule: embeddedAdmissionRuleView(row.rule),
    ...(row.description === "" ? {} : { description: row.description }),
  };
}
