/**
 * Measures how long a change takes to reach a thousand gateways, from the API's response to the last acknowledgement.
 * It also measures how long five thousand take to reconnect at once.
 *
 *     npm run bench:propagation [-- --quick] [-- --gateways=1000] [-- --devices=5000] [-- --profile=FOLDER]
 *
 * `--profile` writes a CPU profile of the server during the first connection.
 */
import { writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { PolicyFacts } from "@gatehouse/policy/model/facts";
import { type BenchTenant, makeBenchTenant, type ServerAnnouncement } from "./bench-tenant.ts";
import { type ChildServer, startChild } from "./child-server.ts";
import { armGateways, linkedFacts } from "./linked-tenant.ts";
import { seedFacts } from "./seed-facts.ts";
import { SimulatedGateways } from "./simulated-gateways.ts";
import { reportTarget } from "./targets.ts";

const quick = process.argv.includes("--quick");
const profileFolder = process.argv.find((text) => text.startsWith("--profile="))?.split("=")[1];
const rounds = quick ? 5 : 30;
const firstConnectionTargetMs = 8_000;
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

/** @returns 0 if the command line does not set the option */
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
    const facts = linkedFacts({ ...shape, resources: Math.ceil((shape.gateways * 2) / 5), gatewaysOfEach: 5 });
    await seedFacts(announcement.database, tenant.id, facts);
    const gateways = new SimulatedGateways(await armGateways(announcement.database, tenant.id, facts.gateways));
    const beats = setInterval(() => gateways.heartbeat(), 10_000);
    print(`\n${name}`);

    if (profileFolder !== undefined) await fetch(`${announcement.blocks}/profile/start`);
    const [cpuBefore, serverBefore] = [process.cpuUsage(), server.processorSeconds()];
    const startedAt = performance.now();
    await gateways.connect(announcement.url);
    while (gateways.holding < shape.gateways) await settle(gateways);
    const first = gateways.take();
    print(
      `first connection: ${seconds(first.lastAcknowledgedAt - startedAt)} until the last of ${first.acknowledged} acknowledged; ${mebibytes(first.bytes)}`,
    );
    const cpu = server.processorSeconds();
    const { user, system } = process.cpuUsage(cpuBefore);
    if (cpu !== undefined && serverBefore !== undefined) {
      print(
        `  processor time: server ${(cpu - serverBefore).toFixed(1)} s, simulator ${((user + system) / 1e6).toFixed(1)} s`,
      );
    }
    if (profileFolder !== undefined) {
      const profile = await (await fetch(`${announcement.blocks}/profile/stop`)).text();
      await writeFile(path.join(profileFolder, `first-connection-${shape.devices}.cpuprofile`), profile);
    }
    const firstMs = first.lastAcknowledgedAt - startedAt;
    reportTarget({
      name: `first connection of ${gatewayCount} gateways, ${devices} devices`,
      figure: seconds(firstMs),
      target: `≤ ${firstConnectionTargetMs / 1_000} s`,
      isReached: firstMs <= firstConnectionTargetMs,
    });
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

/** Waits until nothing has arrived for a while. */
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

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}

function mebibytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}
