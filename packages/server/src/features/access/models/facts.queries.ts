import type { PolicyType } from "@gatehouse/contract/records/policy";
import type {
  DeviceFacts,
  GatewayFacts,
  GroupFacts,
  PolicyFacts,
  ResourceFacts,
  RuleFacts,
  UserFacts,
} from "@gatehouse/policy/model/facts";
import type { Transaction } from "../../../platform/db/database.ts";
import { type Statement, statement } from "../../../platform/db/statement.ts";
import { readGeneration } from "../../../platform/tenancy/generation.queries.ts";
import type { TenantTx } from "../../../platform/tenancy/tenant-tx.ts";
import { deviceSessionEnd, deviceSessionFacts } from "../../devices/devices.api.ts";
import { changedIds, isAmong } from "./changed-ids.ts";
import { readAllResources, readChangedResources, readNamedResources } from "./resource-facts.queries.ts";

/** The outbox entries of one command. */
export interface ChangeEntry {
  readonly generation: number;
  readonly changes: readonly { readonly type: string; readonly id: string; readonly change: string }[];
}

/** Rows of every kind of fact: all rows of the tenant, or the changed ones. */
export interface FactRows {
  readonly users: readonly UserFacts[];
  readonly groups: readonly GroupFacts[];
  readonly devices: readonly DeviceFacts[];
  readonly gateways: readonly GatewayFacts[];
  readonly resources: readonly ResourceFacts[];
  readonly rules: readonly RuleFacts[];
  readonly policies: readonly PolicyFacts[];
}

/** The kinds that are read without protocols. */
type PlainKind = Exclude<keyof FactRows, "resources">;

/** The position of a policy within its type. */
export interface PolicyPosition {
  readonly id: string;
  readonly type: PolicyType;
}

const texts = (select: string) => `ARRAY(${select})::text[]`;

const selections = {
  users: `SELECT item.id, item.email, item.first_name AS "firstName", item.last_name AS "lastName", item.status,
      item.attributes,
      ${texts(`SELECT member.group_id FROM group_members AS member
        WHERE member.tenant_id = item.tenant_id AND member.user_id = item.id ORDER BY member.group_id`)} AS groups
    FROM users AS item`,
  groups: "SELECT item.id, item.name FROM groups AS item",
  devices: `SELECT item.id, item.user_id AS "userId", item.active, item.name, item.os, item.os_version AS "osVersion",
      item.app_version AS "appVersion", item.hardware_id AS "hardwareId",
      to_json(item.tags) AS tags, item.agent, coalesce(item.posture, '{}') AS posture,
      ${deviceSessionFacts("item")} AS session,
      (extract(epoch FROM ${deviceSessionEnd("item")}) * 1000)::float8 AS "sessionEndsAt"
    FROM devices AS item`,
  gateways: `SELECT item.id, item.name, item.status, link.load, link.round_trip_time_ms AS "roundTripTimeMs"
    FROM gateways AS item
    LEFT JOIN gateway_links AS link ON link.tenant_id = item.tenant_id AND link.gateway_id = item.id`,
  rules: "SELECT item.id, item.name, item.type, item.rule AS text FROM admission_rules AS item",
  policies: `SELECT item.id, item.name, item.type, item.is_default AS "isDefault", item.active, item.action, item.mode,
      item.all_groups AS "allGroups", item.all_users AS "allUsers", item.all_devices AS "allDevices",
      item.all_resources AS "allResources", item.source_ips AS "sourceIps", item.rule_id AS rule,
      ${(["group", "user", "device", "resource"] as const).map((noun) => namedBy(noun, `named.${noun}_id`)).join(",\n      ")},
      ${namedBy("gateway", "named.position")}
    FROM policies AS item`,
} as const satisfies Record<PlainKind, string>;

function namedBy(noun: string, order: string): string {
  return `${texts(`SELECT named.${noun}_id FROM policy_${noun}s AS named
        WHERE named.tenant_id = item.tenant_id AND named.policy_id = item.id ORDER BY ${order}`)} AS ${noun}s`;
}

