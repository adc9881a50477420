import type { TargetType } from "@gatehouse/contract/event-types";
import { isWrite, type Operation } from "@gatehouse/contract/operation";
import { setOperations } from "@gatehouse/contract/operations/change-set-operations";
import { beforeAll, describe, expect, test } from "vitest";
import { concernsAccess } from "../../platform/tenancy/access-ledger.ts";
import { secretForms } from "../secret-forms.ts";
import { sharedTestServer, type TestReply } from "../test-server.ts";
import { callerOf, createWorld, type TestWorld, targetOf } from "./operation-case.ts";
import { namedCases } from "./operation-cases.ts";
import { eventsOf, generationOf, operatorEventsOf, outboxOf } from "./recorded.queries.ts";

let world: TestWorld;

beforeAll(async () => {
  world = await createWorld(await sharedTestServer());
});

describe.each(namedCases)("$id", ({ operation, prepare }) => {
  const { success, method, parameters, path } = operation;

  test("succeeds as declared, and is recorded as expected", async () => {
    const { database } = world.server;
    const request = await prepare(world.ours);
    const generation = await generationOf(database, world.ours.tenant.id);
    const client = callerOf(operation, world.ours);

    // The client compares status and body with the declaration.
    const reply = await client.send(method, targetOf(operation, request), request.body);

    expect(reply.status, reply.text).toBe(success.status);
    if (success.kind === "record") expect(reply.headers.etag).toMatch(/^"\d+"$/);
    const single = success.kind === "record" || (success.kind === "records" && !Array.isArray(reply.body));
    if (single && success.status === 201 && parameters === undefined) {
      const location = reply.headers.location ?? "none";
      expect(location).toMatch(new RegExp(`^${path}/[0-9a-f-]{36}$`));
      const found = await client.get(location);
      expect(found.status).toBe(200);
      if (success.kind === "record") expect(found.headers.etag).toBe(reply.headers.etag);
    }

    const requestId = reply.headers["x-request-id"] ?? "";
    if (!isWrite(operation)) {
      expect(await eventsOf(database, world.ours.tenant.id, requestId)).toEqual([]);
      expect(await generationOf(database, world.ours.tenant.id)).toBe(generation);
      expect(reply.headers["gatehouse-event"]).toBeUndefined();
      return;
    }
    const traces =
      operation.access === "operator"
        ? await tracesOfOperator(requestId, reply.body?.tenant.id ?? request.parameters?.id, method)
        : await tracesInTenant(requestId, generation);
    expect(traces.events.length).toBeGreaterThan(0);
    for (const event of traces.events) {
      // The parts of a set are recorded as operations of their own.
      if (operation.access === "any-key" || operation.composite === true)
        expect([operation.id, ...setOperations.map(({ id }) => id)]).toContain(event.operation);
      else expect(event.operation).toBe(operation.id);
      expect(event.before ?? event.after, "an entry tells of nothing").not.toBeNull();
    }
    expect(traces.outbox).toHaveLength(1);
    expect(traces.outbox[0]?.changes.length).toBeGreaterThan(0);
    await expectDeclaredEffect(operation, reply, traces);
    expect(JSON.stringify(traces)).not.toMatch(secretForms);
  });
});

/** Expects that operations that can change access declare it, and return the entry whose effect can be read. */
async function expectDeclaredEffect(
  operation: Operation,
  { headers, body }: TestReply,
  { outbox, events }: Traces,
): Promise<void> {
  const { method, access } = operation;
  const changesAccess = operation.changesAccess === true;
  const changed = outbox.flatMap(({ changes }) => changes).map(({ type }) => type);
  const isDeletion = access === "operator" && method === "DELETE";
  const concerned = concernsAccess(changed.map((type) => ({ type }))) && !isDeletion;
  expect(concerned, `it records changes of ${changed.join(", ")}`).toBe(changesAccess);
  const event = headers["gatehouse-event"];
  expect(event !== undefined).toBe(changesAccess);
  if (event === undefined) return;
  // The operator's key cannot read a tenant's record. The new tenant's own key can.
  const reader = access === "operator" ? world.server.client(body.apiKey.key) : world.ours.tenant.client;
  const effect = await reader.get(`/tenants/events/${event}/effect`);
  expect(effect.status, effect.text).toBe(200);
  expect(effect.body.event).toBe(event);
  if (access !== "operator") expect(events.map(({ id }) => id)).toContain(event);
}

interface Traces {
  readonly events: readonly {
    readonly id: string;
    readonly operation: string;
    readonly before: object | null;
    readonly after: object | null;
  }[];
  readonly outbox: readonly { readonly changes: readonly { readonly type: TargetType }[] }[];
}

/**
 * @param before the tenant's generation before the command, which creates the next generation for all of its entries
 */
async function tracesInTenant(requestId: string, before: number): Promise<Traces> {
  const { database } = world.server;
  const { id } = world.ours.tenant;
  const events = await eventsOf(database, id, requestId);
  expect([...new Set(events.map(({ generation }) => generation))]).toEqual([before + 1]);
  expect(await generationOf(database, id)).toBe(before + 1);
  return { events, outbox: await outboxOf(database, id, before + 1) };
}

/**
 * The operator's record and the outbox remain after the tenant is deleted. The outbox contains the tenant's first
 * entry, then its last.
 */
async function tracesOfOperator(requestId: string, tenantId: string, method: string): Promise<Traces> {
  const { database } = world.server;
  const outbox = await outboxOf(database, tenantId, method === "POST" ? 1 : 2);
  const events = await operatorEventsOf(database, requestId);
  for (const event of events) expect(event).toMatchObject({ actor_type: "operator", actor_name: "Operator" });
  return { events, outbox };
}
