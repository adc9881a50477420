import { contentOf } from "@gatehouse/agent-protocol/gateway/content-tree";
import { TenantEnforcement } from "@gatehouse/policy/enforcement/tenant-enforcement";
import { describe, expect, test, vi } from "vitest";
import { linkedReplicas } from "../../testing/linked-replicas.ts";
import { make } from "../../testing/operations/test-records.ts";
import { SimulatedGateway } from "../../testing/simulated-gateway.ts";
import { until } from "../../testing/until.ts";

const replicas = linkedReplicas(2);
const { newGateway, grantAccess, rowOf, isApplied, cut } = replicas;

const statusOf = async (id: string) => (await replicas.client.get(`/tenants/gateways/${id}`)).body.status;
const peersOf = (gateway: SimulatedGateway) =>
  gateway.content === undefined ? [] : Object.keys(contentOf(gateway.content).peers);

test("a gateway that connects receives its configuration, and is ONLINE once it has applied it", async () => {
  const { id, gateway } = await newGateway();
  const { resourceId } = await grantAccess(id);
  expect(await statusOf(id)).toBe("PENDING");
  expect(await gateway.connect()).toBe(101);
  await until("the configuration arrives", () => gateway.content !== undefined);
  expect(Object.keys(gateway.rules)).toEqual([resourceId]);
  await until("it is ONLINE", async () => (await statusOf(id)) === "ONLINE");
  const { body, headers } = await replicas.client.get(`/tenants/gateways/${id}`);
  expect(body).toMatchObject({ publicKey: gateway.publicKey, agentVersion: "0.1.0" });
  expect(body.deployedOn).not.toBeNull();
  // Reports do not change the version of the record.
  expect(headers.etag).toBe('"1"');
});

test("a change is sent as a difference", async () => {
  const { id, gateway } = await newGateway();
  const { policyId, resourceId } = await grantAccess(id);
  await gateway.connect();
  await until("the configuration arrives", () => gateway.content !== undefined);
  await replicas.client.must.patch(`/tenants/policies/${policyId}/deactivate`);
  await until("the rules are gone", () => gateway.rules[resourceId] === undefined);
  expect(gateway.seen).toMatchObject({ wholes: 1 });
  expect(gateway.seen.differences).toBeGreaterThan(0);
});

test("a change on another replica is sent", async () => {
  const { id, gateway } = await newGateway({ url: replicas.otherUrl });
  const { policyId, resourceId } = await grantAccess(id);
  await gateway.connect();
  await until("the configuration arrives", () => gateway.rules[resourceId] !== undefined);
  await replicas.client.must.patch(`/tenants/policies/${policyId}/deactivate`);
  await until("the rules are gone", () => gateway.rules[resourceId] === undefined);
  await until("it is recorded", async () => {
    const row = await rowOf(id);
    return row?.applied_root === gateway.envelope?.header.root && row?.wanted_root === row?.applied_root;
  });
});

test("gateways that connect before their replica knows of them are served once it does", async () => {
  const { gateway: earlier } = await newGateway({ url: replicas.otherUrl });
  await earlier.connect();
  await until("the tenant is known there", () => earlier.content !== undefined);
  const made = await Promise.all(
    Array.from({ length: 5 }, async () => {
      const { gateway } = await newGateway({ url: replicas.otherUrl });
      await gateway.connect();
      return gateway;
    }),
  );
  await until("each has something to enforce", () => made.every(({ content }) => content !== undefined));
});

