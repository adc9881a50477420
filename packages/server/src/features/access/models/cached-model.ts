import { type PolicyType, policyTypes } from "@gatehouse/contract/records/policy";
import { haveSameFacts } from "@gatehouse/policy/effects/same-facts";
import type { FactChange, FactsByKind, TenantFacts } from "@gatehouse/policy/model/facts";
import { compiling, compilingTable, type Model, update } from "@gatehouse/policy/model/model";
import type { Table } from "@gatehouse/policy/model/table";
import { finish, type Work } from "@gatehouse/policy/work";
import { changesSince, reloadAbove } from "../../../platform/projection/changed-records.ts";
import type { TenantModel } from "../../../platform/tenancy/tenant-models.ts";
import type { ChangedFacts, FactRows, PolicyPosition } from "./facts.queries.ts";
import { changedFacts } from "./model-facts.ts";

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

/** A tenant's model, with indexes of its records by e-mail address and name. */
export class CachedModel implements TenantModel {
  readonly generation: number;
  readonly model: Model;
  readonly #usersByEmail: Table<string>;
  readonly #resourcesByName: Table<string>;

  private constructor(generation: number, model: Model, usersByEmail: Table<string>, resourcesByName: Table<string>) {
    this.generation = generation;
    this.model = model;
    this.#usersByEmail = usersByEmail;
    this.#resourcesByName = resourcesByName;
  }

  static of(generation: number, facts: TenantFacts): CachedModel {
    return finish(CachedModel.building(generation, facts));
  }

  /** Builds the model of a tenant, as work that can be suspended: a large one takes longer than a time slice. */
  static *building(generation: number, facts: TenantFacts): Work<CachedModel> {
    const model = yield* compiling(facts);
    const usersByEmail = yield* compilingTable(facts.users, ({ email, id }) => [emailKey(email), id]);
    const resourcesByName = yield* compilingTable(facts.resources, ({ name, id }) => [name, id]);
    return new CachedModel(generation, model, usersByEmail, resourcesByName);
  }

  userIdOf(email: string): string | undefined {
    return this.#usersByEmail.get(emailKey(email));
  }

  resourceIdOf(name: string): string | undefined {
    return this.#resourcesByName.get(name);
  }

  /**
   * The model after changes.
   *
   * @returns undefined if outbox entries are missing, or change so much that everything must be read again
   */
  after({ generation, entries, facts, positions }: ChangedFacts): CachedModel | undefined {
    // A generation without an outbox entry changed something unknown.
    if (generation === undefined || entries.length !== generation - this.generation) return undefined;
    const changed = changesSince(this.generation, entries);
    if (changed === undefined) return undefined;
    // The ends of all device sessions depend on the settings.
    if (entries.some(({ changes }) => changes.some(({ type }) => type === "tenant-settings"))) return undefined;

    const changes: FactChange[] = [];
    const present = new Set<string>();
    for (const [rows, kind] of Object.entries(kindOfRows) as [keyof FactRows, keyof FactsByKind][]) {
      for (const row of facts[rows]) {
        present.add(`${kind} ${row.id}`);
        // Rows of these kinds are read if they may have changed.
        if (rows === "resources" && haveSameFacts(row, this.model.resources.get(row.id)?.facts)) continue;
        if (rows === "devices" && haveSameFacts(row, this.model.devices.get(row.id)?.facts)) continue;
        changes.push({ kind, facts: row } as FactChange); // rows of each kind are its facts
      }
    }
    const gone: FactChange[] = [];
    for (const [type, id] of changed) {
      const kind = kindOfType[type];
      if (kind !== undefined && !present.has(`${kind} ${id}`)) gone.push({ kind, gone: id });
    }
    return this.with(generation, this.inOrder([...gone, ...changes], positions));
  }

  /**
   * The changes, followed by the changes to the order of policies.
   *
   * @param positions all policies of the types whose order may have changed, in their order
   */
  inOrder(changes: readonly FactChange[], positions: readonly PolicyPosition[]): readonly FactChange[] {
    if (positions.length === 0) return changes;
    const ofPolicies = changes.filter(({ kind }) => kind === "policy" || kind === "policy-order");
    return [...changes, ...newOrders(update(this.model, ofPolicies), positions)];
  }

  /**
   * The model of a later generation.
   *
   * @param changes in their order
   */
  with(generation: number, changes: readonly FactChange[]): CachedModel {
    if (changes.length > reloadAbove) return CachedModel.of(generation, changedFacts(this.model, changes));
    const model = update(this.model, changes);
    const users = changes.flatMap(idOf("user"));
    const resources = changes.flatMap(idOf("resource"));
    return new CachedModel(
      generation,
      model,
      renamed(
        this.#usersByEmail,
        users,
        (id, of) => nameIn(of.users.get(id)?.facts.email, emailKey),
        this.model,
        model,
      ),
      renamed(this.#resourcesByName, resources, (id, of) => of.resources.get(id)?.facts.name, this.model, model),
    );
  }
}

/** E-mail addresses are compared without regard to case. */
function emailKey(email: string): string {
  return email.toLowerCase();
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
function renamed(
  table: Table<string>,
  ids: readonly string[],
  nameOf: (id: string, model: Model) => string | undefined,
  before: Model,
  after: Model,
): Table<string> {
  const changes = new Map<string, string | undefined>();
  for (const id of ids) {
    const name = nameOf(id, before);
    if (name !== undefined) changes.set(name, undefined);
  }
  for (const id of ids) {
    const name = nameOf(id, after);
    if (name !== undefined) changes.set(name, id);
  }
  return changes.size === 0 ? table : table.with(changes);
}

/** Orders of policies that differ from the model's. */
function newOrders(model: Model, positions: ChangedFacts["positions"]): readonly FactChange[] {
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
