import { randomUUID } from "node:crypto";
import { type ContentTree, contentRoot } from "@gatehouse/agent-protocol/gateway/content-tree";
import type { LinkVersion } from "@gatehouse/agent-protocol/link/greeting";
import type { KeyClaim } from "@gatehouse/agent-protocol/link/key-proof";
import type { Work } from "@gatehouse/policy/work";
import { expect, test } from "vitest";
import { systemClock } from "../../platform/clock.ts";
import { createAccessNetwork } from "../../testing/access-network.ts";
import { sharedTestServer } from "../../testing/test-server.ts";
import { DesiredState } from "./desired-state.ts";

/** A desired state without connected gateways, which counts its hashes and the pauses of its work. */
async function newDesiredState() {
  const server = await sharedTestServer();
  const tenant = await server.newTenant();
  const network = await createAccessNetwork(server, tenant);
  let hashes = 0;
  const sha256 = (text: string) => {
    hashes += 1;
    return `${text.length}`;
  };
  const { database, models, evaluator: shared } = server.runner;
  let pauses = 0;
  function* counting<Result>(work: Work<Result>): Work<Result> {
    for (;;) {
      const step = work.next();
      if (step.done === true) return step.value;
      pauses += 1;
      yield step.value;
    }
  }
  const evaluator = {
    decide: <Result>(tenantId: string, work: Work<Result>) => shared.decide(tenantId, counting(work)),
  };
  const versionsOf = () => new Set<LinkVersion>();
  const options = { tenantId: tenant.id, database, models, clock: systemClock, evaluator, sha256, versionsOf };
  const desired = new DesiredState(options);
  const [gateway = expect.fail("the network has gateways")] = network.gateways;
  const content = (): ContentTree => desired.contentOf(gateway.id) ?? expect.fail("the gateway has no content");
  const deviceId = network.ann.device;
  return { desired, gatewayId: gateway.id, deviceId, content, sha256, hashes: () => hashes, pauses: () => pauses };
}

test("the content of a gateway that connects for the first time is hashed before it is used", async () => {
  const { desired, gatewayId, content, sha256, hashes } = await newDesiredState();
  await desired.refresh();
  expect(hashes()).toBe(0);
  await desired.prepare(gatewayId, 3);
  const prepared = hashes();
  expect(prepared).toBeGreaterThan(0);
  contentRoot(content(), sha256);
  // The settings, and the root itself.
  expect(hashes() - prepared).toBe(2);
});

test("a former token introduces no key of a gateway that the replica does not know yet", async () => {
  const { desired } = await newDesiredState();
  const claim: KeyClaim = { publicKey: Buffer.alloc(32, 7).toString("base64"), proof: "valid", previousKey: undefined };
  await desired.refresh();
  const unknown = randomUUID();
  expect(desired.keyFault(unknown, claim, "former")).toBe("former_token");
  expect(await desired.confirmedKeyFault(unknown, claim, "former", "former_token")).toBe("former_token");
  expect(desired.keyFault(unknown, claim, "current")).toBeUndefined();
  expect(desired.keyFault(unknown, { ...claim, proof: "invalid" }, "current")).toBe("invalid_proof");
});

test("a composition ends when the desired state is stopped", async () => {
  const { desired, gatewayId } = await newDesiredState();
  const refreshed = desired.refresh();
  desired.stop();
  await expect(refreshed).rejects.toThrow("stopped");
  expect(desired.contentOf(gatewayId)).toBeUndefined();
});

test("many observations of source addresses are added in slices", async () => {
  const { desired, deviceId, gatewayId, pauses } = await newDesiredState();
  await desired.refresh();
  const observe = (count: number) =>
    desired.moved(
      Array.from({ length: count }, (_, index) => ({
        deviceId,
        gatewayId: index % 2 === 0 ? gatewayId : null,
        source: { address: `192.0.2.${index % 250}`, at: (pauses() + 1) * 100_000 + index },
      })),
    );
  const pausesWith = async (count: number) => {
    const before = pauses();
    expect(observe(count)).toBe(true);
    await desired.refresh();
    return pauses() - before;
  };
  const few = await pausesWith(2);
  expect(await pausesWith(5_000)).toBeGreaterThan(few + 20);
  const last = { deviceId, gatewayId, source: { address: "198.51.100.7", at: Date.now() } };
  expect([desired.moved([last]), (await desired.refresh()).isReload]).toEqual([true, false]);
  // Known now.
  expect([desired.moved([last]), desired.isMove(last)]).toEqual([false, false]);
});
