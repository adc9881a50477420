/** Writes the changes of a plan in slices, with one statement for up to 500 records of a kind. */

import type { Permission, RoleType } from "@gatehouse/contract/permissions";
import { type ConfiguredKind, configuredKinds } from "@gatehouse/contract/records/configuration";
import type { Work } from "@gatehouse/policy/work";
import { authorize } from "../../../platform/authorization/granted.ts";
import type { Actor } from "../../../platform/change.ts";
import { sendAhead } from "../../../platform/db/send-ahead.ts";
import { newId } from "../../../platform/ids.ts";
import type { SecretBox } from "../../../platform/secrets/master-key.ts";
import type { CommandTx } from "../../../platform/tenancy/tenant-tx.ts";
import { deleteAddresses, insertAddresses, updateAddresses } from "../../addresses/addresses.api.ts";
import {
  deleteAdmissionRules,
  insertAdmissionRules,
  updateAdmissionRules,
} from "../../admission-rules/admission-rules.api.ts";
import { orphanDevices } from "../../devices/devices.api.ts";
import { deleteKeysOfUsers } from "../../enrolment-keys/enrolment-keys.api.ts";
import { deleteGateways, insertGateways, updateGateways } from "../../gateways/gateways.api.ts";
import {
  clearSamlDefaultGroup,
  deleteGroups,
  insertGroups,
  type StoredGroup,
  updateGroups,
} from "../../groups/groups.api.ts";
import {
  createConfiguredProvider,
  deleteConfiguredProvider,
  updateConfiguredProvider,
} from "../../identity-providers/identity-providers.api.ts";
import {
  deletePolicies,
  insertPolicies,
  placePolicies,
  policyLists,
  replacePolicyLists,
  type StoredPolicy,
  updatePolicies,
} from "../../policies/policies.api.ts";
import { deleteProtocols, insertProtocols, updateProtocols } from "../../protocols/protocols.api.ts";
import {
  deleteResources,
  insertResources,
  type StoredResource,
  updateResources,
} from "../../resources/resources.api.ts";
import { roleIdsByType } from "../../roles/roles.api.ts";
import { changeTenantSettings } from "../../tenant-settings/tenant-settings.api.ts";
import { deleteUsers, insertUsers, type StoredUser, updateUsers } from "../../users/users.api.ts";
import { entryContext } from "../document/document-entries.ts";
import { recordCost, smallRecordCost } from "../document/record-costs.ts";
import { ofEachKind } from "../document/settings.ts";
import { allChanges, type RecordChange, type TenantPlan } from "../plan/plan-changes.ts";
import { reconnects } from "../plan/provider-changes.ts";
import type { TenantRecords } from "../tenant-records.ts";
import { type AddressChanges, addressChanges } from "./address-changes.ts";
import { auditedChange } from "./audited-changes.ts";

export interface ChangesToWrite {
  readonly plan: TenantPlan;
  readonly current: TenantRecords;
  /** Ids of the devices that the document lists, by public key. */
  readonly devices: ReadonlyMap<string, string>;
  /** The permissions of the caller, which cover all changes. */
  readonly permissions: ReadonlySet<Permission>;
  /** Seals the tokens of new gateways. */
  readonly tokens: SecretBox;
  readonly at: Date;
  /** The author of the changes. */
  readonly by: Actor;
  /** Performs work in slices. */
  readonly perform: <Result>(work: Work<Result>) => Promise<Result>;
}

/** The most records in one statement. */
const writtenAtOnce = 500;

/** The cost of a record's part in a statement, in rule-cost units. */
const writeCost = 1_000;

/**
 * Deletions come last, when nothing refers to the records any more. Policies are deleted first, because a new policy of
 * another type may take over the name of a deleted one.
 */
export async function writeChanges(tx: CommandTx, toWrite: ChangesToWrite): Promise<void> {
  const writer = new ChangeWriter(tx, toWrite, await toWrite.perform(assignIds(toWrite)));
  await toWrite.perform(writer.recording());
  // PostgreSQL writes records while the entries are serialized.
  if (!writer.recordsMore) tx.storeEntries();
  await writer.deletePolicies();
  await writer.writeGroups();
  await writer.writeUsers();
  await writer.writeProtocols();
  await writer.writeGateways();
  await writer.writeResources();
  await writer.writeRules();
  await writer.writePolicies();
  await writer.deleteOthers();
  await writer.writeProviders();
  await writer.writeTenantSettings();
}

type Written<K extends ConfiguredKind> = Exclude<RecordChange<K>, { action: "delete" }>;

