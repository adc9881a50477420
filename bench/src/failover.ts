/**
 * Measures how long thousands of devices take to switch gateways when theirs leaves service, from the API's response to
 * the last acknowledgement.
 *
 *     npm run bench:failover [-- --quick]
 */
import { cpus } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { type BenchTenant, makeBenchTenant, type ServerAnnouncement } from "./bench-tenant.ts";
import { startChild } from "./child-server.ts";
import { armDevices, armGateways, linkedFacts } from "./linked-tenant.ts";
import { seedFacts } from "./seed-facts.ts";
import { SimulatedDevices } from "./simulated-devices.ts";
import { SimulatedGateways } from "./simulated-gateways.ts";

const quick = process.argv.includes("--quick");
const shape = { gateways: 10, devices: quick ? 500 : 5_000, groups: 200, resources: 1_000, gatewaysOfEach: 3 };
const rounds = quick ? 1 : 3;
const print = (line: string) => process.stdout.write(`${line}\n`);

print(
  `Node ${process.version}, ${cpus().length} cores; ${shape.devices} devices and ${shape.gateways} gateways in one process, the server in another`,
);
const server = await startChild<ServerAnnouncement>("./server-process.js");
try {
  const { announcement } = server;
  const tenant = await makeBenchTenant(announcement, "Failover");
  const facts = linkedFacts(shape);
  await seedFacts(announcement.database, tenant.id, facts);
  const gateways = new SimulatedGateways(await armGateways(announcement.database, tenant.id, facts.gateways));
  const devices = new SimulatedDevices(await armDevices(announcement.database, tenant.id, facts.devices));
  const beats = setInterval(() => {
    gateways.heartbeat();
    devices.heartbeat();
  }, 10_000);
  await gateways.connect(announcement.url);
  const startedAt = performance.now();
  await devices.connect(announcement.url);
  const welcomed = performance.now() - startedAt;
  while (devices.holding < shape.devices) await pause(100);
  const first = devices.take();
  print(
    `all devices connect at once: ${seconds(welcomed)} until the last is welcomed, ${seconds(first.lastAcknowledgedAt - startedAt)} until the last has its configuration`,
  );
  for (const { id } of facts.gateways.slice(0, rounds)) {
    const concerned = devices.through(id);
    await changed(tenant, devices, "enter-maintenance", id, () => devices.through(id) === 0);
    await changed(tenant, devices, "exit-maintenance", id, () => devices.through(id) === concerned);
  }
  const memory = server.memory();
  if (memory !== undefined) print(`the server's memory (RSS): ${memory.highest.toFixed(0)} MiB at most`);
  clearInterval(beats);
  devices.cut();
  gateways.cut();
} finally {
  await server.stop();
}

/** @param isDone whether each device uses the intended gateway */
async function changed(
  tenant: BenchTenant,
  devices: SimulatedDevices,
  what: "enter-maintenance" | "exit-maintenance",
  id: string,
  isDone: () => boolean,
): Promise<void> {
  devices.take();
  await tenant.call("POST", `/tenants/gateways/${id}/${what}`);
  const answeredAt = performance.now();
  while (!isDone()) await pause(10);
  await pause(500);
  const { acknowledged, failures, lastAcknowledgedAt, bytes } = devices.take();
  print(
    `${what}: ${seconds(Math.max(0, lastAcknowledgedAt - answeredAt))} until the last of ${acknowledged} devices; ${(bytes / 1024 / 1024).toFixed(1)} MiB, failures ${failures}`,
  );
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}
