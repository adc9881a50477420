/**
 * Tenant isolation under load: one tenant sends the most expensive requests of each kind, while another tenant reads
 * and writes.
 *
 *     npm run bench:fairness [-- --quick] [--large] [--only=NAME]
 *
 * Reports, for each kind of request, the longest block of the server's event loop, the most processor time between two
 * turns of it, the longest pause for garbage collection, and the neighbour's latency and throughput compared with those
 * on a quiet server. A block that is longer than its processor time waited for a processor. The last columns show the
 * processor time of each part, in processors: the server's main thread, its other threads, PostgreSQL, and the clients
 * of both tenants.
 *
 * With `--large`, the attacker has 100,000 users instead of the most expensive rules.
 */
import type { TenantFacts } from "@gatehouse/policy/model/facts";
import { type AttackResult, type RunningAttack, startAttack } from "./attack.ts";
import { type BenchTenant, makeBenchTenant, type ServerAnnouncement } from "./bench-tenant.ts";
import { processorSecondsOfGroup, startChild } from "./child-server.ts";
import { addPolicies, makeDirectory } from "./decisions-tenant.ts";
import { type Load, type LoadRequest, type LoadResult, run } from "./load.ts";
import { seedFacts } from "./seed-facts.ts";
import { slowTenant } from "./slow-tenant.ts";

const quick = process.argv.includes("--quick");
const isLarge = process.argv.includes("--large");
const seconds = quick ? 4 : 10;
/** A part of the names of the attacks to run; undefined for all. */
const only = process.argv.find((argument) => argument.startsWith("--only="))?.slice("--only=".length);
/** Requests of the attacker at the same time. */
const attackers = 4;
const userCount = 150;
const largeSizes = { users: 100_000, groups: 2_000, devices: 150_000, resources: 10_000 };

interface Attack {
  readonly name: string;
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: string;
  /** A document that is applied before the attack. */
  readonly prepare?: object;
}

const print = (line: string) => process.stdout.write(`${line}\n`);

const server = await startChild<ServerAnnouncement>("./server-process.js");
try {
  const { announcement } = server;
  const neighbour = await makeBenchTenant(announcement, "Neighbour");
  await longestBlock(announcement);
  const loads = await neighbourLoads(neighbour);
  const quiet = await measured(loads);
  print(
    `| attack | longest block (ms) | processor time (ms) | garbage collection (ms) | answers | neighbour p50 (ms) | p99 (ms) | requests/s | of quiet | a neighbour that also writes: p50 (ms) | p99 (ms) | of quiet | server thread | other threads | PostgreSQL | neighbour | attacker |`,
  );
  print(`|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|`);
  print(row("none", await longestBlock(announcement), quiet, quiet));
  if (isLarge) {
    const facts = addPolicies(makeDirectory(largeSizes), 2_000, 0.3);
    const attacker = await makeBenchTenant(announcement, "Large attacker");
    await seedFacts(announcement.database, attacker.id, facts);
    for (const attack of attacksOfLargeTenant(facts).filter(isWanted)) await measureAttack(attacker, attack);
  } else {
    for (const [index, named] of attacks(slowTenant(1)).entries()) {
      if (!isWanted(named)) continue;
      // Each attack has its own tenant, whose rate is unused.
      const attacker = await makeBenchTenant(announcement, `Attacker ${index}`);
      const facts = slowTenant(userCount);
      await seedFacts(announcement.database, attacker.id, facts);
      const attack = attacks(facts)[index];
      if (attack !== undefined) await measureAttack(attacker, attack);
    }
  }

  async function measureAttack(attacker: BenchTenant, attack: Attack): Promise<void> {
    if (attack.prepare !== undefined) {
      await attacker.call("POST", "/tenants/configuration/apply", JSON.stringify(attack.prepare));
    }
    await longestBlock(announcement);
    const result = await measured(loads, start(attacker, attack));
    print(row(attack.name, await longestBlock(announcement), result, quiet));
  }
} finally {
  await server.stop();
}

function isWanted({ name }: Attack): boolean {
  return only === undefined || only.split(",").some((part) => name.includes(part));
}

/** Requests whose work grows with the number of records. */
function attacksOfLargeTenant({ users, groups, resources }: TenantFacts): readonly Attack[] {
  const [userId, groupId, resourceId] = [users, groups, resources].map(([first]) => first?.id ?? "");
  const [action, resource] = [{ name: "connect" }, { type: "resource", id: resourceId }];
  const search = (kind: string, body: object) => post(`search for ${kind}`, `/access/v1/search/${kind}`, body);
  const policy = { type: "PRIVATE", action: true, allUsers: true, allResources: true, name: "Previewed" };
  const test = { subject: { type: "everyone" }, resource, expected: "denied", name: "Nobody" };
  const preview = (name: string, change: object) =>
    post(`preview: ${name}`, "/tenants/policies/preview", { changes: [change] });
  return [
    { ...search("subject", { subject: { type: "user" }, action, resource }), name: "search for users" },
    { ...search("subject", { subject: { type: "device" }, action, resource }), name: "search for devices" },
    search("resource", { subject: { type: "user", id: userId }, action, resource: { type: "resource" } }),
    { name: "past access to a resource", method: "GET", path: `/tenants/access?resource=${resourceId}` },
    { name: "past access of a user", method: "GET", path: `/tenants/access?user=${userId}` },
    post("check of an access test", "/tenants/access-tests/check", { test }),
    { name: "findings", method: "GET", path: "/tenants/access/findings" },
    preview("policy for everyone", { method: "POST", path: "/tenants/policies", body: policy }),
    preview("deletion of a group", { method: "DELETE", path: `/tenants/groups/${groupId}` }),
    preview("deletion of a user", { method: "DELETE", path: `/tenants/users/${userId}` }),
    post("write: user", "/tenants/users", { email: "made-[<id>]@example.com", groups: [groupId] }),
    { name: "export", method: "GET", path: "/tenants/configuration" },
    { name: "list of 100 groups with their members", method: "GET", path: "/tenants/groups?limit=100" },
    { name: "list of 100 users with their groups", method: "GET", path: "/tenants/users?limit=100" },
  ];
}