/** Ids by kind and key, including ids of new records. */
type Ids = Readonly<Record<ConfiguredKind, ReadonlyMap<string, string>>>;

/** The ids of all records after the changes. */
function* assignIds({ current, plan }: ChangesToWrite): Work<Ids> {
  const ids = ofEachKind(() => new Map<string, string>());
  for (const kind of configuredKinds) {
    for (const [key, { id }] of current[kind]) {
      yield smallRecordCost;
      ids[kind].set(key, id);
    }
    // A deleted policy and a new policy of another type may have the same name.
    for (const { action, key } of plan.changes[kind]) {
      yield recordCost;
      if (action === "create") ids[kind].set(key, newId());
    }
  }
  return ids;
}

class ChangeWriter {
  readonly #tx: CommandTx;
  readonly #toWrite: ChangesToWrite;
  readonly #ids: Ids;
  #roleIdsByType: ReadonlyMap<RoleType, string> | undefined;

  constructor(tx: CommandTx, toWrite: ChangesToWrite, ids: Ids) {
    this.#tx = tx;
    this.#toWrite = toWrite;
    this.#ids = ids;
  }

  async writeGroups(): Promise<void> {
    const { at } = this.#toWrite;
    const { created, updated } = this.#written("group");
    if (created.length + updated.length === 0) return;
    const granted = authorize(this.#toWrite.permissions, "groups:write");
    const roleIds = await this.#roleIds();
    const stored = ({ key, after: { roles, ...settings } }: Written<"group">): StoredGroup => ({
      id: this.#id("group", key),
      ...settings,
      roleIds: roles.map(roleIds),
    });
    const marked = [...this.#toWrite.plan.next.group].find(([, { settings }]) => settings.isSamlDefaultGroup);
    await clearSamlDefaultGroup(this.#tx, granted, this.#toWrite.current.group.get(marked?.[0] ?? "")?.id ?? null);
    await this.#inParts(updated, stored, (part) => updateGroups(this.#tx, granted, part, at));
    await this.#inParts(created, stored, (part) => insertGroups(this.#tx, granted, part, at));
  }

  async writeUsers(): Promise<void> {
    const { at } = this.#toWrite;
    const { created, updated } = this.#written("user");
    if (created.length + updated.length === 0) return;
    const granted = authorize(this.#toWrite.permissions, "users:write");
    const roleIds = await this.#roleIds();
    const stored = ({ key, after: { groups, roles, ...settings } }: Written<"user">): StoredUser => ({
      id: this.#id("user", key),
      ...settings,
      groupIds: groups.map((name) => this.#id("group", name)),
      roleIds: roles.map(roleIds),
    });
    await this.#inParts(updated, stored, (part) => updateUsers(this.#tx, granted, part, at));
    await this.#inParts(created, stored, (part) => insertUsers(this.#tx, granted, part, at));
  }

  async writeProtocols(): Promise<void> {
    const { at } = this.#toWrite;
    const { created, updated } = this.#written("protocol");
    if (created.length + updated.length === 0) return;
    const granted = authorize(this.#toWrite.permissions, "protocols:write");
    const stored = ({ key, after }: Written<"protocol">) => ({ id: this.#id("protocol", key), ...after });
    await this.#inParts(updated, stored, (part) => updateProtocols(this.#tx, granted, part, at));
    await this.#inParts(created, stored, (part) => insertProtocols(this.#tx, granted, part, at));
  }

  async writeGateways(): Promise<void> {
    const { at, tokens } = this.#toWrite;
    const { created, updated } = this.#written("gateway");
    if (created.length + updated.length === 0) return;
    const granted = authorize(this.#toWrite.permissions, "gateways:write");
    const stored = ({ key, after }: Written<"gateway">) => ({ id: this.#id("gateway", key), ...after });
    await this.#inParts(updated, stored, (part) => updateGateways(this.#tx, granted, part, at));
    await this.#inParts(created, stored, (part) => insertGateways(this.#tx, granted, part, { tokens, at }));
  }

  async writeResources(): Promise<void> {
    const { at } = this.#toWrite;
    const { created, updated } = this.#written("resource");
    if (created.length + updated.length === 0) return;
    const granted = authorize(this.#toWrite.permissions, "resources:write");
    const stored = ({ key, after }: Written<"resource">): StoredResource => {
      const { gateways, addresses: _addresses, ...rest } = after;
      return { ...rest, id: this.#id("resource", key), gatewayIds: gateways.map((name) => this.#id("gateway", name)) };
    };
    await this.#inParts(updated, stored, (part) => updateResources(this.#tx, granted, part, at));
    await this.#inParts(created, stored, (part) => insertResources(this.#tx, granted, part, at));

    const changes = await this.#toWrite.perform(this.#addressChanges([...updated, ...created]));
    const same = <T>(item: T) => item;
    const removed = changes.flatMap((change) => change.removed);
    if (removed.length > 0) await deleteAddresses(this.#tx, granted, removed);
    const changed = changes.flatMap((change) => change.updated);
    await this.#inParts(changed, same, (part) => updateAddresses(this.#tx, granted, part, at));
    const added = changes.flatMap((change) => change.added);
    await this.#inParts(added, same, (part) => insertAddresses(this.#tx, granted, part, at));
  }

  async writeRules(): Promise<void> {
    const { at } = this.#toWrite;
    const { created, updated } = this.#written("admission-rule");
    if (created.length + updated.length === 0) return;
    const granted = authorize(this.#toWrite.permissions, "admission-rules:write");
    const stored = ({ key, after }: Written<"admission-rule">) => ({ id: this.#id("admission-rule", key), ...after });
    await this.#inParts(updated, stored, (part) => updateAdmissionRules(this.#tx, granted, part, at));
    await this.#inParts(created, stored, (part) => insertAdmissionRules(this.#tx, granted, part, at));
  }

  async deletePolicies(): Promise<void> {
    const ids = this.#deleted("policy");
    if (ids.length > 0) await deletePolicies(this.#tx, authorize(this.#toWrite.permissions, "policies:write"), ids);
  }

  async writePolicies(): Promise<void> {
    const { at, plan, permissions } = this.#toWrite;
    const { created, updated } = this.#written("policy");
    if (created.length + updated.length + this.#deleted("policy").length === 0) return;
    const granted = authorize(permissions, "policies:write");
    const stored = ({ key, after }: Written<"policy">): StoredPolicy => {
      const { rule, groups: _g, users: _u, devices: _d, resources: _r, gateways: _w, ...settings } = after;
      const ruleId = this.#id("admission-rule", rule);
      return { ...settings, id: this.#id("policy", key), order: plan.places.get(key) ?? 0, ruleId };
    };
    await this.#inParts(updated, stored, (part) => updatePolicies(this.#tx, granted, part, at));
    await this.#inParts(created, stored, (part) => insertPolicies(this.#tx, granted, part, at));
    const placed = [...plan.places].map(([name, order]) => ({ id: this.#id("policy", name), order }));
    await placePolicies(this.#tx, granted, placed, null);
    for (const list of policyLists) {
      const changed = [
        ...created.filter(({ after }) => after[list].length > 0),
        ...updated.filter((change) => change.action === "update" && change.fields.some(({ field }) => field === list)),
      ];
      const listOf = ({ key, after }: Written<"policy">) => ({
        policyId: this.#id("policy", key),
        ids: after[list].map((name) => this.#namedId(list, name)),
      });
      await this.#inParts(changed, listOf, (part) => replacePolicyLists(this.#tx, granted, list, part));
    }
  }

  async deleteOthers(): Promise<void> {
    const { permissions, at } = this.#toWrite;
    const tx = this.#tx;
    const [resources, users, groups] = [this.#deleted("resource"), this.#deleted("user"), this.#deleted("group")];
    const [gateways, protocols, rules] = [
      this.#deleted("gateway"),
      this.#deleted("protocol"),
      this.#deleted("admission-rule"),
    ];
    if (resources.length > 0) await deleteResources(tx, authorize(permissions, "resources:write"), resources);
    if (users.length > 0) {
      const granted = authorize(permissions, "users:write");
      // The plan contains the references of records that documents describe. These records hold the others.
      await orphanDevices(tx, granted, users, at);
      await deleteKeysOfUsers(tx, granted, users, at);
      await deleteUsers(tx, granted, users);
    }
    if (groups.length > 0) await deleteGroups(tx, authorize(permissions, "groups:write"), groups);
    if (gateways.length > 0) await deleteGateways(tx, authorize(permissions, "gateways:write"), gateways);
    if (protocols.length > 0) await deleteProtocols(tx, authorize(permissions, "protocols:write"), protocols);
    if (rules.length > 0) await deleteAdmissionRules(tx, authorize(permissions, "admission-rules:write"), rules);
  }

  /** Whether writing records further changes: deletions change records that the document does not contain. */
  get recordsMore(): boolean {
    return allChanges(this.#toWrite.plan.changes).some(({ action }) => action === "delete");
  }

  /** Providers that become enabled come first: one of them may be the owner's only way in afterwards. */
  async writeProviders(): Promise<void> {
    const { at, by, permissions } = this.#toWrite;
    const { created, updated } = this.#written("identity-provider");
    const deleted = this.#deleted("identity-provider");
    if (created.length + updated.length + deleted.length === 0) return;
    const granted = authorize(permissions, "identity-providers:write");
    for (const change of [...updated].sort((a, b) => Number(b.after.enabled) - Number(a.after.enabled))) {
      const provider = { id: this.#id("identity-provider", change.key), ...change.after };
      await updateConfiguredProvider(this.#tx, granted, { ...provider, reconnects: reconnects(change) }, at);
    }
    for (const id of deleted) await deleteConfiguredProvider(this.#tx, granted, id, { at, by });
    for (const { key, after } of created) {
      await createConfiguredProvider(this.#tx, granted, { id: this.#id("identity-provider", key), ...after }, at);
    }
  }

  async writeTenantSettings(): Promise<void> {
    const { at, permissions } = this.#toWrite;
    const [change] = this.#written("tenant-settings").updated;
    if (change?.action !== "update") return;
    await changeTenantSettings(this.#tx, authorize(permissions, "settings:write"), change, at);
  }

  *recording(): Work<void> {
    const { plan, current } = this.#toWrite;
    const context = entryContext(current);
    for (const change of allChanges(plan.changes)) {
      yield 2 * recordCost;
      const id = change.action === "create" ? this.#id(change.kind, change.key) : change.id;
      this.#tx.record(auditedChange(id, change, context));
    }
  }

  /** Writes records with one statement for each part of them. PostgreSQL writes a part while the next is converted. */
  async #inParts<Item, Stored>(
    items: readonly Item[],
    stored: (item: Item) => Stored,
    write: (part: readonly Stored[]) => Promise<unknown>,
  ): Promise<void> {
    await sendAhead(async (sent) => {
      for (let start = 0; start < items.length; start += writtenAtOnce) {
        const part = items.slice(start, start + writtenAtOnce);
        await sent(write(await this.#toWrite.perform(converted(part, stored))));
      }
    });
  }

  *#addressChanges(written: readonly Written<"resource">[]): Work<readonly AddressChanges[]> {
    const all: AddressChanges[] = [];
    for (const change of written) {
      yield recordCost + change.after.addresses.length * recordCost;
      const id = this.#id("resource", change.key);
      const addressIds = this.#toWrite.current.addressIds.get(id) ?? new Map<string, string>();
      all.push(addressChanges(change, id, addressIds, (name) => this.#id("protocol", name)));
    }
    return all;
  }

  /** Finds the id of a role by its type. */
  async #roleIds(): Promise<(type: RoleType) => string> {
    this.#roleIdsByType ??= await roleIdsByType(this.#tx);
    const ids = this.#roleIdsByType;
    return (type) => existing(ids.get(type), "role", type);
  }

  #written<K extends ConfiguredKind>(
    kind: K,
  ): { readonly created: readonly Written<K>[]; readonly updated: readonly Written<K>[] } {
    const changes = this.#toWrite.plan.changes[kind] as readonly RecordChange<K>[]; // those of this kind
    const written = changes.filter((change): change is Written<K> => change.action !== "delete" && !change.implied);
    return {
      created: written.filter(({ action }) => action === "create"),
      updated: written.filter(({ action }) => action === "update"),
    };
  }

  #deleted(kind: ConfiguredKind): readonly string[] {
    const changes: readonly RecordChange<ConfiguredKind>[] = this.#toWrite.plan.changes[kind];
    return changes.flatMap((change) => (change.action === "delete" ? [change.id] : []));
  }

  #id(kind: ConfiguredKind, key: string): string {
    return existing(this.#ids[kind].get(key), kind, key);
  }

  #namedId(list: (typeof policyLists)[number], key: string): string {
    switch (list) {
      case "groups":
        return this.#id("group", key);
      case "users":
        return this.#id("user", key);
      case "devices":
        return existing(this.#toWrite.devices.get(key), "device", key);
      case "resources":
        return this.#id("resource", key);
      case "gateways":
        return this.#id("gateway", key);
    }
  }
}

function* converted<Item, Stored>(items: readonly Item[], stored: (item: Item) => Stored): Work<readonly Stored[]> {
  const all: Stored[] = [];
  for (const item of items) {
    yield writeCost;
    all.push(stored(item));
  }
  return all;
}

function existing(id: string | undefined, kind: string, key: string): string {
  if (id === undefined) throw new Error(`the plan refers to the ${kind} ${key}, which does not exist`);
  return id;
}
