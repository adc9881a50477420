/** Traffic while the control plane restarts or is unavailable, and while an attacker is between it and the agents. */
import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import type { ConfigurationHeader, SignedConfiguration } from "@gatehouse/agent-protocol/gateway/configuration";
import { signedText } from "@gatehouse/agent-protocol/gateway/envelope";
import { configurationName } from "@gatehouse/agent-protocol/link/envelope";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../../packages/server/src/testing/until.ts";
import type { Administrator } from "./administrator.ts";
import type { NetworkDevice } from "./network-device.ts";
import { buildMs, type NetworkGateway, NetworkWorld, networkObstacle } from "./network-world.ts";
import { app, ports } from "./targets.ts";
import { answered, Download, expectCut, via } from "./traffic.ts";

const why = networkObstacle();
if (why !== undefined) console.warn(`A failing control plane is not tested on real packets: ${why}.`);

/** The time until a disconnected agent is back: agents wait a random time of up to 30 s before they reconnect. */
const comesBackMs = 60_000;
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

describe.skipIf(why !== undefined)("a network whose control plane fails", () => {
  const world = new NetworkWorld();
  let administrator: Administrator;
  let gateway: NetworkGateway;
  let ann: NetworkDevice;
  let bob: NetworkDevice;
  let eve: NetworkDevice;

  beforeAll(async () => {
    await world.build();
    administrator = world.administrator;
    gateway = world.gateways[0] as NetworkGateway;
    [ann, bob, eve] = world.devices as [NetworkDevice, NetworkDevice, NetworkDevice];
  }, buildMs);
  afterAll(() => world.remove());

  const isApplied = async ({ id }: NetworkGateway) =>
    JSON.parse((await administrator.change("GET", `/tenants/gateways/${id}/sync`)).text).state === "applied";
  const settled = () =>
    until(
      "the gateways enforce what they should",
      async () => (await Promise.all(world.gateways.map(isApplied))).every(Boolean),
      comesBackMs,
    );

  test("continues while a replica restarts, and receives the changes made meanwhile", async () => {
    const [hers, his] = await Promise.all([Download.begin(ann, app.ipv4), Download.begin(bob, app.ipv4)]);
    // The replica of the first gateway and of the devices.
    await world.replicas[0]?.stop();
    administrator.replica = 2;
    await Promise.all([hers.goesOn(), his.goesOn()]);
    // The replica is back before the silent gateway becomes OFFLINE and devices switch gateways.
    const restarted = world.startReplica(1);
    const deactivated = `/tenants/users/${world.users[1]?.id}/deactivate?wait=applied&timeout=1`;
    const { headers } = await administrator.change("PATCH", deactivated);
    expect(headers["gatehouse-enforced"]).toMatch(/^incomplete/);
    expect(headers["gatehouse-not-enforced"]).toContain(gateway.id);
    await hers.goesOn();
    await restarted;
    await until("the gateway is told", () => isApplied(gateway), comesBackMs);
    await expectCut(his, hers);
    expect(await via(bob, app.ipv4)).toBe(null);
    await administrator.enforce("POST", `/tenants/users/${world.users[1]?.id}/reactivate`);
    await until("Bob is let in again", async () => (await via(bob, app.ipv4)) !== null, comesBackMs);
    await Promise.all([hers.end(), his.end()]);
  });

  test("continues without replicas and over restarts of agents, and then applies changes", async () => {
    const [hers, his] = await Promise.all([Download.begin(ann, app.ipv4), Download.begin(bob, app.ipv4)]);
    await Promise.all(world.replicas.map((replica) => replica.kill()));
    expect((await administrator.ask("GET", "/readyz")).status).toBe(0);
    const before = await via(ann, app.ipv6);
    expect(before).not.toBe(null);
    expect(await via(eve, app.ipv6)).toBe(null);
    await gateway.agent.kill();
    gateway.agent.start();
    await until(
      "the agent has started",
      () => gateway.agent.output.includes("resumed the stored configuration"),
      30_000,
    );
    await Promise.all([hers.goesOn(), his.goesOn()]);
    expect(await via(ann, app.ipv6)).toBe(before);
    expect(await via(eve, app.ipv6)).toBe(null);
    await ann.agent.stop();
    expect(await via(ann, app.ipv6)).toBe(null);
    ann.agent.start();
    await until("the device has started", () => ann.agent.output.includes("resumed the stored configuration"), 30_000);
    await Promise.all([hers.goesOn(), his.goesOn()]);
    expect(await via(ann, app.ipv6)).toBe(before);

    await Promise.all([world.startReplica(1), world.startReplica(2)]);
    // Gateways reconnect after a while: a caller that waits for a change receives the list of disconnected gateways.
    await administrator.change("PATCH", `/tenants/devices/${ann.id}/deactivate`);
    await settled();
    await expectCut(hers, his);
    expect(await via(ann, app.ipv6)).toBe(null);
    await administrator.enforce("POST", `/tenants/devices/${ann.id}/reactivate`);
    await until("Ann is let in again", async () => (await via(ann, app.ipv6)) !== null, comesBackMs);
    await Promise.all([hers.end(), his.end()]);
  });

  test("rejects an attacker's forged, replayed, altered and foreign-signed configurations", async () => {
    const tamperer = await world.addTamperer();
    await gateway.agent.stop();
    await until("the end of the old link is recorded", async () => !(await isApplied(gateway)), comesBackMs);
    gateway.agent.start(world.agentArguments(1, tamperer.url));
    const staff = `/tenants/policies/${world.policies.staff}`;
    const isEnforced = async () => (await via(ann, app.ipv4)) !== null;
    // The tamperer forwards the control plane's frames, so the following frames are refused because of their content.
    await until("the agent is connected", async () => (await isEnforced()) && (await isApplied(gateway)), comesBackMs);
    await administrator.enforce("PATCH", `${staff}/deactivate`);
    await until("nobody may", async () => !(await isEnforced()));
    await administrator.enforce("POST", `${staff}/reactivate`);
    await until("staff may", isEnforced, comesBackMs);
    const opened = held();
    const frame = (await tamperer.prober.ask<string[]>("passed")).at(-1) ?? "";
    expect(nameOfFrame(frame)).toEqual(configurationName(opened.envelope.header, sha256));
    await administrator.enforce("PATCH", `${staff}/deactivate`);
    await until("nobody may", async () => !(await isEnforced()));
    const closed = held();

    const refuses = async (text: string, reason: string) => {
      expect(await tamperer.prober.ask("send", { text, hash: nameOfFrame(text).hash })).toBe(reason);
      expect(held()).toEqual(closed);
      expect(await isEnforced()).toBe(false);
      expect((await administrator.gateway(gateway.id)).status).toBe("ONLINE");
    };
    await refuses(frame, "replayed");
    await refuses(JSON.stringify({ type: "whole", ...opened }), "replayed");
    const { generation } = closed.envelope.header;
    const later = { ...opened.envelope.header, generation: generation + 1, issuedAt: Date.now() };
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    const ownSignature = sign(null, Buffer.from(signedText(configurationName(later, sha256))), privateKey).toString(
      "base64",
    );
    for (const signature of [opened.envelope.signature, closed.envelope.signature, ownSignature]) {
      const envelope = { header: later, signature };
      await refuses(JSON.stringify({ type: "whole", envelope, content: opened.content }), "forged");
    }

    // The tamperer widens a change in transit. The agent requests the change again, and never permits the wider access.
    await tamperer.prober.ask("alter", { text: `[${ports.web},${ports.web}]`, by: `[${ports.web},${ports.admin}]` });
    await administrator.enforce("POST", `${staff}/reactivate`);
    expect(await tamperer.prober.ask<string[]>("answers")).toContain("wrong_root");
    await until("staff may", isEnforced, comesBackMs);
    expect(await answered(ann, [["tcp", app.ipv4, ports.admin]])).toEqual([]);

    // A different control plane with its own key is rejected.
    const key = publicKey.export({ format: "der", type: "spki" }).subarray(-32).toString("base64");
    await tamperer.prober.ask("offerKey", { key });
    await tamperer.prober.ask("cut");
    await until("the agent says so", () => gateway.agent.output.includes("not the pinned one"), comesBackMs);
    expect(await isEnforced()).toBe(true);
    await tamperer.prober.ask("offerKey", {});
    await administrator.change("PATCH", `${staff}/deactivate`);
    await until(
      "the agent is told again",
      async () => (await isApplied(gateway)) && !(await isEnforced()),
      comesBackMs,
    );
  });

  /** Returns the configuration that the gateway's agent enforces and has stored for a restart. */
  function held(): SignedConfiguration {
    return JSON.parse(readFileSync(path.join(gateway.stateFolder, "configuration.json"), "utf8"));
  }
});

function nameOfFrame(text: string) {
  const { envelope } = JSON.parse(text) as { envelope: { header: ConfigurationHeader } };
  return configurationName(envelope.header, sha256);
}
