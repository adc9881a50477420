/**
 * A tenant with a million users, and a tenant with a thousand enforced access tests.
 *
 *     npm run bench:large-tenant [-- --quick] [--only=model,writes,tests] [--profile=FOLDER]
 *
 * `model` measures the time of the first decision after a start, for which the server loads the tenant's model from the
 * database or from a snapshot, and the server's memory. `writes` measures single writes. `tests` measures writes that
 * must pass all enforced access tests, and with `--profile` the server writes a CPU profile of each write. The facts of
 * a million users need about 4 GiB in this process.
 */
import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import pg from "pg";
import { type BenchTenant, makeBenchTenant, type ServerAnnouncement } from "./bench-tenant.ts";
import { processorSecondsOfGroup, startChild } from "./child-server.ts";
import { addPolicies, makeDirectory, makeQuestions, sizes } from "./decisions-tenant.ts";
import { startMeasuredPostgres } from "./measured-postgres.ts";
import { seedFacts } from "./seed-facts.ts";
import { reportTarget } from "./targets.ts";

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string", default: "model,writes,tests" },
    profile: { type: "string" },
  },
});
const { quick, profile: profileFolder } = options;
const parts = options.only.split(",");
const large = { ...sizes, users: 1_000_000, devices: 1_500_000, resources: 100_000 };
const tests = quick ? 100 : 1_000;
const changesAfterSnapshot = 200;
const writesOfKind = 50;
const targets = { loadSeconds: 15, snapshotSeconds: 5, mebibytes: 1_500, groupSeconds: 1, everyoneSeconds: 10 };

const print = (line: string) => process.stdout.write(`${line}\n`);
print(`Node ${process.version}, ${cpus().length} cores`);
const postgres = await startMeasuredPostgres();
const snapshotFolder = await mkdtemp(path.join(tmpdir(), "gatehouse-bench-snapshots-"));
process.env.BENCH_MODEL_SNAPSHOTS = snapshotFolder;
let operatorKey: string | undefined;
try {
  if (parts.includes("model")) await measureModel();
  if (parts.includes("writes")) await measureWrites();
  if (parts.includes("tests")) await measureTests();
} finally {
  await postgres.stop();
  await rm(snapshotFolder, { recursive: true, force: true });
}

async function measureModel(): Promise<void> {
  const facts = addPolicies(makeDirectory(quick ? sizes : large), 10_000, 0.2);
  const [question] = makeQuestions(facts, 1);
  const { users, devices, resources } = facts;
  const name = `${count(users)} users, ${count(devices)} devices, ${count(resources)} resources`;
  let tenant = await withServer(async (announcement) => {
    const made = await makeBenchTenant(announcement, "Large");
    await seedFacts(postgres.connection, made.id, facts);
    return made;
  });
  await withServer(async (announcement, memory) => {
    tenant = { ...tenant, call: callOf(announcement, tenant.key) };
    const before = memory()?.now ?? Number.NaN;
    const startedAt = performance.now();
    await tenant.call("POST", "/access/v1/evaluation", JSON.stringify(evaluationOf(question)));
    const seconds = (performance.now() - startedAt) / 1_000;
    const { now, highest } = memory() ?? { now: Number.NaN, highest: Number.NaN };
    print(`${name}: the first decision took ${seconds.toFixed(1)} s`);
    const used = now - before;
    print(
      `memory (RSS): ${before.toFixed(0)} MiB before, ${used.toFixed(0)} MiB more, ${highest.toFixed(0)} MiB at most`,
    );
    reportTarget({
      name,
      figure: `loaded in ${seconds.toFixed(1)} s`,
      target: `≤ ${targets.loadSeconds} s`,
      isReached: seconds <= targets.loadSeconds,
    });
    reportTarget({
      name,
      figure: `${used.toFixed(0)} MiB`,
      target: `≤ ${targets.mebibytes} MiB`,
      isReached: used <= targets.mebibytes,
    });
    await fetch(`${announcement.blocks}/snapshots`);
    // The next start must add these to the snapshot.
    for (let index = 0; index < changesAfterSnapshot; index += 1) {
      await tenant.call("POST", "/tenants/groups", JSON.stringify({ name: `Later ${index}` }));
    }
  });
  await withServer(async (announcement) => {
    tenant = { ...tenant, call: callOf(announcement, tenant.key) };
    const startedAt = performance.now();
    await tenant.call("POST", "/access/v1/evaluation", JSON.stringify(evaluationOf(question)));
    const seconds = (performance.now() - startedAt) / 1_000;
    reportTarget({
      name,
      figure: `loaded from a snapshot, with ${changesAfterSnapshot} later changes, in ${seconds.toFixed(1)} s`,
      target: `≤ ${targets.snapshotSeconds} s`,
      isReached: seconds <= targets.snapshotSeconds,
    });
  });
}

