/** All records of a tenant that a configuration covers, read with one statement per kind. */
import { type ConfiguredKind, configurationLimits } from "@gatehouse/contract/records/configuration";
import type { Work } from "@gatehouse/policy/work";
import { AppError } from "../../platform/app-error.ts";
import type { TenantTx } from "../../platform/tenancy/tenant-tx.ts";
import { readAllAdmissionRules } from "../admission-rules/admission-rules.api.ts";
import { readAllGateways } from "../gateways/gateways.api.ts";
import { readAllGroups } from "../groups/groups.api.ts";
import { readAllProviders } from "../identity-providers/identity-providers.api.ts";
import { readAllPolicies } from "../policies/policies.api.ts";
import { readAllProtocols } from "../protocols/protocols.api.ts";
import { readAllResources } from "../resources/resources.api.ts";
import { readTenantSettings, tenantSettingsView } from "../tenant-settings/tenant-settings.api.ts";
import { readAllUsers } from "../users/users.api.ts";
import type { SizesRow } from "./configuration.queries.ts";
import { itemCost, itemsIn, recordCost, smallRecordCost } from "./document/record-costs.ts";
import { byText, emailKey, type SettingsOf, sortedFacts, sortedSet, tenantSettingsName } from "./document/settings.ts";

export interface TenantRecord<K extends ConfiguredKind> {
  readonly id: string;
  readonly settings: SettingsOf[K];
  /** True for the default group, the owner, predefined protocols, built-in rules, the default policy and settings. */
  readonly special: boolean;
  /** The position of a policy in its type; 0 for other records. */
  readonly order: number;
}

/** Records by name; users by email address in lower case. */
export type TenantRecords = { readonly [K in ConfiguredKind]: ReadonlyMap<string, TenantRecord<K>> } & {
  /** The ids of a resource's addresses, by text; by the id of the resource. */
  readonly addressIds: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** The names of the devices that policies list, by public key. */
  readonly deviceNames: ReadonlyMap<string, string>;
  /** The name of the built-in rule ALLOW. */
  readonly allowRule: string;
  /** The names of the identity providers that have passed a test sign-in. */
  readonly testedProviders: ReadonlySet<string>;
  /** The types of admission rules, by name. */
  readonly ruleTypes: ReadonlyMap<string, "ALLOW" | "DENY" | "CUSTOM">;
};

/** @throws AppError configuration_too_large */
export function requireReadable(sizes: SizesRow): void {
  for (const [kind, count] of Object.entries(sizes)) {
    const most =
      kind in configurationLimits ? configurationLimits[kind as keyof typeof configurationLimits] : undefined;
    const limit = most ?? configurationLimits.references;
    if (Number(count) <= limit) continue;
    const what = most === undefined ? "references between records" : kind;
    throw new AppError("configuration_too_large", {
      detail: `The tenant has more ${what} than the ${limit} that a configuration document can hold.`,
    });
  }
}

/** Starts all queries at once. */
export function readTenantRows(tx: TenantTx) {
  return Promise.all([
    readAllGroups(tx),
    readAllUsers(tx),
    readAllProtocols(tx),
    readAllGateways(tx),
    readAllResources(tx),
    readAllAdmissionRules(tx),
    readAllPolicies(tx),
    readTenantSettings(tx).then((row) => (row === undefined ? [] : [{ id: tx.tenantId, row }])),
    readAllProviders(tx),
  ]);
}

/** The rows of all records, one list per kind. */
export type TenantRows = Awaited<ReturnType<typeof readTenantRows>>;

export function* tenantRecordsOf(rows: TenantRows): Work<TenantRecords> {
  const [groups, users, protocols, gateways, resources, rules, policies, tenantSettings, providers] = rows;
  yield policies.length * smallRecordCost;
  const deviceNames = new Map<string, string>();
  for (const { devices } of policies) for (const { publicKey, name } of devices) deviceNames.set(publicKey, name);
  return {
    group: yield* byName(groups, ({ id, isDefault, ...group }) => ({
      id,
      special: isDefault,
      settings: { ...group, roles: sortedSet(group.roles) },
    })),
    user: yield* byName(users, ({ id, isOwner, ...user }) => ({
      id,
      special: isOwner,
      settings: {
        ...user,
        groups: sortedSet(user.groups),
        roles: sortedSet(user.roles.filter((role) => role !== "OWNER")),
        attributes: sortedFacts(user.attributes),
      },
    })),
    protocol: yield* byName(protocols, ({ id, type, ...protocol }) => ({
      id,
      special: type !== "CUSTOM",
      settings: protocol,
    })),
    gateway: yield* byName(gateways, ({ id, ...gateway }) => ({ id, special: false, settings: gateway })),
    resource: yield* byName(resources, ({ id, addresses, ...resource }) => ({
      id,
      special: false,
      settings: {
        ...resource,
        addresses: addresses
          .map(({ address, protocols: used, answersWithin }) => ({
            address,
            protocols: used,
            ...(answersWithin === null ? {} : { answersWithin }),
          }))
          .sort((a, b) => byText(a.address, b.address)),
      },
    })),
    "admission-rule": yield* byName(rules, ({ id, type, rule, ...rest }) => ({
      id,
      special: type !== "CUSTOM",
      settings: { ...rest, rule: rule ?? "" },
    })),
    policy: yield* byName(
      policies,
      ({ id, isDefault, order, groups: of, users: people, devices, resources: what, ...rest }) => ({
        id,
        special: isDefault,
        order,
        settings: {
          ...rest,
          groups: sortedSet(of),
          users: sortedSet(people.map(emailKey)),
          devices: sortedSet(devices.map(({ publicKey }) => publicKey)),
          resources: sortedSet(what),
        },
      }),
    ),
    addressIds: yield* addressIdsOf(resources),
    "identity-provider": yield* byName(providers, ({ id, tested: _, ...provider }) => ({
      id,
      special: false,
      settings: { ...provider, scopes: sortedSet(provider.scopes) },
    })),
    "tenant-settings": yield* byName(tenantSettings, ({ id, row }) => ({
      id,
      special: true,
      settings: { name: tenantSettingsName, ...tenantSettingsView(row) },
    })),
    deviceNames,
    allowRule: rules.find(({ type }) => type === "ALLOW")?.name ?? "",
    testedProviders: new Set(providers.filter(({ tested }) => tested).map(({ name }) => name)),
    ruleTypes: new Map(rules.map(({ name, type }) => [name, type])),
  };
}

function* addressIdsOf(resources: TenantRows[4]): Work<TenantRecords["addressIds"]> {
  const ids = new Map<string, ReadonlyMap<string, string>>();
  for (const { id, addresses } of resources) {
    yield smallRecordCost + addresses.length * itemCost;
    ids.set(id, new Map(addresses.map((address) => [address.address, address.id])));
  }
  return ids;
}

type Found<K extends ConfiguredKind> = Omit<TenantRecord<K>, "order"> & { readonly order?: number };

function* byName<K extends ConfiguredKind, Row extends object>(
  rows: readonly Row[],
  recordOf: (row: Row) => Found<K>,
): Work<ReadonlyMap<string, TenantRecord<K>>> {
  const records = new Map<string, TenantRecord<K>>();
  for (const row of rows) {
    yield recordCost + itemsIn(row) * itemCost;
    const record = { order: 0, ...recordOf(row) };
    records.set(keyOf(record.settings), record);
  }
  return records;
}

/** The key of a record in documents. */
export function keyOf(settings: SettingsOf[ConfiguredKind]): string {
  return "email" in settings ? emailKey(settings.email) : settings.name;
}
