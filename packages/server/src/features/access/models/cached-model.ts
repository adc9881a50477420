import { type PolicyType, policyTypes } from "@gatehouse/contract/records/policy";
import { haveSameFacts, haveSameResources } from "@gatehouse/policy/effects/same-facts";
import type { CompiledDevice } from "@gatehouse/policy/model/compiled-device";
import type { CompiledResource } from "@gatehouse/policy/model/compiled-resource";
import type { FactChange, FactsByKind, TenantFacts } from "@gatehouse/policy/model/facts";
import { compiling, compilingAround, compilingTable, type Model, updating } from "@gatehouse/policy/model/model";
import { Table } from "@gatehouse/policy/model/table";
import { entriesAtOnce, entryCost, finish, recordCost, recordsAtOnce, type Work } from "@gatehouse/policy/work";
import { changesSince, reloadAbove } from "../../../platform/projection/changed-records.ts";
import type { TenantModel } from "../../../platform/tenancy/tenant-models.ts";
import type { HistoryRow } from "../history/history.queries.ts";
import { factsOfHistory } from "../history/history.ts";
import type { ChangedFacts, FactRows, PolicyPosition } from "./facts.queries.ts";
import type { ModelFacts } from "./packed/packed-facts.ts";
import { PackedRecords } from "./packed/packed-records.ts";
import { TextIndex } from "./packed/text-index.ts";

/** The kinds of facts by type of record. Other types do not affect decisions, or only through these types. */
export const kindOfType: Readonly<Record<string, keyof FactsByKind>> = {
  user: "user",
  group: "group",
  device: "device",
  gateway: "gateway",
  resource: "resource",
  "admission-rule": "rule",
  policy: "policy",
};

export const kindOfRows: Readonly<Record<keyof FactRows, keyof FactsByKind>> = {
  users: "user",
  groups: "group",
  devices: "device",
  gateways: "gateway",
  resources: "resource",
  rules: "rule",
  policies: "policy",
};

/** A tenant's model, with indexes of its records by email address and name. */
export class CachedModel implements TenantModel {
  readonly generation: number;
  readonly model: Model;
  /** Users by address, if they are not packed or have changed since. */
  readonly #usersByEmail: Table<string>;
  /** The addresses of packed users, as they were when they were loaded. */
  readonly #packedEmails: TextIndex | undefined;
  /** Resources by name, if they are not packed or have changed since. */
  readonly #resourcesByName: Table<string>;
  /** The names of packed resources, as they were when they were packed. */
  readonly #packedNames: TextIndex | undefined;

  private constructor(generation: number, model: Model, names: Names) {
    this.generation = generation;
    this.model = model;
    this.#usersByEmail = names.usersByEmail;
    this.#packedEmails = names.packedEmails;
    this.#resourcesByName = names.resourcesByName;
    this.#packedNames = names.packedNames;
  }

  static of(generation: number, facts: TenantFacts): CachedModel {
    return finish(CachedModel.building(generation, facts));
  }

  /** Builds the model of a tenant, as work that can be suspended: a large one takes longer than a time slice. */
  static *building(generation: number, facts: TenantFacts): Work<CachedModel> {
    const model = yield* compiling(facts);
    const usersByEmail = yield* compilingTable(facts.users, ({ email, id }) => [emailKey(email), id]);
    const resourcesByName = yield* compilingTable(facts.resources, ({ name, id }) => [name, id]);
    return new CachedModel(generation, model, {
      usersByEmail,
      packedEmails: undefined,
      resourcesByName,
      packedNames: undefined,
    });
  }

  /** Like `building`, from facts that may be packed. */
  static *buildingPacked(generation: number, { users, devices, resources, others }: ModelFacts): Work<CachedModel> {
    const tables = {
      users: Table.ofRecords(users),
      devices: Table.ofRecords(devices),
      resources: Table.ofRecords(resources),
    };
    const model = yield* compilingAround(tables, others);
    return new CachedModel(generation, model, {
      usersByEmail: Table.empty,
      packedEmails: yield* TextIndex.indexing(users, emailKey),
      resourcesByName: Table.empty,
      packedNames: yield* TextIndex.indexing(resources, nameKey),
    });
  }

  /** The number of changed records from which a reload is no more expensive than an update. */
  get mostChanges(): number {
    return Math.max(reloadAbove, packedRecordsOf(this.model) * updatedShare);
  }

