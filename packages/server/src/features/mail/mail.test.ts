/** Mail through a real SMTP server. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Database } from "../../platform/db/database.ts";
import { databaseUnavailable, TenantShareError } from "../../platform/db/database-errors.ts";
import { createLog } from "../../platform/log.ts";
import { resealSecrets } from "../../platform/secrets/reseal-pass.ts";
import { BrowserPage } from "../../testing/browser-page.ts";
import { deferredMailbox, Exim, eximProblem, refusedMailbox } from "../../testing/exim.ts";
import { HeldTransaction } from "../../testing/held-transaction.ts";
import { unique } from "../../testing/operations/test-records.ts";
import { sealedLinkTokens } from "../../testing/sign-in-rows.queries.ts";
import { TestClock } from "../../testing/test-clock.ts";
import { createDatabase, type TestDatabase } from "../../testing/test-database.ts";
import { startTestServer, type TestServer, type TestTenant, testMasterKey } from "../../testing/test-server.ts";
import { until } from "../../testing/until.ts";
import { VirtualPasskey } from "../../testing/virtual-passkey.ts";
import { MailSender } from "./mail-sender.ts";

const hourMs = 60 * 60_000;
const origin = "http://localhost:8080";

/** A server whose own sender runs for the first time after an hour, and mails of new tenants in it. */
async function mailWorld(clock?: TestClock) {
  const own = await createDatabase();
  const smtp = { host: "127.0.0.1", port: 9, tls: "optional", user: undefined, password: undefined } as const;
  const settings = { mail: { smtp, from: "gatehouse@example.com", perTenant: 100, intervalMs: hourMs } };
  const server = await startTestServer({ connection: own.connection, settings, ...(clock && { clock }) });
  const invite = async (domain: string, count: number) => {
    const emails = Array.from({ length: count }, (_, index) => `person-${index}@${domain}`);
    const { client } = await server.newTenant();
    await client.must.post(
      "/tenants/users",
      emails.map((email) => ({ email, notify: true })),
    );
  };
  const close = async () => {
    await server.close();
    await own.drop();
  };
  return { own, server, invite, close };
}

test("mails of a tenant do not wait for all mails of another one", async () => {
  const own = await createDatabase();
  const smtp = { host: "127.0.0.1", port: 9, tls: "optional", user: undefined, password: undefined } as const;
  // The server's own sender runs for the first time after an hour.
  const settings = { mail: { smtp, from: "gatehouse@example.com", perTenant: 100, intervalMs: hourMs } };
  const server = await startTestServer({ connection: own.connection, settings });
  const invite = async (tenant: TestTenant, emails: readonly string[]) =>
    tenant.client.must.post(
      "/tenants/users",
      emails.map((email) => ({ email, notify: true })),
    );
  await invite(
    await server.newTenant(),
    Array.from({ length: 30 }, (_, index) => `person-${index}@example.com`),
  );
  const other = await server.newTenant();
  const sent: string[] = [];
  const send = async ({ to }: { readonly to: string }) => {
    sent.push(to);
    if (sent.length === 1) await invite(other, ["ann@example.com"]);
    return undefined;
  };
  const log = createLog("silent");
  const { signal } = new AbortController();
  await new MailSender({ runner: server.runner, server: { send }, log, signal, intervalMs: 20 }).run();
  expect(sent).toHaveLength(31);
  expect(sent.indexOf("ann@example.com")).toBeLessThanOrEqual(10);
  await server.close();
  await own.drop();
});

