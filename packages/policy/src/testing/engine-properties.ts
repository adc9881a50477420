import fc from "fast-check";
import type { Decision, DecisionReason } from "../decisions/decision.ts";
import type { AccessRequest } from "../decisions/request.ts";
import type { FactChange, TenantFacts } from "../model/facts.ts";
import { changedFacts } from "./changed-facts.ts";
import { changesIn, type Happening, randomHappenings } from "./random-changes.ts";
import { randomRequest } from "./random-request.ts";
import { turningPoints } from "./random-rule.ts";
import { randomTenantWithSessions } from "./random-tenant.ts";
import { decideByContract, type ReferenceDecision } from "./reference-decision.ts";

/** The functions under test. */
export interface Engine<Model> {
  compile(facts: TenantFacts): Model;
  update(model: Model, changes: readonly FactChange[]): Model;
  decide(model: Model, request: AccessRequest): Decision;
}

export interface PropertyRun {
  /** The minimum number of requests, over as many tenants as necessary. */
  readonly requests: number;
  /** If absent, each run has another seed. */
  readonly seed?: number;
  /** Whether to report the first disagreement without shrinking it, which takes time. */
  readonly unshrunk?: boolean;
}

/** Counts by which tests verify that the random tenants cover enough cases. */
export interface Tally {
  requests: number;
  readonly reasons: Map<DecisionReason, number>;
  allowedWithGateways: number;
  readingNow: number;
  bounded: number;
}

const MAX_REQUESTS_OF_A_TENANT = 80;

interface Shares {
  readonly one: number;
  readonly other: number;
}

interface Asked {
  readonly request: AccessRequest;
  /** Times between the request and the end of its decision, as shares of that period. */
  readonly shares: Shares;
}

const share = fc.double({ min: 0, max: 1, noNaN: true });
const asked: fc.Arbitrary<Asked> = fc.record({
  request: randomRequest,
  shares: fc.record({ one: share, other: share }, { noNullPrototype: true }),
});

function askedUpTo(maxLength: number) {
  return fc.array(asked, { minLength: 1, maxLength, size: "max" });
}

/**
 * Checks that the engine decides like the reference, and that the reference decides the same until the engine's
 * `validUntil`. All requests of a tenant use one model, so that the engine's caches are tested too.
 *
 * @throws with the smallest tenant and request that show a disagreement
 */
export function checkDecisions<Model>(engine: Engine<Model>, run: PropertyRun): Tally {
  const tally: Tally = { requests: 0, reasons: new Map(), allowedWithGateways: 0, readingNow: 0, bounded: 0 };
  const values = fc.tuple(randomTenantWithSessions, askedUpTo(MAX_REQUESTS_OF_A_TENANT));
  const predicate = (facts: TenantFacts, questions: readonly Asked[]) => {
    const model = engine.compile(frozen(facts));
    for (const question of questions) {
      const { request, shares } = question;
      const expected = decideByContract(facts, request);
      const decision = engine.decide(model, frozen(request));
      expectSame(expected, decision, request);
      expectValid(facts, request, expected, decision.validUntil, shares);
      if (expected.readsNow) expectSameAtOtherMoments(engine, model, facts, question);
      count(tally, expected, decision);
    }
  };
  assertUntil(values, predicate, run, () => tally.requests);
  return tally;
}

/**
 * Checks that an updated model decides like a newly compiled one, and that its predecessors still decide as before.
 *
 * @throws with the smallest tenant, changes and requests that show a disagreement
 */
