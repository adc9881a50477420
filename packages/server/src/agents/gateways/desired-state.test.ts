import { type ContentTree, contentRoot } from "@gatehouse/agent-protocol/gateway/content-tree";
import type { LinkVersion } from "@gatehouse/agent-protocol/link/greeting";
import { expect, test } from "vitest";
import { systemClock } from "../../platform/clock.ts";
import { createAccessNetwork } from "../../testing/access-network.ts";
import { sharedTestServer } from "../../testing/test-server.ts";
import { DesiredState } from "./desired-state.ts";

/** A desired state without connected gateways, which counts the hashes that it computes. */
async function newDesiredState() {
  const server = await sharedTestServer();
  const tenant = await server.newTenant();
  const network = await createAccessNetwork(server, tenant);
  let hashes = 0;
  const sha256 = (text: string) => {
    hashes += 1;
    return `${text.length}`;
  };
  const { database, models, evaluator } = server.runner;
  const versionsOf = () => new Set<LinkVersion>();
  const options = { tenantId: tenant.id, database, models, clock: systemClock, evaluator, sha256, versionsOf };
  const desired = new DesiredState(options);
  const [gateway = expect.fail("the network has gateways")] = network.gateways;
  const content = (): ContentTree => desired.contentOf(gateway.id) ?? expect.fail("the gateway has no content");
  return { desired, gatewayId: gateway.id, content, sha256, hashes: () => hashes };
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

test("a composition ends when the desired state is stopped", async () => {
  const { desired, gatewayId } = await newDesiredState();
  const refreshed = desired.refresh();
  desired.stop();
  await expect(refreshed).rejects.toThrow("stopped");
  expect(desired.contentOf(gatewayId)).toBeUndefined();
});