test("slow recipients of one tenant delay only its own mails, on a few connections", async () => {
  const { server, invite, close } = await mailWorld();
  let endSlowness = () => {};
  const slowness = new Promise<void>((resolve) => {
    endSlowness = resolve;
  });
  const sent: string[] = [];
  const sending = new Map<string, number>();
  const most = new Map<string, number>();
  const count = (domain: string, change: number) => {
    const now = (sending.get(domain) ?? 0) + change;
    sending.set(domain, now);
    most.set(domain, Math.max(now, most.get(domain) ?? 0));
  };
  const send = async ({ to }: { readonly to: string }) => {
    const [, domain = ""] = to.split("@");
    for (const name of [domain, "all"]) count(name, 1);
    if (domain !== "quick.example") await slowness;
    for (const name of [domain, "all"]) count(name, -1);
    sent.push(to);
    return undefined;
  };
  const slow = ["slow-1.example", "slow-2.example", "slow-3.example"];
  for (const domain of slow) await invite(domain, 12);
  const log = createLog("silent");
  const { signal } = new AbortController();
  const run = new MailSender({ runner: server.runner, server: { send }, log, signal, intervalMs: 20 }).run();
  await until("the slow mails are being sent", () => slow.every((domain) => (sending.get(domain) ?? 0) > 0));
  await invite("quick.example", 12);
  await until("the other tenant's mails are sent", () => sent.length === 12);
  expect(sent.every((to) => to.endsWith("@quick.example"))).toBe(true);
  endSlowness();
  await run;
  expect(sent).toHaveLength(48);
  for (const domain of slow) expect(most.get(domain)).toBeLessThanOrEqual(5);
  expect(most.get("all")).toBeLessThanOrEqual(20);
  await close();
});

test("a mail that failed while the clock was ahead is sent after the correction", async () => {
  const clock = new TestClock();
  const { server, invite, close } = await mailWorld(clock);
  await invite("example.com", 1);
  const sent: string[] = [];
  let fails = true;
  const send = async ({ to }: { readonly to: string }) => {
    if (fails) return { error: "The server is not reachable.", refused: false };
    sent.push(to);
    return undefined;
  };
  const { signal } = new AbortController();
  const log = createLog("silent");
  const sender = new MailSender({ runner: server.runner, server: { send }, log, signal, intervalMs: 20 });
  clock.correct(20 * hourMs);
  await sender.run();
  fails = false;
  clock.correct(-20 * hourMs);
  await sender.run();
  expect(sent).toEqual(["person-0@example.com"]);
  await close();
});

test("mails that a command has locked are searched once, and sent later", async () => {
  const { own, server, invite, close } = await mailWorld();
  await invite("example.com", 1);
  let searches = 0;
  let claims = 0;
  const database = {
    transaction: (...claim: Parameters<Database["transaction"]>) => {
      claims += 1;
      return server.database.transaction(...claim);
    },
    snapshot: (...search: Parameters<Database["snapshot"]>) => {
      searches += 1;
      return server.database.snapshot(...search);
    },
  } as unknown as Database; // the sender uses no other methods
  const sent: string[] = [];
  const send = async ({ to }: { readonly to: string }) => void sent.push(to);
  const stop = new AbortController();
  const runner = { ...server.runner, database };
  const log = createLog("silent");
  const sender = new MailSender({ runner, server: { send }, log, signal: stop.signal, intervalMs: 20 });
  const held = await HeldTransaction.begin(own.connection, "SELECT FROM mails FOR UPDATE");
  try {
    let hasEnded = false;
    const run = sender.run().finally(() => {
      hasEnded = true;
    });
    await until("the mails are searched", () => hasEnded || searches > 2);
    stop.abort();
    await run;
    expect({ searches, claims }).toEqual({ searches: 2, claims: 1 });
  } finally {
    await held.end();
  }
  const { signal } = new AbortController();
  const later = new MailSender({ runner, server: { send }, log, signal, intervalMs: 20 });
  await until("the mail is sent", async () => {
    await later.run();
    return sent.length === 1;
  });
  await close();
});