/** Only policies have an order, the order of evaluation. */
const orders: Partial<Record<PlainKind, string>> & { readonly policies: string } = {
  policies: 'ORDER BY item.type, item."order"',
};

/** SQL for the rows of each kind that may have changed since a generation. */
const changedRows: Readonly<Record<PlainKind, string>> = {
  users: isAmong("item.id", changedIds("user")),
  groups: isAmong("item.id", changedIds("group")),
  // The ends of sessions depend on the user's groups and on their lifetimes. A group that never had one limits nothing.
  devices: isAmong(
    "item.id",
    `${changedIds("device")} UNION ALL
      SELECT owned.id FROM devices AS owned WHERE owned.tenant_id = $1 AND ${isAmong(
        "owned.user_id",
        `${changedIds("user")} UNION ALL
          SELECT joined.user_id FROM group_members AS joined
          JOIN groups AS limiting ON limiting.tenant_id = joined.tenant_id AND limiting.id = joined.group_id
          WHERE joined.tenant_id = $1 AND limiting.device_sessions_since IS NOT NULL
            AND ${isAmong("limiting.id", changedIds("group"))}`,
      )}`,
  ),
  gateways: isAmong("item.id", changedIds("gateway")),
  rules: isAmong("item.id", changedIds("admission-rule")),
  policies: isAmong("item.id", changedIds("policy")),
};

type Selections<Parameters extends readonly unknown[]> = {
  readonly [Kind in PlainKind]: Statement<FactRows[Kind][number], Parameters>;
};

function statements<Parameters extends readonly unknown[]>(
  name: string,
  condition: (kind: PlainKind) => string,
): Selections<Parameters> {
  const kinds = Object.keys(selections) as PlainKind[]; // its own keys
  return Object.fromEntries(
    kinds.map((kind) => [
      kind,
      statement(
        `access.${name}_${kind}`,
        `${selections[kind]} WHERE item.tenant_id = $1${condition(kind)} ${orders[kind] ?? ""}`,
      ),
    ]),
  ) as Selections<Parameters>; // one query for each kind, in the order of the kinds
}

const selectAll = statements<[tenantId: string]>("all", () => "");
const selectChanged = statements<[tenantId: string, since: number]>("changed", (kind) => ` AND ${changedRows[kind]}`);

/** The kinds that are read in pages of rows. Policies have an order, and PostgreSQL packs users and devices. */
const pagedKinds = ["groups", "gateways", "rules"] as const;
export type PagedKind = (typeof pagedKinds)[number];

type PageStatement = Statement<FactRows[PagedKind][number], [tenantId: string, afterId: string]>;
const knownPages = new Map<number, Readonly<Record<PagedKind, PageStatement>>>();

/**
 * The statements that read a page of each kind after an id. Their text contains the page size, so that PostgreSQL plans
 * for it.
 */
export function pageStatements(pageSize: number): Readonly<Record<PagedKind, PageStatement>> {
  const known = knownPages.get(pageSize);
  if (known !== undefined) return known;
  const made = Object.fromEntries(
    pagedKinds.map((kind) => [
      kind,
      statement(
        `access.page_of_${pageSize}_${kind}`,
        `${selections[kind]} WHERE item.tenant_id = $1 AND item.id > $2 ORDER BY item.id LIMIT ${Math.floor(pageSize)}`,
      ),
    ]),
  ) as unknown as Readonly<Record<PagedKind, PageStatement>>; // one for each kind
  knownPages.set(pageSize, made);
  return made;
}

const selectPolicyIds = statement<{ readonly id: string }, [tenantId: string]>(
  "access.policy_ids",
  `SELECT item.id FROM policies AS item WHERE item.tenant_id = $1 ${orders.policies}`,
);