/** Single writes, one after the other, and the processor time of each. */
async function measureWrites(): Promise<void> {
  const facts = addPolicies(makeDirectory(quick ? sizes : large), 10_000, 0.2);
  const [question] = makeQuestions(facts, 1);
  await withServer(async (announcement, _memory, processorSeconds) => {
    const { id, key } = await makeBenchTenant(announcement, "Writes");
    await seedFacts(postgres.connection, id, facts);
    const send = callOf(announcement, key);
    const call = async (method: Parameters<BenchTenant["call"]>[0], path: string, body?: object) =>
      JSON.parse((await send(method, path, body && JSON.stringify(body))) || "{}") as { readonly id: string }; // per contract
    await call("POST", "/access/v1/evaluation", evaluationOf(question));
    const userAt = (index: number) => `/tenants/users/${facts.users[index]?.id}`;
    const newDevice = (index: number) => {
      const publicKey = generateKeyPairSync("x25519").publicKey.export({ format: "jwk" }).x ?? "";
      return {
        name: `Device ${index}`,
        userId: facts.users[index]?.id,
        hardwareId: `Hardware ${index}`,
        publicKey: Buffer.from(publicKey, "base64url").toString("base64"),
      };
    };
    const groups: string[] = [];
    const writes: readonly (readonly [name: string, perform: (index: number) => Promise<unknown>])[] = [
      ["a group", async (index) => groups.push((await call("POST", "/tenants/groups", { name: `New ${index}` })).id)],
      ["a user", (index) => call("POST", "/tenants/users", { email: `new-${index}@example.com` })],
      ["a user's name", (index) => call("PUT", userAt(index), { firstName: `New ${index}` })],
      ["a member of a group", (index) => call("POST", `${userAt(index)}/groups`, { groupId: facts.groups[0]?.id })],
      ["a device", (index) => call("POST", "/tenants/devices", newDevice(index))],
      [
        "a protocol",
        (index) =>
          call("POST", "/tenants/protocols", { networkProtocols: [{ protocol: "TCP", port: 20_000 + index }] }),
      ],
      ["the deletion of a group", (index) => call("DELETE", `/tenants/groups/${groups[index]}`)],
    ];
    print(`${count(facts.users)} users, ${count(facts.devices)} devices; ${writesOfKind} of each write`);
    print("| write | ms | server CPU (ms) | PostgreSQL CPU (ms) |");
    print("|---|---|---|---|");
    for (const [name, perform] of writes) {
      const usage = () => [performance.now() / 1_000, processorSeconds(), processorSecondsOfGroup(postgres.pid)];
      const before = usage();
      await profiled(announcement, name, async () => {
        for (let index = 0; index < writesOfKind; index += 1) await perform(index);
      });
      const used = usage().map((after, figure) => ((after ?? Number.NaN) - (before[figure] ?? Number.NaN)) * 1_000);
      print(`| ${[name, ...used.map((each) => (each / writesOfKind).toFixed(1))].join(" | ")} |`);
    }
  });
}

/** Performs the work. With `--profile`, also writes a CPU profile of the server during the work. */
async function profiled(
  { blocks }: { readonly blocks: string },
  name: string,
  work: () => Promise<void>,
): Promise<void> {
  if (profileFolder === undefined) return work();
  await fetch(`${blocks}/profile/start`);
  await work();
  const profile = await (await fetch(`${blocks}/profile/stop`)).text();
  await writeFile(path.join(profileFolder, `${name.replaceAll(/\W+/g, "-")}.cpuprofile`), profile);
}

async function measureTests(): Promise<void> {
  const facts = addPolicies(makeDirectory(), 2_000, 0.2);
  // Nobody may reach the tested resources, which no policy names.
  const tested = facts.resources.slice(0, tests).map(({ id }) => id);
  const isTested = new Set(tested);
  const policies = facts.policies.map((policy) => ({
    ...policy,
    allResources: false,
    resources: policy.resources.filter((id) => !isTested.has(id)),
  }));
  await withServer(async (announcement, _memory, processorSeconds) => {
    const tenant = await makeBenchTenant(announcement, "Tests");
    await seedFacts(postgres.connection, tenant.id, { ...facts, policies });
    await insertTests(tenant.id, tested);
    const resources = facts.resources.slice(tests, tests + 10).map(({ id }) => id);
    const [group, otherGroup] = facts.groups;
    await tenant.call("POST", "/access/v1/evaluation", JSON.stringify(evaluationOf(makeQuestions(facts, 1)[0])));
    const all = count([...facts.users, ...facts.devices]);
    const subjects = `${tests.toLocaleString("en")} enforced access tests, ${all} subjects`;
    const { groupSeconds, everyoneSeconds } = targets;
    const oneGroup = { groups: [group?.id] };
    const everyone = { allUsers: true };
    const measure = async (name: string, most: number, settings: object, isRefused = false) => {
      const before = processorSeconds() ?? Number.NaN;
      const write = { name: `${subjects}: ${name}`, most, settings, isRefused };
      await profiled(announcement, name, () => measureWrite(tenant, write));
      const seconds = (processorSeconds() ?? Number.NaN) - before;
      print(`${name}: ${seconds.toFixed(2)} s of the server's processor time`);
    };
    await measure("a policy for one group", groupSeconds, { ...oneGroup, resources });
    await measure("a policy for everyone", everyoneSeconds, { ...everyone, resources });
    // The next changes concern all tests.
    const denial = { action: false, resources: tested };
    await measure("a denial of the tested resources for one group", groupSeconds, { ...oneGroup, ...denial });
    await measure("a denial of the tested resources for everyone", everyoneSeconds, { ...everyone, ...denial });
    // A new policy comes last in the order, after the denial for everyone. So deactivate the denial first.
    await tenant.call("PATCH", `/tenants/policies/${await newestPolicy(tenant)}/deactivate`);
    const permission = { resources: tested };
    // The first denial still concerns its group.
    const forOtherGroup = { groups: [otherGroup?.id], ...permission };
    await measure("access to the tested resources for another group", groupSeconds, forOtherGroup, true);
    await measure("access to the tested resources for everyone", everyoneSeconds, { ...everyone, ...permission }, true);
  });
}