test("mails whose results wait for locks leave their connections to others", async () => {
  const { own, server, invite, close } = await mailWorld();
  const busy = Array.from({ length: 6 }, (_, index) => `busy-${index}.example`);
  for (const domain of busy) await invite(domain, 5);
  const sent: string[] = [];
  const send = async ({ to }: { readonly to: string }) => void sent.push(to);
  const { signal } = new AbortController();
  const log = createLog("silent");
  const held = await HeldTransaction.begin(own.connection, "SELECT FROM enrolment_links FOR UPDATE");
  const run = new MailSender({ runner: server.runner, server: { send }, log, signal, intervalMs: 20 }).run();
  try {
    await until("most mails are sent", () => sent.length >= 20);
    await invite("quick.example", 1);
    // Results wait for up to 15 seconds.
    await until("the other tenant's mail is sent", () => sent.includes("person-0@quick.example"), 10_000);
  } finally {
    await held.end();
  }
  await run;
  expect(sent).toHaveLength(31);
  await close();
});

test("the result of an email is stored after an outage, even if the replica is stopping", async () => {
  const { server, invite, close } = await mailWorld();
  await invite("example.com", 1);
  const stop = new AbortController();
  const waits: (number | undefined)[] = [];
  const database = {
    async transaction(...[scope, work]: Parameters<Database["transaction"]>) {
      waits.push("waitMs" in scope ? scope.waitMs : undefined);
      if (waits.length === 2) throw databaseUnavailable(new Error("Connection terminated"));
      if (waits.length === 3) {
        stop.abort();
        throw databaseUnavailable(new TenantShareError());
      }
      return server.database.transaction(scope, work);
    },
    snapshot: server.database.snapshot.bind(server.database),
  } as unknown as Database; // the sender uses no other methods
  const sent: string[] = [];
  const send = async ({ to }: { readonly to: string }) => void sent.push(to);
  const log = createLog("silent");
  const runner = { ...server.runner, database };
  await new MailSender({ runner, server: { send }, log, signal: stop.signal, intervalMs: 20 }).run();
  expect(waits).toEqual([500, 500, 2_000, 2_000]);
  const { signal } = new AbortController();
  await new MailSender({ runner: server.runner, server: { send }, log, signal, intervalMs: 20 }).run();
  expect(sent).toEqual(["person-0@example.com"]);
  await close();
});

test("a search for due mails that fails is repeated while mails are in progress", async () => {
  const own = await createDatabase();
  const smtp = { host: "127.0.0.1", port: 9, tls: "optional", user: undefined, password: undefined } as const;
  const settings = { mail: { smtp, from: "gatehouse@example.com", perTenant: 100, intervalMs: hourMs } };
  const server = await startTestServer({ connection: own.connection, settings });
  const { client } = await server.newTenant();
  await client.must.post("/tenants/users", { email: "ann@example.com", notify: true });
  let searches = 0;
  let finds = false;
  let finishMail = () => {};
  const mail = new Promise<undefined>((resolve) => {
    finishMail = () => resolve(undefined);
  });
  const database = {
    transaction: server.database.transaction.bind(server.database),
    snapshot: (...search: Parameters<Database["snapshot"]>) => {
      searches += 1;
      return searches === 1 || finds ? server.database.snapshot(...search) : Promise.reject(new Error("not searched"));
    },
  } as unknown as Database; // the sender uses no other methods
  const { signal } = new AbortController();
  const runner = { ...server.runner, database };
  const sent: string[] = [];
  const send = ({ to }: { readonly to: string }) => {
    sent.push(to);
    return to.startsWith("ann") ? mail : Promise.resolve(undefined);
  };
  let hasEnded = false;
  const run = new MailSender({ runner, server: { send }, log: createLog("silent"), signal, intervalMs: 1 })
    .run()
    .finally(() => {
      hasEnded = true;
    });
  const failed = expect(run).rejects.toThrow("not searched");
  await until("a second search has failed", () => searches > 2);
  const other = await server.newTenant();
  await other.client.must.post("/tenants/users", { email: "bob@example.com", notify: true });
  finds = true;
  await until("the other tenant's mail is sent", () => sent.length === 2);
  expect(hasEnded).toBe(false);
  finds = false;
  finishMail();
  await failed;
  await server.close();
  await own.drop();
});