/** The ids of all policies, in order. */
export async function readPolicyIds(tx: TenantTx): Promise<readonly string[]> {
  return (await tx.query(selectPolicyIds, tx.tenantId)).map(({ id }) => id);
}

const selectNamed = statements<[tenantId: string, ids: readonly string[]]>(
  "named",
  () => " AND item.id = ANY($2::uuid[])",
);

const selectDevicesOfUsers = statement<
  DeviceFacts,
  [tenantId: string, ids: readonly string[], users: readonly string[]]
>(
  "access.named_devices_of_users",
  `${selections.devices} WHERE item.tenant_id = $1 AND (item.id = ANY($2::uuid[]) OR item.user_id = ANY($3::uuid[]))`,
);

const selectEntries = statement<ChangeEntry, [tenantId: string, since: number]>(
  "access.outbox_entries",
  "SELECT generation, changes FROM outbox WHERE tenant_id = $1 AND generation > $2 ORDER BY generation",
);

/** The policies of the types in which any policy changed. */
const selectOrder = statement<PolicyPosition, [tenantId: string, since: number]>(
  "access.policy_order",
  `SELECT id, type FROM policies WHERE tenant_id = $1 AND type = ANY (ARRAY(
     SELECT item.type FROM policies AS item WHERE item.tenant_id = $1 AND ${isAmong("item.id", changedIds("policy"))}
   )) ORDER BY type, "order"`,
);

/** The order of all policies whose type some of the policies have. */
const selectOrderBeside = statement<PolicyPosition, [tenantId: string, ids: readonly string[]]>(
  "access.policy_order_beside",
  `SELECT id, type FROM policies WHERE tenant_id = $1 AND type IN (
     SELECT item.type FROM policies AS item WHERE item.tenant_id = $1 AND item.id = ANY($2::uuid[])
   ) ORDER BY type, "order"`,
);

/** All facts, with their generation; undefined after the tenant was deleted. */
export async function readAllFacts(
  tx: TenantTx,
): Promise<{ readonly generation: number | undefined; readonly facts: FactRows }> {
  const rowsOf = <Row>(select: Statement<Row, [tenantId: string]>) => tx.query(select, tx.tenantId);
  const { users, groups, devices, gateways, rules, policies } = selectAll;
  const [generation, ...rows] = await Promise.all([
    readGeneration(tx),
    rowsOf(users),
    rowsOf(groups),
    rowsOf(devices),
    rowsOf(gateways),
    readAllResources(tx),
    rowsOf(rules),
    rowsOf(policies),
  ]);
  return { generation, facts: factRows(rows) };
}

const devicesAtOnce = 2_000;
const selectDevicesAfter = statement<DeviceFacts, [tenantId: string, afterId: string | null]>(
  "access.devices_after",
  `${selections.devices} WHERE item.tenant_id = $1 AND ($2::uuid IS NULL OR item.id > $2)
   ORDER BY item.id LIMIT ${devicesAtOnce}`,
);

/** The facts about all devices of the tenant, read in pages. */
export async function readDeviceFacts(tx: TenantTx): Promise<readonly DeviceFacts[]> {
  const devices: DeviceFacts[] = [];
  for (;;) {
    const page = await tx.query(selectDevicesAfter, tx.tenantId, devices.at(-1)?.id ?? null);
    for (const device of page) devices.push(device);
    if (page.length < devicesAtOnce) return devices;
  }
}

/** The facts about all gateways of the tenant. */
export function readGatewayFacts(tx: TenantTx): Promise<readonly GatewayFacts[]> {
  return tx.query(selectAll.gateways, tx.tenantId);
}

/** Changes since a generation. */
export interface ChangedFacts {
  readonly generation: number | undefined;
  readonly entries: readonly ChangeEntry[];
  /** The changed records that still exist. */
  readonly facts: FactRows;
  readonly positions: readonly PolicyPosition[];
  /** Whether resources are missing, because a snapshot cannot read all of them. */
  readonly isCut: boolean;
}

