/** Limits of mails that are queued. No mail is sent. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { newId } from "../../platform/ids.ts";
import { blocksOthers } from "../../testing/held-locks.queries.ts";
import { HeldTransaction } from "../../testing/held-transaction.ts";
import { uniqueEmail } from "../../testing/operations/test-records.ts";
import { rescanning } from "../../testing/query-plans.queries.ts";
import { countedMailDays, makeMailCountsOlder, sealedLinkTokens } from "../../testing/sign-in-rows.queries.ts";
import { TestClock } from "../../testing/test-clock.ts";
import { createDatabase, type TestDatabase } from "../../testing/test-database.ts";
import { startTestServer, type TestServer, type TestTenant } from "../../testing/test-server.ts";
import { until } from "../../testing/until.ts";
import { lockLinksOfUser } from "../enrolment-links/enrolment-links.queries.ts";
import { claimMails, queueMails, settleMail } from "./mail.queries.ts";

const dayMs = 24 * 60 * 60_000;
const clock = new TestClock();
let own: TestDatabase;
let server: TestServer;
let tenant: TestTenant;

beforeAll(async () => {
  // 18:00 UTC of the next day.
  clock.advance(1.75 * dayMs - (clock.now().getTime() % dayMs));
  own = await createDatabase();
  const smtp = { host: "127.0.0.1", port: 9, tls: "optional", user: undefined, password: undefined } as const;
  const mail = { smtp, from: "gatehouse@example.com", perTenant: 15, intervalMs: dayMs };
  server = await startTestServer({ connection: own.connection, clock, settings: { mail } });
});
beforeEach(async () => {
  tenant = await server.newTenant();
});
afterAll(async () => {
  await server?.close();
  await own?.drop();
});

const invite = async (email: string) => (await tenant.client.must.post("/tenants/users", { email, notify: true })).body;
const sendLink = (userId: string) => tenant.client.post(`/tenants/users/${userId}/enrolment-links`, { notify: true });

test("a mail replaces a pending one of the same user, whose link stays valid", async () => {
  const { id } = await invite(uniqueEmail());
  const { body: latest } = await sendLink(id);
  await invite(uniqueEmail());
  const { body: links } = await tenant.client.must.get(`/tenants/users/${id}/enrolment-links`);
  expect(links).toHaveLength(2);
  expect(links.filter(({ mail }: { mail?: object }) => mail !== undefined)).toMatchObject([{ id: latest.id }]);
  // One token each of two users.
  expect(await sealedLinkTokens(server.database, tenant.id)).toHaveLength(2);
});

test("an address can receive ten emails of a tenant per day, even if its user is created again", async () => {
  const email = uniqueEmail();
  const user = await invite(email);
  for (let mails = 2; mails <= 8; mails++) expect((await sendLink(user.id)).status).toBe(201);
  await tenant.client.must.post(`/tenants/users/${user.id}/invite`, { notify: true });
  await tenant.client.must.delete(`/tenants/users/${user.id}`);
  const { id } = await invite(email.toUpperCase());
  const links = async () => (await tenant.client.must.get(`/tenants/users/${id}/enrolment-links`)).body;
  const before = await links();
  const refused = await sendLink(id);
  expect([refused.status, refused.body.code, refused.headers["retry-after"]]).toEqual([
    429,
    "mail_limit_reached",
    String(6 * 60 * 60),
  ]);
  expect(refused.body.detail).toContain("at most 10 emails per day (UTC). This request would bring the total to 11.");
  expect(await links()).toEqual(before);
  // Without mail, and to others, nothing is refused.
  expect((await tenant.client.post(`/tenants/users/${id}/enrolment-links`)).status).toBe(201);
  await invite(uniqueEmail());
  clock.advance(dayMs / 4);
  expect((await sendLink(id)).status).toBe(201);
  clock.advance(-dayMs / 4);
});

test("spellings of a domain that reach one mailbox are counted together", async () => {
  const domains = ["bücher", "xn--bcher-kva", "ｂücher", "büｃher", "bücｈer", "bücʰer"];
  const invitations = domains.flatMap((domain) =>
    ["example", "eｘample"].map((ending) => ({ email: `ann@${domain}.${ending}`, notify: true })),
  );
  const refused = await tenant.client.post("/tenants/users", invitations.slice(0, 11));
  expect([refused.status, refused.body.code]).toEqual([429, "mail_limit_reached"]);
  expect(refused.body.detail).toContain("at most 10 emails per day (UTC). This request would bring the total to 11.");
  await tenant.client.must.post("/tenants/users", invitations.slice(0, 10));
});

test("a tenant can send a limited number of emails per day, and other tenants are not affected", async () => {
  const invitations = (count: number) => Array.from({ length: count }, () => ({ email: uniqueEmail(), notify: true }));
  await tenant.client.must.post("/tenants/users", invitations(10));
  const refused = await tenant.client.post("/tenants/users", invitations(6));
  expect([refused.status, refused.body.code]).toEqual([429, "mail_limit_reached"]);
  expect(refused.body.detail).toContain("The tenant can send at most 15 emails per day (UTC)");
  await tenant.client.must.post("/tenants/users", invitations(5));
  tenant = await server.newTenant();
  await tenant.client.must.post("/tenants/users", invitations(1));
});

test("concurrent requests neither exceed the limit nor queue two mails for one user", async () => {
  const { id } = await invite(uniqueEmail());
  const replies = await Promise.all(Array.from({ length: 12 }, () => sendLink(id)));
  expect(replies.map(({ status }) => status).sort()).toEqual([...Array(9).fill(201), ...Array(3).fill(429)]);
  expect(await sealedLinkTokens(server.database, tenant.id)).toHaveLength(1);
});

test("sending again does not deadlock with the sender of the former mail", async () => {
  const user = await invite(uniqueEmail());
  const scope = { kind: "tenant", tenantId: tenant.id } as const;
  const attemptId = newId();
  const at = clock.now();
  const [claimed] = await server.database.transaction(scope, ({ query }) =>
    claimMails({ tenantId: tenant.id, query }, { attemptId, now: at, until: new Date(at.getTime() + dayMs), limit: 1 }),
  );
  let settled: Promise<void> | undefined;
  // A transaction that ends in a deadlock is run again.
  let runs = 0;
  // The steps of the command that sends a link again.
  await server.database.transaction(scope, async ({ query }) => {
    runs += 1;
    const tx = { tenantId: tenant.id, query };
    await lockLinksOfUser(tx, user.id);
    const sent = { status: "sent", failures: 0, error: null, nextAttemptAt: null } as const;
    settled ??= server.database.transaction(scope, (other) => {
      runs += 1;
      return settleMail({ ...tx, query: other.query }, { id: claimed?.id ?? "", attemptId }, sent, at);
    });
    await until("the sender waits", () => blocksOthers(tx));
    await queueMails(tx, [{ userId: user.id, email: user.email, linkId: null }], { perTenant: 15, at });
  });
  await settled;
  expect(runs).toBe(2);
  expect((await tenant.client.must.get(`/tenants/users/${user.id}`)).body.mail.status).toBe("pending");
  expect(await sealedLinkTokens(server.database, tenant.id)).toEqual([]);
});

test("a locked count does not block the deletion of other tenants' counts", async () => {
  await invite(uniqueEmail());
  const busy = tenant;
  tenant = await server.newTenant();
  await invite(uniqueEmail());
  for (const { id } of [busy, tenant]) await makeMailCountsOlder(server.database, id);
  const held = await HeldTransaction.begin(
    own.connection,
    "SELECT FROM mail_counts WHERE tenant_id = $1 FOR UPDATE",
    busy.id,
  );
  const clear = async () => server.tasks.get("mail-count-retention")?.runNow();
  const days = async (id: string) => (await countedMailDays(server.database, id)).length;
  try {
    await clear();
    expect([await days(busy.id), await days(tenant.id)]).toEqual([2, 0]);
  } finally {
    await held.end();
  }
  await until("the other counts are deleted", async () => {
    await clear();
    return (await days(busy.id)) === 0;
  });
});

test("the counts of earlier days are deleted, even without another email", async () => {
  await invite(uniqueEmail());
  const all = await countedMailDays(server.database, tenant.id);
  await makeMailCountsOlder(server.database, tenant.id);
  await server.tasks.get("mail-count-retention")?.runNow();
  expect([all.length, await countedMailDays(server.database, tenant.id)]).toEqual([2, []]);
  // A former day of the database, but the current one of the server, which counts.
  clock.advance(-2 * dayMs);
  await invite(uniqueEmail());
  await server.tasks.get("mail-count-retention")?.runNow();
  clock.advance(2 * dayMs);
  expect(await countedMailDays(server.database, tenant.id)).toHaveLength(2);
});

test("a claim has no more mails than its limit, whatever the plan of the query", async () => {
  await tenant.client.must.post(
    "/tenants/users",
    Array.from({ length: 12 }, () => ({ email: uniqueEmail(), notify: true })),
  );
  const tenantId = tenant.id;
  const claimed = await server.database.transaction({ kind: "tenant", tenantId }, async ({ query }) => {
    await query(rescanning);
    const now = clock.now();
    const until = new Date(now.getTime() + dayMs);
    return claimMails({ tenantId, query }, { attemptId: newId(), now, until, limit: 5 });
  });
  expect(claimed).toHaveLength(5);
});
