/** Reads the changes of commands: the models before and after each, and the facts that differ. */
import type { PolicyType } from "@gatehouse/contract/records/policy";
import { haveSameFacts, haveSameResources } from "@gatehouse/policy/effects/same-facts";
import type { FactChange, FactsByKind, ResourceFacts } from "@gatehouse/policy/model/facts";
import { entryCost, recordCost, recordsAtOnce, type Work } from "@gatehouse/policy/work";
import type { Change } from "../../../platform/change.ts";
import type { AccessChange } from "../../../platform/tenancy/access-ledger.ts";
import { lockGeneration } from "../../../platform/tenancy/generation.queries.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";
import { type HistoryRow, type LaterHistory, readHistoryAfter } from "../history/history.queries.ts";
import { changesOfHistory } from "../history/history.ts";
import { type CachedModel, comparisonCost, kindOfRows } from "../models/cached-model.ts";
import {
  type FactRows,
  type NamedFacts,
  type PolicyPosition,
  readAllFacts,
  readDeviceFacts,
  readNamedFacts,
  readPolicyOrder,
} from "../models/facts.queries.ts";
import { factsFinder, listing, listingOthers } from "../models/model-facts.ts";
import { type NamedByChanges, namedByChanges } from "../models/named-facts.ts";
import { readResourcesUsing } from "../models/resource-facts.queries.ts";

/** The models before and after a command. */
export interface ModelChange extends AccessChange {
  readonly before: CachedModel;
  readonly after: CachedModel;
}

/** @returns computes the models, as work that can be suspended between some records */
export async function preview(
  tx: TenantTx,
  base: CachedModel,
  recorded: readonly Change[],
): Promise<Work<ModelChange>> {
  const { former, left } = await readChanges(tx, () => base, [recorded]);
  const [comparing] = left;
  return (function* (): Work<ModelChange> {
    return yield* modelChange(yield* former, comparing as ComparingFacts); // one for each command
  })();
}

interface ReadChanges {
  /** The model before the commands. */
  readonly former: Work<CachedModel>;
  /** Whether that model has all facts, and not only those of the history. */
  readonly isFormerWhole: boolean;
  /** The facts that each command left. */
  readonly left: readonly ComparingFacts[];
}

/**
 * Locks first, so that later queries see everything that was committed before.
 *
 * @param latest returns the latest known model; called with the lock, so that it usually has the locked generation
 */
export async function readChanges(
  tx: TenantTx,
  latest: () => CachedModel,
  commands: readonly (readonly Change[])[],
): Promise<ReadChanges> {
  const [generation, left] = await Promise.all([lockGeneration(tx), readLeft(tx, commands)]);
  const base = latest();
  const past = generation === base.generation ? noHistory : await readHistoryAfter(tx, base.generation);
  return {
    former: formerModel(base, generation, past.versions),
    // Generations without an effect may have changed facts that are not in the history, such as the state of a gateway.
    isFormerWhole: past.effects === generation - base.generation,
    left,
  };
}

const noHistory: LaterHistory = { versions: [], effects: 0 };

/** The model before the commands of the transaction. */
function* formerModel(base: CachedModel, generation: number, past: readonly HistoryRow[]): Work<CachedModel> {
  return generation === base.generation ? base : yield* base.changing(generation, yield* changesOfHistory(past));
}

export function* modelChange(before: CachedModel, comparing: ComparingFacts): Work<ModelChange> {
  const changes = yield* comparing(before);
  return { before, after: yield* before.changing(before.generation + 1, changes), changes };
}

/** Compares the facts after a command with the previous facts. */
export type ComparingFacts = (before: CachedModel) => Work<readonly FactChange[]>;

/** Starts the queries for the facts after each command. If there are several commands, they only created records. */
function readLeft(tx: TenantTx, commands: readonly (readonly Change[])[]): Promise<readonly ComparingFacts[]> {
  const named = commands.map(namedByChanges);
  if (named.length > 1 && named.every((names) => names !== undefined)) return readCreated(tx, named);
  return Promise.all(named.map((names) => readLeftBy(tx, names)));
}

/** Protocols do not know the resources that use them. */
async function withResourcesUsing(tx: TenantTx, protocols: readonly string[], named: NamedFacts): Promise<NamedFacts> {
  const using = await readResourcesUsing(tx, protocols);
  return { ...named, resources: [...new Set([...named.resources, ...using])] };
}

interface Identified {
  readonly id: string;
}

