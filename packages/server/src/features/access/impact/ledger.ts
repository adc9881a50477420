/** Writes down what each command does to access: the facts that it leaves, and who gains and loses by them. */
import type { PolicyType } from "@gatehouse/contract/records/policy";
import { compareAccess } from "@gatehouse/policy/effects/compare-access";
import { haveSameFacts } from "@gatehouse/policy/effects/same-facts";
import type { FactChange, FactsByKind } from "@gatehouse/policy/model/facts";
import type { Change } from "../../../platform/change.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { AccessChange, AccessLedger, LedgerPage, WeighedEffect } from "../../../platform/tenancy/access-ledger.ts";
import { lockGeneration } from "../../../platform/tenancy/generation.queries.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";
import { countEffectsAfter, insertHistory, readHistoryAfter, storeEffect } from "../history/history.queries.ts";
import { changesOfHistory, versionOf } from "../history/history.ts";
import {
  type FactRows,
  type NamedFacts,
  type PolicyPlace,
  readAllFacts,
  readNamedFacts,
  readPlacesBeside,
} from "../models/facts.queries.ts";
import { type KeptModel, kindOfRows } from "../models/kept-model.ts";
import { factsFinder, factsOf } from "../models/model-facts.ts";
import type { ModelStore } from "../models/model-store.ts";
import { namedByChanges } from "../models/named-facts.ts";
import type { AccessGuard } from "./access-guard.ts";
import { effectSummary } from "./effect-summary.ts";

/** What a command does to access must not depend on when it ran. */
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

  async open(tenantId: string): Promise<LedgerPage> {
    const base = await this.#options.models.current(tenantId);
    return {
      weigh: (tx, changes, overrideReason) => this.#weigh(tx, base, changes, overrideReason),
      look: (tx, changes) => look(tx, base, changes),
    };
  }

  /**
   * Everything is asked for at once, behind the lock: all that was committed before is to be seen from there on, and nothing
   * else can come before this command commits.
   */
  async #weigh(
    tx: TenantTx,
    base: KeptModel,
    recorded: readonly Change[],
    overrideReason: string | undefined,
  ): Promise<WeighedEffect> {
    const { models, clock, guard } = this.#options;
    const [seen, written, judge] = await Promise.all([
      look(tx, base, recorded),
      countEffectsAfter(tx, base.generation),
      guard.prepare(tx),
    ]);
    const at = clock.now();
    const { before, after, changes } = seen();
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
        // Generations without an effect may have changed what the history does not tell, such as a gateway's state.
        if (written === generation - base.generation) models.take(tx.tenantId, after);
      },
    };
  }
}

interface KeptChange extends AccessChange {
  readonly before: KeptModel;
  readonly after: KeptModel;
}

/** The lock is asked for first: what is read behind it shows all that was committed before. */
async function look(tx: TenantTx, base: KeptModel, recorded: readonly Change[]): Promise<() => KeptChange> {
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

/** Asks for the facts that a command left, and gives what tells them from those before it. */
async function readLeft(
  tx: TenantTx,
  recorded: readonly Change[],
): Promise<(before: KeptModel) => readonly FactChange[]> {
  const named = namedByChanges(recorded);
  if (named === undefined) {
    const { facts } = await readAllFacts(tx);
    return (before) => differenceTo(before, facts);
  }
  const { reordered, ...ids } = named;
  const [facts, places] = await Promise.all([readNamedFacts(tx, ids), readPlacesBeside(tx, reordered)]);
  return (before) => withOrders(before, differences(before, facts, ids), places);
}

/** What differs, of records that a command named. */
function differences(before: KeptModel, facts: FactRows, ids: NamedFacts): readonly FactChange[] {
  const find = factsFinder(before.model);
  const gone: FactChange[] = [];
  const changed: FactChange[] = [];
  for (const [rows, kind] of Object.entries(kindOfRows) as [keyof FactRows, keyof FactsByKind][]) {
    const present = new Set<string>();
    for (const row of facts[rows]) {
      present.add(row.id);
      if (!haveSameFacts(row, find(kind, row.id))) changed.push({ kind, facts: row } as FactChange); // rows of each kind are its facts
    }
    for (const id of ids[rows]) if (!present.has(id) && find(kind, id) !== undefined) gone.push({ kind, gone: id });
  }
  return [...gone, ...changed];
}

/** What differs, of everything. */
function differenceTo(before: KeptModel, facts: FactRows): readonly FactChange[] {
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

/** The order of a type is written where new policies at the end would not make it, and where more than one is new. */
function withOrders(
  before: KeptModel,
  changes: readonly FactChange[],
  places: readonly PolicyPlace[],
): readonly FactChange[] {
  const ordered = before.inOrder(changes, places);
  const find = factsFinder(before.model);
  const newOfType = new Map<PolicyType, number>();
  for (const change of changes) {
    if (change.kind !== "policy" || "gone" in change || find("policy", change.facts.id) !== undefined) continue;
    newOfType.set(change.facts.type, (newOfType.get(change.facts.type) ?? 0) + 1);
  }
  const orders = [...newOfType].flatMap(([type, count]): FactChange[] => {
    const isTold = ordered.some((change) => change.kind === "policy-order" && change.type === type);
    if (count < 2 || isTold) return [];
    return [{ kind: "policy-order", type, ids: places.filter((place) => place.type === type).map(({ id }) => id) }];
  });
  return [...ordered, ...orders];
}
