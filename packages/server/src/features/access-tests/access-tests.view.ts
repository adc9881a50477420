import { type AccessTest, type AccessTestState, maxBrokenShown } from "@gatehouse/contract/records/access-test";
import type { CheckedExpectation } from "@gatehouse/policy/effects/check-expectation";
import type { Model } from "@gatehouse/policy/model/model";
import type { AccessTestRow, TestQuestion } from "./access-tests.queries.ts";

export function accessTestView(row: AccessTestRow): AccessTest {
  return {
    id: row.id,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    name: row.name,
    ...(row.description === "" ? {} : { description: row.description }),
    enforced: row.enforced,
    ...questionView(row),
  };
}

/** Names are null where there is nobody to name. */
export function questionView(
  row: TestQuestion & Pick<AccessTestRow, "subject_name" | "resource_name">,
): Pick<AccessTest, "subject" | "device" | "resource" | "context" | "expected"> {
  return {
    subject: {
      type: row.subject_type,
      ...(row.subject_id === null ? {} : { id: row.subject_id }),
      ...(row.subject_name === null ? {} : { name: row.subject_name }),
    },
    device: row.device,
    resource: {
      type: row.resource_type,
      id: row.resource_id,
      ...(row.resource_name === null ? {} : { name: row.resource_name }),
      ...(Object.keys(row.properties).length === 0 ? {} : { properties: row.properties }),
    },
    ...(Object.keys(row.context).length === 0 ? {} : { context: row.context }),
    expected: row.expected,
  };
}

/** @param model what was asked */
export function accessTestStateView(result: CheckedExpectation, model: Model): AccessTestState {
  const { holds, missing, asked, brokenCount, broken } = result;
  return {
    holds,
    ...(missing === undefined ? {} : { missing: missing === "subject" ? missing : ("resource" as const) }),
    asked,
    brokenCount,
    broken: broken.slice(0, maxBrokenShown).map(({ userId: user, deviceId: device, level, decidedBy }) => ({
      user: { id: user, name: model.users.get(user)?.facts.email ?? "" },
      ...(device === undefined ? {} : { device: { id: device, name: model.devices.get(device)?.facts.name ?? "" } }),
      level,
      ...(decidedBy === undefined ? {} : { policy: decidedBy }),
    })),
  };
}
