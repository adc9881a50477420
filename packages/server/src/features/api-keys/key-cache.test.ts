import { afterEach, beforeEach, expect, test } from "vitest";
import type { Database } from "../../platform/db/database.ts";
import type { OutboxEntry } from "../../platform/outbox/outbox.queries.ts";
import type { OutboxFollower, OutboxSubscriber } from "../../platform/outbox/outbox-follower.ts";
import { hashToken } from "../../platform/secrets/tokens.ts";
import { TestClock } from "../../testing/test-clock.ts";
import type { PresentedKeyRow } from "./api-keys.queries.ts";
import { KeyCache } from "./key-cache.ts";

const key = "some key of the tenant";
const tenantId = "01890000-0000-7000-8000-000000000001";
const otherTenantId = "01890000-0000-7000-8000-000000000002";

/** A pending query. */
interface Question {
  readonly hash: string;
  answer(row: PresentedKeyRow | undefined): void;
}

let clock: TestClock;
let questions: Question[];
let currentAsOf: number;
let subscriber: OutboxSubscriber;
let cache: KeyCache<{ readonly tenantId: string; readonly name: string }>;

beforeEach(() => {
  clock = new TestClock();
  questions = [];
  currentAsOf = 0;
  const database = {
    snapshot: (scope: { readonly keyHash: string }) =>
      new Promise((resolve) => {
        questions.push({ hash: scope.keyHash, answer: (row) => resolve(row === undefined ? [] : [row]) });
      }),
  } as unknown as Database; // the only method that the cache calls
  const follower = {
    subscribe: (given: OutboxSubscriber) => {
      subscriber = given;
    },
    get currentAsOf() {
      return currentAsOf;
    },
  } as unknown as OutboxFollower; // as above
  cache = new KeyCache({
    database,
    follower,
    clock,
    prepare: ({ tenant_id, name }) => ({ tenantId: tenant_id, name }),
  });
});
afterEach(() => expect(questions).toEqual([]));

function rowNamed(name: string): PresentedKeyRow {
  return { tenant_id: tenantId, id: tenantId, name, permissions: [], source_ips: [], expires_at: null };
}

function answerNext(row: PresentedKeyRow | undefined): void {
  const question = questions.shift();
  if (question === undefined) throw new Error("the cache did not ask");
  question.answer(row);
}

function news(type: string, tenant = tenantId): OutboxEntry {
  return { tenantId: tenant, generation: 1, changes: [{ type, id: tenantId, change: "deleted" }] };
}

async function remember(name: string): Promise<void> {
  const found = cache.find(key);
  answerNext(rowNamed(name));
  expect(await found).toMatchObject({ name });
}

test("queries contain the key's SHA-256, never the key", async () => {
  const found = cache.find(key);
  expect(questions[0]?.hash).toBe(hashToken(key).toString("hex"));
  answerNext(undefined);
  expect(await found).toBeUndefined();
});

test("a cached key is found without a query, and without waiting", async () => {
  await remember("first");
  expect(cache.find(key)).toMatchObject({ name: "first" });
});

test("an unknown key causes a query each time", async () => {
  for (let count = 0; count < 2; count += 1) {
    const found = cache.find(key);
    answerNext(undefined);
    expect(await found).toBeUndefined();
  }
});

test.each(["api-key", "tenant"])("a changed %s causes new queries for the tenant's keys", async (type) => {
  await remember("first");
  subscriber.changed(news(type));
  const found = cache.find(key);
  answerNext(undefined);
  expect(await found).toBeUndefined();
});

test("changes to other records and other tenants have no effect", async () => {
  await remember("first");
  subscriber.changed(news("resource"));
  subscriber.changed(news("api-key", otherTenantId));
  expect(cache.find(key)).toMatchObject({ name: "first" });
});

test("missed changes cause new queries for every key", async () => {
  await remember("first");
  subscriber.missed();
  const found = cache.find(key);
  answerNext(undefined);
  expect(await found).toBeUndefined();
});

test("a row that was read before the revocation and arrives after it is not cached", async () => {
  const found = cache.find(key);
  subscriber.changed(news("api-key"));
  answerNext(rowNamed("revoked meanwhile"));
  expect(await found).toMatchObject({ name: "revoked meanwhile" });

  const again = cache.find(key);
  answerNext(undefined);
  expect(await again).toBeUndefined();
});

test("a key is trusted only while the outbox is current, and not a second longer", async () => {
  await remember("first");
  clock.advance(60_000);
  currentAsOf = 60_000;
  expect(cache.find(key)).toMatchObject({ name: "first" });

  clock.advance(999);
  const found = cache.find(key);
  answerNext(undefined);
  expect(await found).toBeUndefined();
});

test("requests share a recent query, but not one that hangs", async () => {
  const first = cache.find(key);
  expect(cache.find(key)).toBe(first);
  clock.advance(999);
  const later = cache.find(key);
  expect(questions).toHaveLength(2);
  answerNext(rowNamed("as it was"));
  answerNext(undefined);
  expect(await first).toMatchObject({ name: "as it was" });
  expect(await later).toBeUndefined();
});