  /** Like `building`, from the latest version of each existing record at the generation. */
  static *buildingPast(generation: number, rows: readonly HistoryRow[]): Work<CachedModel> {
    return yield* CachedModel.building(generation, yield* factsOfHistory(rows));
  }

  userIdOf(email: string): string | undefined {
    const key = emailKey(email);
    const known = this.#usersByEmail.get(key);
    if (known !== undefined) return known;
    for (const id of this.#packedEmails?.candidates(key) ?? []) {
      if (nameIn(this.model.users.get(id)?.facts.email, emailKey) === key) return id;
    }
    return undefined;
  }

  resourceIdOf(name: string): string | undefined {
    const known = this.#resourcesByName.get(name);
    if (known !== undefined) return known;
    for (const id of this.#packedNames?.candidates(name) ?? []) {
      if (this.model.resources.get(id)?.facts.name === name) return id;
    }
    return undefined;
  }

  /**
   * The model after changes, as work that can be suspended between some of them.
   *
   * @param devices all devices of the tenant, if the ends of their sessions may have changed
   * @returns undefined if outbox entries are missing, or change so much that everything must be read again
   */
  *following(
    { generation, entries, facts, positions }: ChangedFacts,
    devices?: PackedRecords<CompiledDevice>,
  ): Work<CachedModel | undefined> {
    // A generation without an outbox entry changed something unknown.
    if (generation === undefined || entries.length !== generation - this.generation) return undefined;
    const changed = changesSince(this.generation, entries, this.mostChanges);
    if (changed === undefined) return undefined;
    if (devices === undefined && changesSettings(entries)) return undefined;

    const changes: FactChange[] = [];
    const present = new Set<string>();
    let unpaid = 0;
    for (const [rows, kind] of Object.entries(kindOfRows) as [keyof FactRows, keyof FactsByKind][]) {
      for (const row of facts[rows]) {
        present.add(`${kind} ${row.id}`);
        unpaid += recordCost;
        if (unpaid >= recordsAtOnce * recordCost) {
          yield unpaid;
          unpaid = 0;
        }
        if (rows === "devices" && devices !== undefined) continue;
        // Rows of these kinds are read if they may have changed.
        if (rows === "resources") {
          const known = this.model.resources.get(row.id);
          unpaid += comparisonCost(known);
          if (haveSameResources(row as FactsByKind["resource"], known?.facts)) continue; // a row of this kind
        }
        if (rows === "devices" && haveSameFacts(row, this.model.devices.get(row.id)?.facts)) continue;
        changes.push({ kind, facts: row } as FactChange); // rows of each kind are its facts
      }
    }
    const gone: FactChange[] = [];
    for (const [type, id] of changed) {
      const kind = kindOfType[type];
      if (kind === "device" && devices !== undefined) continue;
      if (kind !== undefined && !present.has(`${kind} ${id}`)) gone.push({ kind, gone: id });
    }
    const base = devices === undefined ? this : this.#withDevices(devices);
    return yield* base.changing(generation, yield* base.ordering([...gone, ...changes], positions));
  }

  #withDevices(devices: PackedRecords<CompiledDevice>): CachedModel {
    return new CachedModel(
      this.generation,
      { ...this.model, devices: Table.ofRecords(devices) },
      {
        usersByEmail: this.#usersByEmail,
        packedEmails: this.#packedEmails,
        resourcesByName: this.#resourcesByName,
        packedNames: this.#packedNames,
      },
    );
  }

  /**
   * The changes, followed by the changes to the order of policies.
   *
   * @param positions all policies of the types whose order may have changed, in their order
   */
  *ordering(changes: readonly FactChange[], positions: readonly PolicyPosition[]): Work<readonly FactChange[]> {
    if (positions.length === 0) return changes;
    const ofPolicies = changes.filter(({ kind }) => kind === "policy" || kind === "policy-order");
    return [...changes, ...(yield* newOrders(yield* updating(this.model, ofPolicies), positions))];
  }

  /**
   * The model of a later generation, as work that can be suspended between some changes.
   *
   * @param changes in their order
   */
  *changing(generation: number, changes: readonly FactChange[]): Work<CachedModel> {
    const model = yield* updating(this.model, changes);
    const users = changes.flatMap(idOf("user"));
    return new CachedModel(generation, model, {
      usersByEmail: yield* renaming(
        this.#usersByEmail,
        users,
        (id, of) => nameIn(of.users.get(id)?.facts.email, emailKey),
        this.model,
        model,
      ),
      packedEmails: this.#packedEmails,
      ...(yield* this.#renamingResources(changes, model)),
    });
  }

  *#renamingResources(
    changes: readonly FactChange[],
    model: Model,
  ): Work<Pick<Names, "resourcesByName" | "packedNames">> {
    const { base } = model.resources;
    // The index must not retain previous pages, and a table of many names needs much memory.
    if (base !== this.model.resources.base && base instanceof PackedRecords) {
      const changed = [...model.resources.changed.values()].filter((resource) => resource !== undefined);
      return {
        resourcesByName: yield* compilingTable(changed, ({ id, facts }) => [facts.name, id]),
        packedNames: yield* TextIndex.indexing(base, nameKey),
      };
    }
    const ids = changes.flatMap(idOf("resource"));
    const nameOf = (id: string, of: Model) => of.resources.get(id)?.facts.name;
    return {
      resourcesByName: yield* renaming(this.#resourcesByName, ids, nameOf, this.model, model),
      packedNames: this.#packedNames,
    };
  }
}

