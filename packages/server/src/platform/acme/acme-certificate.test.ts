import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createSecureContext } from "node:tls";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { acmeFinding, checkDatabase } from "../../doctor/database-checks.queries.ts";
import { firstCertificate, secondCertificate, unreadableCertificate } from "../../testing/certificates.ts";
import { TestClock } from "../../testing/test-clock.ts";
import { createDatabase, type TestDatabase } from "../../testing/test-database.ts";
import { recentWarnings, testLog } from "../../testing/test-log.ts";
import { startTestServer } from "../../testing/test-server.ts";
import { until } from "../../testing/until.ts";
import { Database } from "../db/database.ts";
import { createSecretBox } from "../secrets/master-key.ts";
import { AcmeCertificate } from "./acme-certificate.ts";
import { acmeTasks } from "./acme-tasks.ts";
import type { AcmeOrder, OrderedCertificate } from "./order-certificate.ts";

const yearMs = 365 * 24 * 60 * 60_000;
const minuteMs = 60_000;
const masterKey = Buffer.alloc(32, 7);
let own: TestDatabase;
let database: Database;
let clock: TestClock;
let host: string;
let orders: AcmeOrder[];
let hosts = 0;

beforeAll(async () => {
  own = await createDatabase();
  database = new Database({ connection: own.connection, poolSize: 4 });
});
beforeEach(() => {
  clock = new TestClock();
  hosts += 1;
  host = `host-${hosts}.example.com`;
  orders = [];
});
afterAll(async () => {
  await database.close();
  await own.drop();
});

const directoryUrl = "https://acme.example.com/directory";
const issued = ({ cert, key }: { cert: string; key: string }): OrderedCertificate => ({
  certificate: cert,
  privateKey: key,
  notBefore: clock.now(),
  notAfter: new Date(clock.now().getTime() + yearMs),
});

async function replica(
  answer: () => Promise<OrderedCertificate>,
  limits: { readonly deadlineMs?: number } = {},
): Promise<AcmeCertificate> {
  const opened = await AcmeCertificate.open({
    directoryUrl,
    host,
    contact: undefined,
    challengeType: "http-01",
    database,
    box: createSecretBox(masterKey, "acme-key"),
    clock,
    log: testLog,
    settleMs: 0,
    ...limits,
    order: (order) => {
      orders.push(order);
      return answer();
    },
  });
  opened.listen();
  return opened;
}

/** Runs all tasks once, as the server does every few seconds. */
async function run({ tasks }: AcmeCertificate): Promise<void> {
  for (const task of tasks) await task.run();
}

const certOf = ({ pair }: AcmeCertificate) => pair.cert.toString();

test("one of several replicas orders, and all use the certificate", async () => {
  const replicas = await Promise.all([1, 2, 3].map(() => replica(async () => issued(firstCertificate))));
  await Promise.all(replicas.map(run));
  await Promise.all(replicas.map(run));
  expect(orders).toHaveLength(1);
  expect(replicas.map(certOf)).toEqual(replicas.map(() => firstCertificate.cert));
  expect(new Set(replicas.map(({ pair }) => pair.key.toString()))).toEqual(new Set([firstCertificate.key]));
});

test("a server that does not listen yet orders nothing", async () => {
  const replicaOf = await replica(async () => issued(firstCertificate));
  const early = await AcmeCertificate.open({
    ...{ directoryUrl, host, contact: undefined, challengeType: "http-01", database, clock, log: testLog },
    box: createSecretBox(masterKey, "acme-key"),
    order: () => expect.fail("ordered"),
  });
  await run(early);
  await run(replicaOf);
  expect(orders).toHaveLength(1);
});

test("the certificate is renewed in the last third of its validity period, and not before", async () => {
  let next: { cert: string; key: string } = firstCertificate;
  const server = await replica(async () => issued(next));
  const pairs: string[] = [];
  server.onReplaced(({ cert }) => pairs.push(cert.toString()));
  await run(server);
  next = secondCertificate;
  // The test certificate is valid for 100 years.
  clock.advance(60 * yearMs);
  await run(server);
  expect(orders).toHaveLength(1);
  clock.advance(10 * yearMs);
  await run(server);
  expect(pairs).toEqual([firstCertificate.cert, secondCertificate.cert]);
});

