import fc from "fast-check";
import type { Subject } from "../decisions/request.ts";
import type { OpenDevice } from "../effects/open-circumstances.ts";
import type { DeviceFacts, Properties, TenantFacts } from "../model/facts.ts";
import { deviceSession, factsOf, ids, randomTenant } from "./random-tenant.ts";

/** Values for the open parts of devices. */

const postureNames = ["diskEncrypted", "level", "edr.version", "hasOwnProperty"] as const;

export const openDevice: fc.Arbitrary<OpenDevice> = fc
  .tuple(fc.subarray([...postureNames]), fc.boolean())
  .map(([known, isHypothetical]) => ({ knownPosture: new Set(known), isHypothetical }));

/** A device from which open parts are taken. */
export const sampledDevice: fc.Arbitrary<DeviceFacts> = fc
  .tuple(factsOf.device("sampled"), fc.boolean())
  // Most random devices have no session.
  .chain(([device, hasSession]) =>
    hasSession ? deviceSession.map((session) => ({ ...device, session })) : fc.constant(device),
  );

const deviceCondition = fc.constantFrom(
  "device.posture.diskEncrypted == true",
  "device.posture.diskEncrypted == false",
  "device.posture.level > 1",
  "has(device.posture.level)",
  "device.posture['edr.version'] == '7.1'",
  "device.os == 'macOS'",
  "device.agent",
  "'build' in device.tags",
  "'hwk' in session.methods",
  "session.age < duration('8h')",
  "user.contractor",
);

const deviceRule = fc
  .tuple(deviceCondition, fc.constantFrom("&&", "||"), deviceCondition, fc.constantFrom("", "!"))
  .map(([one, operator, other, negation]) => `${negation}(${one} ${operator} ${other})`);

/** Tenants in which access depends on devices: policies apply to all users, and their rules read devices. */
export const tenantWithDeviceRules: fc.Arbitrary<TenantFacts> = fc
  .tuple(randomTenant, fc.array(deviceRule, { minLength: ids.rules.length, maxLength: ids.rules.length }))
  .map(([facts, texts]) => ({
    ...facts,
    rules: facts.rules.map((rule, index) => (rule.type === "CUSTOM" ? { ...rule, text: texts[index] ?? null } : rule)),
    policies: facts.policies.map((policy) => ({ ...policy, allUsers: true })),
  }));

export interface SubjectInTenant {
  readonly facts: TenantFacts;
  readonly subject: Subject;
}

/** The subject and the tenant, with the open parts of the subject's device from a sample. */
export function withSampledDevice(
  { facts, subject }: SubjectInTenant,
  sample: DeviceFacts | undefined,
  open: OpenDevice | undefined,
): SubjectInTenant {
  const deviceId = subject.kind === "site" ? undefined : subject.deviceId;
  const stored = facts.devices.find(({ id }) => id === deviceId);
  if (sample === undefined || open === undefined || stored === undefined || subject.kind === "site") {
    return { facts, subject };
  }
  const posture = sampledPosture(subject.posture ?? stored.posture, sample.posture, open);
  const device = open.isHypothetical ? withOtherFields(stored, sample) : stored;
  return {
    facts: {
      ...facts,
      devices: facts.devices.map((other) => (other.id === deviceId ? { ...device, posture } : other)),
    },
    subject: subject.posture === undefined ? subject : { ...subject, posture },
  };
}

/** The known entries of a posture, or none of their names, and open entries from a sample. */
export function sampledPosture(posture: Properties, sample: Properties, { knownPosture }: OpenDevice): Properties {
  return Object.fromEntries([
    ...Object.entries(posture).filter(([name]) => knownPosture.has(name)),
    ...Object.entries(sample).filter(([name]) => !knownPosture.has(name)),
  ]);
}

function withOtherFields({ id, userId, active, agent, sessionEndsAt }: DeviceFacts, sample: DeviceFacts): DeviceFacts {
  return { ...sample, id, userId, active, agent, ...(sessionEndsAt === undefined ? {} : { sessionEndsAt }) };
}
