import fc from "fast-check";
import type { AccessRequest, Destination, Subject } from "../decisions/request.ts";
import type { AccessDifference, AccessSubject } from "../effects/access-difference.ts";
import type { AccessLevel } from "../effects/access-level.ts";
import type { AccessExpectation, CheckedExpectation, ExpectedDestination } from "../effects/check-expectation.ts";
import type { OpenCircumstances } from "../effects/open-circumstances.ts";
import type { DeviceFacts, FactChange, TenantFacts } from "../model/facts.ts";
import { compile, type Model, update } from "../model/model.ts";
import { changedFacts } from "./changed-facts.ts";
import { changesIn, randomHappenings } from "./random-changes.ts";
import { randomRequest } from "./random-request.ts";
import { devicePosture, ids, randomTenant } from "./random-tenant.ts";
import { decideByContract } from "./reference-decision.ts";
import { internetAddress, type LevelOf, referenceDifference, wholeOf } from "./reference-difference.ts";

/** The functions under test. */
export interface Effects {
  accessLevel(model: Model, subject: Subject, destination: Destination, circumstances: OpenCircumstances): AccessLevel;
  compareAccess(
    before: Model,
    after: Model,
    changes: readonly FactChange[],
    circumstances: OpenCircumstances,
  ): AccessDifference;
  checkExpectation(model: Model, expectation: AccessExpectation): CheckedExpectation;
}

export interface EffectRun {
  readonly runs: number;
  /** If absent, each run has another seed. */
  readonly seed?: number;
  /** Whether to report the first disagreement without shrinking it, which takes time. */
  readonly unshrunk?: boolean;
}

/** Circumstances of a request with some fields left open. */
const openedRequest = fc
  .tuple(randomRequest, fc.record({ sourceIp: fc.boolean(), country: fc.boolean(), now: fc.boolean() }))
  .map(([request, keeps]) => ({
    request,
    circumstances: {
      ...(keeps.sourceIp && request.sourceIp !== undefined && { sourceIp: request.sourceIp }),
      ...(keeps.country && request.country !== undefined && { country: request.country }),
      ...(keeps.now && { now: request.now }),
    } as OpenCircumstances,
  }));

const givenCircumstances = fc
  .tuple(randomRequest, fc.constantFrom("192.0.2.7", "198.51.100.128", "nonsense"), fc.constantFrom("DE", "US"))
  .map(([{ now }, sourceIp, country]) => ({ now, sourceIp, country }));

/**
 * Checks that a level holds in all sampled circumstances, and that it equals the decision of the contract if all
 * circumstances are given.
 *
 * @returns the number of levels of each kind with open circumstances
 */
export function checkLevels(effects: Effects, run: EffectRun): Map<AccessLevel, number> {
  const met = new Map<AccessLevel, number>();
  const samples = fc.array(randomRequest, { minLength: 3, maxLength: 6 });
  check(
    fc.property(
      randomTenant,
      fc.array(openedRequest, { minLength: 10, maxLength: 30, size: "max" }),
      samples,
      givenCircumstances,
      (facts, opened, samples, given) => {
        const model = compile(facts);
        for (const { request, circumstances } of opened) {
          const { subject, destination } = request;
          const level = effects.accessLevel(model, subject, destination, circumstances);
          met.set(level, (met.get(level) ?? 0) + 1);
          for (const sample of [request, ...samples]) {
            const tried = inCircumstances(subject, destination, sample, circumstances);
            const { allowed } = decideByContract(facts, tried);
            if (level !== "sometimes" && (level === "always") !== allowed) {
              throw new Error(`"${level}" is wrong about ${JSON.stringify(tried)}`);
            }
          }
          const { allowed } = decideByContract(facts, { subject, destination, ...given });
          expectEqual(
            effects.accessLevel(model, subject, destination, given),
            allowed ? "always" : "never",
            "the level with all circumstances given",
          );
        }
      },
    ),
    run,
  );
  return met;
}