export function checkUpdates<Model>(engine: Engine<Model>, run: PropertyRun): number {
  let requests = 0;
  const values = fc.tuple(randomTenantWithSessions, randomHappenings, askedUpTo(24));
  const predicate = (start: TenantFacts, batches: readonly (readonly Happening[])[], questions: readonly Asked[]) => {
    let facts = start;
    let model = engine.compile(frozen(facts));
    const past: { readonly model: Model; readonly facts: TenantFacts }[] = [{ model, facts }];
    for (const batch of batches) {
      const changes = changesIn(facts, batch);
      facts = frozen(changedFacts(facts, changes));
      model = engine.update(model, frozen(changes));
      const anew = engine.compile(facts);
      for (const { request } of questions) {
        requests += 1;
        const updated = engine.decide(model, request);
        expectSame(decideByContract(facts, request), updated, request);
        const compiled = engine.decide(anew, request);
        if (canonical(updated) !== canonical(compiled)) {
          throw new Error(disagreement("The updated model and one compiled anew", compiled, updated, request));
        }
      }
      past.push({ model, facts });
    }
    for (const before of past) {
      for (const { request } of questions) {
        expectSame(decideByContract(before.facts, request), engine.decide(before.model, request), request);
      }
    }
  };
  assertUntil(values, predicate, run, () => requests);
  return requests;
}

function assertUntil<Values extends unknown[]>(
  values: fc.Arbitrary<Values>,
  predicate: (...values: Values) => void,
  run: PropertyRun,
  requestsMade: () => number,
): void {
  const property = fc.property(values, (each) => predicate(...each));
  for (let round = 0; requestsMade() < run.requests; round += 1) {
    const { failed, counterexample, errorInstance, seed } = fc.check(property, {
      numRuns: Math.min(200, Math.max(5, Math.ceil((run.requests - requestsMade()) / (MAX_REQUESTS_OF_A_TENANT / 2)))),
      // Values meet because pools are small. A bias towards small pools would only reduce the number of values.
      unbiased: true,
      endOnFailure: run.unshrunk ?? false,
      ...(run.seed !== undefined && { seed: run.seed + round }),
    });
    if (!failed || counterexample === null) continue;
    if (run.unshrunk === true) throw errorInstance;
    const smallest = minimized(counterexample[0], (smaller) => failureOf(predicate, smaller) !== undefined);
    const shown = smallest.map((value) => JSON.stringify(value)).join("\n");
    throw new Error(`${failureOf(predicate, smallest)}\nThe smallest case, of seed ${seed}:\n${shown}`);
  }
}

function failureOf<Values extends unknown[]>(
  predicate: (...values: Values) => void,
  values: Values,
): string | undefined {
  try {
    predicate(...values);
    return undefined;
  } catch (error) {
    return String(error);
  }
}

/** Removes every list element without which the value still fails. */
function minimized<Value>(value: Value, fails: (smaller: Value) => boolean): Value {
  let smallest = structuredClone(value);
  for (let shrunk = true; shrunk; ) {
    shrunk = false;
    for (const path of pathsToElements(smallest)) {
      const smaller = structuredClone(smallest);
      const index = Number(path.at(-1));
      const list = path.slice(0, -1).reduce((at: unknown, key) => (at as Record<string, unknown>)[key], smaller);
      if (!Array.isArray(list) || index >= list.length) continue;
      list.splice(index, 1);
      if (!fails(smaller)) continue;
      smallest = smaller;
      shrunk = true;
    }
  }
  return smallest;
}

/**
 * Paths to the elements of all lists within a value. The last elements come first, so that removals do not move the
 * others.
 */
function pathsToElements(value: unknown, path: readonly string[] = []): string[][] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value)
    .reverse()
    .flatMap(([key, part]) => {
      const here = [...path, key];
      const below = pathsToElements(part, here);
      return Array.isArray(value) && path.length > 0 ? [here, ...below] : below;
    });
}

function expectSame(expected: ReferenceDecision, decision: Decision, request: AccessRequest): void {
  const inAnyOrder = expected.gatewaysInAnyOrder;
  if (comparable(expected, inAnyOrder) !== comparable(decision, inAnyOrder)) {
    throw new Error(disagreement("The contract and the engine", expected, decision, request));
  }
}