test("a failed renewal leaves the certificate, is repeated later each time, and is shown by the doctor", async () => {
  let fails = false;
  const server = await replica(async () => {
    if (fails) throw new Error("the authority\nis closed");
    return issued(firstCertificate);
  });
  await run(server);
  fails = true;
  clock.advance(70 * yearMs);
  await run(server);
  await run(server);
  expect(orders).toHaveLength(2);
  clock.advance(5 * minuteMs);
  await run(server);
  clock.advance(5 * minuteMs);
  await run(server);
  expect(orders).toHaveLength(3);
  expect(certOf(server)).toBe(firstCertificate.cert);

  const found = await checkDatabase(own.connection, { acme: { directoryUrl, host } });
  expect(found.find(({ check }) => check === "tls")).toMatchObject({
    status: "warning",
    message: expect.stringContaining("The last order failed: the authority is closed."),
  });
  fails = false;
  clock.advance(5 * minuteMs);
  await run(server);
  const renewed = await checkDatabase(own.connection, { acme: { directoryUrl, host }, now: clock.now() });
  expect(renewed.find(({ check }) => check === "tls")?.status).toBe("ok");
});

test("a failed order is repeated at once after the clock was far ahead", async () => {
  let fails = true;
  const server = await replica(async () => {
    if (fails) throw new Error("the certificate of the authority has expired");
    return issued(firstCertificate);
  });
  clock.correct(yearMs);
  await run(server);
  fails = false;
  await run(server);
  expect(orders).toHaveLength(1);
  clock.correct(-yearMs);
  await run(server);
  expect(certOf(server)).toBe(firstCertificate.cert);
});

test("an order of a replica that is lost is taken over after its clock was far ahead", async () => {
  const first = await replica(never);
  clock.correct(yearMs);
  const firstRun = run(first);
  await until("the first order runs", () => orders.length === 1);
  clock.correct(-yearMs);
  const second = await replica(async () => issued(firstCertificate));
  await run(second);
  expect(certOf(second)).toBe(firstCertificate.cert);
  first.stop();
  await firstRun;
});

test("an order of a replica whose clock is half an hour ahead is not taken over", async () => {
  let finish: (certificate: OrderedCertificate) => void = () => undefined;
  const first = await replica(() => new Promise((resolve) => (finish = resolve)));
  clock.correct(30 * minuteMs);
  const firstRun = run(first);
  await until("the first order runs", () => orders.length === 1);
  clock.correct(-30 * minuteMs);
  await run(await replica(async () => issued(secondCertificate)));
  expect(orders).toHaveLength(1);
  finish(issued(firstCertificate));
  await firstRun;
  expect(certOf(first)).toBe(firstCertificate.cert);
});

test("a clock to which each new certificate is due for renewal orders one a day", async () => {
  // The test certificate is valid for 100 years.
  clock.correct(70 * yearMs);
  const servers = await Promise.all([1, 2].map(() => replica(async () => issued(firstCertificate))));
  for (const server of [...servers, ...servers]) await run(server);
  const restarted = await replica(async () => issued(firstCertificate));
  await run(restarted);
  expect(orders).toHaveLength(1);
  clock.advance(24 * 60 * minuteMs);
  await run(restarted);
  expect(orders).toHaveLength(2);
});

test("an order of a replica that is lost is taken over after 15 minutes", async () => {
  let lost: (error: Error) => void = () => undefined;
  const first = await replica(() => new Promise((_resolve, reject) => (lost = reject)));
  const firstRun = run(first);
  await until("the first order runs", () => orders.length === 1);
  const second = await replica(async () => issued(firstCertificate));
  await run(second);
  expect(certOf(second)).not.toBe(firstCertificate.cert);
  clock.advance(15 * minuteMs);
  await run(second);
  expect(certOf(second)).toBe(firstCertificate.cert);
  lost(new Error("late"));
  await firstRun;
  const found = await checkDatabase(own.connection, { acme: { directoryUrl, host }, now: clock.now() });
  expect(found.find(({ check }) => check === "tls")?.status).toBe("ok");
});

const unusable: readonly [string, { readonly cert: string; readonly key: string }][] = [
  ["no certificate", { ...firstCertificate, cert: unreadableCertificate }],
  ["an unreadable chain", { ...firstCertificate, cert: firstCertificate.cert + unreadableCertificate }],
  ["another key", { ...firstCertificate, key: secondCertificate.key }],
];

