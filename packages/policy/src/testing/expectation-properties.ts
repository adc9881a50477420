import fc from "fast-check";
import type { AccessRequest } from "../decisions/request.ts";
import type { AccessSubject } from "../effects/access-difference.ts";
import type { AccessExpectation, ExpectedDestination } from "../effects/check-expectation.ts";
import type { OpenDevice } from "../effects/open-circumstances.ts";
import type { DeviceFacts, Properties, TenantFacts, UserFacts } from "../model/facts.ts";
import { compile } from "../model/model.ts";
import {
  check,
  type EffectRun,
  type Effects,
  expectEqual,
  givenCircumstances,
  inCircumstances,
  openedRequest,
} from "./effect-properties.ts";
import { sampledDevice, sampledPosture, tenantWithDeviceRules } from "./open-devices.ts";
import { randomRequest } from "./random-request.ts";
import { devicePosture, ids, randomTenant } from "./random-tenant.ts";
import { decideByContract } from "./reference-decision.ts";

const expectedDestination: fc.Arbitrary<ExpectedDestination> = randomRequest.map(({ destination }) => destination);

const randomExpectation: fc.Arbitrary<AccessExpectation> = fc.record({
  subject: fc.oneof(
    fc.constant({ kind: "everyone" } as const),
    fc.constantFrom(...ids.groups).map((id) => ({ kind: "group" as const, id })),
    fc.constantFrom(...ids.users).map((id) => ({ kind: "user" as const, id })),
    fc.constantFrom(...ids.devices).map((id) => ({ kind: "device" as const, id })),
  ),
  device: fc.oneof(
    fc.constant("any" as const),
    fc.constant("none" as const),
    devicePosture.map((posture) => ({ posture })),
  ),
  destination: expectedDestination,
  circumstances: fc.oneof(
    givenCircumstances,
    openedRequest.map(({ circumstances }) => circumstances),
  ),
  expected: fc.constantFrom("allowed", "denied"),
});

/**
 * Checks that an expectation equals a loop over `accessLevel`. If an expectation about a hypothetical device holds, it
 * also holds by the contract for sampled devices in sampled circumstances.
 *
 * @returns the number of expectations that hold and that do not
 */
export function checkExpectations(effects: Effects, levels: Effects, run: EffectRun): Map<boolean, number> {
  const met = new Map<boolean, number>();
  const expectations = fc.array(randomExpectation, { minLength: 5, maxLength: 15 });
  const samples = fc.array(fc.tuple(randomRequest, sampledDevice), { minLength: 3, maxLength: 6 });
  check(
    fc.property(
      fc.oneof(randomTenant, tenantWithDeviceRules),
      expectations,
      samples,
      (facts, expectations, samples) => {
        const model = compile(facts);
        for (const expectation of expectations) {
          const answer = effects.checkExpectation(model, expectation);
          const expected = expectedAnswer(levels, facts, expectation);
          const { broken, ...counts } = answer;
          const said = broken.map(({ userId, deviceId, level }) => JSON.stringify([userId, deviceId ?? null, level]));
          const text = `what was checked of ${JSON.stringify(expectation)}`;
          expectEqual({ ...counts, broken: said.sort() }, expected, text);
          met.set(answer.holds, (met.get(answer.holds) ?? 0) + 1);
          if (answer.holds) expectByContract(facts, expectation, samples);
        }
      },
    ),
    run,
  );
  return met;
}

