/**
 * Tenant isolation under load: one tenant sends the most expensive requests of each kind, while another tenant reads
 * and writes.
 *
 *     npm run bench:fairness [-- --quick] [--only=NAME]
 *
 * Reports, for each kind of request, the longest block of the server's event loop, and the neighbour's latency and
 * throughput compared with those on a quiet server.
 */
import { type BenchTenant, makeBenchTenant, type ServerAnnouncement } from "./bench-tenant.ts";
import { startChild } from "./child-server.ts";
import { type LoadResult, run } from "./load.ts";
import { seedFacts } from "./seed-facts.ts";
import { slowTenant } from "./slow-tenant.ts";

const quick = process.argv.includes("--quick");
const seconds = quick ? 4 : 10;
/** A part of the names of the attacks to run; undefined for all. */
const only = process.argv.find((argument) => argument.startsWith("--only="))?.slice("--only=".length);
/** Requests of the attacker at the same time. */
const attackers = 4;
const userCount = 150;

interface Attack {
  readonly name: string;
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: string;
  /** A document that is applied before the attack. */
  readonly prepare?: object;
}

/** Numbers the records that attacks write. */
let written = 0;

const print = (line: string) => process.stdout.write(`${line}\n`);

const server = await startChild<ServerAnnouncement>("./server-process.js");
try {
  const { announcement } = server;
  const neighbour = await makeBenchTenant(announcement, "Neighbour");
  await longestBlock(announcement);
  const quiet = await measured(neighbour, announcement);
  print(`| attack | longest block (ms) | answers | neighbour p50 (ms) | p99 (ms) | requests/s | of quiet |`);
  print(`|---|---|---|---|---|---|---|`);
  print(row("none", await longestBlock(announcement), "", quiet, quiet));
  for (const [index, { name }] of attacks(slowTenant(1)).entries()) {
    if (only !== undefined && !name.includes(only)) continue;
    // Each attack has a tenant of its own, whose rate is unused.
    const attacker = await makeBenchTenant(announcement, `Attacker ${index}`);
    const facts = slowTenant(userCount);
    await seedFacts(announcement.database, attacker.id, facts);
    const attack = attacks(facts)[index];
    if (attack === undefined) continue;
    if (attack.prepare !== undefined) {
      await attacker.call("POST", "/tenants/configuration/apply", JSON.stringify(attack.prepare));
    }
    await longestBlock(announcement);
    const stop = { isSet: false };
    const answers = new Map<number, number>();
    const running = Array.from({ length: attackers }, () => repeat(attacker, announcement.url, attack, stop, answers));
    const result = await measured(neighbour, announcement);
    stop.isSet = true;
    await Promise.all(running);
    const statuses = [...answers].map(([status, count]) => `${count} × ${status}`).join(", ");
    print(row(attack.name, await longestBlock(announcement), statuses, result, quiet));
  }
} finally {
  await server.stop();
}