interface MeasuredWrite {
  readonly name: string;
  readonly most: number;
  readonly settings: object;
  /** Whether the tests must refuse it. */
  readonly isRefused: boolean;
}

async function measureWrite(tenant: BenchTenant, { name, most, settings, isRefused }: MeasuredWrite): Promise<void> {
  const policy = { name, type: "PRIVATE", action: true, ...settings };
  const startedAt = performance.now();
  const failure = await tenant.call("POST", "/tenants/policies", JSON.stringify(policy)).then(
    () => undefined,
    (error: unknown) => String(error).slice(0, 200),
  );
  const seconds = (performance.now() - startedAt) / 1_000;
  const isExpected = isRefused ? failure?.includes("access_tests_broken") === true : failure === undefined;
  print(`${name}: ${seconds.toFixed(2)} s${failure === undefined ? "" : `; ${failure}`}`);
  const figure = isExpected ? `${seconds.toFixed(2)} s${isRefused ? ", refused" : ""}` : "unexpected answer";
  reportTarget({ name, figure, target: `≤ ${most} s`, isReached: isExpected && seconds <= most });
}

async function newestPolicy(tenant: BenchTenant): Promise<string> {
  const page = await tenant.call("GET", "/tenants/policies?sort=-createdAt&limit=1");
  const { data } = JSON.parse(page) as { readonly data: readonly { readonly id: string }[] }; // per contract
  return data[0]?.id ?? "";
}

async function insertTests(tenantId: string, resourceIds: readonly string[]): Promise<void> {
  const client = new pg.Client(postgres.connection);
  await client.connect();
  try {
    await client.query("SET session_replication_role = replica");
    await client.query(
      `INSERT INTO access_tests (tenant_id, id, created_at, updated_at, name, enforced, subject_type, device,
                                 resource_type, resource_id, expected)
       SELECT $1, gen_random_uuid(), now(), now(), 'Test ' || tested.place, true, 'everyone', '"any"', 'resource',
              tested.id, 'denied'
       FROM unnest($2::text[]) WITH ORDINALITY AS tested (id, place)`,
      [tenantId, resourceIds],
    );
    await client.query("UPDATE tenant_generations SET generation = generation + 1 WHERE tenant_id = $1", [tenantId]);
  } finally {
    await client.end();
  }
}

async function withServer<Result>(
  work: (
    announcement: ServerAnnouncement,
    memory: () => { readonly now: number; readonly highest: number } | undefined,
    processorSeconds: () => number | undefined,
  ) => Promise<Result>,
): Promise<Result> {
  const server = await startChild<ServerAnnouncement>("./server-process.js", JSON.stringify(postgres.connection), [
    "--max-old-space-size=6144",
  ]);
  // Only the first server of a database announces the key.
  operatorKey ??= server.announcement.operatorKey;
  try {
    return await work({ ...server.announcement, operatorKey }, server.memory, server.processorSeconds);
  } finally {
    await server.stop();
  }
}

function callOf({ url }: ServerAnnouncement, key: string): BenchTenant["call"] {
  return async (method, path, body) => {
    const headers = { apikey: key, "content-type": "application/json" };
    const response = await fetch(`${url}${path}`, { method, headers, ...(body === undefined ? {} : { body }) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text.slice(0, 500)}`);
    return text;
  };
}

function evaluationOf(question: ReturnType<typeof makeQuestions>[number] | undefined): object {
  return {
    subject: { type: "user", id: question?.subject.userId },
    action: { name: "connect" },
    resource: { type: "resource", id: question?.destination.resourceId },
    context: { deviceId: question?.subject.deviceId },
  };
}

function count(records: readonly unknown[]): string {
  return records.length.toLocaleString("en");
}