/** Takes open circumstances from the sample, or leaves them absent. */
function inCircumstances(
  subject: Subject,
  destination: Destination,
  { now, sourceIp, country }: AccessRequest,
  circumstances: OpenCircumstances,
): AccessRequest {
  return {
    subject,
    destination,
    now,
    ...(sourceIp !== undefined && { sourceIp }),
    ...(country !== undefined && { country }),
    ...circumstances,
  };
}

/** Tenants in which one user owns nearly all devices, so that the devices of a user differ in their access. */
const crowdedTenant = randomTenant.map(
  (facts): TenantFacts => ({
    ...facts,
    devices: facts.devices.map((device) => ({
      ...device,
      active: true,
      userId: device.userId === null ? null : (facts.users[0]?.id ?? null),
    })),
  }),
);

/** Counts by which tests verify that the random changes cover enough cases. */
export interface DifferenceTally {
  gained: number;
  lost: number;
  sometimes: number;
  /** Groups with several resources or subjects. */
  largeGroups: number;
}

/**
 * Checks that the difference equals deciding each subject and destination before and after: by the contract if all
 * circumstances are given, and by `levelsOf` otherwise.
 */
export function checkDifferences(
  effects: Effects,
  run: EffectRun,
  levelsOf: (model: Model, circumstances: OpenCircumstances) => LevelOf,
): DifferenceTally {
  const tally: DifferenceTally = { gained: 0, lost: 0, sometimes: 0, largeGroups: 0 };
  const circumstancesTried = fc.oneof(
    givenCircumstances,
    openedRequest.map(({ circumstances }) => circumstances),
  );
  check(
    fc.property(
      fc.oneof(randomTenant, crowdedTenant),
      randomHappenings,
      circumstancesTried,
      fc.integer({ min: 1, max: 9 }),
      (start, batches, circumstances, pageSize) => {
        let facts = start;
        let model = compile(start);
        for (const batch of batches) {
          const changes = changesIn(facts, batch);
          const before = { facts, model };
          facts = changedFacts(facts, changes);
          model = update(model, changes);
          const [was, is] = [before, { facts, model }].map((tenant) => ({
            facts: tenant.facts,
            levelOf: isGiven(circumstances)
              ? levelsByContract(tenant.facts, circumstances)
              : levelsOf(tenant.model, circumstances),
          })) as [Parameters<typeof referenceDifference>[0], Parameters<typeof referenceDifference>[1]]; // a pair
          const expected = referenceDifference(was, is);
          const answer = wholeOf(effects.compareAccess(before.model, model, changes, circumstances), pageSize);
          const text = `the difference, with ${JSON.stringify(circumstances)}, of ${JSON.stringify(changes)}`;
          expectEqual(answer, expected, text);
          tally.gained += expected.gained.pairs;
          tally.lost += expected.lost.pairs;
          tally.sometimes += expected.rows.filter((row) => [row.before, row.after].includes("sometimes")).length;
          tally.largeGroups += expected.groups.filter((group) => group.subjectCount > 1 && group.resources > 1).length;
        }
      },
    ),
    run,
  );
  return tally;
}

function isGiven(circumstances: OpenCircumstances): circumstances is Required<OpenCircumstances> {
  return (["sourceIp", "country", "now"] as const).every((field) => circumstances[field] !== undefined);
}

function levelsByContract(facts: TenantFacts, circumstances: Required<OpenCircumstances>): LevelOf {
  return (subject, resourceId) => {
    const destination = destinationOf(resourceId);
    return decideByContract(facts, { subject, destination, ...circumstances }).allowed ? "always" : "never";
  };
}

export function destinationOf(resourceId: string | undefined): Destination {
  return resourceId === undefined ? { kind: "address", address: internetAddress } : { kind: "resource", resourceId };
}

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
 * Checks that an expectation equals a loop over `accessLevel`.
 *
 * @returns the number of expectations that hold and that do not
 */