describe("a gateway that comes back", () => {
  test("with the desired configuration receives nothing", async () => {
    const { id, gateway } = await newGateway();
    await grantAccess(id);
    await gateway.connect();
    await until("it is recorded", () => isApplied(id, gateway));
    await cut(id, gateway);
    for (const url of [replicas.url, replicas.otherUrl]) {
      const { seen } = gateway;
      gateway.url = url;
      const { length } = gateway.answers;
      await gateway.connect();
      gateway.heartbeat();
      await until("it is answered", () => gateway.answers.length > length);
      await until("it is the current one", async () => (await rowOf(id))?.disconnected_at === null);
      expect(gateway.seen).toMatchObject({ wholes: seen.wholes, differences: seen.differences });
    }
  });

  test("after a change receives a difference from the replica that knows its content, and a whole from another", async () => {
    const { id, gateway } = await newGateway();
    const { policyId, resourceId } = await grantAccess(id);
    await gateway.connect();
    await until("the configuration arrives", () => gateway.rules[resourceId] !== undefined);
    await until("it is recorded", () => isApplied(id, gateway));
    gateway.cut();
    await replicas.client.must.patch(`/tenants/policies/${policyId}/deactivate`);
    await gateway.connect();
    await until("the rules are gone", () => gateway.rules[resourceId] === undefined);
    expect(gateway.seen).toMatchObject({ wholes: 1 });
    gateway.cut();
    await replicas.client.must.post(`/tenants/policies/${policyId}/reactivate`);
    gateway.url = replicas.otherUrl;
    await gateway.connect();
    await until("the rules are back", () => gateway.rules[resourceId] !== undefined);
    expect(gateway.seen).toMatchObject({ wholes: 2 });
  });

  test("with an unknown configuration receives a whole", async () => {
    const { id, gateway } = await newGateway();
    await grantAccess(id);
    await gateway.connect({ enforces: unknown(1) });
    await until("the configuration arrives", () => gateway.content !== undefined);
    expect(gateway.seen).toMatchObject({ wholes: 1, differences: 0 });
  });

  test("with a later generation than the tenant's causes no reload", async () => {
    const { id, gateway } = await newGateway();
    await gateway.connect();
    await until("the tenant is loaded", () => gateway.content !== undefined);
    const composing = vi.spyOn(TenantEnforcement, "composing");
    try {
      const received = gateway.seen.wholes;
      await cut(id, gateway);
      await gateway.connect({ enforces: unknown(Number.MAX_SAFE_INTEGER - 1_000) });
      await until("it is served", () => gateway.seen.wholes > received);
      expect(composing).not.toHaveBeenCalled();
    } finally {
      composing.mockRestore();
    }
  });

  test("with a later generation than the tenant's receives a configuration that is later still", async () => {
    const { id, gateway } = await newGateway();
    await grantAccess(id);
    gateway.name = unknown(1_000_000);
    await gateway.connect({ enforces: unknown(1_000_000) });
    await until("the configuration arrives", () => gateway.content !== undefined);
    expect(gateway.name?.generation).toBe(1_000_000);
  });

  test("with a configuration that has a future time receives a current one, and further changes", async () => {
    const { id, gateway } = await newGateway();
    const { policyId, resourceId } = await grantAccess(id);
    const claimed = { ...unknown(1_000_000), issuedAt: Date.now() + 300 * 86_400_000 };
    gateway.name = claimed;
    await gateway.connect({ enforces: claimed });
    await until("the configuration arrives", () => gateway.rules[resourceId] !== undefined);
    expect(gateway.name?.generation).toBe(1_000_001);
    expect(gateway.name?.issuedAt).toBeLessThanOrEqual(Date.now());
    await replicas.client.must.patch(`/tenants/policies/${policyId}/deactivate`);
    await until("the rules are gone", () => gateway.rules[resourceId] === undefined);
  });

  test("with a configuration that has a future time and the highest possible generation is refused", async () => {
    const { gateway } = await newGateway();
    const enforces = { ...unknown(Number.MAX_SAFE_INTEGER), issuedAt: Date.now() + 300 * 86_400_000 };
    await gateway.connect({ enforces });
    await until("the goodbye arrives", () => gateway.goodbyes.length > 0);
    expect(gateway.goodbyes).toMatchObject([{ reason: "protocol" }]);
    expect(gateway.seen).toMatchObject({ wholes: 0, differences: 0 });
  });
});

describe("a configuration that is refused", () => {
  test("sets the gateway to ERROR with the reason, and to ONLINE when the next one is applied", async () => {
    const { id, gateway } = await newGateway();
    await grantAccess(id);
    gateway.verdict = () => "not_applied";
    await gateway.connect();
    await until("it is ERROR", async () => (await statusOf(id)) === "ERROR");
    expect((await replicas.client.get(`/tenants/gateways/${id}`)).body.error).toMatch(/^not_applied: was told/);
    gateway.verdict = () => "apply";
    // The same content is offered again before long, and another at once.
    await grantAccess(id);
    await until("it is ONLINE", async () => (await statusOf(id)) === "ONLINE");
    expect((await replicas.client.get(`/tenants/gateways/${id}`)).body.error).toBeUndefined();
  });

  test("no longer counts as an error once the gateway enforces what is wanted, because the change was reverted", async () => {
    const { id, gateway } = await newGateway();
    const { policyId } = await grantAccess(id);
    await gateway.connect();
    await until("it is ONLINE", async () => (await statusOf(id)) === "ONLINE" && (await isApplied(id, gateway)));
    gateway.verdict = () => "expired";
    await replicas.client.must.patch(`/tenants/policies/${policyId}/deactivate`);
    await until("it is ERROR", async () => (await statusOf(id)) === "ERROR");
    await replicas.client.must.post(`/tenants/policies/${policyId}/reactivate`);
    await until("the error is gone", async () => (await statusOf(id)) === "ONLINE");
    const sync = async () => (await replicas.client.get(`/tenants/gateways/${id}/sync`)).body.state;
    await until("the change counts as applied", async () => (await sync()) === "applied");
    const tested = await replicas.client.post(`/tenants/gateways/${id}/test-configuration`);
    expect(tested.body).toMatchObject({ status: "ONLINE" });
  });

  test.each(["unknown_base", "wrong_root"] as const)("as a difference for %s is sent as a whole", async (reason) => {
    const { id, gateway } = await newGateway();
    const { policyId, resourceId } = await grantAccess(id);
    await gateway.connect();
    await until("the configuration arrives", () => gateway.rules[resourceId] !== undefined);
    let refused = 0;
    gateway.verdict = () => {
      refused += 1;
      return refused === 1 ? reason : "apply";
    };
    await replicas.client.must.patch(`/tenants/policies/${policyId}/deactivate`);
    await until("the rules are gone", () => gateway.rules[resourceId] === undefined);
    expect(gateway.seen).toMatchObject({ wholes: 2, differences: 1 });
  });
});

