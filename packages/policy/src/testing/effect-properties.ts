import fc from "fast-check";
import type { AccessRequest, Destination, Subject } from "../decisions/request.ts";
import type { AccessDifference } from "../effects/access-difference.ts";
import type { AccessLevel } from "../effects/access-level.ts";
import type { AccessExpectation, CheckedExpectation } from "../effects/check-expectation.ts";
import type { OpenCircumstances } from "../effects/open-circumstances.ts";
import type { FactChange, TenantFacts } from "../model/facts.ts";
import { compile, type Model, update } from "../model/model.ts";
import { changedFacts } from "./changed-facts.ts";
import { openDevice, sampledDevice, tenantWithDeviceRules, withSampledDevice } from "./open-devices.ts";
import { changesIn, randomHappenings } from "./random-changes.ts";
import { randomRequest } from "./random-request.ts";
import { randomTenant } from "./random-tenant.ts";
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
export const openedRequest = fc
  .tuple(randomRequest, fc.record({ sourceIp: fc.boolean(), country: fc.boolean(), now: fc.boolean() }))
  .map(([request, keeps]) => ({
    request,
    circumstances: {
      ...(keeps.sourceIp && request.sourceIp !== undefined && { sourceIp: request.sourceIp }),
      ...(keeps.country && request.country !== undefined && { country: request.country }),
      ...(keeps.now && { now: request.now }),
    } as OpenCircumstances,
  }));

/** Circumstances without an open field. */
export const givenCircumstances = fc
  .tuple(randomRequest, fc.constantFrom("192.0.2.7", "198.51.100.128", "nonsense"), fc.constantFrom("DE", "US"))
  .map(([{ now }, sourceIp, country]) => ({ now, sourceIp, country }));

/** Requests in circumstances of which some are open, sometimes also parts of the device. */
const openedRequests = fc.array(
  fc.tuple(openedRequest, fc.option(openDevice, { nil: undefined })).map(([{ request, circumstances }, device]) => ({
    request,
    circumstances: { ...circumstances, ...(device !== undefined && { device }) },
  })),
  { minLength: 10, maxLength: 30, size: "max" },
);

/**
 * Checks that a level holds in all sampled circumstances and devices, and that it equals the decision of the contract
 * if all circumstances are given.
 *
 * @returns the number of levels of each kind with open circumstances
 */
export function checkLevels(effects: Effects, run: EffectRun): Map<AccessLevel, number> {
  const met = new Map<AccessLevel, number>();
  check(
    fc.property(
      fc.oneof(randomTenant, tenantWithDeviceRules),
      openedRequests,
      fc.array(fc.tuple(randomRequest, sampledDevice), { minLength: 3, maxLength: 6 }),
      givenCircumstances,
      (facts, opened, samples, given) => {
        const model = compile(facts);
        for (const { request, circumstances } of opened) {
          const { subject, destination } = request;
          const level = effects.accessLevel(model, subject, destination, circumstances);
          met.set(level, (met.get(level) ?? 0) + 1);
          for (const [sample, device] of [[request, undefined] as const, ...samples]) {
            const having = withSampledDevice({ facts, subject }, device, circumstances.device);
            const tried = inCircumstances(having.subject, destination, sample, circumstances);
            const { allowed } = decideByContract(having.facts, tried);
            if (level !== "sometimes" && (level === "always") !== allowed) {
              throw new Error(`"${level}" is wrong about ${JSON.stringify([tried, device])}`);
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
export function inCircumstances(
  subject: Subject,
  destination: Destination,
  { now, sourceIp, country }: AccessRequest,
  { device: _, ...circumstances }: OpenCircumstances,
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

/** Circumstances of which none is open. */
type GivenCircumstances = Required<Omit<OpenCircumstances, "device">>;

function isGiven(circumstances: OpenCircumstances): circumstances is GivenCircumstances & OpenCircumstances {
  const isDeviceKnown = circumstances.device === undefined;
  return (
    isDeviceKnown && (["sourceIp", "country", "now"] as const).every((field) => circumstances[field] !== undefined)
  );
}

function levelsByContract(facts: TenantFacts, { sourceIp, country, now }: GivenCircumstances): LevelOf {
  return (subject, resourceId) => {
    const request = { subject, destination: destinationOf(resourceId), sourceIp, country, now };
    return decideByContract(facts, request).allowed ? "always" : "never";
  };
}

export function destinationOf(resourceId: string | undefined): Destination {
  return resourceId === undefined ? { kind: "address", address: internetAddress } : { kind: "resource", resourceId };
}

/** Checks a property with the runs and the seed of a test. */
export function check<Values>(property: fc.IProperty<Values>, { runs, seed, unshrunk }: EffectRun): void {
  fc.assert(property, {
    numRuns: runs,
    // Values meet because pools are small. A bias towards small pools would only reduce the number of values.
    unbiased: true,
    endOnFailure: unshrunk ?? false,
    ...(seed !== undefined && { seed }),
  });
}

/** @throws Error if two values differ in more than the order of keys */
export function expectEqual(answer: unknown, expected: unknown, what: string): void {
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