/**
 * @param since a generation of the tenant
 * @param isSnapshot whether all queries must be sent at once
 */
export async function readChangedFacts(tx: TenantTx, since: number, isSnapshot = false): Promise<ChangedFacts> {
  const rowsOf = <Row>(select: Statement<Row, [tenantId: string, since: number]>) =>
    tx.query(select, tx.tenantId, since);
  const { users, groups, devices, gateways, rules, policies } = selectChanged;
  const [generation, entries, positions, ...rows] = await Promise.all([
    readGeneration(tx),
    rowsOf(selectEntries),
    rowsOf(selectOrder),
    rowsOf(users),
    rowsOf(groups),
    rowsOf(devices),
    rowsOf(gateways),
    readChangedResources(tx, since, isSnapshot),
    rowsOf(rules),
    rowsOf(policies),
  ]);
  const [changedUsers, changedGroups, changedDevices, changedGateways, resources, changedRules, changedPolicies] = rows;
  const facts: FactRows = {
    users: changedUsers,
    groups: changedGroups,
    devices: changedDevices,
    gateways: changedGateways,
    resources: resources ?? [],
    rules: changedRules,
    policies: changedPolicies,
  };
  return { generation, entries, positions, facts, isCut: resources === undefined };
}

/** Ids of records by kind of fact. */
export type NamedFacts = { readonly [Kind in keyof FactRows]: readonly string[] };

/**
 * The facts of the records that exist. Starts all queries at once.
 *
 * @param owners users whose devices are read too
 */
export async function readNamedFacts(
  tx: TenantTx,
  named: NamedFacts,
  owners: readonly string[] = [],
): Promise<FactRows> {
  const rowsOf = <Row>(select: Statement<Row, [tenantId: string, ids: readonly string[]]>, ids: readonly string[]) =>
    ids.length === 0 ? [] : tx.query(select, tx.tenantId, ids);
  const { users, groups, devices, gateways, rules, policies } = selectNamed;
  return factRows(
    await Promise.all([
      rowsOf(users, named.users),
      rowsOf(groups, named.groups),
      owners.length === 0
        ? rowsOf(devices, named.devices)
        : tx.query(selectDevicesOfUsers, tx.tenantId, named.devices, owners),
      rowsOf(gateways, named.gateways),
      readNamedResources(tx, named.resources),
      rowsOf(rules, named.rules),
      rowsOf(policies, named.policies),
    ]),
  );
}

/** All policies of the types that these policies have, in order. Empty if these policies do not exist. */
export async function readPolicyOrder(tx: TenantTx, ids: readonly string[]): Promise<readonly PolicyPosition[]> {
  return ids.length === 0 ? [] : tx.query(selectOrderBeside, tx.tenantId, ids);
}

function factRows([users, groups, devices, gateways, resources, rules, policies]: readonly [
  readonly UserFacts[],
  readonly GroupFacts[],
  readonly DeviceFacts[],
  readonly GatewayFacts[],
  readonly ResourceFacts[],
  readonly RuleFacts[],
  readonly PolicyFacts[],
]): FactRows {
  return { users, groups, devices, gateways, resources, rules, policies };
}

/** The load of a gateway by its last heartbeat; null if it did not report one. */
export interface GatewayLoad {
  readonly tenantId: string;
  readonly gatewayId: string;
  readonly load: number | null;
  readonly roundTripTimeMs: number | null;
}

const selectLoads = statement<GatewayLoad, [tenantIds: readonly string[]]>(
  "access.gateway_loads",
  `SELECT tenant_id AS "tenantId", gateway_id AS "gatewayId", load, round_trip_time_ms AS "roundTripTimeMs"
   FROM gateway_links WHERE tenant_id = ANY ($1::uuid[])`,
);

/** The loads of all gateways of the tenants that were ever connected. */
export function readGatewayLoads(tx: Transaction, tenantIds: readonly string[]): Promise<GatewayLoad[]> {
  return tx.query(selectLoads, tenantIds);
}
