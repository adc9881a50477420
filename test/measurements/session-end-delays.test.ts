/**
 * Measures the time from a request that ends device sessions to the last packet that the device receives, on real
 * packets: deactivation, sign-out everywhere, a request to sign in again, and back-channel logout.
 *
 *     GATEHOUSE_BENCH_RUNS=200 npm run bench:device-session-ends
 */
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../../packages/server/src/testing/until.ts";
import { Prober } from "../enforcement/namespaces.ts";
import type { NetworkDevice } from "../enforcement/network-device.ts";
import { buildMs, NetworkWorld, networkObstacle, replicaUrl } from "../enforcement/network-world.ts";
import { app } from "../enforcement/targets.ts";
import { Download, via } from "../enforcement/traffic.ts";

const why = networkObstacle();
if (why !== undefined) console.warn(`The ends of sessions are not measured: ${why}.`);

/** Runs of all ways together. */
const runs = Number(process.env.GATEHOUSE_BENCH_RUNS ?? 200);
const lifetimeS = 28_800;
const comesBackMs = 120_000;
/** A download without a byte for this long has ended. Bytes come every 20 ms. */
const silenceMs = 1_500;
const print = (line: string) => process.stdout.write(`${line}\n`);

describe.skipIf(why !== undefined)("the time from a request to the last packet", () => {
  const world = new NetworkWorld();
  let database: pg.Client;
  let provider: Prober;
  let providerId = "";
  let logoutUrl = "";
  let ann: NetworkDevice;
  let tagged = 0;

  beforeAll(async () => {
    await world.build({ GATEHOUSE_PROVIDER_ALLOWED_NETWORKS: "127.0.0.0/8" });
    ann = world.devices[0] as NetworkDevice; // there are three
    database = new pg.Client(world.database);
    await database.connect();
    provider = new Prober(world.replicaNamespace(1), "provider-machine.mjs");
    await provider.ready;
    const settings = await provider.ask<{ issuer: string; clientId: string; clientSecret: string }>("issuer");
    const made = await world.administrator.create("/tenants/identity-providers", { name: "Provider", ...settings });
    providerId = made.id;
    logoutUrl = `${replicaUrl(1)}${new URL(made.backChannelLogoutUri).pathname}`;
    await database.query("UPDATE identity_providers SET enabled = true, tested_at = now() WHERE id = $1", [providerId]);
    await world.administrator.change("PUT", "/tenants/settings", { deviceSessionLifetime: lifetimeS });
  }, buildMs);
  afterAll(async () => {
    await database?.end();
    await world.remove();
  });

  /** The ways to end the session of Ann's device. */
  const ways: Readonly<Record<string, () => Promise<unknown>>> = {
    deactivation: () => world.administrator.change("PATCH", `/tenants/devices/${ann.id}/deactivate`),
    "sign-out everywhere": () => world.administrator.change("DELETE", `/tenants/users/${world.users[0]?.id}/sessions`),
    "required sign-in": () =>
      world.administrator.change("POST", "/tenants/device-sessions/require-sign-in", { devices: [ann.id] }),
    "back-channel logout": async () =>
      expect(await provider.ask("logOut", { url: logoutUrl, session: "session-1" })).toBe(200),
  };

  /** Stores a sign-in of Ann on the device. The change of the device makes all replicas read it. */
  async function signIn(): Promise<void> {
    await database.query(
      `INSERT INTO device_sessions (tenant_id, device_id, signed_in_at, authenticated_at, provider_id, provider_session)
       SELECT tenant_id, id, now(), now(), $2, 'session-1' FROM devices WHERE id = $1
       ON CONFLICT (tenant_id, device_id) DO UPDATE SET signed_in_at = excluded.signed_in_at,
         authenticated_at = excluded.authenticated_at, provider_id = excluded.provider_id,
         provider_session = excluded.provider_session, ended_at = NULL, end_reason = NULL, ended_by = NULL,
         sign_in_required = false`,
      [ann.id, providerId],
    );
    const { text } = await world.administrator.change("GET", `/tenants/devices/${ann.id}`);
    tagged += 1;
    await (JSON.parse(text).active
      ? world.administrator.change("PUT", `/tenants/devices/${ann.id}/tags`, { tags: [`run-${tagged}`] })
      : world.administrator.change("POST", `/tenants/devices/${ann.id}/reactivate`));
    await until("Ann is let in again", async () => (await via(ann, app.ipv4)) !== null, comesBackMs);
  }

  async function measure(end: () => Promise<unknown>): Promise<number> {
    await signIn();
    const download = await Download.begin(ann, app.ipv4);
    await download.goesOn();
    const askedAt = Date.now();
    await end();
    let last = await download.progress();
    await until(
      "the download has stopped",
      async () => {
        last = await download.progress();
        return Date.now() - (last.lastAt ?? 0) > silenceMs;
      },
      60_000,
    );
    await download.end();
    expect(last.isWhole).toBe(false);
    return Math.max(0, (last.lastAt ?? 0) - askedAt);
  }

  test("is at most a second at p99", async () => {
    const delays = new Map<string, number[]>(Object.keys(ways).map((way) => [way, []]));
    for (let run = 0; run < runs; run += 1) {
      const [way, end] = Object.entries(ways)[run % Object.keys(ways).length] ?? expect.fail("there are ways");
      delays.get(way)?.push(await measure(end));
      if (run % 20 === 19) print(`${run + 1} of ${runs} runs`);
    }
    for (const [way, all] of delays) print(`${way}: ${figures(all)}`);
    const all = [...delays.values()].flat();
    print(`all ${all.length} runs: ${figures(all)}`);
    expect(percentile(all, 0.99)).toBeLessThanOrEqual(Number(process.env.GATEHOUSE_BENCH_LIMIT_MS ?? 1_000));
  });
});

function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

function figures(values: readonly number[]): string {
  const [median, high, most] = [0.5, 0.99, 1].map((share) => percentile(values, share));
  return `median ${median} ms, p99 ${high} ms, at most ${most} ms (${values.length} runs)`;
}