/** Stores a certificate as earlier versions did, whose orders checked less. */
async function storeUnchecked(pair: { readonly cert: string; readonly key: string }): Promise<void> {
  await run(await replica(async () => issued(pair)));
}

test.each(unusable)(
  "a stored certificate with %s does not prevent a start, and is ordered again",
  async (_what, pair) => {
    await storeUnchecked(pair);
    const server = await replica(async () => issued(secondCertificate));
    expect(server.validTo).toBeUndefined();
    expect(() => createSecureContext(server.pair)).not.toThrow();
    expect(recentWarnings()).toMatch(new RegExp(`"level":50.*"host":"${host}".*stored TLS certificate is invalid`));
    await run(server);
    expect(certOf(server)).toBe(secondCertificate.cert);
    expect(orders).toHaveLength(2);
  },
);

test.each([
  ["a valid certificate", firstCertificate, "ok"] as const,
  ...unusable.map((one) => [...one, "problem"] as const),
])("the doctor tries a stored certificate: %s", async (_what, pair, status) => {
  await storeUnchecked(pair);
  const checks = { acme: { directoryUrl, host }, masterKeys: { current: masterKey }, now: clock.now() };
  const found = (await checkDatabase(own.connection, checks)).find(({ check }) => check === "tls");
  expect(found?.status).toBe(status);
  if (status === "problem") expect(found?.message).toContain(`${host} cannot be used: TLS cannot use the certificate`);
});

test("a new certificate with an unreadable chain leaves the current one, and is ordered again", async () => {
  let next: { cert: string; key: string } = firstCertificate;
  const server = await replica(async () => issued(next));
  await run(server);
  clock.advance(70 * yearMs);
  next = { ...secondCertificate, cert: secondCertificate.cert + unreadableCertificate };
  await run(server);
  expect(certOf(server)).toBe(firstCertificate.cert);
  next = secondCertificate;
  await run(server);
  expect(certOf(server)).toBe(secondCertificate.cert);
});

test("a certificate that could not be replaced is replaced later", async () => {
  const server = await replica(async () => issued(firstCertificate));
  server.onReplaced(() => {
    throw new Error("not now");
  });
  await expect(run(server)).rejects.toThrow("not now");
  expect(server.validTo).toBeUndefined();
  server.onReplaced(() => undefined);
  await run(server);
  expect(certOf(server)).toBe(firstCertificate.cert);
  expect(orders).toHaveLength(1);
});

const never = () => new Promise<never>(() => undefined);

test("an order that does not end is a failure, and is repeated later", async () => {
  let answer: () => Promise<OrderedCertificate> = never;
  const server = await replica(() => answer(), { deadlineMs: 1 });
  await run(server);
  expect(orders[0]?.signal.aborted).toBe(true);
  const found = await checkDatabase(own.connection, { acme: { directoryUrl, host }, now: clock.now() });
  expect(found.find(({ check }) => check === "tls")).toMatchObject({
    status: "problem",
    message: expect.stringContaining("the authority did not issue a certificate within 0.001 s"),
  });
  expect(recentWarnings()).toContain("did not issue a certificate within");
  await expect(orders[0]?.present({ token: `late-${host}`, keyAuthorization: "late" })).rejects.toThrow("within");

  answer = async () => issued(firstCertificate);
  await run(server);
  expect(orders).toHaveLength(1);
  clock.advance(5 * minuteMs);
  await run(server);
  expect(certOf(server)).toBe(firstCertificate.cert);
});

test("a server that stops abandons its order, which another replica repeats at once", async () => {
  const first = await replica(never);
  const firstRun = run(first);
  await until("the order runs", () => orders.length === 1);
  first.stop();
  await firstRun;
  expect(orders[0]?.signal.aborted).toBe(true);
  await run(first);
  expect(orders).toHaveLength(1);

  const second = await replica(async () => issued(firstCertificate));
  await run(second);
  expect(certOf(second)).toBe(firstCertificate.cert);
});

test("a server that closes does not wait for the authority", async () => {
  const authority = createServer().listen(0, "127.0.0.1");
  await once(authority, "listening");
  const { port } = authority.address() as AddressInfo; // listens on TCP
  const silent = `http://127.0.0.1:${port}/directory`;
  const server = await startTestServer({
    connection: own.connection,
    settings: {
      acme: { directoryUrl: silent, host, contact: undefined, challengeType: "http-01", caFile: undefined },
    },
  });
  server.acme?.listen();
  const asked = once(authority, "request");
  const ordering = server.tasks.get(acmeTasks.order)?.runNow();
  await asked;
  await server.close();
  await ordering;
  authority.close();
  const found = await checkDatabase(own.connection, { acme: { directoryUrl: silent, host } });
  expect(found.find(({ check }) => check === "tls")?.status).toBe("skipped");
});

