/**
 * Arbitrary JSON in requests to every operation. The answer is never a 5xx, and text that cannot be stored gets 400.
 */
import { isWrite, type Operation } from "@gatehouse/contract/operation";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { budgeted } from "../../../../../test/budget.ts";
import {
  callerOf,
  createWorld,
  nilUuid,
  type OperationRequest,
  pathOf,
  type TestWorld,
} from "../operations/operation-case.ts";
import { namedCases } from "../operations/operation-cases.ts";
import { sharedTestServer, type TestReply } from "../test-server.ts";

/** Duration of the random bodies, in milliseconds. */
const fuzzForMs = budgeted(60_000);
const bodyCases = namedCases.filter(({ operation }) => operation.method !== "GET");
const listCases = namedCases.filter(({ operation }) => operation.success.kind === "page");

let world: TestWorld;

beforeAll(async () => {
  world = await createWorld(await sharedTestServer());
});

interface Sent extends Omit<OperationRequest, "query"> {
  readonly query?: string;
  readonly headers?: Record<string, string>;
}

function send(operation: Operation, { parameters, body, query = "", headers }: Sent): Promise<TestReply> {
  return callerOf(operation, world.ours).send(operation.method, pathOf(operation, parameters) + query, body, headers);
}

/** The paths of all texts inside a value, as lists of keys. */
function textsIn(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value === "string") return [path];
  if (value === null || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([key, item]) => textsIn(item, [...path, key]));
}

/** The value with the item at the path replaced. */
function replaced(value: unknown, [key, ...rest]: readonly string[], by: unknown): unknown {
  if (key === undefined) return by;
  const holder: Record<string, unknown> = value !== null && typeof value === "object" ? { ...value } : {};
  const changed = { [key]: replaced(holder[key], rest, by) };
  return Array.isArray(value) ? Object.assign([...value], changed) : { ...holder, ...changed };
}

/** The paths of the texts in a valid request, and of the optional texts that it could contain. */
function placesOfTexts({ body: schema }: Operation, body: unknown): (readonly string[])[] {
  const facts = [
    ["attributes", "fact"],
    ["posture", "fact"],
  ].filter(([name = ""]) => fieldsOf(schema).includes(name));
  return [...textsIn(body), ...fieldsOf(schema).map((name) => [name]), ...facts];
}

/** The fields that a body may have. */
function fieldsOf(schema: Operation["body"]): readonly string[] {
  return schema !== undefined && "properties" in schema ? Object.keys(schema.properties as object) : []; // JSON Schema
}

describe.each(bodyCases)("$id", ({ operation, prepare }) => {
  // No request of these tests changes a record, so all of them use the same ones.
  let prepared: ReturnType<typeof prepare> | undefined;
  const given = () => {
    prepared ??= prepare(world.ours);
    return prepared;
  };

  test("stores no text with a zero byte, at any position", async () => {
    const { parameters, body } = await given();
    for (const path of placesOfTexts(operation, body)) {
      const reply = await send(operation, { parameters, body: replaced(body, path, "a\u0000b") });
      // An operation that stores nothing may also return a finding about the text.
      expect([400, 422, ...(isWrite(operation) ? [] : [200])], `${path.join("/")}: ${reply.text}`).toContain(
        reply.status,
      );
    }
  });

  test("rejects half of a surrogate pair, at any position", async () => {
    const { parameters, body } = await given();
    for (const path of placesOfTexts(operation, body)) {
      const reply = await send(operation, { parameters, body: replaced(body, path, "\ud800") });
      expect({ status: reply.status, code: reply.body?.code }).toEqual({ status: 400, code: "invalid_json" });
    }
  });

  test.each([
    ["no prototype", '{"__proto__": {"admin": true}}'],
    ["no prototype's constructor", '{"constructor": {"prototype": {"admin": true}}}'],
    ["no name of every object as a field", '{"toString": {}, "hasOwnProperty": {}}'],
    ["no invalid number", '{"name": NaN}'],
    ["nothing after its end", "{} {}"],
    ["no comments", "{/* */}"],
    ["no half of a body", '{"name": "'],
    ["nothing nested a hundred thousand deep", "[".repeat(100_000) + "]".repeat(100_000)],
    ["no object nested a hundred thousand deep", `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`],
  ])("takes %s", async (_what, body) => {
    const { parameters } = await given();
    const headers = operation.method === "POST" ? { "idempotency-key": crypto.randomUUID() } : {};
    const reply = await send(operation, { parameters, body, headers });
    expect([400], reply.text).toContain(reply.status);
  });
});

