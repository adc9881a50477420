/** Real packets follow administrators' decisions: they grant, deny and revoke access. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../../packages/server/src/testing/until.ts";
import type { Administrator } from "./administrator.ts";
import type { NetworkDevice } from "./network-device.ts";
import { buildMs, NetworkWorld, networkObstacle } from "./network-world.ts";
import { app, files, internet, names, ports } from "./targets.ts";
import { answered, Download, expectCut, type Probe, via } from "./traffic.ts";

const why = networkObstacle();
if (why !== undefined) console.warn(`A network under the control plane is not tested on real packets: ${why}.`);

describe.skipIf(why !== undefined)("a network under the control plane", () => {
  const world = new NetworkWorld();
  const { resources, policies } = world;
  let ann: NetworkDevice;
  let bob: NetworkDevice;
  let eve: NetworkDevice;
  let userOfAnn: string;
  let administrator: Administrator;

  beforeAll(async () => {
    await world.build();
    [ann, bob, eve] = world.devices as [NetworkDevice, NetworkDevice, NetworkDevice];
    administrator = world.administrator;
    userOfAnn = world.users[0]?.id ?? "";
  }, buildMs);
  afterAll(() => world.remove());

  const both = (probe: (host: string) => Probe, { ipv4, ipv6 }: typeof app) => [probe(ipv4), probe(ipv6)];
  const tcp = (port: number) => (host: string) => ["tcp", host, port] as const;
  const udp = (port: number) => (host: string) => ["udp", host, port] as const;
  const ping = (host: string) => ["ping", host] as const;
  const allowed = [...both(tcp(ports.web), app), ...both(udp(ports.web), files), ...both(ping, names)];

  /** Expects a change to cut Ann's download and to leave Bob's. */
  async function expectCutOfAnn(host: string, cut: () => Promise<unknown>, allow: () => Promise<unknown>) {
    const [hers, his] = await Promise.all([ann, bob].map((device) => Download.begin(device, host)));
    if (hers === undefined || his === undefined) throw new Error("there are two");
    await Promise.all([hers.goesOn(), his.goesOn()]);
    await cut();
    await expectCut(hers, his);
    expect(await via(ann, host)).toBe(null);
    expect(await via(bob, host)).not.toBe(null);
    await Promise.all([hers.end(), his.end()]);
    await allow();
    await until("she is let in again", async () => (await via(ann, host)) !== null, 40_000);
  }

  test("forwards allowed traffic over TCP, UDP and ICMP, IPv4 and IPv6, and drops all other traffic", async () => {
    const refused = [
      ...both(udp(ports.web), app),
      ...both(tcp(ports.admin), app),
      ...both(ping, app),
      ...both(tcp(ports.web), files),
      ...both(udp(ports.admin), files),
      ...both(ping, files),
      ...both(tcp(ports.web), names),
      ...both(udp(ports.web), names),
      ...both(tcp(ports.web), internet),
      ...both(ping, internet),
      ...both(ping, { ipv4: "10.80.0.1", ipv6: "fd80::1" }),
    ];
    // A busy machine may answer a single probe too late.
    await until("Ann reaches all that she may", async () => (await answered(ann, allowed)).length === allowed.length);
    expect(await answered(ann, refused)).toEqual([]);
    expect(await answered(eve, [...allowed, ...refused])).toEqual([]);

    // She is a visitor. As staff, she has the access of staff.
    const groups = `/tenants/users/${world.users[2]?.id}/groups`;
    await administrator.enforce("POST", groups, { groupId: world.groups.staff });
    await until("Eve may as well", async () => (await answered(eve, allowed)).length === allowed.length, 40_000);
    expect(await answered(eve, refused)).toEqual([]);
    await administrator.enforce("DELETE", `${groups}/${world.groups.staff}`);
    expect(await answered(eve, allowed)).toEqual([]);
  });

  test("carries internet traffic only of devices that may use a gateway for it", async () => {
    const outside = [...both(tcp(ports.web), internet), ...both(udp(ports.web), internet)];
    const policy = await administrator.create("/tenants/policies?wait=applied", {
      name: "Ann by a gateway",
      type: "INTERNET",
      action: true,
      mode: "INTERNET_ACCESS_POINT",
      users: [userOfAnn],
      gateways: world.gateways.slice(0, 1).map(({ id }) => id),
    });
    await until("Ann gets there", async () => (await answered(ann, outside)).length === outside.length);
    expect(await via(ann, internet.ipv4)).toBe("192.0.2.1");
    expect(await answered(bob, outside)).toEqual([]);
    await administrator.enforce("DELETE", `/tenants/policies/${policy.id}`);
    expect(await answered(ann, outside)).toEqual([]);
  });

  test("cuts a running connection by a policy that now comes first", async () => {
    const denying = { name: "Not Ann", type: "PRIVATE", action: false, users: [userOfAnn], resources: [resources.app] };
    const { id } = await administrator.create("/tenants/policies", denying);
    const order = { type: "PRIVATE", policies: [id, policies.staff] };
    await expectCutOfAnn(
      app.ipv4,
      () => administrator.enforce("POST", "/tenants/policies/reorder", order),
      () => administrator.enforce("DELETE", `/tenants/policies/${id}`),
    );
  });

  test("cuts the running connections of a user who is deactivated", async () => {
    await expectCutOfAnn(
      app.ipv6,
      () => administrator.enforce("PATCH", `/tenants/users/${userOfAnn}/deactivate`),
      () => administrator.enforce("POST", `/tenants/users/${userOfAnn}/reactivate`),
    );
  });

  test("ends the access of a deactivated user although the gateways' machines refuse to forward IPv6", async () => {
    const forbid = () => {
      for (const { namespace, agent } of world.gateways) {
        agent.setReadOnlySettings(true);
        namespace.run("sysctl", ["-w", "net.ipv6.conf.all.forwarding=0"]);
      }
    };
    let isForbidden = false;
    const permit = () => {
      if (isForbidden) for (const { agent } of world.gateways) agent.setReadOnlySettings(false);
      isForbidden = false;
    };
    const areAll = async (status: string) => {
      const found = await Promise.all(world.gateways.map(async ({ id }) => (await administrator.gateway(id)).status));
      return found.every((is) => is === status);
    };
    const refused = async (method: string, action: string) => {
      const { headers } = await administrator.change(method, `/tenants/users/${userOfAnn}/${action}?wait=applied`);
      expect(headers["gatehouse-enforced"]).toMatch(/^incomplete/);
      await until("both gateways report the failure", () => areAll("ERROR"), 40_000);
    };
    const reach = async (device: NetworkDevice) => (await via(device, app.ipv4)) !== null;
    await until("both devices reach the app", async () => (await reach(ann)) && (await reach(bob)), 40_000);
    // Her agent is hostile: it leaves the tunnel as it is. His would leave gateways whose status is ERROR.
    for (const { agent } of [ann, bob]) agent.pause();
    try {
      forbid();
      isForbidden = true;
      await refused("PATCH", "deactivate");
      expect([await reach(ann), await reach(bob)]).toEqual([false, true]);
      // The content is the one before again, but the gateways do not enforce it completely.
      await refused("POST", "reactivate");
      permit();
      await until("both gateways apply it", () => areAll("ONLINE"), 90_000);
    } finally {
      permit();
      for (const { agent } of [ann, bob]) agent.resume();
    }
    await until("both are let in again", async () => (await reach(ann)) && (await reach(bob)), 40_000);
  }, 240_000);

  test("cuts the running connections of a device that is deactivated", async () => {
    await expectCutOfAnn(
      app.ipv4,
      () => administrator.enforce("PATCH", `/tenants/devices/${ann.id}/deactivate`),
      () => administrator.enforce("POST", `/tenants/devices/${ann.id}/reactivate`),
    );
  });

  test("cuts a running connection automatically when its time window ends", async () => {
    const end = new Date(Date.now() + 15_000);
    const rule = await administrator.create("/tenants/admission-rules", {
      name: "For a short time",
      rule: `now < timestamp('${end.toISOString()}')`,
      hasTimeConstraint: true,
    });
    await administrator.create("/tenants/policies?wait=applied", {
      name: "Visitors for a short time",
      type: "PRIVATE",
      action: true,
      groups: [world.groups.visitors],
      resources: [resources.app],
      rule: rule.id,
    });
    const hers = await Download.begin(eve, app.ipv4);
    const his = await Download.begin(bob, app.ipv4);
    await hers.goesOn();
    expect(Date.now()).toBeLessThan(end.getTime());
    await until("the window has ended", () => Date.now() >= end.getTime(), 20_000);
    await expectCut(hers, his);
    expect(await via(eve, app.ipv4)).toBe(null);
    await Promise.all([hers.end(), his.end()]);
  });
});
