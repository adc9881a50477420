/** Records the facts that each command leaves, and who gains and loses access by it. */
import type { PolicyType } from "@gatehouse/contract/records/policy";
import { compareAccess } from "@gatehouse/policy/effects/compare-access";
import { haveSameFacts } from "@gatehouse/policy/effects/same-facts";
import type { FactChange, FactsByKind } from "@gatehouse/policy/model/facts";
import type { Change } from "../../../platform/change.ts";
import type { Clock } from "../../../platform/clock.ts";
import type {
  AccessChange,
  AccessImpact,
  AccessLedger,
  EvaluatedImpact,
} from "../../../platform/tenancy/access-ledger.ts";
import { lockGeneration } from "../../../platform/tenancy/generation.queries.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";
import { countEffectsAfter, insertHistory, readHistoryAfter, storeEffect } from "../history/history.queries.ts";
import { changesOfHistory, versionOf } from "../history/history.ts";
import { type CachedModel, kindOfRows } from "../models/cached-model.ts";
import {
  type FactRows,
  type NamedFacts,
  type PolicyPosition,
  readAllFacts,
  readNamedFacts,
  readPolicyOrder,
} from "../models/facts.queries.ts";
import { factsFinder, factsOf } from "../models/model-facts.ts";
import type { ModelStore } from "../models/model-store.ts";
import { namedByChanges } from "../models/named-facts.ts";
import type { AccessGuard } from "./access-guard.ts";
import { effectSummary } from "./effect-summary.ts";

/** The effect of a command must not depend on the time at which it ran. */
const anyCircumstances = {};

export interface LedgerOptions {
  readonly models: ModelStore;
  readonly clock: Clock;
  readonly guard: AccessGuard;
}

export class Ledger implements AccessLedger {
  readonly #options: LedgerOptions;

  constructor(options: LedgerOptions) {
    this.#options = options;
  }

  async open(tenantId: string): Promise<AccessImpact> {
    const base = await this.#options.models.current(tenantId);
    return {
      evaluate: (tx, changes, overrideReason) => this.#evaluate(tx, base, changes, overrideReason),
      preview: (tx, changes) => preview(tx, base, changes),
    };
  }

  /**
   * Starts all queries at once, after the lock. They see everything that was committed before, and no other command can
   * commit before this one.
   */
  async #evaluate(
    tx: TenantTx,
    base: CachedModel,
    recorded: readonly Change[],
    overrideReason: string | undefined,
  ): Promise<EvaluatedImpact> {
    const { models, clock, guard } = this.#options;
    const [previewed, written, judge] = await Promise.all([
      preview(tx, base, recorded),
      countEffectsAfter(tx, base.generation),
      guard.prepare(tx),
    ]);
    const at = clock.now();
    const { before, after, changes } = previewed();
    const { generation } = before;
    const difference = compareAccess(before.model, after.model, changes, anyCircumstances);
    const brokenTests = await judge({ before, after, changes, difference, overrideReason });
    const summary = effectSummary(difference, before.model, after.model, brokenTests);
    return {
      async write(writing) {
        await Promise.all([
          insertHistory(writing, generation + 1, changes.map(versionOf)),
          storeEffect(writing, generation + 1, at, summary),
        ]);
      },
      committed: () => {
        // Generations without an effect may have changed facts that are not in the history, such as the state of a
        // gateway.
        if (written === generation - base.generation) models.take(tx.tenantId, after);
      },
    };
  }
}

interface ModelChange extends AccessChange {
  readonly before: CachedModel;
  readonly after: CachedModel;
}

/** Locks first: the queries after the lock see everything that was committed before. */
async function preview(tx: TenantTx, base: CachedModel, recorded: readonly Change[]): Promise<() => ModelChange> {
  const [generation, past, left] = await Promise.all([
    lockGeneration(tx),
    readHistoryAfter(tx, base.generation),
    readLeft(tx, recorded),
  ]);
  return () => {
    const before = generation === base.generation ? base : base.with(generation, changesOfHistory(past));
    const changes = left(before);
    return { before, after: before.with(generation + 1, changes), changes };
  };
}

/**
 * Starts the queries for the facts that a command left. Returns a function that compares them with the previous facts.
 */
async function readLeft(
  tx: TenantTx,
  recorded: readonly Change[],
): Promise<(before: CachedModel) => readonly FactChange[]> {
  const named = namedByChanges(recorded);
  if (named === undefined) {
    const { facts } = await readAllFacts(tx);
    return (before) => differenceTo(before, facts);
  }
  const { reordered, ...ids } = named;
  const [facts, positions] = await Promise.all([readNamedFacts(tx, ids), readPolicyOrder(tx, reordered)]);
  return (before) => withOrders(before, differences(before, facts, ids), positions);
}

/** The differences of the records that a command named. */
function differences(before: CachedModel, facts: FactRows, ids: NamedFacts): readonly FactChange[] {
  const find = factsFinder(before.model);
  const gone: FactChange[] = [];
  const changed: FactChange[] = [];
  for (const [rows, kind] of Object.entries(kindOfRows) as [keyof FactRows, keyof FactsByKind][]) {
    const present = new Set<string>();
    for (const row of facts[rows]) {
      present.add(row.id);
      if (!haveSameFacts(row, find(kind, row.id))) changed.push({ kind, facts: row } as FactChange); // rows of a kind are its facts
    }
    for (const id of ids[rows]) if (!present.has(id) && find(kind, id) !== undefined) gone.push({ kind, gone: id });
  }
  return [...gone, ...changed];
}

/** The differences of all records. */
function differenceTo(before: CachedModel, facts: FactRows): readonly FactChange[] {
  const former = factsOf(before.model);
  const idsOf = (records: readonly { readonly id: string }[]) => records.map(({ id }) => id);
  const ids: NamedFacts = {
    users: idsOf(former.users),
    groups: idsOf(former.groups),
    devices: idsOf(former.devices),
    gateways: idsOf(former.gateways),
    resources: idsOf(former.resources),
    rules: idsOf(former.rules),
    policies: idsOf(former.policies),
  };
  return withOrders(before, differences(before, facts, ids), facts.policies);
}

/** Stores the order of a type if new policies are not at the end, or if there is more than one. */
function withOrders(
  before: CachedModel,
  changes: readonly FactChange[],
  positions: readonly PolicyPosition[],
): readonly FactChange[] {
  const ordered = before.inOrder(changes, positions);
  const find = factsFinder(before.model);
  const newOfType = new Map<PolicyType, number>();
  for (const change of changes) {
    if (change.kind !== "policy" || "gone" in change || find("policy", change.facts.id) !== undefined) continue;
    newOfType.set(change.facts.type, (newOfType.get(change.facts.type) ?? 0) + 1);
  }
  const orders = [...newOfType].flatMap(([type, count]): FactChange[] => {
    const isStored = ordered.some((change) => change.kind === "policy-order" && change.type === type);
    if (count < 2 || isStored) return [];
    return [
      { kind: "policy-order", type, ids: positions.filter((position) => position.type === type).map(({ id }) => id) },
    ];
  });
  return [...ordered, ...orders];
}