test("while a configuration is unanswered no other is sent, and then only the newest", async () => {
  const { id, gateway } = await newGateway();
  const { policyId, resourceId } = await grantAccess(id);
  await gateway.connect();
  await until("the configuration arrives", () => gateway.rules[resourceId] !== undefined);
  const before = gateway.seen;
  let unanswered: Parameters<SimulatedGateway["verdict"]>[0] | undefined;
  gateway.verdict = (name) => {
    unanswered = name;
    return undefined;
  };
  await replicas.client.must.patch(`/tenants/policies/${policyId}/deactivate`);
  await until("one is on its way", () => unanswered !== undefined);
  for (let count = 0; count < 3; count += 1) {
    await replicas.client.must.post(`/tenants/policies/${policyId}/reactivate`);
    await replicas.client.must.patch(`/tenants/policies/${policyId}/deactivate`);
  }
  await grantAccess(id);
  expect(gateway.seen.differences).toBe(before.differences + 1);
  gateway.verdict = () => "apply";
  if (unanswered !== undefined) {
    gateway.send({ type: "failed", configuration: unanswered, reason: "not_applied", message: "too slow" });
  }
  await until(
    "the newest arrives",
    () => Object.keys(gateway.rules).length === 1 && gateway.rules[resourceId] === undefined,
  );
  // Nine changes need few differences: the one in flight, and the desired state at its answer, in one piece or two.
  expect(gateway.seen.differences).toBeLessThanOrEqual(before.differences + 3);
});

test("of two connections of a gateway the later one stays, on one replica and across two", async () => {
  const { id, gateway } = await newGateway();
  await gateway.connect();
  await until("the configuration arrives", () => gateway.content !== undefined);
  const { token, publicKey } = gateway;
  const same = new SimulatedGateway({ url: replicas.url, gatewayId: id, token, publicKey });
  replicas.opened.push(same);
  await same.connect();
  await until("the first is told", () => gateway.goodbyes.length === 1 && same.content !== undefined);
  expect(gateway.goodbyes).toEqual([expect.objectContaining({ reason: "replaced", retryAfterMs: 30_000 })]);
  const elsewhere = new SimulatedGateway({ url: replicas.otherUrl, gatewayId: id, token, publicKey });
  replicas.opened.push(elsewhere);
  await elsewhere.connect();
  await until("it is the current one", () => elsewhere.content !== undefined);
  same.heartbeat();
  // It may hear that it was replaced before that.
  await until("it is answered", () => same.answers.length === 1 || same.goodbyes.length === 1);
  await replicas.server.links.flush();
  await until("the second is told", () => same.goodbyes.length === 1);
  expect(elsewhere.isOpen).toBe(true);
});

test("the handshakes of a gateway set devices to Online", async () => {
  const { id, gateway } = await newGateway();
  await grantAccess(id);
  const device = await make("device", replicas.client);
  expect(device.status).toBe("Offline");
  await gateway.connect();
  await until("the configuration arrives", () => peersOf(gateway).length === 1);
  const [peer = ""] = peersOf(gateway);
  const at = Date.now() - 1_000;
  gateway.heartbeat({
    load: 0.25,
    peers: [{ peer, lastHandshake: at, address: "203.0.113.7", receivedBytes: 1, sentBytes: 1 }],
  });
  await until("it is answered", () => gateway.answers.length === 1);
  await replicas.server.links.flush();
  const shown = (await replicas.client.get(`/tenants/devices/${device.id}`)).body;
  expect(shown).toMatchObject({ status: "Online", lastConnection: new Date(at).toISOString() });
  expect(shown.user.lastConnection).toBe(shown.lastConnection);
  expect(await rowOf(id)).toMatchObject({ load: 0.25 });
});