describe("a body's text", () => {
  const path = "/tenants/protocols";
  const post = (payload: string | Buffer) =>
    world.server.app.inject({
      method: "POST",
      url: path,
      headers: { apikey: world.ours.tenant.key, "content-type": "application/json" },
      payload,
    });
  const ports = '"networkProtocols":[{"protocol":"TCP","port":"8443"}]';

  test("in an encoding other than UTF-8 gets 400", async () => {
    for (const bytes of [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82]]) {
      const reply = await post(
        Buffer.concat([Buffer.from('{"name":"a'), Buffer.from(bytes), Buffer.from(`",${ports}}`)]),
      );
      expect(reply.statusCode).toBe(400);
      expect(reply.json()).toMatchObject({ code: "invalid_json", detail: "The body is not encoded in UTF-8." });
    }
    expect((await post(Buffer.from(`{"name":"sixteen",${ports}}`, "utf16le"))).statusCode).toBe(400);
  });

  test("preserves every character, escaped or not", async () => {
    for (const [written, name] of [
      ["\\ud83d\\uDE00 one", "😀 one"],
      ["😀 two", "😀 two"],
      ["\\\\ud800 three", "\\ud800 three"],
      ["\\\\\\ud83d\\ude00", "\\😀"],
      ["\ufffd\ue000 four", "\ufffd\ue000 four"],
    ]) {
      const reply = await post(`{"name":"${written}",${ports}}`);
      expect(reply.statusCode, reply.body).toBe(201);
      expect(reply.json().name).toBe(name);
    }
  });

  test.each(["\\ud800", "\\udc00", "\\uD83D\\u0041", "\\udE00\\ud83d", "\\\\\\ud800", "\\ud83d \\ude00"])(
    "with %s gets 400",
    async (written) => {
      const reply = await post(`{"name":"${written}",${ports}}`);
      expect(reply.statusCode).toBe(400);
      expect(reply.json()).toMatchObject({ code: "invalid_json" });
    },
  );

  test("with a duplicate field uses the last one, like JSON parsers", async () => {
    const reply = await post(`{"name":"first","name":"last",${ports}}`);
    expect(reply.json().name).toBe("last");
  });
});

describe.each(listCases)("$id", ({ operation, prepare }) => {
  const { success } = operation;
  const fields = success.kind === "page" ? Object.keys(success.list.filter) : [];
  const texts = [
    "",
    "%",
    "%00",
    "a%00b",
    "%ED%A0%80",
    "%FF",
    "\\",
    "%25%5C",
    "'",
    "%22",
    "{}",
    "{1,2}",
    "null",
    "NaN",
    "-1",
    "9".repeat(40),
    "1e999",
    "2026-02-30",
    "0000-01-01",
    "9999-12-31T23:59:59-10:00",
    "2026-01-01T00:00:00%2B23:59",
    "infinity",
    nilUuid,
    nilUuid.replaceAll("0", "f"),
    `${nilUuid},${nilUuid}`,
    "%25".repeat(300),
    "é".repeat(1000),
  ];

  test("answers every filter, with any value, with a page or 400", async () => {
    const { parameters } = await prepare(world.ours);
    for (const [field, operator] of fields.flatMap((name) =>
      ["eq", "gt", "ilike", "nin"].map((sign) => [name, sign]),
    )) {
      const queries = texts.map((text) => `?filter[${field}][${operator}]=${text}`);
      const replies = await Promise.all(queries.map((query) => send(operation, { parameters, query })));
      for (const [index, reply] of replies.entries()) {
        expect([200, 400], `${queries[index]}: ${reply.text}`).toContain(reply.status);
      }
    }
  });

  test("answers every order, at any offset, with a page", async () => {
    const { parameters, query: needed = {} } = await prepare(world.ours);
    const sorts = success.kind === "page" ? success.list.sort : [];
    // Some lists have only a fixed order.
    const orders = sorts.length === 0 ? [] : [...sorts, ...sorts.map((field) => `-${field}`), sorts.join(",")];
    for (const order of [{}, ...orders.map((sort) => ({ sort }))]) {
      const query = `?${new URLSearchParams({ ...needed, ...order, limit: "100", offset: "1000000000" })}`;
      expect((await send(operation, { parameters, query })).status, query).toBe(200);
    }
  });
});