export function checkExpectations(effects: Effects, levels: Effects, run: EffectRun): Map<boolean, number> {
  const met = new Map<boolean, number>();
  const expectations = fc.array(randomExpectation, { minLength: 5, maxLength: 15 });
  check(
    fc.property(randomTenant, expectations, (facts, expectations) => {
      const model = compile(facts);
      for (const expectation of expectations) {
        const answer = effects.checkExpectation(model, expectation);
        const expected = expectedAnswer(levels, facts, expectation);
        const { broken, ...counts } = answer;
        const said = broken.map(({ userId, deviceId, level }) => JSON.stringify([userId, deviceId ?? null, level]));
        const text = `what was checked of ${JSON.stringify(expectation)}`;
        expectEqual({ ...counts, broken: said.sort() }, expected, text);
        met.set(answer.holds, (met.get(answer.holds) ?? 0) + 1);
      }
    }),
    run,
  );
  return met;
}

function expectedAnswer(effects: Effects, facts: TenantFacts, expectation: AccessExpectation) {
  const { subject, device, destination, circumstances, expected } = expectation;
  const nothing = { holds: false, asked: 0, brokenCount: 0, broken: [] as string[] };
  const owner = facts.devices.find(({ id }) => subject.kind === "device" && id === subject.id)?.userId;
  const userId = subject.kind === "device" ? owner : subject.kind === "user" ? subject.id : undefined;
  const isThere =
    subject.kind === "group"
      ? facts.groups.some(({ id }) => id === subject.id)
      : subject.kind === "everyone" || facts.users.some(({ id }) => id === userId);
  if (!isThere) return { ...nothing, missing: "subject" };
  const isReachable =
    destination.kind === "resource"
      ? facts.resources.some(({ id }) => id === destination.resourceId)
      : decideByContract(somebody(facts), { subject: { kind: "user", userId: "somebody" }, destination, now: 0 })
          .reasons[0] !== "invalid_address";
  if (!isReachable) return { ...nothing, missing: "destination" };
  const users = facts.users.filter((user) => {
    if (subject.kind === "everyone") return true;
    return subject.kind === "group" ? user.groups.includes(subject.id) : user.id === userId;
  });
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
      ...(typeof device === "object" ? { knownPosture: Object.keys(device.posture) } : {}),
    });
    const deviceId = each.subject.deviceId === madeUp.id ? null : (each.subject.deviceId ?? null);
    return level === wanted ? [] : [JSON.stringify([each.subject.userId, deviceId, level])];
  });
  return { holds: broken.length === 0, asked: asked.length, brokenCount: broken.length, broken: broken.sort() };
}

/** The tenant with one active user. A problem of the destination is reported only for a known subject. */
function somebody(facts: TenantFacts): TenantFacts {
  const user = { id: "somebody", email: "", firstName: "", lastName: "", groups: [], attributes: {} };
  return { ...facts, users: [{ ...user, status: "active" }] };
}

const madeUp: Omit<DeviceFacts, "userId" | "posture"> = {
  id: "made up",
  active: true,
  name: "",
  os: "",
  osVersion: "",
  appVersion: "",
  hardwareId: "",
  tags: [],
  agent: true,
};

function check<Values>(property: fc.IProperty<Values>, { runs, seed, unshrunk }: EffectRun): void {
  fc.assert(property, {
    numRuns: runs,
    // Values meet because pools are small. A bias towards small pools would only reduce the number of values.
    unbiased: true,
    endOnFailure: unshrunk ?? false,
    ...(seed !== undefined && { seed }),
  });
}

function expectEqual(answer: unknown, expected: unknown, what: string): void {
  const [given, wanted] = [canonical(answer), canonical(expected)];
  if (given !== wanted) throw new Error(`${what} disagrees:\n${given}\nshould be\n${wanted}`);
}

/** Sorts the keys of objects. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}