if (eximProblem !== undefined) console.warn(`Tests of mail are skipped: ${eximProblem}.`);

describe.skipIf(eximProblem !== undefined)("mail", () => {
  const clock = new TestClock();
  const written: string[] = [];
  const exim = new Exim();
  // A separate database, because servers with other settings would send each other's mails.
  let own: TestDatabase;
  let server: TestServer;
  let tenant: TestTenant;

  beforeAll(async () => {
    [own] = await Promise.all([createDatabase(), exim.start()]);
    const smtp = { host: "127.0.0.1", port: exim.port, tls: "optional", user: undefined, password: undefined } as const;
    const mail = { smtp, from: "gatehouse@example.com", perTenant: 100, intervalMs: 20 };
    const log = createLog("trace", { write: (line) => written.push(line) });
    server = await startTestServer({ connection: own.connection, clock, settings: { mail, log } });
  });
  beforeEach(async () => {
    tenant = await server.newTenant();
  });
  afterAll(async () => {
    await server?.close();
    await Promise.all([exim.remove(), own?.drop()]);
  });

  /** Invites a person by mail. The name of the mailbox starts with `prefix`. */
  async function invite(prefix: string): Promise<{ readonly id: string; readonly mailbox: string }> {
    const mailbox = unique(prefix).replace(/\s/g, "-").toLowerCase();
    const { status, body } = await tenant.client.post("/tenants/users", {
      email: `${mailbox}@example.com`,
      notify: true,
    });
    expect([status, body.status]).toEqual([201, "pending"]);
    return { id: body.id, mailbox };
  }
  const mailOf = async (id: string) => (await tenant.client.must.get(`/tenants/users/${id}`)).body.mail;
  const statusIs = (id: string, status: string) =>
    until(`the mail is ${status}`, async () => (await mailOf(id)).status === status);
  const failedWith = (id: string, pattern: RegExp) =>
    until("the attempt failed", async () => pattern.test((await mailOf(id)).error ?? ""));
  const sealedTokens = () => sealedLinkTokens(server.database, tenant.id);
  /** The token in a mail, whose lines may be broken by quoted-printable. */
  const tokenIn = (mail: string) => /gatehouse_enrol_\w{49}/.exec(mail.replaceAll(/=\r?\n/g, ""))?.[0] ?? "";

  test("an invitation arrives as text and HTML, tracks nobody, and its link registers a passkey", async () => {
    const { id, mailbox } = await invite("ann");
    await statusIs(id, "sent");
    await until("the mail is in the mailbox", () => exim.mailbox(mailbox).includes("</html>"));
    const mail = exim.mailbox(mailbox).replaceAll(/=\r?\n/g, "");
    expect(mail).toContain("From: Gatehouse <gatehouse@example.com>");
    expect(mail).toContain(`To: ${mailbox}@example.com`);
    expect(mail).toContain("Content-Type: text/plain; charset=utf-8");
    expect(mail).toContain("Content-Type: text/html; charset=utf-8");
    expect(mail).not.toMatch(/<img|<script|<link|http:\/\/(?!localhost:8080\/)|https:/);
    const token = tokenIn(mail);
    // The sealed token is deleted once the mail is sent, and the token is in no log and no event.
    expect(await sealedTokens()).toEqual([]);
    const { text } = await tenant.client.must.get("/tenants/events?limit=100");
    for (const place of [text, written.join("\n")]) expect(place).not.toContain(token);
    expect(written.join("\n")).not.toContain(mailbox);
    const reply = await new BrowserPage(server).enrol(token, new VirtualPasskey(origin));
    expect(reply.status, reply.text).toBe(201);
  });

  test("a refusal of the SMTP server is final and shown on the user", async () => {
    const { id } = await invite(refusedMailbox);
    await statusIs(id, "failed");
    expect((await mailOf(id)).error).toMatch(/550.*no mailbox of this name/);
    expect(await sealedTokens()).toEqual([]);
    // The list shows it too, and another mail replaces it.
    const { body } = await tenant.client.must.get(`/tenants/users?filter[id]=${id}`);
    expect(body.data[0].mail.status).toBe("failed");
    await tenant.client.must.post(`/tenants/users/${id}/invite`, { notify: true });
    await failedWith(id, /550/);
  });

  test("a mail that is not accepted is tried again, and fails after 24 hours", async () => {
    const { id } = await invite(deferredMailbox);
    const start = clock.now().getTime();
    try {
      await failedWith(id, /451.*try again later/);
      let attempts = 1;
      while ((await mailOf(id)).status === "pending") {
        const before = (await mailOf(id)).updatedAt;
        clock.advance(hourMs);
        await until("another attempt was made", async () => (await mailOf(id)).updatedAt !== before);
        attempts += 1;
        expect(attempts).toBeLessThan(30);
      }
      expect(attempts).toBeGreaterThan(20);
      expect((await mailOf(id)).error).toMatch(/^Not sent within 24 hours\. .*451/);
      expect(await sealedTokens()).toEqual([]);
    } finally {
      clock.advance(start - clock.now().getTime());
    }
  });

  test("a command does not wait for the SMTP server, and the mail is sent once the server is back", async () => {
    await exim.stop();
    const { id, mailbox } = await invite("bob");
    await failedWith(id, /ECONNREFUSED/);
    const [sealed] = await sealedTokens();
    expect(sealed).toBeInstanceOf(Buffer);
    expect(sealed?.toString("latin1")).not.toContain("gatehouse_enrol");
    // The rotation of the master key covers the waiting token.
    const before = sealed;
    const next = Buffer.alloc(32, 9);
    const keys = { current: next, second: testMasterKey };
    await resealSecrets({ database: server.database, masterKeys: keys });
    const [resealed] = await sealedTokens();
    expect(resealed?.equals(before ?? Buffer.alloc(0))).toBe(false);
    await resealSecrets({ database: server.database, masterKeys: { current: testMasterKey, second: next } });
    await exim.start();
    clock.advance(2 * 60_000);
    await statusIs(id, "sent");
    await until("the mail is in the mailbox", () => exim.mailbox(mailbox).includes("</html>"));
    const reply = await new BrowserPage(server).enrol(tokenIn(exim.mailbox(mailbox)), new VirtualPasskey(origin));
    expect(reply.status, reply.text).toBe(201);
  });

  test("a revoked link is not sent any more", async () => {
    await exim.stop();
    const { id, mailbox } = await invite("carol");
    await failedWith(id, /ECONNREFUSED/);
    const { body: links } = await tenant.client.must.get(`/tenants/users/${id}/enrolment-links`);
    expect(links).toMatchObject([{ mail: { status: "pending" } }]);
    await tenant.client.must.delete(`/tenants/users/${id}/enrolment-links/${links[0].id}`);
    await exim.start();
    clock.advance(2 * 60_000);
    const { id: later } = await invite("dave");
    await statusIs(later, "sent");
    expect([await mailOf(id), exim.mailbox(mailbox)]).toEqual([undefined, ""]);
  });

  test("a link that is created for a user is sent and shown", async () => {
    const mailbox = unique("erin").replace(/\s/g, "-").toLowerCase();
    const { body: user } = await tenant.client.must.post("/tenants/users", { email: `${mailbox}@example.com` });
    expect(user.mail).toBeUndefined();
    const { body: link } = await tenant.client.must.post(`/tenants/users/${user.id}/enrolment-links`, { notify: true });
    expect(link.mail.status).toBe("pending");
    await statusIs(user.id, "sent");
    await until("the mail is in the mailbox", () => exim.mailbox(mailbox).includes("</html>"));
    expect(link.url.endsWith(tokenIn(exim.mailbox(mailbox)))).toBe(true);
  });
});