/** Checks `validUntil`: at every earlier time, an otherwise equal request has the same decision. */
function expectValid(
  facts: TenantFacts,
  request: AccessRequest,
  expected: ReferenceDecision,
  validUntil: number | undefined,
  shares: Shares,
): void {
  if (validUntil !== undefined) {
    const problem = boundProblem(request.now, validUntil, expected.readsNow);
    if (problem !== undefined) throw new Error(`${problem} The request: ${JSON.stringify(request)}`);
  }
  if (!expected.readsNow) return;
  for (const now of momentsBefore(request.now, validUntil, shares)) {
    const later = decideByContract(facts, { ...request, now });
    if (comparable(later, expected.gatewaysInAnyOrder) === comparable(expected, expected.gatewaysInAnyOrder)) continue;
    const until = validUntil === undefined ? "always" : `until ${new Date(validUntil).toISOString()}`;
    const text = `The decision should hold ${until}, and differs at ${new Date(now).toISOString()}: now and then`;
    throw new Error(disagreement(text, expected, later, request));
  }
}

/** Repeats a request at later and earlier times. Values that the engine caches for one time must not affect another. */
function expectSameAtOtherMoments<Model>(
  { decide }: Engine<Model>,
  model: Model,
  facts: TenantFacts,
  { request, shares }: Asked,
): void {
  const span = (shares.one - 0.5) * 2;
  for (const offset of [Math.round(span * DAY_MS), Math.round(span * 300 * DAY_MS)]) {
    const another = { ...request, now: request.now + offset };
    expectSame(decideByContract(facts, another), decide(model, another), another);
  }
}

function boundProblem(now: number, validUntil: number, readsNow: boolean): string | undefined {
  if (!Number.isSafeInteger(validUntil)) return `validUntil is not a time: ${validUntil}.`;
  if (validUntil <= now) return `validUntil ${validUntil} is not after now.`;
  if (!readsNow) return "validUntil is set, and neither a rule on the way nor a session reads now.";
  return undefined;
}

const DAY_MS = 86_400_000;

function momentsBefore(now: number, validUntil: number | undefined, { one, other }: Shares): number[] {
  const turning = turningPoints.map((text) => Date.parse(text));
  const last = validUntil === undefined ? now + 800 * DAY_MS : validUntil - 1;
  const between = (share: number, span: number) => now + Math.floor(share * span);
  const candidates = [
    last,
    between(one, last - now),
    between(other, last - now),
    between(one, DAY_MS),
    between(other, 8 * DAY_MS),
    turning[Math.floor(one * turning.length)],
    turning[Math.floor(other * turning.length)],
  ];
  return candidates.filter((moment): moment is number => moment !== undefined && moment > now && moment <= last);
}

/** A decision without `validUntil`, as one text. */
function comparable(decision: ReferenceDecision | Decision, gatewaysInAnyOrder: boolean): string {
  const { allowed, reasons, policy, resource, mode, gateways } = decision;
  return JSON.stringify([
    allowed,
    reasons,
    policy && [policy.id, policy.name],
    resource && [resource.id, resource.name],
    mode,
    gatewaysInAnyOrder ? [...gateways].sort() : gateways,
  ]);
}

function canonical(decision: Decision): string {
  return `${comparable(decision, false)} ${decision.validUntil}`;
}

function disagreement(who: string, one: object, other: object, request: AccessRequest): string {
  return `${who} disagree:\n${JSON.stringify(one)}\n${JSON.stringify(other)}\nabout ${JSON.stringify(request)}`;
}

function count(tally: Tally, expected: ReferenceDecision, decision: Decision): void {
  tally.requests += 1;
  for (const reason of expected.reasons) tally.reasons.set(reason, (tally.reasons.get(reason) ?? 0) + 1);
  if (expected.allowed && expected.gateways.length > 0) tally.allowedWithGateways += 1;
  if (expected.readsNow) tally.readingNow += 1;
  if (decision.validUntil !== undefined) tally.bounded += 1;
}

/** Freezes the input, so that an engine that modifies it fails at once. */
function frozen<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) frozen(part);
  return Object.freeze(value);
}