function attacks({ users, resources }: ReturnType<typeof slowTenant>): readonly Attack[] {
  const resourceId = resources[0]?.id ?? "";
  const subject = { type: "user", id: users[0]?.id ?? "" };
  const [action, resource] = [{ name: "connect" }, { type: "resource", id: resourceId }];
  const batch = (count: number, context: object) => ({
    subject,
    action,
    context,
    evaluations: Array.from({ length: count }, () => ({ resource })),
  });
  const policy = { type: "PRIVATE", action: true, allUsers: true, allResources: true, groups: [] };
  const change = { method: "POST", path: "/tenants/policies", body: { ...policy, name: "Previewed" } };
  const test = { subject: { type: "everyone" }, resource, expected: "denied", name: "Nobody" };
  const document = {
    version: 1,
    groups: Array.from({ length: 4_990 }, (_, index) => ({ name: `Planned ${index}`, description: "x".repeat(300) })),
  };
  // The default group must be listed, so the document plans resources.
  const applied = {
    version: 1,
    resources: Array.from({ length: 5_000 }, (_, index) => ({
      name: `Applied ${index}`,
      type: "PRIVATE",
      description: "[<id>] ".repeat(20),
      addresses: [{ address: `host-${index}.corp.example.com` }],
    })),
  };
  const mistyped = {
    version: 1,
    policies: {
      PRIVATE: Array.from({ length: 4_000 }, (_, index) => ({
        name: `Mistyped ${index}`,
        action: true,
        resources: Array.from({ length: 5 }, (_unused, place) => `Slow ${index}${place} ${"x".repeat(60)}`),
      })),
    },
  };
  const configuration = "/tenants/configuration";
  const creations = Array.from({ length: 100 }, (_, index) => ({
    method: "POST",
    path: "/tenants/groups",
    body: { name: `Set ${index} [<id>]`, description: "x".repeat(900) },
  }));
  const post = (name: string, path: string, body: object): Attack => ({
    name,
    method: "POST",
    path,
    body: JSON.stringify(body),
  });
  return [
    post("batch of 1,000 decisions", "/access/v1/evaluations", batch(1_000, {})),
    post("10 explanations", "/access/v1/evaluations", batch(10, { explain: true })),
    post("search for subjects", "/access/v1/search/subject", { subject: { type: "user" }, action, resource }),
    post("search for resources", "/access/v1/search/resource", { subject, action, resource: { type: "resource" } }),
    post("search for actions", "/access/v1/search/action", { subject, resource }),
    { name: "access at a past time", method: "GET", path: `/tenants/access?resource=${resourceId}` },
    post("check of an access test", "/tenants/access-tests/check", { test }),
    post("preview", "/tenants/policies/preview", { changes: [change] }),
    { name: "findings", method: "GET", path: "/tenants/access/findings" },
    post("write: group", "/tenants/groups", { name: "Group [<id>]" }),
    post("write: policy for everyone", "/tenants/policies", { ...policy, name: "Policy [<id>]" }),
    post("check of a rule", "/tenants/admission-rules/check", {
      rule: `${"(user.a == 1 || ".repeat(35)}true${")".repeat(35)}`,
    }),
    post("change set of 100 groups", "/tenants/changes", { changes: creations }),
    post("preview of 100 groups", "/tenants/policies/preview", { changes: creations }),
    { name: "export", method: "GET", path: configuration },
    post("plan, 1.7 MB", `${configuration}/plan`, document),
    post("plan with mistyped names, 1.9 MB", `${configuration}/plan`, mistyped),
    post("apply, 1.2 MB", `${configuration}/apply`, applied),
    post("preview of an apply, 1.2 MB", "/tenants/policies/preview", {
      changes: [{ method: "POST", path: `${configuration}/apply`, body: applied }],
    }),
    { name: "export of 5,000 resources", method: "GET", path: configuration, prepare: applied },
  ];
}

async function repeat(
  { key }: BenchTenant,
  url: string,
  { method, path, body }: Attack,
  stop: { readonly isSet: boolean },
  answers: Map<number, number>,
): Promise<void> {
  while (!stop.isSet) {
    written += 1;
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { apikey: key, ...(body === undefined ? {} : { "content-type": "application/json" }) },
      ...(body === undefined ? {} : { body: body.replaceAll("[<id>]", String(written)) }),
    });
    await response.arrayBuffer();
    answers.set(response.status, (answers.get(response.status) ?? 0) + 1);
    // A client that ignores Retry-After, but not one that only floods.
    if (response.status === 429) await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** The neighbour reads records and decides. */
function measured(tenant: BenchTenant, { url }: ServerAnnouncement): Promise<LoadResult> {
  return run({
    url: `${url}/tenants/groups?limit=10`,
    method: "GET",
    headers: { apikey: tenant.key },
    connections: 4,
    seconds,
  });
}

async function longestBlock({ blocks }: ServerAnnouncement): Promise<number> {
  return Number(await (await fetch(blocks)).text());
}

function row(name: string, block: number, statuses: string, result: LoadResult, quiet: LoadResult): string {
  const share = (result.perSecond / quiet.perSecond).toFixed(2);
  return `| ${name} | ${block.toFixed(1)} | ${statuses} | ${result.p50} | ${result.p99} | ${Math.round(result.perSecond)} | ${share} |`;
}
