/** A tenant whose gateways and devices can be connected. */
import type { PolicyFacts, TenantFacts } from "@gatehouse/policy/model/facts";
import { tokenContext } from "@gatehouse/server/features/gateways/gateways.view";
import { createSecretBox } from "@gatehouse/server/platform/secrets/master-key";
import { generateToken, hashToken, tokenPrefixes } from "@gatehouse/server/platform/secrets/tokens";
import pg from "pg";
import { benchMasterKey } from "./master-key.ts";

export interface LinkedShape {
  readonly gateways: number;
  readonly devices: number;
  readonly groups: number;
  readonly resources: number;
  readonly gatewaysOfEach: number;
}

/** Each user has one device and belongs to two groups. Each policy gives two groups access to four resources. */
export function linkedFacts(shape: LinkedShape): TenantFacts {
  const { gateways: gatewayCount, devices, groups: groupCount, gatewaysOfEach } = shape;
  let count = 0;
  const id = () => {
    count += 1;
    const digits = count.toString(16).padStart(12, "0");
    return `${digits.slice(0, 8)}-${digits.slice(8)}-7000-8000-${digits}`;
  };
  const list = <Item>(length: number, make: (index: number) => Item) =>
    Array.from({ length }, (_, index) => make(index));
  const groups = list(groupCount, (index) => ({ id: id(), name: `Group ${index}` }));
  const gateways = list(gatewayCount, (index) => ({
    id: id(),
    name: `Gateway ${index}`,
    status: "ONLINE" as const,
    load: null,
    roundTripTimeMs: null,
  }));
  const idOf = (items: readonly { readonly id: string }[], index: number) => items[index % items.length]?.id ?? "";
  const users = list(devices, (index) => ({
    id: id(),
    email: `user-${index}@example.com`,
    firstName: "First",
    lastName: "Last",
    status: "active" as const,
    groups: [...new Set([idOf(groups, index), idOf(groups, index * 7 + 3)])],
    attributes: {},
  }));
  const resources = list(shape.resources, (index) => ({
    id: id(),
    name: `Resource ${index}`,
    type: "PRIVATE" as const,
    loadBalancingMode: "MANUAL" as const,
    addresses: [{ address: `10.${index >> 8}.${index & 255}.0/24`, protocols: [] }],
    gateways: list(gatewaysOfEach, (place) =>
      idOf(gateways, index * gatewaysOfEach + place * (Math.floor(gatewayCount / gatewaysOfEach) + 1)),
    ),
  }));
  const allow = { id: id(), name: "Allow", type: "ALLOW" as const, text: null };
  const policy = (name: string, fields: Partial<PolicyFacts>): PolicyFacts => ({
    id: id(),
    name,
    type: "PRIVATE",
    isDefault: false,
    active: true,
    action: true,
    mode: null,
    allGroups: false,
    allUsers: false,
    allDevices: false,
    allResources: false,
    groups: [],
    users: [],
    devices: [],
    resources: [],
    gateways: [],
    sourceIps: [],
    rule: allow.id,
    ...fields,
  });
  const policies = list(groupCount, (index) =>
    policy(`Policy ${index}`, {
      groups: [idOf(groups, index), idOf(groups, index + 1)],
      resources: list(4, (place) => idOf(resources, index * 2 + place)),
    }),
  );
  return {
    users,
    groups,
    devices: users.map((user, index) => ({
      id: id(),
      userId: user.id,
      active: true,
      name: `Device ${index}`,
      os: "Linux",
      osVersion: "1",
      appVersion: "1.0.0",
      tags: [],
      agent: true,
      hardwareId: `hardware-${index}`,
      posture: {},
    })),
    gateways,
    resources,
    rules: [allow],
    policies,
  };
}

/** An agent's record and its token. */
export interface Tokened {
  readonly id: string;
  readonly token: string;
}

/** Gives gateways tokens and endpoints, and gives devices WireGuard keys. Facts contain none of these. */
export async function armGateways(
  database: pg.ClientConfig,
  tenantId: string,
  gateways: readonly { readonly id: string }[],
): Promise<readonly Tokened[]> {
  const box = createSecretBox(benchMasterKey, "gateway-token");
  const tokened = gateways.map(({ id }) => ({ id, token: generateToken(tokenPrefixes.gateway) }));
  const items = tokened.map(({ id, token }) => ({
    id,
    hash: hashToken(token).toString("hex"),
    sealed: box.seal(token, tokenContext(tenantId, id)).toString("hex"),
  }));
  await inDatabase(database, async (client) => {
    await client.query(
      `UPDATE gateways SET token_hash = decode(item.hash, 'hex'), token_ciphertext = decode(item.sealed, 'hex'),
                           status = 'PENDING', endpoint = '198.51.100.1'
       FROM json_to_recordset($2) AS item (id uuid, hash text, sealed text) WHERE tenant_id = $1 AND gateways.id = item.id`,
      [tenantId, JSON.stringify(items)],
    );
    await client.query(
      "UPDATE devices SET public_key = encode(set_byte(sha256(convert_to(id::text, 'UTF8')), 31, 0), 'base64') WHERE tenant_id = $1",
      [tenantId],
    );
  });
  return tokened;
}

/** Gives devices tokens. */
export async function armDevices(
  database: pg.ClientConfig,
  tenantId: string,
  devices: readonly { readonly id: string }[],
): Promise<readonly Tokened[]> {
  const tokened = devices.map(({ id }) => ({ id, token: generateToken(tokenPrefixes.device) }));
  const items = tokened.map(({ id, token }) => ({ id, hash: hashToken(token).toString("hex") }));
  await inDatabase(database, (client) =>
    client.query(
      `INSERT INTO device_tokens (tenant_id, device_id, token_hash, created_at)
       SELECT $1, item.id, decode(item.hash, 'hex'), now() FROM json_to_recordset($2) AS item (id uuid, hash text)`,
      [tenantId, JSON.stringify(items)],
    ),
  );
  return tokened;
}

async function inDatabase(database: pg.ClientConfig, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client(database);
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