function post(name: string, path: string, body: object): Attack {
  return { name, method: "POST", path, body: JSON.stringify(body) };
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
  return [
    post("batch of 1,000 decisions", "/access/v1/evaluations", batch(1_000, {})),
    post("batch of 1,001 decisions, which is refused", "/access/v1/evaluations", batch(1_001, {})),
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

function start({ key }: BenchTenant, { method, path, body }: Attack): RunningAttack {
  const headers = { apikey: key, ...(body === undefined ? {} : { "content-type": "application/json" }) };
  return startAttack({ url: `${server.announcement.url}${path}`, method, headers, body, connections: attackers });
}

/** Processor time in processors: seconds in each second of the measurement. */
interface Usage {
  readonly thread: number;
  readonly otherThreads: number;
  readonly postgres: number;
  readonly neighbour: number;
  readonly attacker: number;
}

interface Measured {
  readonly load: LoadResult;
  readonly working: LoadResult;
  readonly answers: AttackResult["answers"];
  readonly usage: Usage;
}

/** The two loads of the neighbour. */
interface NeighbourLoads {
  /** Repeated reads, as fast as possible. */
  readonly reading: Load;
  /** Reads, decisions and a few writes, each some time after the previous one. */
  readonly working: Load;
}

async function neighbourLoads({ key, call }: BenchTenant): Promise<NeighbourLoads> {
  const { url } = server.announcement;
  const common = { connections: 4, seconds };
  const made = await call("POST", "/tenants/groups", JSON.stringify({ name: "Changed" }));
  const group = JSON.parse(made) as { readonly id: string }; // a record has an id
  const question = { subject: { type: "user", id: "nobody@example.com" }, action: { name: "connect" } };
  const requests = Array.from({ length: 400 }, (_, index): LoadRequest => {
    if (index % 5 === 4) {
      const body = JSON.stringify({ description: `Changed ${index}` });
      return { method: "PUT", path: `/tenants/groups/${group.id}`, body };
    }
    if (index % 5 === 2) {
      const body = JSON.stringify({ ...question, resource: { type: "resource", id: "Wiki" } });
      return { method: "POST", path: "/access/v1/evaluation", body };
    }
    return { method: "GET", path: index % 5 === 0 ? "/tenants/groups?limit=10" : `/tenants/groups/${group.id}` };
  });
  return {
    reading: { ...common, url: `${url}/tenants/groups?limit=10`, headers: { apikey: key } },
    working: {
      ...common,
      url,
      headers: { apikey: key, "content-type": "application/json" },
      requests,
      connectionRate: 15,
    },
  };
}

/** Measures the neighbour while an attack runs. */
async function measured({ reading, working }: NeighbourLoads, attack?: RunningAttack): Promise<Measured> {
  const { postgresPid } = server.announcement;
  const worked = await run(working);
  const before = { at: performance.now(), ...serverSeconds(postgresPid) };
  const load = await run(reading);
  const after = { at: performance.now(), ...serverSeconds(postgresPid) };
  const { answers, processorSeconds } = (await attack?.stop()) ?? { answers: [], processorSeconds: 0 };
  const elapsed = (after.at - before.at) / 1_000;
  const thread = (after.thread - before.thread) / elapsed;
  return {
    load,
    working: worked,
    answers,
    usage: {
      thread,
      otherThreads: (after.process - before.process) / elapsed - thread,
      postgres: (after.postgres - before.postgres) / elapsed,
      neighbour: load.processorSeconds / elapsed,
      attacker: processorSeconds / elapsed,
    },
  };
}

function serverSeconds(postgresPid: number | undefined) {
  return {
    thread: server.mainThreadSeconds() ?? Number.NaN,
    process: server.processorSeconds() ?? Number.NaN,
    postgres: processorSecondsOfGroup(postgresPid) ?? Number.NaN,
  };
}

interface Stretches {
  readonly wallMs: number;
  readonly processorMs: number;
  readonly collectionMs: number;
}

/** The longest stretches of the event loop since the last call. */
async function longestBlock({ blocks }: ServerAnnouncement): Promise<Stretches> {
  return (await (await fetch(`${blocks}/stretches`)).json()) as Stretches; // the type of this route
}

function row(name: string, block: Stretches, { load, working, answers, usage }: Measured, quiet: Measured): string {
  const share = (load.perSecond / quiet.load.perSecond).toFixed(2);
  const ofQuiet = (working.perSecond / quiet.working.perSecond).toFixed(2);
  const statuses = answers.map(([status, count]) => `${count} × ${status}`).join(", ");
  const { thread, otherThreads, postgres, neighbour, attacker } = usage;
  const stretches = [block.wallMs, block.processorMs, block.collectionMs].map((ms) => ms.toFixed(1)).join(" | ");
  const times = [thread, otherThreads, postgres, neighbour, attacker].map((time) => time.toFixed(2)).join(" | ");
  return `| ${name} | ${stretches} | ${statuses} | ${load.p50} | ${load.p99} | ${Math.round(load.perSecond)} | ${share} | ${working.p50} | ${working.p99} | ${ofQuiet} | ${times} |`;
}
