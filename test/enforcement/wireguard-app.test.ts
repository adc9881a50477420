/** A device with any WireGuard app, on real packets: the file of `/my/`, sessions, and rules about the agent. */
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../../packages/server/src/testing/until.ts";
import type { Administrator } from "./administrator.ts";
import { buildMs, NetworkWorld, networkObstacle } from "./network-world.ts";
import { app } from "./targets.ts";
import { Download, expectCut, via } from "./traffic.ts";
import { SignedInPerson, WireGuardApp } from "./wireguard-app.ts";

const why = networkObstacle();
if (why !== undefined) console.warn(`Devices with any WireGuard app are not tested on real packets: ${why}.`);

const comesBackMs = 60_000;

describe.skipIf(why !== undefined)("a phone with the file of the page", () => {
  const world = new NetworkWorld();
  let administrator: Administrator;
  let database: pg.Client;
  let machine: Awaited<ReturnType<NetworkWorld["addMachine"]>>;
  let person: SignedInPerson;
  let phone: WireGuardApp;
  const ann = () => world.users[0]?.id ?? "";

  beforeAll(async () => {
    await world.build();
    administrator = world.administrator;
    database = new pg.Client(world.database);
    await database.connect();
    await administrator.change("PUT", "/tenants/settings", { deviceSessionLifetime: 3600 });
    machine = await world.addMachine("phone", 20);
    person = await SignedInPerson.signIn(database, ann(), machine.prober);
    phone = await WireGuardApp.add(world, person, machine);
  }, buildMs);
  afterAll(async () => {
    await database.end();
    await world.remove();
  });

  const reaches = async () => (await via(phone, app.ipv4)) !== null;
  const readPhone = async () => JSON.parse((await administrator.change("GET", `/tenants/devices/${phone.id}`)).text);

  test("reaches a resource through a gateway, over both address families, and is seen Online", async () => {
    await until("the phone is connected", reaches, comesBackMs);
    expect(await via(phone, app.ipv4)).toBe(world.gateways[0]?.site.ipv4);
    expect(await via(phone, app.ipv6)).toBe(world.gateways[0]?.site.ipv6);
    await until("the gateway has reported the handshake", async () => (await readPhone()).status === "Online", 60_000);
  });

  test("is cut off when the session ends, and comes back after the person signs in on the page", async () => {
    const [bob] = world.devices.slice(1);
    if (bob === undefined) throw new Error("the world has no second device");
    const [hers, his] = await Promise.all([Download.begin(phone, app.ipv4), Download.begin(bob, app.ipv4)]);
    await administrator.enforce("DELETE", `/tenants/users/${ann()}/sessions`);
    await expectCut(hers, his);
    expect(await reaches()).toBe(false);
    person = await SignedInPerson.signIn(database, ann(), machine.prober);
    await person.ask("POST", `/tenants/my/devices/${phone.id}/sign-in`);
    // Same file, same address.
    await until("the phone is let in again", reaches, comesBackMs);
    await Promise.all([hers.end(), his.end()]);
  });

  test("a rule that demands the agent keeps it out, and not the person's laptop", async () => {
    const [laptop] = world.devices;
    if (laptop === undefined) throw new Error("the world has no device");
    const { id } = await administrator.create("/tenants/admission-rules", {
      name: "Agents",
      rule: "device.agent",
      hasTimeConstraint: false,
    });
    await person.ask("GET", "/tenants/my");
    // Her laptop has to sign in again after sign-out everywhere. Nobody's sessions end now.
    await administrator.change("PUT", "/tenants/settings", { deviceSessionLifetime: null });
    await until("the laptop is let in", async () => (await via(laptop, app.ipv4)) !== null, comesBackMs);
    const { text } = await administrator.change("GET", `/tenants/policies/${world.policies.staff}`);
    expect(JSON.parse(text).rule.id).not.toBe(id);
    await administrator.enforce("PATCH", `/tenants/policies/${world.policies.staff}`, { rule: id });
    expect(await reaches()).toBe(false);
    expect(await via(laptop, app.ipv4)).not.toBe(null);
  });
});
