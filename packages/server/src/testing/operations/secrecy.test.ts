/** No secret or email address in requests and responses is ever logged, traced or counted. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createLog } from "../../platform/log.ts";
import { secretForms } from "../secret-forms.ts";
import type { TestReply } from "../test-server.ts";
import { startTestServer, TestClient } from "../test-server.ts";
import { type Actors, callerOf, createWorld, type TestWorld, targetOf } from "./operation-case.ts";
import { operationCases } from "./operation-cases.ts";

const written: string[] = [];
/** The requests and responses. */
const exchanged: string[] = [];
let world: TestWorld;

beforeAll(async () => {
  const log = createLog("trace", { write: (line) => written.push(line) });
  world = await createWorld(await startTestServer({ settings: { log, metrics: true } }));
});
afterAll(() => world.server.close());

const emails = /[a-z0-9.+_-]+@[a-z0-9-]+(?:\.[a-z0-9-]+)+/gi;
const secrets = new RegExp(secretForms, "g");
/** Public keys, such as WireGuard keys. They are not secret but must not be logged either. */
const publicKeys = /"publicKey":"([^"]+)"/g;

function sensitive(text: string): string[] {
  return [
    ...[...text.matchAll(emails)].map(([email]) => email),
    ...[...text.matchAll(secrets)].map(([secret]) => secret),
    ...[...text.matchAll(publicKeys)].map(([, key = ""]) => key),
  ];
}

test("no operation leaks any of them, whether it succeeds or fails", async () => {
  const actors: Actors = world.ours;
  const spied = spyOn(actors);
  for (const { operation, prepare } of operationCases) {
    const request = await prepare(spied);
    const path = targetOf(operation, request);
    const client = callerOf(operation, spied);
    const found = sensitive(JSON.stringify(request.body ?? {}))[0] ?? "ann@example.com";
    // Sends a value again in other places: as a search, and as another kind of input than expected.
    await client.send(
      operation.method,
      `${path}?filter[email]=${encodeURIComponent(found)}&unknown=${found}`,
      undefined,
    );
    await client.send(operation.method, path, { unknown: found }, { "idempotency-key": `key-of-${found}` });
    await client.send(operation.method, path, request.body);
  }
  const given = new Set([
    ...exchanged.flatMap(sensitive),
    actors.tenant.key,
    world.server.operatorKey,
    "owner@example.com",
  ]);
  expect(given.size).toBeGreaterThan(operationCases.length / 2);
  const everything = `${written.join("\n")}\n${await world.server.metrics?.text()}`;
  expect(written.length).toBeGreaterThan(3 * operationCases.length);
  for (const value of given) expect(everything.includes(value), `${value.slice(0, 20)}… was logged`).toBe(false);
  expect(everything.match(emails)).toBeNull();
  expect(everything.match(secrets)).toBeNull();
});

/** The same actors, with clients that record requests and replies. */
function spyOn({ tenant, operator, person, server }: Actors): Actors {
  const noting = (client: TestClient): TestClient => {
    const spy: TestClient = Object.create(client);
    spy.send = async (method, path, body, headers): Promise<TestReply> => {
      const reply = await TestClient.prototype.send.call(client, method, path, body, headers);
      exchanged.push(JSON.stringify(body ?? null), reply.text);
      return reply;
    };
    return Object.defineProperty(spy, "must", { get: () => noting(client.must) });
  };
  return {
    tenant: { ...tenant, client: noting(tenant.client) },
    operator: noting(operator),
    person: { ...person, client: noting(person.client) },
    server,
  };
}