/** Starts one query for each kind of record that several commands created. */
async function readCreated(tx: TenantTx, named: readonly NamedByChanges[]): Promise<readonly ComparingFacts[]> {
  const facts = await readNamedFacts(
    tx,
    ofKinds((kind) => named.flatMap((names) => names[kind])),
  );
  const rowsById = new Map<string, Identified>();
  const lists: readonly (readonly Identified[])[] = Object.values(facts);
  for (const rows of lists) for (const row of rows) rowsById.set(row.id, row);
  return named.map((names) => (before) => {
    const own = ofKinds((kind) => names[kind].flatMap((id) => rowsById.get(id) ?? []));
    return differences(before, own as unknown as FactRows, names); // rows of each kind, found by the ids of that kind
  });
}

function ofKinds<Value>(ofKind: (kind: keyof FactRows) => Value): Readonly<Record<keyof FactRows, Value>> {
  return {
    users: ofKind("users"),
    groups: ofKind("groups"),
    devices: ofKind("devices"),
    gateways: ofKind("gateways"),
    resources: ofKind("resources"),
    rules: ofKind("rules"),
    policies: ofKind("policies"),
  };
}

/** Starts the queries for the facts that a command left. Reads all facts if the command does not name them. */
async function readLeftBy(tx: TenantTx, named: NamedByChanges | undefined): Promise<ComparingFacts> {
  if (named === undefined) {
    const { facts } = await readAllFacts(tx);
    return (before) => differencesToAll(before, facts);
  }
  const { reordered, regrouped, protocols, allDevices, ...records } = named;
  const ids = protocols.length === 0 ? records : await withResourcesUsing(tx, protocols, records);
  const [facts, positions, devices] = await Promise.all([
    readNamedFacts(tx, ids, regrouped),
    readPolicyOrder(tx, reordered),
    allDevices ? readDeviceFacts(tx) : undefined,
  ]);
  const all = devices === undefined ? facts : { ...facts, devices };
  return function* (before) {
    return yield* withOrders(before, yield* differences(before, all, ids), positions);
  };
}

/** The differences of the records that a command named. */
function* differences(before: CachedModel, facts: FactRows, ids: NamedFacts): Work<readonly FactChange[]> {
  const find = factsFinder(before.model);
  const gone: FactChange[] = [];
  const changed: FactChange[] = [];
  let unpaid = 0;
  for (const [rows, kind] of Object.entries(kindOfRows) as [keyof FactRows, keyof FactsByKind][]) {
    const present = new Set<string>();
    for (const row of facts[rows]) {
      present.add(row.id);
      unpaid += recordCost + (kind === "resource" ? comparisonCost(before.model.resources.get(row.id)) : 0);
      if (unpaid >= recordsAtOnce * recordCost) {
        yield unpaid;
        unpaid = 0;
      }
      if (!areSame(kind, row, find(kind, row.id))) changed.push({ kind, facts: row } as FactChange); // rows of a kind are its facts
    }
    for (const id of ids[rows]) {
      if (!present.has(id) && find(kind, id) !== undefined) gone.push({ kind, gone: id });
      unpaid += 2 * entryCost;
      if (unpaid < recordsAtOnce * recordCost) continue;
      yield unpaid;
      unpaid = 0;
    }
  }
  return [...gone, ...changed];
}

function areSame(kind: keyof FactsByKind, row: object, known: object | undefined): boolean {
  if (kind !== "resource") return haveSameFacts(row, known);
  return haveSameResources(row as ResourceFacts, known as ResourceFacts | undefined); // facts of this kind
}

/** The differences of all records. */
function* differencesToAll(before: CachedModel, facts: FactRows): Work<readonly FactChange[]> {
  const { users, devices, resources } = before.model;
  const others = yield* listingOthers(before.model);
  const idsOf = (records: readonly { readonly id: string }[]) => listing(records, ({ id }) => id);
  const ids: NamedFacts = {
    users: yield* listing(users.ids(), (id) => id),
    groups: yield* idsOf(others.groups),
    devices: yield* listing(devices.ids(), (id) => id),
    gateways: yield* idsOf(others.gateways),
    resources: yield* listing(resources.ids(), (id) => id),
    rules: yield* idsOf(others.rules),
    policies: yield* idsOf(others.policies),
  };
  return yield* withOrders(before, yield* differences(before, facts, ids), facts.policies);
}

/** Stores the order of a type if new policies are not at the end, or if there is more than one. */
function* withOrders(
  before: CachedModel,
  changes: readonly FactChange[],
  positions: readonly PolicyPosition[],
): Work<readonly FactChange[]> {
  const ordered = yield* before.ordering(changes, positions);
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