describe("random bodies", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 50 }),
    fc.string({ maxLength: 2000 }),
    fc.uuid(),
    fc.ipV4(),
    fc.ipV6(),
    fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
    fc.constantFrom("", " ", "\u0000", "\ud800", "\u202e", "a\nb", nilUuid, "10.0.0.0/8", "*.example.com", "::", "-"),
    fc.constantFrom("PRIVATE", "INTERNET", "TCP", "ICMP", "OWNER", "true", "1 / 0 == 1", "user.email == ''", "65536"),
  );
  const number = fc.oneof(
    fc.integer(),
    fc.double(),
    fc.constantFrom(0, -0, -1, 2 ** 31, 2 ** 53, 1e308, 5e-324, Number.POSITIVE_INFINITY),
  );
  const value = fc.oneof(
    text,
    number,
    fc.boolean(),
    fc.constant(null),
    fc.array(text, { maxLength: 3 }),
    fc.jsonValue(),
  );

  /** A value with one or two changes, because nearly valid input reaches more code than arbitrary input. */
  function mutated(operation: Operation, original: unknown): fc.Arbitrary<unknown> {
    const places = [...placesIn(original), ...placesOfTexts(operation, original)];
    const change = fc.record({ place: fc.constantFrom(...places), by: value });
    return fc
      .array(change, { minLength: 1, maxLength: 2 })
      .map((changes) => changes.reduce((body, { place, by }) => replaced(body, place, by), original));
  }

  function placesIn(original: unknown, path: readonly string[] = []): (readonly string[])[] {
    if (original === null || typeof original !== "object") return [path];
    const inside = Object.entries(original).flatMap(([key, item]) => placesIn(item, [...path, key]));
    return [path, [...path, "0"], ...inside];
  }

  /** Serializes like `JSON.stringify`, but writes infinite numbers as numbers that are too large to parse. */
  const written = (body: unknown) =>
    JSON.stringify(body, (_key, item) => (item === Number.POSITIVE_INFINITY ? "∞" : item)).replaceAll('"∞"', "1e999");

  test(`never make an operation answer 5xx within ${fuzzForMs / 1000} s`, async () => {
    const prepared = new Map<string, OperationRequest>();
    for (const { id, prepare } of bodyCases) prepared.set(id, await prepare(world.ours));
    const requests = fc.constantFrom(...bodyCases).chain(({ id, operation }) => {
      const body = prepared.get(id)?.body ?? {};
      const bodies = fc.oneof({ weight: 4, arbitrary: mutated(operation, body) }, { weight: 1, arbitrary: value });
      return fc.record({ id: fc.constant(id), text: bodies.map(written) });
    });
    const operationOf = new Map(bodyCases.map(({ id, operation }) => [id, operation]));
    const property = fc.asyncProperty(requests, async ({ id, text }) => {
      const operation = operationOf.get(id);
      if (operation === undefined) throw new Error(`no case is called ${id}`);
      const reply = await send(operation, { parameters: prepared.get(id)?.parameters, body: text });
      expect(reply.status, reply.text).toBeLessThan(500);
    });
    await fc.assert(property, {
      numRuns: 100_000,
      interruptAfterTimeLimit: fuzzForMs,
      markInterruptAsFailure: false,
      endOnFailure: true,
    });
  });
});
