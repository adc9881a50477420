/** Sessions of devices on real packets: their ends, even during an outage of the control plane, and their early end. */
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { askStatus } from "../../packages/device/src/status/ask-agent.ts";
import { until } from "../../packages/server/src/testing/until.ts";
import type { Administrator } from "./administrator.ts";
import type { NetworkDevice } from "./network-device.ts";
import { buildMs, NetworkWorld, networkObstacle } from "./network-world.ts";
import { app } from "./targets.ts";
import { Download, expectCut, via } from "./traffic.ts";

const why = networkObstacle();
if (why !== undefined) console.warn(`Sessions of devices are not tested on real packets: ${why}.`);

const lifetimeS = 900;
/** How long Ann's session lasts after the test has cut the control plane off, in seconds. */
const remainingS = 45;
const comesBackMs = 60_000;

describe.skipIf(why !== undefined)("a network in which sessions of devices end", () => {
  const world = new NetworkWorld();
  let administrator: Administrator;
  let database: pg.Client;
  let ann: NetworkDevice;
  let bob: NetworkDevice;

  beforeAll(async () => {
    await world.build();
    administrator = world.administrator;
    [ann, bob] = world.devices as [NetworkDevice, NetworkDevice];
    database = new pg.Client(world.database);
    await database.connect();
  }, buildMs);
  afterAll(async () => {
    await database.end();
    await world.remove();
  });

  const sessionOf = async ({ id }: NetworkDevice) =>
    JSON.parse((await administrator.change("GET", `/tenants/devices/${id}`)).text).session;
  /** Makes the user have signed in on the device earlier. The change of the setting makes all replicas read it. */
  const signedInAgo = async ({ id }: NetworkDevice, seconds: number, lifetime: number) => {
    await database.query("UPDATE tenant_settings SET device_sessions_since = now() - interval '1 day'");
    await database.query(
      `INSERT INTO device_sessions (tenant_id, device_id, signed_in_at, authenticated_at)
       SELECT tenant_id, id, now() - $2 * interval '1 second', now() FROM devices WHERE id = $1
       ON CONFLICT (tenant_id, device_id) DO UPDATE SET signed_in_at = excluded.signed_in_at,
         authenticated_at = excluded.authenticated_at, ended_at = NULL, sign_in_required = false`,
      [id, seconds],
    );
    await setLifetime(lifetime);
  };
  /** Waits until the agent itself says that the session has ended, and uses no gateway. */
  const agentDropsRoutes = ({ stateFolder }: NetworkDevice, connected: boolean) =>
    until("the agent has dropped its routes", async () => {
      const reply = await askStatus(stateFolder);
      if (reply.kind !== "answer") return false;
      const { session, gateways, controlPlane } = reply.answer;
      return session.state === "ended" && gateways.length === 0 && controlPlane.connected === connected;
    });
  const setLifetime = async (lifetime: number) => {
    await administrator.change("PUT", "/tenants/settings", { deviceSessionLifetime: lifetime });
    await until("the gateways enforce it", async () =>
      (await Promise.all(world.gateways.map(isApplied))).every(Boolean),
    );
  };
  const isApplied = async ({ id }: { readonly id: string }) =>
    JSON.parse((await administrator.change("GET", `/tenants/gateways/${id}/sync`)).text).state === "applied";

  test("sign-out everywhere stops the packets of the user's devices, and of nobody else", async () => {
    await setLifetime(lifetimeS);
    const [hers, his] = await Promise.all([Download.begin(ann, app.ipv4), Download.begin(bob, app.ipv4)]);
    await administrator.enforce("DELETE", `/tenants/users/${world.users[0]?.id}/sessions`);
    await expectCut(hers, his);
    expect(await via(ann, app.ipv4)).toBe(null);
    expect(await sessionOf(ann)).toMatchObject({ ended: true });
    // The control plane is all that the device reaches.
    await agentDropsRoutes(ann, true);
    // The state folder is useless: an agent that starts with it connects, and reaches nothing.
    await ann.agent.kill();
    ann.agent.start();
    await his.goesOn();
    expect(await via(ann, app.ipv4)).toBe(null);
    await signedInAgo(ann, 0, lifetimeS + 1);
    await until("Ann is let in again", async () => (await via(ann, app.ipv4)) !== null, comesBackMs);
    await Promise.all([hers.end(), his.end()]);
  });

  test("a session ends on the gateway's clock while the control plane is away", async () => {
    await signedInAgo(ann, lifetimeS - remainingS, lifetimeS);
    const endsAt = Date.parse((await sessionOf(ann)).endsAt);
    const [hers, his] = await Promise.all([Download.begin(ann, app.ipv4), Download.begin(bob, app.ipv4)]);
    await Promise.all(world.replicas.map((replica) => replica.kill()));
    expect((await administrator.ask("GET", "/readyz")).status).toBe(0);
    await hers.goesOn();
    expect(Date.now()).toBeLessThan(endsAt);
    await until("the session has ended", () => Date.now() >= endsAt, 2 * remainingS * 1_000);
    await expectCut(hers, his);
    expect(await via(ann, app.ipv4)).toBe(null);
    await agentDropsRoutes(ann, false);
    await his.goesOn();
    await Promise.all([world.startReplica(1), world.startReplica(2)]);
    await signedInAgo(ann, 0, lifetimeS + 1);
    await until("Ann is let in again", async () => (await via(ann, app.ipv4)) !== null, 2 * comesBackMs);
    await Promise.all([hers.end(), his.end()]);
  });
});
