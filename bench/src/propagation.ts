/**
 * How long a change takes to reach a thousand gateways, from the API's answer to the last acknowledgement; and how long five thousand take to
 * come back at once.
 *
 *     npm run bench:propagation [-- --quick] [-- --gateways=1000] [-- --devices=5000]
 */
import { createHash } from "node:crypto";
import { cpus } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import type { PolicyFacts, TenantFacts } from "@gatehouse/policy/model/facts";
import { generateToken, tokenPrefixes } from "@gatehouse/server/platform/secrets/tokens";
import pg from "pg";
import { type BenchTenant, makeBenchTenant, type ServerAnnouncement } from "./bench-tenant.ts";
import { type ChildServer, startChild } from "./child-server.ts";
import { seedFacts } from "./seed-facts.ts";
import { SimulatedGateways } from "./simulated-gateways.ts";

const quick = process.argv.includes("--quick");
const rounds = quick ? 5 : 30;
const print = (line: string) => process.stdout.write(`${line}\n`);

interface Shape {
  readonly gateways: number;
  readonly devices: number;
  readonly groups: number;
}

const shapes: readonly Shape[] = [
  { gateways: 1_000, devices: 5_000, groups: 200 },
  { gateways: 1_000, devices: 30_000, groups: 300 },
  { gateways: 5_000, devices: 5_000, groups: 200 },
];

print(`Node ${process.version}, ${cpus().length} cores; all gateways in one process, the server in another`);
for (const shape of shapes) {
  const isWanted = (["gateways", "devices"] as const).every((what) => [0, shape[what]].includes(given(what)));
  if (isWanted) await measure(quick ? { ...shape, gateways: shape.gateways / 5 } : shape);
}

/** @returns 0 where the command says nothing about it */
function given(what: string): number {
  return Number(process.argv.find((text) => text.startsWith(`--${what}=`))?.split("=")[1] ?? 0);
}

async function measure(shape: Shape): Promise<void> {
  const [gatewayCount = "", devices = "", groups = ""] = [shape.gateways, shape.devices, shape.groups].map((count) =>
    count.toLocaleString("en"),
  );
  const name = `${gatewayCount} gateways, ${devices} devices, ${groups} groups`;
  const server = await startChild<ServerAnnouncement>("./server-process.js");
  try {
    const { announcement } = server;
    const tenant = await makeBenchTenant(announcement, name);
    const facts = makeFacts(shape);
    await seedFacts(announcement.database, tenant.id, facts);
    const tokens = facts.gateways.map(({ id }) => ({ id, token: generateToken(tokenPrefixes.gateway) }));
    await armGateways(announcement.database, tenant.id, tokens);
    const gateways = new SimulatedGateways(tokens);
    const beats = setInterval(() => gateways.heartbeat(), 10_000);
    print(`\n${name}`);

    const startedAt = performance.now();
    await gateways.connect(announcement.url);
    while (gateways.holding < shape.gateways) await settle(gateways);
    const first = gateways.take();
    print(
      `first connection: ${seconds(first.lastAcknowledgedAt - startedAt)} until the last of ${first.acknowledged} acknowledged; ${mebibytes(first.bytes)}`,
    );
    await changes(gateways, tenant, "a policy switched off and on", facts.policies, switchPolicy);
    await changes(gateways, tenant, "a user deactivated and reactivated", facts.users, switchUser);

    await reconnect(gateways, announcement.url, "all reconnect at once");
    reportMemory("the server's", server);
    const database = JSON.stringify(announcement.database);
    const restarted = await startChild<ServerAnnouncement>("./server-process.js", database);
    try {
      await reconnect(gateways, restarted.announcement.url, "all reconnect at once, to a server that has just started");
      reportMemory("its", restarted);
    } finally {
      clearInterval(beats);
      gateways.cut();
      await restarted.stop();
    }
  } finally {
    await server.stop();
  }
}

async function reconnect(gateways: SimulatedGateways, url: string, what: string): Promise<void> {
  gateways.cut();
  gateways.take();
  const startedAt = performance.now();
  await gateways.connect(url);
  const welcomed = performance.now() - startedAt;
  await settle(gateways);
  const { wholes, differences, bytes } = gateways.take();
  print(
    `${what}: ${seconds(welcomed)} until the last was welcomed; ${wholes} wholes, ${differences} differences, ${mebibytes(bytes)}`,
  );
}