test("a replica reads certificates and challenges while its own order runs", async () => {
  const first = await replica(never);
  const [reading, ordering] = first.tasks;
  const running = ordering?.run();
  await until("the order runs", () => orders.length === 1);
  clock.advance(15 * minuteMs);
  const second = await replica(async () => {
    await orders[1]?.present({ token: `second-${host}`, keyAuthorization: "proof" });
    await reading?.run();
    expect(first.keyAuthorization(`second-${host}`)).toBe("proof");
    return issued(firstCertificate);
  });
  await run(second);
  await reading?.run();
  expect(certOf(first)).toBe(firstCertificate.cert);
  first.stop();
  await running;
});

test.each([
  ["after 15 minutes", 0, 15],
  ["because its clock was two hours ahead", 120, -120],
])(
  "an order that was taken over %s harms neither the other order nor its certificate",
  async (_when, ahead, passed) => {
    clock.correct(ahead * minuteMs);
    const ends: ((certificate: OrderedCertificate) => void)[] = [];
    const proofsOf = async (name: string) => {
      const { present } = orders.at(-1) ?? expect.fail("nothing was ordered");
      await present({ token: `${name}-${host}`, keyAuthorization: name });
      return new Promise<OrderedCertificate>((resolve) => ends.push(resolve));
    };
    const first = await replica(() => proofsOf("first"));
    const firstRun = run(first);
    await until("the first order waits", () => ends.length === 1);
    clock.correct(passed * minuteMs);
    const second = await replica(() => proofsOf("second"));
    const secondRun = run(second);
    await until("the second order waits", () => ends.length === 2);

    await expect(orders[0]?.present({ token: `late-${host}`, keyAuthorization: "late" })).rejects.toThrow(
      "taken it over",
    );
    ends[0]?.(issued(firstCertificate));
    await firstRun;
    expect(first.keyAuthorization(`first-${host}`)).toBeUndefined();
    expect(first.keyAuthorization(`second-${host}`)).toBe("second");
    expect([certOf(first), certOf(second)]).not.toContain(firstCertificate.cert);
    ends[1]?.(issued(secondCertificate));
    await secondRun;
    expect(certOf(second)).toBe(secondCertificate.cert);
    const found = await checkDatabase(own.connection, { acme: { directoryUrl, host }, now: clock.now() });
    expect(found.find(({ check }) => check === "tls")?.status).toBe("ok");
  },
);

test("a challenge is known on every replica while the order runs, and on none afterwards", async () => {
  let second: AcmeCertificate | undefined;
  const seen: (string | undefined)[] = [];
  const first = await AcmeCertificate.open({
    ...{ directoryUrl, host, contact: undefined, challengeType: "http-01", database, clock, log: testLog, settleMs: 0 },
    box: createSecretBox(masterKey, "acme-key"),
    order: async ({ present }) => {
      await present({ token: `token-${host}`, keyAuthorization: "proof" });
      if (second !== undefined) await run(second);
      seen.push(first.keyAuthorization(`token-${host}`), second?.keyAuthorization(`token-${host}`));
      return issued(firstCertificate);
    },
  });
  second = await replica(async () => expect.fail("ordered twice"));
  first.listen();
  await run(first);
  await run(second);
  seen.push(first.keyAuthorization(`token-${host}`), second.keyAuthorization(`token-${host}`));
  expect(seen).toEqual(["proof", "proof", undefined, undefined]);
});

test.each([
  [undefined, "skipped"],
  [{ not_before: null, not_after: null, error: "closed", next_attempt_at: null }, "problem"],
  [{ not_before: new Date(0), not_after: new Date(90), error: null, next_attempt_at: null }, "ok"],
  [{ not_before: new Date(0), not_after: new Date(60), error: null, next_attempt_at: null }, "warning"],
  [{ not_before: new Date(0), not_after: new Date(50), error: null, next_attempt_at: null }, "problem"],
])("the doctor reports the state %#", (state, status) => {
  expect(acmeFinding(state, "gatehouse.example.com", new Date(50)).status).toBe(status);
});