test("reports on devices that are not peers are ignored, and handshakes in the future count as now", async () => {
  const { id, gateway } = await newGateway();
  const stranger = await newGateway();
  await grantAccess(id);
  const device = await make("device", replicas.client);
  await Promise.all([gateway.connect(), stranger.gateway.connect()]);
  await until("the configuration arrives", () => peersOf(gateway).length === 1);
  await until("the stranger has one", () => stranger.gateway.content !== undefined);
  expect(peersOf(stranger.gateway)).toEqual([]);
  const [peer = ""] = peersOf(gateway);
  const told = { peer, address: "203.0.113.7", receivedBytes: 1, sentBytes: 1 };
  const tell = async (by: SimulatedGateway, lastHandshake: number) => {
    by.heartbeat({ peers: [{ ...told, lastHandshake }] });
    await until("it is answered", () => by.answers.length === 1);
    await replicas.server.links.flush();
    return (await replicas.client.get(`/tenants/devices/${device.id}`)).body;
  };
  expect(await tell(stranger.gateway, Date.now() - 1_000)).not.toHaveProperty("lastConnection");
  const before = Date.now();
  const shown = await tell(gateway, before + 3 * 3_600_000);
  expect(shown.status).toBe("Online");
  expect(Date.parse(shown.lastConnection)).toBeGreaterThanOrEqual(before);
  expect(Date.parse(shown.lastConnection)).toBeLessThanOrEqual(Date.now());
});

test("texts that PostgreSQL cannot store do not block the storage of a batch", async () => {
  const { id, gateway } = await newGateway();
  const sent: Parameters<SimulatedGateway["verdict"]>[0][] = [];
  gateway.verdict = (name) => {
    sent.push(name);
    return undefined;
  };
  await gateway.connect({ agentVersion: "1\u0000" });
  await until("the configuration arrives", () => sent.length === 1);
  gateway.heartbeat({ warnings: ["a\u0000b", "half of \ud83d"] });
  const [configuration] = sent;
  if (configuration === undefined) throw new Error("it just arrived");
  gateway.send({ type: "failed", configuration, reason: "not_applied", message: "no\u0000 \ud83d" });
  await until("the reason is there", async () => (await statusOf(id)) === "ERROR");
  expect((await replicas.client.get(`/tenants/gateways/${id}`)).body).toMatchObject({
    agentVersion: "1\ufffd",
    error: "not_applied: no\ufffd \ufffd",
  });
  await replicas.server.links.flush();
  expect((await replicas.client.get(`/tenants/gateways/${id}/sync`)).body.warnings).toEqual([
    "a\ufffdb",
    "half of \ufffd",
  ]);
});

describe("a connection is ended at once", () => {
  async function linked() {
    const made = await newGateway({ url: replicas.otherUrl });
    await made.gateway.connect();
    await until("the configuration arrives", () => made.gateway.content !== undefined);
    return made;
  }
  const goodbye = (reason: string) => [expect.objectContaining({ reason })];

  test("when its gateway is deleted", async () => {
    const { id, gateway } = await linked();
    expect((await replicas.client.delete(`/tenants/gateways/${id}`)).status).toBe(204);
    await until("it is told", () => gateway.goodbyes.length === 1);
    expect(gateway.goodbyes).toEqual(goodbye("gateway_gone"));
    expect(await gateway.connect()).toBe(401);
  });

  test("when its token is rotated without a grace period, and not with one", async () => {
    const { id, gateway } = await linked();
    const rotated = await replicas.client.post(`/tenants/gateways/${id}/rotate-token`, { graceSeconds: 3600 });
    expect(rotated.status).toBe(200);
    gateway.heartbeat();
    await until("it is answered", () => gateway.answers.length === 1);
    expect(gateway.goodbyes).toEqual([]);
    await replicas.client.must.post(`/tenants/gateways/${id}/rotate-token`, { graceSeconds: 0 });
    await until("it is told", () => gateway.goodbyes.length === 1);
    expect(gateway.goodbyes).toEqual(goodbye("token_revoked"));
    expect(await gateway.connect()).toBe(401);
  });

  test("when its tenant is deleted", async () => {
    const { gateway } = await linked();
    expect((await replicas.server.operator.delete(`/operator/tenants/${replicas.tenant.id}`)).status).toBe(204);
    await until("it is told", () => gateway.goodbyes.length === 1);
    expect(gateway.goodbyes).toEqual(goodbye("gateway_gone"));
  });
});

/** A configuration that no replica knows. */
function unknown(generation: number) {
  const digits = "0".repeat(64);
  return { generation, issuedAt: Date.now() + 60_000, hash: digits, root: digits, expiresAt: Date.now() + 3_600_000 };
}
