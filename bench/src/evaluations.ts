/**
 * Decisions over HTTP, in batches: `POST /access/v1/evaluations`.
 *
 *     npm run bench:evaluations [-- --quick] [--profile=FILE]
 *
 * Bare Fastify parses the same bodies in the same run, because the speed of machines differs from day to day.
 * `--profile` writes a CPU profile of the server.
 */
import { writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { makeBenchTenant, type ServerAnnouncement } from "./bench-tenant.ts";
import { startChild } from "./child-server.ts";
import { addPolicies, makeDirectory, makeQuestions } from "./decisions-tenant.ts";
import { type Load, run } from "./load.ts";
import { seedFacts } from "./seed-facts.ts";
import { reportTarget } from "./targets.ts";

const { values: options } = parseArgs({
  options: { quick: { type: "boolean", default: false }, profile: { type: "string" } },
});
const { quick, profile } = options;
const batch = 50;
/** Different bodies, sent in turn. */
const bodyCount = 200;
const seconds = quick ? 3 : 8;
const targets = { cpuUs: 7, mebibytes: 500 };

const print = (line: string) => process.stdout.write(`${line}\n`);
const facts = addPolicies(makeDirectory(), 10_000, 0.2);
const questions = makeQuestions(facts, bodyCount * batch);
const server = await startChild<ServerAnnouncement>("./server-process.js");
try {
  const { announcement } = server;
  const tenant = await makeBenchTenant(announcement, "Evaluations");
  await seedFacts(announcement.database, tenant.id, facts);
  const bodies = Array.from({ length: bodyCount }, (_, index) => JSON.stringify(batchOf(index)));
  await tenant.call("POST", "/access/v1/evaluations", bodies[0]);
  const load = {
    url: `${announcement.url}/access/v1/evaluations`,
    method: "POST" as const,
    headers: { apikey: tenant.key, "content-type": "application/json" },
    bodies,
    connections: 16,
  };
  await run({ ...load, seconds: 2 });
  if (profile !== undefined) await fetch(`${announcement.blocks}/profile/start`);
  const before = server.processorSeconds() ?? Number.NaN;
  const { perSecond, p50, p99, failures } = await run({ ...load, seconds });
  const used = (server.processorSeconds() ?? Number.NaN) - before;
  if (profile !== undefined) {
    await writeFile(profile, await (await fetch(`${announcement.blocks}/profile/stop`)).text());
  }
  const decisions = perSecond * seconds * batch;
  print(`Node ${process.version}, ${cpus().length} cores; batches of ${batch}, ${load.connections} connections`);
  print(
    `${Math.round(perSecond * batch).toLocaleString("en")} decisions/s; a batch p50 ${p50} ms, p99 ${p99} ms; failures ${failures}`,
  );
  const eachUs = (used / decisions) * 1e6;
  const bareUs = await bareMicroseconds(load);
  print(`${bareUs.toFixed(1)} µs in bare Fastify, which parses the same bodies and returns the bytes of one response`);
  const name = `decisions over HTTP in batches of ${batch}`;
  print(`${eachUs.toFixed(1)} µs of the server's processor time for each decision`);
  const isCheap = eachUs <= targets.cpuUs;
  reportTarget({ name, figure: `${eachUs.toFixed(1)} µs of CPU`, target: `≤ ${targets.cpuUs} µs`, isReached: isCheap });
  const memory = server.memory();
  if (memory !== undefined) {
    print(`the server's memory (RSS): ${memory.now.toFixed(0)} MiB now, ${memory.highest.toFixed(0)} MiB at most`);
    const isReached = memory.highest <= targets.mebibytes;
    const figure = `peak ${memory.highest.toFixed(0)} MiB`;
    reportTarget({ name, figure, target: `≤ ${targets.mebibytes} MiB`, isReached });
  }
} finally {
  await server.stop();
}

/** The processor time of bare Fastify for one decision, in microseconds. */
async function bareMicroseconds(load: Omit<Load, "seconds">): Promise<number> {
  const answer = await fetch(load.url, { method: "POST", headers: load.headers ?? {}, body: load.bodies?.[0] ?? "" });
  const bare = await startChild<{ readonly url: string }>("./bare-fastify.js", await answer.text());
  try {
    const bareLoad = { ...load, url: bare.announcement.url };
    await run({ ...bareLoad, seconds: 2 });
    const before = bare.processorSeconds() ?? Number.NaN;
    const { perSecond } = await run({ ...bareLoad, seconds });
    return (((bare.processorSeconds() ?? Number.NaN) - before) / (perSecond * seconds * batch)) * 1e6;
  } finally {
    await bare.stop();
  }
}

function batchOf(index: number): object {
  return {
    action: { name: "connect" },
    evaluations: questions.slice(index * batch, (index + 1) * batch).map(({ subject, destination, country }) => ({
      subject: { type: "user", id: subject.userId },
      resource: { type: "resource", id: destination.resourceId },
      context: { deviceId: subject.deviceId, country },
    })),
  };
}
