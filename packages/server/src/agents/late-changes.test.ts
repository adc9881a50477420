/** Changes that arrive while a replica reads the model of an earlier generation. */
import { contentOf } from "@gatehouse/agent-protocol/gateway/content-tree";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { systemClock } from "../platform/clock.ts";
import type { OutboxEntry } from "../platform/outbox/outbox.queries.ts";
import type { TenantModels } from "../platform/tenancy/tenant-models.ts";
import { createAccessNetwork } from "../testing/access-network.ts";
import { sharedTestServer, type TestServer, type TestTenant } from "../testing/test-server.ts";
import { DeviceRouteInputs } from "./devices/device-route-inputs.ts";
import { DesiredState } from "./gateways/desired-state.ts";

let server: TestServer;
let tenant: TestTenant;
let network: Awaited<ReturnType<typeof createAccessNetwork>>;
/** Runs once, after the next model was read and before it is returned. */
let meanwhile: (() => Promise<void>) | undefined;

const models: TenantModels = {
  at: (tenantId, at) => server.runner.models.at(tenantId, at),
  async current(tenantId) {
    const model = await server.runner.models.current(tenantId);
    const run = meanwhile;
    meanwhile = undefined;
    await run?.();
    return model;
  },
};

beforeAll(async () => {
  server = await sharedTestServer();
});
beforeEach(async () => {
  tenant = await server.newTenant();
  network = await createAccessNetwork(server, tenant);
});

/** Deactivates the policy that grants access, and notifies the follower of the outbox entry. */
function deactivatePolicyMeanwhile(follower: { changed(entry: OutboxEntry): void }): void {
  meanwhile = async () => {
    const { generation } = await server.runner.models.current(tenant.id);
    const { id } = network.allowing;
    const { status, text } = await tenant.client.patch(`/tenants/policies/${id}/deactivate`);
    expect(status, text).toBe(200);
    const changes = [{ type: "policy", id, change: "updated" }] as const;
    follower.changed({ tenantId: tenant.id, generation: generation + 1, changes });
  };
}

test("gateways enforce a policy that was deactivated while the model was read", async () => {
  const { database } = server;
  const { evaluator } = server.runner;
  const links = { sha256: () => "", versionsOf: () => new Set<never>() };
  const newState = () =>
    new DesiredState({ tenantId: tenant.id, database, models, clock: systemClock, evaluator, ...links });
  const contentsOf = (state: DesiredState) =>
    network.gateways.map(({ id }) => contentOf(state.contentOf(id) ?? expect.fail("the gateway has no content")));
  const desired = newState();
  await desired.refresh();
  const before = contentsOf(desired);
  deactivatePolicyMeanwhile(desired);
  await desired.refresh();
  await desired.refresh();
  const fresh = newState();
  await fresh.refresh();
  expect(contentsOf(desired)).toEqual(contentsOf(fresh));
  expect(contentsOf(desired)).not.toEqual(before);
});

test("gateways learn of a source address that was observed while everything was loaded", async () => {
  const { database, runner } = server;
  const source = { address: "203.0.113.9", at: Date.now() };
  const [{ id: gatewayId } = expect.fail("the network has gateways")] = network.gateways;
  const observation = { deviceId: network.ann.device, gatewayId, source };
  // Rows were read when the first work begins.
  let isObserved = false;
  const evaluator: Pick<typeof runner.evaluator, "decide"> = {
    decide(tenantId, work) {
      if (!isObserved) expect(desired.moved([observation])).toBe(true);
      isObserved = true;
      return runner.evaluator.decide(tenantId, work);
    },
  };
  const links = { sha256: () => "", versionsOf: () => new Set<never>() };
  const desired = new DesiredState({ tenantId: tenant.id, database, models, clock: systemClock, evaluator, ...links });
  await desired.refresh();
  expect(desired.isMove(observation)).toBe(true);
  await desired.refresh();
  expect(desired.isMove(observation)).toBe(false);
});

test("devices are concerned by a policy that was deactivated while the model was read", async () => {
  const inputs = new DeviceRouteInputs(tenant.id, { ...server.runner, models, clock: systemClock });
  const { device } = network.ann;
  await inputs.refresh([device], [device]);
  deactivatePolicyMeanwhile(inputs);
  await inputs.refresh([device], []);
  const { concerned } = await inputs.refresh([device], []);
  expect(concerned.everybody).toBe(true);
  expect(inputs.generation).toBe((await server.runner.models.current(tenant.id)).generation);
});