/** Whether entries change settings of the tenant, on which the ends of all device sessions depend. */
export function changesSettings(entries: ChangedFacts["entries"]): boolean {
  return entries.some(({ changes }) => changes.some(({ type }) => type === "tenant-settings"));
}

/** The cost of comparing a resource, in addition to the cost of a record. */
export function comparisonCost(resource: CompiledResource | undefined): number {
  return resource === undefined ? 0 : resource.decodingCost + (resource.weight - 1) * comparedCost;
}

const comparedCost = 500;

/** The number of users, devices and resources, of which large tenants have many. */
export function packedRecordsOf({ users, devices, resources }: Model): number {
  return users.size + devices.size + resources.size;
}

/** The share of a tenant's users, devices and resources that an update may change. */
const updatedShare = 0.02;

interface Names {
  readonly usersByEmail: Table<string>;
  readonly packedEmails: TextIndex | undefined;
  readonly resourcesByName: Table<string>;
  readonly packedNames: TextIndex | undefined;
}

/** Email addresses are compared without regard to case. */
function emailKey(email: string): string {
  return email.toLowerCase();
}

/** Names of resources are compared exactly. */
function nameKey(name: string): string {
  return name;
}

function nameIn(text: string | undefined, key: (text: string) => string): string | undefined {
  return text === undefined ? undefined : key(text);
}

function idOf(kind: keyof FactsByKind) {
  return (change: FactChange): string[] => {
    if (change.kind !== kind) return [];
    return "gone" in change ? [change.gone] : [change.facts.id];
  };
}

/** A name can move from one record to another, so all old names are removed before new ones are added. */
function* renaming(
  table: Table<string>,
  ids: readonly string[],
  nameOf: (id: string, model: Model) => string | undefined,
  before: Model,
  after: Model,
): Work<Table<string>> {
  const changes = new Map<string, string | undefined>();
  let unpaid = 0;
  for (const model of [before, after]) {
    for (const id of ids) {
      const name = nameOf(id, model);
      if (name !== undefined) changes.set(name, model === after ? id : undefined);
      unpaid += 1;
      if (unpaid < entriesAtOnce) continue;
      yield unpaid * entryCost;
      unpaid = 0;
    }
  }
  return changes.size === 0 ? table : yield* table.changing(changes);
}

/** Orders of policies that differ from the model's. */
function* newOrders(model: Model, positions: ChangedFacts["positions"]): Work<readonly FactChange[]> {
  yield positions.length * entryCost;
  const byType = new Map<PolicyType, string[]>();
  for (const { id, type } of positions) push(byType, type, id);
  return policyTypes.flatMap((type): FactChange[] => {
    const ids = byType.get(type);
    if (ids === undefined) return [];
    const { policies } = model.policies[type];
    const isSameOrder = policies.length === ids.length && policies.every(({ facts }, index) => facts.id === ids[index]);
    return isSameOrder ? [] : [{ kind: "policy-order", type, ids }];
  });
}

function push(lists: Map<PolicyType, string[]>, type: PolicyType, id: string): void {
  const list = lists.get(type);
  if (list === undefined) lists.set(type, [id]);
  else list.push(id);
}