function reportMemory(whose: string, server: ChildServer<ServerAnnouncement>): void {
  const memory = server.memory();
  if (memory === undefined) return;
  print(`${whose} memory (RSS): ${memory.now.toFixed(0)} MiB now, ${memory.highest.toFixed(0)} at most`);
}

async function changes<Item extends { readonly id: string }>(
  gateways: SimulatedGateways,
  tenant: BenchTenant,
  what: string,
  items: readonly Item[],
  change: (tenant: BenchTenant, item: Item, isOff: boolean) => Promise<void>,
): Promise<void> {
  const lags: number[] = [];
  let concerned = 0;
  let bytes = 0;
  let failures = 0;
  for (let round = 0; round < rounds; round += 1) {
    const item = items[Math.floor(round / 2) % items.length];
    if (item === undefined) throw new Error("there is nothing to change");
    gateways.take();
    await change(tenant, item, round % 2 === 1);
    const answeredAt = performance.now();
    await settle(gateways);
    const figures = gateways.take();
    lags.push(Math.max(0, figures.lastAcknowledgedAt - answeredAt));
    concerned += figures.acknowledged;
    bytes += figures.bytes;
    failures += figures.failures;
    gateways.tidy();
  }
  lags.sort((a, b) => a - b);
  const at = (share: number) => (lags[Math.min(lags.length - 1, Math.floor(share * lags.length))] ?? 0).toFixed(0);
  print(
    `${what}: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms over ${rounds}; ${(concerned / rounds).toFixed(0)} gateways and ${(bytes / rounds / 1024).toFixed(1)} KiB each time; failures ${failures}`,
  );
}

/** Until nothing has come for a while. */
async function settle(gateways: SimulatedGateways): Promise<void> {
  const quietMs = quick ? 500 : 700;
  for (let last = -1; gateways.figures.acknowledged !== last; ) {
    last = gateways.figures.acknowledged;
    await pause(quietMs);
  }
}

async function switchPolicy(tenant: BenchTenant, { id }: PolicyFacts, isOff: boolean): Promise<void> {
  if (isOff) await tenant.call("POST", `/tenants/policies/${id}/reactivate`);
  else await tenant.call("PATCH", `/tenants/policies/${id}/deactivate`);
}

async function switchUser(tenant: BenchTenant, { id }: { readonly id: string }, isOff: boolean): Promise<void> {
  if (isOff) await tenant.call("POST", `/tenants/users/${id}/reactivate`);
  else await tenant.call("PATCH", `/tenants/users/${id}/deactivate`);
}

/** Gives gateways tokens, and devices keys of WireGuard, which facts have none of. */
async function armGateways(
  database: pg.ClientConfig,
  tenantId: string,
  tokens: readonly { readonly id: string; readonly token: string }[],
): Promise<void> {
  const client = new pg.Client(database);
  await client.connect();
  try {
    const hashes = tokens.map(({ id, token }) => ({ id, hash: createHash("sha256").update(token).digest("hex") }));
    await client.query(
      `UPDATE gateways SET token_hash = decode(item.hash, 'hex'), status = 'PENDING'
       FROM json_to_recordset($2) AS item (id uuid, hash text) WHERE tenant_id = $1 AND gateways.id = item.id`,
      [tenantId, JSON.stringify(hashes)],
    );
    await client.query(
      "UPDATE devices SET public_key = encode(sha256(convert_to(id::text, 'UTF8')), 'base64') WHERE tenant_id = $1",
      [tenantId],
    );
  } finally {
    await client.end();
  }
}

/** Each gateway has two resources, each resource five gateways; each policy opens four resources to two groups. */
function makeFacts({ gateways: gatewayCount, devices, groups: groupCount }: Shape): TenantFacts {
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
  const resources = list(Math.ceil((gatewayCount * 2) / 5), (index) => ({
    id: id(),
    name: `Resource ${index}`,
    type: "PRIVATE" as const,
    loadBalancingMode: "MANUAL" as const,
    addresses: [{ address: `10.${index >> 8}.${index & 255}.0/24`, protocols: [] }],
    gateways: list(5, (place) => idOf(gateways, index * 5 + place * (gatewayCount / 5 + 1))),
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
      hardwareId: `hardware-${index}`,
      posture: {},
    })),
    gateways,
    resources,
    rules: [allow],
    policies,
  };
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}

function mebibytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}