function expectedAnswer(effects: Effects, facts: TenantFacts, expectation: AccessExpectation) {
  const { subject, device, destination, circumstances, expected } = expectation;
  const nothing = { holds: false, asked: 0, brokenCount: 0, broken: [] as string[] };
  const isThere =
    subject.kind === "group"
      ? facts.groups.some(({ id }) => id === subject.id)
      : subject.kind === "everyone" || usersOf(facts, subject).length > 0;
  if (!isThere) return { ...nothing, missing: "subject" };
  const isReachable =
    destination.kind === "resource"
      ? facts.resources.some(({ id }) => id === destination.resourceId)
      : decideByContract(somebody(facts), { subject: { kind: "user", userId: "somebody" }, destination, now: 0 })
          .reasons[0] !== "invalid_address";
  if (!isReachable) return { ...nothing, missing: "destination" };
  const users = usersOf(facts, subject);
  const asked: { readonly facts: TenantFacts; readonly subject: Extract<AccessSubject, { kind: "user" }> }[] = [];
  for (const user of users) {
    if (expected === "allowed" && user.status !== "active") continue;
    const own = facts.devices.filter((other) => other.userId === user.id);
    const made = { ...madeUp, userId: user.id, posture: typeof device === "object" ? device.posture : {} };
    const withDevice = (deviceId: string, of = facts) =>
      asked.push({ facts: of, subject: { kind: "user", userId: user.id, deviceId } });
    if (subject.kind === "device") {
      const named = own.find(({ id }) => id === subject.id);
      if (named === undefined || (expected === "allowed" && !named.active)) continue;
      const posed = typeof device === "object" ? { ...named, posture: device.posture } : named;
      withDevice(named.id, {
        ...facts,
        devices: facts.devices.map((other) => (other.id === named.id ? posed : other)),
      });
    } else if (typeof device === "object") {
      withDevice(made.id, { ...facts, devices: [...facts.devices, made] });
    } else {
      const active = device === "any" ? own.filter((other) => other.active) : [];
      if (expected === "denied" || active.length === 0) {
        asked.push({ facts, subject: { kind: "user", userId: user.id } });
      }
      for (const { id } of active) withDevice(id);
    }
  }
  const wanted = expected === "allowed" ? "always" : "never";
  const broken = asked.flatMap((each) => {
    const level = effects.accessLevel(compile(each.facts), each.subject, destination, {
      ...circumstances,
      ...(typeof device === "object" ? { device: openDeviceOf(expectation, device.posture) } : {}),
    });
    const deviceId = each.subject.deviceId === madeUp.id ? null : (each.subject.deviceId ?? null);
    return level === wanted ? [] : [JSON.stringify([each.subject.userId, deviceId, level])];
  });
  return { holds: broken.length === 0, asked: asked.length, brokenCount: broken.length, broken: broken.sort() };
}

function usersOf(facts: TenantFacts, subject: AccessExpectation["subject"]): readonly UserFacts[] {
  if (subject.kind === "everyone") return facts.users;
  if (subject.kind === "group") return facts.users.filter(({ groups }) => groups.includes(subject.id));
  const owner = facts.devices.find(({ id }) => id === subject.id)?.userId;
  const userId = subject.kind === "device" ? owner : subject.id;
  return facts.users.filter(({ id }) => id === userId);
}

function openDeviceOf({ subject }: AccessExpectation, posture: Properties): OpenDevice {
  return { knownPosture: new Set(Object.keys(posture)), isHypothetical: subject.kind !== "device" };
}

/** @throws Error if the contract contradicts an expectation about a hypothetical device */
function expectByContract(
  facts: TenantFacts,
  expectation: AccessExpectation,
  samples: readonly (readonly [AccessRequest, DeviceFacts])[],
): void {
  const { subject, device, destination, circumstances, expected } = expectation;
  if (typeof device !== "object") return;
  const open = openDeviceOf(expectation, device.posture);
  for (const user of usersOf(facts, subject)) {
    const named = facts.devices.find(({ id }) => subject.kind === "device" && id === subject.id);
    const isActive = user.status === "active" && named?.active !== false;
    if (expected === "allowed" && !isActive) continue;
    for (const [sample, sampled] of samples) {
      const posture = sampledPosture(device.posture, sampled.posture, open);
      const had = { ...(named ?? { ...sampled, ...madeUpIdentity }), userId: user.id, posture };
      const devices = [...facts.devices.filter(({ id }) => id !== had.id), had];
      const having = { kind: "user", userId: user.id, deviceId: had.id } as const;
      const tried = inCircumstances(having, destination, sample, circumstances);
      const { allowed } = decideByContract({ ...facts, devices }, tried);
      if (allowed === (expected === "allowed")) continue;
      throw new Error(`${JSON.stringify(expectation)} does not hold for ${JSON.stringify([tried, had])}`);
    }
  }
}

/** The tenant with one active user. A problem of the destination is reported only for a known subject. */
function somebody(facts: TenantFacts): TenantFacts {
  const user = { id: "somebody", email: "", firstName: "", lastName: "", groups: [], attributes: {} };
  return { ...facts, users: [{ ...user, status: "active" }] };
}

const madeUpIdentity = { id: "made up", active: true, agent: true } as const;

/** A device of no tenant, without its user and posture. */
export const madeUp: Omit<DeviceFacts, "userId" | "posture"> = {
  ...madeUpIdentity,
  name: "",
  os: "",
  osVersion: "",
  appVersion: "",
  hardwareId: "",
  tags: [],
};
