/** Traffic when a gateway replaces its WireGuard key, and when a thief of its token claims another key. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { StateFolder } from "../../packages/gateway/src/configuration/state-folder.ts";
import { until } from "../../packages/server/src/testing/until.ts";
import type { Administrator } from "./administrator.ts";
import type { NetworkDevice } from "./network-device.ts";
import { buildMs, type NetworkGateway, NetworkWorld, networkObstacle } from "./network-world.ts";
import { app } from "./targets.ts";
import { via } from "./traffic.ts";

const why = networkObstacle();
if (why !== undefined) console.warn(`Replacing keys is not tested on real packets: ${why}.`);

const waitMs = 90_000;

describe.skipIf(why !== undefined)("a network whose gateway replaces its key", () => {
  const world = new NetworkWorld();
  let administrator: Administrator;
  let first: NetworkGateway;
  let ann: NetworkDevice;

  beforeAll(async () => {
    await world.build();
    administrator = world.administrator;
    [first] = world.gateways as [NetworkGateway, NetworkGateway];
    [ann] = world.devices as [NetworkDevice, NetworkDevice, NetworkDevice];
  }, buildMs);
  afterAll(() => world.remove());

  const recordOf = () => administrator.gateway(first.id);
  const goesThroughFirst = () =>
    until("the device goes through the gateway", async () => (await via(ann, app.ipv4)) === first.site.ipv4, waitMs);

  test("both agents have proved their keys, and traffic flows", async () => {
    await goesThroughFirst();
    expect(await recordOf()).toMatchObject({ publicKeyProved: true });
    const key = await new StateFolder(first.stateFolder).publicKey();
    expect((await recordOf()).publicKey).toBe(key);
  });

  test("a key that is replaced with a proof of the former one carries traffic again", async () => {
    const before = (await recordOf()).publicKey;
    await first.agent.kill();
    const replaced = await new StateFolder(first.stateFolder).replaceKey();
    expect(replaced).not.toBe(before);
    first.agent.start();
    await until("the new key is stored", async () => (await recordOf()).publicKey === replaced, waitMs);
    await goesThroughFirst();
    expect(first.namespace.run("wg", ["show", "all", "public-key"])).toContain(replaced);
    expect(await recordOf()).toMatchObject({ publicKeyProved: true });
  });

  test("a key that is replaced twice before the agent runs carries traffic again", async () => {
    const before = (await recordOf()).publicKey;
    await first.agent.kill();
    const folder = new StateFolder(first.stateFolder);
    await folder.replaceKey();
    const replaced = await folder.replaceKey();
    // The interface still has the key of the agent that ran last.
    expect(first.namespace.run("wg", ["show", "all", "public-key"])).toContain(before);
    first.agent.start();
    await until("the new key is stored", async () => (await recordOf()).publicKey === replaced, waitMs);
    await goesThroughFirst();
    expect(first.namespace.run("wg", ["show", "all", "public-key"])).toContain(replaced);
  });
});
