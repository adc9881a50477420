/**
 * Measures what the end of many device sessions in the same minute costs the control plane: when the last device loses
 * its routes, and how much the server computes and sends.
 *
 *     npm run bench:device-sessions [-- --quick]
 */
import { cpus } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { makeBenchTenant, type ServerAnnouncement } from "./bench-tenant.ts";
import { startChild } from "./child-server.ts";
import { armDevices, armGateways, linkedFacts } from "./linked-tenant.ts";
import { seedFacts } from "./seed-facts.ts";
import { SimulatedDevices } from "./simulated-devices.ts";
import { SimulatedGateways } from "./simulated-gateways.ts";

const quick = process.argv.includes("--quick");
const shape = { gateways: 10, devices: quick ? 100 : 1_000, groups: 200, resources: 1_000, gatewaysOfEach: 3 };
const lifetimeS = 900;
/** The sessions end at different seconds of this time. */
const minuteS = quick ? 10 : 60;
/** Until the first session ends, all agents connect. */
const headStartS = quick ? 20 : 45;
const print = (line: string) => process.stdout.write(`${line}\n`);

print(
  `Node ${process.version}, ${cpus().length} cores; the sessions of ${shape.devices} devices end within ${minuteS} s`,
);
const server = await startChild<ServerAnnouncement>("./server-process.js");
const client = new pg.Client(server.announcement.database);
try {
  const { announcement } = server;
  const tenant = await makeBenchTenant(announcement, "Device sessions");
  const facts = linkedFacts(shape);
  await seedFacts(announcement.database, tenant.id, facts);
  const gateways = new SimulatedGateways(await armGateways(announcement.database, tenant.id, facts.gateways));
  const devices = new SimulatedDevices(await armDevices(announcement.database, tenant.id, facts.devices));
  await client.connect();
  await client.query(
    `INSERT INTO device_sessions (tenant_id, device_id, signed_in_at, authenticated_at)
     SELECT tenant_id, id, begun, begun FROM (
       SELECT tenant_id, id, now() + interval '1 second' * ($2::int - $3::int + floor(random() * $4)) AS begun
       FROM devices WHERE tenant_id = $1) AS item`,
    [tenant.id, headStartS, lifetimeS, minuteS],
  );
  // Nothing has read the tenant yet.
  await client.query(
    `UPDATE tenant_settings SET device_session_lifetime = $2, device_sessions_since = now() - interval '1 day'
     WHERE tenant_id = $1`,
    [tenant.id, lifetimeS],
  );
  const endsAt = Date.now() + (headStartS + minuteS) * 1_000;
  const beats = setInterval(() => {
    gateways.heartbeat();
    devices.heartbeat();
  }, 10_000);
  await gateways.connect(announcement.url);
  await devices.connect(announcement.url);
  while (devices.holding < shape.devices) await pause(100);
  const through = () => facts.gateways.reduce((sum, { id }) => sum + devices.through(id), 0);
  print(
    `${shape.devices} devices have ${through()} gateways together, ${Math.round((endsAt - Date.now()) / 1000)} s before the end`,
  );
  devices.take();
  gateways.take();
  const before = server.processorSeconds() ?? Number.NaN;
  while (through() > 0) {
    if (Date.now() > endsAt + 60_000) throw new Error(`${through()} routes remain a minute after the last session`);
    await pause(20);
  }
  const late = Date.now() - endsAt;
  await pause(1_000);
  const [ofDevices, ofGateways] = [devices.take(), gateways.take()];
  print(`the last device has lost its routes ${(late / 1_000).toFixed(2)} s after the last session ended`);
  print(
    `devices: ${ofDevices.acknowledged} configurations, ${(ofDevices.bytes / 1024).toFixed(0)} KiB; gateways: ${ofGateways.wholes} whole configurations and ${ofGateways.differences} differences, ${(ofGateways.bytes / 1024).toFixed(0)} KiB; failures ${ofDevices.failures + ofGateways.failures}`,
  );
  const used = (server.processorSeconds() ?? Number.NaN) - before;
  print(`the server used ${used.toFixed(1)} s of processor time, heartbeats of all agents included`);
  clearInterval(beats);
  devices.cut();
  gateways.cut();
} finally {
  await client.end();
  await server.stop();
}
